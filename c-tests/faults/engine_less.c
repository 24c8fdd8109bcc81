/*
 * TFLite with nothing but what zerobind cannot do without: each function jumps to the one of the library that
 * ZB_TEST_REAL_ENGINE names. x86-64 only.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *real(const char *name)
{
    static void *library;
    void *address = NULL;
    if (library == NULL && getenv("ZB_TEST_REAL_ENGINE") != NULL) {
        library = dlopen(getenv("ZB_TEST_REAL_ENGINE"), RTLD_NOW | RTLD_LOCAL);
    }
    if (library != NULL) {
        address = dlsym(library, name);
    }
    if (address == NULL) {
        fprintf(stderr, "engine_less: %s is missing in ZB_TEST_REAL_ENGINE\n", name);
        abort();
    }
    return address;
}

/* arguments and results pass by untouched */
#define FORWARD(name)                                                             \
    static void *real_##name __attribute__((used));                               \
    __asm__(".globl " #name "\n.type " #name ", @function\n" #name ": jmp *real_" #name "(%rip)\n"); \
    __attribute__((constructor)) static void find_##name(void)                    \
    {                                                                             \
        real_##name = real(#name);                                                \
    }
FORWARD(TfLiteVersion)
FORWARD(TfLiteModelDelete)
FORWARD(TfLiteModelCreateWithErrorReporter)
FORWARD(TfLiteInterpreterOptionsCreate)
FORWARD(TfLiteInterpreterOptionsDelete)
FORWARD(TfLiteInterpreterOptionsSetNumThreads)
FORWARD(TfLiteInterpreterOptionsAddDelegate)
FORWARD(TfLiteInterpreterOptionsSetErrorReporter)
FORWARD(TfLiteInterpreterCreate)
FORWARD(TfLiteInterpreterDelete)
FORWARD(TfLiteInterpreterGetInputTensorCount)
FORWARD(TfLiteInterpreterGetOutputTensorCount)
FORWARD(TfLiteInterpreterInputTensorIndices)
FORWARD(TfLiteInterpreterOutputTensorIndices)
FORWARD(TfLiteInterpreterGetTensor)
FORWARD(TfLiteInterpreterResizeInputTensor)
FORWARD(TfLiteInterpreterAllocateTensors)
FORWARD(TfLiteInterpreterSetCustomAllocationForTensor)
FORWARD(TfLiteInterpreterInvoke)
FORWARD(TfLiteTensorType)
FORWARD(TfLiteTensorNumDims)
FORWARD(TfLiteTensorDim)
FORWARD(TfLiteTensorByteSize)
FORWARD(TfLiteTensorData)
FORWARD(TfLiteTensorName)
FORWARD(TfLiteOpaqueTensorGetAllocationType)
FORWARD(TfLiteOpaqueTensorIsVariable)
FORWARD(TfLiteOpaqueTensorGetNumDimsSignature)
FORWARD(TfLiteOpaqueTensorGetDimSignature)
FORWARD(TfLiteOpaqueTensorGetQuantization)
