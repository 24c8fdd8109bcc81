/*
 * A program that opens a model and runs it, and tells what that took: one for zerobind and one for the bare engines, so that
 * neither has the other's memory. benches/load.c starts them.
 *
 *     bench_load_... onnxruntime|tflite FILE NAME path|bytes|copy AGAIN
 *
 * Prints one line, see load_result.
 */
#ifndef ZEROBIND_BENCHES_LOAD_CHILD_H
#define ZEROBIND_BENCHES_LOAD_CHILD_H

#include "models.h"

typedef struct load_job {
    int is_tflite;
    const char *path;
    const char *how;
    const void *bytes; /* NULL: by path */
    size_t size;
    model_memory *memory;
} load_job;

/* What each program has of its own. */
void load_engine(const load_job *job);
/* Opens, binds, runs once; the result is for load_close. */
void *load_open_and_run(const load_job *job);
void load_close(void *opened);

#endif
