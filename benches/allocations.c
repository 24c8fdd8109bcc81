/* The library to be preloaded: malloc and its like, which count and then do what the C library does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "allocations.h"

/* glibc's own, which need no look-up that might allocate itself */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void allocation_counter_start(void);
allocation_counts allocation_counter_stop(void);

static atomic_int is_counting;
static atomic_uint_least64_t all, of_zerobind;
static uintptr_t first, past;

static int find_library(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    if (strstr(info->dlpi_name, "libzerobind") == NULL) {
        return 0;
    }
    first = (uintptr_t)-1;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            uintptr_t start = (uintptr_t)info->dlpi_addr + (uintptr_t)info->dlpi_phdr[i].p_vaddr;
            uintptr_t end = start + (uintptr_t)info->dlpi_phdr[i].p_memsz;
            first = start < first ? start : first;
            past = end > past ? end : past;
        }
    }
    return 1;
}

void allocation_counter_start(void)
{
    dl_iterate_phdr(find_library, NULL);
    atomic_store(&all, 0);
    atomic_store(&of_zerobind, 0);
    atomic_store(&is_counting, 1);
}

allocation_counts allocation_counter_stop(void)
{
    atomic_store(&is_counting, 0);
    allocation_counts counts = {atomic_load(&all), past > first ? atomic_load(&of_zerobind) : UINT64_MAX};
    return counts;
}

static void count(const void *caller)
{
    if (atomic_load_explicit(&is_counting, memory_order_relaxed)) {
        uintptr_t address = (uintptr_t)caller;
        atomic_fetch_add(&all, 1);
        atomic_fetch_add(&of_zerobind, address >= first && address < past);
    }
}

#define COUNT_CALLER() count(__builtin_return_address(0))

void *malloc(size_t size)
{
    COUNT_CALLER();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size)
{
    COUNT_CALLER();
    return __libc_calloc(number, size);
}

void *realloc(void *block, size_t size)
{
    COUNT_CALLER();
    return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size)
{
    COUNT_CALLER();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    COUNT_CALLER();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **place, size_t alignment, size_t size)
{
    COUNT_CALLER();
    void *block = __libc_memalign(alignment, size);
    if (block == NULL) {
        return ENOMEM;
    }
    *place = block;
    return 0;
}
