/*
 * The C library's allocator with a door: counts what zerobind asks for, by the address of the caller, and refuses one
 * request that was chosen. What the engines and the test itself ask for is always granted.
 *
 * In place as soon as the program is linked with interpose.c. Linux and glibc.
 */
#ifndef ZEROBIND_TESTS_INTERPOSE_H
#define ZEROBIND_TESTS_INTERPOSE_H

#include <stddef.h>

/* From here on counts requests of at least `least` bytes from 1 on, and refuses number `refused` (0: none). */
void zi_begin(size_t least, unsigned long refused);
/* Refuses nothing any more. Says how many there were. */
unsigned long zi_end(void);
/* Whether the chosen request has come, and its size. */
int zi_has_refused(void);
size_t zi_refused_size(void);
/* Bytes of zerobind's that were granted, whatever their size, and not given back. */
size_t zi_live_bytes(void);

/* Has the next calls to pthread_create fail; 0 lets them succeed again. */
void zi_refuse_threads(int refuse);

#endif
