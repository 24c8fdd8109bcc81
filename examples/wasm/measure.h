/*
 * What lending costs against copying and against making contexts anew: for one model, in blocks that take turns.
 */
#ifndef ZEROBIND_EXAMPLE_MEASURE_H
#define ZEROBIND_EXAMPLE_MEASURE_H

#include "streamer.h"
#include "ways.h"

/* A model to measure with, and how much of it. */
typedef struct subject {
    const char *name;
    const char *model;
    /* what its first input gets, one part after the other; NULL: some numbers */
    const char *input;
    unsigned blocks;
    unsigned runs;
} subject;

typedef struct measured {
    /* of the calling thread for one inference, from the host's call of the guest to its return: the median of the blocks' medians */
    double microseconds[WAYS];
    /* how many of the results are those of lending, in hundredths */
    unsigned right[WAYS];
} measured;

/* All bytes of a file; data NULL if it cannot be read. */
bytes read_file(const char *path);

/* In this process: with memory that stays, or that moves before each inference (which is not in the time). -1: printed why. */
int measure_times(const subject *subject, bytes guest, embed_growth growth, measured *measured);
/* The most KiB of memory that this process had during a few inferences, setting up not counted. -1: printed why. */
long measure_peak(const subject *subject, bytes guest, way way);

#endif
