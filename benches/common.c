#include "common.h"

#include <stdarg.h>
#include <time.h>
#include <unistd.h>

void bench_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "%s:%d: ", file, line);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(EXIT_FAILURE);
}

double bench_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

void *bench_memory(size_t size)
{
    void *memory = NULL;
    REQUIRE(posix_memalign(&memory, 64, size + 64) == 0, "out of memory: %zu bytes", size);
    memset(memory, 0, size + 64);
    return memory;
}

char *bench_path(const char *folder, const char *name, const char *ending)
{
    size_t size = strlen(folder) + strlen(name) + strlen(ending) + 2;
    char *path = malloc(size);
    REQUIRE(path != NULL, "out of memory");
    snprintf(path, size, "%s/%s%s", folder, name, ending);
    return path;
}

int bench_file_exists(const char *path)
{
    return access(path, R_OK) == 0;
}

const char *bench_variable(const char *name)
{
    const char *value = getenv(name);
    REQUIRE(value != NULL && value[0] != '\0', "%s is not set: run this by `make bench`", name);
    return value;
}
