/* The models that are measured, and memory for their slots. */
#ifndef ZEROBIND_BENCHES_MODELS_H
#define ZEROBIND_BENCHES_MODELS_H

#include <zerobind.h>

#include "common.h"

enum { MOST_SLOTS = 8, MOST_SETS = 256 };

/* Shapes are written down, open dimensions too: all who are compared are told the same. */
typedef struct model_spec {
    const char *name; /* of the file, without its ending */
    uint32_t inputs, outputs;
    zb_tensor_desc slots[MOST_SLOTS]; /* the inputs first */
} model_spec;

/* Memory of the host for all slots, a number of times over. Everybody works on the same. */
typedef struct model_memory {
    const model_spec *spec;
    size_t sets;
    size_t sizes[MOST_SLOTS];
    unsigned char *data[MOST_SETS][MOST_SLOTS];
} model_memory;

/* The models of the test folder, and those that only the benchmark uses (hand_landmark_lite, detector320, table200). */
const model_spec *model_named(const char *name);

size_t model_slot_count(const model_spec *spec);
zb_slot model_slot(const model_spec *spec, size_t index);

/* Inputs get numbers that differ from set to set. */
model_memory *model_memory_new(const model_spec *spec, size_t sets);
void model_memory_free(model_memory *memory);
/* Puts a pattern into all outputs which no run leaves there. */
void model_memory_spoil(model_memory *memory);
/* A copy of all outputs of the first `sets` sets, for model_memory_require_outputs and free. */
unsigned char *model_memory_copy_outputs(const model_memory *memory, size_t sets);
/* Ends the program if an output is not the same to the byte, or is still spoilt. `who` computed the present ones. */
void model_memory_require_outputs(const model_memory *memory, const unsigned char *expected, size_t sets, const char *who);

#endif
