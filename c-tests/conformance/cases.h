/* The node tests of the ONNX standard, as scripts/conformance/prepare.py writes them down. */
#ifndef ZEROBIND_CONFORMANCE_CASES_H
#define ZEROBIND_CONFORMANCE_CASES_H

#include "harness.h"

#define MOST_SLOTS 16

/* A value of the reference: what is given to a slot, or expected from it. */
typedef struct reference_slot {
    char kind[16];
    char name[128];
    /* the element type in ONNX's numbers, and in the header's (ZB_DTYPE_INVALID: it has none) */
    int onnx_type;
    zb_tensor_desc desc;
    /* in the reference data; 0 bytes for what is not a numeric tensor */
    const unsigned char *bytes;
    size_t size;
} reference_slot;

typedef struct reference_case {
    char name[128];
    char path[1024];
    double relative, absolute;
    reference_slot inputs[MOST_SLOTS], outputs[MOST_SLOTS];
    size_t input_count, output_count;
} reference_case;

/* All cases of a folder. The data is mapped and stays; whatever is wrong with the files ends the program. */
reference_case *read_cases(const char *folder, size_t *count);

/* Whether every slot is a tensor of numbers: only such cases can be run here. */
int is_numeric(const reference_case *each);

#endif
