/*
 * What programs that are built already rely on: sizes, offsets, numbers, names. Written out by hand from the contract, never
 * computed from the header, so that a change of the header shows here. Also compiled as C++11 (test_abi_cxx.cpp).
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zerobind.h>

static int failures;

static void check(int passed, const char *text)
{
    if (!passed) {
        failures++;
        fprintf(stderr, "failed: %s\n", text);
    }
}

#define CHECK(condition) check((condition) ? 1 : 0, #condition)

/* A number of the header is this literal, as every importer of macros sees it. */
#define NUMBER(name, value) check((name) == (value), #name " is " #value)
/* A field lies there and is that large. */
#define FIELD(type, field, offset, bytes)                                                   \
    check(offsetof(type, field) == (offset) && sizeof(((type *)NULL)->field) == (bytes), \
          #type "." #field " is " #bytes " bytes at " #offset)
#define SIZE(type, bytes) check(sizeof(type) == (bytes), #type " has " #bytes " bytes")

static void statuses(void)
{
    static const struct {
        zb_status value;
        const char *name;
    } known[] = {
        {0, "ZB_OK"},
        {1, "ZB_ERROR_NULL_ARGUMENT"},
        {2, "ZB_ERROR_INVALID_ARGUMENT"},
        {3, "ZB_ERROR_INVALID_HANDLE"},
        {4, "ZB_ERROR_BUSY"},
        {5, "ZB_ERROR_NOT_FOUND"},
        {6, "ZB_ERROR_IO"},
        {7, "ZB_ERROR_RUNTIME_UNAVAILABLE"},
        {8, "ZB_ERROR_MODEL_INVALID"},
        {9, "ZB_ERROR_UNSUPPORTED"},
        {10, "ZB_ERROR_DTYPE_MISMATCH"},
        {11, "ZB_ERROR_SHAPE_MISMATCH"},
        {12, "ZB_ERROR_BUFFER_TOO_SMALL"},
        {13, "ZB_ERROR_MISALIGNED"},
        {14, "ZB_ERROR_ALIASED"},
        {15, "ZB_ERROR_UNBOUND"},
        {16, "ZB_ERROR_COPY_REQUIRED"},
        {17, "ZB_ERROR_CANCELLED"},
        {18, "ZB_ERROR_DEADLINE_EXCEEDED"},
        {19, "ZB_ERROR_DESTROYED"},
        {20, "ZB_ERROR_RUNTIME"},
        {21, "ZB_ERROR_OUT_OF_MEMORY"},
        {22, "ZB_ERROR_PANIC"},
        {23, "ZB_ERROR_TIMEOUT"},
        {24, "ZB_ERROR_READ_ONLY"},
        {25, "ZB_ERROR_DEPENDENCY"},
        {26, "ZB_ERROR_QUEUE_FULL"},
        {27, "ZB_ERROR_?"},
        {-1, "ZB_ERROR_?"},
        {INT32_MAX, "ZB_ERROR_?"},
        {INT32_MIN, "ZB_ERROR_?"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        check(strcmp(zb_status_name(known[i].value), known[i].name) == 0, known[i].name);
    }
    NUMBER(ZB_OK, 0);
    NUMBER(ZB_ERROR_NULL_ARGUMENT, 1);
    NUMBER(ZB_ERROR_INVALID_ARGUMENT, 2);
    NUMBER(ZB_ERROR_INVALID_HANDLE, 3);
    NUMBER(ZB_ERROR_BUSY, 4);
    NUMBER(ZB_ERROR_NOT_FOUND, 5);
    NUMBER(ZB_ERROR_IO, 6);
    NUMBER(ZB_ERROR_RUNTIME_UNAVAILABLE, 7);
    NUMBER(ZB_ERROR_MODEL_INVALID, 8);
    NUMBER(ZB_ERROR_UNSUPPORTED, 9);
    NUMBER(ZB_ERROR_DTYPE_MISMATCH, 10);
    NUMBER(ZB_ERROR_SHAPE_MISMATCH, 11);
    NUMBER(ZB_ERROR_BUFFER_TOO_SMALL, 12);
    NUMBER(ZB_ERROR_MISALIGNED, 13);
    NUMBER(ZB_ERROR_ALIASED, 14);
    NUMBER(ZB_ERROR_UNBOUND, 15);
    NUMBER(ZB_ERROR_COPY_REQUIRED, 16);
    NUMBER(ZB_ERROR_CANCELLED, 17);
    NUMBER(ZB_ERROR_DEADLINE_EXCEEDED, 18);
    NUMBER(ZB_ERROR_DESTROYED, 19);
    NUMBER(ZB_ERROR_RUNTIME, 20);
    NUMBER(ZB_ERROR_OUT_OF_MEMORY, 21);
    NUMBER(ZB_ERROR_PANIC, 22);
    NUMBER(ZB_ERROR_TIMEOUT, 23);
    NUMBER(ZB_ERROR_READ_ONLY, 24);
    NUMBER(ZB_ERROR_DEPENDENCY, 25);
    NUMBER(ZB_ERROR_QUEUE_FULL, 26);
}

static void dtypes(void)
{
    static const struct {
        int32_t value;
        const char *name;
        uint32_t bits;
    } known[] = {
        {0, "?", 0},      {1, "f32", 32},  {2, "f64", 64},  {3, "f16", 16},       {4, "bf16", 16},     {5, "i8", 8},
        {6, "u8", 8},     {7, "i16", 16},  {8, "u16", 16},  {9, "i32", 32},       {10, "u32", 32},     {11, "i64", 64},
        {12, "u64", 64},  {13, "bool", 8}, {14, "i4", 4},   {15, "u4", 4},        {16, "c64", 64},     {17, "string", 0},
        {18, "f8e4m3fn", 8}, {19, "f8e5m2", 8}, {20, "c128", 128}, {21, "?", 0}, {-1, "?", 0}, {INT32_MAX, "?", 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        check(strcmp(zb_dtype_name(known[i].value), known[i].name) == 0, known[i].name);
        check(zb_dtype_bits(known[i].value) == known[i].bits, known[i].name);
    }
    NUMBER(ZB_DTYPE_INVALID, 0);
    NUMBER(ZB_DTYPE_F32, 1);
    NUMBER(ZB_DTYPE_F64, 2);
    NUMBER(ZB_DTYPE_F16, 3);
    NUMBER(ZB_DTYPE_BF16, 4);
    NUMBER(ZB_DTYPE_I8, 5);
    NUMBER(ZB_DTYPE_U8, 6);
    NUMBER(ZB_DTYPE_I16, 7);
    NUMBER(ZB_DTYPE_U16, 8);
    NUMBER(ZB_DTYPE_I32, 9);
    NUMBER(ZB_DTYPE_U32, 10);
    NUMBER(ZB_DTYPE_I64, 11);
    NUMBER(ZB_DTYPE_U64, 12);
    NUMBER(ZB_DTYPE_BOOL, 13);
    NUMBER(ZB_DTYPE_I4, 14);
    NUMBER(ZB_DTYPE_U4, 15);
    NUMBER(ZB_DTYPE_C64, 16);
    NUMBER(ZB_DTYPE_STRING, 17);
    NUMBER(ZB_DTYPE_F8E4M3FN, 18);
    NUMBER(ZB_DTYPE_F8E5M2, 19);
    NUMBER(ZB_DTYPE_C128, 20);
}

static void other_numbers(void)
{
    NUMBER(ZB_MAX_RANK, 16);
    NUMBER(ZB_RUNTIME_AUTO, 0);
    NUMBER(ZB_RUNTIME_TFLITE, 1);
    NUMBER(ZB_RUNTIME_ONNXRUNTIME, 2);
    NUMBER(ZB_KIND_MODEL, 1);
    NUMBER(ZB_KIND_CONTEXT, 2);
    NUMBER(ZB_KIND_TENSOR, 3);
    NUMBER(ZB_KIND_QUEUE, 4);
    NUMBER(ZB_KIND_EVENT, 5);
    NUMBER(ZB_COPY_NEVER, 0);
    NUMBER(ZB_COPY_ALLOW, 1);
    NUMBER(ZB_LOAN_INPUT, 0x10000);
    NUMBER(ZB_LOAN_OUTPUT, 0x20000);
    NUMBER(ZB_CONTEXT_PROFILE, 1);
    NUMBER(ZB_SLOT_CONSTANT, 1);
    NUMBER(ZB_SLOT_PASS_THROUGH, 2);
    NUMBER(ZB_SLOT_DYNAMIC, 4);
    NUMBER(ZB_SLOT_DUPLICATE, 8);
    NUMBER(ZB_QUANTIZATION_NONE, 0);
    NUMBER(ZB_QUANTIZATION_PER_TENSOR, 1);
    NUMBER(ZB_QUANTIZATION_PER_AXIS, 2);
    NUMBER(ZB_REBIND_FREE, 0);
    NUMBER(ZB_REBIND_REPLAN, 1);
    NUMBER(ZB_REBIND_STAGED, 2);
    NUMBER(ZB_MEMORY_HOST, 1);
    NUMBER(ZB_MEMORY_SHARED, 2);
    NUMBER(ZB_MAP_READ_ONLY, 1);
    NUMBER(ZB_SYNC_TO_HOST, 0);
    NUMBER(ZB_SYNC_TO_DEVICE, 1);
    NUMBER(ZB_PATH_UNBOUND, 0);
    NUMBER(ZB_PATH_DIRECT, 1);
    NUMBER(ZB_PATH_STAGED, 2);
    NUMBER(ZB_LOG_ERROR, 1);
    NUMBER(ZB_LOG_WARN, 2);
    NUMBER(ZB_LOG_INFO, 3);
    NUMBER(ZB_LOG_DEBUG, 4);
}

static void slots(void)
{
    NUMBER(ZB_OUTPUT_BIT, 0x80000000u);
    NUMBER(ZB_INPUT(0), 0u);
    NUMBER(ZB_INPUT(7), 7u);
    NUMBER(ZB_OUTPUT(0), 0x80000000u);
    NUMBER(ZB_OUTPUT(7), 0x80000007u);
    CHECK(zb_slot_input(7) == ZB_INPUT(7));
    CHECK(zb_slot_output(7) == ZB_OUTPUT(7));
    SIZE(zb_slot, 4);
    SIZE(zb_status, 4);
}

static void layouts(void)
{
    FIELD(zb_tensor_desc, dtype, 0, 4);
    FIELD(zb_tensor_desc, rank, 4, 4);
    FIELD(zb_tensor_desc, dims, 8, 128);
    SIZE(zb_tensor_desc, 136);
    FIELD(zb_preflight_options, struct_size, 0, 4);
    FIELD(zb_preflight_options, flags, 4, 4);
    FIELD(zb_preflight_options, timeout_ns, 8, 8);
    FIELD(zb_preflight_options, max_memory_bytes, 16, 8);
    FIELD(zb_preflight_options, helper, 24, sizeof(void *));
    FIELD(zb_infer_options, struct_size, 0, 4);
    FIELD(zb_infer_options, flags, 4, 4);
    FIELD(zb_infer_options, deadline_ns, 8, 8);
    SIZE(zb_infer_options, 16);
    FIELD(zb_requirements, struct_size, 0, 4);
    FIELD(zb_requirements, memory_kinds, 4, 4);
    FIELD(zb_requirements, size, 8, 8);
    FIELD(zb_requirements, alignment, 16, 8);
    FIELD(zb_requirements, slack, 24, 8);
    FIELD(zb_requirements, rebind, 32, 4);
    FIELD(zb_requirements, reserved, 36, 4);
    SIZE(zb_requirements, 40);
    FIELD(zb_context_stats, struct_size, 0, 4);
    FIELD(zb_context_stats, reserved, 4, 4);
    FIELD(zb_context_stats, runs, 8, 8);
    FIELD(zb_context_stats, bytes_copied, 16, 8);
    FIELD(zb_context_stats, rebinds, 24, 8);
    FIELD(zb_context_stats, allocations, 32, 8);
    FIELD(zb_context_stats, last_run_ns, 40, 8);
    SIZE(zb_context_stats, 48);
#if UINTPTR_MAX == UINT64_MAX
    FIELD(zb_loan, slot, 0, 4);
    FIELD(zb_loan, flags, 4, 4);
    FIELD(zb_loan, data, 8, 8);
    FIELD(zb_loan, size, 16, 8);
    FIELD(zb_loan, capacity, 24, 8);
    FIELD(zb_loan, desc, 32, 8);
    SIZE(zb_loan, 40);
    FIELD(zb_slot_tensor, slot, 0, 4);
    FIELD(zb_slot_tensor, flags, 4, 4);
    FIELD(zb_slot_tensor, tensor, 8, 8);
    SIZE(zb_slot_tensor, 16);
    FIELD(zb_queue_options, struct_size, 0, 4);
    FIELD(zb_queue_options, capacity, 4, 4);
    FIELD(zb_queue_options, submit, 8, 8);
    FIELD(zb_queue_options, user_data, 16, 8);
    SIZE(zb_queue_options, 24);
    FIELD(zb_option, key, 0, 8);
    FIELD(zb_option, value, 8, 8);
    SIZE(zb_option, 16);
    FIELD(zb_model_options, struct_size, 0, 4);
    FIELD(zb_model_options, runtime, 4, 4);
    FIELD(zb_model_options, sha256, 8, 32);
    FIELD(zb_model_options, max_tensor_bytes, 40, 8);
    FIELD(zb_model_options, options, 48, 8);
    FIELD(zb_model_options, option_count, 56, 8);
    SIZE(zb_model_options, 64);
    FIELD(zb_context_options, struct_size, 0, 4);
    FIELD(zb_context_options, threads, 4, 4);
    FIELD(zb_context_options, copy_policy, 8, 4);
    FIELD(zb_context_options, flags, 12, 4);
    FIELD(zb_context_options, options, 16, 8);
    FIELD(zb_context_options, option_count, 24, 8);
    SIZE(zb_context_options, 32);
    FIELD(zb_slot_shape, slot, 0, 4);
    FIELD(zb_slot_shape, rank, 4, 4);
    FIELD(zb_slot_shape, dims, 8, 8);
    SIZE(zb_slot_shape, 16);
    FIELD(zb_preflight_options, context, 32, 8);
    FIELD(zb_preflight_options, shapes, 40, 8);
    FIELD(zb_preflight_options, shape_count, 48, 8);
    SIZE(zb_preflight_options, 56);
    FIELD(zb_runtime_info, struct_size, 0, 4);
    FIELD(zb_runtime_info, available, 4, 4);
    FIELD(zb_runtime_info, version, 8, 8);
    FIELD(zb_runtime_info, path, 16, 8);
    FIELD(zb_runtime_info, reason, 24, 8);
    SIZE(zb_runtime_info, 32);
    FIELD(zb_slot_info, struct_size, 0, 4);
    FIELD(zb_slot_info, flags, 4, 4);
    FIELD(zb_slot_info, desc, 8, 136);
    FIELD(zb_slot_info, size, 144, 8);
    FIELD(zb_slot_info, name, 152, 8);
    FIELD(zb_slot_info, dim_names, 160, 8);
    FIELD(zb_slot_info, scales, 168, 8);
    FIELD(zb_slot_info, zero_points, 176, 8);
    FIELD(zb_slot_info, quantization_count, 184, 4);
    FIELD(zb_slot_info, quantization, 188, 4);
    FIELD(zb_slot_info, quantization_axis, 192, 4);
    FIELD(zb_slot_info, reserved, 196, 4);
    SIZE(zb_slot_info, 200);
    FIELD(zb_binding_report, struct_size, 0, 4);
    FIELD(zb_binding_report, path, 4, 4);
    FIELD(zb_binding_report, bytes_copied, 8, 8);
    FIELD(zb_binding_report, host_address, 16, 8);
    FIELD(zb_binding_report, engine_address, 24, 8);
    FIELD(zb_binding_report, reason, 32, 8);
    FIELD(zb_binding_report, reserved, 40, 8);
    SIZE(zb_binding_report, 48);
#endif
}

/* Everything but struct_size is zero in the defaults; the structs have no padding that could differ. */
static int is_zero_but_for_its_size(const void *value, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)value;
    uint32_t struct_size = 0;
    memcpy(&struct_size, bytes, sizeof struct_size);
    for (size_t i = sizeof struct_size; i < size; i++) {
        if (bytes[i] != 0) {
            return 0;
        }
    }
    return struct_size == size;
}

#define CHECK_INIT_MACRO(type, init)                                                   \
    do {                                                                               \
        type value = init;                                                             \
        check(is_zero_but_for_its_size(&value, sizeof value), #init " sets the size"); \
    } while (0)

static void init_macros(void)
{
    zb_model_options model = ZB_MODEL_OPTIONS_INIT, made_model;
    zb_context_options context = ZB_CONTEXT_OPTIONS_INIT, made_context;
    zb_preflight_options preflight = ZB_PREFLIGHT_OPTIONS_INIT, made_preflight;
    zb_queue_options queue = ZB_QUEUE_OPTIONS_INIT, made_queue;
    CHECK_INIT_MACRO(zb_model_options, ZB_MODEL_OPTIONS_INIT);
    CHECK_INIT_MACRO(zb_context_options, ZB_CONTEXT_OPTIONS_INIT);
    CHECK_INIT_MACRO(zb_preflight_options, ZB_PREFLIGHT_OPTIONS_INIT);
    CHECK_INIT_MACRO(zb_infer_options, ZB_INFER_OPTIONS_INIT);
    CHECK_INIT_MACRO(zb_queue_options, ZB_QUEUE_OPTIONS_INIT);
    CHECK_INIT_MACRO(zb_runtime_info, ZB_RUNTIME_INFO_INIT);
    CHECK_INIT_MACRO(zb_slot_info, ZB_SLOT_INFO_INIT);
    CHECK_INIT_MACRO(zb_requirements, ZB_REQUIREMENTS_INIT);
    CHECK_INIT_MACRO(zb_binding_report, ZB_BINDING_REPORT_INIT);
    CHECK_INIT_MACRO(zb_context_stats, ZB_CONTEXT_STATS_INIT);
    memset(&made_model, 0x5A, sizeof made_model);
    memset(&made_context, 0x5A, sizeof made_context);
    memset(&made_preflight, 0x5A, sizeof made_preflight);
    memset(&made_queue, 0x5A, sizeof made_queue);
    CHECK(zb_model_options_init(&made_model, sizeof made_model) == ZB_OK);
    CHECK(zb_context_options_init(&made_context, sizeof made_context) == ZB_OK);
    CHECK(zb_queue_options_init(&made_queue, sizeof made_queue) == ZB_OK);
    CHECK(zb_preflight_options_init(&made_preflight, sizeof made_preflight) == ZB_OK);
    CHECK(memcmp(&preflight, &made_preflight, sizeof preflight) == 0);
    CHECK(memcmp(&queue, &made_queue, sizeof queue) == 0);
    CHECK(memcmp(&model, &made_model, sizeof model) == 0);
    CHECK(memcmp(&context, &made_context, sizeof context) == 0);
}

static void loan_helpers(void)
{
    float x[4] = {0, 0, 0, 0};
    zb_tensor_desc desc = {ZB_DTYPE_F32, 1, {4}};
    zb_loan input = zb_loan_input(ZB_INPUT(3), x, 16, 32, &desc);
    zb_loan output = zb_loan_output(ZB_OUTPUT(2), x, 16, NULL);
    CHECK(input.slot == 3 && input.flags == ZB_LOAN_INPUT && input.data == x && input.size == 16);
    CHECK(input.capacity == 32 && input.desc == &desc);
    CHECK(output.slot == ZB_OUTPUT(2) && output.flags == ZB_LOAN_OUTPUT && output.data == x && output.size == 16);
    CHECK(output.capacity == 0 && output.desc == NULL);
}

static void version(void)
{
    char text[64];
    snprintf(text, sizeof text, "%d.%d.%d", ZB_VERSION_MAJOR, ZB_VERSION_MINOR, ZB_VERSION_PATCH);
    CHECK(zb_version() == ZB_HEADER_VERSION);
    CHECK(zb_version() == ((uint32_t)ZB_VERSION_MAJOR << 22 | (uint32_t)ZB_VERSION_MINOR << 12 | ZB_VERSION_PATCH));
    CHECK(strcmp(zb_version_string(), text) == 0);
}

/* The callback types, as functions of a program have them. */
static void release(void *user_data, void *data, size_t size)
{
    (void)user_data;
    (void)data;
    (void)size;
}

static void write_log(void *user_data, int32_t level, const char *text)
{
    (void)user_data;
    (void)level;
    (void)text;
}

static void complete(void *user_data, zb_event *event, zb_status result)
{
    (void)event;
    *(zb_status *)user_data = result;
}

static void run_task(void *task)
{
    *(int *)task += 1;
}

static int32_t submit(void *user_data, zb_task_fn run, void *task)
{
    run(task);
    return *(int32_t *)user_data;
}

static void callback_types(void)
{
    zb_release_fn release_function = release;
    zb_log_fn log_function = write_log;
    zb_complete_fn complete_function = complete;
    zb_task_fn task_function = run_task;
    zb_submit_fn submit_function = submit;
    zb_status result = 0;
    int32_t refusal = 5;
    int tasks = 0;
    complete_function(&result, (zb_event *)(void *)&tasks, ZB_ERROR_CANCELLED); /* a handle is a number, any will do */
    CHECK(result == 17);
    CHECK(submit_function(&refusal, task_function, &tasks) == 5 && tasks == 1);
    CHECK(release_function != NULL);
    CHECK(log_function != NULL);
}

static void unknown_kinds_have_no_objects(void)
{
    static const int32_t kinds[] = {0, 1, 2, 3, 4, 5, 6, 7, -1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        CHECK(zb_live_objects(kinds[i]) == 0);
    }
}

int main(void)
{
    statuses();
    dtypes();
    other_numbers();
    slots();
    layouts();
    init_macros();
    loan_helpers();
    version();
    callback_types();
    unknown_kinds_have_no_objects();
    return failures == 0 ? 0 : 1;
}
