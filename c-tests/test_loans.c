/* Memory lent for one call: at another address every time, with nothing rebuilt, copied or kept. */
#include "harness.h"

static void check_direct(zb_context *context, zb_slot slot, const void *address)
{
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    REQUIRE_OK(zb_context_get_binding_report(context, slot, &report));
    CHECK_EQ(report.path, ZB_PATH_DIRECT);
    CHECK_EQ(report.bytes_copied, 0);
    CHECK_ADDRESS(report.host_address, address);
    CHECK_ADDRESS(report.engine_address, address);
}

/* --- a new address every call --- */

static void a_new_address_every_call(void)
{
    enum { PLACES = 1000 };
    zb_model *model = zt_open("add256");
    zb_context *context = zt_context(model);
    int rounds = zt_rounds(PLACES, 100);
    /* three tensors for each call, each in a place that was never used before */
    unsigned char *arena = NULL;
    void *block = NULL;
    const size_t size = 1024, step = size + 64;
    REQUIRE(posix_memalign(&block, 64, 3 * step * PLACES + 64) == 0);
    arena = block;
    memset(arena, 0xCD, 3 * step * PLACES + 64);
    for (int round = 0; round < rounds; round++) {
        unsigned char *place = arena + 3 * step * (size_t)round;
        float *x = (void *)place, *y = (void *)(place + step), *z = (void *)(place + 2 * step);
        for (int i = 0; i < 256; i++) {
            x[i] = (float)(i + round);
            y[i] = (float)(1000 * round);
        }
        zb_loan loans[3] = {
            zb_loan_input(ZB_INPUT(0), x, size, step, NULL),
            zb_loan_input(ZB_INPUT(1), y, size, step, NULL),
            zb_loan_output(ZB_OUTPUT(0), z, size, NULL),
        };
        REQUIRE_OK(zb_infer_with(context, loans, 3, NULL));
        for (int i = 0; i < 256; i++) {
            CHECK(z[i] == (float)(i + 1001 * round));
        }
        check_direct(context, ZB_INPUT(0), x);
        check_direct(context, ZB_INPUT(1), y);
        check_direct(context, ZB_OUTPUT(0), z);
        for (size_t i = 0; i < 64; i++) {
            CHECK(place[size + i] == 0xCD && place[step + size + i] == 0xCD && place[2 * step + size + i] == 0xCD);
        }
    }
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    REQUIRE_OK(zb_context_get_stats(context, &stats));
    CHECK_EQ(stats.runs, rounds);
    CHECK_EQ(stats.bytes_copied, 0);
    CHECK_EQ(stats.allocations, 0);
    CHECK_EQ(stats.rebinds, 3 * rounds);
    zb_context_destroy(context);
    zb_model_destroy(model);
    free(block);
}

/* --- state that an engine keeps between calls --- */

static void state_is_kept_while_buffers_move(void)
{
    zb_model *model = zt_open("accumulator");
    zb_context *context = zt_context(model);
    float sum = 0;
    int rounds = zt_rounds(200, 50);
    for (int round = 1; round <= rounds; round++) {
        zt_buffer x = zt_buffer_new(32), y = zt_buffer_new(32);
        zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
        zt_fill_floats(&x, (float)round, 0);
        sum += (float)round;
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        for (int i = 0; i < 8; i++) {
            CHECK(zt_floats(&y)[i] == sum);
        }
        FREE_BUFFER(&x);
        FREE_BUFFER(&y);
    }
    /* a second context has a state of its own */
    zb_context *other = zt_context(model);
    zt_buffer x = zt_buffer_new(32), y = zt_buffer_new(32);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
    zt_fill_floats(&x, 5, 0);
    REQUIRE_OK(zb_infer_with(other, loans, 2, NULL));
    CHECK(zt_floats(&y)[0] == 5);
    zb_context_destroy(other);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* The 50 steps of the recorded stream, every input and output at an address of its own. */
static void check_stream(const char *name, const char *reference, size_t out_size)
{
    enum { STEPS = 50, IN_SIZE = 120 };
    zb_model *model = zt_open(name);
    zb_context *context = zt_context(model);
    unsigned char *inputs = zt_read_reference("okay_nabu.input.bin", STEPS * IN_SIZE);
    unsigned char *outputs = zt_read_reference(reference, STEPS * out_size);
    zt_buffer x[STEPS], y[STEPS];
    int distinct = 0;
    for (size_t step = 0; step < STEPS; step++) {
        x[step] = zt_buffer_new(IN_SIZE);
        y[step] = zt_buffer_new(out_size);
        memcpy(x[step].data, inputs + step * IN_SIZE, IN_SIZE);
        zb_loan loans[2] = {zt_lend_input(0, &x[step]), zt_lend_output(0, &y[step])};
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        CHECK_BYTES(y[step].data, outputs + step * out_size, out_size);
        check_direct(context, ZB_INPUT(0), x[step].data);
        check_direct(context, ZB_OUTPUT(0), y[step].data);
        distinct += step > 0 && memcmp(y[step].data, y[step - 1].data, out_size) != 0;
    }
    if (out_size > 1) {
        /* otherwise equal outputs would prove little */
        CHECK(distinct > STEPS / 2);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    for (size_t step = 0; step < STEPS; step++) {
        FREE_BUFFER(&x[step]);
        FREE_BUFFER(&y[step]);
    }
    free(inputs);
    free(outputs);
}

static void a_wake_word_stream_matches_the_reference(void)
{
    check_stream("okay_nabu", "okay_nabu.tflite-xnnpack.output.bin", 1);
}

static void the_features_of_a_stream_match_the_reference(void)
{
    check_stream("okay_nabu_features", "okay_nabu_features.tflite-xnnpack.output.bin", 64);
}

static void state_survives_a_mixture_of_loans_and_bindings(void)
{
    zb_model *model = zt_open("accumulator");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(8);
    zt_buffer bound_x = zt_buffer_new(32), bound_y = zt_buffer_new(32);
    zt_buffer lent_x = zt_buffer_new(32), lent_y = zt_buffer_new(32);
    zt_fill_floats(&bound_x, 1, 0);
    zt_fill_floats(&lent_x, 100, 0);
    zt_bind(context, ZB_INPUT(0), desc, &bound_x);
    zt_bind(context, ZB_OUTPUT(0), desc, &bound_y);
    zb_loan loans[2] = {zt_lend_input(0, &lent_x), zt_lend_output(0, &lent_y)};
    for (int round = 1; round <= 10; round++) {
        REQUIRE_OK(zb_infer(context, NULL));
        CHECK(zt_floats(&bound_y)[3] == (float)(101 * round - 100));
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        CHECK(zt_floats(&lent_y)[3] == (float)(101 * round));
        /* a refused call does not move the state */
        zb_infer_options bad = ZB_INFER_OPTIONS_INIT;
        bad.flags = 1;
        CHECK_STATUS(zb_infer_with(context, loans, 2, &bad), ZB_ERROR_INVALID_ARGUMENT);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&bound_x);
    FREE_BUFFER(&bound_y);
    FREE_BUFFER(&lent_x);
    FREE_BUFFER(&lent_y);
}

/* --- loans over bindings --- */

static void other_slots_keep_their_bindings(void)
{
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(4);
    zt_buffer x = zt_buffer_new(16), y = zt_buffer_new(16), z = zt_buffer_new(16);
    zt_fill_floats(&x, 1, 1);
    zt_bind(context, ZB_INPUT(0), desc, &x);
    zt_bind(context, ZB_OUTPUT(0), desc, &z);
    for (int round = 0; round < 10; round++) {
        zt_fill_floats(&y, (float)(10 * round), 0);
        zb_loan loan = zt_lend_input(1, &y);
        REQUIRE_OK(zb_infer_with(context, &loan, 1, NULL));
        for (int i = 0; i < 4; i++) {
            CHECK(zt_floats(&z)[i] == (float)(10 * round + i + 1));
        }
        check_direct(context, ZB_INPUT(0), x.data);
        check_direct(context, ZB_INPUT(1), y.data);
        check_direct(context, ZB_OUTPUT(0), z.data);
    }
    /* y was never bound */
    memset(z.data, 0xCD, z.size);
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_UNBOUND);
    CHECK(zt_is_untouched(&z));
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
    FREE_BUFFER(&z);
}

static void a_loan_shadows_a_binding_for_one_call(void)
{
    zb_model *model = zt_open("two_out");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(8);
    zt_buffer x = zt_buffer_new(32), a = zt_buffer_new(32), b = zt_buffer_new(32);
    zt_buffer lent_x = zt_buffer_new(32), lent_a = zt_buffer_new(32);
    zt_fill_floats(&x, 1, 0);
    zt_fill_floats(&lent_x, 50, 0);
    zt_bind(context, ZB_INPUT(0), desc, &x);
    zt_bind(context, ZB_OUTPUT(0), desc, &a);
    zt_bind(context, ZB_OUTPUT(1), desc, &b);
    zb_loan loans[2] = {zt_lend_input(0, &lent_x), zt_lend_output(0, &lent_a)};
    for (int round = 0; round < 3; round++) {
        memset(a.data, 0xCD, a.size);
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        CHECK(zt_floats(&lent_a)[0] == 51 && zt_floats(&b)[0] == 100);
        CHECK(zt_is_untouched(&a));

        /* the next call finds the bindings as they were */
        memset(lent_a.data, 0xCD, lent_a.size);
        REQUIRE_OK(zb_infer(context, NULL));
        CHECK(zt_floats(&a)[0] == 2 && zt_floats(&b)[0] == 2);
        CHECK(zt_is_untouched(&lent_a));
        check_direct(context, ZB_INPUT(0), x.data);
        check_direct(context, ZB_OUTPUT(0), a.data);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&a);
    FREE_BUFFER(&b);
    FREE_BUFFER(&lent_x);
    FREE_BUFFER(&lent_a);
}

static void lending_what_is_bound_is_no_overlap(void)
{
    zb_model *model = zt_open("two_out");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(8);
    zt_buffer x = zt_buffer_new(32), a = zt_buffer_new(32), b = zt_buffer_new(32);
    zt_fill_floats(&x, 1, 1);
    zt_bind(context, ZB_INPUT(0), desc, &x);
    zt_bind(context, ZB_OUTPUT(0), desc, &a);
    /* what the loan shadows does not count: the buffers change places */
    zb_loan loans[3] = {zt_lend_input(0, &a), zt_lend_output(0, &x), zt_lend_output(1, &b)};
    zt_fill_floats(&a, 5, 0);
    REQUIRE_OK(zb_infer_with(context, loans, 3, NULL));
    CHECK(zt_floats(&x)[0] == 6 && zt_floats(&b)[7] == 10);
    /* but with the binding of output 0 in force, its memory is taken */
    CHECK_STATUS(zb_infer_with(context, loans, 1, NULL), ZB_ERROR_ALIASED);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&a);
    FREE_BUFFER(&b);
}

/* --- nothing is kept --- */

static void lent_pages_may_vanish_after_the_call(void)
{
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_of_pages(16), y = zt_buffer_of_pages(16), z = zt_buffer_of_pages(16);
    void *was_x = x.data, *was_z = z.data;
    const float sums[4] = {11, 22, 33, 44};
    zt_fill_floats(&x, 1, 1);
    zt_fill_floats(&y, 10, 10);
    zb_loan loans[3] = {zt_lend_input(0, &x), zt_lend_input(1, &y), zt_lend_output(0, &z)};
    REQUIRE_OK(zb_infer_with(context, loans, 3, NULL));
    CHECK_FLOATS(zt_floats(&z), sums, 4, 0);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
    FREE_BUFFER(&z);

    /* addresses are still told, as numbers */
    check_direct(context, ZB_INPUT(0), was_x);
    check_direct(context, ZB_OUTPUT(0), was_z);
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_UNBOUND);
    CHECK_STATUS(zb_infer_with(context, NULL, 0, NULL), ZB_ERROR_UNBOUND);
    const void *view = NULL;
    CHECK_STATUS(zb_context_output_view(context, ZB_OUTPUT(0), &view, NULL, NULL), ZB_ERROR_UNBOUND);
    REQUIRE_OK(zb_context_prepare(context));

    /* and life goes on with other memory, the output in the engine's */
    zt_buffer other = zt_buffer_new(16);
    zt_fill_floats(&other, 1, 1);
    zb_loan inputs[2] = {zt_lend_input(0, &other), zt_lend_input(1, &other)};
    const float twice[4] = {2, 4, 6, 8};
    REQUIRE_OK(zb_infer_with(context, inputs, 2, NULL));
    REQUIRE_OK(zb_context_output_view(context, ZB_OUTPUT(0), &view, NULL, NULL));
    CHECK_FLOATS((const float *)view, twice, 4, 0);
    FREE_BUFFER(&other);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void pages_lent_to_a_big_batch_vanish_before_a_small_one(void)
{
    /* planning anew must not look at what was lent before */
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    for (int64_t batch = 7; batch >= 1; batch--) {
        size_t size = (size_t)batch * 16;
        zb_tensor_desc desc = F32(batch, 4);
        zt_buffer x = zt_buffer_of_pages(size), y = zt_buffer_of_pages(size);
        zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
        loans[0].desc = &desc;
        loans[1].desc = &desc;
        zt_fill_floats(&x, 0, 1);
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        for (size_t i = 0; i < size / 4; i++) {
            CHECK(zt_floats(&y)[i] == 2 * (float)i);
        }
        FREE_BUFFER(&x);
        FREE_BUFFER(&y);
        REQUIRE_OK(zb_context_prepare(context));
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void a_failed_call_gives_its_loans_back(void)
{
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(4), wrong = DESC(ZB_DTYPE_I32, 4);
    zt_buffer x = zt_buffer_new(16), z = zt_buffer_new(16), lent = zt_buffer_of_pages(16), out = zt_buffer_of_pages(16);
    zt_fill_floats(&x, 1, 1);
    zt_fill_floats(&lent, 100, 0);
    zt_bind(context, ZB_INPUT(0), desc, &x);
    zt_bind(context, ZB_INPUT(1), desc, &x);
    zt_bind(context, ZB_OUTPUT(0), desc, &z);
    zb_loan loans[3] = {zt_lend_input(0, &lent), zt_lend_output(0, &out), zt_lend_input(1, &lent)};
    /* the last one is refused when the first two were taken already */
    loans[2].desc = &wrong;
    CHECK_STATUS(zb_infer_with(context, loans, 3, NULL), ZB_ERROR_DTYPE_MISMATCH);
    CHECK(zt_is_untouched(&out));
    CHECK(zt_is_untouched(&z));
    FREE_BUFFER(&lent);
    FREE_BUFFER(&out);
    REQUIRE_OK(zb_infer(context, NULL));
    const float twice[4] = {2, 4, 6, 8};
    CHECK_FLOATS(zt_floats(&z), twice, 4, 0);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&z);
}

/* --- shapes --- */

static void a_new_batch_comes_with_the_loan(void)
{
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    const int64_t batches[] = {1, 2, 7, 3, 64, 1};
    for (size_t n = 0; n < sizeof batches / sizeof *batches; n++) {
        int64_t batch = batches[n];
        size_t size = (size_t)batch * 16;
        zb_tensor_desc desc = F32(batch, 4), found;
        zt_buffer x = zt_buffer_new(size), y = zt_buffer_new(size);
        zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
        loans[0].desc = &desc;
        loans[1].desc = &desc;
        zt_fill_floats(&x, (float)n, 1);
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        for (size_t i = 0; i < size / 4; i++) {
            CHECK(zt_floats(&y)[i] == 2 * ((float)n + (float)i));
        }
        CHECK_GUARDS(&y);
        /* the shape stays: the next call needs no desc */
        REQUIRE_OK(zb_context_get_slot_desc(context, ZB_INPUT(0), &found, NULL));
        CHECK(zt_same_desc(&found, &desc));
        loans[0].desc = NULL;
        loans[1].desc = NULL;
        memset(y.data, 0xCD, y.size);
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        CHECK(zt_floats(&y)[0] == 2 * (float)n);
        FREE_BUFFER(&x);
        FREE_BUFFER(&y);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void one_place_for_every_batch(void)
{
    /* an address that was seen before, with another shape each time */
    const int64_t batches[] = {1, 8, 2, 8, 1, 5};
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(128), y = zt_buffer_new(128);
    zt_fill_floats(&x, 1, 1);
    for (size_t n = 0; n < sizeof batches / sizeof *batches; n++) {
        size_t size = (size_t)batches[n] * 16;
        zb_tensor_desc desc = F32(batches[n], 4);
        zb_loan loans[2] = {
            zb_loan_input(ZB_INPUT(0), x.data, size, x.capacity, &desc),
            zb_loan_output(ZB_OUTPUT(0), y.data, size, &desc),
        };
        memset(y.data, 0xCD, y.size);
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        for (size_t i = 0; i < y.size; i++) {
            if (i < size && i % 4 == 0) {
                CHECK(zt_floats(&y)[i / 4] == 2 * (float)(i / 4 + 1));
            } else if (i >= size) {
                CHECK(y.data[i] == 0xCD);
            }
        }
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void one_place_for_every_type(void)
{
    /* the same address goes from model to model, as what each takes it for */
    const char *names[] = {"add_i32", "add4", "add_i64", "add_i32", "add4", "add_i64"};
    zb_model *models[6];
    zb_context *contexts[6];
    zt_buffer x = zt_buffer_new(64), z = zt_buffer_new(64);
    for (size_t n = 0; n < 6; n++) {
        models[n] = zt_open(names[n]);
        contexts[n] = zt_context(models[n]);
    }
    for (size_t n = 0; n < 6; n++) {
        size_t size = n % 3 == 0 ? 32 : n % 3 == 1 ? 16 : 64;
        zb_loan loans[3] = {
            zb_loan_input(ZB_INPUT(0), x.data, size, x.capacity, NULL),
            zb_loan_input(ZB_INPUT(1), x.data, size, x.capacity, NULL),
            zb_loan_output(ZB_OUTPUT(0), z.data, size, NULL),
        };
        memset(x.data, 0, x.size);
        memset(z.data, 0xCD, z.size);
        /* 3 as a whole number or 3.0, in the first element */
        const float number = 3, sum = 6;
        if (n % 3 == 1) {
            memcpy(x.data, &number, sizeof number);
        } else {
            x.data[0] = 3;
        }
        REQUIRE_OK(zb_infer_with(contexts[n], loans, 3, NULL));
        if (n % 3 == 1) {
            CHECK_BYTES(z.data, &sum, sizeof sum);
        } else {
            CHECK_EQ(z.data[0], 6);
        }
        for (size_t i = size; i < z.size; i++) {
            CHECK(z.data[i] == 0xCD);
        }
    }
    for (size_t n = 0; n < 6; n++) {
        zb_context_destroy(contexts[n]);
        zb_model_destroy(models[n]);
    }
    FREE_BUFFER(&x);
    FREE_BUFFER(&z);
}

static void an_output_lent_without_desc_follows_the_new_batch(void)
{
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(3, 4);
    zt_buffer x = zt_buffer_new(48), y = zt_buffer_new(160);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
    loans[0].desc = &desc;
    zt_fill_floats(&x, 1, 1);
    REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    CHECK(zt_floats(&y)[11] == 24);
    /* an output may be larger; what lies behind the result is not the run's */
    for (size_t i = 48; i < 160; i++) {
        CHECK(y.data[i] == 0xCD);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* The output is lent first, and fits the batch of the call before; the input that follows has another batch. */
static void a_new_batch_after_an_output_that_fits_the_old_one(void)
{
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(160), y = zt_buffer_new(160);
    const zb_tensor_desc three = F32(3, 4), two = F32(2, 4), ten = F32(10, 4);
    zb_loan loans[2] = {zt_lend_output(0, &y), zt_lend_input(0, &x)};
    zt_fill_floats(&x, 1, 1);
    for (int round = 0; round < 3; round++) {
        /* twice the same, so that nothing but addresses is new the second time */
        for (int again = 0; again < 2; again++) {
            loans[0].size = loans[1].size = 48;
            loans[0].desc = loans[1].desc = &three;
            REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        }
        /* what the output was said to be is not what it would be */
        loans[1].size = 32;
        loans[1].desc = &two;
        CHECK_STATUS(zb_infer_with(context, loans, 2, NULL), ZB_ERROR_SHAPE_MISMATCH);
        CHECK_ERROR_SAYS("output 0");
        /* as much room as there is, for whatever it is */
        for (int again = 0; again < 2; again++) {
            loans[0] = zt_lend_output(0, &y);
            loans[1].size = 48;
            loans[1].desc = &three;
            REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        }
        memset(y.data, 0xCD, y.size);
        loans[1].size = 160;
        loans[1].desc = &ten;
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        CHECK(zt_floats(&y)[39] == 80);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void a_refused_call_leaves_the_shapes(void)
{
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    const int64_t dims[2] = {2, 4};
    zb_tensor_desc bigger = F32(5, 4), two = F32(2, 4), fixed = F32(2, 5), found;
    zt_buffer x = zt_buffer_new(80), y = zt_buffer_new(80);
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), dims, 2));
    REQUIRE_OK(zb_context_prepare(context));
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_input(0, &x)};
    loans[0].desc = &bigger;
    CHECK_STATUS(zb_infer_with(context, loans, 2, NULL), ZB_ERROR_INVALID_ARGUMENT);
    REQUIRE_OK(zb_context_get_slot_desc(context, ZB_INPUT(0), &found, NULL));
    CHECK(zt_same_desc(&found, &two));

    /* dimensions that the model fixes cannot come with a loan */
    loans[0].desc = &fixed;
    loans[0].size = 40;
    CHECK_STATUS(zb_infer_with(context, loans, 1, NULL), ZB_ERROR_SHAPE_MISMATCH);

    /* bytes that are not those of the desc */
    loans[0].desc = &bigger;
    loans[0].size = 76;
    CHECK_STATUS(zb_infer_with(context, loans, 1, NULL), ZB_ERROR_SHAPE_MISMATCH);
    loans[0].size = 80;
    loans[1] = zt_lend_output(0, &y);
    REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* --- arguments --- */

static void a_slot_is_lent_once(void)
{
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(16), z = zt_buffer_new(16), other = zt_buffer_new(16);
    zb_loan twice_in[4] = {zt_lend_input(0, &x), zt_lend_input(1, &x), zt_lend_output(0, &z), zt_lend_input(0, &x)};
    zb_loan twice_out[4] = {zt_lend_input(0, &x), zt_lend_input(1, &x), zt_lend_output(0, &z), zt_lend_output(0, &other)};
    CHECK_STATUS(zb_infer_with(context, twice_in, 4, NULL), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_ERROR_SAYS("x");
    CHECK_STATUS(zb_infer_with(context, twice_out, 4, NULL), ZB_ERROR_INVALID_ARGUMENT);
    CHECK(zt_is_untouched(&z));
    CHECK(zt_is_untouched(&other));
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&z);
    FREE_BUFFER(&other);
}

static void no_loans_is_a_plain_run(void)
{
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(4);
    zt_buffer x = zt_buffer_new(16), z = zt_buffer_new(16);
    zb_loan unused = zt_lend_output(0, &x);
    CHECK_STATUS(zb_infer_with(context, NULL, 0, NULL), ZB_ERROR_UNBOUND);
    CHECK_STATUS(zb_infer_with(context, NULL, 1, NULL), ZB_ERROR_NULL_ARGUMENT);
    zt_fill_floats(&x, 1, 1);
    zt_bind(context, ZB_INPUT(0), desc, &x);
    zt_bind(context, ZB_INPUT(1), desc, &x);
    zt_bind(context, ZB_OUTPUT(0), desc, &z);
    const float twice[4] = {2, 4, 6, 8};
    REQUIRE_OK(zb_infer_with(context, NULL, 0, NULL));
    CHECK_FLOATS(zt_floats(&z), twice, 4, 0);
    memset(z.data, 0, z.size);
    REQUIRE_OK(zb_infer_with(context, &unused, 0, NULL));
    CHECK_FLOATS(zt_floats(&z), twice, 4, 0);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&z);
}

static void capacity_counts_from_the_data(void)
{
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(16), z = zt_buffer_new(16);
    zb_loan loans[3] = {zt_lend_input(0, &x), zt_lend_input(1, &x), zt_lend_output(0, &z)};
    zt_fill_floats(&x, 1, 1);
    loans[0].capacity = 15;
    CHECK_STATUS(zb_infer_with(context, loans, 3, NULL), ZB_ERROR_INVALID_ARGUMENT);
    /* equal to the size, or 0 for the same; a page's last bytes are a case of their own */
    loans[0].capacity = 16;
    loans[1].capacity = 0;
    if ((uintptr_t)x.data % zt_page_size() + 32 <= zt_page_size()) {
        REQUIRE_OK(zb_infer_with(context, loans, 3, NULL));
    }
    loans[0].capacity = 80;
    loans[1].capacity = 80;
    loans[2].capacity = 80;
    REQUIRE_OK(zb_infer_with(context, loans, 3, NULL));
    const float twice[4] = {2, 4, 6, 8};
    CHECK_FLOATS(zt_floats(&z), twice, 4, 0);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&z);
}

static void what_is_wrong_with_a_loan(void)
{
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(16), z = zt_buffer_new(16);
    zb_loan good[3] = {zt_lend_input(0, &x), zt_lend_input(1, &x), zt_lend_output(0, &z)}, bad[3];

    memcpy(bad, good, sizeof good);
    bad[1].slot = ZB_INPUT(2);
    CHECK_STATUS(zb_infer_with(context, bad, 3, NULL), ZB_ERROR_INVALID_ARGUMENT);
    bad[1].slot = ZB_OUTPUT(1);
    CHECK_STATUS(zb_infer_with(context, bad, 3, NULL), ZB_ERROR_INVALID_ARGUMENT);

    memcpy(bad, good, sizeof good);
    bad[2].flags = 1;
    CHECK_STATUS(zb_infer_with(context, bad, 3, NULL), ZB_ERROR_INVALID_ARGUMENT);

    memcpy(bad, good, sizeof good);
    bad[0].data = NULL;
    CHECK_STATUS(zb_infer_with(context, bad, 3, NULL), ZB_ERROR_NULL_ARGUMENT);
    bad[0].size = 0;
    bad[0].capacity = 0;
    CHECK_STATUS(zb_infer_with(context, bad, 3, NULL), ZB_ERROR_SHAPE_MISMATCH);

    memcpy(bad, good, sizeof good);
    bad[2].size = 12;
    CHECK_STATUS(zb_infer_with(context, bad, 3, NULL), ZB_ERROR_BUFFER_TOO_SMALL);
    CHECK_ERROR_SAYS("16");
    CHECK_ERROR_SAYS("12");

    /* an output of the right size that is called something else */
    zb_tensor_desc integers = DESC(ZB_DTYPE_I32, 4), square = F32(2, 2);
    memcpy(bad, good, sizeof good);
    bad[2].desc = &integers;
    CHECK_STATUS(zb_infer_with(context, bad, 3, NULL), ZB_ERROR_DTYPE_MISMATCH);
    bad[2].desc = &square;
    CHECK_STATUS(zb_infer_with(context, bad, 3, NULL), ZB_ERROR_SHAPE_MISMATCH);

    CHECK(zt_is_untouched(&z));
    REQUIRE_OK(zb_infer_with(context, good, 3, NULL));
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&z);
}

/* --- views --- */

static void lent_outputs_have_no_view(void)
{
    zb_model *model = zt_open("two_out");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(32), a = zt_buffer_new(32);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &a)};
    const void *view = NULL;
    zt_fill_floats(&x, 1, 1);
    REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    CHECK_STATUS(zb_context_output_view(context, ZB_OUTPUT(0), &view, NULL, NULL), ZB_ERROR_UNBOUND);
    /* the other output of the same run lies in the engine's memory */
    REQUIRE_OK(zb_context_output_view(context, ZB_OUTPUT(1), &view, NULL, NULL));
    const float twice[8] = {2, 4, 6, 8, 10, 12, 14, 16};
    CHECK_FLOATS((const float *)view, twice, 8, 0);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&a);
}

static const zt_test tests[] = {
    ON_BOTH(a_new_address_every_call),
    ON_TFLITE(state_is_kept_while_buffers_move),
    ON_TFLITE(a_wake_word_stream_matches_the_reference),
    ON_TFLITE(the_features_of_a_stream_match_the_reference),
    ON_TFLITE(state_survives_a_mixture_of_loans_and_bindings),
    ON_BOTH(other_slots_keep_their_bindings),
    ON_BOTH(a_loan_shadows_a_binding_for_one_call),
    ON_BOTH(lending_what_is_bound_is_no_overlap),
    ON_BOTH(lent_pages_may_vanish_after_the_call),
    ON_BOTH(pages_lent_to_a_big_batch_vanish_before_a_small_one),
    ON_BOTH(a_failed_call_gives_its_loans_back),
    ON_BOTH(a_new_batch_comes_with_the_loan),
    ON_BOTH(one_place_for_every_batch),
    ON_BOTH(one_place_for_every_type),
    ON_BOTH(an_output_lent_without_desc_follows_the_new_batch),
    ON_BOTH(a_new_batch_after_an_output_that_fits_the_old_one),
    ON_BOTH(a_refused_call_leaves_the_shapes),
    ON_BOTH(a_slot_is_lent_once),
    ON_BOTH(no_loans_is_a_plain_run),
    ON_BOTH(capacity_counts_from_the_data),
    ON_BOTH(what_is_wrong_with_a_loan),
    ON_BOTH(lent_outputs_have_no_view),
};

ZT_MAIN(tests)
