/*
 * The part of TFLite's C interface that the crate tflitec calls, declared for its build script, which runs bindgen on this
 * file. Without TFLITEC_HEADER_DIR that script downloads TFLite's own headers instead; they do as well.
 *
 * Nothing of zerobind includes this: its own table of functions is in src/runtime/tflite/symbols.rs.
 */
#ifndef ZEROBIND_LINKED_C_API_H
#define ZEROBIND_LINKED_C_API_H

#include <stddef.h>
#include <stdint.h>

typedef struct TfLiteModel TfLiteModel;
typedef struct TfLiteInterpreterOptions TfLiteInterpreterOptions;
typedef struct TfLiteInterpreter TfLiteInterpreter;
typedef struct TfLiteSignatureRunner TfLiteSignatureRunner;
typedef struct TfLiteTensor TfLiteTensor;

typedef enum TfLiteStatus { kTfLiteOk = 0, kTfLiteError = 1 } TfLiteStatus;

typedef enum TfLiteType {
    kTfLiteFloat32 = 1,
    kTfLiteInt32 = 2,
    kTfLiteUInt8 = 3,
    kTfLiteInt64 = 4,
    kTfLiteString = 5,
    kTfLiteBool = 6,
    kTfLiteInt16 = 7,
    kTfLiteComplex64 = 8,
    kTfLiteInt8 = 9,
    kTfLiteFloat16 = 10,
    kTfLiteFloat64 = 11,
    kTfLiteComplex128 = 12,
    kTfLiteUInt64 = 13,
    kTfLiteUInt32 = 16,
    kTfLiteUInt16 = 17,
    kTfLiteInt4 = 18,
    kTfLiteBFloat16 = 19
} TfLiteType;

typedef struct TfLiteQuantizationParams {
    float scale;
    int32_t zero_point;
} TfLiteQuantizationParams;

const char *TfLiteVersion(void);

TfLiteModel *TfLiteModelCreate(const void *bytes, size_t size);
TfLiteModel *TfLiteModelCreateFromFile(const char *path);
void TfLiteModelDelete(TfLiteModel *model);

TfLiteInterpreterOptions *TfLiteInterpreterOptionsCreate(void);
void TfLiteInterpreterOptionsDelete(TfLiteInterpreterOptions *options);
void TfLiteInterpreterOptionsSetNumThreads(TfLiteInterpreterOptions *options, int32_t count);

TfLiteInterpreter *TfLiteInterpreterCreate(const TfLiteModel *model, const TfLiteInterpreterOptions *options);
void TfLiteInterpreterDelete(TfLiteInterpreter *interpreter);
int32_t TfLiteInterpreterGetInputTensorCount(const TfLiteInterpreter *interpreter);
int32_t TfLiteInterpreterGetOutputTensorCount(const TfLiteInterpreter *interpreter);
TfLiteTensor *TfLiteInterpreterGetInputTensor(const TfLiteInterpreter *interpreter, int32_t index);
const TfLiteTensor *TfLiteInterpreterGetOutputTensor(const TfLiteInterpreter *interpreter, int32_t index);
TfLiteStatus TfLiteInterpreterResizeInputTensor(TfLiteInterpreter *interpreter, int32_t index, const int *dims, int32_t rank);
TfLiteStatus TfLiteInterpreterAllocateTensors(TfLiteInterpreter *interpreter);
TfLiteStatus TfLiteInterpreterInvoke(TfLiteInterpreter *interpreter);
int32_t TfLiteInterpreterGetSignatureCount(const TfLiteInterpreter *interpreter);
const char *TfLiteInterpreterGetSignatureKey(const TfLiteInterpreter *interpreter, int32_t index);
TfLiteSignatureRunner *TfLiteInterpreterGetSignatureRunner(const TfLiteInterpreter *interpreter, const char *key);

size_t TfLiteSignatureRunnerGetInputCount(const TfLiteSignatureRunner *runner);
size_t TfLiteSignatureRunnerGetOutputCount(const TfLiteSignatureRunner *runner);
const char *TfLiteSignatureRunnerGetInputName(const TfLiteSignatureRunner *runner, int32_t index);
const char *TfLiteSignatureRunnerGetOutputName(const TfLiteSignatureRunner *runner, int32_t index);
TfLiteTensor *TfLiteSignatureRunnerGetInputTensor(TfLiteSignatureRunner *runner, const char *name);
const TfLiteTensor *TfLiteSignatureRunnerGetOutputTensor(const TfLiteSignatureRunner *runner, const char *name);
TfLiteStatus TfLiteSignatureRunnerResizeInputTensor(TfLiteSignatureRunner *runner, const char *name, const int *dims,
                                                    int32_t rank);
TfLiteStatus TfLiteSignatureRunnerAllocateTensors(TfLiteSignatureRunner *runner);
TfLiteStatus TfLiteSignatureRunnerInvoke(TfLiteSignatureRunner *runner);
void TfLiteSignatureRunnerDelete(TfLiteSignatureRunner *runner);

TfLiteType TfLiteTensorType(const TfLiteTensor *tensor);
int32_t TfLiteTensorNumDims(const TfLiteTensor *tensor);
int32_t TfLiteTensorDim(const TfLiteTensor *tensor, int32_t index);
size_t TfLiteTensorByteSize(const TfLiteTensor *tensor);
void *TfLiteTensorData(const TfLiteTensor *tensor);
const char *TfLiteTensorName(const TfLiteTensor *tensor);
TfLiteQuantizationParams TfLiteTensorQuantizationParams(const TfLiteTensor *tensor);
TfLiteStatus TfLiteTensorCopyFromBuffer(TfLiteTensor *tensor, const void *bytes, size_t size);

#endif
