/*
 * A guest that adds: what tests of misbehaviour start from, and see go on working afterwards.
 */
#ifndef ZEROBIND_TESTS_ADDER_H
#define ZEROBIND_TESTS_ADDER_H

#include "forward.h"

/* where its tensors are */
#define X FORWARD_FREE
#define Y (X + 64)
#define Z (X + 128)

/* A guest with add4, z = x + y of four floats each, and 1 2 3 4 in x, 10 10 10 10 in y. */
typedef struct adder {
    forward guest;
    uint32_t context;
} adder;

/* x, y and z, as they should be lent. */
extern const forward_loan adder_loans[3];

/* Requires that the guest is made; it is closed by forward_close(&adder->guest). */
void adder_open(adder *adder, wasm_engine_t *engine, const zbw_options *options);
/* Checks that the guest can still do what it is there for. */
void adder_check(adder *adder);
/* Infers with one of the loans replaced. */
int32_t adder_infer(adder *adder, uint32_t place, uint32_t slot, uint64_t data, uint64_t size, uint64_t desc);

#endif
