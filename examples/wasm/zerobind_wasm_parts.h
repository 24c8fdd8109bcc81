/*
 * Inside of zerobind_wasm: what its two files share. A host includes zerobind_wasm.h.
 */
#ifndef ZEROBIND_WASM_PARTS_H
#define ZEROBIND_WASM_PARTS_H

#include "zerobind_wasm.h"

#include <stdatomic.h>

#define ZBW_TEXT_BYTES 1024

/* A place of a table: a model, or a context with room for the loans of a call, so that a call allocates nothing. */
typedef struct zbw_object {
    zb_model *model;
    zb_context *context;
    uint32_t slots;
    zb_loan *loans;
    zb_tensor_desc *descs;
    /* counts the objects that had this place */
    uint32_t serial;
} zbw_object;

typedef enum zbw_kind { ZBW_MODEL, ZBW_CONTEXT, ZBW_KINDS } zbw_kind;

typedef struct zbw_table {
    zbw_object *objects;
    uint32_t capacity;
    /* how many of them were ever used */
    uint32_t touched;
} zbw_table;

/* What the guest's models take of the host. They can outlive the guest, in a context that the host uses elsewhere. */
typedef struct zbw_usage {
    atomic_uint_fast64_t bytes;
    atomic_uint_fast32_t models;
    atomic_uint_fast32_t holders;
} zbw_usage;

/* One call of a guest: its memory as it is now. A host function lets no guest code run, so it stays until the call ends. */
typedef struct zbw_call {
    zbw_guest *guest;
    unsigned char *base;
    uint64_t size;
} zbw_call;

typedef int32_t (*zbw_handler)(zbw_call *call, const wasmtime_val_raw_t *arguments);

/* What a function of the linker carries. */
typedef struct zbw_binding {
    zbw_guest *guest;
    zbw_handler handler;
} zbw_binding;

#define ZBW_FUNCTIONS 13

struct zbw_guest {
    zbw_options options;
    zbw_table tables[ZBW_KINDS];
    zbw_usage *usage;
    /* one of its functions is being called */
    int is_inside;
    zbw_binding bindings[ZBW_FUNCTIONS];
    char text[ZBW_TEXT_BYTES];
};

/* --- errors --- */

/* Keeps a text for last_error and gives the status on. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
int32_t zbw_refuse(zbw_guest *guest, int32_t status, const char *format, ...);
/* Passes a status of zerobind on, with its text. */
int32_t zbw_told(zbw_guest *guest, zb_status status);

/* --- the guest's memory --- */

/* Puts the caller's memory into `call`. Asked for in every call, since any growth may have moved it. */
int32_t zbw_find_memory(zbw_call *call, wasmtime_caller_t *caller);
int zbw_is_inside(const zbw_call *call, uint64_t offset, uint64_t size);
int32_t zbw_check_inside(zbw_call *call, const char *what, uint64_t offset, uint64_t size);
/* Both are for ranges that were found to be inside; offsets need no alignment. */
void zbw_get(const zbw_call *call, uint64_t offset, void *to, size_t size);
void zbw_put(const zbw_call *call, uint64_t offset, const void *from, size_t size);

/* --- objects and their handles --- */

uint32_t zbw_handle_of(zbw_kind kind, const zbw_table *table, const zbw_object *object);
/* NULL for a handle that is not of this guest, this kind, or any more. */
zbw_object *zbw_find(const zbw_guest *guest, zbw_kind kind, uint32_t handle);
/* Refuses such a handle. */
int32_t zbw_unknown(zbw_guest *guest, zbw_kind kind, uint32_t handle);
/* A free place, or NULL when the guest has all that it may have. */
zbw_object *zbw_take_place(zbw_guest *guest, zbw_kind kind);
/* Destroys what is in a place and makes it free. */
void zbw_clear_place(zbw_object *object);

/* What a model's bytes count for: to be charged before the model is opened with zbw_release_model and the usage. */
void zbw_charge_model(zbw_usage *usage, uint64_t size);
void zbw_release_model(void *usage, void *data, size_t size);

#endif
