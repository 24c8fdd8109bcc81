/*
 * zerobind: TFLite and ONNX models on memory that you already own, without copies.
 *
 * C99 or later, C++11 or later. A whole program (C11; error handling cut short; every call returns a zb_status):
 *
 *     #include <stdio.h>
 *     #include <zerobind.h>
 *
 *     int main(void)
 *     {
 *         static _Alignas(64) float x[16] = {1, 2, 3, 4}, y[16] = {10, 20, 30, 40}, z[16]; // 4 used, 64 bytes each
 *         char text[512];
 *         zb_model *model = NULL;
 *         zb_context *context = NULL;
 *         if (zb_model_open("add4.onnx", NULL, &model) != ZB_OK || zb_context_create(model, NULL, &context) != ZB_OK) {
 *             zb_last_error(text, sizeof text, NULL);
 *             fprintf(stderr, "%s\n", text);
 *             return 1;
 *         }
 *         zb_loan loans[3];
 *         loans[0] = zb_loan_input(ZB_INPUT(0), x, 16, sizeof x, NULL); // 16 bytes of tensor, 64 readable
 *         loans[1] = zb_loan_input(ZB_INPUT(1), y, 16, sizeof y, NULL);
 *         loans[2] = zb_loan_output(ZB_OUTPUT(0), z, 16, NULL);
 *         if (zb_infer_with(context, loans, 3, NULL) != ZB_OK) {
 *             zb_last_error(text, sizeof text, NULL);
 *             fprintf(stderr, "%s\n", text);
 *         } else {
 *             printf("%g %g %g %g\n", z[0], z[1], z[2], z[3]);
 *         }
 *         zb_context_destroy(context);
 *         zb_model_destroy(model);
 *         return 0;
 *     }
 *
 * Memory that stays at its place is bound once instead: zb_tensor_wrap, zb_tensor_bind, then zb_infer as often as you like.
 *
 * The rules
 *
 * - Handles are numbers in the form of pointers: never dereferenced. One that was destroyed, is of another kind or never
 *   existed gives ZB_ERROR_INVALID_HANDLE, also while another thread destroys it. A NULL where none may be gives
 *   ZB_ERROR_NULL_ARGUMENT. Each object that a call gives out is the caller's to destroy; destroying NULL is fine.
 * - Destroy never blocks, and any order is legal: a context keeps its model, a binding keeps its tensor, a run keeps what it
 *   uses until it ends.
 * - Memory given to a tensor or a model stays until its release callback is called (exactly once), or without a callback,
 *   until the handle is destroyed and no binding, operation of a queue, export or context uses it any more. Memory lent by
 *   zb_infer_with is borrowed for that call alone.
 * - Memory that is shared with other processes (zb_tensor_map_fd) or other libraries (DLPack) is the same bytes for all: who
 *   writes when is theirs to agree on, and during a run nobody else writes what it reads, or touches what it writes.
 * - Results are written through pointers only when the call succeeds (`needed` of text getters always).
 * - Memory for a slot: 64-byte aligned suits every engine. An input that ends within 16 bytes of the end of a page (a mapped
 *   file, a page-aligned frame) needs readable bytes behind it on TFLite; see zb_requirements.slack, or let
 *   zb_tensor_alloc_for allocate.
 * - The shape of an input with open dimensions (-1) is the last one asked for by zb_context_resize_input or by a loan, else
 *   that of the tensor bound to it, else the one that the model starts with: TFLite models have one, ONNX models have none,
 *   and then planning is ZB_ERROR_SHAPE_MISMATCH until a shape is given.
 * - A copy is never silent. Where one would be needed the call fails and says why, or, if the context allows copies, the
 *   binding report says what was copied.
 * - Any function may be called from any thread. A context runs on one thread at a time: during a zb_infer or zb_infer_with,
 *   every other call on it but cancel and destroy gives ZB_ERROR_BUSY. While a queue has work for it, running or not, those two
 *   and resize, prepare and reset are ZB_ERROR_BUSY; bind, unbind, swap and questions are not, and act on what comes later.
 *   Contexts of one model run side by side.
 * - Structs that begin with struct_size are set up by their ..._INIT macro. Unknown flags are refused. Be ready for enum
 *   values that you do not know in what you are given.
 * - A damaged model can crash an engine, and the process with it: try models from elsewhere by zb_model_preflight first, or
 *   give the SHA-256 that they must have.
 * - Unwinding (C++ exceptions, longjmp) must not leave a callback. The library is never unloaded.
 * - After fork, the child of a process that has used zerobind may not call it before exec: the call is ZB_ERROR_UNSUPPORTED.
 * - Where there is no memory for something that grows with a model, with shapes or with counts, any function may give
 *   ZB_ERROR_OUT_OF_MEMORY; what it was called on is as before, and the call may be made again.
 */
#ifndef ZEROBIND_H
#define ZEROBIND_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header; zb_version() tells that of the library. */
#define ZB_VERSION_MAJOR 0
#define ZB_VERSION_MINOR 1
#define ZB_VERSION_PATCH 0
#define ZB_HEADER_VERSION \
    (ZB_VERSION_MAJOR * 0x400000u | ZB_VERSION_MINOR * 0x1000u | ZB_VERSION_PATCH)

/* DLPack's, for those who use it: zb_tensor_from_dlpack, zb_tensor_to_dlpack. dlpack.h defines it; it is not needed here. */
struct DLManagedTensorVersioned;

/* A result that must be looked at. */
#if defined(__GNUC__) || defined(__clang__)
#define ZB_MUST_USE __attribute__((warn_unused_result))
#else
#define ZB_MUST_USE
#endif

/* Pointers that may not be NULL (clang warns; at run time it is ZB_ERROR_NULL_ARGUMENT), and those that may. */
#if defined(__has_feature)
#if __has_feature(nullability)
#define ZB_NONNULL _Nonnull
#define ZB_NULLABLE _Nullable
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wnullability-extension"
#endif
#endif
#ifndef ZB_NONNULL
#define ZB_NONNULL
#define ZB_NULLABLE
#endif


// Success.
#define ZB_OK 0

// NULL where none may be, or NULL data with a size above 0.
#define ZB_ERROR_NULL_ARGUMENT 1

// A bad flag, enum value, struct or size; a slot index that is out of range or of the wrong side; a slot named twice.
#define ZB_ERROR_INVALID_ARGUMENT 2

// The handle was destroyed, is of another kind, or never existed.
#define ZB_ERROR_INVALID_HANDLE 3

// The object is in use in a way that excludes this call; try again when that use has ended.
#define ZB_ERROR_BUSY 4

// A name or an option key is not known.
#define ZB_ERROR_NOT_FOUND 5

// A file is missing or cannot be read.
#define ZB_ERROR_IO 6

// The engine's library is missing, wrong or too old; the text tells what was looked for, where, and what was found.
#define ZB_ERROR_RUNTIME_UNAVAILABLE 7

// The model cannot be parsed, or does not have the expected SHA-256.
#define ZB_ERROR_MODEL_INVALID 8

// The engine or zerobind cannot do this.
#define ZB_ERROR_UNSUPPORTED 9

// The element type is not that of the slot.
#define ZB_ERROR_DTYPE_MISMATCH 10

// The shape is not that of the slot, or the size in bytes is not that of the shape.
#define ZB_ERROR_SHAPE_MISMATCH 11

// Too few bytes, or too few readable bytes behind them; the text gives both numbers.
#define ZB_ERROR_BUFFER_TOO_SMALL 12

// The address is not a multiple of what the engine needs.
#define ZB_ERROR_MISALIGNED 13

// An output shares bytes with another slot.
#define ZB_ERROR_ALIASED 14

// An input has no memory or its loan has ended; an output has no value to view.
#define ZB_ERROR_UNBOUND 15

// No host buffer could serve this slot without a copy, and copying is not allowed.
#define ZB_ERROR_COPY_REQUIRED 16

// The operation was cancelled.
#define ZB_ERROR_CANCELLED 17

// The deadline passed.
#define ZB_ERROR_DEADLINE_EXCEEDED 18

// Accepted, but then an object that it needs was destroyed.
#define ZB_ERROR_DESTROYED 19

// The engine failed; the text is the engine's.
#define ZB_ERROR_RUNTIME 20

// An allocation failed.
#define ZB_ERROR_OUT_OF_MEMORY 21

// A bug in zerobind was caught; the object that it happened in can only be destroyed.
#define ZB_ERROR_PANIC 22

// A wait ended before what it waited for.
#define ZB_ERROR_TIMEOUT 23

// Read-only memory was given to an output.
#define ZB_ERROR_READ_ONLY 24

// What the operation reads was invalidated by one that failed.
#define ZB_ERROR_DEPENDENCY 25

// The queue holds as many operations as it can.
#define ZB_ERROR_QUEUE_FULL 26

// Most dimensions of a shape.
#define ZB_MAX_RANK 16

// Engine: chosen by the content of the model.
#define ZB_RUNTIME_AUTO 0

// Engine: TensorFlow Lite.
#define ZB_RUNTIME_TFLITE 1

// Engine: ONNX Runtime.
#define ZB_RUNTIME_ONNXRUNTIME 2

// Kind of object, for zb_live_objects.
#define ZB_KIND_MODEL 1

// Kind of object, for zb_live_objects.
#define ZB_KIND_CONTEXT 2

// Kind of object, for zb_live_objects.
#define ZB_KIND_TENSOR 3

// Kind of object, for zb_live_objects.
#define ZB_KIND_QUEUE 4

// Kind of object, for zb_live_objects.
#define ZB_KIND_EVENT 5

// No element type.
#define ZB_DTYPE_INVALID 0

#define ZB_DTYPE_F32 1

#define ZB_DTYPE_F64 2

#define ZB_DTYPE_F16 3

#define ZB_DTYPE_BF16 4

#define ZB_DTYPE_I8 5

#define ZB_DTYPE_U8 6

#define ZB_DTYPE_I16 7

#define ZB_DTYPE_U16 8

#define ZB_DTYPE_I32 9

#define ZB_DTYPE_U32 10

#define ZB_DTYPE_I64 11

#define ZB_DTYPE_U64 12

// One byte per element, 0 or 1; the engines do not normalise other values.
#define ZB_DTYPE_BOOL 13

// Two elements in a byte, low nibble first; the byte count is rounded up.
#define ZB_DTYPE_I4 14

// Two elements in a byte, low nibble first; the byte count is rounded up.
#define ZB_DTYPE_U4 15

// Two f32, real part first.
#define ZB_DTYPE_C64 16

// Reported for slots of this type; they cannot be bound in this version.
#define ZB_DTYPE_STRING 17

#define ZB_DTYPE_F8E4M3FN 18

#define ZB_DTYPE_F8E5M2 19

// Two f64, real part first.
#define ZB_DTYPE_C128 20

// Copy policy: where a copy would be needed, the call fails and says why.
#define ZB_COPY_NEVER 0

// Copy policy: where a copy is needed, zerobind makes it, and the binding report says so.
#define ZB_COPY_ALLOW 1

// Loan flag: the memory is only read; naming an output is ZB_ERROR_READ_ONLY. Set by zb_loan_input.
#define ZB_LOAN_INPUT 65536

// Loan flag: the memory is meant to be written; naming an input is ZB_ERROR_INVALID_ARGUMENT. Set by zb_loan_output.
#define ZB_LOAN_OUTPUT 131072

// Context flag: fill last_run_ns of the statistics (costs two clock reads a run).
#define ZB_CONTEXT_PROFILE 1

// Slot flag: the value is part of the model.
#define ZB_SLOT_CONSTANT 1

// Slot flag: this output is an input of the model.
#define ZB_SLOT_PASS_THROUGH 2

// Slot flag: a dimension is not known before the resize or the run.
#define ZB_SLOT_DYNAMIC 4

// Slot flag: this output is the same engine tensor as an earlier one.
#define ZB_SLOT_DUPLICATE 8

// Quantization: the values are what they are.
#define ZB_QUANTIZATION_NONE 0

// Quantization: one scale and zero point.
#define ZB_QUANTIZATION_PER_TENSOR 1

// Quantization: a scale and zero point for each index of one axis.
#define ZB_QUANTIZATION_PER_AXIS 2

// Rebinding costs nothing but the call.
#define ZB_REBIND_FREE 0

// Rebinding makes the engine plan again.
#define ZB_REBIND_REPLAN 1

// The engine's memory is always used; the host's gets a copy (copying must be allowed).
#define ZB_REBIND_STAGED 2

// Memory kind (a bit): ordinary memory of the process.
#define ZB_MEMORY_HOST 1

// Memory kind (a bit): memory that other processes map too, see zb_tensor_map_fd.
#define ZB_MEMORY_SHARED 2

// Flag of zb_tensor_map_fd: the memory is only read, so the tensor can be bound to inputs only.
#define ZB_MAP_READ_ONLY 1

// Direction of zb_tensor_sync: the host is about to read what queues wrote.
#define ZB_SYNC_TO_HOST 0

// Direction of zb_tensor_sync: the host has written, and queues are about to read.
#define ZB_SYNC_TO_DEVICE 1

// Path: the host gave no memory for the slot, or there was no run.
#define ZB_PATH_UNBOUND 0

// Path: the engine worked on the host's memory itself.
#define ZB_PATH_DIRECT 1

// Path: bytes were copied; the report says how many, and why.
#define ZB_PATH_STAGED 2

// Log level: something failed.
#define ZB_LOG_ERROR 1

// Log level: something is odd.
#define ZB_LOG_WARN 2

// Log level: what happened.
#define ZB_LOG_INFO 3

// Log level: how it happened.
#define ZB_LOG_DEBUG 4

// One execution state of a model, with its bindings: one run at a time.
typedef struct zb_context zb_context;

// How one operation of a queue ended, or will end: to be used from any thread.
typedef struct zb_event zb_event;

// A loaded model: immutable, to be used from any thread.
typedef struct zb_model zb_model;

// An ordered timeline of writes, inferences and reads: to be used from any thread.
typedef struct zb_queue zb_queue;

// Typed, shaped memory: to be used from any thread.
typedef struct zb_tensor zb_tensor;

// How a call ended: ZB_OK or one of ZB_ERROR_.
typedef int32_t zb_status;

// Gets a line of the log: UTF-8, valid during the call only.
//
// Called on any thread, maybe while an engine holds a lock of its own. Inside, only functions that return no zb_status may
// be called; all others return ZB_ERROR_BUSY. No exception may leave it.
typedef void (*zb_log_fn)(void *ZB_NULLABLE user_data, int32_t level, const char *ZB_NONNULL text);

// Element type and shape of dense, row-major memory. Frozen.
typedef struct zb_tensor_desc {
  // One of ZB_DTYPE_.
  int32_t dtype;
  // Number of dimensions; 0 is a scalar with one element.
  uint32_t rank;
  // The first `rank` count. -1 is a dimension that is not known yet.
  int64_t dims[ZB_MAX_RANK];
} zb_tensor_desc;

// State of an engine's library. Strings live as long as the process; NULL for what is not known.
typedef struct zb_runtime_info {
  // sizeof(zb_runtime_info), set by the caller.
  uint32_t struct_size;
  // 1 if it is loaded, else 0.
  int32_t available;
  const char *ZB_NULLABLE version;
  const char *ZB_NULLABLE path;
  // Why it is not loaded: the whole story of the last attempt.
  const char *ZB_NULLABLE reason;
} zb_runtime_info;

// An option by name; both strings are copied. Frozen.
typedef struct zb_option {
  const char *ZB_NONNULL key;
  const char *ZB_NONNULL value;
} zb_option;

// How to open a model. Start from ZB_MODEL_OPTIONS_INIT or zb_model_options_init.
typedef struct zb_model_options {
  // sizeof(zb_model_options).
  uint32_t struct_size;
  // One of ZB_RUNTIME_. AUTO looks at the content, never at the file's name.
  int32_t runtime;
  // The SHA-256 that the bytes must have; all zero: none. With one, the engine is given exactly the bytes that were
  // hashed, so a model with external data is ZB_ERROR_UNSUPPORTED.
  uint8_t sha256[32];
  // The largest tensor, in bytes; a larger input or output, and one inside the model as far as its file tells the shape, is
  // refused before an engine allocates. 0: 4 GiB.
  uint64_t max_tensor_bytes;
  // `option_count` options; no keys are defined for models in this version.
  const struct zb_option *ZB_NULLABLE options;
  size_t option_count;
} zb_model_options;

// Tells the host that zerobind uses its memory no more: called exactly once for each successful call that was given it.
//
// `data` and `size` are those given when the memory was handed over. Called on whichever thread ends the last use, with no
// lock held: any function of zerobind may be called inside, any destroy included. No exception may leave it.
typedef void (*zb_release_fn)(void *ZB_NULLABLE user_data, void *ZB_NULLABLE data, size_t size);

// An input or an output of a model: ZB_INPUT(i) or ZB_OUTPUT(i), counted from 0.
typedef uint32_t zb_slot;

// Description of a slot.
typedef struct zb_slot_info {
  // sizeof(zb_slot_info), set by the caller.
  uint32_t struct_size;
  // Bits of ZB_SLOT_. CONSTANT, DYNAMIC, PASS_THROUGH and DUPLICATE are final only from a context that has planned.
  uint32_t flags;
  // Type and shape; -1 where a dimension is open.
  struct zb_tensor_desc desc;
  // In bytes; 0 while a dimension is open.
  uint64_t size;
  // UTF-8; lives as long as the handle that was asked.
  const char *ZB_NULLABLE name;
  // `desc.rank` strings, "" where a dimension has no name; NULL if none has. Lives as long as the handle.
  const char *ZB_NONNULL const *ZB_NULLABLE dim_names;
  // `quantization_count` numbers, or NULL. Lives as long as the handle.
  const float *ZB_NULLABLE scales;
  // `quantization_count` numbers, or NULL. Lives as long as the handle.
  const int32_t *ZB_NULLABLE zero_points;
  uint32_t quantization_count;
  // One of ZB_QUANTIZATION_: real value = scale * (stored value - zero point).
  int32_t quantization;
  // The axis of per-axis quantization, else 0.
  int32_t quantization_axis;
  uint32_t reserved;
} zb_slot_info;

// How to make a context. Start from ZB_CONTEXT_OPTIONS_INIT or zb_context_options_init.
typedef struct zb_context_options {
  // sizeof(zb_context_options).
  uint32_t struct_size;
  // Threads that compute, the caller's included; 0 means 1. With 1 no thread is started.
  int32_t threads;
  // One of ZB_COPY_.
  int32_t copy_policy;
  // ZB_CONTEXT_PROFILE or 0.
  uint32_t flags;
  // `option_count` options. Keys: "tflite.xnnpack" ("true", the default, or "false"), "ort.session.KEY" (any session
  // configuration entry of ONNX Runtime, passed on as it is: a value that the engine does not expect can crash it), "optimization" ("none", "basic", "extended", "all": ONNX Runtime's graph
  // optimization; on TFLite "none" leaves the plain kernels). Keys of the other engine are passed over, so that one list
  // serves models of both; a key that no engine has is ZB_ERROR_NOT_FOUND.
  const struct zb_option *ZB_NULLABLE options;
  size_t option_count;
} zb_context_options;

// What memory for a slot has to be like.
typedef struct zb_requirements {
  // sizeof(zb_requirements), set by the caller.
  uint32_t struct_size;
  // Bits of ZB_MEMORY_: kinds that can be bound.
  uint32_t memory_kinds;
  // In bytes; 0 when only the run tells.
  uint64_t size;
  // The address must be a multiple of it, in bytes. 64 suits every engine.
  uint64_t alignment;
  // Bytes behind an input that the engine may read, without using what they hold. They must be readable (capacity) only
  // where they could lie in another page: for an input that ends within `slack` bytes of the end of a page. Without them
  // such an input is ZB_ERROR_BUFFER_TOO_SMALL, or a copy if copies are allowed. Never claim bytes that are not yours.
  uint64_t slack;
  // One of ZB_REBIND_: what a new address costs.
  int32_t rebind;
  uint32_t reserved;
} zb_requirements;

// What the last run did with the memory of a slot: the proof of zero copy.
typedef struct zb_binding_report {
  // sizeof(zb_binding_report), set by the caller.
  uint32_t struct_size;
  // One of ZB_PATH_.
  int32_t path;
  // By zerobind, in that run, for this slot.
  uint64_t bytes_copied;
  // The host's memory in that run, bound or lent. A number to compare: memory that was lent may be gone.
  const void *ZB_NULLABLE host_address;
  // What the engine itself gave as the address of its tensor.
  const void *ZB_NULLABLE engine_address;
  // Why bytes were copied, or NULL. Lives as long as the process.
  const char *ZB_NULLABLE reason;
  const void *ZB_NULLABLE reserved;
} zb_binding_report;

// Counters of a context since it was created.
typedef struct zb_context_stats {
  // sizeof(zb_context_stats), set by the caller.
  uint32_t struct_size;
  uint32_t reserved;
  // Runs that succeeded.
  uint64_t runs;
  // By zerobind, on the way in and out.
  uint64_t bytes_copied;
  // Times that a slot of the engine was given another address.
  uint64_t rebinds;
  // Blocks of memory that zerobind allocated for runs.
  uint64_t allocations;
  // Time in the engine during the last run, in ns; 0 without ZB_CONTEXT_PROFILE.
  uint64_t last_run_ns;
} zb_context_stats;

// How to run. NULL or ZB_INFER_OPTIONS_INIT for the defaults.
typedef struct zb_infer_options {
  // sizeof(zb_infer_options).
  uint32_t struct_size;
  // 0.
  uint32_t flags;
  // When the run has to be over, in ns from the call; 0: whenever it is. If it passes before the engine starts, nothing
  // runs and nothing is written; during the run the engine is asked to stop, as by zb_context_cancel and with the same
  // limits. Either way the call gives ZB_ERROR_DEADLINE_EXCEEDED; a run that completes is ZB_OK, however late.
  uint64_t deadline_ns;
} zb_infer_options;

// Memory lent to a slot for one call of zb_infer_with. Frozen.
typedef struct zb_loan {
  // The slot; each at most once.
  zb_slot slot;
  // ZB_LOAN_INPUT or ZB_LOAN_OUTPUT, to be told when the slot is on the other side; 0 to leave it open.
  uint32_t flags;
  // The memory; an input is only read. NULL is allowed with size 0.
  void *ZB_NULLABLE data;
  // Bytes of tensor: of an input exactly what its shape needs, of an output at least that.
  size_t size;
  // Readable bytes at `data` in all, at least `size`; 0 means `size`. Matters for inputs that end close to the end of a
  // page, see `slack` in zb_requirements.
  size_t capacity;
  // Type and shape of the memory; NULL takes those of the slot at the moment. An output may have -1 for what only the run
  // tells, see zb_tensor_wrap.
  const struct zb_tensor_desc *ZB_NULLABLE desc;
} zb_loan;

// The shape of an input. Frozen.
typedef struct zb_slot_shape {
  // The input; each at most once.
  zb_slot slot;
  uint32_t rank;
  // `rank` dimensions of 0 or more.
  const int64_t *ZB_NULLABLE dims;
} zb_slot_shape;

// How to try a model in another process. NULL or ZB_PREFLIGHT_OPTIONS_INIT for the defaults.
typedef struct zb_preflight_options {
  // sizeof(zb_preflight_options).
  uint32_t struct_size;
  // 0.
  uint32_t flags;
  // How long the trial may take, in ns; 0: 30 s.
  uint64_t timeout_ns;
  // The most private memory that the trial's process may have, in bytes (on systems other than Linux and Android: address
  // space, if the system counts it); 0: half of the machine's memory, UINT64_MAX: no limit.
  uint64_t max_memory_bytes;
  // Path of the helper executable; NULL: the environment variable ZEROBIND_PREFLIGHT, else where it is installed, seen
  // from the file that zerobind is in (next to it, ../libexec/zerobind and ../../libexec/zerobind).
  const char *ZB_NULLABLE helper;
  // The options of the context that the model is meant for; NULL: the defaults.
  const struct zb_context_options *ZB_NULLABLE context;
  // `shape_count` shapes of inputs with open dimensions. An input that is not named has the shape that the model starts
  // with, and 1 for each dimension that it leaves open.
  const struct zb_slot_shape *ZB_NULLABLE shapes;
  size_t shape_count;
} zb_preflight_options;

// Runs one task of a queue. Given to an executor; a second call with the same task, or a late one, does nothing.
typedef void (*zb_task_fn)(void *ZB_NONNULL task);

// Has `run(task)` called once, now or later, on any thread; an executor of the host's.
//
// Called with no lock held, on threads that put operations into queues or run tasks. Returns 0, or another number if it takes
// no task: then the operation is refused with ZB_ERROR_BUSY, or, where it had been accepted, all that waits in the queue is
// settled with ZB_ERROR_CANCELLED. No exception may leave it.
typedef int32_t (*zb_submit_fn)(void *ZB_NULLABLE user_data, zb_task_fn ZB_NONNULL run, void *ZB_NONNULL task);

// How to make a queue. NULL or ZB_QUEUE_OPTIONS_INIT for the defaults.
typedef struct zb_queue_options {
  // sizeof(zb_queue_options).
  uint32_t struct_size;
  // Most operations that are not settled; 0: 64.
  uint32_t capacity;
  // The host's executor; NULL: the queue makes a thread of its own.
  zb_submit_fn ZB_NULLABLE submit;
  void *ZB_NULLABLE user_data;
} zb_queue_options;

// A tensor for a slot of one queued inference. Frozen.
typedef struct zb_slot_tensor {
  // The slot; each at most once.
  zb_slot slot;
  // 0.
  uint32_t flags;
  struct zb_tensor *ZB_NONNULL tensor;
} zb_slot_tensor;

// Told once that an event is settled: `result` is how its operation ended, ZB_OK or an error.
//
// Called on the thread that settles the event, or inside zb_event_on_complete if it is settled already, with no lock held.
// Any function may be called inside, any destroy included; waiting for something of the same queue that is not settled is
// ZB_ERROR_BUSY. `event` is the handle that the callback was set with, which may have been destroyed since. No exception may
// leave it.
typedef void (*zb_complete_fn)(void *ZB_NULLABLE user_data, struct zb_event *ZB_NONNULL event, zb_status result);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library that runs: major << 22 | minor << 12 | patch. Equals ZB_HEADER_VERSION when the header is of
// the same version. A program works with any library of the same major version that is not older than its header.
//
// Any thread; may be called inside a log callback.
uint32_t zb_version(void);

// The version as text, "1.2.3". Lives as long as the process.
//
// Any thread; may be called inside a log callback.
const char *ZB_NONNULL zb_version_string(void);

// The name of a status as in this header, "ZB_ERROR_BUSY"; "ZB_ERROR_?" for a number that this version does not have.
// Lives as long as the process.
//
// Any thread; may be called inside a log callback.
const char *ZB_NONNULL zb_status_name(zb_status status);

// The short name of an element type, "f32"; "?" for a number that this version does not have. Lives as long as the
// process.
//
// Any thread; may be called inside a log callback.
const char *ZB_NONNULL zb_dtype_name(int32_t dtype);

// Bits of one element of a type; 0 for ZB_DTYPE_STRING and for numbers that this version does not have.
//
// Any thread; may be called inside a log callback.
uint32_t zb_dtype_bits(int32_t dtype);

// Objects of a kind (ZB_KIND_) that exist now; 0 for an unknown kind. Objects, not handles: a tensor whose handle was
// destroyed lives on while it is bound, a model while it has contexts. When all of a program's objects are gone, it is 0.
//
// Any thread.
uint64_t zb_live_objects(int32_t kind);

// Copies the text of the last error of the calling thread into `buffer`; "" if there was none.
//
// The text names the object, what was wanted, what was given and what to do. Success does not clear it, and this function
// never changes it. `needed`, if not NULL, always gets the size of the text in bytes with its NUL (not inside a log callback); (NULL, 0) asks for that
// alone. A buffer that is too short gets NUL-terminated text cut at a character.
//
// Errors: NULL_ARGUMENT (buffer NULL with capacity above 0), BUFFER_TOO_SMALL, BUSY (inside a log callback).
//
// Requires:
// `capacity` bytes at `buffer` are writable.
zb_status zb_last_error(char *ZB_NULLABLE buffer, size_t capacity, size_t *ZB_NULLABLE needed);

// Sets the function that gets the log of zerobind and of the engines, or with NULL none; lines of `min_level` (ZB_LOG_) and
// graver ones. One for the process.
//
// When it returns, no other thread is inside the old callback, so its user data can be freed. The callback may run on any
// thread, maybe while an engine holds a lock; only functions that return no zb_status may be called inside.
//
// Errors: INVALID_ARGUMENT (level), BUSY (inside a log callback).
//
// Requires:
// `callback` and `user_data` stay usable from any thread until the callback is replaced.
ZB_MUST_USE
zb_status zb_set_log_callback(zb_log_fn ZB_NULLABLE callback,
                              void *ZB_NULLABLE user_data,
                              int32_t min_level);

// Gives the bytes that a dense tensor of this type and shape takes; types under 8 bits are packed and rounded up.
//
// Errors: NULL_ARGUMENT; INVALID_ARGUMENT (dtype); UNSUPPORTED (rank above 16, strings); SHAPE_MISMATCH (a dimension of -1,
// or a size that does not fit).
//
// Requires:
// `desc` is NULL or readable, `size` NULL or writable.
ZB_MUST_USE zb_status zb_tensor_desc_size(const struct zb_tensor_desc *ZB_NONNULL desc, size_t *ZB_NONNULL size);

// Loads an engine's library: from `path_or_null`, or with NULL by the search order: the environment (ZEROBIND_TFLITE_LIB,
// ZEROBIND_ONNXRUNTIME_LIB), next to this library, the system loader.
//
// Not needed: the first model of an engine loads it by the search order. Call it to choose a file, or to learn early that
// the engine is missing. A loaded engine stays for the life of the process. After a failure the other engine works, and
// loading can be tried again. Loading again is ZB_OK, unless another file is named than the one in use.
//
// Any thread. Errors: INVALID_ARGUMENT (runtime; an engine loaded from another file); RUNTIME_UNAVAILABLE, with every place
// that was tried and what was wrong there.
//
// Requires:
// `path_or_null` is NULL or NUL-terminated; the file it names is an engine, not code that must not run.
ZB_MUST_USE zb_status zb_runtime_load(int32_t runtime, const char *ZB_NULLABLE path_or_null);

// Tells whether an engine's library is loaded, its version and file, or why it is not; loads nothing.
//
// The strings live as long as the process. Any thread. Errors: NULL_ARGUMENT, INVALID_ARGUMENT (runtime, struct_size).
//
// Requires:
// `info` is NULL or points to a zb_runtime_info with its struct_size set.
ZB_MUST_USE zb_status zb_runtime_get_info(int32_t runtime, struct zb_runtime_info *ZB_NONNULL info);

// Sets `options` to the defaults; `size` is sizeof(zb_model_options). The same as ZB_MODEL_OPTIONS_INIT.
//
// Errors: NULL_ARGUMENT, INVALID_ARGUMENT (size).
//
// Requires:
// `size` bytes at `options` are writable.
zb_status zb_model_options_init(struct zb_model_options *ZB_NONNULL options, size_t size);

// Opens the model in a file. The file is mapped, not read into memory by zerobind; external data of ONNX models is found
// next to it. The file must neither shrink nor change until the model handle is destroyed and its last context is gone.
//
// Reads the model without planning it: a model that cannot be planned at its declared shape opens. The handle put into
// `*model` is the caller's to destroy; the model itself lives as long as the handle or a context made from it.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_ARGUMENT (options), IO, MODEL_INVALID (damage, SHA-256, not a model),
// UNSUPPORTED (types or operators that the engine lacks, a tensor over the limit), RUNTIME_UNAVAILABLE, NOT_FOUND (option
// key), OUT_OF_MEMORY. A damaged model can crash an engine: use sha256 where models come from elsewhere, or try them by
// zb_model_preflight first.
//
// Requires:
// `path` is NUL-terminated; `options` is NULL or has its struct_size set; `model` is writable.
ZB_MUST_USE
zb_status zb_model_open(const char *ZB_NONNULL path,
                        const struct zb_model_options *ZB_NULLABLE options,
                        struct zb_model *ZB_NULLABLE *ZB_NONNULL model);

// Opens the model in `length` bytes of a file at `offset`, such as an asset inside an Android package; `length` 0 means up
// to the end of the file. The bytes are mapped, not read into memory by zerobind.
//
// `offset` must be a multiple of 16. The descriptor is duplicated: it stays the caller's to close, and its read position is
// not touched. The bytes must neither shrink nor change until the model handle is destroyed and its last context is gone
// (a file cut short can end the process with SIGBUS). A model with external data is UNSUPPORTED: there is no folder for it.
//
// Any thread. Errors: as zb_model_open, IO (not a descriptor of a file, not open for reading, the file ends before
// `offset` + `length`), INVALID_ARGUMENT (`offset` + `length` beyond 64 bits), MISALIGNED (`offset`; zb_model_open_bytes_copy
// takes any), UNSUPPORTED where there are no file descriptors.
//
// Requires:
// `options` is NULL or has its struct_size set; `model` is NULL or writable.
ZB_MUST_USE
zb_status zb_model_open_fd(int fd,
                           uint64_t offset,
                           uint64_t length,
                           const struct zb_model_options *ZB_NULLABLE options,
                           struct zb_model *ZB_NULLABLE *ZB_NONNULL model);

// Opens a model in memory of the caller, without copying it. `data` must be a multiple of 16.
//
// With ZB_OK the bytes pass to the model: they must stay and not change until `release` is called, which happens exactly
// once, after the model handle is destroyed and its last context is gone. With `release` NULL they must stay that long
// too. If the call fails, the bytes stay the caller's and `release` is not called.
//
// Any thread. Errors: as zb_model_open without IO, and MISALIGNED.
//
// Requires:
// `size` bytes at `data` are readable, as long as said above.
ZB_MUST_USE
zb_status zb_model_open_bytes(const void *ZB_NONNULL data,
                              size_t size,
                              zb_release_fn ZB_NULLABLE release,
                              void *ZB_NULLABLE user_data,
                              const struct zb_model_options *ZB_NULLABLE options,
                              struct zb_model *ZB_NULLABLE *ZB_NONNULL model);

// Opens a model from a copy of the bytes at `data`, which are the caller's again when the call returns. Any alignment.
//
// Any thread. Errors: as zb_model_open without IO.
//
// Requires:
// `size` bytes at `data` are readable during the call.
ZB_MUST_USE
zb_status zb_model_open_bytes_copy(const void *ZB_NONNULL data,
                                   size_t size,
                                   const struct zb_model_options *ZB_NULLABLE options,
                                   struct zb_model *ZB_NULLABLE *ZB_NONNULL model);

// Destroys the handle; NULL is fine. Contexts made from the model keep the model itself, so any order is legal.
//
// Never blocks. Any thread, any callback but the log's. Errors: INVALID_HANDLE.
zb_status zb_model_destroy(struct zb_model *ZB_NULLABLE model);

// Gives the engine that runs the model: ZB_RUNTIME_TFLITE or ZB_RUNTIME_ONNXRUNTIME.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE.
//
// Requires:
// `runtime` is NULL or writable.
ZB_MUST_USE zb_status zb_model_get_runtime(struct zb_model *ZB_NONNULL model, int32_t *ZB_NONNULL runtime);

// Gives the numbers of inputs and outputs; either place may be NULL.
//
// Any thread. Errors: NULL_ARGUMENT (model), INVALID_HANDLE.
//
// Requires:
// `inputs_or_null` and `outputs_or_null` are NULL or writable.
ZB_MUST_USE
zb_status zb_model_get_slot_counts(struct zb_model *ZB_NONNULL model,
                                   uint32_t *ZB_NULLABLE inputs_or_null,
                                   uint32_t *ZB_NULLABLE outputs_or_null);

// Describes a slot as the model declares it. Set info->struct_size first (ZB_SLOT_INFO_INIT).
//
// Strings and arrays in it live as long as the model handle. Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE,
// INVALID_ARGUMENT (slot out of range, struct_size).
//
// Requires:
// `info` is NULL or points to a zb_slot_info with its struct_size set.
ZB_MUST_USE
zb_status zb_model_get_slot_info(struct zb_model *ZB_NONNULL model,
                                 zb_slot slot,
                                 struct zb_slot_info *ZB_NONNULL info);

// Finds an input by its name: the ONNX graph's, or the TFLite tensor's.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, NOT_FOUND (the text lists the names), INVALID_ARGUMENT (not UTF-8).
//
// Requires:
// `name` is NULL or NUL-terminated; `slot` is NULL or writable.
ZB_MUST_USE
zb_status zb_model_find_input(struct zb_model *ZB_NONNULL model,
                              const char *ZB_NONNULL name,
                              zb_slot *ZB_NONNULL slot);

// Finds an output by its name: the ONNX graph's, or the TFLite tensor's.
//
// Any thread. Errors: as zb_model_find_input.
//
// Requires:
// `name` is NULL or NUL-terminated; `slot` is NULL or writable.
ZB_MUST_USE
zb_status zb_model_find_output(struct zb_model *ZB_NONNULL model,
                               const char *ZB_NONNULL name,
                               zb_slot *ZB_NONNULL slot);

// Copies a text that the model says about itself into `buffer`.
//
// Keys: ONNX has "onnx.producer_name", "onnx.graph_name", "onnx.domain", "onnx.description", "onnx.graph_description",
// "onnx.version", and the model's own under their names; TFLite has "tflite.description", "tflite.version" (of the format),
// and the named buffers of the model. "zerobind.keys" lists those that the model has, one in a line. `needed`, if not NULL,
// always gets the size of the text in bytes with its NUL (0 where there is none); (NULL, 0) asks for that alone. A buffer that is too short gets
// NUL-terminated text cut at a character.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (not UTF-8), NOT_FOUND (the text lists the keys),
// UNSUPPORTED (bytes that are no text), BUFFER_TOO_SMALL.
//
// Requires:
// `key` is NULL or NUL-terminated; `capacity` bytes at `buffer` are writable; `needed` is NULL or writable.
ZB_MUST_USE
zb_status zb_model_get_metadata(struct zb_model *ZB_NONNULL model,
                                const char *ZB_NONNULL key,
                                char *ZB_NULLABLE buffer,
                                size_t capacity,
                                size_t *ZB_NULLABLE needed);

// Gives the number of signatures: sets of names that the author of a TFLite model gave to its slots. ONNX has none.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE.
//
// Requires:
// `count` is NULL or writable.
ZB_MUST_USE zb_status zb_model_get_signature_count(struct zb_model *ZB_NONNULL model, uint32_t *ZB_NONNULL count);

// Gives the key of a signature, counted from 0. It lives as long as the model handle.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (index out of range).
//
// Requires:
// `key` is NULL or writable.
ZB_MUST_USE
zb_status zb_model_get_signature_key(struct zb_model *ZB_NONNULL model,
                                     uint32_t index,
                                     const char *ZB_NULLABLE *ZB_NONNULL key);

// Finds an input by the name that a signature gives it.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (not UTF-8), NOT_FOUND (key or name; the text lists
// what there is), UNSUPPORTED (the signature is for another graph inside the model than the one that runs).
//
// Requires:
// `key` and `name` are NULL or NUL-terminated; `slot` is NULL or writable.
ZB_MUST_USE
zb_status zb_model_signature_find_input(struct zb_model *ZB_NONNULL model,
                                        const char *ZB_NONNULL key,
                                        const char *ZB_NONNULL name,
                                        zb_slot *ZB_NONNULL slot);

// Finds an output by the name that a signature gives it.
//
// Any thread. Errors: as zb_model_signature_find_input.
//
// Requires:
// `key` and `name` are NULL or NUL-terminated; `slot` is NULL or writable.
ZB_MUST_USE
zb_status zb_model_signature_find_output(struct zb_model *ZB_NONNULL model,
                                         const char *ZB_NONNULL key,
                                         const char *ZB_NONNULL name,
                                         zb_slot *ZB_NONNULL slot);

// Sets `options` to the defaults; `size` is sizeof(zb_context_options). The same as ZB_CONTEXT_OPTIONS_INIT.
//
// Errors: NULL_ARGUMENT, INVALID_ARGUMENT (size).
//
// Requires:
// `size` bytes at `options` are writable.
zb_status zb_context_options_init(struct zb_context_options *ZB_NONNULL options, size_t size);

// Makes a context of a model; plans nothing and allocates no tensors.
//
// The context keeps the model: destroying the model's handle does not end it. Contexts with equal options share what the
// engine can share (ONNX Runtime: the session; TFLite: the model's bytes).
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (options), NOT_FOUND (option key), MODEL_INVALID,
// RUNTIME (the engine's text), OUT_OF_MEMORY.
//
// Requires:
// `options` is NULL or has its struct_size set; `context` is NULL or writable.
ZB_MUST_USE
zb_status zb_context_create(struct zb_model *ZB_NONNULL model,
                            const struct zb_context_options *ZB_NULLABLE options,
                            struct zb_context *ZB_NULLABLE *ZB_NONNULL context);

// Destroys the handle; NULL is fine. Operations of queues that have not started are settled with DESTROYED. A run in
// progress on another thread is asked to stop, as by zb_context_cancel, and
// its call returns when it has; then, or now if there is none, bound tensors are let go, which may call their release.
//
// Never blocks. Any thread, any callback but the log's. Errors: INVALID_HANDLE.
zb_status zb_context_destroy(struct zb_context *ZB_NULLABLE context);

// Asks the run in progress to stop; without one nothing happens, and later runs are not affected.
//
// ZB_OK means that it was asked; whether it stopped is told by the status of the run: CANCELLED, or ZB_OK if it ran to its
// end all the same. The engines look between two operators of the model: TFLite counts all that XNNPACK has taken over as
// one operator, so a model that is XNNPACK's as a whole does not stop. After CANCELLED the bound outputs of that run and the
// state inside the engine are unspecified (zb_context_reset_state), and the next run is none the worse for it.
//
// Any thread, also during a run. May start one thread in the process. Errors: NULL_ARGUMENT, INVALID_HANDLE, UNSUPPORTED
// (the engine cannot stop it: a TFLite model of a single operator, or a build without cancellation), OUT_OF_MEMORY (the thread).
ZB_MUST_USE zb_status zb_context_cancel(struct zb_context *ZB_NONNULL context);

// Records a new shape for an input, `rank` dimensions of 0 or more. Only dimensions that are -1 in the model may change.
//
// Takes effect with the next zb_context_prepare or run, and lasts until the next resize (a loan with another shape is one).
// Bindings stay: one whose shape no longer matches is SHAPE_MISMATCH
// there. State that the engine holds may be reset. Ends views of outputs.
//
// Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (slot, negative dimension), BUSY, SHAPE_MISMATCH, UNSUPPORTED
// (rank above 16, over the model's max_tensor_bytes).
//
// Requires:
// `rank` numbers at `dims` are readable.
ZB_MUST_USE
zb_status zb_context_resize_input(struct zb_context *ZB_NONNULL context,
                                  zb_slot slot,
                                  const int64_t *ZB_NULLABLE dims,
                                  uint32_t rank);

// Applies all recorded shapes at once and plans; does nothing when that is done. A run does it by itself, so this is for
// doing it early, and for learning early that it fails.
//
// If it fails, the last shapes that worked are in force again. Errors: NULL_ARGUMENT, INVALID_HANDLE, BUSY, SHAPE_MISMATCH
// (an input's dimension is not known yet; the engine cannot compute with these shapes), UNSUPPORTED, OUT_OF_MEMORY, RUNTIME
// (the engine's text).
ZB_MUST_USE zb_status zb_context_prepare(struct zb_context *ZB_NONNULL context);

// Describes a slot as it is in this context now. Set info->struct_size first (ZB_SLOT_INFO_INIT). Plans nothing.
//
// Strings and arrays in it live as long as the context handle. Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT
// (slot, struct_size), BUSY.
//
// Requires:
// `info` is NULL or points to a zb_slot_info with its struct_size set.
ZB_MUST_USE
zb_status zb_context_get_slot_info(struct zb_context *ZB_NONNULL context,
                                   zb_slot slot,
                                   struct zb_slot_info *ZB_NONNULL info);

// Gives type and shape of a slot as they are in this context now, and the size in bytes (0 while a dimension is -1). After
// a run, an output has the shape that was computed. Cheap; plans nothing; `size_or_null` may be NULL.
//
// Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (slot), BUSY.
//
// Requires:
// `desc` is NULL or writable, `size_or_null` too.
ZB_MUST_USE
zb_status zb_context_get_slot_desc(struct zb_context *ZB_NONNULL context,
                                   zb_slot slot,
                                   struct zb_tensor_desc *ZB_NONNULL desc,
                                   size_t *ZB_NULLABLE size_or_null);

// Tells what memory for a slot has to be like. Set requirements->struct_size first (ZB_REQUIREMENTS_INIT). Plans the
// context if that is not done.
//
// Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (slot, struct_size), BUSY, and those of zb_context_prepare.
//
// Requires:
// `requirements` is NULL or points to a zb_requirements with its struct_size set.
ZB_MUST_USE
zb_status zb_context_get_requirements(struct zb_context *ZB_NONNULL context,
                                      zb_slot slot,
                                      struct zb_requirements *ZB_NONNULL requirements);

// Ends the binding of a slot; without one nothing happens. May call the tensor's release, after the context is free again.
// Ends views of outputs.
//
// Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (slot), BUSY.
ZB_MUST_USE zb_status zb_context_unbind(struct zb_context *ZB_NONNULL context, zb_slot slot);

// Exchanges the tensors bound to two slots: with an output and the input of the next run, state goes round without a copy.
//
// Both tensors need the same type and shape, and each has to fit the other's slot. If it fails, nothing changes. Ends views
// of outputs.
//
// Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (slot), BUSY, UNBOUND (a slot has no binding), DTYPE_MISMATCH,
// SHAPE_MISMATCH, READ_ONLY, MISALIGNED, BUFFER_TOO_SMALL (slack), IO (a shared file was cut short).
ZB_MUST_USE zb_status zb_context_swap(struct zb_context *ZB_NONNULL context, zb_slot a, zb_slot b);

// Makes the engine forget what it keeps from run to run, as if the context were new. Bindings, shapes and counters stay;
// views of outputs end. State in tensors of the host is the host's own to clear.
//
// TFLite has no call for that which reaches all state, so a new interpreter takes the old one's place: as dear as
// creating and planning a context. ONNX Runtime keeps no state, and nothing is done. If it fails, nothing changed.
//
// Errors: NULL_ARGUMENT, INVALID_HANDLE, BUSY, OUT_OF_MEMORY, RUNTIME (the engine's text).
ZB_MUST_USE zb_status zb_context_reset_state(struct zb_context *ZB_NONNULL context);

// Tells what the last run did with the memory of a slot. Set report->struct_size first (ZB_BINDING_REPORT_INIT).
//
// Addresses are numbers to compare: memory that was lent for that run may be gone. Errors: NULL_ARGUMENT, INVALID_HANDLE,
// INVALID_ARGUMENT (slot, struct_size), BUSY.
//
// Requires:
// `report` is NULL or points to a zb_binding_report with its struct_size set.
ZB_MUST_USE
zb_status zb_context_get_binding_report(struct zb_context *ZB_NONNULL context,
                                        zb_slot slot,
                                        struct zb_binding_report *ZB_NONNULL report);

// Gives the counters of a context. Set stats->struct_size first (ZB_CONTEXT_STATS_INIT).
//
// Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (struct_size), BUSY.
//
// Requires:
// `stats` is NULL or points to a zb_context_stats with its struct_size set.
ZB_MUST_USE
zb_status zb_context_get_stats(struct zb_context *ZB_NONNULL context,
                               struct zb_context_stats *ZB_NONNULL stats);

// Gives an output of the last successful run where it lies: in the tensor bound to it, or in the engine's memory. Read
// only. `size_or_null` (bytes) and `desc_or_null` (with the shape that was computed) may be NULL. Of an output without
// elements the size is 0, and the address is that of the tensor bound to it, else any, NULL too.
//
// The view ends at the next run, bind, unbind, swap, resize, reset or destroy of the context. An output that was lent for the run is
// UNBOUND here: read it in the memory that was lent.
//
// Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (slot), BUSY, UNBOUND (no value), UNSUPPORTED (strings).
//
// Requires:
// `data` is NULL or writable, `size_or_null` and `desc_or_null` too.
ZB_MUST_USE
zb_status zb_context_output_view(struct zb_context *ZB_NONNULL context,
                                 zb_slot slot,
                                 const void *ZB_NULLABLE *ZB_NONNULL data,
                                 size_t *ZB_NULLABLE size_or_null,
                                 struct zb_tensor_desc *ZB_NULLABLE desc_or_null);

// Makes a tensor of memory that the caller owns, without copying it.
//
// `size` is exactly the bytes of `desc` (zb_tensor_desc_size); `capacity` is how many bytes at `data` are readable in all
// (0: `size`): TFLite may read up to 16 bytes past the end of an input. NULL is legal for `data` with size 0.
//
// A `desc` with dimensions of -1 makes room for an output of which only the run tells the shape: `size` is then all that
// there is. Such a tensor binds to outputs only. Where planning knows the shape the output is in place all the same; else
// the engine makes the result and, if copies are allowed, it is copied here (COPY_REQUIRED from the run if not, BUFFER_TOO_SMALL if the
// room is too small; the bytes behind the result stay as they are). The shape is told by zb_context_get_slot_desc.
//
// With ZB_OK the memory passes to the tensor: it must stay until `release` is called, exactly once, after the tensor
// handle is destroyed and no binding, operation of a queue or export uses the tensor; with `release` NULL it must stay that
// long too. If the call
// fails, the memory stays the caller's and `release` is not called. Between runs the bytes are the host's to read and
// write; during a run that uses the tensor they are the engine's. An input is read during the run, never at bind.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_ARGUMENT (dtype, capacity), SHAPE_MISMATCH (size against desc), UNSUPPORTED
// (rank, strings), OUT_OF_MEMORY.
//
// Requires:
// `capacity` bytes at `data` are readable and `size` of them writable, as long as said above.
ZB_MUST_USE
zb_status zb_tensor_wrap(const struct zb_tensor_desc *ZB_NONNULL desc,
                         void *ZB_NULLABLE data,
                         size_t size,
                         size_t capacity,
                         zb_release_fn ZB_NULLABLE release,
                         void *ZB_NULLABLE user_data,
                         struct zb_tensor *ZB_NULLABLE *ZB_NONNULL tensor);

// As zb_tensor_wrap, for memory that is never written: such a tensor can be bound to inputs only (else READ_ONLY), so every
// dimension has to be known.
//
// Requires:
// `capacity` bytes at `data` are readable, as long as zb_tensor_wrap says.
ZB_MUST_USE
zb_status zb_tensor_wrap_const(const struct zb_tensor_desc *ZB_NONNULL desc,
                               const void *ZB_NULLABLE data,
                               size_t size,
                               size_t capacity,
                               zb_release_fn ZB_NULLABLE release,
                               void *ZB_NULLABLE user_data,
                               struct zb_tensor *ZB_NULLABLE *ZB_NONNULL tensor);

// Makes a tensor on zeroed memory of zerobind's own, with room behind it for what engines read past an input.
//
// `alignment` is 0 (for 64) or a power of two up to 2 MiB, in bytes. The memory lives until the handle is destroyed and no
// context has the tensor bound.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_ARGUMENT (dtype, alignment), SHAPE_MISMATCH, UNSUPPORTED, OUT_OF_MEMORY.
//
// Requires:
// `desc` is NULL or readable; `tensor` is NULL or writable.
ZB_MUST_USE
zb_status zb_tensor_alloc(const struct zb_tensor_desc *ZB_NONNULL desc,
                          size_t alignment,
                          struct zb_tensor *ZB_NULLABLE *ZB_NONNULL tensor);

// Makes a tensor as zb_tensor_alloc, with type, shape and alignment as the slot needs them now. Plans the context if that
// is not done.
//
// It does not bind the tensor. Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (slot), BUSY, SHAPE_MISMATCH (a
// dimension that is not known: resize first, or leave the slot unbound), OUT_OF_MEMORY, and those of zb_context_prepare.
//
// Requires:
// `tensor` is NULL or writable.
ZB_MUST_USE
zb_status zb_tensor_alloc_for(struct zb_context *ZB_NONNULL context,
                              zb_slot slot,
                              struct zb_tensor *ZB_NULLABLE *ZB_NONNULL tensor);

// Makes a tensor of the bytes of a file at `offset`: memory that other processes may map too, such as that of memfd_create,
// shm_open or a frame buffer that was sent here. Nothing is copied: what is written on one side is seen on the other.
//
// The bytes are those of `desc` (zb_tensor_desc_size), at any offset; a slot may ask for an aligned one, as for every
// memory (64 suits every engine). What the file has behind them serves as slack. `flags` is 0 or ZB_MAP_READ_ONLY: the
// memory is then only read, and the tensor can be bound to inputs only (else READ_ONLY).
//
// The descriptor is duplicated: it stays the caller's to close. The map lives until the handle is destroyed and no context
// has the tensor bound. Who may touch the bytes when is between the processes: during a run nobody else writes what it
// reads, or touches what it writes.
//
// A file that is cut short takes memory away. zerobind asks for its size when the tensor is bound and before each run that
// uses it (a system call): IO then, and nothing was touched. A cut during the run, or before the host touches the bytes
// itself, cannot be detected and ends the process with SIGBUS. Seal a memfd with F_SEAL_SHRINK before it is mapped, and
// neither can happen nor is anything asked.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_ARGUMENT (dtype, flags, offset + size beyond 64 bits), SHAPE_MISMATCH (a
// dimension of -1), UNSUPPORTED (rank, strings, systems without file descriptors), IO (not a descriptor, or of what cannot be
// mapped or read), BUFFER_TOO_SMALL (the file is too short), READ_ONLY (without the flag, and the descriptor is open for
// reading only, or the file is sealed against writing).
//
// Requires:
// `desc` is NULL or readable; `tensor` is NULL or writable.
ZB_MUST_USE
zb_status zb_tensor_map_fd(const struct zb_tensor_desc *ZB_NONNULL desc,
                           int fd,
                           uint64_t offset,
                           uint32_t flags,
                           struct zb_tensor *ZB_NULLABLE *ZB_NONNULL tensor);

// Gives the address and the size in bytes of the tensor's memory; either place may be NULL.
//
// The address is valid as long as the tensor handle, or a binding, an operation of a queue or an export of the tensor, exists. The bytes are the host's to use
// between runs only; that cannot be enforced. Read-only memory (zb_tensor_wrap_const,
// ZB_MAP_READ_ONLY) must not be written.
//
// Any thread. Errors: NULL_ARGUMENT (tensor), INVALID_HANDLE.
//
// Requires:
// `data_or_null` and `size_or_null` are NULL or writable.
ZB_MUST_USE
zb_status zb_tensor_get_data(struct zb_tensor *ZB_NONNULL tensor,
                             void *ZB_NULLABLE *ZB_NULLABLE data_or_null,
                             size_t *ZB_NULLABLE size_or_null);

// Gives type and shape. Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE.
//
// Requires:
// `desc` is NULL or writable.
ZB_MUST_USE zb_status zb_tensor_get_desc(struct zb_tensor *ZB_NONNULL tensor, struct zb_tensor_desc *ZB_NONNULL desc);

// Destroys the handle; NULL is fine. Bindings of the tensor stay and keep its memory, and so do writes and inferences in
// queues; reads in queues that have not started are settled with DESTROYED. `release` is called when the last use is gone, on
// the thread that ends it, maybe inside this call.
//
// Never blocks. Any thread, any callback but the log's. Errors: INVALID_HANDLE.
zb_status zb_tensor_destroy(struct zb_tensor *ZB_NULLABLE tensor);

// Waits until every operation on the tensor that is in a queue now is settled: then the host may use its memory. `direction`
// is ZB_SYNC_TO_HOST before the host reads. ZB_SYNC_TO_DEVICE is for after the host has written all of it by itself: then
// what a failed operation had left there counts no more (DEPENDENCY). A callback of an event that is waited for may still
// be running when this returns. `timeout_ns` 0 only asks, UINT64_MAX waits for good.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (direction), TIMEOUT (the operations go on), BUSY (inside
// an operation or a callback of a queue that would have to be waited for).
ZB_MUST_USE zb_status zb_tensor_sync(struct zb_tensor *ZB_NONNULL tensor, int32_t direction, uint64_t timeout_ns);

// Binds the tensor to a slot of the context until it is unbound, replaced, or the context goes.
//
// The binding holds the tensor: destroying the tensor's handle does not end it. Checked here: type, shape as far as it is
// known, writability, and unless copies are allowed, alignment and slack; overlap with other slots is judged by the run.
// Replacing a binding may call the old tensor's release, after the context is free again. Ends views of outputs.
//
// One tensor may be bound to any number of contexts; a run whose output is in use by another run is BUSY.
//
// Errors: NULL_ARGUMENT, INVALID_HANDLE (either), INVALID_ARGUMENT (slot), BUSY (the context runs), DTYPE_MISMATCH,
// SHAPE_MISMATCH, READ_ONLY, MISALIGNED, BUFFER_TOO_SMALL (slack), IO (the file behind the tensor was cut short).
ZB_MUST_USE
zb_status zb_tensor_bind(struct zb_tensor *ZB_NONNULL tensor,
                         struct zb_context *ZB_NONNULL context,
                         zb_slot slot);

// Makes a tensor of the memory of another library's, which is shared, not copied: what is written on one side is seen on the
// other. `source` is a DLManagedTensorVersioned of DLPack 1 (struct of dlpack.h).
//
// Its memory has to be the host's (kDLCPU, kDLCUDAHost, kDLROCMHost), dense and row-major: strides NULL or compact, where
// those of dimensions of 1, and of empty tensors, do not count. Types under 8 bits are packed. With the flag READ_ONLY the
// tensor can be bound to inputs only. Nothing is known of bytes behind it, so it has no slack (see zb_requirements).
//
// With ZB_OK `source` passes to the tensor, which calls its deleter (unless that is NULL) exactly once, when the tensor
// handle is destroyed and no binding, operation of a queue or export uses it, on the thread that ends the last use. If the call
// fails, `source` stays the caller's, deleter not called. Between runs everybody who shares the bytes may use them by an
// order that they agree on; during a run nobody else writes what it reads, or touches what it writes.
//
// Any thread. Errors: NULL_ARGUMENT (source, tensor, shape, data of a tensor with elements), UNSUPPORTED (major version,
// flags, device, type, lanes, strides, padded types under 8 bits, rank above 16), INVALID_ARGUMENT (negative rank or dimension,
// offset beyond the address space), SHAPE_MISMATCH (size beyond 64 bits), OUT_OF_MEMORY.
//
// Requires:
// `source` is NULL or a DLManagedTensorVersioned as DLPack describes it; `tensor` is NULL or writable.
ZB_MUST_USE
zb_status zb_tensor_from_dlpack(struct DLManagedTensorVersioned *ZB_NULLABLE source,
                                struct zb_tensor *ZB_NULLABLE *ZB_NONNULL tensor);

// Gives the tensor to another library as a DLManagedTensorVersioned (DLPack 1, struct of dlpack.h), without a copy: what is
// written on one side is seen on the other.
//
// It holds the tensor's memory as a binding does, until its deleter is called, exactly once, on any thread, any callback
// included; the tensor handle may be destroyed before. Each call makes another one. Shape and compact strides are given,
// device kDLCPU, flag READ_ONLY if the tensor's memory must not be written; the address is aligned as the tensor is, which
// may be less than the 256 bytes that DLPack speaks of. During a run of zerobind nobody else writes what it reads, or touches
// what it writes; that cannot be enforced.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, SHAPE_MISMATCH (a dimension of -1).
//
// Requires:
// `managed` is NULL or writable.
ZB_MUST_USE
zb_status zb_tensor_to_dlpack(struct zb_tensor *ZB_NONNULL tensor,
                              struct DLManagedTensorVersioned *ZB_NULLABLE *ZB_NONNULL managed);

// Runs the context on the calling thread with what is bound to it. When it returns ZB_OK, bound outputs are complete.
//
// Inputs are read during the run, on every engine, and never written; an output that is not bound stays in the engine's
// memory (zb_context_output_view). A call that is refused by a check writes nothing. Once the engine has started, a failure
// leaves bound outputs and recurrent state unspecified; bytes outside them are never touched.
//
// One run of a context at a time; contexts of one model run at once. No allocation of zerobind's own, no copy.
//
// Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (options), BUSY (the context runs; a tensor is in use by another
// context), UNBOUND (an input has no memory), SHAPE_MISMATCH, BUFFER_TOO_SMALL, MISALIGNED, ALIASED, COPY_REQUIRED,
// IO (a shared file was cut short), UNSUPPORTED, RUNTIME (the engine's text), OUT_OF_MEMORY, CANCELLED (zb_context_cancel, or
// the context was destroyed), DEADLINE_EXCEEDED, and those of zb_context_prepare.
//
// Requires:
// `options` is NULL or has its struct_size set; the memory of bound tensors is as zb_tensor_wrap asks.
ZB_MUST_USE
zb_status zb_infer(struct zb_context *ZB_NONNULL context,
                   const struct zb_infer_options *ZB_NULLABLE options);

// Runs as zb_infer, with memory lent to some slots for this call only: for buffers that are at another address every time.
//
// A loan shadows the binding of its slot; the other slots keep theirs. Type and shape in a loan may differ from the slot's
// only in dimensions that are open in the model; an input is then resized, and that stays: a binding of another shape has to be
// replaced, or the input resized back, before it can be used again. When the call returns, however
// it returns, no pointer of a loan is used again, and the slot is back at its binding, or at none. State inside the engine
// is kept from call to call. With count 0 it is zb_infer. Quickest where the slots, and their order, are those of the call before.
//
// Errors: those of zb_infer; INVALID_ARGUMENT (a slot named twice or out of range, loan flags, an input
// lent as an output), READ_ONLY (an output lent as an input), NULL_ARGUMENT (data NULL
// with size above 0), DTYPE_MISMATCH.
//
// Requires:
// `count` loans are readable at `loans`; the memory of each is as it says until the call returns.
ZB_MUST_USE
zb_status zb_infer_with(struct zb_context *ZB_NONNULL context,
                        const struct zb_loan *ZB_NULLABLE loans,
                        size_t count,
                        const struct zb_infer_options *ZB_NULLABLE options);

// Sets `options` to the defaults; `size` is sizeof(zb_preflight_options). The same as ZB_PREFLIGHT_OPTIONS_INIT.
//
// Errors: NULL_ARGUMENT, INVALID_ARGUMENT (size).
//
// Requires:
// `size` bytes at `options` are writable.
zb_status zb_preflight_options_init(struct zb_preflight_options *ZB_NONNULL options, size_t size);

// Tries the model in a file in a process of its own: loads it, plans, runs it once on zeros, and lets go of it. What crashes
// or hangs there does not crash or hang the caller. Meant for models from elsewhere, before zb_model_open.
//
// ZB_OK: all of that was done with this file, these engines' libraries, options and shapes, within the limits. It promises
// nothing about other inputs or shapes, nor about a file that has changed since (give sha256 to both calls, or use
// zb_model_preflight_bytes). It is a test, not a sandbox: the process may do whatever the caller may.
//
// MODEL_INVALID is what to act on: the model is damaged, or it ended the process of the trial, or did not come to an end; the
// text tells the stage (load, plan, run, close) and the signal or the limit. Every other error says that the trial came no
// further, without a crash up to there: the status and text are those that the call of this stage would give in the
// process itself.
//
// Blocks for as long as it takes: the start of a process and of the engine, and the trial. Any thread, several at once.
// Starts a helper executable (zb_preflight_options.helper), and waits only for that child; SIGCHLD may be ignored, and children
// may be waited for by others. Errors: NULL_ARGUMENT, INVALID_ARGUMENT (options), those of zb_model_open, zb_context_create,
// zb_context_prepare and zb_infer; IO (the helper is not found or cannot be started), RUNTIME_UNAVAILABLE (the helper is of
// another version; the engine's library ends the process), DEADLINE_EXCEEDED (the time was over before the model was touched),
// UNSUPPORTED (systems without processes of this kind).
//
// Requires:
// `path` is NUL-terminated; `options` and `preflight_or_null` are NULL or have their struct_size set.
ZB_MUST_USE
zb_status zb_model_preflight(const char *ZB_NONNULL path,
                             const struct zb_model_options *ZB_NULLABLE options,
                             const struct zb_preflight_options *ZB_NULLABLE preflight_or_null);

// Tries the model in `length` bytes of a file at `offset`, as zb_model_open_fd opens it. The bytes are copied for the
// helper, into memory.
//
// Any thread. Errors: as zb_model_preflight, and those of zb_model_open_fd.
//
// Requires:
// `options` and `preflight_or_null` are NULL or have their struct_size set.
ZB_MUST_USE
zb_status zb_model_preflight_fd(int fd,
                                uint64_t offset,
                                uint64_t length,
                                const struct zb_model_options *ZB_NULLABLE options,
                                const struct zb_preflight_options *ZB_NULLABLE preflight_or_null);

// Tries a model in memory, which is the caller's again when the call returns. Any alignment. The bytes are copied for the
// helper, into memory that no other process sees.
//
// Any thread. Errors: as zb_model_preflight.
//
// Requires:
// `size` bytes at `data` are readable; `options` and `preflight_or_null` are NULL or have their struct_size set.
ZB_MUST_USE
zb_status zb_model_preflight_bytes(const void *ZB_NONNULL data,
                                   size_t size,
                                   const struct zb_model_options *ZB_NULLABLE options,
                                   const struct zb_preflight_options *ZB_NULLABLE preflight_or_null);

// Sets `options` to the defaults; `size` is sizeof(zb_queue_options). The same as ZB_QUEUE_OPTIONS_INIT.
//
// Errors: NULL_ARGUMENT, INVALID_ARGUMENT (size).
//
// Requires:
// `size` bytes at `options` are writable.
zb_status zb_queue_options_init(struct zb_queue_options *ZB_NONNULL options, size_t size);

// Makes a queue: an ordered timeline on which writes, inferences and reads happen one after the other.
//
// With a thread of its own, or on an executor of the host's: then no thread is made, at most one task of the queue is with the
// executor at a time, and each task does one operation. Operations of different queues that use one tensor, one of them writing,
// or one context, happen in the order in which they were put there; others in any.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_ARGUMENT (options), OUT_OF_MEMORY.
//
// Requires:
// `options` is NULL or has its struct_size set; `queue` is NULL or writable; `submit` may be called as its type says until
// the queue is destroyed and its last operation is settled.
ZB_MUST_USE
zb_status zb_queue_create(const struct zb_queue_options *ZB_NULLABLE options,
                          struct zb_queue *ZB_NULLABLE *ZB_NONNULL queue);

// Destroys the handle; NULL is fine. Operations that have not started are settled with DESTROYED; one that runs is asked to
// stop, and settled as it ends.
//
// Never blocks. Any thread, any callback but the log's. Errors: INVALID_HANDLE.
zb_status zb_queue_destroy(struct zb_queue *ZB_NULLABLE queue);

// Puts a run of the context into the queue, with the tensors and shapes that it has now: binding, unbinding and swapping later
// does not change it. The tensors are held until the event is settled; their memory is the operation's until then.
//
// Every input needs a tensor; an output without one stays in the engine (zb_context_output_view, once settled). While a
// context has operations that are not settled, zb_infer, zb_infer_with, zb_context_resize_input, zb_context_prepare and
// zb_context_reset_state are BUSY on it. A deadline counts from this call. `event_or_null` may be NULL.
//
// An operation that fails, is cancelled or is destroyed invalidates what it would have written: operations that read it are
// settled with DEPENDENCY until something has written all of it.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE (either), INVALID_ARGUMENT (options), UNBOUND (an input has no tensor),
// QUEUE_FULL, BUSY (a run of the context is in progress outside of queues; the executor takes no task), OUT_OF_MEMORY. All
// that zb_infer can give besides is what the event is settled with.
//
// Requires:
// `options` is NULL or has its struct_size set; `event_or_null` is NULL or writable.
ZB_MUST_USE
zb_status zb_queue_infer(struct zb_queue *ZB_NONNULL queue,
                         struct zb_context *ZB_NONNULL context,
                         const struct zb_infer_options *ZB_NULLABLE options,
                         struct zb_event *ZB_NULLABLE *ZB_NULLABLE event_or_null);

// Puts a run of the context into the queue as zb_queue_infer, with other tensors than the bound ones for some slots, for this
// operation only. A tensor of an input may differ from the slot in open dimensions: this run has that shape.
//
// Any thread. Errors: those of zb_queue_infer; INVALID_ARGUMENT (a slot named twice or out of range, flags), DTYPE_MISMATCH,
// SHAPE_MISMATCH, READ_ONLY, MISALIGNED, BUFFER_TOO_SMALL (slack).
//
// Requires:
// `count` entries are readable at `tensors`; else as zb_queue_infer.
ZB_MUST_USE
zb_status zb_queue_infer_with(struct zb_queue *ZB_NONNULL queue,
                              struct zb_context *ZB_NONNULL context,
                              const struct zb_slot_tensor *ZB_NULLABLE tensors,
                              size_t count,
                              const struct zb_infer_options *ZB_NULLABLE options,
                              struct zb_event *ZB_NULLABLE *ZB_NULLABLE event_or_null);

// Puts a write into the queue: `size` bytes from `source`, to byte `offset` of the tensor. The bytes are copied before this
// returns, and `source` is the caller's again. The tensor is held until the event is settled. `event_or_null` may be NULL.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE (either), INVALID_ARGUMENT (offset and size), READ_ONLY, QUEUE_FULL, BUSY
// (the executor takes no task), OUT_OF_MEMORY.
//
// Requires:
// `size` bytes at `source` are readable during the call; `event_or_null` is NULL or writable.
ZB_MUST_USE
zb_status zb_queue_write(struct zb_queue *ZB_NONNULL queue,
                         struct zb_tensor *ZB_NONNULL tensor,
                         size_t offset,
                         const void *ZB_NULLABLE source,
                         size_t size,
                         struct zb_event *ZB_NULLABLE *ZB_NULLABLE event_or_null);

// Puts a read into the queue: `size` bytes from byte `offset` of the tensor, to `destination`. It lands whole or not at all,
// right before the event is settled; until then `destination` is the operation's, and not after. A read does not keep the
// tensor: destroying its handle settles reads that have not started with DESTROYED.
//
// Any thread. Errors: NULL_ARGUMENT (`event` included), INVALID_HANDLE (either), INVALID_ARGUMENT (offset and size),
// QUEUE_FULL, BUSY (the executor takes no task), OUT_OF_MEMORY.
//
// Requires:
// `size` bytes at `destination` are writable, and used by nobody else, until the event is settled; `event` is NULL or writable.
ZB_MUST_USE
zb_status zb_queue_read(struct zb_queue *ZB_NONNULL queue,
                        struct zb_tensor *ZB_NONNULL tensor,
                        size_t offset,
                        void *ZB_NULLABLE destination,
                        size_t size,
                        struct zb_event *ZB_NULLABLE *ZB_NONNULL event);

// Puts an event into the queue that is settled when all before it is: then what the queue wrote can be read in place.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, QUEUE_FULL, BUSY (the executor takes no task).
//
// Requires:
// `event` is NULL or writable.
ZB_MUST_USE zb_status zb_queue_fence(struct zb_queue *ZB_NONNULL queue, struct zb_event *ZB_NULLABLE *ZB_NONNULL event);

// Lets nothing that is put into the queue later start before `event` is settled, however its operation ends. Takes a place in
// the queue. The event may be of any queue.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE (either), QUEUE_FULL, BUSY (the executor takes no task).
ZB_MUST_USE zb_status zb_queue_wait_event(struct zb_queue *ZB_NONNULL queue, struct zb_event *ZB_NONNULL event);

// Waits until everything that is in the queue now is settled; the last callbacks may still be running. `timeout_ns` 0 only asks, UINT64_MAX waits for good.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, TIMEOUT (the operations go on), BUSY (inside an operation or a callback of
// this queue; the executor takes no task).
ZB_MUST_USE zb_status zb_queue_finish(struct zb_queue *ZB_NONNULL queue, uint64_t timeout_ns);

// Waits until the event is settled. What this returns is about the wait alone; how the operation ended is put into `*result`.
// `timeout_ns` 0 only asks, UINT64_MAX waits for good.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, TIMEOUT (the operation goes on, `*result` is not written), BUSY (inside an
// operation or a callback of the same queue, and not settled).
//
// Requires:
// `result` is NULL or writable.
ZB_MUST_USE
zb_status zb_event_wait(struct zb_event *ZB_NONNULL event,
                        uint64_t timeout_ns,
                        zb_status *ZB_NONNULL result);

// Has `complete` called once when the event is settled, or now if it is. One for each event.
//
// The event is settled before the call: those who wait for it, for the queue or for a tensor may return while the callback is
// still running, and it comes also after the queue was destroyed. What it uses may be freed when it has said itself that it
// is done.
//
// Destroying the event's handle does not take the callback back. Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE,
// INVALID_ARGUMENT (there is a callback already).
//
// Requires:
// `complete` may be called once with `user_data` on any thread.
ZB_MUST_USE
zb_status zb_event_on_complete(struct zb_event *ZB_NONNULL event,
                               zb_complete_fn ZB_NONNULL complete,
                               void *ZB_NULLABLE user_data);

// Copies the text of the error that the operation ended with; "" if it succeeded. As zb_last_error otherwise.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, BUSY (not settled yet), BUFFER_TOO_SMALL.
//
// Requires:
// `capacity` bytes at `buffer` are writable; `needed` is NULL or writable.
ZB_MUST_USE
zb_status zb_event_get_error(struct zb_event *ZB_NONNULL event,
                             char *ZB_NULLABLE buffer,
                             size_t capacity,
                             size_t *ZB_NULLABLE needed);

// Gives type and shape of a slot as the inference of this event left them, and the size in bytes; `size_or_null` may be NULL.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (slot), BUSY (not settled yet), UNBOUND (no inference, or
// one that failed).
//
// Requires:
// `desc` is NULL or writable, `size_or_null` too.
ZB_MUST_USE
zb_status zb_event_get_slot_desc(struct zb_event *ZB_NONNULL event,
                                 zb_slot slot,
                                 struct zb_tensor_desc *ZB_NONNULL desc,
                                 size_t *ZB_NULLABLE size_or_null);

// Gives a descriptor that becomes readable when the event is settled, for poll and its like. It is the caller's to close, and
// independent of the event's handle; what can be read from it means nothing. Each call makes a new one.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, IO (no more descriptors), UNSUPPORTED (systems without them).
//
// Requires:
// `fd` is NULL or writable.
ZB_MUST_USE zb_status zb_event_get_fd(struct zb_event *ZB_NONNULL event, int *ZB_NONNULL fd);

// Asks for the operation not to happen. One that has not started is settled with CANCELLED at once; one that runs is asked to
// stop as by zb_context_cancel; one that is over stays as it is.
//
// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, UNSUPPORTED (it runs, and this engine cannot stop).
ZB_MUST_USE zb_status zb_event_cancel(struct zb_event *ZB_NONNULL event);

// Destroys the handle; NULL is fine. The operation goes on, a callback is still called, and threads that wait get the result.
//
// Never blocks. Any thread, any callback but the log's. Errors: INVALID_HANDLE.
zb_status zb_event_destroy(struct zb_event *ZB_NULLABLE event);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus


/* Values for structs before their first use, in C99 and C++11: zb_slot_info info = ZB_SLOT_INFO_INIT; */
#define ZB_MODEL_OPTIONS_INIT {sizeof(zb_model_options), ZB_RUNTIME_AUTO, {0}, 0, NULL, 0}
#define ZB_CONTEXT_OPTIONS_INIT {sizeof(zb_context_options), 0, ZB_COPY_NEVER, 0, NULL, 0}
#define ZB_PREFLIGHT_OPTIONS_INIT {sizeof(zb_preflight_options), 0, 0, 0, NULL, NULL, NULL, 0}
#define ZB_INFER_OPTIONS_INIT {sizeof(zb_infer_options), 0, 0}
#define ZB_QUEUE_OPTIONS_INIT {sizeof(zb_queue_options), 0, NULL, NULL}
#define ZB_RUNTIME_INFO_INIT {sizeof(zb_runtime_info), 0, NULL, NULL, NULL}
#define ZB_SLOT_INFO_INIT {sizeof(zb_slot_info), 0, {0, 0, {0}}, 0, NULL, NULL, NULL, NULL, 0, 0, 0, 0}
#define ZB_REQUIREMENTS_INIT {sizeof(zb_requirements), 0, 0, 0, 0, 0, 0}
#define ZB_BINDING_REPORT_INIT {sizeof(zb_binding_report), 0, 0, NULL, NULL, NULL, NULL}
#define ZB_CONTEXT_STATS_INIT {sizeof(zb_context_stats), 0, 0, 0, 0, 0, 0}

/* Slots: the number of an input or output, counted from 0. */
#define ZB_OUTPUT_BIT 0x80000000u
#ifdef __cplusplus
#define ZB_INPUT(index) static_cast<zb_slot>(index)
#define ZB_OUTPUT(index) (ZB_OUTPUT_BIT | static_cast<zb_slot>(index))
#else
#define ZB_INPUT(index) ((zb_slot)(index))
#define ZB_OUTPUT(index) (ZB_OUTPUT_BIT | (zb_slot)(index))
#endif

/* ZB_INPUT as a function, for languages that import no macros. */
static inline zb_slot zb_slot_input(uint32_t index) {
    return index;
}

/* ZB_OUTPUT as a function, for languages that import no macros. */
static inline zb_slot zb_slot_output(uint32_t index) {
    return ZB_OUTPUT_BIT | index;
}

/* A loan of memory that is only read. `capacity` 0 means `size`; `desc` NULL means as the slot is. */
static inline zb_loan zb_loan_input(zb_slot slot,
                                    const void *ZB_NULLABLE data,
                                    size_t size,
                                    size_t capacity,
                                    const zb_tensor_desc *ZB_NULLABLE desc) {
    zb_loan loan;
    loan.slot = slot;
    loan.flags = ZB_LOAN_INPUT;
    /* an input is never written, so dropping const is right, and done where no compiler warns */
#ifdef __cplusplus
    loan.data = const_cast<void *>(data);
#else
    {
        union {
            const void *ZB_NULLABLE from;
            void *ZB_NULLABLE to;
        } pointer;
        pointer.from = data;
        loan.data = pointer.to;
    }
#endif
    loan.size = size;
    loan.capacity = capacity;
    loan.desc = desc;
    return loan;
}

/* A loan of memory that the run writes. `desc` NULL means as the slot is. */
static inline zb_loan zb_loan_output(zb_slot slot,
                                     void *ZB_NULLABLE data,
                                     size_t size,
                                     const zb_tensor_desc *ZB_NULLABLE desc) {
    zb_loan loan;
    loan.slot = slot;
    loan.flags = ZB_LOAN_OUTPUT;
    loan.data = data;
    loan.size = size;
    loan.capacity = 0;
    loan.desc = desc;
    return loan;
}

/* Sizes and offsets are part of the ABI. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define ZB_STATIC_ASSERT(condition, text) static_assert(condition, text)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define ZB_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif
#ifdef ZB_STATIC_ASSERT
ZB_STATIC_ASSERT(sizeof(zb_tensor_desc) == 136, "zb_tensor_desc");
ZB_STATIC_ASSERT(offsetof(zb_tensor_desc, dims) == 8, "zb_tensor_desc.dims");
#if UINTPTR_MAX == UINT64_MAX
ZB_STATIC_ASSERT(sizeof(zb_loan) == 40, "zb_loan");
ZB_STATIC_ASSERT(sizeof(zb_option) == 16, "zb_option");
ZB_STATIC_ASSERT(sizeof(zb_model_options) == 64, "zb_model_options");
ZB_STATIC_ASSERT(sizeof(zb_context_options) == 32, "zb_context_options");
ZB_STATIC_ASSERT(sizeof(zb_slot_shape) == 16, "zb_slot_shape");
ZB_STATIC_ASSERT(sizeof(zb_preflight_options) == 56, "zb_preflight_options");
ZB_STATIC_ASSERT(sizeof(zb_infer_options) == 16, "zb_infer_options");
ZB_STATIC_ASSERT(sizeof(zb_slot_tensor) == 16, "zb_slot_tensor");
ZB_STATIC_ASSERT(sizeof(zb_queue_options) == 24, "zb_queue_options");
ZB_STATIC_ASSERT(sizeof(zb_runtime_info) == 32, "zb_runtime_info");
ZB_STATIC_ASSERT(sizeof(zb_slot_info) == 200, "zb_slot_info");
ZB_STATIC_ASSERT(sizeof(zb_requirements) == 40, "zb_requirements");
ZB_STATIC_ASSERT(sizeof(zb_binding_report) == 48, "zb_binding_report");
ZB_STATIC_ASSERT(sizeof(zb_context_stats) == 48, "zb_context_stats");
#endif
#undef ZB_STATIC_ASSERT
#endif

#if defined(__swift__)
/* For Swift alone: the sets of numbers as enums that take any number, ZBStatus(rawValue: status) == .busy. */
#pragma clang diagnostic ignored "-Wfixed-enum-extension"
#define ZB_SWIFT_NAME(name) __attribute__((swift_name(#name)))
#define ZB_SWIFT_OPEN_ENUM(name) __attribute__((enum_extensibility(open), swift_name(#name)))

/* Statuses. */
enum ZB_SWIFT_OPEN_ENUM(ZBStatus) zb_swift_status : int32_t {
    zb_swift_status_ok ZB_SWIFT_NAME(ok) = ZB_OK,
    zb_swift_status_null_argument ZB_SWIFT_NAME(nullArgument) = ZB_ERROR_NULL_ARGUMENT,
    zb_swift_status_invalid_argument ZB_SWIFT_NAME(invalidArgument) = ZB_ERROR_INVALID_ARGUMENT,
    zb_swift_status_invalid_handle ZB_SWIFT_NAME(invalidHandle) = ZB_ERROR_INVALID_HANDLE,
    zb_swift_status_busy ZB_SWIFT_NAME(busy) = ZB_ERROR_BUSY,
    zb_swift_status_not_found ZB_SWIFT_NAME(notFound) = ZB_ERROR_NOT_FOUND,
    zb_swift_status_io ZB_SWIFT_NAME(io) = ZB_ERROR_IO,
    zb_swift_status_runtime_unavailable ZB_SWIFT_NAME(runtimeUnavailable) = ZB_ERROR_RUNTIME_UNAVAILABLE,
    zb_swift_status_model_invalid ZB_SWIFT_NAME(modelInvalid) = ZB_ERROR_MODEL_INVALID,
    zb_swift_status_unsupported ZB_SWIFT_NAME(unsupported) = ZB_ERROR_UNSUPPORTED,
    zb_swift_status_dtype_mismatch ZB_SWIFT_NAME(dtypeMismatch) = ZB_ERROR_DTYPE_MISMATCH,
    zb_swift_status_shape_mismatch ZB_SWIFT_NAME(shapeMismatch) = ZB_ERROR_SHAPE_MISMATCH,
    zb_swift_status_buffer_too_small ZB_SWIFT_NAME(bufferTooSmall) = ZB_ERROR_BUFFER_TOO_SMALL,
    zb_swift_status_misaligned ZB_SWIFT_NAME(misaligned) = ZB_ERROR_MISALIGNED,
    zb_swift_status_aliased ZB_SWIFT_NAME(aliased) = ZB_ERROR_ALIASED,
    zb_swift_status_unbound ZB_SWIFT_NAME(unbound) = ZB_ERROR_UNBOUND,
    zb_swift_status_copy_required ZB_SWIFT_NAME(copyRequired) = ZB_ERROR_COPY_REQUIRED,
    zb_swift_status_cancelled ZB_SWIFT_NAME(cancelled) = ZB_ERROR_CANCELLED,
    zb_swift_status_deadline_exceeded ZB_SWIFT_NAME(deadlineExceeded) = ZB_ERROR_DEADLINE_EXCEEDED,
    zb_swift_status_destroyed ZB_SWIFT_NAME(destroyed) = ZB_ERROR_DESTROYED,
    zb_swift_status_runtime ZB_SWIFT_NAME(runtime) = ZB_ERROR_RUNTIME,
    zb_swift_status_out_of_memory ZB_SWIFT_NAME(outOfMemory) = ZB_ERROR_OUT_OF_MEMORY,
    zb_swift_status_panic ZB_SWIFT_NAME(panic) = ZB_ERROR_PANIC,
    zb_swift_status_timeout ZB_SWIFT_NAME(timeout) = ZB_ERROR_TIMEOUT,
    zb_swift_status_read_only ZB_SWIFT_NAME(readOnly) = ZB_ERROR_READ_ONLY,
    zb_swift_status_dependency ZB_SWIFT_NAME(dependency) = ZB_ERROR_DEPENDENCY,
    zb_swift_status_queue_full ZB_SWIFT_NAME(queueFull) = ZB_ERROR_QUEUE_FULL
};

/* Engines. */
enum ZB_SWIFT_OPEN_ENUM(ZBRuntime) zb_swift_runtime : int32_t {
    zb_swift_runtime_auto ZB_SWIFT_NAME(auto) = ZB_RUNTIME_AUTO,
    zb_swift_runtime_tflite ZB_SWIFT_NAME(tflite) = ZB_RUNTIME_TFLITE,
    zb_swift_runtime_onnxruntime ZB_SWIFT_NAME(onnxruntime) = ZB_RUNTIME_ONNXRUNTIME
};

/* Element types. */
enum ZB_SWIFT_OPEN_ENUM(ZBDataType) zb_swift_dtype : int32_t {
    zb_swift_dtype_invalid ZB_SWIFT_NAME(invalid) = ZB_DTYPE_INVALID,
    zb_swift_dtype_f32 ZB_SWIFT_NAME(f32) = ZB_DTYPE_F32,
    zb_swift_dtype_f64 ZB_SWIFT_NAME(f64) = ZB_DTYPE_F64,
    zb_swift_dtype_f16 ZB_SWIFT_NAME(f16) = ZB_DTYPE_F16,
    zb_swift_dtype_bf16 ZB_SWIFT_NAME(bf16) = ZB_DTYPE_BF16,
    zb_swift_dtype_i8 ZB_SWIFT_NAME(i8) = ZB_DTYPE_I8,
    zb_swift_dtype_u8 ZB_SWIFT_NAME(u8) = ZB_DTYPE_U8,
    zb_swift_dtype_i16 ZB_SWIFT_NAME(i16) = ZB_DTYPE_I16,
    zb_swift_dtype_u16 ZB_SWIFT_NAME(u16) = ZB_DTYPE_U16,
    zb_swift_dtype_i32 ZB_SWIFT_NAME(i32) = ZB_DTYPE_I32,
    zb_swift_dtype_u32 ZB_SWIFT_NAME(u32) = ZB_DTYPE_U32,
    zb_swift_dtype_i64 ZB_SWIFT_NAME(i64) = ZB_DTYPE_I64,
    zb_swift_dtype_u64 ZB_SWIFT_NAME(u64) = ZB_DTYPE_U64,
    zb_swift_dtype_bool ZB_SWIFT_NAME(bool) = ZB_DTYPE_BOOL,
    zb_swift_dtype_i4 ZB_SWIFT_NAME(i4) = ZB_DTYPE_I4,
    zb_swift_dtype_u4 ZB_SWIFT_NAME(u4) = ZB_DTYPE_U4,
    zb_swift_dtype_c64 ZB_SWIFT_NAME(c64) = ZB_DTYPE_C64,
    zb_swift_dtype_string ZB_SWIFT_NAME(string) = ZB_DTYPE_STRING,
    zb_swift_dtype_f8e4m3fn ZB_SWIFT_NAME(f8e4m3fn) = ZB_DTYPE_F8E4M3FN,
    zb_swift_dtype_f8e5m2 ZB_SWIFT_NAME(f8e5m2) = ZB_DTYPE_F8E5M2,
    zb_swift_dtype_c128 ZB_SWIFT_NAME(c128) = ZB_DTYPE_C128
};

/* Copy policies. */
enum ZB_SWIFT_OPEN_ENUM(ZBCopyPolicy) zb_swift_copy_policy : int32_t {
    zb_swift_copy_policy_never ZB_SWIFT_NAME(never) = ZB_COPY_NEVER,
    zb_swift_copy_policy_allow ZB_SWIFT_NAME(allow) = ZB_COPY_ALLOW
};

/* Kinds of quantization. */
enum ZB_SWIFT_OPEN_ENUM(ZBQuantization) zb_swift_quantization : int32_t {
    zb_swift_quantization_none ZB_SWIFT_NAME(none) = ZB_QUANTIZATION_NONE,
    zb_swift_quantization_per_tensor ZB_SWIFT_NAME(perTensor) = ZB_QUANTIZATION_PER_TENSOR,
    zb_swift_quantization_per_axis ZB_SWIFT_NAME(perAxis) = ZB_QUANTIZATION_PER_AXIS
};

/* What a new address costs. */
enum ZB_SWIFT_OPEN_ENUM(ZBRebind) zb_swift_rebind : int32_t {
    zb_swift_rebind_free ZB_SWIFT_NAME(free) = ZB_REBIND_FREE,
    zb_swift_rebind_replan ZB_SWIFT_NAME(replan) = ZB_REBIND_REPLAN,
    zb_swift_rebind_staged ZB_SWIFT_NAME(staged) = ZB_REBIND_STAGED
};

/* What a run did with the memory of a slot. */
enum ZB_SWIFT_OPEN_ENUM(ZBPath) zb_swift_path : int32_t {
    zb_swift_path_unbound ZB_SWIFT_NAME(unbound) = ZB_PATH_UNBOUND,
    zb_swift_path_direct ZB_SWIFT_NAME(direct) = ZB_PATH_DIRECT,
    zb_swift_path_staged ZB_SWIFT_NAME(staged) = ZB_PATH_STAGED
};

/* Log levels. */
enum ZB_SWIFT_OPEN_ENUM(ZBLogLevel) zb_swift_log_level : int32_t {
    zb_swift_log_level_error ZB_SWIFT_NAME(error) = ZB_LOG_ERROR,
    zb_swift_log_level_warn ZB_SWIFT_NAME(warn) = ZB_LOG_WARN,
    zb_swift_log_level_info ZB_SWIFT_NAME(info) = ZB_LOG_INFO,
    zb_swift_log_level_debug ZB_SWIFT_NAME(debug) = ZB_LOG_DEBUG
};
#undef ZB_SWIFT_NAME
#undef ZB_SWIFT_OPEN_ENUM
#endif

#if defined(__has_feature)
#if __has_feature(nullability)
#pragma clang diagnostic pop
#endif
#endif

#endif /* ZEROBIND_H */
