#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "interpose.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* the same under names that nobody interposes */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

/* --- whose code an address is --- */

typedef struct range {
    uintptr_t start;
    uintptr_t end;
} range;

static range zerobind;

static int find_zerobind(struct dl_phdr_info *info, size_t size, void *user_data)
{
    (void)size;
    (void)user_data;
    if (info->dlpi_name == NULL || strstr(info->dlpi_name, "libzerobind") == NULL) {
        return 0;
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X) != 0) {
            zerobind.start = (uintptr_t)info->dlpi_addr + (uintptr_t)info->dlpi_phdr[i].p_vaddr;
            zerobind.end = zerobind.start + (uintptr_t)info->dlpi_phdr[i].p_memsz;
        }
    }
    return 1;
}

static int is_zerobind(const void *caller)
{
    return (uintptr_t)caller >= zerobind.start && (uintptr_t)caller < zerobind.end;
}

/* --- the blocks of zerobind's: a table with open addressing, which never asks for memory --- */

#define PLACES (1u << 18)
#define GONE ((void *)1)

typedef struct place {
    void *block;
    size_t size;
} place;

/* one in use, and one to move to when too many places are those of blocks that are gone */
static place tables[2][PLACES];
static place *blocks = tables[0];
static size_t live, used;
static size_t least_size;
static unsigned long seen, chosen;
static size_t refused_size;
static int is_watching, has_refused, lock_word;

static void lock(void)
{
    while (__atomic_exchange_n(&lock_word, 1, __ATOMIC_ACQUIRE) != 0) {
    }
}

static void unlock(void)
{
    __atomic_store_n(&lock_word, 0, __ATOMIC_RELEASE);
}

static size_t start_of(const void *block)
{
    return (size_t)(((uintptr_t)block >> 4) * 0x9E3779B97F4A7C15u >> 40) % PLACES;
}

static void die(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written;
    _exit(98);
}

/* The first place that is free for a block. */
static place *place_for(const void *block)
{
    size_t at = start_of(block);
    while (blocks[at].block != NULL && blocks[at].block != GONE) {
        at = (at + 1) % PLACES;
    }
    return &blocks[at];
}

static void move_to_other_table(void)
{
    const place *old = blocks;
    blocks = blocks == tables[0] ? tables[1] : tables[0];
    memset(blocks, 0, sizeof tables[0]);
    used = 0;
    for (size_t at = 0; at < PLACES; at++) {
        if (old[at].block != NULL && old[at].block != GONE) {
            *place_for(old[at].block) = old[at];
            used++;
        }
    }
    if (used > PLACES / 4) {
        die("interpose: the table of blocks is too small\n");
    }
}

static void note(void *block, size_t size)
{
    lock();
    if (used > PLACES / 2) {
        move_to_other_table();
    }
    place *free_place = place_for(block);
    used += free_place->block == NULL;
    *free_place = (place){block, size};
    live += size;
    unlock();
}

/* Its size if it was zerobind's, or 0; it is forgotten then. */
static size_t forget(const void *block)
{
    size_t size = 0;
    if (__atomic_load_n(&live, __ATOMIC_RELAXED) == 0) {
        return 0;
    }
    lock();
    for (size_t at = start_of(block); blocks[at].block != NULL; at = (at + 1) % PLACES) {
        if (blocks[at].block == block) {
            size = blocks[at].size;
            live -= size;
            blocks[at].block = GONE;
            break;
        }
    }
    unlock();
    return size;
}

/* Whether this request is the one to refuse. */
static int is_refused(size_t size)
{
    int refuse = 0;
    if (size < least_size) {
        return 0;
    }
    lock();
    if (is_watching && ++seen == chosen) {
        refuse = has_refused = 1;
        refused_size = size;
    }
    unlock();
    if (refuse) {
        errno = ENOMEM;
    }
    return refuse;
}

void zi_begin(size_t least, unsigned long refused)
{
    if (zerobind.start == 0) {
        dl_iterate_phdr(find_zerobind, NULL);
        if (zerobind.start == 0) {
            die("interpose: libzerobind is not in the process\n");
        }
    }
    lock();
    least_size = least;
    seen = 0;
    chosen = refused;
    has_refused = 0;
    is_watching = 1;
    unlock();
}

unsigned long zi_end(void)
{
    lock();
    is_watching = 0;
    unlock();
    return seen;
}

int zi_has_refused(void)
{
    return __atomic_load_n(&has_refused, __ATOMIC_RELAXED);
}

size_t zi_refused_size(void)
{
    return refused_size;
}

size_t zi_live_bytes(void)
{
    return __atomic_load_n(&live, __ATOMIC_RELAXED);
}

/* --- the functions themselves --- */

static void *granted(void *block, size_t size, const void *caller)
{
    if (block != NULL && is_zerobind(caller)) {
        note(block, size);
    }
    return block;
}

void *malloc(size_t size)
{
    const void *caller = __builtin_return_address(0);
    if (is_zerobind(caller) && is_refused(size)) {
        return NULL;
    }
    return granted(__libc_malloc(size), size, caller);
}

void *calloc(size_t count, size_t size)
{
    const void *caller = __builtin_return_address(0);
    size_t all;
    if (__builtin_mul_overflow(count, size, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    if (is_zerobind(caller) && is_refused(all)) {
        return NULL;
    }
    return granted(__libc_calloc(count, size), all, caller);
}

void *realloc(void *old, size_t size)
{
    const void *caller = __builtin_return_address(0);
    if (is_zerobind(caller) && is_refused(size)) {
        return NULL;
    }
    size_t before = old == NULL ? 0 : forget(old);
    void *block = __libc_realloc(old, size);
    if (block == NULL && before != 0) {
        note(old, before);
    }
    return granted(block, size, caller);
}

static int aligned(void **block, size_t alignment, size_t size, const void *caller)
{
    if (is_zerobind(caller) && is_refused(size)) {
        return ENOMEM;
    }
    *block = granted(__libc_memalign(alignment, size), size, caller);
    return *block == NULL ? ENOMEM : 0;
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    return aligned(block, alignment, size, __builtin_return_address(0));
}

void *aligned_alloc(size_t alignment, size_t size)
{
    void *block = NULL;
    int error = aligned(&block, alignment, size, __builtin_return_address(0));
    if (error != 0) {
        errno = error;
    }
    return block;
}

void free(void *block)
{
    /* whoever gives it back: the last thing that a function does may be a jump to here */
    if (block != NULL) {
        forget(block);
    }
    __libc_free(block);
}

/* --- threads --- */

static int refuses_threads;

void zi_refuse_threads(int refuse)
{
    __atomic_store_n(&refuses_threads, refuse, __ATOMIC_SEQ_CST);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument)
{
    typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (__atomic_load_n(&refuses_threads, __ATOMIC_SEQ_CST)) {
        return EAGAIN;
    }
    /* through a union, since ISO C has no way from an object pointer to a function */
    union {
        void *object;
        create_fn *function;
    } real = {dlsym(RTLD_NEXT, "pthread_create")};
    return real.function(thread, attributes, body, argument);
}
