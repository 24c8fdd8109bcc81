/* A recording, mapped from its file. */
#ifndef RECORDING_H
#define RECORDING_H

#include <stddef.h>

struct recording {
    const float *samples; /* at the start of a page */
    size_t count;
    const float *end; /* of the silence behind the samples */
    void *reserved;
    size_t reserved_size;
};

/*
 * Maps a file of raw f32 samples (mono, in the byte order of this machine) for reading, with at least `before` samples of
 * silence that can be read in front of it and `after` behind it. Nothing is read and nothing is copied: the samples are the
 * pages of the kernel's file cache. The file must not shrink while it is mapped.
 *
 * Gives 0, or -1 after telling stderr what is wrong; then there is nothing to unmap.
 */
int recording_map(const char *path, size_t before, size_t after, struct recording *recording);

/* Unmaps it; also fine for a recording that is all zero. */
void recording_unmap(struct recording *recording);

#endif
