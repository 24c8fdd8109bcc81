#include "engine.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *engine_library(const char *variable)
{
    const char *path = getenv(variable);
    void *library = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s: %s\n", variable, path == NULL ? "not set" : dlerror());
        exit(EXIT_FAILURE);
    }
    return library;
}

void engine_function(void *library, const char *name, void *place)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "the engine has no %s\n", name);
        exit(EXIT_FAILURE);
    }
    memcpy(place, &found, sizeof found);
}
