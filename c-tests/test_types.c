/*
 * Every element type of the ABI on every engine that has it: described, given by reference, and moved bit for bit. The
 * models type_... give back nine elements, an odd number, so that packed types show how bytes are counted.
 */
#include "harness.h"

#define COUNT 9
#define BOTH (ZT_TFLITE | ZT_ONNXRUNTIME)

/* --- the types --- */

typedef struct element_type {
    int32_t dtype;
    const char *name;
    uint32_t bits;
    /* engines that run it, and those that have a model of it and refuse it */
    unsigned runs;
    unsigned refused;
    /* the exponent's bits in one number of the type; complex ones have two numbers each; 0 for types of no floats */
    uint64_t exponent;
} element_type;

#define F32_EXPONENT 0x7f800000u
#define F64_EXPONENT 0x7ff0000000000000u

static const element_type types[] = {
    {ZB_DTYPE_F32, "f32", 32, BOTH, 0, F32_EXPONENT},
    {ZB_DTYPE_F64, "f64", 64, BOTH, 0, F64_EXPONENT},
    {ZB_DTYPE_F16, "f16", 16, BOTH, 0, 0x7c00u},
    {ZB_DTYPE_BF16, "bf16", 16, BOTH, 0, 0x7f80u},
    {ZB_DTYPE_I8, "i8", 8, BOTH, 0, 0},
    {ZB_DTYPE_U8, "u8", 8, BOTH, 0, 0},
    {ZB_DTYPE_I16, "i16", 16, BOTH, 0, 0},
    {ZB_DTYPE_U16, "u16", 16, BOTH, 0, 0},
    {ZB_DTYPE_I32, "i32", 32, BOTH, 0, 0},
    {ZB_DTYPE_U32, "u32", 32, BOTH, 0, 0},
    {ZB_DTYPE_I64, "i64", 64, BOTH, 0, 0},
    {ZB_DTYPE_U64, "u64", 64, BOTH, 0, 0},
    {ZB_DTYPE_BOOL, "bool", 8, BOTH, 0, 0},
    {ZB_DTYPE_I4, "i4", 4, BOTH, 0, 0},
    /* TFLite has neither these... */
    {ZB_DTYPE_U4, "u4", 4, ZT_ONNXRUNTIME, 0, 0},
    {ZB_DTYPE_F8E4M3FN, "f8e4m3fn", 8, ZT_ONNXRUNTIME, 0, 0x78u},
    {ZB_DTYPE_F8E5M2, "f8e5m2", 8, ZT_ONNXRUNTIME, 0, 0x7cu},
    /* ...nor ONNX Runtime kernels of these, though its format does */
    {ZB_DTYPE_C64, "c64", 64, ZT_TFLITE, ZT_ONNXRUNTIME, F32_EXPONENT},
    {ZB_DTYPE_C128, "c128", 128, ZT_TFLITE, ZT_ONNXRUNTIME, F64_EXPONENT},
};

#define TYPE_COUNT (sizeof types / sizeof *types)

static unsigned this_engine(void)
{
    return zt_is_tflite() ? ZT_TFLITE : ZT_ONNXRUNTIME;
}

static size_t bytes_of(const element_type *type)
{
    return (COUNT * type->bits + 7) / 8;
}

static zb_model *open_type(const element_type *type)
{
    char name[32];
    snprintf(name, sizeof name, "type_%s", type->name);
    return zt_open(name);
}

static void for_each_type(void (*body)(const element_type *))
{
    size_t ran = 0;
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        if ((types[i].runs & this_engine()) != 0) {
            body(&types[i]);
            ran++;
        }
    }
    CHECK_EQ(ran, zt_is_tflite() ? 16 : 17);
}

/* --- what is told --- */

static void bits_and_names(void)
{
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        zb_tensor_desc desc = DESC(types[i].dtype, COUNT);
        size_t size = 0;
        CHECK_EQ(zb_dtype_bits(types[i].dtype), types[i].bits);
        CHECK(strcmp(zb_dtype_name(types[i].dtype), types[i].name) == 0);
        CHECK_OK(zb_tensor_desc_size(&desc, &size));
        CHECK_EQ(size, bytes_of(&types[i]));
    }
    CHECK_EQ(zb_dtype_bits(ZB_DTYPE_STRING), 0);
    CHECK_EQ(zb_dtype_bits(ZB_DTYPE_INVALID), 0);
    CHECK_EQ(zb_dtype_bits(ZB_DTYPE_C128 + 1), 0);
}

static void check_info(const zb_slot_info *info, const element_type *type, const char *name)
{
    zb_tensor_desc expected = DESC(type->dtype, COUNT);
    CHECK(zt_same_desc(&info->desc, &expected));
    CHECK_EQ(info->size, bytes_of(type));
    CHECK_EQ(info->flags, 0);
    CHECK(strcmp(info->name, name) == 0);
    CHECK(info->dim_names == NULL);
}

static void check_told(const element_type *type)
{
    zb_model *model = open_type(type);
    zb_context *context = zt_context(model);
    for (uint32_t side = 0; side < 2; side++) {
        zb_slot slot = side == 0 ? ZB_INPUT(0) : ZB_OUTPUT(0);
        zb_slot_info info = ZB_SLOT_INFO_INIT;
        zb_requirements needs = ZB_REQUIREMENTS_INIT;
        zb_tensor_desc desc;
        size_t size = 0;
        REQUIRE_OK(zb_model_get_slot_info(model, slot, &info));
        check_info(&info, type, side == 0 ? "x" : "y");
        REQUIRE_OK(zb_context_get_requirements(context, slot, &needs));
        CHECK_EQ(needs.size, bytes_of(type));
        REQUIRE_OK(zb_context_get_slot_info(context, slot, &info));
        check_info(&info, type, side == 0 ? "x" : "y");
        REQUIRE_OK(zb_context_get_slot_desc(context, slot, &desc, &size));
        CHECK(zt_same_desc(&desc, &info.desc));
        CHECK_EQ(size, bytes_of(type));
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void slots_are_told_with_type_and_size(void)
{
    for_each_type(check_told);
}

/* --- what is moved --- */

static uint64_t next_random(void)
{
    static uint64_t state = 0x2545f4914f6cdd1du;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Numbers of which copies by value would make others: zeros with a sign, denormals, infinities, quiet and signalling NaNs. */
static uint64_t special(const element_type *type, size_t bits, size_t number)
{
    uint64_t sign = (uint64_t)1 << (bits - 1);
    uint64_t mantissa = ~(type->exponent | sign) & (sign - 1 + sign);
    switch (number % 10) {
    case 0:
        return sign;
    case 1:
        return 1;
    case 2:
        return sign | mantissa;
    case 3:
        return type->exponent;
    case 4:
        return type->exponent | sign;
    case 5:
        return type->exponent | 1;
    case 6:
        return type->exponent | mantissa;
    case 7:
        return type->exponent | sign | 1;
    case 8:
        return sign | 1;
    default:
        return type->exponent | (mantissa ^ (mantissa >> 1)) | 1;
    }
}

static void fill(const element_type *type, unsigned char *bytes, size_t round)
{
    size_t size = bytes_of(type);
    size_t bits = type->dtype == ZB_DTYPE_C64 || type->dtype == ZB_DTYPE_C128 ? type->bits / 2 : type->bits;
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)(next_random() >> 24);
        if (type->dtype == ZB_DTYPE_BOOL) {
            bytes[i] &= 1;
        }
    }
    if (type->exponent != 0 && round % 2 == 0) {
        for (size_t i = 0; i < size / (bits / 8); i++) {
            uint64_t number = special(type, bits, i + round / 2);
            memcpy(bytes + i * (bits / 8), &number, bits / 8);
        }
    }
    if (type->bits == 4) {
        /* the half byte behind the last element is nobody's */
        bytes[size - 1] &= 0x0f;
    }
}

static void check_moved(const element_type *type, const zt_buffer *from, const zt_buffer *to)
{
    size_t whole = type->bits == 4 ? bytes_of(type) - 1 : bytes_of(type);
    CHECK_BYTES(to->data, from->data, whole);
    if (type->bits == 4) {
        CHECK_EQ(to->data[whole] & 0x0f, from->data[whole]);
    }
    CHECK_GUARDS(from);
    CHECK_GUARDS(to);
}

static void check_by_reference(zb_context *context, zb_slot slot, const zt_buffer *buffer)
{
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    REQUIRE_OK(zb_context_get_binding_report(context, slot, &report));
    CHECK_EQ(report.path, ZB_PATH_DIRECT);
    CHECK_EQ(report.bytes_copied, 0);
    CHECK_ADDRESS(report.host_address, buffer->data);
    CHECK_ADDRESS(report.engine_address, buffer->data);
    CHECK(report.reason == NULL);
}

static zb_context *context_with_xnnpack(zb_model *model, const char *value)
{
    zb_option option = {"tflite.xnnpack", value};
    zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
    zb_context *context = NULL;
    options.options = &option;
    options.option_count = 1;
    REQUIRE_OK(zb_context_create(model, &options, &context));
    return context;
}

/* Bound memory is written anew for each run; lent memory is another each time. */
static void move_in_context(const element_type *type, zb_context *context)
{
    zb_tensor_desc desc = DESC(type->dtype, COUNT);
    zt_buffer x = zt_buffer_new(bytes_of(type)), y = zt_buffer_new(bytes_of(type));
    size_t rounds = (size_t)zt_rounds(20, 4);
    zt_bind(context, ZB_INPUT(0), desc, &x);
    zt_bind(context, ZB_OUTPUT(0), desc, &y);
    for (size_t round = 0; round < rounds; round++) {
        zt_buffer lent_x = zt_buffer_new(bytes_of(type)), lent_y = zt_buffer_new(bytes_of(type));
        zb_loan loans[2] = {zt_lend_input(0, &lent_x), zt_lend_output(0, &lent_y)};
        fill(type, x.data, round);
        REQUIRE_OK(zb_infer(context, NULL));
        check_moved(type, &x, &y);
        check_by_reference(context, ZB_INPUT(0), &x);
        check_by_reference(context, ZB_OUTPUT(0), &y);
        fill(type, lent_x.data, round + 1);
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        check_moved(type, &lent_x, &lent_y);
        check_by_reference(context, ZB_INPUT(0), &lent_x);
        check_by_reference(context, ZB_OUTPUT(0), &lent_y);
        FREE_BUFFER(&lent_x);
        FREE_BUFFER(&lent_y);
    }
    zb_context_destroy(context);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void check_moves(const element_type *type)
{
    zb_model *model = open_type(type);
    move_in_context(type, context_with_xnnpack(model, "true"));
    if (zt_is_tflite()) {
        move_in_context(type, context_with_xnnpack(model, "false"));
    }
    zb_model_destroy(model);
}

static void bits_are_moved_by_reference(void)
{
    for_each_type(check_moves);
}

static void check_view(const element_type *type)
{
    zb_model *model = open_type(type);
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(bytes_of(type));
    zb_loan loan = zt_lend_input(0, &x);
    const void *data = NULL;
    size_t size = 0;
    zb_tensor_desc desc, expected = DESC(type->dtype, COUNT);
    fill(type, x.data, 0);
    REQUIRE_OK(zb_infer_with(context, &loan, 1, NULL));
    REQUIRE_OK(zb_context_output_view(context, ZB_OUTPUT(0), &data, &size, &desc));
    CHECK_EQ(size, bytes_of(type));
    CHECK(zt_same_desc(&desc, &expected));
    CHECK_BYTES(data, x.data, type->bits == 4 ? size - 1 : size);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
}

static void outputs_of_every_type_can_be_viewed(void)
{
    for_each_type(check_view);
}

/* --- what is refused --- */

static void check_other_is_refused(zb_context *context, const element_type *type, const element_type *other)
{
    zb_tensor_desc wrong = DESC(other->dtype, COUNT), right = DESC(type->dtype, COUNT);
    zt_buffer x = zt_buffer_new(bytes_of(type)), y = zt_buffer_new(bytes_of(type));
    zb_tensor *tensor = zt_wrap(&wrong, &y);
    for (size_t side = 0; side < 2; side++) {
        zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
        loans[0].desc = &right;
        loans[1].desc = &right;
        loans[side].desc = &wrong;
        CHECK_STATUS(zb_infer_with(context, loans, 2, NULL), ZB_ERROR_DTYPE_MISMATCH);
        CHECK_ERROR_SAYS(type->name);
        CHECK_ERROR_SAYS(other->name);
        CHECK_ERROR_SAYS(side == 0 ? "'x'" : "'y'");
        CHECK_STATUS(zb_tensor_bind(tensor, context, side == 0 ? ZB_INPUT(0) : ZB_OUTPUT(0)), ZB_ERROR_DTYPE_MISMATCH);
    }
    CHECK(zt_is_untouched(&y));
    zb_tensor_destroy(tensor);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void check_others_are_refused(const element_type *type)
{
    zb_model *model = open_type(type);
    zb_context *contexts[2] = {zt_context(model), zt_copying_context(model)};
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        if (types[i].bits == type->bits && types[i].dtype != type->dtype) {
            check_other_is_refused(contexts[0], type, &types[i]);
            /* a copy converts nothing */
            check_other_is_refused(contexts[1], type, &types[i]);
        }
    }
    zb_context_destroy(contexts[0]);
    zb_context_destroy(contexts[1]);
    zb_model_destroy(model);
}

static void other_types_of_equal_width_are_refused(void)
{
    for_each_type(check_others_are_refused);
}

/* One byte less than the packed elements need, and one byte for each. */
static void check_packed_sizes(const element_type *type)
{
    if (type->bits != 4) {
        return;
    }
    zb_model *model = open_type(type);
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(COUNT), y = zt_buffer_new(COUNT);
    zb_tensor_desc desc = DESC(type->dtype, COUNT);
    zb_tensor *tensor = NULL;
    static const size_t sizes[] = {4, 6, COUNT};
    for (size_t i = 0; i < 3; i++) {
        zb_loan loans[2] = {zb_loan_input(ZB_INPUT(0), x.data, sizes[i], 0, NULL), zt_lend_output(0, &y)};
        CHECK_STATUS(zb_infer_with(context, loans, 2, NULL), ZB_ERROR_SHAPE_MISMATCH);
        CHECK_ERROR_SAYS("5 bytes");
        CHECK_STATUS(zb_tensor_wrap(&desc, x.data, sizes[i], 0, NULL, NULL, &tensor), ZB_ERROR_SHAPE_MISMATCH);
    }
    zb_loan loans[2] = {zb_loan_input(ZB_INPUT(0), x.data, 5, 0, NULL), zb_loan_output(ZB_OUTPUT(0), y.data, 4, NULL)};
    CHECK_STATUS(zb_infer_with(context, loans, 2, NULL), ZB_ERROR_BUFFER_TOO_SMALL);
    CHECK(zt_is_untouched(&y));
    loans[1].size = 5;
    memset(x.data, 0x21, 5);
    CHECK_OK(zb_infer_with(context, loans, 2, NULL));
    /* nothing behind the five bytes */
    for (size_t i = 5; i < COUNT; i++) {
        CHECK_EQ(y.data[i], 0xCD);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void packed_elements_take_half_a_byte(void)
{
    for_each_type(check_packed_sizes);
}

static void types_without_kernels_are_refused_at_open(void)
{
    /* as ONNX names them */
    static const char *const names[] = {"complex64", "complex128"};
    size_t refused = 0;
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        if ((types[i].refused & this_engine()) != 0) {
            char name[32];
            zb_model *model = NULL;
            snprintf(name, sizeof name, "type_%s", types[i].name);
            char *path = zt_model_path(name);
            CHECK_STATUS(zb_model_open(path, NULL, &model), ZB_ERROR_UNSUPPORTED);
            CHECK_ERROR_SAYS(names[types[i].dtype == ZB_DTYPE_C128]);
            CHECK(model == NULL);
            free(path);
            refused++;
        }
    }
    CHECK_EQ(refused, 2);
}

/* --- strings --- */

static void check_string_slot(zb_model *model, zb_context *context, zb_slot slot, const char *name)
{
    zb_tensor_desc expected = DESC(ZB_DTYPE_STRING, 3), found;
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    size_t size = 1;
    REQUIRE_OK(zb_model_get_slot_info(model, slot, &info));
    CHECK(zt_same_desc(&info.desc, &expected));
    CHECK_EQ(info.size, 0);
    CHECK(strcmp(info.name, name) == 0);
    REQUIRE_OK(zb_context_get_slot_info(context, slot, &info));
    CHECK(zt_same_desc(&info.desc, &expected));
    CHECK_EQ(info.size, 0);
    REQUIRE_OK(zb_context_get_slot_desc(context, slot, &found, &size));
    CHECK(zt_same_desc(&found, &expected));
    CHECK_EQ(size, 0);
}

static void check_says_strings(zb_slot slot)
{
    CHECK_ERROR_SAYS("strings");
    CHECK_ERROR_SAYS((slot & ZB_OUTPUT_BIT) != 0 ? "output 0 'y'" : "input 0 'x'");
}

/* Raw bytes are no strings, whatever they are called. `others` is what else the model needs, if that can be given. */
static void check_bytes_are_refused(zb_context *context, zb_slot slot, const zb_loan *others, size_t count)
{
    zb_tensor_desc strings = DESC(ZB_DTYPE_STRING, 3), bytes = DESC(ZB_DTYPE_U8, 3);
    const zb_tensor_desc *descs[3] = {NULL, &strings, &bytes};
    zt_buffer buffer = zt_buffer_new(64);
    zb_tensor *tensor = NULL;
    static const size_t sizes[] = {0, 3, 24, 64};
    for (size_t i = 0; i < 12; i++) {
        zb_loan loans[2];
        size_t size = sizes[i % 4];
        loans[0] = (slot & ZB_OUTPUT_BIT) != 0 ? zb_loan_output(slot, buffer.data, size, descs[i / 4])
                                               : zb_loan_input(slot, buffer.data, size, buffer.capacity, descs[i / 4]);
        if (count > 0) {
            loans[1] = *others;
        }
        CHECK_STATUS(zb_infer_with(context, loans, 1 + count, NULL), ZB_ERROR_UNSUPPORTED);
        check_says_strings(slot);
        CHECK_STATUS(zb_tensor_wrap(&strings, buffer.data, size, 0, NULL, NULL, &tensor), ZB_ERROR_UNSUPPORTED);
        CHECK_ERROR_SAYS("string");
    }
    REQUIRE_OK(zb_tensor_wrap(&bytes, buffer.data, 3, 64, NULL, NULL, &tensor));
    CHECK_STATUS(zb_tensor_bind(tensor, context, slot), ZB_ERROR_UNSUPPORTED);
    check_says_strings(slot);
    zb_tensor_destroy(tensor);
    tensor = NULL;
    CHECK_STATUS(zb_tensor_alloc_for(context, slot, &tensor), ZB_ERROR_UNSUPPORTED);
    check_says_strings(slot);
    CHECK_STATUS(zb_tensor_alloc(&strings, 0, &tensor), ZB_ERROR_UNSUPPORTED);
    CHECK(tensor == NULL);
    zb_requirements needs = ZB_REQUIREMENTS_INIT;
    CHECK_OK(zb_context_get_requirements(context, slot, &needs));
    CHECK_EQ(needs.memory_kinds, 0);
    CHECK_EQ(needs.size, 0);
    CHECK(zt_is_untouched(&buffer));
    FREE_BUFFER(&buffer);
}

static void string_inputs_cannot_be_given(void)
{
    static const char *const names[] = {"strings", "string_in"};
    for (size_t i = 0; i < 2; i++) {
        for (int copies = 0; copies < 2; copies++) {
            zb_model *model = zt_open(names[i]);
            zb_context *context = copies ? zt_copying_context(model) : zt_context(model);
            check_string_slot(model, context, ZB_INPUT(0), "x");
            check_bytes_are_refused(context, ZB_INPUT(0), NULL, 0);
            /* so there is no way to run it */
            CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_UNSUPPORTED);
            check_says_strings(ZB_INPUT(0));
            zb_context_destroy(context);
            zb_model_destroy(model);
        }
    }
}

/* The output next to a string input takes what it would take otherwise. */
static void slots_next_to_strings_can_be_bound(void)
{
    zb_model *model = zt_open("string_in");
    zb_context *context = zt_context(model);
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    zb_tensor_desc desc = DESC(ZB_DTYPE_BOOL, 3);
    zt_buffer y = zt_buffer_new(3);
    REQUIRE_OK(zb_model_get_slot_info(model, ZB_OUTPUT(0), &info));
    CHECK(zt_same_desc(&info.desc, &desc));
    CHECK_EQ(info.size, 3);
    zt_bind(context, ZB_OUTPUT(0), desc, &y);
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_UNSUPPORTED);
    check_says_strings(ZB_INPUT(0));
    CHECK(zt_is_untouched(&y));
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&y);
}

static void string_outputs_can_neither_be_given_nor_viewed(void)
{
    for (int copies = 0; copies < 2; copies++) {
        zb_model *model = zt_open("string_out");
        zb_context *context = copies ? zt_copying_context(model) : zt_context(model);
        zt_buffer x = zt_buffer_new(3 * sizeof(int64_t));
        static const int64_t indices[3] = {2, 0, 1};
        zb_loan loan = zt_lend_input(0, &x);
        const void *data = NULL;
        zb_tensor_desc desc = DESC(ZB_DTYPE_I64, 3);
        memcpy(x.data, indices, sizeof indices);
        check_string_slot(model, context, ZB_OUTPUT(0), "y");
        check_bytes_are_refused(context, ZB_OUTPUT(0), &loan, 1);
        /* the engine runs it, with the input where it is */
        for (int bound = 0; bound < 2; bound++) {
            if (bound) {
                zt_bind(context, ZB_INPUT(0), desc, &x);
            }
            CHECK_OK(zb_infer_with(context, &loan, bound ? 0 : 1, NULL));
            check_by_reference(context, ZB_INPUT(0), &x);
            CHECK_STATUS(zb_context_output_view(context, ZB_OUTPUT(0), &data, NULL, NULL), ZB_ERROR_UNSUPPORTED);
            CHECK_ERROR_SAYS("string");
        }
        zb_context_destroy(context);
        zb_model_destroy(model);
        FREE_BUFFER(&x);
    }
}

static const zt_test tests[] = {
    ON_BOTH(bits_and_names),
    ON_BOTH(slots_are_told_with_type_and_size),
    ON_BOTH(bits_are_moved_by_reference),
    ON_BOTH(outputs_of_every_type_can_be_viewed),
    ON_BOTH(other_types_of_equal_width_are_refused),
    ON_BOTH(packed_elements_take_half_a_byte),
    ON_ONNXRUNTIME(types_without_kernels_are_refused_at_open),
    ON_BOTH(string_inputs_cannot_be_given),
    ON_BOTH(slots_next_to_strings_can_be_bound),
    ON_BOTH(string_outputs_can_neither_be_given_nor_viewed),
};

ZT_MAIN(tests)
