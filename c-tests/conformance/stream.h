/* A real model through zerobind, beside the bare engine in the same process and of the same configuration. */
#ifndef ZEROBIND_CONFORMANCE_STREAM_H
#define ZEROBIND_CONFORMANCE_STREAM_H

#include "models.h"
#include "proof.h"

typedef enum stream_class {
    STREAM_EQUAL,
    /* the engine alone cannot run the model, and zerobind says no too */
    STREAM_REFUSED,
    STREAM_MISMATCH
} stream_class;

typedef enum stream_plant { STREAM_NOTHING, STREAM_OUTPUT, STREAM_INPUT, STREAM_CRASH } stream_plant;

typedef struct stream_result {
    /* what the bare engine alone said: "" if it ran the model */
    char raw_says[256];
    volatile stream_class class;
    char why[512];
    /* runs that were compared, and those of them that differ in any way */
    unsigned runs, mismatches;
    /* runs with another result than the one before: of a model whose score is always 0 equality says little */
    unsigned changes;
    proof_tally proofs;
    int is_done;
} stream_result;

/* The bare engine alone: ends the process, with the engine's words on stderr, if it cannot run the model. */
void run_bare(const real_model *model, int xnnpack);

/*
 * `runs` runs of one context on buffers that lie somewhere else each time, all inputs new noise; outputs, guards, inputs and
 * proofs are checked after each. State that the model keeps goes on from run to run on both sides.
 */
void run_stream(const real_model *model, int xnnpack, unsigned runs, stream_plant plant, stream_result *result);

/* For a model that the bare engine cannot run: zerobind has to give a status too. */
void run_refused(const real_model *model, int xnnpack, stream_result *result);

#endif
