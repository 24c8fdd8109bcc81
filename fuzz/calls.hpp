// Every function of the header, how often it was called, what it may give, and what is done when it gives something else.
#ifndef ZEROBIND_FUZZ_CALLS_HPP
#define ZEROBIND_FUZZ_CALLS_HPP

#include <zerobind.h>

#include <cstdint>
#include <cstdio>

namespace fuzz {

// Sets of statuses, one bit for each.
using Statuses = uint32_t;
constexpr Statuses bit(zb_status status) { return Statuses{1} << status; }
constexpr Statuses OK = bit(ZB_OK), NULL_ = bit(ZB_ERROR_NULL_ARGUMENT), ARGUMENT = bit(ZB_ERROR_INVALID_ARGUMENT),
                   HANDLE = bit(ZB_ERROR_INVALID_HANDLE), BUSY = bit(ZB_ERROR_BUSY), NOT_FOUND = bit(ZB_ERROR_NOT_FOUND),
                   IO = bit(ZB_ERROR_IO), UNAVAILABLE = bit(ZB_ERROR_RUNTIME_UNAVAILABLE),
                   MODEL = bit(ZB_ERROR_MODEL_INVALID), UNSUPPORTED = bit(ZB_ERROR_UNSUPPORTED),
                   DTYPE = bit(ZB_ERROR_DTYPE_MISMATCH), SHAPE = bit(ZB_ERROR_SHAPE_MISMATCH),
                   SMALL = bit(ZB_ERROR_BUFFER_TOO_SMALL), MISALIGNED = bit(ZB_ERROR_MISALIGNED),
                   ALIASED = bit(ZB_ERROR_ALIASED), UNBOUND = bit(ZB_ERROR_UNBOUND), COPY = bit(ZB_ERROR_COPY_REQUIRED),
                   CANCELLED = bit(ZB_ERROR_CANCELLED), DEADLINE = bit(ZB_ERROR_DEADLINE_EXCEEDED),
                   DESTROYED = bit(ZB_ERROR_DESTROYED), RUNTIME = bit(ZB_ERROR_RUNTIME),
                   MEMORY = bit(ZB_ERROR_OUT_OF_MEMORY), PANIC = bit(ZB_ERROR_PANIC), TIMEOUT = bit(ZB_ERROR_TIMEOUT),
                   READ_ONLY = bit(ZB_ERROR_READ_ONLY), DEPENDENCY = bit(ZB_ERROR_DEPENDENCY),
                   FULL = bit(ZB_ERROR_QUEUE_FULL);
// a handle that may be NULL or anything
constexpr Statuses ANY_HANDLE = NULL_ | HANDLE;
constexpr Statuses PLAN = SHAPE | UNSUPPORTED | MEMORY | RUNTIME;
constexpr Statuses FIT = DTYPE | SHAPE | READ_ONLY | MISALIGNED | SMALL | IO | UNSUPPORTED;
constexpr Statuses RUN = BUSY | UNBOUND | PLAN | SMALL | MISALIGNED | ALIASED | COPY | IO | CANCELLED | DEADLINE | ARGUMENT;

// X(name, what the header says that it can give beside ZB_OK; for calls from several threads nothing more exact is known)
#define ZEROBIND_FUZZ_FUNCTIONS(X)                                                                                        \
    X(zb_version, 0) X(zb_version_string, 0) X(zb_status_name, 0) X(zb_dtype_name, 0) X(zb_dtype_bits, 0)                 \
    X(zb_live_objects, 0) X(zb_last_error, NULL_ | SMALL | BUSY) X(zb_set_log_callback, ARGUMENT | BUSY)                  \
    X(zb_tensor_desc_size, NULL_ | ARGUMENT | UNSUPPORTED | SHAPE) X(zb_runtime_load, ARGUMENT | UNAVAILABLE)             \
    X(zb_runtime_get_info, NULL_ | ARGUMENT) X(zb_model_options_init, NULL_ | ARGUMENT)                                   \
    X(zb_model_open, NULL_ | ARGUMENT | IO | MODEL | UNSUPPORTED | UNAVAILABLE | NOT_FOUND | MEMORY)                      \
    X(zb_model_open_fd, NULL_ | ARGUMENT | IO | MODEL | UNSUPPORTED | UNAVAILABLE | NOT_FOUND | MEMORY | MISALIGNED)      \
    X(zb_model_open_bytes, NULL_ | ARGUMENT | MODEL | UNSUPPORTED | UNAVAILABLE | NOT_FOUND | MEMORY | MISALIGNED)        \
    X(zb_model_open_bytes_copy, NULL_ | ARGUMENT | MODEL | UNSUPPORTED | UNAVAILABLE | NOT_FOUND | MEMORY)                \
    X(zb_model_destroy, HANDLE) X(zb_model_get_runtime, ANY_HANDLE) X(zb_model_get_slot_counts, ANY_HANDLE)               \
    X(zb_model_get_slot_info, ANY_HANDLE | ARGUMENT) X(zb_model_find_input, ANY_HANDLE | NOT_FOUND | ARGUMENT)            \
    X(zb_model_find_output, ANY_HANDLE | NOT_FOUND | ARGUMENT)                                                            \
    X(zb_model_get_metadata, ANY_HANDLE | ARGUMENT | NOT_FOUND | UNSUPPORTED | SMALL)                                     \
    X(zb_model_get_signature_count, ANY_HANDLE) X(zb_model_get_signature_key, ANY_HANDLE | ARGUMENT)                      \
    X(zb_model_signature_find_input, ANY_HANDLE | ARGUMENT | NOT_FOUND | UNSUPPORTED)                                     \
    X(zb_model_signature_find_output, ANY_HANDLE | ARGUMENT | NOT_FOUND | UNSUPPORTED)                                    \
    X(zb_context_options_init, NULL_ | ARGUMENT) X(zb_preflight_options_init, NULL_ | ARGUMENT)                           \
    X(zb_context_create, ANY_HANDLE | ARGUMENT | NOT_FOUND | MODEL | RUNTIME | MEMORY) X(zb_context_destroy, HANDLE)      \
    X(zb_context_cancel, ANY_HANDLE | UNSUPPORTED | MEMORY)                                                               \
    X(zb_context_resize_input, ANY_HANDLE | ARGUMENT | BUSY | SHAPE | UNSUPPORTED)                                        \
    X(zb_context_prepare, ANY_HANDLE | BUSY | PLAN) X(zb_context_get_slot_info, ANY_HANDLE | ARGUMENT | BUSY)             \
    X(zb_context_get_slot_desc, ANY_HANDLE | ARGUMENT | BUSY)                                                             \
    X(zb_context_get_requirements, ANY_HANDLE | ARGUMENT | BUSY | PLAN) X(zb_context_unbind, ANY_HANDLE | ARGUMENT | BUSY) \
    X(zb_context_swap, ANY_HANDLE | ARGUMENT | BUSY | UNBOUND | FIT) X(zb_context_reset_state, ANY_HANDLE | BUSY | MEMORY | RUNTIME) \
    X(zb_context_get_binding_report, ANY_HANDLE | ARGUMENT | BUSY) X(zb_context_get_stats, ANY_HANDLE | ARGUMENT | BUSY)  \
    X(zb_context_output_view, ANY_HANDLE | ARGUMENT | BUSY | UNBOUND | UNSUPPORTED)                                       \
    X(zb_tensor_wrap, NULL_ | ARGUMENT | SHAPE | UNSUPPORTED | MEMORY)                                                    \
    X(zb_tensor_wrap_const, NULL_ | ARGUMENT | SHAPE | UNSUPPORTED | MEMORY)                                              \
    X(zb_tensor_alloc, NULL_ | ARGUMENT | SHAPE | UNSUPPORTED | MEMORY)                                                   \
    X(zb_tensor_alloc_for, ANY_HANDLE | ARGUMENT | BUSY | PLAN)                                                           \
    X(zb_tensor_map_fd, NULL_ | ARGUMENT | SHAPE | UNSUPPORTED | IO | SMALL | READ_ONLY)                                  \
    X(zb_tensor_get_data, ANY_HANDLE) X(zb_tensor_get_desc, ANY_HANDLE) X(zb_tensor_destroy, HANDLE)                      \
    X(zb_tensor_sync, ANY_HANDLE | ARGUMENT | TIMEOUT | BUSY) X(zb_tensor_bind, ANY_HANDLE | ARGUMENT | BUSY | FIT)       \
    X(zb_tensor_from_dlpack, NULL_ | UNSUPPORTED | ARGUMENT | SHAPE | MEMORY) X(zb_tensor_to_dlpack, ANY_HANDLE | SHAPE)  \
    X(zb_infer, ANY_HANDLE | RUN) X(zb_infer_with, ANY_HANDLE | RUN | READ_ONLY | DTYPE)                                  \
    X(zb_queue_options_init, NULL_ | ARGUMENT) X(zb_queue_create, NULL_ | ARGUMENT | MEMORY) X(zb_queue_destroy, HANDLE)  \
    X(zb_queue_infer, ANY_HANDLE | ARGUMENT | UNBOUND | FULL | BUSY | MEMORY)                                             \
    X(zb_queue_infer_with, ANY_HANDLE | ARGUMENT | UNBOUND | FULL | BUSY | MEMORY | FIT)                                  \
    X(zb_queue_write, ANY_HANDLE | ARGUMENT | READ_ONLY | FULL | BUSY | MEMORY)                                           \
    X(zb_queue_read, ANY_HANDLE | ARGUMENT | FULL | BUSY | MEMORY) X(zb_queue_fence, ANY_HANDLE | FULL | BUSY)            \
    X(zb_queue_wait_event, ANY_HANDLE | FULL | BUSY) X(zb_queue_finish, ANY_HANDLE | TIMEOUT | BUSY)                      \
    X(zb_event_wait, ANY_HANDLE | TIMEOUT | BUSY) X(zb_event_on_complete, ANY_HANDLE | ARGUMENT)                          \
    X(zb_event_get_error, ANY_HANDLE | BUSY | SMALL) X(zb_event_get_slot_desc, ANY_HANDLE | ARGUMENT | BUSY | UNBOUND)    \
    X(zb_event_get_fd, ANY_HANDLE | IO | UNSUPPORTED) X(zb_event_cancel, ANY_HANDLE | UNSUPPORTED) X(zb_event_destroy, HANDLE)

enum class Fn : unsigned {
#define ZEROBIND_FUZZ_ENUM(name, statuses) name,
    ZEROBIND_FUZZ_FUNCTIONS(ZEROBIND_FUZZ_ENUM)
#undef ZEROBIND_FUZZ_ENUM
        count
};

const char *name_of(Fn function);
// What the header says, and ZB_OK.
Statuses documented(Fn function);

// Where the fuzzer writes; standard error itself is quiet, since an engine that panics says so there each time.
FILE *report();
// Sends standard error to nowhere (unless ZB_FUZZ_LOUD is set), and the sanitizers' reports to where it went.
void silence_engines();
// Tells what went wrong and the last calls of the thread, and aborts.
[[noreturn]] __attribute__((format(printf, 1, 2))) void fault(const char *format, ...);

// How a call may end: with one of `must` if there are any, else well; `may` in any case.
struct Expect {
    Statuses must = 0;
    Statuses may = 0;

    void fail(Statuses statuses) { must |= statuses; }
    void allow(Statuses statuses) { may |= statuses; }
    bool refused() const { return must != 0; }
    Statuses all() const { return may | (must != 0 ? must : OK); }
};

// Counts the call and compares its status; looks at the text of an error.
zb_status done(Fn function, zb_status status, const Expect &expect);
// The same with no more knowledge than the header's.
zb_status done_somehow(Fn function, zb_status status);
// Counts a call that returns no status.
void counted(Fn function);

#define CALL(name, expect, ...) ::fuzz::done(::fuzz::Fn::name, name(__VA_ARGS__), (expect))
#define CALL_SOMEHOW(name, ...) ::fuzz::done_somehow(::fuzz::Fn::name, name(__VA_ARGS__))

uint64_t calls_made();
uint64_t calls_made(Fn function);
// How often each was called, and succeeded.
void print_each();
// Functions that were never called, each on a line; how many.
unsigned print_never_called();

} // namespace fuzz

#endif
