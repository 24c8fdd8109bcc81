/*
 * The part of ONNX Runtime's C API that is used here. No package of the set-up has the header; the table of functions only
 * ever grows at its end, so a function is known by its place in it. tests/raw_ort_api.rs checks the places against ort-sys.
 */
#ifndef ZEROBIND_BENCHES_ORT_API_H
#define ZEROBIND_BENCHES_ORT_API_H

#include <stddef.h>
#include <stdint.h>

typedef struct OrtStatus OrtStatus;
typedef struct OrtEnv OrtEnv;
typedef struct OrtSession OrtSession;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtValue OrtValue;
typedef struct OrtIoBinding OrtIoBinding;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtAllocator OrtAllocator;
typedef struct OrtTypeInfo OrtTypeInfo;
typedef struct OrtTensorTypeAndShapeInfo OrtTensorTypeAndShapeInfo;
/* function(place, name, result, parameters) */
#define ORT_FUNCTIONS(function)                                                                                              \
    function(2, GetErrorMessage, const char *, (const OrtStatus *))                                                          \
    function(3, CreateEnv, OrtStatus *, (int, const char *, OrtEnv **))                                                      \
    function(6, DisableTelemetryEvents, OrtStatus *, (const OrtEnv *))                                                       \
    function(7, CreateSession, OrtStatus *, (const OrtEnv *, const char *, const OrtSessionOptions *, OrtSession **))        \
    function(8, CreateSessionFromArray, OrtStatus *,                                                                         \
             (const OrtEnv *, const void *, size_t, const OrtSessionOptions *, OrtSession **))                               \
    function(9, Run, OrtStatus *,                                                                                            \
             (OrtSession *, const OrtRunOptions *, const char *const *, const OrtValue *const *, size_t,                     \
              const char *const *, size_t, OrtValue **))                                                                     \
    function(10, CreateSessionOptions, OrtStatus *, (OrtSessionOptions **))                                                  \
    function(23, SetSessionGraphOptimizationLevel, OrtStatus *, (OrtSessionOptions *, int))                                  \
    function(24, SetIntraOpNumThreads, OrtStatus *, (OrtSessionOptions *, int))                                              \
    function(25, SetInterOpNumThreads, OrtStatus *, (OrtSessionOptions *, int))                                              \
    function(30, SessionGetInputCount, OrtStatus *, (const OrtSession *, size_t *))                                          \
    function(31, SessionGetOutputCount, OrtStatus *, (const OrtSession *, size_t *))                                         \
    function(33, SessionGetInputTypeInfo, OrtStatus *, (const OrtSession *, size_t, OrtTypeInfo **))                         \
    function(36, SessionGetInputName, OrtStatus *, (const OrtSession *, size_t, OrtAllocator *, char **))                    \
    function(37, SessionGetOutputName, OrtStatus *, (const OrtSession *, size_t, OrtAllocator *, char **))                   \
    function(39, CreateRunOptions, OrtStatus *, (OrtRunOptions **))                                                          \
    function(48, CreateTensorAsOrtValue, OrtStatus *, (OrtAllocator *, const int64_t *, size_t, int, OrtValue **))           \
    function(49, CreateTensorWithDataAsOrtValue, OrtStatus *,                                                                \
             (const OrtMemoryInfo *, void *, size_t, const int64_t *, size_t, int, OrtValue **))                             \
    function(51, GetTensorMutableData, OrtStatus *, (OrtValue *, void **))                                                   \
    function(55, CastTypeInfoToTensorInfo, OrtStatus *, (const OrtTypeInfo *, const OrtTensorTypeAndShapeInfo **))           \
    function(60, GetTensorElementType, OrtStatus *, (const OrtTensorTypeAndShapeInfo *, int *))                              \
    function(61, GetDimensionsCount, OrtStatus *, (const OrtTensorTypeAndShapeInfo *, size_t *))                             \
    function(62, GetDimensions, OrtStatus *, (const OrtTensorTypeAndShapeInfo *, int64_t *, size_t))                         \
    function(65, GetTensorTypeAndShape, OrtStatus *, (const OrtValue *, OrtTensorTypeAndShapeInfo **))                       \
    function(69, CreateCpuMemoryInfo, OrtStatus *, (int, int, OrtMemoryInfo **))                                             \
    function(76, AllocatorFree, OrtStatus *, (OrtAllocator *, void *))                                                       \
    function(78, GetAllocatorWithDefaultOptions, OrtStatus *, (OrtAllocator **))                                             \
    function(92, ReleaseEnv, void, (OrtEnv *))                                                                               \
    function(93, ReleaseStatus, void, (OrtStatus *))                                                                         \
    function(94, ReleaseMemoryInfo, void, (OrtMemoryInfo *))                                                                 \
    function(95, ReleaseSession, void, (OrtSession *))                                                                       \
    function(96, ReleaseValue, void, (OrtValue *))                                                                           \
    function(97, ReleaseRunOptions, void, (OrtRunOptions *))                                                                 \
    function(98, ReleaseTypeInfo, void, (OrtTypeInfo *))                                                                     \
    function(99, ReleaseTensorTypeAndShapeInfo, void, (OrtTensorTypeAndShapeInfo *))                                         \
    function(100, ReleaseSessionOptions, void, (OrtSessionOptions *))                                                        \
    function(133, RunWithBinding, OrtStatus *, (OrtSession *, const OrtRunOptions *, const OrtIoBinding *))                  \
    function(134, CreateIoBinding, OrtStatus *, (OrtSession *, OrtIoBinding **))                                             \
    function(135, ReleaseIoBinding, void, (OrtIoBinding *))                                                                  \
    function(136, BindInput, OrtStatus *, (OrtIoBinding *, const char *, const OrtValue *))                                  \
    function(137, BindOutput, OrtStatus *, (OrtIoBinding *, const char *, const OrtValue *))

typedef struct ort_api {
#define ORT_FIELD(place, name, result, parameters) result(*name) parameters;
    ORT_FUNCTIONS(ORT_FIELD)
#undef ORT_FIELD
} ort_api;

enum {
    ORT_API_VERSION = 17, /* the oldest that zerobind takes; all above are in it */
    ORT_LOG_WARNING = 2,
    ORT_ENABLE_ALL = 99,
    ORT_ARENA_ALLOCATOR = 1,
    ORT_MEM_TYPE_DEFAULT = 0
};

#endif
