/* Runs trials in processes of their own. */
#ifndef ZEROBIND_DAMAGED_SERVER_H
#define ZEROBIND_DAMAGED_SERVER_H

#include "mutant.h"

/* Memory for the outcomes of so many trials, which child processes share. */
outcome *make_outcomes(size_t count);
/* Runs every mutant of the model through the lane, `jobs` at a time; 0 if that was not possible. */
int run_lane(const lane *lane, const subject *model, const plan *plan, int jobs, outcome *outcomes);

#endif
