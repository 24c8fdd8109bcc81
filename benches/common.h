/* What every program here starts from. Include it first: it asks the system headers for POSIX and Linux functions. */
#ifndef ZEROBIND_BENCHES_COMMON_H
#define ZEROBIND_BENCHES_COMMON_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A benchmark that goes on after something failed would time the wrong thing, so every failure ends the program. */
#define REQUIRE(condition, ...) ((condition) ? (void)0 : bench_fail(__FILE__, __LINE__, __VA_ARGS__))

__attribute__((noreturn, format(printf, 3, 4))) void bench_fail(const char *file, int line, const char *format, ...);

double bench_now_ns(void);

/* Zeroed memory at a multiple of 64, with 64 readable bytes behind it. */
void *bench_memory(size_t size);

/* "FOLDER/NAME"; the caller frees it. */
char *bench_path(const char *folder, const char *name, const char *ending);
int bench_file_exists(const char *path);

/* The value of an environment variable that has to be there. */
const char *bench_variable(const char *name);

#endif
