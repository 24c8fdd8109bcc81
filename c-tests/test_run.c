/* Every element type, shape and number of slots: run with bound and with lent memory; and what is told of slots. */
#include "harness.h"

#include <sys/mman.h>

/* --- running --- */

/* Runs with everything bound, then with everything lent, into fresh memory each time. */
static void check_unary(const char *name, zb_tensor_desc in, const void *x, zb_tensor_desc out, const void *expected)
{
    size_t in_size = 0, out_size = 0;
    REQUIRE_OK(zb_tensor_desc_size(&in, &in_size));
    REQUIRE_OK(zb_tensor_desc_size(&out, &out_size));
    zb_model *model = zt_open(name);
    zb_context *context = zt_context(model);
    zt_buffer bound_x = zt_buffer_new(in_size), bound_y = zt_buffer_new(out_size);
    zt_buffer lent_x = zt_buffer_new(in_size), lent_y = zt_buffer_new(out_size);
    memcpy(bound_x.data, x, in_size);
    memcpy(lent_x.data, x, in_size);
    zb_tensor *tensor_x = zt_wrap(&in, &bound_x);
    zb_tensor *tensor_y = zt_wrap(&out, &bound_y);

    REQUIRE_OK(zb_tensor_bind(tensor_x, context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(tensor_y, context, ZB_OUTPUT(0)));
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK_BYTES(bound_y.data, expected, out_size);
    CHECK(zt_is_untouched(&lent_y));

    memset(bound_y.data, 0xCD, out_size);
    zb_loan loans[2] = {zt_lend_input(0, &lent_x), zt_lend_output(0, &lent_y)};
    REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    CHECK_BYTES(lent_y.data, expected, out_size);
    CHECK(zt_is_untouched(&bound_y));
    CHECK_BYTES(lent_x.data, x, in_size);

    zb_tensor_destroy(tensor_x);
    zb_tensor_destroy(tensor_y);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&bound_x);
    FREE_BUFFER(&bound_y);
    FREE_BUFFER(&lent_x);
    FREE_BUFFER(&lent_y);
}

/* The same for two inputs and an output of one type and shape. */
static void check_binary(const char *name, zb_tensor_desc desc, const void *x, const void *y, const void *expected)
{
    size_t size = 0;
    REQUIRE_OK(zb_tensor_desc_size(&desc, &size));
    zb_model *model = zt_open(name);
    zb_context *context = zt_context(model);
    zt_buffer bound[3], lent[3];
    zb_tensor *tensors[3];
    for (size_t i = 0; i < 3; i++) {
        bound[i] = zt_buffer_new(size);
        lent[i] = zt_buffer_new(size);
        tensors[i] = zt_wrap(&desc, &bound[i]);
    }
    memcpy(bound[0].data, x, size);
    memcpy(bound[1].data, y, size);
    memcpy(lent[0].data, x, size);
    memcpy(lent[1].data, y, size);

    REQUIRE_OK(zb_tensor_bind(tensors[0], context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(tensors[1], context, ZB_INPUT(1)));
    REQUIRE_OK(zb_tensor_bind(tensors[2], context, ZB_OUTPUT(0)));
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK_BYTES(bound[2].data, expected, size);

    zb_loan loans[3] = {zt_lend_input(0, &lent[0]), zt_lend_input(1, &lent[1]), zt_lend_output(0, &lent[2])};
    REQUIRE_OK(zb_infer_with(context, loans, 3, NULL));
    CHECK_BYTES(lent[2].data, expected, size);
    CHECK_BYTES(lent[0].data, x, size);
    CHECK_BYTES(lent[1].data, y, size);

    for (size_t i = 0; i < 3; i++) {
        zb_tensor_destroy(tensors[i]);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    for (size_t i = 0; i < 3; i++) {
        FREE_BUFFER(&bound[i]);
        FREE_BUFFER(&lent[i]);
    }
}

static void f32_is_added(void)
{
    const float x[4] = {1, -2, 0.5f, 1e6f}, y[4] = {10, 20, 0.25f, 1}, z[4] = {11, 18, 0.75f, 1000001};
    check_binary("add4", F32(4), x, y, z);
}

static void i32_is_added(void)
{
    const int32_t x[8] = {1, -2, 3, 4, 5, 6, 7, 2000000000}, y[8] = {10, 20, -30, 0, 1, 2, 3, 147483647};
    const int32_t z[8] = {11, 18, -27, 4, 6, 8, 10, 2147483647};
    check_binary("add_i32", DESC(ZB_DTYPE_I32, 8), x, y, z);
}

static void i64_is_added(void)
{
    /* beyond what fits into 32 bits */
    const int64_t x[8] = {1, -2, 3, 4, 5, 6, 7, INT64_C(9000000000)}, y[8] = {10, 20, -30, 0, 1, 2, 3, INT64_C(9000000001)};
    const int64_t z[8] = {11, 18, -27, 4, 6, 8, 10, INT64_C(18000000001)};
    check_binary("add_i64", DESC(ZB_DTYPE_I64, 8), x, y, z);
}

static void f64_is_added(void)
{
    const double x[8] = {1, -2, 3, 4, 5, 6, 7, 0.5}, y[8] = {10, 20, -30, 0, 1, 2, 3, 0.25};
    const double z[8] = {11, 18, -27, 4, 6, 8, 10, 0.75};
    check_binary("add_f64", DESC(ZB_DTYPE_F64, 8), x, y, z);
}

/* The half-precision float of a whole number from 1 to 2047. */
static uint16_t half(unsigned n)
{
    unsigned exponent = 0;
    while (n >> (exponent + 1) != 0) {
        exponent++;
    }
    return (uint16_t)((exponent + 15) << 10 | (((n << (10 - exponent)) & 0x3ffu)));
}

static void f16_is_added(void)
{
    uint16_t x[8], y[8], z[8];
    for (unsigned i = 0; i < 8; i++) {
        x[i] = half(i + 1);
        y[i] = half(100 * (i + 1));
        z[i] = half(101 * (i + 1));
    }
    check_binary("add_f16", DESC(ZB_DTYPE_F16, 8), x, y, z);
}

static void bools_are_combined(void)
{
    const uint8_t x[8] = {0, 1, 0, 1, 1, 1, 0, 0}, y[8] = {0, 0, 1, 1, 1, 0, 1, 0}, z[8] = {0, 0, 0, 1, 1, 0, 0, 0};
    check_binary("logical_and", DESC(ZB_DTYPE_BOOL, 8), x, y, z);
}

static void quantized_i8_is_added(void)
{
    /* all scales are 0.5, the zero points 3, -5 and 1: z = x - 3 + y + 5 + 1 */
    int8_t x[1021], y[1021], z[1021];
    for (int i = 0; i < 1021; i++) {
        x[i] = (int8_t)(i % 256 - 128);
        y[i] = (int8_t)(i * 7 % 256 - 128);
        int sum = x[i] + y[i] + 3;
        z[i] = (int8_t)(sum < -128 ? -128 : sum > 127 ? 127 : sum);
    }
    check_binary("add_i8_1021", DESC(ZB_DTYPE_I8, 1021), x, y, z);
}

static void u8_pixels_become_floats(void)
{
    enum { PIXELS = 224 * 224 * 3 };
    uint8_t *x = malloc(PIXELS);
    float *y = malloc(PIXELS * sizeof *y);
    REQUIRE(x != NULL && y != NULL);
    for (size_t i = 0; i < PIXELS; i++) {
        x[i] = (uint8_t)(i * 31);
        y[i] = (float)x[i];
    }
    check_unary("image_u8", DESC(ZB_DTYPE_U8, 1, 224, 224, 3), x, F32(1, 224, 224, 3), y);
    free(x);
    free(y);
}

static void an_image_is_doubled(void)
{
    enum { PIXELS = 224 * 224 * 3 };
    float *x = malloc(PIXELS * sizeof *x), *y = malloc(PIXELS * sizeof *y);
    REQUIRE(x != NULL && y != NULL);
    for (size_t i = 0; i < PIXELS; i++) {
        x[i] = (float)i;
        y[i] = 2 * x[i];
    }
    check_unary("image", F32(1, 224, 224, 3), x, F32(1, 224, 224, 3), y);
    free(x);
    free(y);
}

static void a_scalar_has_rank_0(void)
{
    const float x = 41, y = 42;
    check_unary("scalar", zt_desc(ZB_DTYPE_F32, NULL, 0), &x, zt_desc(ZB_DTYPE_F32, NULL, 0), &y);
}

static void a_chain_of_operators(void)
{
    float x[1024], y[1024];
    for (int i = 0; i < 1024; i++) {
        x[i] = (float)i;
        y[i] = (float)i + 40;
    }
    check_unary("chain", F32(1024), x, F32(1024), y);
}

static void a_product_of_matrices(void)
{
    float x[64 * 64], y[64 * 64];
    for (int i = 0; i < 64 * 64; i++) {
        x[i] = (float)(i % 13 - 6);
    }
    for (int r = 0; r < 64; r++) {
        for (int c = 0; c < 64; c++) {
            int sum = 0;
            for (int k = 0; k < 64; k++) {
                sum += (int)x[r * 64 + k] * ((c * 7 + k * 3) % 11 - 5);
            }
            y[r * 64 + c] = (float)sum;
        }
    }
    check_unary("matmul64", F32(64, 64), x, F32(64, 64), y);
}

static void seven_inputs(void)
{
    zb_model *model = zt_open("sum7");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(8);
    zt_buffer x[7], y = zt_buffer_new(32);
    zb_loan loans[8];
    for (uint32_t i = 0; i < 7; i++) {
        x[i] = zt_buffer_new(32);
        /* a digit of its own for each slot, so that a mix-up shows */
        float digit = 1;
        for (uint32_t j = 0; j < i; j++) {
            digit *= 10;
        }
        zt_fill_floats(&x[i], digit, 0);
        zb_tensor *tensor = zt_wrap(&desc, &x[i]);
        REQUIRE_OK(zb_tensor_bind(tensor, context, ZB_INPUT(i)));
        zb_tensor_destroy(tensor);
        loans[i] = zt_lend_input(i, &x[i]);
    }
    zb_tensor *out = zt_wrap(&desc, &y);
    REQUIRE_OK(zb_tensor_bind(out, context, ZB_OUTPUT(0)));
    REQUIRE_OK(zb_infer(context, NULL));
    const float expected[8] = {1111111, 1111111, 1111111, 1111111, 1111111, 1111111, 1111111, 1111111};
    CHECK_FLOATS(zt_floats(&y), expected, 8, 0);

    /* lent in the opposite order of slots */
    memset(y.data, 0, y.size);
    for (uint32_t i = 0; i < 3; i++) {
        zb_loan other = loans[i];
        loans[i] = loans[6 - i];
        loans[6 - i] = other;
    }
    loans[7] = zt_lend_output(0, &y);
    REQUIRE_OK(zb_infer_with(context, loans, 8, NULL));
    CHECK_FLOATS(zt_floats(&y), expected, 8, 0);

    zb_tensor_destroy(out);
    zb_context_destroy(context);
    zb_model_destroy(model);
    for (uint32_t i = 0; i < 7; i++) {
        FREE_BUFFER(&x[i]);
    }
    FREE_BUFFER(&y);
}

static void two_outputs(void)
{
    zb_model *model = zt_open("two_out");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(32), a = zt_buffer_new(32), b = zt_buffer_new(32);
    zt_fill_floats(&x, 3, 1);
    zb_loan loans[3] = {zt_lend_input(0, &x), zt_lend_output(0, &a), zt_lend_output(1, &b)};
    REQUIRE_OK(zb_infer_with(context, loans, 3, NULL));
    const float plus[8] = {4, 5, 6, 7, 8, 9, 10, 11}, twice[8] = {6, 8, 10, 12, 14, 16, 18, 20};
    CHECK_FLOATS(zt_floats(&a), plus, 8, 0);
    CHECK_FLOATS(zt_floats(&b), twice, 8, 0);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&a);
    FREE_BUFFER(&b);
}

static void memory_of_zerobind_itself(void)
{
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(4), found;
    zb_tensor *x = NULL, *y = NULL, *z = NULL;
    void *data = NULL;
    size_t size = 0;
    REQUIRE_OK(zb_tensor_alloc_for(context, ZB_INPUT(0), &x));
    REQUIRE_OK(zb_tensor_alloc(&desc, 4096, &y));
    REQUIRE_OK(zb_tensor_alloc_for(context, ZB_OUTPUT(0), &z));
    REQUIRE_OK(zb_tensor_get_desc(x, &found));
    CHECK(zt_same_desc(&found, &desc));
    REQUIRE_OK(zb_tensor_get_data(y, &data, &size));
    CHECK_EQ(size, 16);
    CHECK_EQ((uintptr_t)data % 4096, 0);
    const float zeros[4] = {0, 0, 0, 0}, values[4] = {1, 2, 3, 4};
    CHECK_FLOATS((float *)data, zeros, 4, 0);
    memcpy(data, values, sizeof values);
    REQUIRE_OK(zb_tensor_bind(x, context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(y, context, ZB_INPUT(1)));
    REQUIRE_OK(zb_tensor_bind(z, context, ZB_OUTPUT(0)));
    REQUIRE_OK(zb_infer(context, NULL));
    REQUIRE_OK(zb_tensor_get_data(z, &data, NULL));
    CHECK_FLOATS((float *)data, values, 4, 0);
    zb_tensor_destroy(x);
    zb_tensor_destroy(y);
    zb_tensor_destroy(z);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void constant_memory_is_read(void)
{
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(4);
    zt_buffer x = zt_buffer_of_pages(16), z = zt_buffer_new(16);
    zb_tensor *in = NULL;
    zt_fill_floats(&x, 1, 1);
    /* any attempt to write it would be a crash */
    REQUIRE(mprotect(x.data, zt_page_size(), PROT_READ) == 0);
    REQUIRE_OK(zb_tensor_wrap_const(&desc, x.data, x.size, x.capacity, NULL, NULL, &in));
    zb_tensor *out = zt_wrap(&desc, &z);
    REQUIRE_OK(zb_tensor_bind(in, context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(in, context, ZB_INPUT(1)));
    REQUIRE_OK(zb_tensor_bind(out, context, ZB_OUTPUT(0)));
    REQUIRE_OK(zb_infer(context, NULL));
    const float twice[4] = {2, 4, 6, 8};
    CHECK_FLOATS(zt_floats(&z), twice, 4, 0);
    zb_tensor_destroy(in);
    zb_tensor_destroy(out);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&z);
}

/* --- what is told of slots --- */

typedef struct slot_fact {
    const char *model;
    zb_slot slot;
    const char *name;
    zb_tensor_desc desc;
} slot_fact;

static void check_fact(const slot_fact *fact)
{
    zb_model *model = zt_open(fact->model);
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    zb_slot found = 0;
    REQUIRE_OK(zb_model_get_slot_info(model, fact->slot, &info));
    if (!CHECK(zt_same_desc(&info.desc, &fact->desc)) || !CHECK(strcmp(info.name, fact->name) == 0)) {
        fprintf(stderr, "    of slot 0x%x of %s: name %s, dtype %s, rank %u\n", fact->slot, fact->model, info.name,
                zb_dtype_name(info.desc.dtype), info.desc.rank);
    }
    uint64_t size = zb_dtype_bits(fact->desc.dtype) / 8;
    for (uint32_t i = 0; i < fact->desc.rank; i++) {
        size = fact->desc.dims[i] < 0 ? 0 : size * (uint64_t)fact->desc.dims[i];
    }
    CHECK_EQ(info.size, size);
    if ((fact->slot & ZB_OUTPUT_BIT) != 0) {
        REQUIRE_OK(zb_model_find_output(model, fact->name, &found));
    } else {
        REQUIRE_OK(zb_model_find_input(model, fact->name, &found));
    }
    CHECK_EQ(found, fact->slot);
    zb_model_destroy(model);
}

static void slots_have_names_types_and_shapes(void)
{
    const slot_fact facts[] = {
        {"add4", ZB_INPUT(0), "x", F32(4)},
        {"add4", ZB_INPUT(1), "y", F32(4)},
        {"add4", ZB_OUTPUT(0), "z", F32(4)},
        {"add_i64", ZB_INPUT(1), "y", DESC(ZB_DTYPE_I64, 8)},
        {"add_i32", ZB_OUTPUT(0), "z", DESC(ZB_DTYPE_I32, 8)},
        {"add_f64", ZB_INPUT(0), "x", DESC(ZB_DTYPE_F64, 8)},
        {"add_f16", ZB_INPUT(0), "x", DESC(ZB_DTYPE_F16, 8)},
        {"logical_and", ZB_OUTPUT(0), "z", DESC(ZB_DTYPE_BOOL, 8)},
        {"image_u8", ZB_INPUT(0), "x", DESC(ZB_DTYPE_U8, 1, 224, 224, 3)},
        {"image_u8", ZB_OUTPUT(0), "y", F32(1, 224, 224, 3)},
        {"sum7", ZB_INPUT(6), "x6", F32(8)},
        {"two_out", ZB_OUTPUT(1), "b", F32(8)},
        {"scalar", ZB_INPUT(0), "x", zt_desc(ZB_DTYPE_F32, NULL, 0)},
        {"batch", ZB_INPUT(0), "x", F32(-1, 4)},
        {"conv_dyn", ZB_INPUT(0), "x", F32(1, -1, -1, 1)},
        {"nonzero", ZB_OUTPUT(0), "y", DESC(ZB_DTYPE_I64, -1, 1)},
        {"empty", ZB_INPUT(0), "x", F32(0, 4)},
        {"add_i8_1021", ZB_INPUT(1), "y", DESC(ZB_DTYPE_I8, 1021)},
        {"basic_pitch", ZB_INPUT(0), "serving_default_input_2:0", F32(-1, 43844, 1)},
        {"basic_pitch", ZB_OUTPUT(2), "StatefulPartitionedCall:0", F32(-1, 172, 264)},
    };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        check_fact(&facts[i]);
    }
}

static void slots_are_counted(void)
{
    zb_model *model = zt_open("sum7");
    uint32_t inputs = 0, outputs = 0;
    int32_t runtime = 0;
    REQUIRE_OK(zb_model_get_slot_counts(model, &inputs, &outputs));
    CHECK_EQ(inputs, 7);
    CHECK_EQ(outputs, 1);
    REQUIRE_OK(zb_model_get_slot_counts(model, NULL, NULL));
    REQUIRE_OK(zb_model_get_runtime(model, &runtime));
    CHECK_EQ(runtime, zt_engine());
    zb_model_destroy(model);
}

static void quantization_is_told(void)
{
    /* TFLite keeps it at the tensor; in ONNX it is read off the operators around */
    const int32_t zero_points[3] = {3, -5, 1};
    const zb_slot slots[3] = {ZB_INPUT(0), ZB_INPUT(1), ZB_OUTPUT(0)};
    zb_model *model = zt_open("add_i8_1021");
    for (size_t i = 0; i < 3; i++) {
        zb_slot_info info = ZB_SLOT_INFO_INIT;
        REQUIRE_OK(zb_model_get_slot_info(model, slots[i], &info));
        CHECK_EQ(info.quantization, ZB_QUANTIZATION_PER_TENSOR);
        REQUIRE(info.quantization_count == 1 && info.scales != NULL && info.zero_points != NULL);
        CHECK(info.scales[0] > 0.49999f && info.scales[0] < 0.50001f);
        CHECK_EQ(info.zero_points[0], zero_points[i]);
        CHECK_EQ(info.quantization_axis, 0);
    }
    zb_model_destroy(model);
}

static void dimensions_have_names(void)
{
    zb_model *model = zt_open("batch");
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    REQUIRE_OK(zb_model_get_slot_info(model, ZB_INPUT(0), &info));
    CHECK((info.flags & ZB_SLOT_DYNAMIC) != 0);
    if (zt_is_tflite()) {
        CHECK(info.dim_names == NULL);
    } else {
        REQUIRE(info.dim_names != NULL);
        CHECK(strcmp(info.dim_names[0], "batch") == 0);
        CHECK(strcmp(info.dim_names[1], "") == 0);
    }
    zb_model_destroy(model);
}

static void strings_are_told_and_not_bound(void)
{
    zb_model *model = zt_open("strings");
    zb_context *context = zt_context(model);
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    zb_tensor_desc strings = DESC(ZB_DTYPE_STRING, 3);
    zt_buffer x = zt_buffer_new(48);
    zb_tensor *tensor = NULL;
    REQUIRE_OK(zb_model_get_slot_info(model, ZB_INPUT(0), &info));
    CHECK(zt_same_desc(&info.desc, &strings));
    CHECK_EQ(info.size, 0);
    /* the engine would take any bytes for objects of its own */
    CHECK_STATUS(zb_tensor_wrap(&strings, x.data, x.size, 0, NULL, NULL, &tensor), ZB_ERROR_UNSUPPORTED);
    zb_loan loan = zt_lend_input(0, &x);
    CHECK_STATUS(zb_infer_with(context, &loan, 1, NULL), ZB_ERROR_UNSUPPORTED);
    loan.desc = &strings;
    CHECK_STATUS(zb_infer_with(context, &loan, 1, NULL), ZB_ERROR_UNSUPPORTED);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
}

static void a_context_tells_the_shapes_of_now(void)
{
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    const int64_t dims[2] = {5, 4};
    zb_tensor_desc wanted = F32(5, 4), desc;
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    size_t size = 0;
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), dims, 2));
    REQUIRE_OK(zb_context_prepare(context));
    for (int i = 0; i < 2; i++) {
        zb_slot slot = i == 0 ? ZB_INPUT(0) : ZB_OUTPUT(0);
        REQUIRE_OK(zb_context_get_slot_desc(context, slot, &desc, &size));
        CHECK(zt_same_desc(&desc, &wanted));
        CHECK_EQ(size, 80);
        REQUIRE_OK(zb_context_get_slot_info(context, slot, &info));
        CHECK(zt_same_desc(&info.desc, &wanted));
        CHECK_EQ(info.size, 80);
        CHECK(strcmp(info.name, i == 0 ? "x" : "y") == 0);
    }
    /* the model's own word does not change */
    REQUIRE_OK(zb_model_get_slot_info(model, ZB_INPUT(0), &info));
    CHECK_EQ(info.desc.dims[0], -1);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void requirements_can_be_met(void)
{
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zb_requirements needs = ZB_REQUIREMENTS_INIT;
    REQUIRE_OK(zb_context_get_requirements(context, ZB_INPUT(0), &needs));
    CHECK_EQ(needs.size, 16);
    CHECK_EQ(needs.alignment, zt_is_tflite() ? 64 : 4);
    CHECK_EQ(needs.slack, zt_is_tflite() ? 16 : 0);
    CHECK_EQ(needs.rebind, ZB_REBIND_FREE);
    CHECK_EQ(needs.memory_kinds, ZB_MEMORY_HOST | ZB_MEMORY_SHARED);
    REQUIRE_OK(zb_context_get_requirements(context, ZB_OUTPUT(0), &needs));
    CHECK_EQ(needs.size, 16);
    CHECK_EQ(needs.slack, 0);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void runs_are_counted_and_timed(void)
{
    zb_model *model = zt_open("chain");
    zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
    zb_context *timed = NULL, *plain = zt_context(model);
    zt_buffer x = zt_buffer_new(4096), y = zt_buffer_new(4096);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    zt_fill_floats(&x, 0, 1);
    options.flags = ZB_CONTEXT_PROFILE;
    REQUIRE_OK(zb_context_create(model, &options, &timed));
    for (int i = 0; i < 5; i++) {
        REQUIRE_OK(zb_infer_with(timed, loans, 2, NULL));
        REQUIRE_OK(zb_infer_with(plain, loans, 2, NULL));
    }
    /* a refused call is no run */
    CHECK_STATUS(zb_infer(timed, NULL), ZB_ERROR_UNBOUND);
    REQUIRE_OK(zb_context_get_stats(timed, &stats));
    CHECK_EQ(stats.runs, 5);
    CHECK_EQ(stats.bytes_copied, 0);
    CHECK_EQ(stats.allocations, 0);
    CHECK(stats.last_run_ns > 0);
    REQUIRE_OK(zb_context_get_stats(plain, &stats));
    CHECK_EQ(stats.runs, 5);
    CHECK_EQ(stats.last_run_ns, 0);
    zb_context_destroy(timed);
    zb_context_destroy(plain);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static const zt_test tests[] = {
    ON_BOTH(f32_is_added),
    ON_BOTH(i32_is_added),
    ON_BOTH(i64_is_added),
    ON_BOTH(f64_is_added),
    ON_BOTH(f16_is_added),
    ON_BOTH(bools_are_combined),
    ON_BOTH(quantized_i8_is_added),
    ON_BOTH(u8_pixels_become_floats),
    ON_BOTH(an_image_is_doubled),
    ON_BOTH(a_scalar_has_rank_0),
    ON_BOTH(a_chain_of_operators),
    ON_BOTH(a_product_of_matrices),
    ON_BOTH(seven_inputs),
    ON_BOTH(two_outputs),
    ON_BOTH(memory_of_zerobind_itself),
    ON_BOTH(constant_memory_is_read),
    ON_BOTH(slots_have_names_types_and_shapes),
    ON_BOTH(slots_are_counted),
    ON_BOTH(quantization_is_told),
    ON_BOTH(dimensions_have_names),
    ON_ONNXRUNTIME(strings_are_told_and_not_bound),
    ON_BOTH(a_context_tells_the_shapes_of_now),
    ON_BOTH(requirements_can_be_met),
    ON_BOTH(runs_are_counted_and_timed),
};

ZT_MAIN(tests)
