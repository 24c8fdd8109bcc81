/* ONNX Runtime by its own C API, set up as zerobind's contexts are by default. */
#include "engine.h"
#include "trial.h"

#include "../../benches/raw/ort_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zerobind.h>

enum { MOST_SLOTS = 16, MOST_RANK = 16, TENSOR = 1, STRING = 8 };

static ort_api api;

/* The engine's environment holds no threads: those belong to sessions. */
static OrtEnv *environment;

typedef struct api_base {
    void *const *(*get_api)(uint32_t version);
    const char *(*get_version)(void);
} api_base;

void raw_ort_preload(void)
{
    const api_base *(*get_base)(void);
    engine_function(engine_library("ZEROBIND_ONNXRUNTIME_LIB"), "OrtGetApiBase", &get_base);
    void *const *table = get_base()->get_api(ORT_API_VERSION);
#define FILL(place, name, result, parameters) memcpy(&api.name, &table[place], sizeof table[place]);
    ORT_FUNCTIONS(FILL)
#undef FILL
    if (api.CreateEnv(ORT_LOG_WARNING, "damaged", &environment) != NULL) {
        exit(EXIT_FAILURE);
    }
}

/* Whether the engine did it; else the trial is over. */
static int done(OrtStatus *status, outcome *told)
{
    if (status != NULL) {
        refuse(told, 1, api.GetErrorMessage(status));
        api.ReleaseStatus(status);
    }
    return status == NULL;
}

/* An engine's number of an element type, its size, and zerobind's number where it can be filled with ones. */
typedef struct element {
    int size, dtype;
} element;

static element element_of(int type)
{
    static const element known[] = {{0, 0},
                                    {4, ZB_DTYPE_F32},
                                    {1, ZB_DTYPE_U8},
                                    {1, ZB_DTYPE_I8},
                                    {2, ZB_DTYPE_U16},
                                    {2, ZB_DTYPE_I16},
                                    {4, ZB_DTYPE_I32},
                                    {8, ZB_DTYPE_I64},
                                    {0, 0},
                                    {1, ZB_DTYPE_BOOL},
                                    {2, ZB_DTYPE_F16},
                                    {8, ZB_DTYPE_F64},
                                    {4, ZB_DTYPE_U32},
                                    {8, ZB_DTYPE_U64}};
    return type >= 0 && type < (int)(sizeof known / sizeof *known) ? known[type] : known[0];
}

typedef struct session {
    OrtSession *raw;
    OrtMemoryInfo *host;
    OrtAllocator *allocator;
    size_t inputs, outputs;
    char *names[2 * MOST_SLOTS];
    OrtValue *values[2 * MOST_SLOTS];
    void *data[MOST_SLOTS];
    size_t sizes[MOST_SLOTS];
    int dtypes[MOST_SLOTS];
} session;

static int refused(outcome *told, const char *text)
{
    refuse(told, 1, text);
    return 0;
}

static int make_input(session *open, const subject *model, size_t slot, outcome *told)
{
    OrtTypeInfo *info;
    const OrtTensorTypeAndShapeInfo *shape = NULL;
    int type = 0;
    size_t rank = 0;
    int64_t dims[MOST_RANK];
    if (!done(api.SessionGetInputTypeInfo(open->raw, slot, &info), told) ||
        !done(api.CastTypeInfoToTensorInfo(info, &shape), told)) {
        return 0;
    }
    if (shape == NULL) {
        return refused(told, "an input is no tensor");
    }
    if (!done(api.GetTensorElementType(shape, &type), told) || !done(api.GetDimensionsCount(shape, &rank), told)) {
        return 0;
    }
    if (rank > MOST_RANK || element_of(type).size == 0) {
        return refused(told, "a type or rank that the harness does not fill");
    }
    if (!done(api.GetDimensions(shape, dims, rank), told)) {
        return 0;
    }
    size_t size = (size_t)element_of(type).size;
    for (size_t i = 0; i < rank; i++) {
        if (dims[i] < 0) {
            dims[i] = open_dim(model, slot, i);
        }
        if (__builtin_mul_overflow(size, (size_t)dims[i], &size) || size > MOST_TENSOR_BYTES) {
            return refused(told, "an input over the harness's limit");
        }
    }
    api.ReleaseTypeInfo(info);
    open->dtypes[slot] = element_of(type).dtype;
    open->sizes[slot] = size;
    open->data[slot] = calloc(1, size + 64);
    return done(api.CreateTensorWithDataAsOrtValue(open->host, open->data[slot], size, dims, rank, type, &open->values[slot]),
                told);
}

static int find_slots(session *open, const subject *model, outcome *told)
{
    if (!done(api.SessionGetInputCount(open->raw, &open->inputs), told) ||
        !done(api.SessionGetOutputCount(open->raw, &open->outputs), told) ||
        !done(api.GetAllocatorWithDefaultOptions(&open->allocator), told) ||
        !done(api.CreateCpuMemoryInfo(ORT_ARENA_ALLOCATOR, ORT_MEM_TYPE_DEFAULT, &open->host), told)) {
        return 0;
    }
    if (open->inputs > MOST_SLOTS || open->outputs > MOST_SLOTS) {
        return refused(told, "more slots than the harness has room for");
    }
    for (size_t i = 0; i < open->inputs; i++) {
        if (!done(api.SessionGetInputName(open->raw, i, open->allocator, &open->names[i]), told) ||
            !make_input(open, model, i, told)) {
            return 0;
        }
    }
    for (size_t i = 0; i < open->outputs; i++) {
        if (!done(api.SessionGetOutputName(open->raw, i, open->allocator, &open->names[open->inputs + i]), told)) {
            return 0;
        }
    }
    return 1;
}

static int run_on(session *open, const subject *model, int value, outcome *told)
{
    const char *const *names = (const char *const *)open->names;
    OrtValue **outputs = open->values + open->inputs;
    for (size_t i = 0; i < open->inputs; i++) {
        fill(model, open->data[i], open->sizes[i], open->dtypes[i], value);
    }
    if (!done(api.Run(open->raw, NULL, names, (const OrtValue *const *)open->values, open->inputs, names + open->inputs,
                      open->outputs, outputs),
              told)) {
        return 0;
    }
    for (size_t i = 0; i < open->outputs; i++) {
        if (outputs[i] != NULL) {
            api.ReleaseValue(outputs[i]);
            outputs[i] = NULL;
        }
    }
    return 1;
}

void raw_ort_run(const subject *model, const unsigned char *bytes, size_t size, outcome *told)
{
    OrtSessionOptions *options;
    session open;
    memset(&open, 0, sizeof open);
    told->stage = STAGE_CONTEXT;
    if (!done(api.CreateSessionOptions(&options), told) || !done(api.SetIntraOpNumThreads(options, 1), told) ||
        !done(api.SetInterOpNumThreads(options, 1), told) ||
        !done(api.SetSessionGraphOptimizationLevel(options, ORT_ENABLE_ALL), told) ||
        !done(api.CreateSessionFromArray(environment, bytes, size, options, &open.raw), told)) {
        return;
    }
    told->stage = STAGE_PREPARE;
    if (!find_slots(&open, model, told)) {
        return;
    }
    for (int value = 0; value < 2; value++) {
        told->stage = value == 0 ? STAGE_ZEROS : STAGE_ONES;
        if (!run_on(&open, model, value, told)) {
            return;
        }
    }
    api.ReleaseSession(open.raw);
    told->ended = ENDED_RAN;
}
