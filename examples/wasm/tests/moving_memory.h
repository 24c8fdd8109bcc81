/*
 * Linear memories that move at every growth, for tests: no address is ever used twice, and whoever touches one where the memory
 * was before dies of SIGSEGV. The pages are moved, not copied, so that a memory may grow ten thousand times.
 */
#ifndef ZEROBIND_TESTS_MOVING_MEMORY_H
#define ZEROBIND_TESTS_MOVING_MEMORY_H

#include <stddef.h>
#include <wasmtime.h>

typedef struct moving_memory {
    /* bytes from the start of a page to the memory's base: 0, or what a test of alignment wants */
    size_t shift;
    /* of all memories together */
    unsigned long moves;
} moving_memory;

/* Has the memories of an engine made so; `state` stays until the engine is gone. */
void moving_memory_use(moving_memory *state, wasm_config_t *config);

#endif
