/* Shapes: asked for, adopted, refused, and taken back when the engine cannot compute with them. */
#include "harness.h"

#include "raw_tflite.h"

static zb_status resize(zb_context *context, int64_t rows, int64_t columns)
{
    const int64_t dims[2] = {rows, columns};
    return zb_context_resize_input(context, ZB_INPUT(0), dims, 2);
}

static void check_desc(zb_context *context, zb_slot slot, zb_tensor_desc expected)
{
    zb_tensor_desc desc;
    REQUIRE_OK(zb_context_get_slot_desc(context, slot, &desc, NULL));
    if (!CHECK(zt_same_desc(&desc, &expected))) {
        fprintf(stderr, "    slot 0x%x has %u dimensions, the first %lld\n", slot, desc.rank, (long long)desc.dims[0]);
    }
}

static void check_doubled(const zt_buffer *x, const zt_buffer *y)
{
    for (size_t i = 0; i < x->size / 4; i++) {
        CHECK(zt_floats(y)[i] == 2 * zt_floats(x)[i]);
    }
    CHECK_GUARDS(y);
}

/* --- told --- */

/* A slot with open dimensions; ONNX has names for them, TFLite none. */
typedef struct open_slot {
    const char *model;
    zb_slot slot;
    int32_t dtype;
    uint32_t rank;
    int64_t dims[4];
    const char *names[4];
} open_slot;

static const open_slot open_slots[] = {
    {"batch", ZB_INPUT(0), ZB_DTYPE_F32, 2, {-1, 4}, {"batch", ""}},
    {"batch", ZB_OUTPUT(0), ZB_DTYPE_F32, 2, {-1, 4}, {"batch", ""}},
    {"empty_dynamic", ZB_INPUT(0), ZB_DTYPE_F32, 2, {-1, 4}, {"rows", ""}},
    {"conv_dyn", ZB_INPUT(0), ZB_DTYPE_F32, 4, {1, -1, -1, 1}, {"", "height", "width", ""}},
    {"conv_dyn", ZB_OUTPUT(0), ZB_DTYPE_F32, 4, {1, -1, -1, 1}, {"", "height_out", "width_out", ""}},
    {"nonzero", ZB_OUTPUT(0), ZB_DTYPE_I64, 2, {-1, 1}, {"hits", ""}},
    {"where", ZB_OUTPUT(1), ZB_DTYPE_I64, 2, {-1, 1}, {"hits", ""}},
    {"detector", ZB_OUTPUT(0), ZB_DTYPE_F32, 2, {-1, 4}, {"found", ""}},
    {"detector", ZB_OUTPUT(1), ZB_DTYPE_F32, 1, {-1}, {"found"}},
    {"kv_cache", ZB_INPUT(0), ZB_DTYPE_F32, 4, {1, 8, -1, 128}, {"", "", "past", ""}},
    {"kv_cache", ZB_OUTPUT(0), ZB_DTYPE_F32, 4, {1, 8, -1, 128}, {"", "", "present", ""}},
    {"ragged", ZB_INPUT(0), ZB_DTYPE_F32, 3, {1, 4, -1}, {"", "", "length"}},
    {"ragged", ZB_OUTPUT(0), ZB_DTYPE_F32, 3, {1, 4, -1}, {"", "", "length"}},
};

static void check_open(const zb_slot_info *info, const open_slot *expected)
{
    zb_tensor_desc desc = zt_desc(expected->dtype, expected->dims, expected->rank);
    CHECK(zt_same_desc(&info->desc, &desc));
    CHECK((info->flags & ZB_SLOT_DYNAMIC) != 0);
    CHECK_EQ(info->size, 0);
    CHECK((info->dim_names == NULL) == zt_is_tflite());
    for (uint32_t i = 0; info->dim_names != NULL && i < expected->rank; i++) {
        CHECK(strcmp(info->dim_names[i], expected->names[i]) == 0);
    }
}

static void every_open_dimension_is_told(void)
{
    for (size_t n = 0; n < sizeof open_slots / sizeof *open_slots; n++) {
        zb_model *model = zt_open(open_slots[n].model);
        zb_context *context = zt_context(model);
        zb_slot_info info = ZB_SLOT_INFO_INIT;
        REQUIRE_OK(zb_model_get_slot_info(model, open_slots[n].slot, &info));
        check_open(&info, &open_slots[n]);
        if (!zt_is_tflite() || open_slots[n].slot != ZB_INPUT(0)) {
            REQUIRE_OK(zb_context_get_slot_info(context, open_slots[n].slot, &info));
            CHECK_EQ(info.desc.rank, open_slots[n].rank);
            CHECK((info.flags & ZB_SLOT_DYNAMIC) != 0);
            CHECK_EQ(info.size, 0);
        }
        zb_context_destroy(context);
        zb_model_destroy(model);
    }
}

/* What was open in the model is not any more once the context has planned, unless only the run tells it. */
static void planning_closes_what_it_can(void)
{
    const int64_t dims[2] = {3, 4};
    zb_model *model = zt_open("batch"), *late = zt_open("nonzero");
    zb_context *context = zt_context(model), *waiting = zt_context(late);
    zb_tensor_desc three = F32(3, 4), open = DESC(ZB_DTYPE_I64, -1, 1);
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), dims, 2));
    REQUIRE_OK(zb_context_prepare(context));
    for (int side = 0; side < 2; side++) {
        REQUIRE_OK(zb_context_get_slot_info(context, side ? ZB_OUTPUT(0) : ZB_INPUT(0), &info));
        CHECK(zt_same_desc(&info.desc, &three));
        CHECK_EQ(info.size, 48);
        CHECK(side == 0 || (info.flags & ZB_SLOT_DYNAMIC) == 0);
        /* the model stays what it is */
        REQUIRE_OK(zb_model_get_slot_info(model, side ? ZB_OUTPUT(0) : ZB_INPUT(0), &info));
        CHECK_EQ(info.desc.dims[0], -1);
    }
    REQUIRE_OK(zb_context_prepare(waiting));
    REQUIRE_OK(zb_context_get_slot_info(waiting, ZB_OUTPUT(0), &info));
    CHECK(zt_same_desc(&info.desc, &open));
    CHECK((info.flags & ZB_SLOT_DYNAMIC) != 0);
    zb_context_destroy(context);
    zb_context_destroy(waiting);
    zb_model_destroy(model);
    zb_model_destroy(late);
}

/* --- asked for --- */

static void every_batch_from_1_to_7(void)
{
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    const int64_t batches[] = {1, 2, 3, 4, 5, 6, 7, 3, 1};
    for (size_t n = 0; n < sizeof batches / sizeof *batches; n++) {
        int64_t batch = batches[n];
        zt_buffer x = zt_buffer_new((size_t)batch * 16), y = zt_buffer_new((size_t)batch * 16);
        zt_fill_floats(&x, (float)n, 1);
        REQUIRE_OK(resize(context, batch, 4));
        REQUIRE_OK(zb_context_prepare(context));
        check_desc(context, ZB_INPUT(0), F32(batch, 4));
        check_desc(context, ZB_OUTPUT(0), F32(batch, 4));
        zt_bind(context, ZB_INPUT(0), F32(batch, 4), &x);
        zt_bind(context, ZB_OUTPUT(0), F32(batch, 4), &y);
        REQUIRE_OK(zb_infer(context, NULL));
        check_doubled(&x, &y);
        REQUIRE_OK(zb_context_unbind(context, ZB_INPUT(0)));
        REQUIRE_OK(zb_context_unbind(context, ZB_OUTPUT(0)));
        FREE_BUFFER(&x);
        FREE_BUFFER(&y);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void a_shape_is_asked_for_by_the_run_itself(void)
{
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(48), y = zt_buffer_new(48);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
    zt_fill_floats(&x, 1, 1);
    /* recorded only; the last word before the run counts */
    REQUIRE_OK(resize(context, 5, 4));
    REQUIRE_OK(resize(context, 3, 4));
    REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    check_doubled(&x, &y);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void the_first_shape_is_the_models(void)
{
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    zb_tensor *tensor = NULL;
    if (zt_is_tflite()) {
        /* the format has a shape to start with */
        REQUIRE_OK(zb_context_prepare(context));
        check_desc(context, ZB_INPUT(0), F32(1, 4));
        check_desc(context, ZB_OUTPUT(0), F32(1, 4));
    } else {
        CHECK_STATUS(zb_context_prepare(context), ZB_ERROR_SHAPE_MISMATCH);
        CHECK_ERROR_SAYS("x");
        CHECK_STATUS(zb_tensor_alloc_for(context, ZB_INPUT(0), &tensor), ZB_ERROR_SHAPE_MISMATCH);
        CHECK(tensor == NULL);
    }
    REQUIRE_OK(resize(context, 6, 4));
    REQUIRE_OK(zb_tensor_alloc_for(context, ZB_INPUT(0), &tensor));
    size_t size = 0;
    REQUIRE_OK(zb_tensor_get_data(tensor, NULL, &size));
    CHECK_EQ(size, 96);
    zb_tensor_destroy(tensor);
    zb_requirements needs = ZB_REQUIREMENTS_INIT;
    REQUIRE_OK(zb_context_get_requirements(context, ZB_OUTPUT(0), &needs));
    CHECK_EQ(needs.size, 96);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void images_of_many_sizes(void)
{
    const int64_t sizes[][2] = {{8, 8}, {3, 3}, {5, 9}, {16, 4}, {8, 8}};
    zb_model *model = zt_open("conv_dyn");
    zb_context *context = zt_context(model);
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        int64_t height = sizes[n][0], width = sizes[n][1];
        const int64_t dims[4] = {1, height, width, 1};
        zb_tensor_desc in = F32(1, height, width, 1), out = F32(1, height - 2, width - 2, 1);
        zt_buffer x = zt_buffer_new((size_t)(height * width) * 4), y = zt_buffer_new((size_t)((height - 2) * (width - 2)) * 4);
        zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
        loans[1].desc = &out;
        for (int64_t i = 0; i < height * width; i++) {
            zt_floats(&x)[i] = (float)(i * 7 % 11 - 5);
        }
        REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), dims, 4));
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        check_desc(context, ZB_INPUT(0), in);
        for (int64_t r = 0; r < height - 2; r++) {
            for (int64_t c = 0; c < width - 2; c++) {
                float sum = 0;
                for (int64_t k = 0; k < 9; k++) {
                    sum += (float)(k + 1) * zt_floats(&x)[(r + k / 3) * width + c + k % 3];
                }
                CHECK(zt_floats(&y)[r * (width - 2) + c] == sum);
            }
        }
        FREE_BUFFER(&x);
        FREE_BUFFER(&y);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
}

/* --- refused --- */

static void only_open_dimensions_change(void)
{
    zb_model *fixed = zt_open("add4"), *open = zt_open("batch");
    zb_context *four = zt_context(fixed), *batch = zt_context(open);
    const int64_t five = 5, same = 4, dims[3] = {4, 1, 1};
    int64_t many[17];
    for (int i = 0; i < 17; i++) {
        many[i] = 1;
    }
    CHECK_STATUS(zb_context_resize_input(four, ZB_INPUT(0), &five, 1), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_ERROR_SAYS("4");
    CHECK_STATUS(zb_context_resize_input(four, ZB_INPUT(0), dims, 2), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_OK(zb_context_resize_input(four, ZB_INPUT(0), &same, 1));
    CHECK_STATUS(resize(batch, 2, 5), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_STATUS(zb_context_resize_input(batch, ZB_INPUT(0), dims, 1), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_STATUS(zb_context_resize_input(batch, ZB_INPUT(0), dims, 3), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_STATUS(resize(batch, -1, 4), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(resize(batch, -7, 4), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(resize(batch, INT64_MIN, 4), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_context_resize_input(batch, ZB_OUTPUT(0), dims, 2), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_context_resize_input(batch, ZB_INPUT(1), dims, 2), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_context_resize_input(batch, ZB_INPUT(0), NULL, 2), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_context_resize_input(batch, ZB_INPUT(0), many, 17), ZB_ERROR_UNSUPPORTED);
    /* none of it left a trace */
    REQUIRE_OK(resize(batch, 2, 4));
    REQUIRE_OK(zb_context_prepare(batch));
    check_desc(batch, ZB_OUTPUT(0), F32(2, 4));
    REQUIRE_OK(zb_context_prepare(four));
    zb_context_destroy(four);
    zb_context_destroy(batch);
    zb_model_destroy(fixed);
    zb_model_destroy(open);
}

static void a_scalar_can_be_given_its_own_shape(void)
{
    zb_model *model = zt_open("scalar");
    zb_context *context = zt_context(model);
    const int64_t one = 1;
    CHECK_OK(zb_context_resize_input(context, ZB_INPUT(0), NULL, 0));
    CHECK_STATUS(zb_context_resize_input(context, ZB_INPUT(0), &one, 1), ZB_ERROR_SHAPE_MISMATCH);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void bindings_that_do_not_fit_any_more(void)
{
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(32), y = zt_buffer_new(32), big_x = zt_buffer_new(48), big_y = zt_buffer_new(48);
    zt_fill_floats(&x, 1, 1);
    zt_fill_floats(&big_x, 5, 1);
    REQUIRE_OK(resize(context, 2, 4));
    zt_bind(context, ZB_INPUT(0), F32(2, 4), &x);
    zt_bind(context, ZB_OUTPUT(0), F32(2, 4), &y);
    REQUIRE_OK(zb_infer(context, NULL));
    check_doubled(&x, &y);
    memset(y.data, 0xCD, y.size);

    REQUIRE_OK(resize(context, 3, 4));
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_SHAPE_MISMATCH);
    CHECK(zt_is_untouched(&y));
    zt_bind(context, ZB_INPUT(0), F32(3, 4), &big_x);
    /* the output is still the small one */
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_SHAPE_MISMATCH);
    CHECK(zt_is_untouched(&y));
    zb_loan small = zt_lend_output(0, &y);
    CHECK_STATUS(zb_infer_with(context, &small, 1, NULL), ZB_ERROR_BUFFER_TOO_SMALL);
    CHECK_ERROR_SAYS("48");
    CHECK_ERROR_SAYS("32");
    CHECK(zt_is_untouched(&y));
    zt_bind(context, ZB_OUTPUT(0), F32(3, 4), &big_y);
    REQUIRE_OK(zb_infer(context, NULL));
    check_doubled(&big_x, &big_y);

    /* and back, where the old buffers fit again */
    REQUIRE_OK(resize(context, 2, 4));
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_SHAPE_MISMATCH);
    zt_bind(context, ZB_INPUT(0), F32(2, 4), &x);
    zt_bind(context, ZB_OUTPUT(0), F32(2, 4), &y);
    REQUIRE_OK(zb_infer(context, NULL));
    check_doubled(&x, &y);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
    FREE_BUFFER(&big_x);
    FREE_BUFFER(&big_y);
}

/* Room in which one batch fits and the next does not: an error before anything runs, and other memory is all it takes. */
static void bound_memory_that_is_too_small_after_a_resize(void)
{
    zb_model *model = zt_open("batch");
    for (int open = 0; open < 2; open++) {
        zb_context *context = zt_context(model);
        zt_buffer x = zt_buffer_new(48), y = zt_buffer_new(32), larger = zt_buffer_new(48);
        zt_fill_floats(&x, 1, 1);
        REQUIRE_OK(resize(context, 2, 4));
        zb_loan two = zb_loan_input(ZB_INPUT(0), x.data, 32, 48, NULL), three = zt_lend_input(0, &x);
        zt_bind(context, ZB_OUTPUT(0), open ? F32(-1, 4) : F32(2, 4), &y);
        REQUIRE_OK(zb_infer_with(context, &two, 1, NULL));
        CHECK(zt_floats(&y)[7] == 16);
        memset(y.data, 0xCD, y.size);
        REQUIRE_OK(resize(context, 3, 4));
        for (int i = 0; i < 2; i++) {
            CHECK_STATUS(zb_infer_with(context, &three, 1, NULL), open ? ZB_ERROR_BUFFER_TOO_SMALL : ZB_ERROR_SHAPE_MISMATCH);
            CHECK_ERROR_SAYS("[3,4]");
            CHECK_ERROR_SAYS(open ? "48" : "[2,4]");
            CHECK(zt_is_untouched(&y));
        }
        zt_bind(context, ZB_OUTPUT(0), open ? F32(-1, 4) : F32(3, 4), &larger);
        REQUIRE_OK(zb_infer_with(context, &three, 1, NULL));
        check_doubled(&x, &larger);
        CHECK(zt_is_untouched(&y));
        zb_context_destroy(context);
        FREE_BUFFER(&x);
        FREE_BUFFER(&y);
        FREE_BUFFER(&larger);
    }
    zb_model_destroy(model);
}

/* --- what the engine cannot compute --- */

static void run_8_by_8(zb_context *context)
{
    zb_tensor_desc out = F32(1, 6, 6, 1);
    zt_buffer x = zt_buffer_new(256), y = zt_buffer_new(144);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
    loans[1].desc = &out;
    zt_fill_floats(&x, 1, 0);
    REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    for (int i = 0; i < 36; i++) {
        CHECK(zt_floats(&y)[i] == 45);
    }
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void an_image_below_the_kernels_size(void)
{
    const int64_t good[4] = {1, 8, 8, 1}, sizes[] = {2, 1};
    zb_model *model = zt_open("conv_dyn");
    zb_context *context = zt_context(model);
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), good, 4));
    run_8_by_8(context);
    for (size_t n = 0; n < 2; n++) {
        const int64_t bad[4] = {1, sizes[n], sizes[n], 1};
        /* at 2 by 2 the engine sees nothing wrong with an empty result; 1 by 1 it refuses by itself */
        const zb_status refusal = sizes[n] == 2 ? ZB_ERROR_SHAPE_MISMATCH : ZB_ERROR_RUNTIME;
        zt_buffer x = zt_buffer_new((size_t)(sizes[n] * sizes[n]) * 4);
        zb_loan loan = zt_lend_input(0, &x);
        zt_fill_floats(&x, 1, 0);
        REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), bad, 4));
        if (zt_is_tflite()) {
            /* with XNNPACK the engine itself would crash in the run */
            CHECK_STATUS(zb_context_prepare(context), refusal);
            CHECK_ERROR_SAYS(sizes[n] == 2 ? "[1,2,2,1]" : "[1,1,1,1]");
            CHECK_ERROR_SAYS(sizes[n] == 2 ? "[1,0,0,1]" : "CONV_2D");
            /* the last good shapes are in force again */
            check_desc(context, ZB_INPUT(0), F32(1, 8, 8, 1));
            run_8_by_8(context);
            REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), bad, 4));
            CHECK_STATUS(zb_infer_with(context, &loan, 1, NULL), refusal);
        } else {
            /* this engine finds out while it runs */
            REQUIRE_OK(zb_context_prepare(context));
            CHECK_STATUS(zb_infer_with(context, &loan, 1, NULL), ZB_ERROR_RUNTIME);
            REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), good, 4));
        }
        run_8_by_8(context);
        FREE_BUFFER(&x);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
}

/* Too low, too narrow, or nothing at all: a text each time, and no crash where XNNPACK has no check of its own. */
static void images_without_a_result(void)
{
    static const int64_t sizes[][2] = {{2, 8}, {8, 2}, {1, 8}, {8, 1}, {0, 8}, {8, 0}, {0, 0}, {2, 1000}};
    const int64_t good[4] = {1, 8, 8, 1};
    zb_model *model = zt_open("conv_dyn");
    zb_context *context = zt_context(model);
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), good, 4));
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        zb_tensor_desc bad = F32(1, sizes[n][0], sizes[n][1], 1);
        zt_buffer x = zt_buffer_new((size_t)(sizes[n][0] * sizes[n][1]) * 4);
        zb_loan loan = zt_lend_input(0, &x);
        char shape[32];
        snprintf(shape, sizeof shape, zt_is_tflite() ? "[1,%d,%d,1]" : "{%d,%d}", (int)sizes[n][0], (int)sizes[n][1]);
        zt_fill_floats(&x, 1, 0);
        loan.desc = &bad;
        zb_status status = zb_infer_with(context, &loan, 1, NULL);
        CHECK(status == ZB_ERROR_RUNTIME || (zt_is_tflite() && status == ZB_ERROR_SHAPE_MISMATCH));
        CHECK_ERROR_SAYS(shape);
        if (!zt_is_tflite()) {
            /* known by the run only, so the shape was taken */
            REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), good, 4));
        }
        run_8_by_8(context);
        FREE_BUFFER(&x);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void bindings_survive_a_failed_prepare(void)
{
    const int64_t bad[4] = {1, 2, 2, 1};
    zb_model *model = zt_open("conv_dyn");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(256), y = zt_buffer_new(144), tiny = zt_buffer_new(16);
    zt_fill_floats(&x, 1, 0);
    zt_fill_floats(&tiny, 1, 0);
    /* the shape comes from the memory */
    zt_bind(context, ZB_INPUT(0), F32(1, 8, 8, 1), &x);
    zt_bind(context, ZB_OUTPUT(0), F32(1, 6, 6, 1), &y);
    REQUIRE_OK(zb_infer(context, NULL));
    memset(y.data, 0xCD, y.size);
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), bad, 4));
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_SHAPE_MISMATCH);
    CHECK(zt_is_untouched(&y));
    /* everything is as it was, bindings too */
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK(zt_floats(&y)[35] == 45);

    /* too small an image by way of memory: only other memory helps */
    memset(y.data, 0xCD, y.size);
    zt_bind(context, ZB_INPUT(0), F32(1, 2, 2, 1), &tiny);
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_SHAPE_MISMATCH);
        CHECK(zt_is_untouched(&y));
    }
    zt_bind(context, ZB_INPUT(0), F32(1, 8, 8, 1), &x);
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK(zt_floats(&y)[0] == 45);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
    FREE_BUFFER(&tiny);
}

static void plain_kernels_see_too_small_an_image_too(void)
{
    /* without XNNPACK the engine itself would run, and compute nothing, or plan [1,-1,0,1] */
    const int64_t bad[][4] = {{1, 2, 2, 1}, {1, 1, 2, 1}, {1, 2, 1, 1}, {1, 2, 0, 1}}, good[4] = {1, 8, 8, 1};
    const zb_option off = {"tflite.xnnpack", "false"};
    zb_model *model = zt_open("conv_dyn");
    zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
    zb_context *context = NULL;
    options.options = &off;
    options.option_count = 1;
    REQUIRE_OK(zb_context_create(model, &options, &context));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), bad[i], 4));
        CHECK_STATUS(zb_context_prepare(context), ZB_ERROR_SHAPE_MISMATCH);
        REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), good, 4));
        run_8_by_8(context);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void an_output_of_as_many_bytes_and_another_shape(void)
{
    const int64_t dims[4] = {1, 4, 8, 1};
    zb_model *model = zt_open("conv_dyn");
    zb_context *context = zt_context(model);
    zb_tensor_desc right = F32(1, 2, 6, 1), wrong = F32(1, 3, 4, 1), integers = DESC(ZB_DTYPE_I32, 1, 2, 6, 1);
    zt_buffer x = zt_buffer_new(128), y = zt_buffer_new(48);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
    zt_fill_floats(&x, 1, 0);
    /* bound before anybody knows the output's shape */
    zt_bind(context, ZB_OUTPUT(0), wrong, &y);
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), dims, 4));
    CHECK_STATUS(zb_infer_with(context, loans, 1, NULL), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_GUARDS(&y);
    REQUIRE_OK(zb_context_unbind(context, ZB_OUTPUT(0)));
    loans[1].desc = &wrong;
    CHECK_STATUS(zb_infer_with(context, loans, 2, NULL), ZB_ERROR_SHAPE_MISMATCH);
    loans[1].desc = &integers;
    CHECK_STATUS(zb_infer_with(context, loans, 2, NULL), ZB_ERROR_DTYPE_MISMATCH);
    loans[1].desc = &right;
    REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    for (int i = 0; i < 12; i++) {
        CHECK(zt_floats(&y)[i] == 45);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void compare_melspectrogram(zb_context *context, int samples)
{
    const int64_t dims[2] = {1, samples};
    const int raw_dims[2] = {1, samples};
    zt_buffer x = zt_buffer_new((size_t)samples * 4);
    zb_loan loan = zt_lend_input(0, &x);
    const void *view = NULL;
    size_t size = 0, raw_size = 0;
    char *path = zt_model_path("melspectrogram");
    for (int i = 0; i < samples; i++) {
        zt_floats(&x)[i] = (float)(i * 7919 % 2001 - 1000);
    }
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), dims, 2));
    REQUIRE_OK(zb_infer_with(context, &loan, 1, NULL));
    REQUIRE_OK(zb_context_output_view(context, ZB_OUTPUT(0), &view, &size, NULL));

    raw_tflite *raw = raw_tflite_open(path, 1);
    raw_tflite_resize(raw, 0, raw_dims, 2);
    raw_tflite_allocate(raw);
    raw_tflite_write(raw, 0, x.data, x.size);
    raw_tflite_invoke(raw);
    const void *expected = raw_tflite_output(raw, 0, &raw_size);
    REQUIRE(raw_size == size && size > 0);
    CHECK_BYTES(view, expected, size);
    raw_tflite_close(raw);
    free(path);
    FREE_BUFFER(&x);
}

static void a_model_that_cannot_be_planned_as_declared(void)
{
    const int64_t short_dims[2] = {1, 100};
    zb_model *model = zt_open("melspectrogram");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(4);
    zb_loan loan = zt_lend_input(0, &x);
    zt_fill_floats(&x, 1, 0);
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(zb_context_prepare(context), ZB_ERROR_RUNTIME);
        /* the engine's own reason */
        CHECK_ERROR_SAYS("CONV_2D");
    }
    CHECK_STATUS(zb_infer_with(context, &loan, 1, NULL), ZB_ERROR_RUNTIME);

    compare_melspectrogram(context, 1760);
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), short_dims, 2));
    CHECK_STATUS(zb_context_prepare(context), ZB_ERROR_RUNTIME);
    CHECK_ERROR_SAYS("[1,100]");
    check_desc(context, ZB_INPUT(0), F32(1, 1760));
    compare_melspectrogram(context, 1760);
    compare_melspectrogram(context, 1280);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
}

/* A shape that comes with the memory is as good as one that was asked for. */
static void a_model_that_gets_its_first_shape_by_a_loan(void)
{
    zb_model *model = zt_open("melspectrogram");
    zb_context *context = zt_context(model);
    zb_tensor_desc long_enough = F32(1, 1280), too_short = F32(1, 100), expected = F32(1, 1, 5, 32), found;
    zt_buffer x = zt_buffer_new(1280 * 4), small = zt_buffer_new(400);
    zb_loan loan = zt_lend_input(0, &x), short_loan = zt_lend_input(0, &small);
    const void *view = NULL;
    zt_fill_floats(&x, 1, 1);
    zt_fill_floats(&small, 1, 1);
    loan.desc = &long_enough;
    short_loan.desc = &too_short;
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(zb_infer_with(context, &short_loan, 1, NULL), ZB_ERROR_RUNTIME);
        CHECK_ERROR_SAYS("[1,100]");
        REQUIRE_OK(zb_infer_with(context, &loan, 1, NULL));
        REQUIRE_OK(zb_context_output_view(context, ZB_OUTPUT(0), &view, NULL, &found));
        CHECK(zt_same_desc(&found, &expected));
    }
    compare_melspectrogram(context, 1280);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&small);
}

/* Plain kernels have no objection to a batch of nothing; XNNPACK fails, or leaves shapes inside the model to chance. */
static void a_real_model_without_a_batch(void)
{
    enum { IN = 76 * 32 };
    if (zt_under_memcheck()) {
        return; /* on its way to the refusal XNNPACK looks at memory that it has not set */
    }
    const int64_t none[4] = {0, 76, 32, 1}, one[4] = {1, 76, 32, 1};
    zb_model *model = zt_open("embedding");
    zb_context *context = zt_context(model);
    float *reference = zt_read_reference("embedding.batch1.tflite-xnnpack.output.bin", 96 * 4);
    float *input = zt_read_reference("embedding.batch1.input.bin", IN * 4);
    zt_buffer x = zt_buffer_new(IN * 4), y = zt_buffer_new(96 * 4);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
    memcpy(x.data, input, x.size);
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), none, 4));
        zb_status status = zb_context_prepare(context);
        CHECK(status == ZB_ERROR_RUNTIME || status == ZB_ERROR_SHAPE_MISMATCH);
        CHECK_ERROR_SAYS("[0,76,32,1]");
        CHECK_ERROR_SAYS("tflite.xnnpack");
        REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), one, 4));
        memset(y.data, 0xCD, y.size);
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        CHECK_FLOATS(zt_floats(&y), reference, 96, 1e-3f);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    free(reference);
    free(input);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void a_real_model_with_a_batch_of_3(void)
{
    enum { IN = 76 * 32, OUT = 96 };
    zb_model *model = zt_open("embedding");
    zb_context *context = zt_context(model);
    const int batches[] = {3, 1, 3};
    for (int n = 0; n < zt_rounds(3, 1); n++) {
        int batch = batches[n];
        const int64_t dims[4] = {batch, 76, 32, 1};
        const int raw_dims[4] = {batch, 76, 32, 1};
        size_t in_size = (size_t)batch * IN * 4, out_size = (size_t)batch * OUT * 4, raw_size = 0;
        float *input = zt_read_reference(batch == 1 ? "embedding.batch1.input.bin" : "embedding.batch3.input.bin", in_size);
        float *reference = zt_read_reference(
            batch == 1 ? "embedding.batch1.tflite-xnnpack.output.bin" : "embedding.batch3.tflite-xnnpack.output.bin", out_size);
        zt_buffer x = zt_buffer_new(in_size), y = zt_buffer_new(out_size);
        zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
        memcpy(x.data, input, in_size);
        REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), dims, 4));
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        check_desc(context, ZB_OUTPUT(0), F32(batch, 1, 1, 96));
        CHECK_FLOATS(zt_floats(&y), reference, (size_t)batch * OUT, 1e-3f);

        /* on the same processor, bit by bit */
        char *path = zt_model_path("embedding");
        raw_tflite *raw = raw_tflite_open(path, 1);
        raw_tflite_resize(raw, 0, raw_dims, 4);
        raw_tflite_allocate(raw);
        raw_tflite_write(raw, 0, input, in_size);
        raw_tflite_invoke(raw);
        const void *expected = raw_tflite_output(raw, 0, &raw_size);
        REQUIRE(raw_size == out_size);
        CHECK_BYTES(y.data, expected, out_size);
        raw_tflite_close(raw);
        free(path);
        free(input);
        free(reference);
        FREE_BUFFER(&x);
        FREE_BUFFER(&y);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
}

/* --- adopted from memory --- */

static void a_bound_tensor_gives_open_dimensions(void)
{
    const int64_t batches[] = {5, 2, 9};
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    for (size_t n = 0; n < 3; n++) {
        int64_t batch = batches[n];
        zt_buffer x = zt_buffer_new((size_t)batch * 16), y = zt_buffer_new((size_t)batch * 16);
        zt_fill_floats(&x, 1, 1);
        REQUIRE_OK(zb_context_unbind(context, ZB_OUTPUT(0)));
        zt_bind(context, ZB_INPUT(0), F32(batch, 4), &x);
        zt_bind(context, ZB_OUTPUT(0), F32(batch, 4), &y);
        REQUIRE_OK(zb_infer(context, NULL));
        check_doubled(&x, &y);
        check_desc(context, ZB_INPUT(0), F32(batch, 4));
        check_desc(context, ZB_OUTPUT(0), F32(batch, 4));
        REQUIRE_OK(zb_context_unbind(context, ZB_INPUT(0)));
        REQUIRE_OK(zb_context_unbind(context, ZB_OUTPUT(0)));
        FREE_BUFFER(&x);
        FREE_BUFFER(&y);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void outputs_may_be_bound_before_inputs(void)
{
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(64), y = zt_buffer_new(64);
    zt_fill_floats(&x, 1, 1);
    zt_bind(context, ZB_OUTPUT(0), F32(4, 4), &y);
    zt_bind(context, ZB_INPUT(0), F32(4, 4), &x);
    REQUIRE_OK(zb_infer(context, NULL));
    check_doubled(&x, &y);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void a_shape_asked_for_is_not_adopted_away(void)
{
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(32);
    zb_tensor_desc two = F32(2, 4), wrong = F32(4, 2);
    zb_tensor *tensor = zt_wrap(&two, &x), *other = zt_wrap(&wrong, &x);
    REQUIRE_OK(resize(context, 3, 4));
    CHECK_STATUS(zb_tensor_bind(tensor, context, ZB_INPUT(0)), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_ERROR_SAYS("zb_context_resize_input");
    REQUIRE_OK(resize(context, 2, 4));
    CHECK_OK(zb_tensor_bind(tensor, context, ZB_INPUT(0)));
    /* a fixed dimension never follows the memory */
    CHECK_STATUS(zb_tensor_bind(other, context, ZB_INPUT(0)), ZB_ERROR_SHAPE_MISMATCH);
    zb_tensor_destroy(tensor);
    zb_tensor_destroy(other);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
}

/* --- limits --- */

static zb_model *open_with_limit(const char *name, uint64_t limit, zb_status expected)
{
    zb_model_options options = ZB_MODEL_OPTIONS_INIT;
    zb_model *model = NULL;
    char *path = zt_model_path(name);
    options.max_tensor_bytes = limit;
    CHECK_STATUS(zb_model_open(path, &options, &model), expected);
    free(path);
    return model;
}

static void absurd_tensors_are_refused(void)
{
    zb_model *model = NULL;
    /* 64 GiB; the limit is 4 GiB unless said */
    CHECK(open_with_limit("huge", 0, ZB_ERROR_UNSUPPORTED) == NULL);
    CHECK_ERROR_SAYS("68719476736");
    CHECK(open_with_limit("add4", 15, ZB_ERROR_UNSUPPORTED) == NULL);
    model = open_with_limit("add4", 16, ZB_OK);
    zb_model_destroy(model);
}

static void a_resize_stays_below_the_limit(void)
{
    zb_model *model = open_with_limit("batch", 1000, ZB_OK);
    zb_context *context = zt_context(model);
    REQUIRE_OK(resize(context, 62, 4));
    REQUIRE_OK(zb_context_prepare(context));
    CHECK_STATUS(resize(context, 63, 4), ZB_ERROR_UNSUPPORTED);
    CHECK_ERROR_SAYS("1008");
    CHECK_ERROR_SAYS("1000");
    check_desc(context, ZB_INPUT(0), F32(62, 4));
    /* nor by way of memory */
    zt_buffer x = zt_buffer_new(1008), y = zt_buffer_new(1008);
    zb_tensor_desc over = F32(63, 4);
    zb_loan loan = zt_lend_input(0, &x);
    loan.desc = &over;
    CHECK_STATUS(zb_infer_with(context, &loan, 1, NULL), ZB_ERROR_UNSUPPORTED);
    zb_context *fresh = zt_context(model);
    zb_tensor *tensor = zt_wrap(&over, &x);
    zb_status bound = zb_tensor_bind(tensor, fresh, ZB_INPUT(0));
    CHECK(bound == ZB_ERROR_UNSUPPORTED || bound == ZB_OK);
    CHECK_STATUS(zb_infer(fresh, NULL), bound == ZB_OK ? ZB_ERROR_UNSUPPORTED : ZB_ERROR_UNBOUND);
    zb_tensor_destroy(tensor);
    zb_context_destroy(fresh);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void sizes_that_do_not_fit_a_number(void)
{
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    const int64_t rows[] = {INT64_MAX, INT64_MAX / 16, INT64_C(1) << 60, INT64_C(1) << 40, INT64_C(1) << 32};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        zb_status status = resize(context, rows[i], 4);
        CHECK(status == ZB_ERROR_UNSUPPORTED || status == ZB_ERROR_SHAPE_MISMATCH);
    }
    REQUIRE_OK(resize(context, 2, 4));
    REQUIRE_OK(zb_context_prepare(context));
    check_desc(context, ZB_OUTPUT(0), F32(2, 4));
    zb_context_destroy(context);
    zb_model_destroy(model);
}

/* --- no elements --- */

static void check_empty_run(zb_context *context)
{
    zb_tensor_desc desc = F32(0, 4), found;
    zb_tensor *in = NULL, *out = NULL;
    const void *view = NULL;
    size_t size = 1;
    REQUIRE_OK(zb_tensor_wrap(&desc, NULL, 0, 0, NULL, NULL, &in));
    REQUIRE_OK(zb_tensor_wrap(&desc, NULL, 0, 0, NULL, NULL, &out));
    REQUIRE_OK(zb_tensor_bind(in, context, ZB_INPUT(0)));
    REQUIRE_OK(zb_infer(context, NULL));
    REQUIRE_OK(zb_context_output_view(context, ZB_OUTPUT(0), &view, &size, &found));
    CHECK_EQ(size, 0);
    CHECK(zt_same_desc(&found, &desc));
    REQUIRE_OK(zb_tensor_bind(out, context, ZB_OUTPUT(0)));
    REQUIRE_OK(zb_infer(context, NULL));

    /* and lent: nothing, or a misaligned place of no bytes */
    zt_buffer odd = zt_buffer_at(0, 1);
    zb_loan loans[2] = {zb_loan_input(ZB_INPUT(0), NULL, 0, 0, &desc), zb_loan_output(ZB_OUTPUT(0), NULL, 0, &desc)};
    REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    loans[0].data = odd.data;
    loans[1].data = odd.data;
    REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    FREE_BUFFER(&odd);
    REQUIRE_OK(zb_context_unbind(context, ZB_INPUT(0)));
    REQUIRE_OK(zb_context_unbind(context, ZB_OUTPUT(0)));
    zb_tensor_destroy(in);
    zb_tensor_destroy(out);
}

static void tensors_without_elements(void)
{
    zb_model *model = zt_open("empty");
    zb_context *context = zt_context(model);
    check_empty_run(context);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void a_dimension_goes_to_0_and_back(void)
{
    const char *models[] = {"empty_dynamic", "batch"};
    for (size_t n = 0; n < 2; n++) {
        zb_model *model = zt_open(models[n]);
        zb_context *context = zt_context(model);
        const int64_t rows[] = {0, 3, 0, 2};
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            REQUIRE_OK(resize(context, rows[i], 4));
            if (rows[i] == 0) {
                check_empty_run(context);
                continue;
            }
            zt_buffer x = zt_buffer_new((size_t)rows[i] * 16), y = zt_buffer_new((size_t)rows[i] * 16);
            zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
            zt_fill_floats(&x, 1, 1);
            REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
            check_doubled(&x, &y);
            FREE_BUFFER(&x);
            FREE_BUFFER(&y);
        }
        zb_context_destroy(context);
        zb_model_destroy(model);
    }
}

static const zt_test tests[] = {
    ON_BOTH(every_open_dimension_is_told),
    ON_BOTH(planning_closes_what_it_can),
    ON_BOTH(every_batch_from_1_to_7),
    ON_BOTH(a_shape_is_asked_for_by_the_run_itself),
    ON_BOTH(the_first_shape_is_the_models),
    ON_BOTH(images_of_many_sizes),
    ON_BOTH(only_open_dimensions_change),
    ON_BOTH(a_scalar_can_be_given_its_own_shape),
    ON_BOTH(bindings_that_do_not_fit_any_more),
    ON_BOTH(bound_memory_that_is_too_small_after_a_resize),
    ON_BOTH(an_image_below_the_kernels_size),
    ON_BOTH(images_without_a_result),
    ON_TFLITE(bindings_survive_a_failed_prepare),
    ON_TFLITE(plain_kernels_see_too_small_an_image_too),
    ON_BOTH(an_output_of_as_many_bytes_and_another_shape),
    ON_TFLITE(a_model_that_cannot_be_planned_as_declared),
    ON_TFLITE(a_model_that_gets_its_first_shape_by_a_loan),
    ON_TFLITE(a_real_model_without_a_batch),
    ON_TFLITE(a_real_model_with_a_batch_of_3),
    ON_BOTH(a_bound_tensor_gives_open_dimensions),
    ON_BOTH(outputs_may_be_bound_before_inputs),
    ON_BOTH(a_shape_asked_for_is_not_adopted_away),
    ON_BOTH(absurd_tensors_are_refused),
    ON_BOTH(a_resize_stays_below_the_limit),
    ON_BOTH(sizes_that_do_not_fit_a_number),
    ON_BOTH(tensors_without_elements),
    ON_BOTH(a_dimension_goes_to_0_and_back),
};

ZT_MAIN(tests)
