/*
 * Measuring: several ways to do one thing take turns in short blocks, A B C, then C B A, and so on; who begins changes from
 * round to round. Whatever slows the machine down for a while slows all of them down, and figures are made within rounds.
 */
#ifndef ZEROBIND_BENCHES_MEASURE_H
#define ZEROBIND_BENCHES_MEASURE_H

#include "common.h"

enum { MOST_SIDES = 6 };

typedef struct bench_side {
    const char *name;
    void (*run)(void *state, size_t count);
    void *state;
} bench_side;

/* The sides of one case: raw candidates, then zerobind, then what else is of interest. */
typedef struct bench_case {
    const char *id, *engine;
    bench_side sides[MOST_SIDES];
    size_t count;
    /* how many of the sides are raw; the fastest of them is what zerobind is compared with; 0: nothing to compare with */
    size_t raw;
    /* for each raw side a second instance of the same, so that A against A shows what differs without a reason */
    bench_side again[MOST_SIDES];
    /* what the case says of itself, besides times */
    uint64_t bytes_copied;
    int copies_are_known;
    /* more members of the JSON object "details", each with a comma before it; or NULL */
    const char *details;
    size_t repeats; /* how often one run of a side does what is told of; 0: once */
} bench_case;

typedef struct bench_settings {
    size_t rounds;   /* two blocks of each side; of quick ones more */
    double block_ns; /* a block has as many runs as take this long, at least one */
    int is_quick;    /* the figures are to be there, not to be good */
    const char *only; /* cases whose id begins so; NULL: all */
    int counts_allocations; /* instead of time; needs the library of allocations.c to be preloaded */
} bench_settings;

extern bench_settings bench;

/* --quick, --only=PREFIX, --allocations; gives the number of arguments left. Prints usage and ends for unknown ones. */
int bench_read_settings(int argc, char **argv, const char *usage);
int bench_wants(const char *id);
/* Says why a case is left out, where a reader sees it, and in the results. */
void bench_skip(const char *id, const char *engine, const char *reason);

/* Runs the case and prints its line of JSON; the words for readers go to stderr. */
void bench_measure(const bench_case *measured);
/* The same in parts, between which everything is opened anew: where things happen to lie in memory is worth some hundredths
   of a small model's time. Prints after the last. */
void bench_measure_part(const bench_case *measured, size_t part, size_t of);

/* One line of JSON with figures that were got in another way; a negative number is null. */
typedef struct bench_figures {
    double raw_ns, zerobind_ns, ratio, delta_ns, noise;
    double allocations, bytes_copied;
} bench_figures;

void bench_print(const char *id, const char *engine, const bench_figures *figures, const char *details);

#endif
