/*
 * Finds out who touches memory first: pages are made unreadable, and a handler of SIGSEGV notes whose code met them
 * before it opens the page and lets the code go on. Counts exactly, on any number of threads.
 */
#ifndef ZEROBIND_TESTS_TRAP_H
#define ZEROBIND_TESTS_TRAP_H

#include <stddef.h>

typedef enum trap_toucher {
    TRAP_ENGINE,
    TRAP_ZEROBIND,
    TRAP_OTHER
} trap_toucher;

/* Sets the handler up. The engine's library has to be loaded, so a model has to be open. */
void trap_install(void);

/* Closes all pages from `data` on, which is the start of a page; gives the number of the trap. At most 4. */
size_t trap_arm(void *data, size_t size);

/* Pages of a trap that `toucher` opened. Code of the C library counts for its caller. */
size_t trap_count(size_t trap, trap_toucher toucher);
size_t trap_count_all(size_t trap);

/* Opens all pages and removes the handler. */
void trap_remove(void);

#endif
