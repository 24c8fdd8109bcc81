/* Outputs that the host gives no memory, and those that no memory of the host can simply take the place of. */
#include "harness.h"

static void check_path(zb_context *context, zb_slot slot, int32_t path, size_t bytes)
{
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    REQUIRE_OK(zb_context_get_binding_report(context, slot, &report));
    CHECK_EQ(report.path, path);
    CHECK_EQ(report.bytes_copied, bytes);
    CHECK((report.reason != NULL) == (path == ZB_PATH_STAGED));
}

/* The view of an output, which must exist and have this shape. */
static const void *view_of(zb_context *context, zb_slot slot, zb_tensor_desc expected)
{
    const void *data = NULL;
    size_t size = 0, expected_size = 0;
    zb_tensor_desc desc;
    REQUIRE_OK(zb_context_output_view(context, slot, &data, &size, &desc));
    REQUIRE_OK(zb_tensor_desc_size(&expected, &expected_size));
    CHECK(zt_same_desc(&desc, &expected));
    CHECK_EQ(size, expected_size);
    return data;
}

static void check_no_view(zb_context *context, zb_slot slot)
{
    static const char untouched;
    const void *data = &untouched;
    CHECK_STATUS(zb_context_output_view(context, slot, &data, NULL, NULL), ZB_ERROR_UNBOUND);
    CHECK(data == &untouched);
}

static uint32_t flags_of(zb_context *context, zb_slot slot)
{
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    REQUIRE_OK(zb_context_prepare(context));
    REQUIRE_OK(zb_context_get_slot_info(context, slot, &info));
    return info.flags;
}

/* x + 1 for x = 0, 1, 2, ... */
static const float plus_one[8] = {1, 2, 3, 4, 5, 6, 7, 8};

/* --- views --- */

static void an_unbound_output_is_read_by_view(void)
{
    zb_model *model = zt_open("two_out");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(32);
    zb_loan loan = zt_lend_input(0, &x);
    check_no_view(context, ZB_OUTPUT(0));
    for (int run = 0; run < 5; run++) {
        float expected[8];
        zt_fill_floats(&x, (float)run, 1);
        REQUIRE_OK(zb_infer_with(context, &loan, 1, NULL));
        for (int i = 0; i < 8; i++) {
            expected[i] = 2 * (float)(run + i);
        }
        CHECK_FLOATS((const float *)view_of(context, ZB_OUTPUT(1), F32(8)), expected, 8, 0);
        /* twice, and one beside the other */
        CHECK_ADDRESS(view_of(context, ZB_OUTPUT(1), F32(8)), view_of(context, ZB_OUTPUT(1), F32(8)));
        CHECK(view_of(context, ZB_OUTPUT(0), F32(8)) != view_of(context, ZB_OUTPUT(1), F32(8)));
        check_path(context, ZB_OUTPUT(0), ZB_PATH_UNBOUND, 0);
    }
    const void *data = NULL;
    REQUIRE_OK(zb_context_output_view(context, ZB_OUTPUT(0), &data, NULL, NULL));
    CHECK_STATUS(zb_context_output_view(context, ZB_INPUT(0), &data, NULL, NULL), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_context_output_view(context, ZB_OUTPUT(2), &data, NULL, NULL), ZB_ERROR_INVALID_ARGUMENT);
    const void **nowhere = NULL;
    CHECK_STATUS(zb_context_output_view(context, ZB_OUTPUT(0), nowhere, NULL, NULL), ZB_ERROR_NULL_ARGUMENT);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
}

static void a_view_of_a_bound_output_is_its_memory(void)
{
    zb_model *model = zt_open("two_out");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(32), a = zt_buffer_new(32);
    zt_fill_floats(&x, 0, 1);
    zt_bind(context, ZB_INPUT(0), F32(8), &x);
    zt_bind(context, ZB_OUTPUT(0), F32(8), &a);
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK_ADDRESS(view_of(context, ZB_OUTPUT(0), F32(8)), a.data);
    CHECK_FLOATS(zt_floats(&a), plus_one, 8, 0);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&a);
}

static void a_view_ends(void)
{
    const int64_t dims[2] = {2, 4};
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(32), y = zt_buffer_new(32), other = zt_buffer_new(32);
    zt_fill_floats(&x, 0, 1);
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), dims, 2));
    zt_bind(context, ZB_INPUT(0), F32(2, 4), &x);

    REQUIRE_OK(zb_infer(context, NULL));
    view_of(context, ZB_OUTPUT(0), F32(2, 4));
    zt_bind(context, ZB_INPUT(0), F32(2, 4), &x);
    check_no_view(context, ZB_OUTPUT(0));

    REQUIRE_OK(zb_infer(context, NULL));
    zt_bind(context, ZB_OUTPUT(0), F32(2, 4), &y);
    check_no_view(context, ZB_OUTPUT(0));

    REQUIRE_OK(zb_infer(context, NULL));
    view_of(context, ZB_OUTPUT(0), F32(2, 4));
    REQUIRE_OK(zb_context_unbind(context, ZB_OUTPUT(0)));
    check_no_view(context, ZB_OUTPUT(0));

    REQUIRE_OK(zb_infer(context, NULL));
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), dims, 2));
    check_no_view(context, ZB_OUTPUT(0));

    /* what changes nothing leaves it */
    REQUIRE_OK(zb_infer(context, NULL));
    REQUIRE_OK(zb_context_prepare(context));
    view_of(context, ZB_OUTPUT(0), F32(2, 4));

    /* a run with the output lent has it elsewhere */
    zb_loan loan = zt_lend_output(0, &other);
    REQUIRE_OK(zb_infer_with(context, &loan, 1, NULL));
    check_no_view(context, ZB_OUTPUT(0));
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
    FREE_BUFFER(&other);
}

/* --- constants --- */

static void a_constant_output(void)
{
    const float ones_to_four[4] = {1, 2, 3, 4};
    zb_model *model = zt_open("constant");
    for (int copying = 0; copying < 2; copying++) {
        zb_context *context = copying ? zt_copying_context(model) : zt_context(model);
        zt_buffer x = zt_buffer_new(32), c = zt_buffer_new(16), y = zt_buffer_new(32);
        zt_fill_floats(&x, 0, 1);
        zt_bind(context, ZB_INPUT(0), F32(8), &x);
        zt_bind(context, ZB_OUTPUT(1), F32(8), &y);
        REQUIRE_OK(zb_infer(context, NULL));
        CHECK_FLOATS((const float *)view_of(context, ZB_OUTPUT(0), F32(4)), ones_to_four, 4, 0);
        CHECK_FLOATS(zt_floats(&y), plus_one, 8, 0);
        check_path(context, ZB_OUTPUT(1), ZB_PATH_DIRECT, 0);
        memset(y.data, 0xCD, y.size);

        zb_loan loan = zt_lend_output(0, &c);
        if (zt_is_tflite()) {
            CHECK((flags_of(context, ZB_OUTPUT(0)) & ZB_SLOT_CONSTANT) != 0);
            CHECK_STATUS(zb_infer_with(context, &loan, 1, NULL), copying ? ZB_OK : ZB_ERROR_COPY_REQUIRED);
        } else {
            /* this engine fills any memory */
            CHECK_OK(zb_infer_with(context, &loan, 1, NULL));
        }
        if (zt_is_tflite() && !copying) {
            CHECK(zt_is_untouched(&c));
            CHECK(zt_is_untouched(&y));
        } else {
            CHECK_FLOATS(zt_floats(&c), ones_to_four, 4, 0);
            check_path(context, ZB_OUTPUT(0), zt_is_tflite() ? ZB_PATH_STAGED : ZB_PATH_DIRECT, zt_is_tflite() ? 16 : 0);
        }
        /* the constant is still what it was */
        zt_fill_floats(&c, 9, 9);
        REQUIRE_OK(zb_infer(context, NULL));
        CHECK_FLOATS((const float *)view_of(context, ZB_OUTPUT(0), F32(4)), ones_to_four, 4, 0);
        zb_context_destroy(context);
        FREE_BUFFER(&x);
        FREE_BUFFER(&c);
        FREE_BUFFER(&y);
    }
    zb_model_destroy(model);
}

/* --- an output that is an input --- */

static void a_passed_through_input_is_viewed_in_place(void)
{
    zb_model *model = zt_open("passthrough");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(32), y = zt_buffer_new(32);
    zt_fill_floats(&x, 0, 1);
    CHECK((flags_of(context, ZB_OUTPUT(0)) & ZB_SLOT_PASS_THROUGH) != 0);
    CHECK((flags_of(context, ZB_OUTPUT(1)) & ZB_SLOT_PASS_THROUGH) == 0);
    zt_bind(context, ZB_INPUT(0), F32(8), &x);
    zt_bind(context, ZB_OUTPUT(1), F32(8), &y);
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK_FLOATS(zt_floats(&y), plus_one, 8, 0);
    CHECK_ADDRESS(view_of(context, ZB_OUTPUT(0), F32(8)), x.data);

    /* with the input lent there is nothing left to look at */
    zb_loan loan = zt_lend_input(0, &x);
    REQUIRE_OK(zb_infer_with(context, &loan, 1, NULL));
    check_no_view(context, ZB_OUTPUT(0));
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void a_passed_through_input_goes_elsewhere_by_copy_only(void)
{
    zb_model *model = zt_open("passthrough");
    for (int copying = 0; copying < 2; copying++) {
        zb_context *context = copying ? zt_copying_context(model) : zt_context(model);
        zt_buffer x = zt_buffer_new(32), out = zt_buffer_new(32), y = zt_buffer_new(32);
        zt_fill_floats(&x, 0, 1);
        zt_bind(context, ZB_INPUT(0), F32(8), &x);
        zt_bind(context, ZB_OUTPUT(0), F32(8), &out);
        zt_bind(context, ZB_OUTPUT(1), F32(8), &y);
        CHECK_STATUS(zb_infer(context, NULL), copying ? ZB_OK : ZB_ERROR_COPY_REQUIRED);
        if (copying) {
            CHECK_BYTES(out.data, x.data, 32);
            check_path(context, ZB_OUTPUT(0), ZB_PATH_STAGED, 32);
            check_path(context, ZB_INPUT(0), ZB_PATH_DIRECT, 0);
            CHECK_FLOATS(zt_floats(&y), plus_one, 8, 0);
        } else {
            CHECK(zt_is_untouched(&out));
            CHECK(zt_is_untouched(&y));
        }
        /* at the input's own address there is nothing to do */
        zt_bind(context, ZB_OUTPUT(0), F32(8), &x);
        REQUIRE_OK(zb_infer(context, NULL));
        check_path(context, ZB_OUTPUT(0), ZB_PATH_DIRECT, 0);
        CHECK_FLOATS(zt_floats(&y), plus_one, 8, 0);
        CHECK(zt_floats(&x)[7] == 7);
        zb_context_destroy(context);
        FREE_BUFFER(&x);
        FREE_BUFFER(&out);
        FREE_BUFFER(&y);
    }
    zb_model_destroy(model);
}

/* --- one tensor as two outputs --- */

static void a_duplicate_output_is_viewed_twice(void)
{
    zb_model *model = zt_open("duplicate");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(32), y = zt_buffer_new(32);
    zt_fill_floats(&x, 0, 1);
    CHECK((flags_of(context, ZB_OUTPUT(0)) & ZB_SLOT_DUPLICATE) == 0);
    CHECK((flags_of(context, ZB_OUTPUT(1)) & ZB_SLOT_DUPLICATE) != 0);
    zt_bind(context, ZB_INPUT(0), F32(8), &x);
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK_FLOATS((const float *)view_of(context, ZB_OUTPUT(0), F32(8)), plus_one, 8, 0);
    CHECK_ADDRESS(view_of(context, ZB_OUTPUT(1), F32(8)), view_of(context, ZB_OUTPUT(0), F32(8)));
    /* bound once, seen under both numbers */
    zt_bind(context, ZB_OUTPUT(0), F32(8), &y);
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK_ADDRESS(view_of(context, ZB_OUTPUT(1), F32(8)), y.data);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void a_duplicate_output_goes_to_two_places_by_copy_only(void)
{
    zb_model *model = zt_open("duplicate");
    for (int copying = 0; copying < 2; copying++) {
        zb_context *context = copying ? zt_copying_context(model) : zt_context(model);
        zt_buffer x = zt_buffer_new(32), first = zt_buffer_new(32), second = zt_buffer_new(32);
        zt_fill_floats(&x, 0, 1);
        zt_bind(context, ZB_INPUT(0), F32(8), &x);
        zt_bind(context, ZB_OUTPUT(0), F32(8), &first);
        zt_bind(context, ZB_OUTPUT(1), F32(8), &second);
        CHECK_STATUS(zb_infer(context, NULL), copying ? ZB_OK : ZB_ERROR_COPY_REQUIRED);
        if (copying) {
            CHECK_FLOATS(zt_floats(&first), plus_one, 8, 0);
            CHECK_FLOATS(zt_floats(&second), plus_one, 8, 0);
            check_path(context, ZB_OUTPUT(0), ZB_PATH_DIRECT, 0);
            check_path(context, ZB_OUTPUT(1), ZB_PATH_STAGED, 32);
        } else {
            CHECK(zt_is_untouched(&first));
            CHECK(zt_is_untouched(&second));
        }
        /* the same address under both numbers */
        memset(first.data, 0xCD, first.size);
        memset(second.data, 0xCD, second.size);
        zt_bind(context, ZB_OUTPUT(1), F32(8), &first);
        REQUIRE_OK(zb_infer(context, NULL));
        CHECK_FLOATS(zt_floats(&first), plus_one, 8, 0);
        CHECK(zt_is_untouched(&second));
        check_path(context, ZB_OUTPUT(0), ZB_PATH_DIRECT, 0);
        check_path(context, ZB_OUTPUT(1), ZB_PATH_DIRECT, 0);
        zb_context_destroy(context);
        FREE_BUFFER(&x);
        FREE_BUFFER(&first);
        FREE_BUFFER(&second);
    }
    zb_model_destroy(model);
}

/* The value of the second is copied out of the memory that the first was lent, which the engine has let go of by then. */
static void a_duplicate_output_is_lent_two_places(void)
{
    zb_model *model = zt_open("duplicate");
    zb_context *context = zt_copying_context(model);
    zt_buffer x = zt_buffer_new(32), first = zt_buffer_new(32), second = zt_buffer_new(32);
    const zb_loan loans[3] = {zt_lend_input(0, &x), zt_lend_output(0, &first), zt_lend_output(1, &second)};
    zt_fill_floats(&x, 0, 1);
    for (int i = 0; i < 3; i++) {
        memset(first.data, 0xCD, first.size);
        memset(second.data, 0xCD, second.size);
        REQUIRE_OK(zb_infer_with(context, loans, 3, NULL));
        CHECK_FLOATS(zt_floats(&first), plus_one, 8, 0);
        CHECK_FLOATS(zt_floats(&second), plus_one, 8, 0);
        check_path(context, ZB_OUTPUT(0), ZB_PATH_DIRECT, 0);
        check_path(context, ZB_OUTPUT(1), ZB_PATH_STAGED, 32);
        check_no_view(context, ZB_OUTPUT(0));
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&first);
    FREE_BUFFER(&second);
}

/* Memory that is bound stays with the slot when a loan of another slot that shared it is over. */
static void a_bound_twin_is_viewed_after_the_loan_of_the_other(void)
{
    const char *const names[] = {"duplicate", "passthrough"};
    for (size_t n = 0; n < 2; n++) {
        zb_model *model = zt_open(names[n]);
        zb_context *context = zt_context(model);
        zt_buffer x = zt_buffer_new(32), y = zt_buffer_new(32);
        const int is_input = n == 1;
        const zb_slot bound = is_input ? ZB_OUTPUT(0) : ZB_OUTPUT(1);
        zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
        zt_fill_floats(&x, 0, 1);
        zt_bind(context, bound, F32(8), is_input ? &x : &y);
        REQUIRE_OK(zb_infer_with(context, loans, is_input ? 1 : 2, NULL));
        CHECK_ADDRESS(view_of(context, bound, F32(8)), is_input ? x.data : y.data);
        CHECK_FLOATS(zt_floats(is_input ? &x : &y), is_input ? zt_floats(&x) : plus_one, 8, 0);
        check_path(context, bound, ZB_PATH_DIRECT, 0);
        zb_context_destroy(context);
        zb_model_destroy(model);
        FREE_BUFFER(&x);
        FREE_BUFFER(&y);
    }
}

/* There is one tensor in the engine, and it can lie in the memory of either output, so neither needs a copy alone. */
static void the_second_of_two_outputs_alone(void)
{
    zb_model *model = zt_open("duplicate");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(32), y = zt_buffer_new(32), z = zt_buffer_new(32);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(1, &y)};
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    zt_fill_floats(&x, 0, 1);
    REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    CHECK_FLOATS(zt_floats(&y), plus_one, 8, 0);
    CHECK_OK(zb_context_get_binding_report(context, ZB_OUTPUT(1), &report));
    CHECK_EQ(report.path, ZB_PATH_DIRECT);
    CHECK_ADDRESS(report.engine_address, y.data);
    /* the value of both was in memory that is not lent any more */
    check_no_view(context, ZB_OUTPUT(0));
    check_no_view(context, ZB_OUTPUT(1));

    /* bound, the first output can be viewed in the memory of the second */
    zt_bind(context, ZB_INPUT(0), F32(8), &x);
    zt_bind(context, ZB_OUTPUT(1), F32(8), &y);
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK_ADDRESS(view_of(context, ZB_OUTPUT(0), F32(8)), y.data);

    /* once the first has memory, the tensor lies there; the second would need a copy */
    zt_bind(context, ZB_OUTPUT(0), F32(8), &z);
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_COPY_REQUIRED);
    REQUIRE_OK(zb_context_unbind(context, ZB_OUTPUT(1)));
    memset(z.data, 0, 32);
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK_FLOATS(zt_floats(&z), plus_one, 8, 0);

    /* and back again */
    REQUIRE_OK(zb_context_unbind(context, ZB_OUTPUT(0)));
    zt_bind(context, ZB_OUTPUT(1), F32(8), &y);
    memset(y.data, 0, 32);
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK_FLOATS(zt_floats(&y), plus_one, 8, 0);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
    FREE_BUFFER(&z);
}

/* --- outputs whose size is in the data --- */

/* 16 floats of which the first `hits` odd places, then the even ones, are not 0. */
static void fill_with_hits(const zt_buffer *x, int hits, int64_t *places)
{
    int count = 0;
    zt_fill_floats(x, 0, 0);
    for (int i = 0; i < hits; i++) {
        zt_floats(x)[i < 8 ? 2 * i + 1 : 2 * (i - 8)] = 1;
    }
    for (int i = 0; i < 16; i++) {
        if (zt_floats(x)[i] != 0) {
            places[count++] = i;
        }
    }
    REQUIRE(count == hits);
}

static void the_number_of_hits_is_in_the_view(void)
{
    const int hits[] = {3, 0, 16, 1, 3};
    zb_model *model = zt_open("nonzero");
    for (int copying = 0; copying < 2; copying++) {
        zb_context *context = copying ? zt_copying_context(model) : zt_context(model);
        zt_buffer x = zt_buffer_new(64);
        zb_loan loan = zt_lend_input(0, &x);
        CHECK((flags_of(context, ZB_OUTPUT(0)) & ZB_SLOT_DYNAMIC) != 0);
        for (size_t n = 0; n < sizeof hits / sizeof *hits; n++) {
            int64_t places[16];
            zb_tensor_desc expected = DESC(ZB_DTYPE_I64, hits[n], 1), now;
            size_t size = 0;
            fill_with_hits(&x, hits[n], places);
            REQUIRE_OK(zb_infer_with(context, &loan, 1, NULL));
            const void *view = view_of(context, ZB_OUTPUT(0), expected);
            CHECK_BYTES(view, places, (size_t)hits[n] * 8);
            REQUIRE_OK(zb_context_get_slot_desc(context, ZB_OUTPUT(0), &now, &size));
            CHECK(zt_same_desc(&now, &expected));
            CHECK_EQ(size, 8 * hits[n]);
        }
        zb_context_destroy(context);
        FREE_BUFFER(&x);
    }
    zb_model_destroy(model);
}

static void no_tensor_is_made_for_an_unknown_size(void)
{
    zb_model *model = zt_open("nonzero");
    zb_context *context = zt_context(model);
    zb_tensor *tensor = NULL;
    zb_requirements needs = ZB_REQUIREMENTS_INIT;
    CHECK_STATUS(zb_tensor_alloc_for(context, ZB_OUTPUT(0), &tensor), ZB_ERROR_SHAPE_MISMATCH);
    CHECK(tensor == NULL);
    REQUIRE_OK(zb_context_get_requirements(context, ZB_OUTPUT(0), &needs));
    CHECK_EQ(needs.size, 0);
    CHECK_EQ(needs.rebind, zt_is_tflite() ? ZB_REBIND_STAGED : ZB_REBIND_FREE);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void memory_of_unknown_shape_needs_a_desc(void)
{
    zb_model *model = zt_open("nonzero");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(64), y = zt_buffer_new(128);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
    int64_t places[16];
    fill_with_hits(&x, 3, places);
    CHECK_STATUS(zb_infer_with(context, loans, 2, NULL), ZB_ERROR_COPY_REQUIRED);
    CHECK(zt_is_untouched(&y));
    REQUIRE_OK(zb_infer_with(context, loans, 1, NULL));
    CHECK_BYTES(view_of(context, ZB_OUTPUT(0), DESC(ZB_DTYPE_I64, 3, 1)), places, 24);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void a_promised_shape_is_kept(void)
{
    zb_model *model = zt_open("nonzero");
    for (int copying = 0; copying < 2; copying++) {
        zb_context *context = copying ? zt_copying_context(model) : zt_context(model);
        zt_buffer x = zt_buffer_new(64), y = zt_buffer_new(24);
        int64_t places[16];
        zt_bind(context, ZB_INPUT(0), F32(16), &x);
        zt_bind(context, ZB_OUTPUT(0), DESC(ZB_DTYPE_I64, 3, 1), &y);
        fill_with_hits(&x, 3, places);
        if (zt_is_tflite() && !copying) {
            CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_COPY_REQUIRED);
            CHECK_ERROR_SAYS("zb_context_output_view");
            CHECK(zt_is_untouched(&y));
        } else {
            REQUIRE_OK(zb_infer(context, NULL));
            CHECK_BYTES(y.data, places, 24);
            check_path(context, ZB_OUTPUT(0), zt_is_tflite() ? ZB_PATH_STAGED : ZB_PATH_DIRECT, zt_is_tflite() ? 24 : 0);
        }
        /* without memory it always works */
        REQUIRE_OK(zb_context_unbind(context, ZB_OUTPUT(0)));
        REQUIRE_OK(zb_infer(context, NULL));
        CHECK_BYTES(view_of(context, ZB_OUTPUT(0), DESC(ZB_DTYPE_I64, 3, 1)), places, 24);
        zb_context_destroy(context);
        FREE_BUFFER(&x);
        FREE_BUFFER(&y);
    }
    zb_model_destroy(model);
}

static void a_promised_shape_is_broken(void)
{
    const int hits[] = {2, 4, 0, 16};
    zb_model *model = zt_open("nonzero");
    /* TFLite refuses the memory at all unless copies are allowed */
    zb_context *context = zt_is_tflite() ? zt_copying_context(model) : zt_context(model);
    zt_buffer x = zt_buffer_new(64), y = zt_buffer_new(24);
    int64_t places[16];
    zt_bind(context, ZB_INPUT(0), F32(16), &x);
    zt_bind(context, ZB_OUTPUT(0), DESC(ZB_DTYPE_I64, 3, 1), &y);
    for (size_t n = 0; n < sizeof hits / sizeof *hits; n++) {
        fill_with_hits(&x, hits[n], places);
        memset(y.data, 0xCD, y.size);
        CHECK_STATUS(zb_infer(context, NULL), hits[n] > 3 ? ZB_ERROR_BUFFER_TOO_SMALL : ZB_ERROR_SHAPE_MISMATCH);
        CHECK_ERROR_SAYS("y");
        CHECK_GUARDS(&y);
        /* and the next run is none the worse for it */
        fill_with_hits(&x, 3, places);
        REQUIRE_OK(zb_infer(context, NULL));
        CHECK_BYTES(y.data, places, 24);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void a_broken_promise_leaves_the_result_in_view(void)
{
    const int hits[] = {5, 2};
    zb_model *model = zt_open("nonzero");
    zb_context *context = zt_copying_context(model);
    zt_buffer x = zt_buffer_new(64), y = zt_buffer_new(24);
    int64_t places[16];
    zt_bind(context, ZB_INPUT(0), F32(16), &x);
    zt_bind(context, ZB_OUTPUT(0), DESC(ZB_DTYPE_I64, 3, 1), &y);
    for (size_t n = 0; n < sizeof hits / sizeof *hits; n++) {
        zb_tensor_desc found = DESC(ZB_DTYPE_I64, hits[n], 1);
        fill_with_hits(&x, hits[n], places);
        CHECK_STATUS(zb_infer(context, NULL), hits[n] > 3 ? ZB_ERROR_BUFFER_TOO_SMALL : ZB_ERROR_SHAPE_MISMATCH);
        CHECK_ERROR_SAYS(hits[n] > 3 ? "40 bytes" : "[2,1]");
        CHECK_ERROR_SAYS("zb_context_output_view");
        CHECK(zt_is_untouched(&y));
        CHECK_BYTES(view_of(context, ZB_OUTPUT(0), found), places, (size_t)hits[n] * 8);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void a_promise_may_come_with_each_loan(void)
{
    const int hits[] = {3, 0, 16, 5};
    zb_model *model = zt_open("nonzero");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(64);
    for (size_t n = 0; n < sizeof hits / sizeof *hits; n++) {
        int64_t places[16];
        zb_tensor_desc desc = DESC(ZB_DTYPE_I64, hits[n], 1);
        zt_buffer y = zt_buffer_new((size_t)hits[n] * 8);
        zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
        loans[1].desc = &desc;
        fill_with_hits(&x, hits[n], places);
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        CHECK_BYTES(y.data, places, (size_t)hits[n] * 8);
        check_path(context, ZB_OUTPUT(0), ZB_PATH_DIRECT, 0);
        FREE_BUFFER(&y);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
}

static const zt_test tests[] = {
    ON_BOTH(an_unbound_output_is_read_by_view),
    ON_BOTH(a_view_of_a_bound_output_is_its_memory),
    ON_BOTH(a_view_ends),
    ON_BOTH(a_constant_output),
    ON_BOTH(a_passed_through_input_is_viewed_in_place),
    ON_BOTH(a_passed_through_input_goes_elsewhere_by_copy_only),
    ON_BOTH(a_duplicate_output_is_viewed_twice),
    ON_BOTH(a_duplicate_output_goes_to_two_places_by_copy_only),
    ON_BOTH(a_duplicate_output_is_lent_two_places),
    ON_BOTH(a_bound_twin_is_viewed_after_the_loan_of_the_other),
    ON_BOTH(the_second_of_two_outputs_alone),
    ON_BOTH(the_number_of_hits_is_in_the_view),
    ON_BOTH(no_tensor_is_made_for_an_unknown_size),
    ON_BOTH(memory_of_unknown_shape_needs_a_desc),
    ON_BOTH(a_promised_shape_is_kept),
    ON_BOTH(a_promised_shape_is_broken),
    ON_TFLITE(a_broken_promise_leaves_the_result_in_view),
    ON_ONNXRUNTIME(a_promise_may_come_with_each_loan),
};

ZT_MAIN(tests)
