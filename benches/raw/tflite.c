#include "tflite.h"

#include <dlfcn.h>

static tfl_api api;

static void find(void *library, const char *name, void *field)
{
    void *symbol = dlsym(library, name);
    REQUIRE(symbol != NULL, "TFLite has no %s", name);
    memcpy(field, &symbol, sizeof symbol);
}

const tfl_api *tfl_load(void)
{
    static int is_loaded;
    if (is_loaded) {
        return &api;
    }
    void *library = dlopen(bench_variable("ZEROBIND_TFLITE_LIB"), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != NULL, "%s", dlerror());
#define FIND(name) find(library, "TfLite" #name, &api.name)
    FIND(ModelCreateFromFile);
    FIND(ModelCreate);
    FIND(ModelDelete);
    FIND(InterpreterOptionsCreate);
    FIND(InterpreterOptionsDelete);
    FIND(InterpreterOptionsSetNumThreads);
    FIND(InterpreterOptionsAddDelegate);
    FIND(XNNPackDelegateCreate);
    FIND(XNNPackDelegateDelete);
    FIND(InterpreterCreate);
    FIND(InterpreterDelete);
    FIND(InterpreterAllocateTensors);
    FIND(InterpreterResizeInputTensor);
    FIND(InterpreterGetInputTensorCount);
    FIND(InterpreterGetOutputTensorCount);
    FIND(InterpreterInputTensorIndices);
    FIND(InterpreterOutputTensorIndices);
    FIND(InterpreterGetTensor);
    FIND(TensorByteSize);
    FIND(TensorCopyFromBuffer);
    FIND(TensorCopyToBuffer);
    FIND(InterpreterSetCustomAllocationForTensor);
    FIND(InterpreterInvoke);
#undef FIND
    is_loaded = 1;
    return &api;
}

tfl_interpreter tfl_open(const model_source *source)
{
    tfl_interpreter made;
    tfl_load();
    const char *path = source->path;
    made.model = path != NULL ? api.ModelCreateFromFile(path) : api.ModelCreate(source->bytes, source->size);
    REQUIRE(made.model != NULL, "TFLite cannot read the model %s", path != NULL ? path : "in memory");
    made.delegate = api.XNNPackDelegateCreate(NULL);
    REQUIRE(made.delegate != NULL, "no XNNPACK delegate");
    tfl_object *options = api.InterpreterOptionsCreate();
    api.InterpreterOptionsSetNumThreads(options, 1);
    api.InterpreterOptionsAddDelegate(options, made.delegate);
    made.interpreter = api.InterpreterCreate(made.model, options);
    api.InterpreterOptionsDelete(options);
    REQUIRE(made.interpreter != NULL, "no interpreter");
    return made;
}

void tfl_close(tfl_interpreter *made)
{
    api.InterpreterDelete(made->interpreter);
    api.XNNPackDelegateDelete(made->delegate);
    api.ModelDelete(made->model);
}

/* ---- runs ---- */

typedef struct raw_tfl {
    tfl_interpreter own;
    tfl_object *interpreter; /* the same, closer by */
    model_memory *memory;
    size_t slots, inputs;
    int tensors[MOST_SLOTS];
    tfl_object *copied[MOST_SLOTS];
    size_t next;
} raw_tfl;

static void check(int status, const char *what)
{
    REQUIRE(status == 0, "TFLite: %s gave %d", what, status);
}

static void give(const raw_tfl *raw, size_t set)
{
    for (size_t slot = 0; slot < raw->slots; slot++) {
        tfl_allocation memory = {raw->memory->data[set][slot], raw->memory->sizes[slot]};
        check(api.InterpreterSetCustomAllocationForTensor(raw->interpreter, raw->tensors[slot], &memory, 0),
              "SetCustomAllocationForTensor");
    }
}

static void resize(const raw_tfl *raw)
{
    for (size_t slot = 0; slot < raw->inputs; slot++) {
        const zb_tensor_desc *desc = &raw->memory->spec->slots[slot];
        int dims[ZB_MAX_RANK];
        for (uint32_t i = 0; i < desc->rank; i++) {
            dims[i] = (int)desc->dims[i];
        }
        check(api.InterpreterResizeInputTensor(raw->interpreter, (int32_t)slot, dims, (int32_t)desc->rank), "ResizeInputTensor");
    }
}

static void find_tensors(raw_tfl *raw)
{
    const model_spec *spec = raw->memory->spec;
    REQUIRE(api.InterpreterGetInputTensorCount(raw->interpreter) == (int32_t)spec->inputs &&
                api.InterpreterGetOutputTensorCount(raw->interpreter) == (int32_t)spec->outputs,
            "%s has other slots", spec->name);
    for (size_t slot = 0; slot < raw->slots; slot++) {
        raw->tensors[slot] = slot < raw->inputs ? api.InterpreterInputTensorIndices(raw->interpreter)[slot]
                                                : api.InterpreterOutputTensorIndices(raw->interpreter)[slot - raw->inputs];
    }
}

static void *tfl_open_for(const model_source *source, model_memory *memory, enum raw_kind kind)
{
    raw_tfl *raw = calloc(1, sizeof *raw);
    REQUIRE(raw != NULL, "out of memory");
    raw->own = tfl_open(source);
    raw->interpreter = raw->own.interpreter;
    raw->memory = memory;
    raw->slots = model_slot_count(memory->spec);
    raw->inputs = memory->spec->inputs;
    find_tensors(raw);
    resize(raw);
    if (kind != RAW_COPIED) {
        give(raw, 0);
    }
    check(api.InterpreterAllocateTensors(raw->interpreter), "AllocateTensors");
    for (size_t slot = 0; slot < raw->slots; slot++) {
        raw->copied[slot] = api.InterpreterGetTensor(raw->interpreter, raw->tensors[slot]);
        REQUIRE(api.TensorByteSize(raw->copied[slot]) == memory->sizes[slot], "%s: slot %zu has %zu bytes",
                memory->spec->name, slot, api.TensorByteSize(raw->copied[slot]));
    }
    return raw;
}

static void tfl_close_all(void *raw_pointer)
{
    raw_tfl *raw = raw_pointer;
    tfl_close(&raw->own);
    free(raw);
}

static void tfl_rewind(void *raw)
{
    ((raw_tfl *)raw)->next = 0;
}

static void invoke(void *raw_pointer, size_t count)
{
    raw_tfl *raw = raw_pointer;
    for (size_t i = 0; i < count; i++) {
        check(api.InterpreterInvoke(raw->interpreter), "Invoke");
    }
}

/* No new AllocateTensors: the engine takes a new address without, and experts leave it out. */
static void give_and_invoke(void *raw_pointer, size_t count)
{
    raw_tfl *raw = raw_pointer;
    for (size_t i = 0; i < count; i++) {
        give(raw, raw->next);
        raw->next = raw->next + 1 == raw->memory->sets ? 0 : raw->next + 1;
        check(api.InterpreterInvoke(raw->interpreter), "Invoke");
    }
}

static void copy_and_invoke(void *raw_pointer, size_t count)
{
    raw_tfl *raw = raw_pointer;
    for (size_t i = 0; i < count; i++) {
        for (size_t slot = 0; slot < raw->inputs; slot++) {
            check(api.TensorCopyFromBuffer(raw->copied[slot], raw->memory->data[0][slot], raw->memory->sizes[slot]),
                  "CopyFromBuffer");
        }
        check(api.InterpreterInvoke(raw->interpreter), "Invoke");
        for (size_t slot = raw->inputs; slot < raw->slots; slot++) {
            check(api.TensorCopyToBuffer(raw->copied[slot], raw->memory->data[0][slot], raw->memory->sizes[slot]),
                  "CopyToBuffer");
        }
    }
}

const raw_engine raw_tflite = {
    "tflite",
    ".tflite",
    tfl_open_for,
    tfl_close_all,
    tfl_rewind,
    {
        [RAW_BOUND] = {{"Invoke", invoke}},
        [RAW_LENT] = {{"SetCustomAllocationForTensor, Invoke", give_and_invoke}},
        [RAW_REBIND] = {{"SetCustomAllocationForTensor, Invoke", give_and_invoke}},
        [RAW_COPIED] = {{"CopyFromBuffer, Invoke, CopyToBuffer", copy_and_invoke}},
    },
};
