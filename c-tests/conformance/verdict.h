/* How a case ends. */
#ifndef ZEROBIND_CONFORMANCE_VERDICT_H
#define ZEROBIND_CONFORMANCE_VERDICT_H

#include "trial.h"

typedef enum verdict_class { CLASS_PASS, CLASS_ENGINE_CANNOT, CLASS_UNSUPPORTED, CLASS_WRONG, CLASS_COUNT } verdict_class;

typedef enum stage { STAGE_RAW, STAGE_ZEROBIND, STAGE_DONE } stage;

typedef struct verdict {
    /* volatile: a child that dies leaves it behind */
    volatile stage stage;
    volatile way way;
    verdict_class class;
    /* in one word: how the engine cannot, or the status of what is unsupported; a PASS with copies says so */
    char how[48];
    char why[512];
    tally tally;
    /* a run was COPY_REQUIRED, and was repeated with copies allowed */
    int copied;
} verdict;

/* What a control plants, where. */
typedef struct control {
    planted planted;
    way way;
    const char *name;
} control;

/* Runs the case by the engine alone and by zerobind in all ways. */
void try_case(const reference_case *each, const control *control, verdict *verdict);
/* For a case that its process died of. */
void judge_crash(verdict *verdict, int signal, int exit_code);

const char *class_name(verdict_class class);
const char *way_name(way way);

#endif
