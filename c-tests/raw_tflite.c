#include "harness.h"

#include "raw_tflite.h"

#include <dlfcn.h>

/* the engine's objects; never looked into */
typedef struct engine_object engine_object;

struct raw_tflite {
    void *library;
    engine_object *model;
    engine_object *delegate;
    engine_object *interpreter;
};

/* Puts the address of a function of the engine into the function pointer at `place`. */
static void find(const raw_tflite *raw, const char *name, void *place)
{
    void *found = dlsym(raw->library, name);
    REQUIRE(found != NULL);
    memcpy(place, &found, sizeof found);
}

static engine_object *make_interpreter(raw_tflite *raw)
{
    engine_object *(*options_create)(void);
    void (*options_delete)(engine_object *);
    void (*set_threads)(engine_object *, int);
    void (*add_delegate)(engine_object *, engine_object *);
    engine_object *(*create)(engine_object *, engine_object *);
    find(raw, "TfLiteInterpreterOptionsCreate", &options_create);
    find(raw, "TfLiteInterpreterOptionsDelete", &options_delete);
    find(raw, "TfLiteInterpreterOptionsSetNumThreads", &set_threads);
    find(raw, "TfLiteInterpreterOptionsAddDelegate", &add_delegate);
    find(raw, "TfLiteInterpreterCreate", &create);
    engine_object *options = options_create();
    set_threads(options, 1);
    if (raw->delegate != NULL) {
        add_delegate(options, raw->delegate);
    }
    engine_object *interpreter = create(raw->model, options);
    options_delete(options);
    return interpreter;
}

raw_tflite *raw_tflite_open(const char *path, int xnnpack)
{
    engine_object *(*model_create)(const char *);
    engine_object *(*delegate_create)(const void *);
    raw_tflite *raw = calloc(1, sizeof *raw);
    const char *engine = getenv("ZEROBIND_TFLITE_LIB");
    REQUIRE(raw != NULL && engine != NULL);
    raw->library = dlopen(engine, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(raw->library != NULL);
    find(raw, "TfLiteModelCreateFromFile", &model_create);
    find(raw, "TfLiteXNNPackDelegateCreate", &delegate_create);
    raw->model = model_create(path);
    REQUIRE(raw->model != NULL);
    if (xnnpack) {
        raw->delegate = delegate_create(NULL);
        REQUIRE(raw->delegate != NULL);
    }
    raw->interpreter = make_interpreter(raw);
    REQUIRE(raw->interpreter != NULL);
    return raw;
}

void raw_tflite_resize(raw_tflite *raw, int input, const int *dims, int rank)
{
    int (*resize)(engine_object *, int, const int *, int);
    find(raw, "TfLiteInterpreterResizeInputTensor", &resize);
    REQUIRE(resize(raw->interpreter, input, dims, rank) == 0);
}

void raw_tflite_allocate(raw_tflite *raw)
{
    int (*allocate)(engine_object *);
    find(raw, "TfLiteInterpreterAllocateTensors", &allocate);
    REQUIRE(allocate(raw->interpreter) == 0);
}

void raw_tflite_write(raw_tflite *raw, int input, const void *data, size_t size)
{
    engine_object *(*get)(engine_object *, int);
    int (*copy)(engine_object *, const void *, size_t);
    find(raw, "TfLiteInterpreterGetInputTensor", &get);
    find(raw, "TfLiteTensorCopyFromBuffer", &copy);
    REQUIRE(copy(get(raw->interpreter, input), data, size) == 0);
}

static engine_object *slot_tensor(const raw_tflite *raw, int is_output, int slot)
{
    engine_object *(*get)(engine_object *, int);
    find(raw, is_output ? "TfLiteInterpreterGetOutputTensor" : "TfLiteInterpreterGetInputTensor", &get);
    return get(raw->interpreter, slot);
}

static int slot_count(const raw_tflite *raw, int is_output)
{
    int (*count)(const engine_object *);
    find(raw, is_output ? "TfLiteInterpreterGetOutputTensorCount" : "TfLiteInterpreterGetInputTensorCount", &count);
    return count(raw->interpreter);
}

int raw_tflite_input_count(raw_tflite *raw)
{
    return slot_count(raw, 0);
}

int raw_tflite_output_count(raw_tflite *raw)
{
    return slot_count(raw, 1);
}

size_t raw_tflite_input_size(raw_tflite *raw, int input)
{
    size_t (*bytes)(engine_object *);
    find(raw, "TfLiteTensorByteSize", &bytes);
    return bytes(slot_tensor(raw, 0, input));
}

void raw_tflite_invoke(raw_tflite *raw)
{
    int (*invoke)(engine_object *);
    find(raw, "TfLiteInterpreterInvoke", &invoke);
    REQUIRE(invoke(raw->interpreter) == 0);
}

const void *raw_tflite_output(raw_tflite *raw, int output, size_t *size)
{
    engine_object *(*get)(engine_object *, int);
    const void *(*data)(engine_object *);
    size_t (*bytes)(engine_object *);
    find(raw, "TfLiteInterpreterGetOutputTensor", &get);
    find(raw, "TfLiteTensorData", &data);
    find(raw, "TfLiteTensorByteSize", &bytes);
    engine_object *tensor = get(raw->interpreter, output);
    *size = bytes(tensor);
    return data(tensor);
}

void raw_tflite_quantization(raw_tflite *raw, int is_output, int slot, float *scale, int *zero_point)
{
    struct parameters {
        float scale;
        int32_t zero_point;
    } found;
    struct parameters (*get)(const engine_object *);
    find(raw, "TfLiteTensorQuantizationParams", &get);
    found = get(slot_tensor(raw, is_output, slot));
    *scale = found.scale;
    *zero_point = found.zero_point;
}

int raw_tflite_signature_count(raw_tflite *raw)
{
    int (*count)(const engine_object *);
    find(raw, "TfLiteInterpreterGetSignatureCount", &count);
    return count(raw->interpreter);
}

const char *raw_tflite_signature_key(raw_tflite *raw, int signature)
{
    const char *(*key)(const engine_object *, int);
    find(raw, "TfLiteInterpreterGetSignatureKey", &key);
    return key(raw->interpreter, signature);
}

static engine_object *make_runner(const raw_tflite *raw, const char *key)
{
    engine_object *(*get)(const engine_object *, const char *);
    find(raw, "TfLiteInterpreterGetSignatureRunner", &get);
    engine_object *runner = get(raw->interpreter, key);
    REQUIRE(runner != NULL);
    return runner;
}

static void delete_runner(const raw_tflite *raw, engine_object *runner)
{
    void (*runner_delete)(engine_object *);
    find(raw, "TfLiteSignatureRunnerDelete", &runner_delete);
    runner_delete(runner);
}

int raw_tflite_name_count(raw_tflite *raw, const char *key, int is_output)
{
    size_t (*get)(const engine_object *);
    find(raw, is_output ? "TfLiteSignatureRunnerGetOutputCount" : "TfLiteSignatureRunnerGetInputCount", &get);
    engine_object *runner = make_runner(raw, key);
    int count = (int)get(runner);
    delete_runner(raw, runner);
    return count;
}

const char *raw_tflite_name(raw_tflite *raw, const char *key, int is_output, int index)
{
    const char *(*get)(const engine_object *, int);
    find(raw, is_output ? "TfLiteSignatureRunnerGetOutputName" : "TfLiteSignatureRunnerGetInputName", &get);
    engine_object *runner = make_runner(raw, key);
    const char *name = get(runner, index);
    delete_runner(raw, runner);
    return name;
}

int raw_tflite_named_slot(raw_tflite *raw, const char *key, int is_output, const char *name)
{
    engine_object *(*get)(engine_object *, const char *);
    find(raw, is_output ? "TfLiteSignatureRunnerGetOutputTensor" : "TfLiteSignatureRunnerGetInputTensor", &get);
    engine_object *runner = make_runner(raw, key);
    engine_object *tensor = get(runner, name);
    int slot = slot_count(raw, is_output) - 1;
    REQUIRE(tensor != NULL);
    while (slot >= 0 && slot_tensor(raw, is_output, slot) != tensor) {
        slot--;
    }
    delete_runner(raw, runner);
    return slot;
}

void raw_tflite_close(raw_tflite *raw)
{
    void (*interpreter_delete)(engine_object *);
    void (*delegate_delete)(engine_object *);
    void (*model_delete)(engine_object *);
    find(raw, "TfLiteInterpreterDelete", &interpreter_delete);
    find(raw, "TfLiteXNNPackDelegateDelete", &delegate_delete);
    find(raw, "TfLiteModelDelete", &model_delete);
    interpreter_delete(raw->interpreter);
    if (raw->delegate != NULL) {
        delegate_delete(raw->delegate);
    }
    model_delete(raw->model);
    dlclose(raw->library);
    free(raw);
}
