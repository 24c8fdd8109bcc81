#include "raw_onnx.h"

#include "compare.h"

#include <dlfcn.h>

#include "../../benches/raw/ort_api.h"

enum { RUNS = 3 };

typedef struct raw_engine {
    ort_api api;
    OrtEnv *environment;
    OrtMemoryInfo *host;
} raw_engine;

/* A function that is known by its place in the engine's table, or by its name. */
static void put(void *field, void *const *place)
{
    memcpy(field, place, sizeof *place);
}

static void load_table(ort_api *api)
{
    typedef struct api_base {
        void *const *(*get_api)(uint32_t version);
        const char *(*get_version)(void);
    } api_base;
    const api_base *(*get_base)(void);
    const char *path = getenv("ZEROBIND_ONNXRUNTIME_LIB");
    REQUIRE(path != NULL);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != NULL);
    void *symbol = dlsym(library, "OrtGetApiBase");
    REQUIRE(symbol != NULL);
    put(&get_base, &symbol);
    void *const *table = get_base()->get_api(ORT_API_VERSION);
    REQUIRE(table != NULL);
#define FILL(place, name, result, parameters) put(&api->name, &table[place]);
    ORT_FUNCTIONS(FILL)
#undef FILL
}

static const raw_engine *engine(void)
{
    static raw_engine loaded;
    if (loaded.environment == NULL) {
        /* the process has one environment, whoever asks first makes it: this way it is zerobind's, as in a program */
        REQUIRE_OK(zb_runtime_load(ZB_RUNTIME_ONNXRUNTIME, NULL));
        load_table(&loaded.api);
        REQUIRE(loaded.api.CreateEnv(ORT_LOG_WARNING, "conformance", &loaded.environment) == NULL);
        REQUIRE(loaded.api.DisableTelemetryEvents(loaded.environment) == NULL);
        REQUIRE(loaded.api.CreateCpuMemoryInfo(ORT_ARENA_ALLOCATOR, ORT_MEM_TYPE_DEFAULT, &loaded.host) == NULL);
    }
    return &loaded;
}

/* Whether a call succeeded; its text goes into the result if not. */
static int succeeded(OrtStatus *status, raw_result *result)
{
    const ort_api *api = &engine()->api;
    if (status == NULL) {
        return 1;
    }
    snprintf(result->why, sizeof result->why, "%s", api->GetErrorMessage(status));
    api->ReleaseStatus(status);
    return 0;
}

static OrtSession *make_session(const reference_case *each, raw_result *result)
{
    const raw_engine *raw = engine();
    OrtSession *session = NULL;
    OrtSessionOptions *options;
    REQUIRE(raw->api.CreateSessionOptions(&options) == NULL);
    REQUIRE(raw->api.SetIntraOpNumThreads(options, 1) == NULL);
    REQUIRE(raw->api.SetInterOpNumThreads(options, 1) == NULL);
    REQUIRE(raw->api.SetSessionGraphOptimizationLevel(options, ORT_ENABLE_ALL) == NULL);
    if (!succeeded(raw->api.CreateSession(raw->environment, each->path, options, &session), result)) {
        session = NULL;
    }
    raw->api.ReleaseSessionOptions(options);
    return session;
}

/* A tensor on memory at `bytes`, which it only reads if it is an input; NULL if the engine has no tensors of that kind. */
static OrtValue *wrap(const reference_slot *slot, const void *bytes, raw_result *result)
{
    const raw_engine *raw = engine();
    OrtValue *value = NULL;
    union {
        const void *from;
        void *to;
    } place;
    place.from = bytes;
    OrtStatus *status = raw->api.CreateTensorWithDataAsOrtValue(raw->host, place.to, slot->size, slot->desc.dims,
                                                                slot->desc.rank, slot->onnx_type, &value);
    return succeeded(status, result) ? value : NULL;
}

/* Whether a computed value has the type and shape of the reference. */
static int has_desc(const reference_slot *slot, const OrtValue *value, raw_result *result)
{
    const ort_api *api = &engine()->api;
    OrtTensorTypeAndShapeInfo *about;
    int type = 0, same;
    size_t rank = 0;
    int64_t dims[ZB_MAX_RANK] = {0};
    if (!succeeded(api->GetTensorTypeAndShape(value, &about), result)) {
        return 0;
    }
    REQUIRE(api->GetTensorElementType(about, &type) == NULL && api->GetDimensionsCount(about, &rank) == NULL);
    REQUIRE(rank <= ZB_MAX_RANK && api->GetDimensions(about, dims, rank) == NULL);
    api->ReleaseTensorTypeAndShapeInfo(about);
    same = type == slot->onnx_type && rank == slot->desc.rank && memcmp(dims, slot->desc.dims, rank * sizeof *dims) == 0;
    if (!same) {
        snprintf(result->why, sizeof result->why, "%s has another type or shape than the reference", slot->name);
    }
    return same;
}

/* Keeps the bytes of a value, and whether they are those of the run before. */
static void keep(raw_result *result, size_t index, const void *bytes, size_t size)
{
    unsigned char **kept = &result->outputs[index];
    if (*kept == NULL) {
        *kept = malloc(size + 1);
        REQUIRE(*kept != NULL);
    } else {
        result->is_repeatable &= memcmp(*kept, bytes, size) == 0;
    }
    memcpy(*kept, bytes, size);
}

/* One value that differs makes the outcome RAW_DIFFERS; the others are kept all the same. */
static void judge(const reference_case *each, OrtValue **outputs, raw_result *result)
{
    for (size_t i = 0; i < each->output_count; i++) {
        const reference_slot *slot = &each->outputs[i];
        void *bytes = NULL;
        if (!has_desc(slot, outputs[i], result)) {
            result->outcome = RAW_DIFFERS;
            result->is_repeatable = 0;
            return;
        }
        REQUIRE(engine()->api.GetTensorMutableData(outputs[i], &bytes) == NULL);
        if (!is_right(each, slot, bytes, result->why, sizeof result->why)) {
            result->outcome = RAW_DIFFERS;
        }
        if (slot->size > 0) {
            keep(result, i, bytes, slot->size);
        }
    }
}

/* The values of a run; the engine makes outputs that are NULL. */
typedef struct run_values {
    OrtValue *inputs[MOST_SLOTS], *outputs[MOST_SLOTS];
} run_values;

static int call_run(const reference_case *each, OrtSession *session, run_values *values, raw_result *result)
{
    const char *inputs[MOST_SLOTS], *outputs[MOST_SLOTS];
    for (size_t i = 0; i < each->input_count; i++) {
        inputs[i] = each->inputs[i].name;
        if (values->inputs[i] == NULL) {
            return 0;
        }
    }
    for (size_t i = 0; i < each->output_count; i++) {
        outputs[i] = each->outputs[i].name;
    }
    return succeeded(engine()->api.Run(session, NULL, inputs, (const OrtValue *const *)values->inputs, each->input_count,
                                       outputs, each->output_count, values->outputs),
                     result);
}

static void free_values(run_values *values)
{
    for (size_t i = 0; i < MOST_SLOTS; i++) {
        engine()->api.ReleaseValue(values->inputs[i]);
        engine()->api.ReleaseValue(values->outputs[i]);
    }
}

static void run_once(const reference_case *each, OrtSession *session, raw_result *result)
{
    run_values values;
    memset(&values, 0, sizeof values);
    for (size_t i = 0; i < each->input_count; i++) {
        values.inputs[i] = wrap(&each->inputs[i], each->inputs[i].bytes, result);
    }
    if (call_run(each, session, &values, result)) {
        judge(each, values.outputs, result);
    } else {
        result->outcome = RAW_RUN_FAILS;
    }
    free_values(&values);
}

int run_raw_there(const reference_case *each, const raw_result *result, void *const *inputs, void *const *outputs)
{
    raw_result text;
    run_values values;
    memset(&values, 0, sizeof values);
    for (size_t i = 0; i < each->input_count; i++) {
        values.inputs[i] = wrap(&each->inputs[i], inputs[i], &text);
    }
    for (size_t i = 0; i < each->output_count; i++) {
        values.outputs[i] = wrap(&each->outputs[i], outputs[i], &text);
    }
    int ran = call_run(each, result->session, &values, &text);
    free_values(&values);
    return ran;
}

void run_raw(const reference_case *each, raw_result *result)
{
    memset(result, 0, sizeof *result);
    result->is_repeatable = 1;
    OrtSession *session = make_session(each, result);
    result->session = session;
    if (session == NULL) {
        result->outcome = RAW_NO_SESSION;
        return;
    }
    result->outcome = is_numeric(each) ? RAW_RIGHT : RAW_SESSION_ONLY;
    for (int i = 0; i < RUNS && (result->outcome == RAW_RIGHT || result->outcome == RAW_DIFFERS); i++) {
        run_once(each, session, result);
    }
}

void free_raw(raw_result *result)
{
    engine()->api.ReleaseSession(result->session);
    for (size_t i = 0; i < MOST_SLOTS; i++) {
        free(result->outputs[i]);
    }
    memset(result, 0, sizeof *result);
}

const char *raw_outcome_name(raw_outcome outcome)
{
    static const char *const names[] = {
        [RAW_RIGHT] = "right",         [RAW_SESSION_ONLY] = "session", [RAW_NO_SESSION] = "no-session",
        [RAW_RUN_FAILS] = "run-fails", [RAW_DIFFERS] = "differs",
    };
    return names[outcome];
}
