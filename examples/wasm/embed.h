/*
 * A guest in wasmtime, as small as it gets: an engine, and an instance with its store. Nothing here knows of zerobind but that
 * its functions are linked. What fails puts a text into `error`.
 */
#ifndef ZEROBIND_EXAMPLE_EMBED_H
#define ZEROBIND_EXAMPLE_EMBED_H

#include "zerobind_wasm.h"

typedef struct embed {
    wasm_engine_t *engine;
    wasmtime_store_t *store;
    wasmtime_context_t *context;
    wasmtime_linker_t *linker;
    wasmtime_module_t *module;
    wasmtime_instance_t instance;
    char error[512];
} embed;

/* How memories grow: as wasmtime likes best on this system (in place, in 4 GiB that are set aside for each), or by moving to a
   new place every time, as on systems that have no address space to spare. */
typedef enum embed_growth { EMBED_IN_PLACE, EMBED_MOVES } embed_growth;

wasm_config_t *embed_config(embed_growth growth);

/* Makes an instance of `code`, WebAssembly or its text form, with the functions of `guest`. 0, or -1: embed_close all the same.
   The engine and the guest stay the caller's, and longer than this. In two steps, for those who put more into the linker. */
int embed_start(embed *embed, wasm_engine_t *engine, zbw_guest *guest);
int embed_instantiate(embed *embed, const void *code, size_t size);
int embed_open(embed *embed, wasm_engine_t *engine, zbw_guest *guest, const void *code, size_t size);
void embed_close(embed *embed);

/* A function from `count` integers, of 32 or 64 bits, to an i32. */
typedef struct embed_function {
    wasmtime_func_t function;
    size_t count;
} embed_function;

/* A function that the guest exports; -1 if it has none of this name and type. */
int embed_find(embed *embed, const char *name, size_t count, embed_function *function);
/* Calls it; -1 if it traps. */
int embed_call(embed *embed, const embed_function *function, const int64_t *arguments, int32_t *result);
/* The memory named "memory", as it is now; NULL if there is none. */
unsigned char *embed_memory(embed *embed, size_t *size);

#endif
