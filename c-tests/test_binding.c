/* Sticky bindings: they last, move to new addresses, end, and carry one context's output into another. */
#include "harness.h"

#define BYTES 32u
#define COUNT 8u

static void bind(zb_tensor *tensor, zb_context *context, zb_slot slot)
{
    REQUIRE_OK(zb_tensor_bind(tensor, context, slot));
}

static void check_direct(zb_context *context, zb_slot slot, const void *address)
{
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    REQUIRE_OK(zb_context_get_binding_report(context, slot, &report));
    CHECK_EQ(report.path, ZB_PATH_DIRECT);
    CHECK_EQ(report.bytes_copied, 0);
    CHECK_ADDRESS(report.host_address, address);
    CHECK_ADDRESS(report.engine_address, address);
    CHECK(report.reason == NULL);
}

static void a_binding_lasts(void)
{
    zb_model *model = zt_open("two_out");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(8);
    zt_buffer x = zt_buffer_new(BYTES), a = zt_buffer_new(BYTES), b = zt_buffer_new(BYTES);
    zt_bind(context, ZB_INPUT(0), desc, &x);
    zt_bind(context, ZB_OUTPUT(0), desc, &a);
    zt_bind(context, ZB_OUTPUT(1), desc, &b);
    for (int run = 0; run < 100; run++) {
        /* only the bytes change, and every run sees them */
        zt_fill_floats(&x, (float)run, 1);
        REQUIRE_OK(zb_infer(context, NULL));
        for (unsigned i = 0; i < COUNT; i++) {
            float in = (float)run + (float)i;
            CHECK(zt_floats(&a)[i] == in + 1 && zt_floats(&b)[i] == 2 * in);
        }
    }
    check_direct(context, ZB_INPUT(0), x.data);
    check_direct(context, ZB_OUTPUT(0), a.data);
    check_direct(context, ZB_OUTPUT(1), b.data);
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    REQUIRE_OK(zb_context_get_stats(context, &stats));
    CHECK_EQ(stats.runs, 100);
    CHECK_EQ(stats.rebinds, 3);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&a);
    FREE_BUFFER(&b);
}

static void rebinding_moves_to_new_addresses(void)
{
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    const int64_t dims[2] = {2, 4};
    zb_tensor_desc desc = F32(2, 4);
    zt_buffer old_x = zt_buffer_new(BYTES), old_y = zt_buffer_new(BYTES);
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), dims, 2));
    int rounds = zt_rounds(400, 40);
    for (int round = 0; round < rounds; round++) {
        zt_buffer x = zt_buffer_new(BYTES), y = zt_buffer_new(BYTES);
        zt_fill_floats(&x, (float)round, 0.5f);
        zt_bind(context, ZB_INPUT(0), desc, &x);
        zt_bind(context, ZB_OUTPUT(0), desc, &y);
        /* what was bound before is not looked at again */
        FREE_BUFFER(&old_x);
        FREE_BUFFER(&old_y);
        REQUIRE_OK(zb_infer(context, NULL));
        for (unsigned i = 0; i < COUNT; i++) {
            CHECK(zt_floats(&y)[i] == 2 * ((float)round + 0.5f * (float)i));
        }
        check_direct(context, ZB_INPUT(0), x.data);
        check_direct(context, ZB_OUTPUT(0), y.data);
        old_x = x;
        old_y = y;
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&old_x);
    FREE_BUFFER(&old_y);
}

/* --- temporaries whose addresses come back for another slot --- */

static void free_block(void *user_data, void *data, size_t size)
{
    int *count = user_data;
    (void)size;
    (*count)++;
    free(data);
}

/* A temporary of the host: nobody but the binding knows it, and its end is the release. */
static void *bind_temporary(zb_context *context, zb_slot slot, float value, int *released)
{
    zb_tensor_desc desc = F32(8);
    zb_tensor *tensor = NULL;
    void *block = NULL;
    /* 64 bytes of slack, so that it does not matter where in a page it ends */
    REQUIRE(posix_memalign(&block, 64, BYTES + 64) == 0);
    float *floats = block;
    for (unsigned i = 0; i < (BYTES + 64) / sizeof *floats; i++) {
        floats[i] = value;
    }
    REQUIRE_OK(zb_tensor_wrap(&desc, block, BYTES, BYTES + 64, free_block, released, &tensor));
    bind(tensor, context, slot);
    zb_tensor_destroy(tensor);
    return block;
}

static void seven_temporaries_at_recycled_addresses(void)
{
    static void *seen[7][400];
    zb_model *model = zt_open("sum7");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(8);
    zt_buffer y = zt_buffer_new(BYTES);
    int released = 0, recycled = 0, rounds = zt_rounds(400, 60);
    zt_bind(context, ZB_OUTPUT(0), desc, &y);
    for (int round = 0; round < rounds; round++) {
        float expected = 0;
        for (uint32_t i = 0; i < 7; i++) {
            /* another order of slots every time, so that freed addresses return under other slots */
            uint32_t slot = (i * 3 + (uint32_t)round) % 7;
            float value = (float)((round + 1) * (int)(slot + 1));
            expected += value;
            seen[slot][round] = bind_temporary(context, ZB_INPUT(slot), value, &released);
            for (uint32_t other = 0; other < 7 && round > 0; other++) {
                recycled += other != slot && seen[other][round - 1] == seen[slot][round];
            }
        }
        REQUIRE_OK(zb_infer(context, NULL));
        for (unsigned i = 0; i < COUNT; i++) {
            CHECK(zt_floats(&y)[i] == expected);
        }
        if (round % 2 == 0) {
            /* now all are freed before the next are made; in the odd rounds each replaces another */
            for (uint32_t i = 0; i < 7; i++) {
                REQUIRE_OK(zb_context_unbind(context, ZB_INPUT(i)));
            }
            CHECK_EQ(released, 7 * (round + 1));
        }
    }
    /* otherwise this test would prove nothing; memcheck keeps freed blocks back on purpose */
    CHECK(recycled > 0 || zt_under_memcheck());
    zb_context_destroy(context);
    CHECK_EQ(released, 7 * rounds);
    zb_model_destroy(model);
    FREE_BUFFER(&y);
}

/* --- ends of bindings --- */

static void an_unbound_input_stops_the_run(void)
{
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(4);
    zt_buffer x = zt_buffer_new(16), z = zt_buffer_new(16);
    zt_fill_floats(&x, 1, 1);
    zt_bind(context, ZB_INPUT(0), desc, &x);
    zt_bind(context, ZB_INPUT(1), desc, &x);
    zt_bind(context, ZB_OUTPUT(0), desc, &z);
    REQUIRE_OK(zb_infer(context, NULL));
    REQUIRE_OK(zb_context_unbind(context, ZB_INPUT(1)));
    REQUIRE_OK(zb_context_unbind(context, ZB_INPUT(1)));
    memset(z.data, 0xCD, z.size);
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_UNBOUND);
    CHECK_ERROR_SAYS("y");
    CHECK(zt_is_untouched(&z));
    zt_bind(context, ZB_INPUT(1), desc, &x);
    REQUIRE_OK(zb_infer(context, NULL));
    const float twice[4] = {2, 4, 6, 8};
    CHECK_FLOATS(zt_floats(&z), twice, 4, 0);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&z);
}

static void an_unbound_output_is_left_alone(void)
{
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(4);
    zt_buffer x = zt_buffer_new(16), z = zt_buffer_new(16);
    const float twice[4] = {2, 4, 6, 8};
    const void *view = NULL;
    size_t size = 0;
    zt_fill_floats(&x, 1, 1);
    zt_bind(context, ZB_INPUT(0), desc, &x);
    zt_bind(context, ZB_INPUT(1), desc, &x);
    zt_bind(context, ZB_OUTPUT(0), desc, &z);
    REQUIRE_OK(zb_infer(context, NULL));
    REQUIRE_OK(zb_context_unbind(context, ZB_OUTPUT(0)));
    memset(z.data, 0xCD, z.size);
    for (int run = 0; run < 3; run++) {
        REQUIRE_OK(zb_infer(context, NULL));
        CHECK(zt_is_untouched(&z));
    }
    REQUIRE_OK(zb_context_output_view(context, ZB_OUTPUT(0), &view, &size, NULL));
    CHECK_EQ(size, 16);
    CHECK(view != (void *)z.data);
    CHECK_FLOATS((const float *)view, twice, 4, 0);
    /* and bound once more */
    zt_bind(context, ZB_OUTPUT(0), desc, &z);
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK_FLOATS(zt_floats(&z), twice, 4, 0);
    check_direct(context, ZB_OUTPUT(0), z.data);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&z);
}

static void a_replaced_binding_lets_go(void)
{
    zb_model *model = zt_open("two_out");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(8);
    zt_buffer x = zt_buffer_new(BYTES), first = zt_buffer_new(BYTES), second = zt_buffer_new(BYTES);
    zt_releases releases = {0, NULL, 0};
    zb_tensor *tensor = NULL;
    zt_fill_floats(&x, 1, 1);
    zt_bind(context, ZB_INPUT(0), desc, &x);
    REQUIRE_OK(zb_tensor_wrap(&desc, first.data, first.size, 0, zt_count_release, &releases, &tensor));
    bind(tensor, context, ZB_OUTPUT(0));
    zb_tensor_destroy(tensor);
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK_EQ(zt_release_count(&releases), 0);
    memset(first.data, 0xCD, first.size);
    zt_bind(context, ZB_OUTPUT(0), desc, &second);
    CHECK_EQ(zt_release_count(&releases), 1);
    CHECK_ADDRESS(releases.data, first.data);
    CHECK_EQ(releases.size, BYTES);
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK(zt_is_untouched(&first));
    CHECK(zt_floats(&second)[0] == 2);
    zb_context_destroy(context);
    zb_model_destroy(model);
    CHECK_EQ(zt_release_count(&releases), 1);
    FREE_BUFFER(&x);
    FREE_BUFFER(&first);
    FREE_BUFFER(&second);
}

static void rebinding_the_same_tensor_changes_nothing(void)
{
    zb_model *model = zt_open("two_out");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(8);
    zt_buffer x = zt_buffer_new(BYTES), a = zt_buffer_new(BYTES);
    zt_releases releases = {0, NULL, 0};
    zb_tensor *tensor = NULL;
    zt_fill_floats(&x, 1, 1);
    zt_bind(context, ZB_INPUT(0), desc, &x);
    REQUIRE_OK(zb_tensor_wrap(&desc, a.data, a.size, 0, zt_count_release, &releases, &tensor));
    for (int i = 0; i < 5; i++) {
        bind(tensor, context, ZB_OUTPUT(0));
        REQUIRE_OK(zb_infer(context, NULL));
        CHECK(zt_floats(&a)[0] == 2);
    }
    zb_tensor_destroy(tensor);
    CHECK_EQ(zt_release_count(&releases), 0);
    zb_context_destroy(context);
    CHECK_EQ(zt_release_count(&releases), 1);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&a);
}

/* --- sharing --- */

static void one_tensor_serves_two_contexts(void)
{
    zb_model *adder = zt_open("two_out"), *summer = zt_open("sum7");
    zb_context *one = zt_context(adder), *two = zt_context(summer);
    zb_tensor_desc desc = F32(8);
    zt_buffer x = zt_buffer_new(BYTES), a = zt_buffer_new(BYTES), y = zt_buffer_new(BYTES);
    zt_fill_floats(&x, 1, 1);
    zb_tensor *shared = zt_wrap(&desc, &x);
    bind(shared, one, ZB_INPUT(0));
    for (uint32_t i = 0; i < 7; i++) {
        /* and all inputs of a context at once */
        bind(shared, two, ZB_INPUT(i));
    }
    zb_tensor_destroy(shared);
    zt_bind(one, ZB_OUTPUT(0), desc, &a);
    zt_bind(two, ZB_OUTPUT(0), desc, &y);
    REQUIRE_OK(zb_infer(one, NULL));
    REQUIRE_OK(zb_infer(two, NULL));
    for (unsigned i = 0; i < COUNT; i++) {
        CHECK(zt_floats(&a)[i] == (float)i + 2);
        CHECK(zt_floats(&y)[i] == 7 * ((float)i + 1));
    }
    for (uint32_t i = 0; i < 7; i++) {
        check_direct(two, ZB_INPUT(i), x.data);
    }
    /* one context's end does not touch the other's binding */
    zb_context_destroy(one);
    zt_fill_floats(&x, 10, 0);
    REQUIRE_OK(zb_infer(two, NULL));
    CHECK(zt_floats(&y)[7] == 70);
    zb_context_destroy(two);
    zb_model_destroy(adder);
    zb_model_destroy(summer);
    FREE_BUFFER(&x);
    FREE_BUFFER(&a);
    FREE_BUFFER(&y);
}

static void inputs_may_overlap(void)
{
    /* one ring of samples, two windows of it */
    zb_model *model = zt_open("add256");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(256);
    zt_buffer ring = zt_buffer_new(2048), z = zt_buffer_new(1024);
    zt_fill_floats(&ring, 0, 1);
    zt_bind(context, ZB_OUTPUT(0), desc, &z);
    for (size_t hop = 0; hop <= 256; hop += 16) {
        zb_loan windows[2] = {
            zb_loan_input(ZB_INPUT(0), ring.data, 1024, ring.size, NULL),
            zb_loan_input(ZB_INPUT(1), ring.data + 4 * hop, 1024, ring.capacity - 4 * hop, NULL),
        };
        REQUIRE_OK(zb_infer_with(context, windows, 2, NULL));
        for (unsigned i = 0; i < 256; i++) {
            CHECK(zt_floats(&z)[i] == (float)(2 * i + hop));
        }
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&ring);
    FREE_BUFFER(&z);
}

static void an_output_is_the_next_contexts_input(void)
{
    zb_model *model = zt_open("chain");
    zb_context *there = zt_context(model), *back = zt_context(model);
    zb_tensor_desc desc = F32(1024);
    zt_buffer first = zt_buffer_new(4096), second = zt_buffer_new(4096);
    zb_tensor *one = zt_wrap(&desc, &first), *two = zt_wrap(&desc, &second);
    zt_fill_floats(&first, 0, 1);
    bind(one, there, ZB_INPUT(0));
    bind(two, there, ZB_OUTPUT(0));
    bind(two, back, ZB_INPUT(0));
    bind(one, back, ZB_OUTPUT(0));
    zb_tensor_destroy(one);
    zb_tensor_destroy(two);
    for (int round = 1; round <= 10; round++) {
        REQUIRE_OK(zb_infer(there, NULL));
        CHECK(zt_floats(&second)[1023] == (float)(1023 + 80 * round - 40));
        REQUIRE_OK(zb_infer(back, NULL));
        CHECK(zt_floats(&first)[1023] == (float)(1023 + 80 * round));
    }
    for (unsigned i = 0; i < 1024; i++) {
        CHECK(zt_floats(&first)[i] == (float)(i + 800));
    }
    check_direct(there, ZB_OUTPUT(0), second.data);
    check_direct(back, ZB_INPUT(0), second.data);
    zb_context_destroy(there);
    zb_context_destroy(back);
    zb_model_destroy(model);
    FREE_BUFFER(&first);
    FREE_BUFFER(&second);
}

static void every_run_after_a_change_uses_what_is_new(void)
{
    /* an engine may prepare what pays with repetition; a change must undo that, in the later runs too */
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(4);
    zt_buffer x[3], y = zt_buffer_new(16), z[2], lent = zt_buffer_new(16);
    zb_tensor *inputs[3], *outputs[2];
    zt_fill_floats(&y, 0.5f, 0);
    zt_fill_floats(&lent, 77, 0);
    zt_bind(context, ZB_INPUT(1), desc, &y);
    for (int i = 0; i < 3; i++) {
        x[i] = zt_buffer_new(16);
        inputs[i] = zt_wrap(&desc, &x[i]);
    }
    for (int i = 0; i < 2; i++) {
        z[i] = zt_buffer_new(16);
        outputs[i] = zt_wrap(&desc, &z[i]);
    }
    for (int change = 0; change < 12; change++) {
        zt_buffer *in = &x[change % 3], *out = &z[change % 2], *idle = &z[(change + 1) % 2];
        bind(inputs[change % 3], context, ZB_INPUT(0));
        bind(outputs[change % 2], context, ZB_OUTPUT(0));
        for (int run = 0; run < 4; run++) {
            zt_fill_floats(in, (float)(10 * change + run), 0);
            memset(idle->data, 0xCD, idle->size);
            REQUIRE_OK(zb_infer(context, NULL));
            CHECK(zt_floats(out)[3] == (float)(10 * change + run) + 0.5f);
            CHECK(zt_is_untouched(idle));
        }
        /* a loan in between, and the binding repeats after it */
        zb_loan loan = zt_lend_input(0, &lent);
        REQUIRE_OK(zb_infer_with(context, &loan, 1, NULL));
        CHECK(zt_floats(out)[3] == 77.5f);
        for (int run = 0; run < 4; run++) {
            REQUIRE_OK(zb_infer(context, NULL));
            CHECK(zt_floats(out)[3] == (float)(10 * change + 3) + 0.5f);
        }
        check_direct(context, ZB_INPUT(0), in->data);
        check_direct(context, ZB_OUTPUT(0), out->data);
    }
    for (int i = 0; i < 3; i++) {
        zb_tensor_destroy(inputs[i]);
    }
    for (int i = 0; i < 2; i++) {
        zb_tensor_destroy(outputs[i]);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    for (int i = 0; i < 3; i++) {
        FREE_BUFFER(&x[i]);
    }
    for (int i = 0; i < 2; i++) {
        FREE_BUFFER(&z[i]);
    }
    FREE_BUFFER(&y);
    FREE_BUFFER(&lent);
}

static void freed_memory_is_forgotten_by_later_runs(void)
{
    /* repeated runs on bindings, then their memory goes, and runs repeat on other memory */
    zb_model *model = zt_open("two_out");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(8);
    for (int turn = 0; turn < 6; turn++) {
        zt_buffer x = zt_buffer_of_pages(BYTES), a = zt_buffer_of_pages(BYTES);
        zt_fill_floats(&x, (float)turn, 1);
        zt_bind(context, ZB_INPUT(0), desc, &x);
        zt_bind(context, ZB_OUTPUT(0), desc, &a);
        for (int run = 0; run < 4; run++) {
            memset(a.data, 0, a.size);
            REQUIRE_OK(zb_infer(context, NULL));
            CHECK(zt_floats(&a)[0] == (float)turn + 1);
        }
        REQUIRE_OK(zb_context_unbind(context, ZB_INPUT(0)));
        REQUIRE_OK(zb_context_unbind(context, ZB_OUTPUT(0)));
        FREE_BUFFER(&x);
        FREE_BUFFER(&a);
        CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_UNBOUND);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void bindings_rotate_through_an_overlap(void)
{
    zb_model *model = zt_open("chain");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(1024);
    zt_buffer first = zt_buffer_new(4096), second = zt_buffer_new(4096);
    zb_tensor *tensors[2];
    zt_fill_floats(&first, 0, 1);
    tensors[0] = zt_wrap(&desc, &first);
    tensors[1] = zt_wrap(&desc, &second);
    for (int round = 0; round < 10; round++) {
        bind(tensors[round % 2], context, ZB_INPUT(0));
        /* between these two calls both slots have one tensor; only a run would mind */
        if (round > 0) {
            CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_ALIASED);
        }
        bind(tensors[(round + 1) % 2], context, ZB_OUTPUT(0));
        REQUIRE_OK(zb_infer(context, NULL));
    }
    for (unsigned i = 0; i < 1024; i++) {
        CHECK(zt_floats(&first)[i] == (float)(i + 400));
    }
    zb_tensor_destroy(tensors[0]);
    zb_tensor_destroy(tensors[1]);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&first);
    FREE_BUFFER(&second);
}

static void a_larger_output_buffer_keeps_its_tail(void)
{
    zb_model *model = zt_open("two_out");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(8);
    zt_buffer x = zt_buffer_new(BYTES), a = zt_buffer_new(BYTES + 32);
    zb_tensor *tensor = NULL;
    zt_fill_floats(&x, 1, 1);
    zt_bind(context, ZB_INPUT(0), desc, &x);
    /* the room behind an output is capacity, as it is for inputs */
    REQUIRE_OK(zb_tensor_wrap(&desc, a.data, BYTES, a.size, NULL, NULL, &tensor));
    bind(tensor, context, ZB_OUTPUT(0));
    zb_tensor_destroy(tensor);
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK(zt_floats(&a)[7] == 9);
    for (unsigned i = BYTES; i < a.size; i++) {
        CHECK(a.data[i] == 0xCD);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&a);
}

static const zt_test tests[] = {
    ON_BOTH(a_binding_lasts),
    ON_BOTH(rebinding_moves_to_new_addresses),
    ON_BOTH(seven_temporaries_at_recycled_addresses),
    ON_BOTH(an_unbound_input_stops_the_run),
    ON_BOTH(an_unbound_output_is_left_alone),
    ON_BOTH(a_replaced_binding_lets_go),
    ON_BOTH(rebinding_the_same_tensor_changes_nothing),
    ON_BOTH(one_tensor_serves_two_contexts),
    ON_BOTH(inputs_may_overlap),
    ON_BOTH(an_output_is_the_next_contexts_input),
    ON_BOTH(every_run_after_a_change_uses_what_is_new),
    ON_BOTH(freed_memory_is_forgotten_by_later_runs),
    ON_BOTH(bindings_rotate_through_an_overlap),
    ON_BOTH(a_larger_output_buffer_keeps_its_tail),
};

ZT_MAIN(tests)
