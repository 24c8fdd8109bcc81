/* TFLite's library, and an interpreter with XNNPACK. */
#ifndef ZEROBIND_BENCHES_RAW_TFLITE_H
#define ZEROBIND_BENCHES_RAW_TFLITE_H

#include "raw.h"

/* The engine's objects; never looked into. */
typedef struct tfl_object tfl_object;

typedef struct tfl_allocation {
    void *data;
    size_t bytes;
} tfl_allocation;

typedef struct tfl_api {
    tfl_object *(*ModelCreateFromFile)(const char *path);
    tfl_object *(*ModelCreate)(const void *data, size_t size);
    void (*ModelDelete)(tfl_object *model);
    tfl_object *(*InterpreterOptionsCreate)(void);
    void (*InterpreterOptionsDelete)(tfl_object *options);
    void (*InterpreterOptionsSetNumThreads)(tfl_object *options, int32_t threads);
    void (*InterpreterOptionsAddDelegate)(tfl_object *options, tfl_object *delegate);
    tfl_object *(*XNNPackDelegateCreate)(const void *options);
    void (*XNNPackDelegateDelete)(tfl_object *delegate);
    tfl_object *(*InterpreterCreate)(const tfl_object *model, const tfl_object *options);
    void (*InterpreterDelete)(tfl_object *interpreter);
    int (*InterpreterAllocateTensors)(tfl_object *interpreter);
    int (*InterpreterResizeInputTensor)(tfl_object *interpreter, int32_t input, const int *dims, int32_t rank);
    int32_t (*InterpreterGetInputTensorCount)(const tfl_object *interpreter);
    int32_t (*InterpreterGetOutputTensorCount)(const tfl_object *interpreter);
    const int *(*InterpreterInputTensorIndices)(const tfl_object *interpreter);
    const int *(*InterpreterOutputTensorIndices)(const tfl_object *interpreter);
    tfl_object *(*InterpreterGetTensor)(const tfl_object *interpreter, int tensor);
    size_t (*TensorByteSize)(const tfl_object *tensor);
    int (*TensorCopyFromBuffer)(tfl_object *tensor, const void *data, size_t size);
    int (*TensorCopyToBuffer)(const tfl_object *tensor, void *data, size_t size);
    int (*InterpreterSetCustomAllocationForTensor)(tfl_object *interpreter, int tensor, const tfl_allocation *memory,
                                                   int64_t flags);
    int (*InterpreterInvoke)(tfl_object *interpreter);
} tfl_api;

typedef struct tfl_interpreter {
    tfl_object *model, *delegate, *interpreter;
} tfl_interpreter;

/* Loaded at the first call, from ZEROBIND_TFLITE_LIB. */
const tfl_api *tfl_load(void);
/* One thread. Tensors are not allocated yet. */
tfl_interpreter tfl_open(const model_source *source);
void tfl_close(tfl_interpreter *interpreter);

#endif
