/* The proofs of zero copy for one slot after a run. */
#ifndef ZEROBIND_CONFORMANCE_PROOF_H
#define ZEROBIND_CONFORMANCE_PROOF_H

#include "harness.h"

/* Slots that were looked at. */
typedef struct proof_tally {
    unsigned direct, empty;
    /* outputs that had to be copied, by documented reason */
    unsigned constant, pass_through, duplicate, dynamic;
} proof_tally;

/*
 * The report says DIRECT, no byte copied, and both the host's and the engine's own address are that of the memory. A copy is
 * right only if `may_copy`, of all bytes of an output that no host memory could serve: a constant, an input passed through, a
 * tensor listed twice, or one of which only the run tells the shape. Returns 0 and says why if it is neither.
 */
int prove_slot(zb_context *context, zb_slot slot, const zt_buffer *buffer, int may_copy, proof_tally *tally, char *why,
               size_t capacity);

void add_proofs(proof_tally *sum, const proof_tally *one);
/* Slots in place, and those copied. */
unsigned proofs_direct(const proof_tally *tally);
unsigned proofs_copied(const proof_tally *tally);

#endif
