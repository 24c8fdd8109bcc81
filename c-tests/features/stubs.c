/*
 * Engines in name only, to see what a link needs and what it leaves open: every function that zerobind cannot do without,
 * none that it can, all in a program without a shared library. Nothing of them is called but the versions.
 */
#include <stdlib.h>

const char *TfLiteVersion(void);
const char *TfLiteVersion(void)
{
    return "2.17.0";
}

#define STUB(name)  \
    void name(void); \
    void name(void)  \
    {                \
        abort();     \
    }
STUB(TfLiteModelCreate)
STUB(TfLiteModelCreateFromFile)
STUB(TfLiteModelCreateWithErrorReporter)
STUB(TfLiteModelDelete)
STUB(TfLiteInterpreterOptionsCreate)
STUB(TfLiteInterpreterOptionsDelete)
STUB(TfLiteInterpreterOptionsSetNumThreads)
STUB(TfLiteInterpreterOptionsAddDelegate)
STUB(TfLiteInterpreterOptionsSetErrorReporter)
STUB(TfLiteInterpreterCreate)
STUB(TfLiteInterpreterDelete)
STUB(TfLiteInterpreterGetInputTensorCount)
STUB(TfLiteInterpreterGetOutputTensorCount)
STUB(TfLiteInterpreterInputTensorIndices)
STUB(TfLiteInterpreterOutputTensorIndices)
STUB(TfLiteInterpreterGetTensor)
STUB(TfLiteInterpreterResizeInputTensor)
STUB(TfLiteInterpreterAllocateTensors)
STUB(TfLiteInterpreterSetCustomAllocationForTensor)
STUB(TfLiteInterpreterInvoke)
STUB(TfLiteTensorType)
STUB(TfLiteTensorNumDims)
STUB(TfLiteTensorDim)
STUB(TfLiteTensorByteSize)
STUB(TfLiteTensorData)
STUB(TfLiteTensorName)
STUB(TfLiteOpaqueTensorGetAllocationType)
STUB(TfLiteOpaqueTensorIsVariable)
STUB(TfLiteOpaqueTensorGetNumDimsSignature)
STUB(TfLiteOpaqueTensorGetDimSignature)
STUB(TfLiteOpaqueTensorGetQuantization)

/* ONNX Runtime is one function, and here a version that is too old to be used. */
typedef struct api_base {
    const void *(*get_api)(unsigned level);
    const char *(*get_version)(void);
} api_base;

static const void *no_api(unsigned level)
{
    (void)level;
    return NULL;
}

static const char *old_version(void)
{
    return "1.2.0";
}

const api_base *OrtGetApiBase(void);
const api_base *OrtGetApiBase(void)
{
    static const api_base base = {no_api, old_version};
    return &base;
}
