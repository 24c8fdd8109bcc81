/* TFLite by its own C API, first as zerobind's contexts are by default, with XNNPACK, then without. */
#include "engine.h"
#include "trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zerobind.h>

typedef struct object object; /* the engine's; never looked into */

#define FUNCTIONS(function)                                                                                                  \
    function(object *, ModelCreate, (const void *, size_t))                                                                  \
    function(object *, InterpreterOptionsCreate, (void))                                                                     \
    function(void, InterpreterOptionsSetNumThreads, (object *, int32_t))                                                     \
    function(void, InterpreterOptionsAddDelegate, (object *, object *))                                                      \
    function(object *, XNNPackDelegateCreate, (const void *))                                                                \
    function(object *, InterpreterCreate, (const object *, const object *))                                                  \
    function(void, InterpreterDelete, (object *))                                                                            \
    function(void, XNNPackDelegateDelete, (object *))                                                                        \
    function(void, ModelDelete, (object *))                                                                                  \
    function(int32_t, InterpreterGetInputTensorCount, (const object *))                                                      \
    function(int32_t, InterpreterGetOutputTensorCount, (const object *))                                                     \
    function(object *, InterpreterGetInputTensor, (const object *, int32_t))                                                 \
    function(const object *, InterpreterGetOutputTensor, (const object *, int32_t))                                          \
    function(int, InterpreterResizeInputTensor, (object *, int32_t, const int *, int32_t))                                   \
    function(int, InterpreterAllocateTensors, (object *))                                                                    \
    function(int, InterpreterInvoke, (object *))                                                                             \
    function(int, TensorType, (const object *))                                                                              \
    function(int32_t, TensorNumDims, (const object *))                                                                       \
    function(int32_t, TensorDim, (const object *, int32_t))                                                                  \
    function(size_t, TensorByteSize, (const object *))                                                                       \
    function(void *, TensorData, (const object *))

static struct {
#define FIELD(result, name, parameters) result(*name) parameters;
    FUNCTIONS(FIELD)
#undef FIELD
} api;

void raw_tflite_preload(void)
{
    void *library = engine_library("ZEROBIND_TFLITE_LIB");
#define FILL(result, name, parameters) engine_function(library, "TfLite" #name, &api.name);
    FUNCTIONS(FILL)
#undef FILL
}

/* zerobind's number of an element type of TFLite; 0 for those that are not filled. */
static int dtype_of(int type)
{
    static const int known[] = {0,
                                ZB_DTYPE_F32,
                                ZB_DTYPE_I32,
                                ZB_DTYPE_U8,
                                ZB_DTYPE_I64,
                                0,
                                ZB_DTYPE_BOOL,
                                ZB_DTYPE_I16,
                                0,
                                ZB_DTYPE_I8,
                                ZB_DTYPE_F16,
                                ZB_DTYPE_F64};
    return type >= 0 && type < (int)(sizeof known / sizeof *known) ? known[type] : 0;
}

/* TFLite's file has a 1 where a dimension is open, so the table of models tells which input is to have another shape. */
static int resize(const subject *model, object *interpreter)
{
    const shape *first = &model->shapes[0];
    int dims[4];
    if (first->rank == 0 || api.InterpreterGetInputTensorCount(interpreter) < 1) {
        return 0;
    }
    for (uint32_t i = 0; i < first->rank; i++) {
        dims[i] = (int)first->dims[i];
    }
    return api.InterpreterResizeInputTensor(interpreter, 0, dims, (int32_t)first->rank);
}

static void fill_inputs(const subject *model, object *interpreter, int value)
{
    int32_t count = api.InterpreterGetInputTensorCount(interpreter);
    for (int32_t i = 0; i < count; i++) {
        object *tensor = api.InterpreterGetInputTensor(interpreter, i);
        void *data = api.TensorData(tensor);
        int dtype = dtype_of(api.TensorType(tensor));
        if (data != NULL && dtype != 0) {
            fill(model, data, api.TensorByteSize(tensor), dtype, value);
        }
    }
}

static void read_outputs(const object *interpreter)
{
    int32_t count = api.InterpreterGetOutputTensorCount(interpreter);
    for (int32_t i = 0; i < count; i++) {
        const object *tensor = api.InterpreterGetOutputTensor(interpreter, i);
        look_at(api.TensorData(tensor), api.TensorByteSize(tensor));
    }
}

/* Whether the stages from the plan on succeed. */
static int plan_and_run(const subject *model, object *interpreter, outcome *told)
{
    told->stage = STAGE_PREPARE;
    if (resize(model, interpreter) != 0 || api.InterpreterAllocateTensors(interpreter) != 0) {
        refuse(told, 1, "AllocateTensors");
        return 0;
    }
    for (int value = 0; value < 2; value++) {
        told->stage = value == 0 ? STAGE_ZEROS : STAGE_ONES;
        fill_inputs(model, interpreter, value);
        if (api.InterpreterInvoke(interpreter) != 0) {
            refuse(told, 1, "Invoke");
            return 0;
        }
        read_outputs(interpreter);
    }
    return 1;
}

/* Whether all of it worked with one configuration. */
static int run_configured(const subject *model, const object *parsed, int xnnpack, outcome *told)
{
    told->stage = STAGE_CONTEXT;
    object *options = api.InterpreterOptionsCreate(), *delegate = NULL;
    api.InterpreterOptionsSetNumThreads(options, 1);
    if (xnnpack) {
        delegate = api.XNNPackDelegateCreate(NULL);
        api.InterpreterOptionsAddDelegate(options, delegate);
    }
    object *interpreter = api.InterpreterCreate(parsed, options);
    if (interpreter == NULL) {
        refuse(told, 1, "InterpreterCreate");
        return 0;
    }
    int works = plan_and_run(model, interpreter, told);
    api.InterpreterDelete(interpreter);
    if (delegate != NULL) {
        api.XNNPackDelegateDelete(delegate);
    }
    return works;
}

void raw_tflite_run(const subject *model, const unsigned char *bytes, size_t size, outcome *told)
{
    object *parsed = api.ModelCreate(bytes, size);
    if (parsed == NULL) {
        refuse(told, 1, "ModelCreate");
        return;
    }
    int delegated = run_configured(model, parsed, 1, told), plain = run_configured(model, parsed, 0, told);
    api.ModelDelete(parsed);
    /* what either can run counts as a model that runs */
    if (delegated || plain) {
        told->ended = ENDED_RAN;
    }
}
