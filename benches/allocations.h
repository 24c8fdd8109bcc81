/*
 * Counts allocations, by who asked for them. It works when the library made of allocations.c is preloaded, which is done in
 * a pass of its own, so that no time is measured with it.
 */
#ifndef ZEROBIND_BENCHES_ALLOCATIONS_H
#define ZEROBIND_BENCHES_ALLOCATIONS_H

#include <stdint.h>

typedef struct allocation_counts {
    /* calls of malloc and its like from anywhere in the process */
    uint64_t all;
    /* those that return into libzerobind: Rust's allocator calls malloc straight from the library that it is part of */
    uint64_t zerobind;
} allocation_counts;

/* Between the two, calls are counted. They end the program if the library is not preloaded. */
void allocations_start(void);
allocation_counts allocations_stop(void);

#endif
