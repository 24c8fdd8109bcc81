/* A direct user of ONNX Runtime's C API, configured as zerobind does it: the judge beside zerobind in the same process. */
#ifndef ZEROBIND_CONFORMANCE_RAW_ONNX_H
#define ZEROBIND_CONFORMANCE_RAW_ONNX_H

#include "cases.h"

typedef enum raw_outcome {
    RAW_RIGHT,
    /* the engine makes a session, but the case has values that are not tensors of numbers */
    RAW_SESSION_ONLY,
    RAW_NO_SESSION,
    RAW_RUN_FAILS,
    RAW_DIFFERS
} raw_outcome;

typedef struct raw_result {
    raw_outcome outcome;
    /* of an engine that cannot: its text, or the first value that differs */
    char why[400];
    /* every run gave values of the reference's types and shapes, and the same bytes */
    int is_repeatable;
    /* the engine's session, which stays for run_raw_there; NULL if there is none */
    void *session;
    /* the bytes of each output in the last run, NULL where there are none */
    unsigned char *outputs[MOST_SLOTS];
} raw_result;

/* Runs the case a few times, outputs in the engine's memory; right only if all are, since some operators throw dice. */
void run_raw(const reference_case *each, raw_result *result);
/* Runs the case once more on memory of the caller's, an address for each slot; returns whether the engine succeeded. */
int run_raw_there(const reference_case *each, const raw_result *result, void *const *inputs, void *const *outputs);
void free_raw(raw_result *result);
const char *raw_outcome_name(raw_outcome outcome);

#endif
