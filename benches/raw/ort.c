#include "ort.h"

#include <dlfcn.h>

static ort_api api;
static OrtEnv *environment;

void ort_check(OrtStatus *status)
{
    REQUIRE(status == NULL, "ONNX Runtime: %s", api.GetErrorMessage(status));
}

/* A function that is known by its place in the engine's table, or by its name. */
static void put(void *field, void *const *place)
{
    memcpy(field, place, sizeof *place);
}

const ort_api *ort_load(void)
{
    static int is_loaded;
    if (is_loaded) {
        return &api;
    }
    typedef struct api_base {
        void *const *(*get_api)(uint32_t version);
        const char *(*get_version)(void);
    } api_base;
    const api_base *(*get_base)(void);
    void *library = dlopen(bench_variable("ZEROBIND_ONNXRUNTIME_LIB"), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != NULL, "%s", dlerror());
    void *symbol = dlsym(library, "OrtGetApiBase");
    REQUIRE(symbol != NULL, "no OrtGetApiBase");
    put(&get_base, &symbol);
    void *const *table = get_base()->get_api(ORT_API_VERSION);
    REQUIRE(table != NULL, "ONNX Runtime does not have version %d of its API", ORT_API_VERSION);
#define ORT_FILL(place, name, result, parameters) put(&api.name, &table[place]);
    ORT_FUNCTIONS(ORT_FILL)
#undef ORT_FILL
    is_loaded = 1;
    return &api;
}

OrtEnv *ort_environment(void)
{
    if (environment == NULL) {
        ort_check(ort_load()->CreateEnv(ORT_LOG_WARNING, "benches", &environment));
        ort_check(api.DisableTelemetryEvents(environment));
    }
    return environment;
}

OrtSession *ort_session(const model_source *source)
{
    OrtSession *session;
    OrtSessionOptions *options;
    OrtEnv *env = ort_environment();
    ort_check(api.CreateSessionOptions(&options));
    ort_check(api.SetIntraOpNumThreads(options, 1));
    ort_check(api.SetInterOpNumThreads(options, 1));
    ort_check(api.SetSessionGraphOptimizationLevel(options, ORT_ENABLE_ALL));
    if (source->path != NULL) {
        ort_check(api.CreateSession(env, source->path, options, &session));
    } else {
        ort_check(api.CreateSessionFromArray(env, source->bytes, source->size, options, &session));
    }
    api.ReleaseSessionOptions(options);
    return session;
}

/* ---- runs ---- */

typedef struct raw_ort {
    OrtSession *session;
    /* given to every run: for NULL, the engine makes and frees options each time */
    OrtRunOptions *options;
    OrtMemoryInfo *host;
    OrtIoBinding *binding;
    model_memory *memory;
    const model_spec *spec;
    char *names[MOST_SLOTS];
    OrtValue *values[MOST_SETS][MOST_SLOTS];
    /* inputs in memory of the engine's, for RAW_COPIED */
    OrtValue *own[MOST_SLOTS];
    size_t next;
} raw_ort;

static int element_type(int32_t dtype)
{
    switch (dtype) {
    case ZB_DTYPE_F32: return 1;
    case ZB_DTYPE_I32: return 6;
    case ZB_DTYPE_I64: return 7;
    default: REQUIRE(0, "dtype %d", (int)dtype); return 0;
    }
}

static OrtValue *new_value(const raw_ort *raw, size_t set, size_t slot)
{
    OrtValue *value;
    const zb_tensor_desc *desc = &raw->spec->slots[slot];
    ort_check(api.CreateTensorWithDataAsOrtValue(raw->host, raw->memory->data[set][slot], raw->memory->sizes[slot],
                                                 desc->dims, desc->rank, element_type(desc->dtype), &value));
    return value;
}

static OrtValue *new_own_value(const raw_ort *raw, size_t slot)
{
    OrtValue *value;
    OrtAllocator *allocator;
    const zb_tensor_desc *desc = &raw->spec->slots[slot];
    ort_check(api.GetAllocatorWithDefaultOptions(&allocator));
    ort_check(api.CreateTensorAsOrtValue(allocator, desc->dims, desc->rank, element_type(desc->dtype), &value));
    return value;
}

static void bind(const raw_ort *raw, size_t set)
{
    for (size_t slot = 0; slot < model_slot_count(raw->spec); slot++) {
        ort_check((slot < raw->spec->inputs ? api.BindInput : api.BindOutput)(raw->binding, raw->names[slot],
                                                                              raw->values[set][slot]));
    }
}

static void find_names(raw_ort *raw)
{
    OrtAllocator *allocator;
    size_t inputs, outputs;
    ort_check(api.SessionGetInputCount(raw->session, &inputs));
    ort_check(api.SessionGetOutputCount(raw->session, &outputs));
    REQUIRE(inputs == raw->spec->inputs && outputs == raw->spec->outputs, "%s has %zu inputs and %zu outputs",
            raw->spec->name, inputs, outputs);
    ort_check(api.GetAllocatorWithDefaultOptions(&allocator));
    for (size_t slot = 0; slot < inputs + outputs; slot++) {
        char **name = &raw->names[slot];
        if (slot < inputs) {
            ort_check(api.SessionGetInputName(raw->session, slot, allocator, name));
        } else {
            ort_check(api.SessionGetOutputName(raw->session, slot - inputs, allocator, name));
        }
    }
}

static void *ort_open(const model_source *source, model_memory *memory, enum raw_kind kind)
{
    raw_ort *raw = calloc(1, sizeof *raw);
    REQUIRE(raw != NULL, "out of memory");
    raw->memory = memory;
    raw->spec = memory->spec;
    raw->session = ort_session(source);
    ort_check(api.CreateRunOptions(&raw->options));
    ort_check(api.CreateCpuMemoryInfo(ORT_ARENA_ALLOCATOR, ORT_MEM_TYPE_DEFAULT, &raw->host));
    find_names(raw);
    ort_check(api.CreateIoBinding(raw->session, &raw->binding));
    if (kind != RAW_LENT) {
        for (size_t set = 0; set < memory->sets; set++) {
            for (size_t slot = 0; slot < model_slot_count(raw->spec); slot++) {
                raw->values[set][slot] = new_value(raw, set, slot);
            }
        }
        bind(raw, 0);
    }
    for (size_t slot = 0; kind == RAW_COPIED && slot < raw->spec->inputs; slot++) {
        raw->own[slot] = new_own_value(raw, slot);
    }
    return raw;
}

static void ort_close(void *raw_pointer)
{
    raw_ort *raw = raw_pointer;
    OrtAllocator *allocator;
    ort_check(api.GetAllocatorWithDefaultOptions(&allocator));
    api.ReleaseIoBinding(raw->binding);
    for (size_t slot = 0; slot < model_slot_count(raw->spec); slot++) {
        ort_check(api.AllocatorFree(allocator, raw->names[slot]));
        if (raw->own[slot] != NULL) {
            api.ReleaseValue(raw->own[slot]);
        }
        for (size_t set = 0; set < raw->memory->sets; set++) {
            if (raw->values[set][slot] != NULL) {
                api.ReleaseValue(raw->values[set][slot]);
            }
        }
    }
    api.ReleaseMemoryInfo(raw->host);
    api.ReleaseRunOptions(raw->options);
    api.ReleaseSession(raw->session);
    free(raw);
}

static void ort_rewind(void *raw)
{
    ((raw_ort *)raw)->next = 0;
}

static size_t next_set(raw_ort *raw)
{
    size_t set = raw->next;
    raw->next = set + 1 == raw->memory->sets ? 0 : set + 1;
    return set;
}

static void run_values(raw_ort *raw, OrtValue **values)
{
    const model_spec *spec = raw->spec;
    ort_check(api.Run(raw->session, raw->options, (const char *const *)raw->names, (const OrtValue *const *)values,
                      spec->inputs, (const char *const *)raw->names + spec->inputs, spec->outputs, values + spec->inputs));
}

static void run_same(void *raw_pointer, size_t count)
{
    raw_ort *raw = raw_pointer;
    for (size_t i = 0; i < count; i++) {
        run_values(raw, raw->values[0]);
    }
}

static void run_bound(void *raw_pointer, size_t count)
{
    raw_ort *raw = raw_pointer;
    for (size_t i = 0; i < count; i++) {
        ort_check(api.RunWithBinding(raw->session, raw->options, raw->binding));
    }
}

static void run_fresh(void *raw_pointer, size_t count)
{
    raw_ort *raw = raw_pointer;
    for (size_t i = 0; i < count; i++) {
        OrtValue *values[MOST_SLOTS];
        size_t set = next_set(raw), slots = model_slot_count(raw->spec);
        for (size_t slot = 0; slot < slots; slot++) {
            values[slot] = new_value(raw, set, slot);
        }
        run_values(raw, values);
        for (size_t slot = 0; slot < slots; slot++) {
            api.ReleaseValue(values[slot]);
        }
    }
}

static void run_other(void *raw_pointer, size_t count)
{
    raw_ort *raw = raw_pointer;
    for (size_t i = 0; i < count; i++) {
        run_values(raw, raw->values[next_set(raw)]);
    }
}

static void rebind_and_run(void *raw_pointer, size_t count)
{
    raw_ort *raw = raw_pointer;
    for (size_t i = 0; i < count; i++) {
        bind(raw, next_set(raw));
        ort_check(api.RunWithBinding(raw->session, raw->options, raw->binding));
    }
}

static void *data_of(OrtValue *value)
{
    void *data;
    ort_check(api.GetTensorMutableData(value, &data));
    return data;
}

/* Outputs come from the engine, and are then copied to where they are wanted. */
static void run_once_and_copy_out(raw_ort *raw, OrtValue *const *inputs)
{
    OrtValue *values[MOST_SLOTS] = {NULL};
    const model_spec *spec = raw->spec;
    memcpy(values, inputs, spec->inputs * sizeof *values);
    run_values(raw, values);
    for (size_t slot = spec->inputs; slot < model_slot_count(spec); slot++) {
        memcpy(raw->memory->data[0][slot], data_of(values[slot]), raw->memory->sizes[slot]);
        api.ReleaseValue(values[slot]);
    }
}

/* Inputs are used where they are. */
static void run_and_copy_out(void *raw_pointer, size_t count)
{
    raw_ort *raw = raw_pointer;
    for (size_t i = 0; i < count; i++) {
        run_once_and_copy_out(raw, raw->values[0]);
    }
}

static void copy_in_run_and_copy_out(void *raw_pointer, size_t count)
{
    raw_ort *raw = raw_pointer;
    for (size_t i = 0; i < count; i++) {
        for (size_t slot = 0; slot < raw->spec->inputs; slot++) {
            memcpy(data_of(raw->own[slot]), raw->memory->data[0][slot], raw->memory->sizes[slot]);
        }
        run_once_and_copy_out(raw, raw->own);
    }
}

const raw_engine raw_onnxruntime = {
    "onnxruntime",
    ".onnx",
    ort_open,
    ort_close,
    ort_rewind,
    {
        [RAW_BOUND] = {{"RunWithBinding", run_bound}, {"Run, values made before", run_same}},
        [RAW_LENT] = {{"CreateTensorWithData, Run, ReleaseValue", run_fresh}},
        [RAW_REBIND] = {{"Run, values made before", run_other}, {"BindInput, BindOutput, RunWithBinding", rebind_and_run}},
        [RAW_COPIED] = {{"Run, outputs of the engine, memcpy", run_and_copy_out},
                        {"memcpy, values of the engine, Run, memcpy", copy_in_run_and_copy_out}},
    },
};
