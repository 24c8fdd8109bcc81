/*
 * Buffers that are short, long, misaligned, overlapping, empty, or end where a page ends: each gets its status before the
 * engine sees it, and nothing is written. Both ways in, bound and lent, are tried.
 */
#include "harness.h"

#include <sys/mman.h>

#define BYTES 16u

/* add4 with good memory for all slots; a test replaces some of it. */
typedef struct fixture {
    zb_model *model;
    zb_context *context;
    zt_buffer x, y, z;
} fixture;

static fixture make_fixture(int copies)
{
    fixture made;
    made.model = zt_open("add4");
    made.context = copies ? zt_copying_context(made.model) : zt_context(made.model);
    made.x = zt_buffer_new(BYTES);
    made.y = zt_buffer_new(BYTES);
    made.z = zt_buffer_new(BYTES);
    zt_fill_floats(&made.x, 1, 1);
    zt_fill_floats(&made.y, 10, 10);
    return made;
}

static void free_fixture(fixture *made)
{
    zb_context_destroy(made->context);
    zb_model_destroy(made->model);
    FREE_BUFFER(&made->x);
    FREE_BUFFER(&made->y);
    FREE_BUFFER(&made->z);
}

static void check_sum(const float *sum)
{
    static const float expected[4] = {11, 22, 33, 44};
    CHECK_FLOATS(sum, expected, 4, 0);
}

/* Lends x, y and z, with `changed` in the place of the loan for the same slot. */
static zb_status infer_changed(const fixture *made, const zb_loan *changed)
{
    zb_loan loans[3];
    loans[0] = zt_lend_input(0, &made->x);
    loans[1] = zt_lend_input(1, &made->y);
    loans[2] = zt_lend_output(0, &made->z);
    for (size_t i = 0; i < 3; i++) {
        if (loans[i].slot == changed->slot) {
            loans[i] = *changed;
        }
    }
    return zb_infer_with(made->context, loans, 3, NULL);
}

static void check_refused(const fixture *made, const zb_loan *changed, zb_status expected)
{
    CHECK_STATUS(infer_changed(made, changed), expected);
    CHECK(zt_is_untouched(&made->z));
    CHECK_GUARDS(&made->z);
}

/* After whatever was refused, the context works. */
static void check_still_works(const fixture *made)
{
    zb_loan good = zt_lend_output(0, &made->z);
    REQUIRE_OK(infer_changed(made, &good));
    check_sum(zt_floats(&made->z));
}

/* --- sizes --- */

static void short_buffers_are_refused(void)
{
    static const size_t sizes[] = {0, 1, 4, 12, 15};
    for (int copies = 0; copies < 2; copies++) {
        /* a copy never makes up for missing bytes */
        fixture made = make_fixture(copies);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            zb_loan input = zt_lend_input(1, &made.y);
            zb_loan output = zt_lend_output(0, &made.z);
            char given[32];
            snprintf(given, sizeof given, "%zu", sizes[i]);
            input.size = sizes[i];
            output.size = sizes[i];
            check_refused(&made, &input, ZB_ERROR_SHAPE_MISMATCH);
            CHECK_ERROR_SAYS("'y'");
            CHECK_ERROR_SAYS("16");
            CHECK_ERROR_SAYS(given);
            check_refused(&made, &output, ZB_ERROR_BUFFER_TOO_SMALL);
            CHECK_ERROR_SAYS("'z'");
            CHECK_ERROR_SAYS("16");
            CHECK_ERROR_SAYS(given);
        }
        check_still_works(&made);
        free_fixture(&made);
    }
}

static void capacity_is_not_size(void)
{
    fixture made = make_fixture(0);
    zb_loan input = zt_lend_input(0, &made.x);
    zb_loan output = zt_lend_output(0, &made.z);
    input.size = 12;
    input.capacity = 64;
    output.size = 12;
    output.capacity = 64;
    check_refused(&made, &input, ZB_ERROR_SHAPE_MISMATCH);
    check_refused(&made, &output, ZB_ERROR_BUFFER_TOO_SMALL);
    free_fixture(&made);
}

static void long_inputs_are_refused_long_outputs_are_not(void)
{
    fixture made = make_fixture(0);
    zt_buffer large = zt_buffer_new(4096);
    zb_loan input = zt_lend_input(0, &made.x);
    zb_loan output = zt_lend_output(0, &large);
    input.size = 20;
    check_refused(&made, &input, ZB_ERROR_SHAPE_MISMATCH);
    CHECK_ERROR_SAYS("capacity");
    REQUIRE_OK(infer_changed(&made, &output));
    check_sum(zt_floats(&large));
    /* only what the tensor needs was written */
    for (size_t i = BYTES; i < large.size; i++) {
        REQUIRE(large.data[i] == 0xCD);
    }
    FREE_BUFFER(&large);
    free_fixture(&made);
}

static void other_shapes_are_refused_whatever_their_size(void)
{
    static const int64_t shapes[][2] = {{2, 2}, {4, 1}, {1, 4}, {3, 1}};
    fixture made = make_fixture(0);
    for (size_t i = 0; i < 4; i++) {
        zb_tensor_desc desc = F32(shapes[i][0], shapes[i][1]);
        size_t size = 0;
        REQUIRE_OK(zb_tensor_desc_size(&desc, &size));
        zb_loan input = zb_loan_input(ZB_INPUT(0), made.x.data, size, 0, &desc);
        zb_loan output = zb_loan_output(ZB_OUTPUT(0), made.z.data, size, &desc);
        zb_tensor *tensor = NULL;
        check_refused(&made, &input, ZB_ERROR_SHAPE_MISMATCH);
        check_refused(&made, &output, ZB_ERROR_SHAPE_MISMATCH);
        REQUIRE_OK(zb_tensor_wrap(&desc, made.z.data, size, 0, NULL, NULL, &tensor));
        CHECK_STATUS(zb_tensor_bind(tensor, made.context, ZB_INPUT(0)), ZB_ERROR_SHAPE_MISMATCH);
        CHECK_STATUS(zb_tensor_bind(tensor, made.context, ZB_OUTPUT(0)), ZB_ERROR_SHAPE_MISMATCH);
        zb_tensor_destroy(tensor);
    }
    free_fixture(&made);
}

/* --- addresses --- */

/* Multiple that the engine asks of the address of an f32. */
static size_t needed_alignment(void)
{
    return zt_is_tflite() ? 64 : 4;
}

static void check_misaligned(const zt_buffer *buffer, size_t offset, int side)
{
    zb_tensor_desc desc = F32(4);
    fixture made = make_fixture(0);
    zb_status expected = offset % needed_alignment() == 0 ? ZB_OK : ZB_ERROR_MISALIGNED;
    zb_slot slot = side ? ZB_OUTPUT(0) : ZB_INPUT(0);
    zb_loan loan = side ? zt_lend_output(0, buffer) : zt_lend_input(0, buffer);
    zb_tensor *tensor = zt_wrap(&desc, buffer);
    CHECK_STATUS(infer_changed(&made, &loan), expected);
    if (expected != ZB_OK) {
        char address[32];
        snprintf(address, sizeof address, "0x%llx", (unsigned long long)(uintptr_t)buffer->data);
        CHECK_ERROR_SAYS(address);
        CHECK_ERROR_SAYS(zt_is_tflite() ? "64" : "4");
        CHECK(zt_is_untouched(&made.z));
    }
    CHECK_STATUS(zb_tensor_bind(tensor, made.context, slot), expected);
    zb_tensor_destroy(tensor);
    free_fixture(&made);
}

static void misaligned_memory_is_refused(void)
{
    static const size_t offsets[] = {1, 2, 3, 4, 8, 16, 32, 48, 63, 0};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        for (int side = 0; side < 2; side++) {
            zt_buffer buffer = zt_buffer_at(BYTES, offsets[i]);
            if (side == 0) {
                zt_fill_floats(&buffer, 1, 1);
            }
            check_misaligned(&buffer, offsets[i], side);
            FREE_BUFFER(&buffer);
        }
    }
}

static void check_path(zb_context *context, zb_slot slot, int staged)
{
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    REQUIRE_OK(zb_context_get_binding_report(context, slot, &report));
    CHECK_EQ(report.path, staged ? ZB_PATH_STAGED : ZB_PATH_DIRECT);
    CHECK_EQ(report.bytes_copied, staged ? BYTES : 0);
    CHECK((report.reason != NULL) == staged);
}

static void misaligned_memory_is_copied_when_allowed(void)
{
    static const size_t offsets[] = {1, 2, 4, 16, 32};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        fixture made = make_fixture(1);
        zt_buffer x = zt_buffer_at(BYTES, offsets[i]), z = zt_buffer_at(BYTES, offsets[i]);
        float sum[4];
        zb_loan loans[3];
        int staged = offsets[i] % needed_alignment() != 0;
        zt_fill_floats(&x, 1, 1);
        loans[0] = zt_lend_input(0, &x);
        loans[1] = zt_lend_input(1, &made.y);
        loans[2] = zt_lend_output(0, &z);
        REQUIRE_OK(zb_infer_with(made.context, loans, 3, NULL));
        memcpy(sum, z.data, sizeof sum);
        check_sum(sum);
        check_path(made.context, ZB_INPUT(0), staged);
        check_path(made.context, ZB_INPUT(1), 0);
        check_path(made.context, ZB_OUTPUT(0), staged);
        FREE_BUFFER(&x);
        FREE_BUFFER(&z);
        free_fixture(&made);
    }
}

/* --- overlap --- */

static void check_aliased(const fixture *made, unsigned char *output, zb_status expected)
{
    zb_loan loan = zb_loan_output(ZB_OUTPUT(0), output, BYTES, NULL);
    CHECK_STATUS(infer_changed(made, &loan), expected);
}

static void an_output_over_an_input(void)
{
    fixture made = make_fixture(0);
    /* room for neighbours at any distance; TFLite needs multiples of 64, ONNX Runtime of 4 */
    zt_buffer block = zt_buffer_new(1024);
    int step = zt_is_tflite() ? 64 : 4;
    for (int distance = -128; distance <= 128; distance += step) {
        zb_loan loans[3];
        int overlaps = distance > -(int)BYTES && distance < (int)BYTES;
        memcpy(block.data + 512, made.x.data, BYTES);
        loans[0] = zb_loan_input(ZB_INPUT(0), block.data + 512, BYTES, 64, NULL);
        loans[1] = zt_lend_input(1, &made.y);
        loans[2] = zb_loan_output(ZB_OUTPUT(0), block.data + 512 + distance, BYTES, NULL);
        CHECK_STATUS(zb_infer_with(made.context, loans, 3, NULL), overlaps ? ZB_ERROR_ALIASED : ZB_OK);
        if (overlaps) {
            CHECK_ERROR_SAYS("'x'");
            CHECK_ERROR_SAYS("'z'");
        } else {
            check_sum((const float *)(const void *)(block.data + 512 + distance));
        }
        CHECK_BYTES(block.data + 512, made.x.data, BYTES);
    }
    FREE_BUFFER(&block);
    free_fixture(&made);
}

static void the_same_memory_in_and_out(void)
{
    fixture made = make_fixture(0);
    check_aliased(&made, made.x.data, ZB_ERROR_ALIASED);
    check_aliased(&made, made.y.data, ZB_ERROR_ALIASED);
    check_aliased(&made, made.z.data, ZB_OK);
    free_fixture(&made);
}

static void copies_do_not_excuse_overlap(void)
{
    fixture made = make_fixture(1);
    /* both would be staged, and still the host's bytes would be read and written */
    zt_buffer odd = zt_buffer_at(BYTES, 1);
    zb_loan loans[3];
    loans[0] = zt_lend_input(0, &odd);
    loans[1] = zt_lend_input(1, &made.y);
    loans[2] = zt_lend_output(0, &odd);
    CHECK_STATUS(zb_infer_with(made.context, loans, 3, NULL), ZB_ERROR_ALIASED);
    CHECK(zt_is_untouched(&odd));
    FREE_BUFFER(&odd);
    free_fixture(&made);
}

static void inputs_may_share(void)
{
    static const float doubled[4] = {2, 4, 6, 8};
    fixture made = make_fixture(0);
    zb_loan loan = zb_loan_input(ZB_INPUT(1), made.x.data, BYTES, made.x.capacity, NULL);
    REQUIRE_OK(infer_changed(&made, &loan));
    CHECK_FLOATS(zt_floats(&made.z), doubled, 4, 0);
    free_fixture(&made);
}

/* Bytes of tensor do not overlap here, only what is readable behind an input does. */
static void slack_does_not_count_as_overlap(void)
{
    fixture made = make_fixture(0);
    zt_buffer block = zt_buffer_new(256);
    memcpy(block.data, made.x.data, BYTES);
    zb_loan input = zb_loan_input(ZB_INPUT(0), block.data, BYTES, 256, NULL);
    zb_loan output = zb_loan_output(ZB_OUTPUT(0), block.data + 64, BYTES, NULL);
    zb_loan loans[3];
    loans[0] = input;
    loans[1] = zt_lend_input(1, &made.y);
    loans[2] = output;
    REQUIRE_OK(zb_infer_with(made.context, loans, 3, NULL));
    check_sum((const float *)(const void *)(block.data + 64));
    FREE_BUFFER(&block);
    free_fixture(&made);
}

static void two_outputs_over_each_other(void)
{
    zb_model *model = zt_open("two_out");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(32), block = zt_buffer_new(256);
    int step = zt_is_tflite() ? 64 : 4;
    zt_fill_floats(&x, 1, 1);
    for (int distance = 0; distance <= 64; distance += step) {
        zb_loan loans[3];
        int overlaps = distance < 32;
        loans[0] = zt_lend_input(0, &x);
        loans[1] = zb_loan_output(ZB_OUTPUT(0), block.data, 32, NULL);
        loans[2] = zb_loan_output(ZB_OUTPUT(1), block.data + distance, 32, NULL);
        CHECK_STATUS(zb_infer_with(context, loans, 3, NULL), overlaps ? ZB_ERROR_ALIASED : ZB_OK);
        CHECK(!overlaps || zt_is_untouched(&block));
    }
    /* a long buffer only counts with the bytes that the run writes */
    zb_loan loans[3];
    loans[0] = zt_lend_input(0, &x);
    loans[1] = zb_loan_output(ZB_OUTPUT(0), block.data, 256, NULL);
    loans[2] = zb_loan_output(ZB_OUTPUT(1), block.data + 64, 32, NULL);
    CHECK_OK(zb_infer_with(context, loans, 3, NULL));
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&block);
}

static void bound_slots_are_judged_by_the_run(void)
{
    zb_tensor_desc desc = F32(4);
    fixture made = make_fixture(0);
    zb_tensor *x = zt_wrap(&desc, &made.x), *y = zt_wrap(&desc, &made.y), *z = zt_wrap(&desc, &made.z);
    /* through a state that could not run, as rotations go */
    REQUIRE_OK(zb_tensor_bind(x, made.context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(y, made.context, ZB_INPUT(1)));
    REQUIRE_OK(zb_tensor_bind(x, made.context, ZB_OUTPUT(0)));
    CHECK_STATUS(zb_infer(made.context, NULL), ZB_ERROR_ALIASED);
    REQUIRE_OK(zb_tensor_bind(z, made.context, ZB_OUTPUT(0)));
    REQUIRE_OK(zb_infer(made.context, NULL));
    check_sum(zt_floats(&made.z));
    zb_tensor_destroy(x);
    zb_tensor_destroy(y);
    zb_tensor_destroy(z);
    free_fixture(&made);
}

/* --- NULL and nothing --- */

static void null_with_a_size(void)
{
    fixture made = make_fixture(1);
    zb_loan input = zb_loan_input(ZB_INPUT(0), NULL, BYTES, 0, NULL);
    zb_loan output = zb_loan_output(ZB_OUTPUT(0), NULL, BYTES, NULL);
    check_refused(&made, &input, ZB_ERROR_NULL_ARGUMENT);
    check_refused(&made, &output, ZB_ERROR_NULL_ARGUMENT);
    check_still_works(&made);
    free_fixture(&made);
}

static void null_without_a_size_is_too_short(void)
{
    fixture made = make_fixture(1);
    zb_loan input = zb_loan_input(ZB_INPUT(0), NULL, 0, 0, NULL);
    zb_loan output = zb_loan_output(ZB_OUTPUT(0), NULL, 0, NULL);
    check_refused(&made, &input, ZB_ERROR_SHAPE_MISMATCH);
    check_refused(&made, &output, ZB_ERROR_BUFFER_TOO_SMALL);
    free_fixture(&made);
}

/* Empty tensors: neither address, alignment nor overlap matter, and NULL is an address like any other. */
static void empty_tensors(void)
{
    static float place[4];
    zb_tensor_desc desc = F32(0, 4);
    unsigned char *places[3];
    zb_model *model = zt_open("empty");
    zb_context *context = zt_context(model);
    places[0] = NULL;
    places[1] = (unsigned char *)place + 1;
    places[2] = (unsigned char *)place;
    for (size_t i = 0; i < 9; i++) {
        zb_tensor *x = NULL, *y = NULL;
        zt_releases releases = {0, NULL, 0};
        zb_loan loans[2];
        loans[0] = zb_loan_input(ZB_INPUT(0), places[i / 3], 0, 0, NULL);
        loans[1] = zb_loan_output(ZB_OUTPUT(0), places[i % 3], 0, NULL);
        CHECK_OK(zb_infer_with(context, loans, 2, NULL));
        REQUIRE_OK(zb_tensor_wrap_const(&desc, places[i / 3], 0, 0, zt_count_release, &releases, &x));
        REQUIRE_OK(zb_tensor_wrap(&desc, places[i % 3], 0, 0, zt_count_release, &releases, &y));
        CHECK_OK(zb_tensor_bind(x, context, ZB_INPUT(0)));
        CHECK_OK(zb_tensor_bind(y, context, ZB_OUTPUT(0)));
        CHECK_OK(zb_infer(context, NULL));
        zb_tensor_destroy(x);
        zb_tensor_destroy(y);
        CHECK_OK(zb_context_unbind(context, ZB_INPUT(0)));
        CHECK_OK(zb_context_unbind(context, ZB_OUTPUT(0)));
        CHECK_EQ(releases.count, 2);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
}

/* --- inputs that end where a page ends --- */

/* How many bytes past an input's end the engine may read. */
static size_t slack(void)
{
    return zt_is_tflite() ? 16 : 0;
}

/* Tries an input that ends `left` bytes before a page that cannot be read, claiming `capacity`. */
static void check_at_page_end(int copies, size_t left, size_t capacity)
{
    fixture made = make_fixture(copies);
    zb_tensor_desc desc = F32(4);
    zt_buffer pages = zt_buffer_of_pages(zt_page_size());
    unsigned char *data = pages.data + pages.size - left - BYTES;
    int aligned = ((uintptr_t)data & (needed_alignment() - 1)) == 0;
    int enough = left >= slack() || (capacity >= BYTES + slack());
    zb_status expected = aligned && enough ? ZB_OK : aligned ? ZB_ERROR_BUFFER_TOO_SMALL : ZB_ERROR_MISALIGNED;
    zb_loan loan = zb_loan_input(ZB_INPUT(0), data, BYTES, capacity, NULL);
    zb_tensor *tensor = NULL;
    memcpy(data, made.x.data, BYTES);
    CHECK_STATUS(infer_changed(&made, &loan), copies ? ZB_OK : expected);
    if (expected == ZB_ERROR_BUFFER_TOO_SMALL && !copies) {
        CHECK_ERROR_SAYS("'x'");
        CHECK_ERROR_SAYS("page");
        CHECK_ERROR_SAYS("32");
    }
    if (copies || expected == ZB_OK) {
        check_sum(zt_floats(&made.z));
        check_path(made.context, ZB_INPUT(0), expected != ZB_OK);
    } else {
        CHECK(zt_is_untouched(&made.z));
    }
    REQUIRE_OK(zb_tensor_wrap(&desc, data, BYTES, capacity, NULL, NULL, &tensor));
    CHECK_STATUS(zb_tensor_bind(tensor, made.context, ZB_INPUT(0)), copies ? ZB_OK : expected);
    /* outputs are never written past their end */
    CHECK_STATUS(zb_tensor_bind(tensor, made.context, ZB_OUTPUT(0)), copies || aligned ? ZB_OK : ZB_ERROR_MISALIGNED);
    zb_tensor_destroy(tensor);
    free_fixture(&made);
    FREE_BUFFER(&pages);
}

static void inputs_at_the_end_of_a_page(void)
{
    static const size_t left[] = {0, 4, 8, 12, 16, 20, 48, 112};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        for (int copies = 0; copies < 2; copies++) {
            check_at_page_end(copies, left[i], 0);
            check_at_page_end(copies, left[i], BYTES);
            if (left[i] > 0) {
                check_at_page_end(copies, left[i], BYTES + left[i]);
            }
        }
    }
}

/* 64-byte aligned and up against the page's end: only its size decides, as for fc13, which XNNPACK reads past. */
static void an_aligned_input_up_against_the_end(void)
{
    zb_model *model = zt_open("fc13");
    zb_context *strict = zt_context(model), *copying = zt_copying_context(model);
    size_t size = 16 * 13 * sizeof(float), out_size = 16 * 8 * sizeof(float);
    zt_buffer x = zt_buffer_at_page_end(size), y = zt_buffer_new(out_size), spare = zt_buffer_new(size);
    zt_buffer other = zt_buffer_new(out_size);
    zb_loan loans[2];
    zt_fill_floats(&x, 1, 0.25f);
    zt_fill_floats(&spare, 1, 0.25f);
    loans[0] = zb_loan_input(ZB_INPUT(0), x.data, size, 0, NULL);
    loans[1] = zt_lend_output(0, &y);
    CHECK_STATUS(zb_infer_with(strict, loans, 2, NULL), slack() > 0 ? ZB_ERROR_BUFFER_TOO_SMALL : ZB_OK);
    CHECK_OK(zb_infer_with(copying, loans, 2, NULL));
    loans[0] = zt_lend_input(0, &spare);
    loans[1] = zt_lend_output(0, &other);
    CHECK_OK(zb_infer_with(strict, loans, 2, NULL));
    CHECK_BYTES(y.data, other.data, out_size);
    zb_context_destroy(strict);
    zb_context_destroy(copying);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
    FREE_BUFFER(&spare);
    FREE_BUFFER(&other);
}

/* Outputs up against a page that cannot be touched, on both of its sides. */
static void outputs_between_unreadable_pages(void)
{
    fixture made = make_fixture(0);
    /* one whole page: it begins and ends at a page that faults */
    zt_buffer first = zt_buffer_of_pages(zt_page_size());
    size_t page = zt_page_size();
    zb_loan start = zb_loan_output(ZB_OUTPUT(0), first.data, BYTES, NULL);
    zb_loan end = zb_loan_output(ZB_OUTPUT(0), first.data + page - (zt_is_tflite() ? 64 : BYTES), BYTES, NULL);
    REQUIRE_OK(infer_changed(&made, &start));
    check_sum(zt_floats(&first));
    REQUIRE_OK(infer_changed(&made, &end));
    check_sum((const float *)end.data);
    FREE_BUFFER(&first);
    free_fixture(&made);
}

/* --- read-only memory --- */

static void read_only_memory(void)
{
    zb_tensor_desc desc = F32(4);
    fixture made = make_fixture(0);
    zb_tensor *tensor = NULL;
    REQUIRE_OK(zb_tensor_wrap_const(&desc, made.z.data, BYTES, made.z.capacity, NULL, NULL, &tensor));
    CHECK_STATUS(zb_tensor_bind(tensor, made.context, ZB_OUTPUT(0)), ZB_ERROR_READ_ONLY);
    CHECK_ERROR_SAYS("'z'");
    CHECK_OK(zb_tensor_bind(tensor, made.context, ZB_INPUT(0)));
    zb_tensor_destroy(tensor);
    CHECK(zt_is_untouched(&made.z));
    free_fixture(&made);
}

/* Inputs in pages that cannot be written: if anything wrote them, this would end here. */
static void inputs_in_read_only_pages(void)
{
    fixture made = make_fixture(0);
    zt_buffer page = zt_buffer_of_pages(zt_page_size());
    zb_loan loan = zb_loan_input(ZB_INPUT(0), page.data, BYTES, page.size, NULL);
    memcpy(page.data, made.x.data, BYTES);
    REQUIRE(mprotect(page.data, page.size, PROT_READ) == 0);
    REQUIRE_OK(infer_changed(&made, &loan));
    check_sum(zt_floats(&made.z));
    REQUIRE(mprotect(page.data, page.size, PROT_READ | PROT_WRITE) == 0);
    FREE_BUFFER(&page);
    free_fixture(&made);
}

static const zt_test tests[] = {
    ON_BOTH(short_buffers_are_refused),
    ON_BOTH(capacity_is_not_size),
    ON_BOTH(long_inputs_are_refused_long_outputs_are_not),
    ON_BOTH(other_shapes_are_refused_whatever_their_size),
    ON_BOTH(misaligned_memory_is_refused),
    ON_BOTH(misaligned_memory_is_copied_when_allowed),
    ON_BOTH(an_output_over_an_input),
    ON_BOTH(the_same_memory_in_and_out),
    ON_BOTH(copies_do_not_excuse_overlap),
    ON_BOTH(inputs_may_share),
    ON_BOTH(slack_does_not_count_as_overlap),
    ON_BOTH(two_outputs_over_each_other),
    ON_BOTH(bound_slots_are_judged_by_the_run),
    ON_BOTH(null_with_a_size),
    ON_BOTH(null_without_a_size_is_too_short),
    ON_BOTH(empty_tensors),
    ON_BOTH(inputs_at_the_end_of_a_page),
    ON_BOTH(an_aligned_input_up_against_the_end),
    ON_BOTH(outputs_between_unreadable_pages),
    ON_BOTH(read_only_memory),
    ON_BOTH(inputs_in_read_only_pages),
};

ZT_MAIN(tests)
