/* Every function with every kind of wrong argument: the status, and nothing written through any pointer. */
#include "harness.h"

#define FRESH 0x5A

/* NULL that a compiler does not see, since passing it openly is a warning where the header says so. */
static void *nothing(void)
{
    return NULL;
}

static zb_model *no_model(void)
{
    return nothing();
}

static zb_context *no_context(void)
{
    return nothing();
}

static zb_tensor *no_tensor(void)
{
    return nothing();
}

/* What a call must not touch: every byte has a value that no result has. */
static void make_fresh(void *value, size_t size)
{
    memset(value, FRESH, size);
}

static int is_fresh(const void *value, size_t size)
{
    const unsigned char *bytes = value;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != FRESH) {
            return 0;
        }
    }
    return 1;
}

#define IS_FRESH(value) is_fresh(&(value), sizeof(value))

/* All but the size, which the caller set. */
#define IS_FRESH_STRUCT(value) \
    is_fresh((const char *)&(value) + sizeof(uint32_t), sizeof(value) - sizeof(uint32_t))

/* A model with a context and a tensor that fits ZB_INPUT(0). */
typedef struct objects {
    zb_model *model;
    zb_context *context;
    zb_tensor *tensor;
    zt_buffer memory;
} objects;

static objects make_objects(void)
{
    objects made;
    zb_tensor_desc desc = F32(4);
    made.model = zt_open("add4");
    made.context = zt_context(made.model);
    made.memory = zt_buffer_new(16);
    made.tensor = zt_wrap(&desc, &made.memory);
    return made;
}

static void free_objects(objects *made)
{
    zb_tensor_destroy(made->tensor);
    zb_context_destroy(made->context);
    zb_model_destroy(made->model);
    CHECK(zt_is_untouched(&made->memory));
    FREE_BUFFER(&made->memory);
}

/* --- NULL --- */

static void null_handles(void)
{
    zb_slot slot = 77;
    int32_t runtime = 77;
    uint32_t count = 77;
    size_t size = 77;
    void *data = &slot;
    const void *view = &slot;
    zb_tensor *tensor = NULL;
    zb_context *context = NULL;
    zb_tensor_desc desc;
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    zb_requirements requirements = ZB_REQUIREMENTS_INIT;
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    const int64_t dims[1] = {4};
    objects made = make_objects();
    CHECK_STATUS(zb_model_get_runtime(no_model(), &runtime), ZB_ERROR_NULL_ARGUMENT);
    CHECK_ERROR_SAYS("model");
    CHECK_STATUS(zb_model_get_slot_counts(no_model(), &count, &count), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_model_get_slot_info(no_model(), ZB_INPUT(0), &info), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_model_find_input(no_model(), "x", &slot), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_model_find_output(no_model(), "z", &slot), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_context_create(no_model(), NULL, &context), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_context_resize_input(no_context(), ZB_INPUT(0), dims, 1), ZB_ERROR_NULL_ARGUMENT);
    CHECK_ERROR_SAYS("context");
    CHECK_STATUS(zb_context_prepare(no_context()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_context_get_slot_info(no_context(), ZB_INPUT(0), &info), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_context_get_slot_desc(no_context(), ZB_INPUT(0), &desc, &size), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_context_get_requirements(no_context(), ZB_INPUT(0), &requirements), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_context_unbind(no_context(), ZB_INPUT(0)), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_context_swap(no_context(), ZB_INPUT(0), ZB_OUTPUT(0)), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_context_reset_state(no_context()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_context_get_binding_report(no_context(), ZB_INPUT(0), &report), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_context_get_stats(no_context(), &stats), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_context_output_view(no_context(), ZB_OUTPUT(0), &view, &size, &desc), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_alloc_for(no_context(), ZB_INPUT(0), &tensor), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_get_data(no_tensor(), &data, &size), ZB_ERROR_NULL_ARGUMENT);
    CHECK_ERROR_SAYS("tensor");
    CHECK_STATUS(zb_tensor_get_desc(no_tensor(), &desc), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_bind(no_tensor(), made.context, ZB_INPUT(0)), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_bind(made.tensor, no_context(), ZB_INPUT(0)), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_infer(no_context(), NULL), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_infer_with(no_context(), NULL, 0, NULL), ZB_ERROR_NULL_ARGUMENT);
    CHECK(slot == 77 && runtime == 77 && count == 77 && size == 77 && data == &slot && view == &slot);
    CHECK(tensor == NULL && context == NULL);
    free_objects(&made);
}

static void destroying_null_is_fine(void)
{
    CHECK_OK(zb_model_destroy(NULL));
    CHECK_OK(zb_context_destroy(NULL));
    CHECK_OK(zb_tensor_destroy(NULL));
}

static void null_places(void)
{
    zb_slot slot = 77;
    size_t size = 77;
    zb_tensor_desc desc = F32(4);
    float memory[4] = {0, 0, 0, 0};
    const char *name = nothing();
    objects made = make_objects();
    CHECK_STATUS(zb_tensor_desc_size(nothing(), &size), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_desc_size(&desc, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_runtime_get_info(zt_engine(), nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_model_options_init(nothing(), sizeof(zb_model_options)), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_context_options_init(nothing(), sizeof(zb_context_options)), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_model_get_runtime(made.model, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_model_get_slot_info(made.model, ZB_INPUT(0), nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_model_find_input(made.model, name, &slot), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_model_find_input(made.model, "x", nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_model_find_output(made.model, name, &slot), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_model_find_output(made.model, "z", nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_context_create(made.model, NULL, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_context_resize_input(made.context, ZB_INPUT(0), NULL, 1), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_context_get_slot_info(made.context, ZB_INPUT(0), nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_context_get_slot_desc(made.context, ZB_INPUT(0), nothing(), &size), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_context_get_requirements(made.context, ZB_INPUT(0), nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_context_get_binding_report(made.context, ZB_INPUT(0), nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_context_get_stats(made.context, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_context_output_view(made.context, ZB_OUTPUT(0), nothing(), &size, &desc), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_wrap(nothing(), memory, 16, 0, NULL, NULL, &made.tensor), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_wrap(&desc, NULL, 16, 0, NULL, NULL, &made.tensor), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_wrap(&desc, memory, 16, 0, NULL, NULL, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_wrap_const(nothing(), memory, 16, 0, NULL, NULL, &made.tensor), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_wrap_const(&desc, NULL, 16, 0, NULL, NULL, &made.tensor), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_wrap_const(&desc, memory, 16, 0, NULL, NULL, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_alloc(nothing(), 0, &made.tensor), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_alloc(&desc, 0, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_alloc_for(made.context, ZB_INPUT(0), nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_get_desc(made.tensor, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_infer_with(made.context, NULL, 1, NULL), ZB_ERROR_NULL_ARGUMENT);
    CHECK(slot == 77 && size == 77);
    free_objects(&made);
}

static void null_for_opening(void)
{
    zb_model *model = NULL;
    char *path = zt_model_path("add4");
    size_t size = 0;
    void *bytes = zt_read(path, &size);
    CHECK_STATUS(zb_model_open(nothing(), NULL, &model), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_model_open(path, NULL, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_model_open_bytes(nothing(), size, NULL, NULL, NULL, &model), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_model_open_bytes(nothing(), 0, NULL, NULL, NULL, &model), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_model_open_bytes(bytes, size, NULL, NULL, NULL, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_model_open_bytes_copy(nothing(), size, NULL, &model), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_model_open_bytes_copy(bytes, size, NULL, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_model_open_bytes_copy(bytes, 0, NULL, &model), ZB_ERROR_MODEL_INVALID);
    CHECK_STATUS(zb_model_open_bytes(bytes, 0, NULL, NULL, NULL, &model), ZB_ERROR_MODEL_INVALID);
    CHECK(model == NULL);
    free(bytes);
    free(path);
}

static void optional_places_may_be_null(void)
{
    uint32_t inputs = 0, outputs = 0;
    zb_tensor_desc desc;
    void *data = NULL;
    size_t size = 0;
    objects made = make_objects();
    CHECK_OK(zb_model_get_slot_counts(made.model, NULL, NULL));
    CHECK_OK(zb_model_get_slot_counts(made.model, &inputs, NULL));
    CHECK_OK(zb_model_get_slot_counts(made.model, NULL, &outputs));
    CHECK(inputs == 2 && outputs == 1);
    CHECK_OK(zb_context_get_slot_desc(made.context, ZB_INPUT(0), &desc, NULL));
    CHECK_OK(zb_tensor_get_data(made.tensor, NULL, NULL));
    CHECK_OK(zb_tensor_get_data(made.tensor, &data, NULL));
    CHECK_OK(zb_tensor_get_data(made.tensor, NULL, &size));
    CHECK(data == made.memory.data && size == 16);
    free_objects(&made);
}

/* --- slots --- */

static const zb_slot bad_slots[] = {ZB_INPUT(2), ZB_INPUT(0x7FFFFFFF), ZB_OUTPUT(1), ZB_OUTPUT(0x7FFFFFFF)};
#define BAD_SLOTS (sizeof bad_slots / sizeof *bad_slots)

static void check_bad_slot(objects *made, zb_slot slot)
{
    const int64_t dims[1] = {4};
    zb_tensor_desc desc;
    zb_slot_info info;
    zb_requirements requirements;
    zb_binding_report report;
    zb_tensor *tensor = NULL;
    const void *view = made;
    size_t size = 77;
    zb_loan loan = zb_loan_input(slot, made->memory.data, 16, 0, NULL);
    make_fresh(&desc, sizeof desc);
    make_fresh(&info, sizeof info);
    make_fresh(&requirements, sizeof requirements);
    make_fresh(&report, sizeof report);
    info.struct_size = sizeof info;
    requirements.struct_size = sizeof requirements;
    report.struct_size = sizeof report;
    CHECK_STATUS(zb_model_get_slot_info(made->model, slot, &info), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_context_get_slot_info(made->context, slot, &info), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_context_get_slot_desc(made->context, slot, &desc, &size), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_context_get_requirements(made->context, slot, &requirements), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_context_get_binding_report(made->context, slot, &report), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_context_output_view(made->context, slot, &view, &size, &desc), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_context_resize_input(made->context, slot, dims, 1), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_context_unbind(made->context, slot), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_context_swap(made->context, slot, ZB_INPUT(0)), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_context_swap(made->context, ZB_OUTPUT(0), slot), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_context_swap(made->context, slot, slot), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_tensor_alloc_for(made->context, slot, &tensor), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_tensor_bind(made->tensor, made->context, slot), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_infer_with(made->context, &loan, 1, NULL), ZB_ERROR_INVALID_ARGUMENT);
    CHECK(IS_FRESH(desc) && IS_FRESH_STRUCT(info) && IS_FRESH_STRUCT(requirements) && IS_FRESH_STRUCT(report));
    CHECK(tensor == NULL && view == made && size == 77);
}

static void slots_out_of_range(void)
{
    objects made = make_objects();
    for (size_t i = 0; i < BAD_SLOTS; i++) {
        check_bad_slot(&made, bad_slots[i]);
    }
    free_objects(&made);
}

static void slots_of_the_wrong_side(void)
{
    const int64_t dims[1] = {4};
    const void *view = NULL;
    objects made = make_objects();
    CHECK_STATUS(zb_context_resize_input(made.context, ZB_OUTPUT(0), dims, 1), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_context_output_view(made.context, ZB_INPUT(0), &view, NULL, NULL), ZB_ERROR_INVALID_ARGUMENT);
    CHECK(view == NULL);
    free_objects(&made);
}

static void a_slot_named_twice(void)
{
    objects made = make_objects();
    zb_loan loans[2];
    loans[0] = zt_lend_input(0, &made.memory);
    loans[1] = loans[0];
    CHECK_STATUS(zb_infer_with(made.context, loans, 2, NULL), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_ERROR_SAYS("'x'");
    loans[0] = zt_lend_output(0, &made.memory);
    loans[1] = loans[0];
    CHECK_STATUS(zb_infer_with(made.context, loans, 2, NULL), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_ERROR_SAYS("'z'");
    free_objects(&made);
}

/* --- versioned structs: what a program of another version passes --- */

/* Memory for a struct that is longer than it is in this version. */
typedef struct longer {
    uint32_t struct_size;
    unsigned char rest[508];
} longer;

/* One of the functions that read an options struct, with all else right. */
typedef zb_status (*read_options)(const objects *made, const longer *options);

static zb_status open_with(const objects *made, const longer *options)
{
    zb_model *model = NULL;
    char *path = zt_model_path("add4");
    zb_status status = zb_model_open(path, (const void *)options, &model);
    (void)made;
    CHECK((status == ZB_OK) == (model != NULL));
    zb_model_destroy(model);
    free(path);
    return status;
}

static zb_status create_with(const objects *made, const longer *options)
{
    zb_context *context = NULL;
    zb_status status = zb_context_create(made->model, (const void *)options, &context);
    CHECK((status == ZB_OK) == (context != NULL));
    zb_context_destroy(context);
    return status;
}

static zb_status infer_with_options(const objects *made, const longer *options)
{
    return zb_infer(made->context, (const void *)options);
}

static zb_status infer_lent_with_options(const objects *made, const longer *options)
{
    return zb_infer_with(made->context, NULL, 0, (const void *)options);
}

/* `good` is the status of a call whose options are fine. */
static void check_input_struct(const objects *made, read_options call, uint32_t known, zb_status good)
{
    longer options;
    memset(&options, 0, sizeof options);
    for (uint32_t size = 0; size < known; size++) {
        options.struct_size = size;
        CHECK_STATUS(call(made, &options), ZB_ERROR_INVALID_ARGUMENT);
    }
    CHECK_ERROR_SAYS("struct_size");
    options.struct_size = known;
    CHECK_STATUS(call(made, &options), good);
    /* of a newer program that uses nothing new */
    options.struct_size = sizeof options;
    CHECK_STATUS(call(made, &options), good);
    /* only as much as the size says is looked at */
    options.rest[sizeof options.rest - 1] = 1;
    options.struct_size = sizeof options - 1;
    CHECK_STATUS(call(made, &options), good);
    options.struct_size = sizeof options;
    CHECK_STATUS(call(made, &options), ZB_ERROR_UNSUPPORTED);
    options.rest[sizeof options.rest - 1] = 0;
    options.rest[known - sizeof(uint32_t)] = 1;
    CHECK_STATUS(call(made, &options), ZB_ERROR_UNSUPPORTED);
}

static void input_structs_of_other_versions(void)
{
    objects made = make_objects();
    check_input_struct(&made, open_with, sizeof(zb_model_options), ZB_OK);
    check_input_struct(&made, create_with, sizeof(zb_context_options), ZB_OK);
    check_input_struct(&made, infer_with_options, sizeof(zb_infer_options), ZB_ERROR_UNBOUND);
    check_input_struct(&made, infer_lent_with_options, sizeof(zb_infer_options), ZB_ERROR_UNBOUND);
    free_objects(&made);
}

/* One of the functions that fill a struct. */
typedef zb_status (*fill_struct)(const objects *made, longer *result);

static zb_status fill_runtime_info(const objects *made, longer *result)
{
    (void)made;
    return zb_runtime_get_info(zt_engine(), (void *)result);
}

static zb_status fill_model_slot_info(const objects *made, longer *result)
{
    return zb_model_get_slot_info(made->model, ZB_INPUT(0), (void *)result);
}

static zb_status fill_slot_info(const objects *made, longer *result)
{
    return zb_context_get_slot_info(made->context, ZB_INPUT(0), (void *)result);
}

static zb_status fill_requirements(const objects *made, longer *result)
{
    return zb_context_get_requirements(made->context, ZB_INPUT(0), (void *)result);
}

static zb_status fill_report(const objects *made, longer *result)
{
    return zb_context_get_binding_report(made->context, ZB_INPUT(0), (void *)result);
}

static zb_status fill_stats(const objects *made, longer *result)
{
    return zb_context_get_stats(made->context, (void *)result);
}

static void check_output_struct(const objects *made, fill_struct call, uint32_t known)
{
    longer result, exact;
    make_fresh(&result, sizeof result);
    for (uint32_t size = 0; size < known; size++) {
        result.struct_size = size;
        CHECK_STATUS(call(made, &result), ZB_ERROR_INVALID_ARGUMENT);
        CHECK(result.struct_size == size && is_fresh(result.rest, sizeof result.rest));
    }
    make_fresh(&exact, sizeof exact);
    exact.struct_size = known;
    CHECK_OK(call(made, &exact));
    CHECK_EQ(exact.struct_size, known);
    size_t filled = known - sizeof(uint32_t);
    CHECK(is_fresh(exact.rest + filled, sizeof exact.rest - filled));
    /* of a newer program: what this version does not know is zero, and only that much is written */
    make_fresh(&result, sizeof result);
    result.struct_size = sizeof result - 8;
    CHECK_OK(call(made, &result));
    CHECK_EQ(result.struct_size, sizeof result - 8);
    CHECK_BYTES(result.rest, exact.rest, filled);
    for (size_t i = filled; i < sizeof result.rest - 8; i++) {
        REQUIRE(result.rest[i] == 0);
    }
    CHECK(is_fresh(result.rest + sizeof result.rest - 8, 8));
}

static void output_structs_of_other_versions(void)
{
    objects made = make_objects();
    check_output_struct(&made, fill_runtime_info, sizeof(zb_runtime_info));
    check_output_struct(&made, fill_model_slot_info, sizeof(zb_slot_info));
    check_output_struct(&made, fill_slot_info, sizeof(zb_slot_info));
    check_output_struct(&made, fill_requirements, sizeof(zb_requirements));
    check_output_struct(&made, fill_report, sizeof(zb_binding_report));
    check_output_struct(&made, fill_stats, sizeof(zb_context_stats));
    free_objects(&made);
}

static void init_functions(void)
{
    longer options;
    make_fresh(&options, sizeof options);
    CHECK_STATUS(zb_model_options_init((void *)&options, sizeof(zb_model_options) - 1), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_context_options_init((void *)&options, 0), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_model_options_init((void *)&options, (size_t)UINT32_MAX + 1), ZB_ERROR_INVALID_ARGUMENT);
    CHECK(IS_FRESH(options));
    CHECK_OK(zb_model_options_init((void *)&options, sizeof options - 8));
    CHECK_EQ(options.struct_size, sizeof options - 8);
    CHECK(options.rest[0] == 0 && is_fresh(options.rest + sizeof options.rest - 8, 8));
}

/* --- options --- */

static zb_status create(const objects *made, const zb_context_options *options)
{
    zb_context *context = NULL;
    zb_status status = zb_context_create(made->model, options, &context);
    CHECK((status == ZB_OK) == (context != NULL));
    zb_context_destroy(context);
    return status;
}

static void numbers_in_context_options(void)
{
    static const int32_t bad_threads[] = {-1, 1025, INT32_MAX, INT32_MIN};
    static const int32_t bad_policies[] = {-1, 2, INT32_MAX};
    static const uint32_t bad_flags[] = {2, 3, 0x80000000u, UINT32_MAX};
    objects made = make_objects();
    for (size_t i = 0; i < 4; i++) {
        zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
        options.threads = bad_threads[i];
        CHECK_STATUS(create(&made, &options), ZB_ERROR_INVALID_ARGUMENT);
        CHECK_ERROR_SAYS("threads");
    }
    for (size_t i = 0; i < 3; i++) {
        zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
        options.copy_policy = bad_policies[i];
        CHECK_STATUS(create(&made, &options), ZB_ERROR_INVALID_ARGUMENT);
        CHECK_ERROR_SAYS("copy_policy");
    }
    for (size_t i = 0; i < 4; i++) {
        zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
        options.flags = bad_flags[i];
        CHECK_STATUS(create(&made, &options), ZB_ERROR_INVALID_ARGUMENT);
        CHECK_ERROR_SAYS("flags");
    }
    free_objects(&made);
}

static void key_value_options(void)
{
    zb_option option = {"tflite.xnnpack", "true"};
    zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
    objects made = make_objects();
    options.option_count = 1;
    CHECK_STATUS(create(&made, &options), ZB_ERROR_NULL_ARGUMENT);
    options.options = &option;
    /* of either engine: known to one of them is enough */
    CHECK_OK(create(&made, &options));
    option.key = nothing();
    CHECK_STATUS(create(&made, &options), ZB_ERROR_NULL_ARGUMENT);
    option.key = "optimization";
    option.value = nothing();
    CHECK_STATUS(create(&made, &options), ZB_ERROR_NULL_ARGUMENT);
    option.value = "\xFF";
    CHECK_STATUS(create(&made, &options), ZB_ERROR_INVALID_ARGUMENT);
    option.value = "sideways";
    CHECK_STATUS(create(&made, &options), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_ERROR_SAYS("sideways");
    option.key = "no.such.key";
    CHECK_STATUS(create(&made, &options), ZB_ERROR_NOT_FOUND);
    CHECK_ERROR_SAYS("no.such.key");
    option.key = "\xC3";
    CHECK_STATUS(create(&made, &options), ZB_ERROR_INVALID_ARGUMENT);
    options.option_count = SIZE_MAX;
    CHECK_STATUS(create(&made, &options), ZB_ERROR_INVALID_ARGUMENT);
    free_objects(&made);
}

static zb_status open_options(const zb_model_options *options)
{
    zb_model *model = NULL;
    char *path = zt_model_path("add4");
    zb_status status = zb_model_open(path, options, &model);
    CHECK((status == ZB_OK) == (model != NULL));
    zb_model_destroy(model);
    free(path);
    return status;
}

static void numbers_of_runtimes(void)
{
    /* 3 is kept for later; 1000 is an engine of tests alone */
    static const int32_t bad_runtimes[] = {-1, 3, 4, 1000, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof bad_runtimes / sizeof *bad_runtimes; i++) {
        zb_model_options options = ZB_MODEL_OPTIONS_INIT;
        zb_runtime_info info;
        make_fresh(&info, sizeof info);
        info.struct_size = sizeof info;
        options.runtime = bad_runtimes[i];
        CHECK_STATUS(open_options(&options), ZB_ERROR_INVALID_ARGUMENT);
        CHECK_STATUS(zb_runtime_load(bad_runtimes[i], NULL), ZB_ERROR_INVALID_ARGUMENT);
        CHECK_STATUS(zb_runtime_get_info(bad_runtimes[i], &info), ZB_ERROR_INVALID_ARGUMENT);
        CHECK(IS_FRESH_STRUCT(info));
    }
    CHECK_STATUS(zb_runtime_load(ZB_RUNTIME_AUTO, NULL), ZB_ERROR_INVALID_ARGUMENT);
}

static void options_of_models(void)
{
    zb_option option = {"no.such.key", "1"};
    zb_model_options options = ZB_MODEL_OPTIONS_INIT;
    options.option_count = 1;
    CHECK_STATUS(open_options(&options), ZB_ERROR_NULL_ARGUMENT);
    options.options = &option;
    CHECK_STATUS(open_options(&options), ZB_ERROR_NOT_FOUND);
    CHECK_ERROR_SAYS("no.such.key");
    options.option_count = 0;
    options.max_tensor_bytes = 15;
    CHECK_STATUS(open_options(&options), ZB_ERROR_UNSUPPORTED);
    CHECK_ERROR_SAYS("max_tensor_bytes");
    options.max_tensor_bytes = 16;
    CHECK_OK(open_options(&options));
}

static void options_of_runs(void)
{
    zb_infer_options options = ZB_INFER_OPTIONS_INIT;
    objects made = make_objects();
    options.flags = 1;
    CHECK_STATUS(zb_infer(made.context, &options), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_infer_with(made.context, NULL, 0, &options), ZB_ERROR_INVALID_ARGUMENT);
    options.flags = 0;
    /* further away than any clock goes: what is missing is told all the same */
    options.deadline_ns = UINT64_MAX;
    CHECK_STATUS(zb_infer(made.context, &options), ZB_ERROR_UNBOUND);
    CHECK_STATUS(zb_infer_with(made.context, NULL, 0, &options), ZB_ERROR_UNBOUND);
    free_objects(&made);
}

/* --- loans --- */

static void fields_of_loans(void)
{
    zb_tensor_desc desc = F32(4);
    objects made = make_objects();
    const zb_loan good = zt_lend_input(0, &made.memory);
    zb_loan loan = good;
    loan.flags = 1;
    CHECK_STATUS(zb_infer_with(made.context, &loan, 1, NULL), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_ERROR_SAYS("flags");
    loan = good;
    loan.data = NULL;
    CHECK_STATUS(zb_infer_with(made.context, &loan, 1, NULL), ZB_ERROR_NULL_ARGUMENT);
    CHECK_ERROR_SAYS("input 0");
    loan = good;
    loan.capacity = 15;
    CHECK_STATUS(zb_infer_with(made.context, &loan, 1, NULL), ZB_ERROR_INVALID_ARGUMENT);
    loan = good;
    loan.capacity = SIZE_MAX;
    CHECK_STATUS(zb_infer_with(made.context, &loan, 1, NULL), ZB_ERROR_INVALID_ARGUMENT);
    loan = good;
    loan.desc = &desc;
    desc.rank = 17;
    CHECK_STATUS(zb_infer_with(made.context, &loan, 1, NULL), ZB_ERROR_UNSUPPORTED);
    desc.rank = 1;
    desc.dtype = 0;
    CHECK_STATUS(zb_infer_with(made.context, &loan, 1, NULL), ZB_ERROR_INVALID_ARGUMENT);
    desc.dtype = ZB_DTYPE_F32;
    desc.dims[0] = -2;
    CHECK_STATUS(zb_infer_with(made.context, &loan, 1, NULL), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_infer_with(made.context, &loan, SIZE_MAX, NULL), ZB_ERROR_INVALID_ARGUMENT);
    free_objects(&made);
}

/* --- descs --- */

static void refuse_desc(const zb_tensor_desc *desc, zb_status expected)
{
    /* no address in here is looked at */
    float memory[4] = {0, 0, 0, 0};
    zt_releases releases = {0, NULL, 0};
    zb_tensor *tensor = NULL;
    size_t size = 77;
    CHECK_STATUS(zb_tensor_desc_size(desc, &size), expected);
    CHECK_STATUS(zb_tensor_wrap(desc, memory, 16, 0, zt_count_release, &releases, &tensor), expected);
    CHECK_STATUS(zb_tensor_wrap_const(desc, memory, 16, 0, zt_count_release, &releases, &tensor), expected);
    CHECK_STATUS(zb_tensor_alloc(desc, 0, &tensor), expected);
    CHECK(size == 77 && tensor == NULL && releases.count == 0);
}

static void descs_that_make_no_sense(void)
{
    static const int32_t bad_dtypes[] = {0, -1, 21, INT32_MAX, INT32_MIN};
    static const uint32_t bad_ranks[] = {17, 18, UINT32_MAX};
    zb_tensor_desc desc = F32(4);
    for (size_t i = 0; i < 5; i++) {
        desc.dtype = bad_dtypes[i];
        refuse_desc(&desc, ZB_ERROR_INVALID_ARGUMENT);
    }
    desc.dtype = ZB_DTYPE_STRING;
    refuse_desc(&desc, ZB_ERROR_UNSUPPORTED);
    desc.dtype = ZB_DTYPE_F32;
    for (size_t i = 0; i < 3; i++) {
        desc.rank = bad_ranks[i];
        refuse_desc(&desc, ZB_ERROR_UNSUPPORTED);
    }
    desc.rank = 1;
    desc.dims[0] = -2;
    refuse_desc(&desc, ZB_ERROR_INVALID_ARGUMENT);
    desc.dims[0] = INT64_MIN;
    refuse_desc(&desc, ZB_ERROR_INVALID_ARGUMENT);
    desc.dims[0] = INT64_MAX;
    refuse_desc(&desc, ZB_ERROR_SHAPE_MISMATCH);
    /* 2^64 elements, which is 0 where products wrap */
    desc = F32(1, 1);
    desc.dims[0] = desc.dims[1] = (int64_t)1 << 32;
    refuse_desc(&desc, ZB_ERROR_SHAPE_MISMATCH);
}

static void sizes_of_descs(void)
{
    size_t size = 0;
    zb_tensor_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.dtype = ZB_DTYPE_F64;
    CHECK_OK(zb_tensor_desc_size(&desc, &size));
    CHECK_EQ(size, 8);
    desc.rank = ZB_MAX_RANK;
    for (int i = 0; i < ZB_MAX_RANK; i++) {
        desc.dims[i] = 2;
    }
    CHECK_OK(zb_tensor_desc_size(&desc, &size));
    CHECK_EQ(size, 8 << 16);
    /* empty, however large the other dimensions are */
    desc.dims[0] = INT64_MAX;
    desc.dims[15] = 0;
    CHECK_OK(zb_tensor_desc_size(&desc, &size));
    CHECK_EQ(size, 0);
    desc = DESC(ZB_DTYPE_I4, 9);
    CHECK_OK(zb_tensor_desc_size(&desc, &size));
    CHECK_EQ(size, 5);
    /* what lies behind the rank is not looked at */
    desc = F32(4);
    desc.dims[1] = -5;
    CHECK_OK(zb_tensor_desc_size(&desc, &size));
    CHECK_EQ(size, 16);
}

static void resizes_that_make_no_sense(void)
{
    int64_t dims[17] = {1, 4};
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    CHECK_STATUS(zb_context_resize_input(context, ZB_INPUT(0), dims, 17), ZB_ERROR_UNSUPPORTED);
    CHECK_STATUS(zb_context_resize_input(context, ZB_INPUT(0), dims, UINT32_MAX), ZB_ERROR_UNSUPPORTED);
    dims[0] = -1;
    CHECK_STATUS(zb_context_resize_input(context, ZB_INPUT(0), dims, 2), ZB_ERROR_INVALID_ARGUMENT);
    dims[0] = INT64_MIN;
    CHECK_STATUS(zb_context_resize_input(context, ZB_INPUT(0), dims, 2), ZB_ERROR_INVALID_ARGUMENT);
    dims[0] = INT64_MAX;
    CHECK_STATUS(zb_context_resize_input(context, ZB_INPUT(0), dims, 2), ZB_ERROR_SHAPE_MISMATCH);
    dims[0] = (int64_t)1 << 40;
    CHECK_STATUS(zb_context_resize_input(context, ZB_INPUT(0), dims, 2), ZB_ERROR_UNSUPPORTED);
    dims[0] = 1;
    CHECK_STATUS(zb_context_resize_input(context, ZB_INPUT(0), dims, 1), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_STATUS(zb_context_resize_input(context, ZB_INPUT(0), NULL, 0), ZB_ERROR_SHAPE_MISMATCH);
    dims[1] = 5;
    CHECK_STATUS(zb_context_resize_input(context, ZB_INPUT(0), dims, 2), ZB_ERROR_SHAPE_MISMATCH);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

/* --- memory --- */

static void refuse_memory(void *data, size_t size, size_t capacity, zb_status expected)
{
    zb_tensor_desc desc = F32(4);
    zt_releases releases = {0, NULL, 0};
    zb_tensor *tensor = NULL;
    CHECK_STATUS(zb_tensor_wrap(&desc, data, size, capacity, zt_count_release, &releases, &tensor), expected);
    CHECK_STATUS(zb_tensor_wrap_const(&desc, data, size, capacity, zt_count_release, &releases, &tensor), expected);
    CHECK(tensor == NULL && releases.count == 0);
}

static void memory_that_makes_no_sense(void)
{
    float memory[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    char *last = NULL;
    uintptr_t top = UINTPTR_MAX - 7;
    memcpy(&last, &top, sizeof last);
    refuse_memory(memory, 15, 0, ZB_ERROR_SHAPE_MISMATCH);
    CHECK_ERROR_SAYS("16");
    CHECK_ERROR_SAYS("15");
    refuse_memory(memory, 17, 0, ZB_ERROR_SHAPE_MISMATCH);
    refuse_memory(memory, 0, 0, ZB_ERROR_SHAPE_MISMATCH);
    refuse_memory(NULL, 0, 0, ZB_ERROR_SHAPE_MISMATCH);
    refuse_memory(memory, 16, 15, ZB_ERROR_INVALID_ARGUMENT);
    refuse_memory(memory, 16, 1, ZB_ERROR_INVALID_ARGUMENT);
    refuse_memory(NULL, 16, 0, ZB_ERROR_NULL_ARGUMENT);
    /* past the end of the address space */
    refuse_memory(last, 16, 0, ZB_ERROR_INVALID_ARGUMENT);
    refuse_memory(memory, 16, SIZE_MAX, ZB_ERROR_INVALID_ARGUMENT);
    refuse_memory(memory, SIZE_MAX, SIZE_MAX, ZB_ERROR_INVALID_ARGUMENT);
}

static void alignments(void)
{
    static const size_t bad[] = {3, 5, 63, 65, (size_t)1 << 22, SIZE_MAX};
    static const size_t good[] = {0, 1, 2, 64, 4096, (size_t)1 << 21};
    zb_tensor_desc desc = F32(4);
    zb_tensor *tensor = NULL;
    for (size_t i = 0; i < 6; i++) {
        CHECK_STATUS(zb_tensor_alloc(&desc, bad[i], &tensor), ZB_ERROR_INVALID_ARGUMENT);
        CHECK(tensor == NULL);
    }
    for (size_t i = 0; i < 6; i++) {
        static const unsigned char zeroes[16] = {0};
        void *data = NULL;
        size_t size = 0;
        REQUIRE_OK(zb_tensor_alloc(&desc, good[i], &tensor));
        REQUIRE_OK(zb_tensor_get_data(tensor, &data, &size));
        CHECK((uintptr_t)data % (good[i] == 0 ? 64 : good[i]) == 0);
        CHECK_EQ(size, 16);
        CHECK_BYTES(data, zeroes, 16);
        CHECK_OK(zb_tensor_destroy(tensor));
        tensor = NULL;
    }
}

/* --- names and texts --- */

static void names(void)
{
    zb_slot slot = 77;
    objects made = make_objects();
    CHECK_STATUS(zb_model_find_input(made.model, "z", &slot), ZB_ERROR_NOT_FOUND);
    CHECK_STATUS(zb_model_find_output(made.model, "x", &slot), ZB_ERROR_NOT_FOUND);
    CHECK_STATUS(zb_model_find_input(made.model, "", &slot), ZB_ERROR_NOT_FOUND);
    CHECK_STATUS(zb_model_find_input(made.model, "\xFF\xFE", &slot), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(slot, 77);
    CHECK_OK(zb_model_find_input(made.model, "y", &slot));
    CHECK_EQ(slot, ZB_INPUT(1));
    CHECK_OK(zb_model_find_output(made.model, "z", &slot));
    CHECK_EQ(slot, ZB_OUTPUT(0));
    free_objects(&made);
}

/* Never called, since it is refused. */
static void refused_log(void *user_data, int32_t level, const char *text)
{
    (void)user_data;
    (void)level;
    (void)text;
    abort();
}

static void levels_of_the_log(void)
{
    static const int32_t bad[] = {0, 5, -1, INT32_MAX};
    for (size_t i = 0; i < 4; i++) {
        CHECK_STATUS(zb_set_log_callback(refused_log, NULL, bad[i]), ZB_ERROR_INVALID_ARGUMENT);
    }
    CHECK_OK(zb_set_log_callback(NULL, NULL, 0));
}

/* Whether the bytes are whole UTF-8 characters, as in texts of one to four bytes a character. */
static int is_whole_utf8(const char *text)
{
    while (*text != '\0') {
        unsigned char first = (unsigned char)*text++;
        int more = first < 0x80 ? 0 : first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
        for (; more > 0; more--) {
            if (((unsigned char)*text++ & 0xC0) != 0x80) {
                return 0;
            }
        }
    }
    return 1;
}

static void error_text_in_short_buffers(void)
{
    /* characters of 2, 3 and 4 bytes, and their text */
    const char *name = "\xC3\xA9\xE2\x82\xAC\xF0\x9D\x84\x9E";
    zb_slot slot = 0;
    char whole[1024], part[1024];
    size_t needed = 0;
    zb_model *model = zt_open("add4");
    CHECK_STATUS(zb_model_find_input(model, name, &slot), ZB_ERROR_NOT_FOUND);
    zb_model_destroy(model);
    CHECK_OK(zb_last_error(NULL, 0, &needed));
    REQUIRE(needed > 20 && needed < sizeof whole);
    CHECK_OK(zb_last_error(whole, sizeof whole, NULL));
    CHECK_EQ(strlen(whole) + 1, needed);
    CHECK(strstr(whole, name) != NULL);
    for (size_t capacity = 0; capacity <= needed + 1; capacity++) {
        size_t told = 77;
        memset(part, FRESH, sizeof part);
        CHECK_STATUS(zb_last_error(part, capacity, &told), capacity < needed ? ZB_ERROR_BUFFER_TOO_SMALL : ZB_OK);
        CHECK_EQ(told, needed);
        CHECK(is_fresh(part + capacity, sizeof part - capacity));
        if (capacity > 0) {
            REQUIRE(memchr(part, '\0', capacity) != NULL);
            CHECK(is_whole_utf8(part) && strncmp(part, whole, strlen(part)) == 0);
            /* at most the rest of one character is left out */
            CHECK(strlen(part) + 4 >= (capacity < needed ? capacity : needed));
        }
    }
    /* the function never changes the text, whatever it returns */
    needed = 77;
    CHECK_STATUS(zb_last_error(NULL, 5, &needed), ZB_ERROR_NULL_ARGUMENT);
    CHECK_EQ(needed, strlen(whole) + 1);
    CHECK_OK(zb_last_error(part, sizeof part, NULL));
    CHECK(strcmp(whole, part) == 0);
}

static void success_keeps_the_last_error(void)
{
    zb_slot slot = 0;
    char before[1024], after[1024];
    zb_model *model = zt_open("add4");
    CHECK_STATUS(zb_model_find_input(model, "nobody", &slot), ZB_ERROR_NOT_FOUND);
    CHECK_OK(zb_last_error(before, sizeof before, NULL));
    CHECK_OK(zb_model_find_input(model, "x", &slot));
    CHECK_OK(zb_last_error(after, sizeof after, NULL));
    CHECK(strcmp(before, after) == 0);
    zb_model_destroy(model);
}

static const zt_test tests[] = {
    ON_BOTH(null_handles),
    ON_BOTH(destroying_null_is_fine),
    ON_BOTH(null_places),
    ON_BOTH(null_for_opening),
    ON_BOTH(optional_places_may_be_null),
    ON_BOTH(slots_out_of_range),
    ON_BOTH(slots_of_the_wrong_side),
    ON_BOTH(a_slot_named_twice),
    ON_BOTH(input_structs_of_other_versions),
    ON_BOTH(output_structs_of_other_versions),
    ON_BOTH(init_functions),
    ON_BOTH(numbers_in_context_options),
    ON_BOTH(key_value_options),
    ON_BOTH(numbers_of_runtimes),
    ON_BOTH(options_of_models),
    ON_BOTH(options_of_runs),
    ON_BOTH(fields_of_loans),
    ON_BOTH(descs_that_make_no_sense),
    ON_BOTH(sizes_of_descs),
    ON_BOTH(resizes_that_make_no_sense),
    ON_BOTH(memory_that_makes_no_sense),
    ON_BOTH(alignments),
    ON_BOTH(names),
    ON_BOTH(levels_of_the_log),
    ON_BOTH(error_text_in_short_buffers),
    ON_BOTH(success_keeps_the_last_error),
};

ZT_MAIN(tests)
