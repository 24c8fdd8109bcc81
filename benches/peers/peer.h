/* Other runtimes with a C API, used by names: none of their headers or libraries is needed to build this. */
#ifndef ZEROBIND_BENCHES_PEER_H
#define ZEROBIND_BENCHES_PEER_H

#include "../models.h"

typedef struct peer {
    const char *name, *ending;
    /* the shared library below the folder of the packages, as a pattern */
    const char *library;
    /* With the loaded library; one thread; works on set 0 as far as the runtime lets it. */
    void *(*open)(void *library, const char *model, model_memory *memory);
    void (*run)(void *opened, size_t count);
    void (*close)(void *opened);
    /* what it does with the host's memory, for readers */
    const char *memory;
} peer;

extern const peer peer_litert, peer_openvino, peer_tract;

/* Puts the address of a function into the function pointer at `place`. */
void peer_find(void *library, const char *name, void *place);

#endif
