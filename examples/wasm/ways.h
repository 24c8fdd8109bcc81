/*
 * Ways to run a model on a guest's tensors, to be put into zbw_options.run: the two that are discussed where there is no
 * zb_infer_with, and nothing at all.
 */
#ifndef ZEROBIND_EXAMPLE_WAYS_H
#define ZEROBIND_EXAMPLE_WAYS_H

#include "zerobind_wasm.h"

typedef enum way { WAY_LEND, WAY_COPY, WAY_RECREATE, WAY_NOTHING, WAYS } way;

#define WAY_MOST_SLOTS 16

/* What a way keeps from run to run. */
typedef struct way_state {
    way way;
    /* copy: tensors of the host's, bound once, in the order of the loans */
    zb_tensor *tensors[WAY_MOST_SLOTS];
    /* re-create: the host's own handle of the model, and what each run makes a context with */
    zb_model *model;
    int has_run;
} way_state;

const char *way_name(way way);

/* Prepares `state`, for a model in a file, and sets the options' run. -1 if the model cannot be opened. */
int way_start(way_state *state, way way, const char *model, zbw_options *options);
void way_end(way_state *state);

#endif
