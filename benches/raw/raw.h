/*
 * The engines' own C APIs, used as an expert would who wants speed: everything that can be prepared is prepared, nothing is
 * looked up by name in a run, and only the return value is checked.
 *
 * Options are those that zerobind's contexts have by default: one thread, all optimizations, XNNPACK. What zerobind sets up
 * for itself on top (so that runs can be cancelled, and errors have a text) is left out here: it is part of its price.
 */
#ifndef ZEROBIND_BENCHES_RAW_H
#define ZEROBIND_BENCHES_RAW_H

#include "../models.h"

/* What a run has to cope with. */
enum raw_kind {
    RAW_BOUND,  /* the memory is that of set 0 in every run */
    RAW_LENT,   /* every slot is at another address, which the engine is told of anew: sets take turns */
    RAW_REBIND, /* the same, with two sets which were made known before */
    RAW_COPIED, /* the engine has memory of its own, and the host copies */
    RAW_KINDS
};

/* One way to do it. `run` does it `count` times, and ends the program if the engine fails. */
typedef struct raw_way {
    const char *name;
    void (*run)(void *raw, size_t count);
} raw_way;

enum { MOST_WAYS = 2 };

/* A file, or where there is no path bytes that stay. */
typedef struct model_source {
    const char *path;
    const void *bytes;
    size_t size;
} model_source;

typedef struct raw_engine {
    const char *name, *ending;
    /* A loaded model, ready to run for one kind. */
    void *(*open)(const model_source *source, model_memory *memory, enum raw_kind kind);
    void (*close)(void *raw);
    /* Lets the sets start from the first again. */
    void (*rewind)(void *raw);
    /* The fastest is what zerobind is compared with, but of the copying ways all are told, the last of which copies most; a name
       of NULL ends the list. */
    raw_way ways[RAW_KINDS][MOST_WAYS];
} raw_engine;

extern const raw_engine raw_onnxruntime, raw_tflite;

#endif
