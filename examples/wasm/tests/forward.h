/*
 * A guest that does what the test tells it: each function of zerobind's is exported again, and the memory is what the test
 * wants. So a test can be as hostile as a guest can.
 */
#ifndef ZEROBIND_TESTS_FORWARD_H
#define ZEROBIND_TESTS_FORWARD_H

#include "harness.h"

#include "embed.h"
#include "moving_memory.h"

typedef struct forward {
    zbw_guest *guest;
    embed embed;
    /* bytes of a page of its memory */
    size_t page;
} forward;

/* kinds of memory, in the text form; a test may add its own */
#define MEMORY_32 "(memory (export \"memory\") 1)"
#define MEMORY_BYTES "(memory (export \"memory\") 65536 (pagesize 1))"
#define MEMORY_64 "(memory (export \"memory\") i64 1)"
#define MEMORY_SHARED "(memory (export \"memory\") 1 16 shared)"

/* An engine for such guests; `config` is taken over. */
wasm_engine_t *forward_engine(wasm_config_t *config);
/* One whose memories move as moving_memory.h says; `memory` stays until the engine is gone. */
wasm_engine_t *forward_moving_engine(moving_memory *memory);
/* ZB_WASM_ROUNDS, or how many are made in CI. */
unsigned long forward_rounds(unsigned long in_ci);
/* Requires that the guest is made; `options` NULL: the defaults. */
void forward_open(forward *forward, wasm_engine_t *engine, const zbw_options *options, const char *memory);
void forward_close(forward *forward);

/* Calls a function with integers; it must not trap. */
int32_t forward_call(forward *forward, const char *name, size_t count, const int64_t *arguments);
#define CALL(forward, name, ...) \
    forward_call((forward), (name), sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__})

/* Where an offset of the guest's lies now: until it grows. */
void *forward_at(forward *forward, uint64_t offset);
size_t forward_size(forward *forward);
/* Grows by so many pages. */
void forward_grow(forward *forward, int64_t pages);
uint32_t forward_u32(forward *forward, uint64_t offset);

/* The status of a call, and that the text that the guest gets contains `part`, and no address and no folder of the host's. */
#define CHECK_REFUSED(forward, call, expected, part)                      \
    do {                                                                  \
        CHECK_EQ((call), (expected));                                     \
        forward_check_text((forward), (part), __FILE__, __LINE__);        \
    } while (0)
void forward_check_text(forward *forward, const char *part, const char *file, int line);

/* Puts a model file at the end of the guest's memory, which grows for it; gives offset and size. */
uint64_t forward_load(forward *forward, const char *path, size_t *size);
/* Opens it and makes a context of it, both of which must work; the model is destroyed. */
uint32_t forward_context(forward *forward, const char *path);

/* As zb_guest_loan. */
typedef struct forward_loan {
    uint32_t slot;
    uint32_t flags;
    uint64_t data;
    uint64_t size;
    uint64_t desc;
} forward_loan;

/* Writes the loans to where the guest keeps them (below FORWARD_FREE), and infers. */
int32_t forward_infer(forward *forward, uint32_t context, const forward_loan *loans, uint32_t count);
/* From here on a guest's memory is the test's. */
#define FORWARD_FREE 2048u

#endif
