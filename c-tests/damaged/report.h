/* Counts, and who was refused although the engine runs it. */
#ifndef ZEROBIND_DAMAGED_REPORT_H
#define ZEROBIND_DAMAGED_REPORT_H

#include "mutant.h"

#include <stdio.h>

enum { LANE_RAW, LANE_VALIDATOR, LANE_PREFLIGHT, LANES };

extern const char *const engine_names[ENGINES];

/* What became of the mutants of one engine in one lane. */
typedef struct tally {
    size_t mutants, ran, refused, crashes, hangs, refused_though_raw_ran;
    size_t crashes_at[STAGES], crashes_of[DAMAGES];
} tally;

/* Adds the mutants of one model; `raw` is NULL for the raw lane itself. Each crash and each refusal of what ran is a line in `list`. */
void count(tally *tally, const char *lane, const subject *model, const plan *plan, const outcome *outcomes,
           const outcome *raw, FILE *list);
void print_table(tally tallies[ENGINES][LANES], const int has_lane[LANES]);
/* target/damaged/summary.json */
int write_summary(const char *path, tally tallies[ENGINES][LANES], const int has_lane[LANES]);

#endif
