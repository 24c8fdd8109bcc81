/*
 * Items that are each tried in a child process, many in one child one after the other: a crash or a hang ends that child and
 * costs its item alone; the next child goes on behind it. The parent never uses an engine, so forking it is safe.
 */
#ifndef ZEROBIND_CONFORMANCE_WORKERS_H
#define ZEROBIND_CONFORMANCE_WORKERS_H

#include "harness.h"

typedef struct workers {
    /* tries an item in the child; what it finds out goes into memory that is shared (share) */
    void (*run)(void *user_data, size_t item);
    /* told in the parent when the child ended in the middle of an item: by a signal, or with an exit code if signal is 0 */
    void (*crashed)(void *user_data, size_t item, int signal, int exit_code);
    void *user_data;
    size_t items;
    /* most items for one child */
    size_t batch;
    /* seconds after which one item counts as hung, and ends by SIGALRM */
    unsigned patience;
} workers;

void run_workers(const workers *workers);

/* Zeroed memory that children and parent share; it stays. */
void *share(size_t size);

/* "signal 11 (Segmentation fault)" or "exit code 1" */
void describe_end(int signal, int exit_code, char *text, size_t capacity);

#endif
