/* One case through zerobind: what the three ways of running it share. */
#ifndef ZEROBIND_CONFORMANCE_TRIAL_H
#define ZEROBIND_CONFORMANCE_TRIAL_H

#include "cases.h"
#include "proof.h"
#include "raw_onnx.h"

typedef enum way { WAY_BOUND, WAY_LENT, WAY_QUEUE, WAY_COUNT } way;

/* What a control breaks on purpose, in one case and way; the run has to find it. */
typedef enum planted {
    PLANT_NOTHING,
    /* one byte of an output that zerobind has computed */
    PLANT_OUTPUT,
    /* one byte of the reference, after the engine alone was compared with it */
    PLANT_REFERENCE,
    /* one byte of the reference, before */
    PLANT_DATA,
    /* the byte behind an output */
    PLANT_GUARD,
    /* one byte of an input after the run */
    PLANT_INPUT,
    /* memory that is lent is not aligned, and copies are allowed */
    PLANT_COPY,
    /* the process ends with a signal */
    PLANT_CRASH,
    /* the process hangs */
    PLANT_HANG,
    /* an object is left alive */
    PLANT_LEAK
} planted;

typedef enum outcome {
    /* every value is right, and so are all proofs; where the engine alone differs from the reference, its values are right */
    OUTCOME_RIGHT,
    /* a call gave a status other than ZB_OK */
    OUTCOME_REFUSED,
    OUTCOME_WRONG
} outcome;

/* Figures of a case, all ways together. */
typedef struct tally {
    /* by way */
    unsigned runs[WAY_COUNT];
    proof_tally proofs;
    /* outputs that have the bytes which the engine alone gives on the same memory */
    unsigned compared_bits;
} tally;

typedef struct trial {
    const reference_case *each;
    const raw_result *raw;
    zb_model *model;
    zb_slot inputs[MOST_SLOTS], outputs[MOST_SLOTS];
    /* copies are allowed, since without them a slot was COPY_REQUIRED */
    int may_copy;
    way way;
    planted planted;
    tally tally;
    /* of what was not right */
    zb_status status;
    char why[512];
} trial;

/* Memory for every slot, each between canaries; outputs are painted, inputs have the reference's bytes. */
typedef struct slot_memory {
    zt_buffer inputs[MOST_SLOTS], outputs[MOST_SLOTS];
} slot_memory;

/* Each returns OUTCOME_RIGHT, or what ended the way early. */
outcome run_bound(trial *trial);
outcome run_lent(trial *trial);
outcome run_queue(trial *trial);

/* For the ways. A status other than ZB_OK is kept with the thread's error text. */
outcome refuse(trial *trial, zb_status status, const char *call);
__attribute__((format(printf, 2, 3))) outcome wrong(trial *trial, const char *format, ...);
outcome make_context(trial *trial, zb_context **context);

/* `offset` bytes past a multiple of 64: by slot (inputs, then outputs), or NULL for 0. */
slot_memory make_memory(const trial *trial, const size_t *offsets);
/* Also checks the guards; an outcome of before stays. */
outcome free_memory(trial *trial, slot_memory *memory, outcome before);

/* After a run on `memory`: values, bits, guards and inputs. */
outcome check_values(trial *trial, slot_memory *memory);
/* The same, and the proof for each slot: after the last run of the context. */
outcome check_run(trial *trial, zb_context *context, slot_memory *memory);

/* Whether the control of this trial is that one. */
int is_planted(const trial *trial, planted planted);

#endif
