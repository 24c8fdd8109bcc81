/*
 * zerobind for WebAssembly guests: host functions for a wasmtime_linker. C11, since wasmtime's headers are.
 *
 * A guest's tensors stay in its linear memory and are lent to the engine for one call (zb_infer_with). Nothing of that memory
 * is kept from call to call, not even its address: it may lie elsewhere whenever the guest has grown it. docs/wasm.md tells
 * the design and the functions that a guest imports; guests/zerobind_guest.h declares them for guests in C.
 *
 * The guest is not trusted: every offset and length is checked against the memory as it is at that moment. Its model is
 * another matter: engines do not survive every damaged model (see zb_model_open), so for guests that may be hostile, name the
 * models that they may open (`allowed`).
 *
 * A zbw_guest belongs to one instance and is used by one thread at a time, as the instance's store is.
 */
#ifndef ZEROBIND_WASM_H
#define ZEROBIND_WASM_H

#include <stddef.h>
#include <stdint.h>
#include <wasmtime.h>
#include <zerobind.h>

/* What a guest's call can give besides zerobind's own statuses (ZB_OK, ZB_ERROR_...). */
/* An offset and length that are not inside the guest's memory. */
#define ZBW_ERROR_OUT_OF_BOUNDS 256
/* The host allows this guest no more of it. */
#define ZBW_ERROR_LIMIT 257
/* The caller exports no memory named "memory", or one of a kind that is refused. */
#define ZBW_ERROR_NO_MEMORY 258

/* Flag: lend shared memories too. Another thread of the guest can then change a tensor while an engine reads it, also
   between the engine's check of an index and its use. Only for guests that are trusted as the host is. */
#define ZBW_TRUST_SHARED_MEMORY 1u

/* Runs a context with what a guest lent; zb_infer_with by default. The pointers are of this call only, and no code of the guest
   may run inside, since it could move them. */
typedef zb_status (*zbw_run_fn)(void *user_data, zb_context *context, const zb_loan *loans, size_t count,
                                const zb_infer_options *options);

/* What a guest may do. Start from ZBW_OPTIONS_INIT. */
typedef struct zbw_options {
    /* most models and contexts at once, each at most 65535; a model counts until its last context is gone */
    uint32_t models;
    uint32_t contexts;
    /* bytes of its models together, which the host holds a copy of */
    uint64_t model_bytes;
    /* the largest input or output of a model, see zb_model_options.max_tensor_bytes */
    uint64_t tensor_bytes;
    /* when a run has to be over, see zb_infer_options.deadline_ns; 0: whenever it is */
    uint64_t run_ns;
    /* threads that compute, see zb_context_options.threads */
    int32_t threads;
    /* ZBW_TRUST_SHARED_MEMORY or 0 */
    uint32_t flags;
    /* the SHA-256 of each model that may be opened, kept as long as the guest; NULL: any, which trusts the guest's models */
    const uint8_t (*allowed)[32];
    size_t allowed_count;
    /* called in place of zb_infer_with unless NULL: to watch the loans, or to measure */
    zbw_run_fn run;
    void *run_data;
} zbw_options;

#define ZBW_OPTIONS_INIT {8, 32, UINT64_C(64) << 20, UINT64_C(64) << 20, 0, 1, 0, NULL, 0, NULL, NULL}

/* The models and contexts of one guest. Its handles are numbers into tables of its own: another guest's mean nothing. */
typedef struct zbw_guest zbw_guest;

/* NULL if there is no memory, or a limit is above what a handle can count. `options` NULL: the defaults. */
zbw_guest *zbw_guest_new(const zbw_options *options);

/* Destroys what the guest left; NULL is fine. The store that its functions are used in must be deleted before. */
void zbw_guest_delete(zbw_guest *guest);

/* Defines the functions in `linker` as the module "zerobind". Returns NULL, or an error that is the caller's. */
wasmtime_error_t *zbw_define(zbw_guest *guest, wasmtime_linker_t *linker);

/* The context behind a guest's handle, or NULL: for reports and counters that guests are not shown. It stays the guest's. */
zb_context *zbw_guest_context(const zbw_guest *guest, uint32_t handle);

#endif
