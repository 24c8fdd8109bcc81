#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "moving_memory.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* One memory: `pages` bytes that can be used, at the start of `reserved` bytes of addresses. */
typedef struct place {
    moving_memory *state;
    unsigned char *block;
    size_t pages;
    size_t reserved;
    size_t guard;
    size_t size;
} place;

static size_t whole_pages(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page;
}

/* Addresses for a memory of `size` bytes, none of which can be touched yet; NULL if there are none. */
static unsigned char *reserve(place *place, size_t size, size_t least)
{
    size_t pages = whole_pages(size + place->state->shift);
    place->reserved = (pages > least ? pages : whole_pages(least)) + whole_pages(place->guard);
    void *block = mmap(NULL, place->reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    place->pages = pages;
    place->size = size;
    return block == MAP_FAILED ? NULL : block;
}

static unsigned char *get(void *environment, size_t *size, size_t *capacity)
{
    const place *place = environment;
    *size = place->size;
    *capacity = place->size;
    return place->block + place->state->shift;
}

static wasmtime_error_t *grow(void *environment, size_t new_size)
{
    place *place = environment;
    unsigned char *old = place->block;
    size_t old_pages = place->pages;
    unsigned char *block = reserve(place, new_size, 0);
    if (block == NULL) {
        return wasmtime_error_new("no addresses left");
    }
    if (old_pages == 0) {
        if (mprotect(block, place->pages, PROT_READ | PROT_WRITE) != 0) {
            return wasmtime_error_new("mprotect");
        }
    } else if (mremap(old, old_pages, place->pages, MREMAP_MAYMOVE | MREMAP_FIXED, block) == MAP_FAILED) {
        return wasmtime_error_new("mremap");
    }
    /* nothing else may come to where the memory was */
    if (old_pages != 0 &&
        mmap(old, old_pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
        return wasmtime_error_new("mmap");
    }
    place->block = block;
    place->state->moves++;
    return NULL;
}

static void end(void *environment)
{
    place *place = environment;
    /* what was left behind stays as it is until the process ends */
    munmap(place->block, place->reserved);
    free(place);
}

static wasmtime_error_t *make(void *environment, const wasm_memorytype_t *type, size_t minimum, size_t maximum, size_t reserved,
                              size_t guard, wasmtime_linear_memory_t *memory)
{
    place *place = calloc(1, sizeof *place);
    (void)type;
    (void)maximum;
    if (place == NULL) {
        return wasmtime_error_new("calloc");
    }
    place->state = environment;
    place->guard = guard;
    place->block = reserve(place, minimum, reserved);
    if (place->block == NULL || (place->pages != 0 && mprotect(place->block, place->pages, PROT_READ | PROT_WRITE) != 0)) {
        free(place);
        return wasmtime_error_new("no memory");
    }
    memory->env = place;
    memory->get_memory = get;
    memory->grow_memory = grow;
    memory->finalizer = end;
    return NULL;
}

void moving_memory_use(moving_memory *state, wasm_config_t *config)
{
    wasmtime_memory_creator_t creator = {state, make, NULL};
    wasmtime_config_host_memory_creator_set(config, &creator);
}
