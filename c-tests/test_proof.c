/*
 * Zero copy, proved: by the engine's own addresses, by who touches closed pages first, by a second map of the same
 * memory, and by counting. Each proof has its control, a run that copies, which it must tell apart.
 */
#include "harness.h"

#include "trap.h"

#include <sys/mman.h>
#include <unistd.h>

/* of the model `image`, y = x * 2 */
#define IMAGE_FLOATS (224u * 224u * 3u)
#define IMAGE_BYTES (IMAGE_FLOATS * 4u)
/* of `slice16`, y = x[0..16], and `big16`, y = x + 1 */
#define BIG_BYTES (16u << 20)

static zb_tensor_desc image_desc(void)
{
    return F32(1, 224, 224, 3);
}

static zb_binding_report report_of(zb_context *context, zb_slot slot)
{
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    REQUIRE_OK(zb_context_get_binding_report(context, slot, &report));
    return report;
}

static void check_direct(zb_context *context, zb_slot slot, const void *address)
{
    zb_binding_report report = report_of(context, slot);
    CHECK_EQ(report.path, ZB_PATH_DIRECT);
    CHECK_EQ(report.bytes_copied, 0);
    CHECK_ADDRESS(report.host_address, address);
    CHECK_ADDRESS(report.engine_address, address);
    CHECK(report.reason == NULL);
}

static void check_staged(zb_context *context, zb_slot slot, const void *address, size_t bytes, const char *reason)
{
    zb_binding_report report = report_of(context, slot);
    CHECK_EQ(report.path, ZB_PATH_STAGED);
    CHECK_EQ(report.bytes_copied, bytes);
    CHECK_ADDRESS(report.host_address, address);
    CHECK(report.engine_address != address);
    CHECK(report.reason != NULL && strstr(report.reason, reason) != NULL);
}

static uint64_t bytes_copied(zb_context *context)
{
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    REQUIRE_OK(zb_context_get_stats(context, &stats));
    return stats.bytes_copied;
}

static void check_doubled(const zt_buffer *x, const zt_buffer *y)
{
    size_t wrong = 0;
    for (size_t i = 0; i < IMAGE_FLOATS; i++) {
        float in = 0, out = 0;
        memcpy(&in, x->data + i * sizeof in, sizeof in);
        memcpy(&out, y->data + i * sizeof out, sizeof out);
        wrong += !(out == 2 * in);
    }
    CHECK_EQ(wrong, 0);
}

/* --- before there was a run --- */

static void nothing_is_reported_before_a_run(void)
{
    zb_model *model = zt_open("image");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = image_desc();
    zt_buffer x = zt_buffer_new(IMAGE_BYTES);
    zt_bind(context, ZB_INPUT(0), desc, &x);
    REQUIRE_OK(zb_context_prepare(context));
    zb_binding_report report = report_of(context, ZB_INPUT(0));
    CHECK_EQ(report.path, ZB_PATH_UNBOUND);
    CHECK(report.host_address == NULL && report.engine_address == NULL && report.reason == NULL);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
}

static void a_refused_run_leaves_the_last_report(void)
{
    zb_model *model = zt_open("two_out");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(32), a = zt_buffer_new(32), other = zt_buffer_new(32);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &a)};
    zt_fill_floats(&x, 1, 1);
    REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    loans[0] = zt_lend_input(0, &other);
    loans[1].size = 28;
    CHECK_STATUS(zb_infer_with(context, loans, 2, NULL), ZB_ERROR_BUFFER_TOO_SMALL);
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_UNBOUND);
    check_direct(context, ZB_INPUT(0), x.data);
    check_direct(context, ZB_OUTPUT(0), a.data);
    CHECK_EQ(report_of(context, ZB_OUTPUT(1)).path, ZB_PATH_UNBOUND);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&a);
    FREE_BUFFER(&other);
}

/* --- closed pages --- */

static void only_the_engine_touches_bound_pages(void)
{
    zb_model *model = zt_open("image");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = image_desc();
    zt_buffer x = zt_buffer_of_pages(IMAGE_BYTES), y = zt_buffer_of_pages(IMAGE_BYTES);
    size_t pages = (IMAGE_BYTES + zt_page_size() - 1) / zt_page_size();
    zt_fill_floats(&x, 1, 0.25f);
    trap_install();
    size_t in = trap_arm(x.data, x.size), out = trap_arm(y.data, y.size);
    zt_bind(context, ZB_INPUT(0), desc, &x);
    zt_bind(context, ZB_OUTPUT(0), desc, &y);
    REQUIRE_OK(zb_context_prepare(context));
    /* nothing is read or written before the run */
    CHECK_EQ(trap_count_all(in), 0);
    CHECK_EQ(trap_count_all(out), 0);
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK_EQ(trap_count(in, TRAP_ENGINE), pages);
    CHECK_EQ(trap_count_all(in), pages);
    CHECK_EQ(trap_count(out, TRAP_ENGINE), pages);
    CHECK_EQ(trap_count_all(out), pages);
    trap_remove();
    check_doubled(&x, &y);
    check_direct(context, ZB_INPUT(0), x.data);
    check_direct(context, ZB_OUTPUT(0), y.data);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void only_the_engine_touches_lent_pages(void)
{
    zb_model *model = zt_open("image");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_of_pages(IMAGE_BYTES), y = zt_buffer_of_pages(IMAGE_BYTES);
    size_t pages = (IMAGE_BYTES + zt_page_size() - 1) / zt_page_size();
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
    zt_fill_floats(&x, 1, 0.25f);
    trap_install();
    size_t in = trap_arm(x.data, x.size), out = trap_arm(y.data, y.size);
    REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    CHECK_EQ(trap_count(in, TRAP_ENGINE), pages);
    CHECK_EQ(trap_count_all(in), pages);
    CHECK_EQ(trap_count(out, TRAP_ENGINE), pages);
    CHECK_EQ(trap_count_all(out), pages);
    trap_remove();
    check_doubled(&x, &y);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void a_run_that_copies_springs_the_trap(void)
{
    /* the control: one byte off, and it is zerobind that reads the input and writes the output */
    zb_model *model = zt_open("image");
    zb_context *context = zt_copying_context(model);
    zb_tensor_desc desc = image_desc();
    zt_buffer x = zt_buffer_of_pages(IMAGE_BYTES + 1), y = zt_buffer_of_pages(IMAGE_BYTES + 1);
    size_t pages = (IMAGE_BYTES + zt_page_size()) / zt_page_size();
    zb_loan loans[2] = {
        zb_loan_input(ZB_INPUT(0), x.data + 1, IMAGE_BYTES, 0, &desc),
        zb_loan_output(ZB_OUTPUT(0), y.data + 1, IMAGE_BYTES, &desc),
    };
    trap_install();
    size_t in = trap_arm(x.data, x.size), out = trap_arm(y.data, y.size);
    REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    CHECK_EQ(trap_count(in, TRAP_ZEROBIND), pages);
    CHECK_EQ(trap_count_all(in), pages);
    CHECK_EQ(trap_count(out, TRAP_ZEROBIND), pages);
    CHECK_EQ(trap_count_all(out), pages);
    trap_remove();
    CHECK_EQ(bytes_copied(context), 2 * IMAGE_BYTES);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void a_refused_run_touches_nothing(void)
{
    zb_model *model = zt_open("image");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_of_pages(IMAGE_BYTES), y = zt_buffer_of_pages(IMAGE_BYTES);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
    trap_install();
    size_t in = trap_arm(x.data, x.size), out = trap_arm(y.data, y.size);
    loans[1].size = IMAGE_BYTES - 4;
    CHECK_STATUS(zb_infer_with(context, loans, 2, NULL), ZB_ERROR_BUFFER_TOO_SMALL);
    CHECK_EQ(trap_count_all(in), 0);
    CHECK_EQ(trap_count_all(out), 0);
    trap_remove();
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* --- work that does not grow with the input --- */

static void a_slice_of_16_mib_touches_one_page(void)
{
    zb_model *model = zt_open("slice16");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_of_pages(BIG_BYTES), y = zt_buffer_new(64);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
    zt_fill_floats(&x, 7, 1);
    trap_install();
    size_t in = trap_arm(x.data, x.size);
    REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    CHECK_EQ(trap_count_all(in), 1);
    CHECK_EQ(trap_count(in, TRAP_ENGINE), 1);
    trap_remove();
    for (int i = 0; i < 16; i++) {
        CHECK(zt_floats(&y)[i] == (float)(7 + i));
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void a_copied_slice_touches_them_all(void)
{
    /* the control */
    zb_model *model = zt_open("slice16");
    zb_context *context = zt_copying_context(model);
    zt_buffer x = zt_buffer_of_pages(BIG_BYTES + 1), y = zt_buffer_new(64);
    zb_loan loans[2] = {zb_loan_input(ZB_INPUT(0), x.data + 1, BIG_BYTES, 0, NULL), zt_lend_output(0, &y)};
    trap_install();
    size_t in = trap_arm(x.data, x.size);
    REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    CHECK_EQ(trap_count_all(in), BIG_BYTES / zt_page_size() + 1);
    trap_remove();
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* --- one memory, two maps --- */

/* Maps the same pages twice. */
static void map_twice(size_t size, unsigned char **one, unsigned char **two)
{
    int file = memfd_create("zerobind", MFD_CLOEXEC);
    REQUIRE(file >= 0 && ftruncate(file, (off_t)size) == 0);
    void *first = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    void *second = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    REQUIRE(first != MAP_FAILED && second != MAP_FAILED && first != second);
    close(file);
    *one = first;
    *two = second;
}

static void the_engine_works_on_the_very_pages(void)
{
    zb_model *model = zt_open("image");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = image_desc();
    /* room behind the input for what an engine may read there */
    const size_t mapped = IMAGE_BYTES + zt_page_size();
    unsigned char *x = NULL, *other_x = NULL, *y = NULL, *other_y = NULL;
    zb_tensor *in = NULL, *out = NULL;
    map_twice(mapped, &x, &other_x);
    map_twice(mapped, &y, &other_y);
    REQUIRE_OK(zb_tensor_wrap(&desc, x, IMAGE_BYTES, mapped, NULL, NULL, &in));
    REQUIRE_OK(zb_tensor_wrap(&desc, y, IMAGE_BYTES, mapped, NULL, NULL, &out));
    REQUIRE_OK(zb_tensor_bind(in, context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(out, context, ZB_OUTPUT(0)));
    /* the host uses the second maps only, so what it reads there was written into these very pages */
    for (int run = 1; run <= 3; run++) {
        float *given = (void *)other_x;
        const float *result = (const void *)other_y;
        size_t wrong = 0;
        for (size_t i = 0; i < IMAGE_FLOATS; i++) {
            given[i] = (float)(i + (size_t)run);
        }
        REQUIRE_OK(zb_infer(context, NULL));
        for (size_t i = 0; i < IMAGE_FLOATS; i++) {
            wrong += result[i] != 2 * (float)(i + (size_t)run);
        }
        CHECK_EQ(wrong, 0);
        check_direct(context, ZB_INPUT(0), x);
        check_direct(context, ZB_OUTPUT(0), y);
    }
    CHECK_EQ(bytes_copied(context), 0);
    zb_tensor_destroy(in);
    zb_tensor_destroy(out);
    zb_context_destroy(context);
    zb_model_destroy(model);
    munmap(x, mapped);
    munmap(other_x, mapped);
    munmap(y, mapped);
    munmap(other_y, mapped);
}

static void outputs_go_from_model_to_model_without_a_copy(void)
{
    /* 16 MiB out of one context into the next, through pages that are closed before each run */
    zb_model *big = zt_open("big16"), *slice = zt_open("slice16");
    zb_context *first = zt_context(big), *second = zt_context(slice);
    zb_tensor_desc desc = F32(BIG_BYTES / 4);
    zt_buffer x = zt_buffer_of_pages(BIG_BYTES), between = zt_buffer_of_pages(BIG_BYTES), y = zt_buffer_new(64);
    zb_tensor *shared = zt_wrap(&desc, &between);
    zb_loan in = zt_lend_input(0, &x), out = zt_lend_output(0, &y);
    size_t pages = BIG_BYTES / zt_page_size();
    zt_fill_floats(&x, 1, 1);
    REQUIRE_OK(zb_tensor_bind(shared, first, ZB_OUTPUT(0)));
    REQUIRE_OK(zb_tensor_bind(shared, second, ZB_INPUT(0)));
    zb_tensor_destroy(shared);
    trap_install();
    size_t written = trap_arm(between.data, between.size);
    REQUIRE_OK(zb_infer_with(first, &in, 1, NULL));
    CHECK_EQ(trap_count(written, TRAP_ENGINE), pages);
    CHECK_EQ(trap_count_all(written), pages);
    trap_remove();
    trap_install();
    size_t read = trap_arm(between.data, between.size);
    REQUIRE_OK(zb_infer_with(second, &out, 1, NULL));
    CHECK_EQ(trap_count(read, TRAP_ENGINE), 1);
    CHECK_EQ(trap_count_all(read), 1);
    trap_remove();
    for (int i = 0; i < 16; i++) {
        CHECK(zt_floats(&y)[i] == (float)(i + 2));
    }
    CHECK_EQ(bytes_copied(first) + bytes_copied(second), 0);
    zb_context_destroy(first);
    zb_context_destroy(second);
    zb_model_destroy(big);
    zb_model_destroy(slice);
    FREE_BUFFER(&x);
    FREE_BUFFER(&between);
    FREE_BUFFER(&y);
}

/* --- copies that are allowed, and told --- */

/* Whether an address this far past a multiple of 64 is one that the engine takes for floats. */
static int is_taken(size_t offset)
{
    return offset % (zt_is_tflite() ? 64u : 4u) == 0;
}

static void misaligned_memory_is_staged_when_allowed(void)
{
    const size_t offsets[] = {0, 1, 2, 4, 16, 32, 63};
    zb_model *model = zt_open("image");
    zb_context *context = zt_copying_context(model);
    zb_tensor_desc desc = image_desc();
    uint64_t expected = 0;
    for (size_t n = 0; n < sizeof offsets / sizeof *offsets; n++) {
        size_t offset = offsets[n];
        /* input and output one after the other, so that each is seen alone */
        for (int side = 0; side < 2; side++) {
            zt_buffer x = zt_buffer_at(IMAGE_BYTES, side == 0 ? offset : 0);
            zt_buffer y = zt_buffer_at(IMAGE_BYTES, side == 1 ? offset : 0);
            zt_fill_floats(&x, (float)n, 0.5f);
            zt_bind(context, ZB_INPUT(0), desc, &x);
            zt_bind(context, ZB_OUTPUT(0), desc, &y);
            REQUIRE_OK(zb_infer(context, NULL));
            check_doubled(&x, &y);
            if (is_taken(offset)) {
                check_direct(context, ZB_INPUT(0), x.data);
                check_direct(context, ZB_OUTPUT(0), y.data);
            } else {
                zb_slot staged = side == 0 ? ZB_INPUT(0) : ZB_OUTPUT(0), direct = side == 1 ? ZB_INPUT(0) : ZB_OUTPUT(0);
                check_staged(context, staged, side == 0 ? x.data : y.data, IMAGE_BYTES, "aligned");
                check_direct(context, direct, side == 1 ? x.data : y.data);
                expected += IMAGE_BYTES;
            }
            CHECK_EQ(bytes_copied(context), expected);
            REQUIRE_OK(zb_context_unbind(context, ZB_INPUT(0)));
            REQUIRE_OK(zb_context_unbind(context, ZB_OUTPUT(0)));
            FREE_BUFFER(&x);
            FREE_BUFFER(&y);
        }
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void misaligned_memory_is_refused_otherwise(void)
{
    const size_t offsets[] = {1, 2, 4, 16, 32, 63};
    zb_model *model = zt_open("two_out");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(8);
    for (size_t n = 0; n < sizeof offsets / sizeof *offsets; n++) {
        zt_buffer good = zt_buffer_new(32), odd = zt_buffer_at(32, offsets[n]);
        zb_tensor *tensor = zt_wrap(&desc, &odd);
        zb_status expected = is_taken(offsets[n]) ? ZB_OK : ZB_ERROR_MISALIGNED;
        zb_loan in = zt_lend_input(0, &odd), lent[2] = {zt_lend_input(0, &good), zt_lend_output(1, &odd)};
        CHECK_STATUS(zb_tensor_bind(tensor, context, ZB_INPUT(0)), expected);
        CHECK_STATUS(zb_context_unbind(context, ZB_INPUT(0)), ZB_OK);
        CHECK_STATUS(zb_tensor_bind(tensor, context, ZB_OUTPUT(0)), expected);
        CHECK_STATUS(zb_context_unbind(context, ZB_OUTPUT(0)), ZB_OK);
        zb_tensor_destroy(tensor);
        CHECK_STATUS(zb_infer_with(context, &in, 1, NULL), expected);
        CHECK(zt_is_untouched(&odd));
        CHECK_STATUS(zb_infer_with(context, lent, 2, NULL), expected);
        CHECK(zt_is_untouched(&odd) == (expected != ZB_OK));
        FREE_BUFFER(&good);
        FREE_BUFFER(&odd);
    }
    CHECK_EQ(bytes_copied(context), 0);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void staged_slots_follow_the_bytes_of_each_run(void)
{
    zb_model *model = zt_open("two_out");
    zb_context *context = zt_copying_context(model);
    zb_tensor_desc desc = F32(8);
    zt_buffer x = zt_buffer_at(32, 1), a = zt_buffer_at(32, 2), b = zt_buffer_new(32);
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    zt_bind(context, ZB_INPUT(0), desc, &x);
    zt_bind(context, ZB_OUTPUT(0), desc, &a);
    zt_bind(context, ZB_OUTPUT(1), desc, &b);
    for (int run = 1; run <= 20; run++) {
        float first = 0;
        zt_fill_floats(&x, (float)run, 1);
        REQUIRE_OK(zb_infer(context, NULL));
        memcpy(&first, a.data, sizeof first);
        CHECK(first == (float)(run + 1) && zt_floats(&b)[0] == (float)(2 * run));
        CHECK_GUARDS(&a);
        CHECK_EQ(bytes_copied(context), 64 * run);
    }
    /* the report speaks of one run */
    check_staged(context, ZB_INPUT(0), x.data, 32, "aligned");
    check_staged(context, ZB_OUTPUT(0), a.data, 32, "aligned");
    check_direct(context, ZB_OUTPUT(1), b.data);
    REQUIRE_OK(zb_context_get_stats(context, &stats));
    /* staging memory is made once */
    CHECK(stats.allocations <= 2);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&a);
    FREE_BUFFER(&b);
}

static void staging_grows_with_the_batch(void)
{
    const int64_t batches[] = {1, 64, 2, 500};
    zb_model *model = zt_open("batch");
    zb_context *context = zt_copying_context(model);
    for (size_t n = 0; n < sizeof batches / sizeof *batches; n++) {
        size_t size = (size_t)batches[n] * 16, wrong = 0;
        zb_tensor_desc desc = F32(batches[n], 4);
        zt_buffer x = zt_buffer_at(size, 1), y = zt_buffer_at(size, 1);
        zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
        loans[0].desc = &desc;
        loans[1].desc = &desc;
        zt_fill_floats(&x, (float)n, 1);
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        for (size_t i = 0; i < size / 4; i++) {
            float out = 0;
            memcpy(&out, y.data + 4 * i, sizeof out);
            wrong += !(out == 2 * (float)(n + i));
        }
        CHECK_EQ(wrong, 0);
        check_staged(context, ZB_INPUT(0), x.data, size, "aligned");
        check_staged(context, ZB_OUTPUT(0), y.data, size, "aligned");
        FREE_BUFFER(&x);
        FREE_BUFFER(&y);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void staged_and_direct_take_turns(void)
{
    zb_model *model = zt_open("two_out");
    zb_context *context = zt_copying_context(model);
    zt_buffer straight = zt_buffer_new(32), odd = zt_buffer_at(32, 1), a = zt_buffer_new(32), odd_a = zt_buffer_at(32, 3);
    for (int run = 0; run < 8; run++) {
        zt_buffer *x = run % 2 == 0 ? &odd : &straight, *out = run / 2 % 2 == 0 ? &odd_a : &a;
        zb_loan loans[2] = {zt_lend_input(0, x), zt_lend_output(0, out)};
        float first = 0;
        zt_fill_floats(x, (float)(10 * run), 1);
        memset(out->data, 0xCD, out->size);
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        memcpy(&first, out->data, sizeof first);
        CHECK(first == (float)(10 * run + 1));
        CHECK_EQ(report_of(context, ZB_INPUT(0)).path, x == &odd ? ZB_PATH_STAGED : ZB_PATH_DIRECT);
        CHECK_EQ(report_of(context, ZB_OUTPUT(0)).path, out == &odd_a ? ZB_PATH_STAGED : ZB_PATH_DIRECT);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&straight);
    FREE_BUFFER(&odd);
    FREE_BUFFER(&a);
    FREE_BUFFER(&odd_a);
}

/* --- reading past the end --- */

static void check_fc13(const zt_buffer *x, const zt_buffer *y)
{
    for (int r = 0; r < 16; r++) {
        for (int c = 0; c < 8; c++) {
            float sum = 0;
            for (int k = 0; k < 13; k++) {
                sum += zt_floats(x)[r * 13 + k] * (float)((c * 7 + k * 3) % 11 - 5);
            }
            CHECK(zt_floats(y)[r * 8 + c] == sum);
        }
    }
}

static void an_input_at_the_end_of_a_page(void)
{
    /* XNNPACK reads past the end of this model's input, though the input's size is a multiple of 64 */
    zb_model *model = zt_open("fc13");
    zb_context *strict = zt_context(model), *copying = zt_copying_context(model);
    zt_buffer x = zt_buffer_at_page_end(16 * 13 * 4), y = zt_buffer_new(16 * 8 * 4);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
    for (size_t i = 0; i < 16 * 13; i++) {
        zt_floats(&x)[i] = (float)(i % 9) - 4;
    }
    if (zt_is_tflite()) {
        CHECK_STATUS(zb_infer_with(strict, loans, 2, NULL), ZB_ERROR_BUFFER_TOO_SMALL);
        CHECK(zt_is_untouched(&y));
        REQUIRE_OK(zb_infer_with(copying, loans, 2, NULL));
        check_staged(copying, ZB_INPUT(0), x.data, x.size, "past the end");
    } else {
        REQUIRE_OK(zb_infer_with(strict, loans, 2, NULL));
        check_direct(strict, ZB_INPUT(0), x.data);
        check_fc13(&x, &y);
        REQUIRE_OK(zb_infer_with(copying, loans, 2, NULL));
        check_direct(copying, ZB_INPUT(0), x.data);
    }
    check_fc13(&x, &y);
    zb_context_destroy(strict);
    zb_context_destroy(copying);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void room_is_asked_for_at_the_end_of_a_page_only(void)
{
    zb_model *model = zt_open("add_i8_1021");
    zb_context *context = zt_context(model);
    zt_buffer pages = zt_buffer_of_pages(zt_page_size()), z = zt_buffer_new(1021);
    memset(pages.data, 0, pages.size);
    /* the first ends 3 bytes before a multiple of 64 inside the page, the second before the page's end */
    zb_loan loans[3] = {
        zb_loan_input(ZB_INPUT(0), pages.data, 1021, 0, NULL),
        zb_loan_input(ZB_INPUT(1), pages.data + zt_page_size() - 1024, 1021, 0, NULL),
        zt_lend_output(0, &z),
    };
    CHECK_STATUS(zb_infer_with(context, loans, 3, NULL), zt_is_tflite() ? ZB_ERROR_BUFFER_TOO_SMALL : ZB_OK);
    if (zt_is_tflite()) {
        CHECK_ERROR_SAYS("1037");
    }
    /* one byte too few, then enough */
    loans[1].capacity = 1021 + 15;
    CHECK_STATUS(zb_infer_with(context, loans, 3, NULL), zt_is_tflite() ? ZB_ERROR_BUFFER_TOO_SMALL : ZB_OK);
    loans[1].capacity = 1021 + 16;
    CHECK_OK(zb_infer_with(context, loans, 3, NULL));
    check_direct(context, ZB_INPUT(1), pages.data + zt_page_size() - 1024);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&pages);
    FREE_BUFFER(&z);
}

static void an_output_at_the_end_of_a_page(void)
{
    /* outputs are never written past their end, so they may end anywhere */
    zb_model *model = zt_open("fc13");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(16 * 13 * 4), y = zt_buffer_at_page_end(16 * 8 * 4);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
    for (size_t i = 0; i < 16 * 13; i++) {
        zt_floats(&x)[i] = (float)(i % 9) - 4;
    }
    REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    check_fc13(&x, &y);
    check_direct(context, ZB_OUTPUT(0), y.data);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static const zt_test tests[] = {
    ON_BOTH(nothing_is_reported_before_a_run),
    ON_BOTH(a_refused_run_leaves_the_last_report),
    ON_BOTH(only_the_engine_touches_bound_pages),
    ON_BOTH(only_the_engine_touches_lent_pages),
    ON_BOTH(a_run_that_copies_springs_the_trap),
    ON_BOTH(a_refused_run_touches_nothing),
    ON_BOTH(a_slice_of_16_mib_touches_one_page),
    ON_BOTH(a_copied_slice_touches_them_all),
    ON_BOTH(the_engine_works_on_the_very_pages),
    ON_BOTH(outputs_go_from_model_to_model_without_a_copy),
    ON_BOTH(misaligned_memory_is_staged_when_allowed),
    ON_BOTH(misaligned_memory_is_refused_otherwise),
    ON_BOTH(staged_slots_follow_the_bytes_of_each_run),
    ON_BOTH(staging_grows_with_the_batch),
    ON_BOTH(staged_and_direct_take_turns),
    ON_BOTH(an_input_at_the_end_of_a_page),
    ON_BOTH(room_is_asked_for_at_the_end_of_a_page_only),
    ON_BOTH(an_output_at_the_end_of_a_page),
};

ZT_MAIN(tests)
