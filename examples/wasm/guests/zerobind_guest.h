/*
 * What the host offers to a guest in C (clang --target=wasm32 or wasm64). Offsets and sizes are 64 bits wide for both.
 *
 * Each function returns ZB_OK (0), another status of zerobind.h, or one of zerobind_wasm.h (256 and above); the text is told
 * by zb_last_error. What a call gives is written only when it succeeds.
 */
#ifndef ZEROBIND_GUEST_H
#define ZEROBIND_GUEST_H

#include <stdint.h>

#define ZB_IMPORT(name) __attribute__((import_module("zerobind"), import_name(name)))
/* the address of an object as the host wants it */
#define ZB_AT(pointer) ((uint64_t)(uintptr_t)(pointer))

#define ZB_OUTPUT_BIT 0x80000000u

/* as zb_tensor_desc */
typedef struct zb_guest_desc {
    int32_t dtype;
    uint32_t rank;
    int64_t dims[16];
} zb_guest_desc;

/* The address of a tensor must be a multiple of `alignment`; behind an input that ends with the memory there must be
   `slack` bytes more. `size` is 0 while only the run tells it. */
typedef struct zb_guest_requirements {
    uint64_t size;
    uint64_t alignment;
    uint64_t slack;
} zb_guest_requirements;

/* Memory lent for one call. `flags` is 0; `desc` is 0, or the address of a zb_guest_desc where the slot's shape is open. */
typedef struct zb_guest_loan {
    uint32_t slot;
    uint32_t flags;
    uint64_t data;
    uint64_t size;
    uint64_t desc;
} zb_guest_loan;

/* How the last run used a slot: as ZB_PATH_. */
typedef struct zb_guest_report {
    int32_t path;
    uint32_t reserved;
    uint64_t bytes_copied;
} zb_guest_report;

/* The bytes are copied: they are the guest's again at once. `model` is the address of an uint32_t. */
ZB_IMPORT("model_open") int32_t zb_model_open(uint64_t bytes, uint64_t size, uint64_t model);
ZB_IMPORT("model_destroy") int32_t zb_model_destroy(uint32_t model);
/* two uint32_t */
ZB_IMPORT("model_slot_counts") int32_t zb_model_slot_counts(uint32_t model, uint64_t inputs, uint64_t outputs);
ZB_IMPORT("context_create") int32_t zb_context_create(uint32_t model, uint64_t context);
ZB_IMPORT("context_destroy") int32_t zb_context_destroy(uint32_t context);
/* `dims` is the address of `rank` int64_t */
ZB_IMPORT("context_resize_input") int32_t zb_context_resize_input(uint32_t context, uint32_t slot, uint64_t dims, uint32_t rank);
ZB_IMPORT("context_slot_desc") int32_t zb_context_slot_desc(uint32_t context, uint32_t slot, uint64_t desc);
ZB_IMPORT("context_requirements") int32_t zb_context_requirements(uint32_t context, uint32_t slot, uint64_t requirements);
ZB_IMPORT("context_report") int32_t zb_context_report(uint32_t context, uint32_t slot, uint64_t report);
ZB_IMPORT("context_reset_state") int32_t zb_context_reset_state(uint32_t context);
/* `loans` is the address of `count` zb_guest_loan */
ZB_IMPORT("infer") int32_t zb_infer(uint32_t context, uint64_t loans, uint32_t count);
/* `size` is the address of an uint64_t */
ZB_IMPORT("desc_size") int32_t zb_desc_size(uint64_t desc, uint64_t size);
/* `needed` (0: not asked for) gets the bytes of the text with its NUL, an uint64_t; a short buffer gets what fits */
ZB_IMPORT("last_error") int32_t zb_last_error(uint64_t buffer, uint64_t capacity, uint64_t needed);

#endif
