#define _DEFAULT_SOURCE /* for MAP_ANONYMOUS: every Unix has it, POSIX only since 2024 */

#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s\n", path, what);
    return -1;
}

static size_t round_up(size_t size, size_t page)
{
    return (size + page - 1) / page * page;
}

/*
 * One reservation, with the file laid over its middle:
 *
 *     | silence before |  the file  ...zeros| silence after |
 *     ^ page           ^ page: samples      ^ page
 *
 * The reservation is private, anonymous and only read, so the silence costs address space but no memory. Behind the end of
 * the file, the kernel fills the rest of the last page with zeros. Whole pages behind it could not be touched if they were
 * of the file; here they are of the reservation, so a window that runs over the end of the recording reads silence, and
 * needs no padded copy.
 */
static int map_file(int file, size_t size, size_t before, size_t after, struct recording *recording)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t front = round_up(before * sizeof(float), page);
    size_t middle = round_up(size, page);
    size_t total = front + middle + round_up(after * sizeof(float), page);

    char *reserved = mmap(NULL, total, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserved == MAP_FAILED) {
        return -1;
    }
    /* MAP_FIXED replaces what is there, which is safe because the place is our own */
    char *samples = mmap(reserved + front, size, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0);
    if (samples == MAP_FAILED) {
        int reason = errno;
        munmap(reserved, total);
        errno = reason;
        return -1;
    }
    recording->samples = (const float *)(const void *)samples;
    recording->count = size / sizeof(float);
    recording->end = (const float *)(const void *)(reserved + total);
    recording->reserved = reserved;
    recording->reserved_size = total;
    return 0;
}

static int map_open_file(const char *path, int file, size_t before, size_t after, struct recording *recording)
{
    struct stat status;
    if (fstat(file, &status) != 0) {
        return fail(path, strerror(errno));
    }
    if (!S_ISREG(status.st_mode) || status.st_size <= 0 || status.st_size % (off_t)sizeof(float) != 0) {
        return fail(path, "not a file of raw f32 samples");
    }
    /* leave room for the silence, so that no sum above can overflow on a 32-bit machine */
    if ((uintmax_t)status.st_size > SIZE_MAX / 4) {
        return fail(path, "too long to map on this machine");
    }
    if (map_file(file, (size_t)status.st_size, before, after, recording) != 0) {
        return fail(path, strerror(errno));
    }
    return 0;
}

int recording_map(const char *path, size_t before, size_t after, struct recording *recording)
{
    int file = open(path, O_RDONLY);
    if (file < 0) {
        return fail(path, strerror(errno));
    }
    int result = map_open_file(path, file, before, after, recording);
    close(file); /* the map keeps the file */
    return result;
}

void recording_unmap(struct recording *recording)
{
    if (recording->reserved != NULL) {
        munmap(recording->reserved, recording->reserved_size);
    }
    memset(recording, 0, sizeof *recording);
}
