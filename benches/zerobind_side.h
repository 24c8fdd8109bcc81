/* The same kinds of runs by zerobind. */
#ifndef ZEROBIND_BENCHES_ZEROBIND_SIDE_H
#define ZEROBIND_BENCHES_ZEROBIND_SIDE_H

#include "raw/raw.h"

typedef struct zerobind_side {
    zb_model *model;
    zb_context *context;
    model_memory *memory;
    zb_tensor *tensors[MOST_SETS][MOST_SLOTS];
    size_t next;
} zerobind_side;

void bench_ok(zb_status status, const char *what);

/* With the defaults of zb_context_create; for RAW_LENT nothing is bound. */
zerobind_side *zerobind_open(const char *path, model_memory *memory, enum raw_kind kind);
void zerobind_close(zerobind_side *side);
void zerobind_rewind(zerobind_side *side);
/* zb_infer, zb_infer_with, or zb_tensor_bind of every slot and zb_infer, `count` times. */
void zerobind_run_bound(void *side, size_t count);
void zerobind_run_lent(void *side, size_t count);
void zerobind_run_rebound(void *side, size_t count);

/* Ends the program unless every slot of the last run was on the host's memory; gives the bytes copied in all runs. */
uint64_t zerobind_require_direct(zerobind_side *side);

#endif
