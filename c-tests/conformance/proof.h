/* The proofs of zero copy after a run. */
#ifndef ZEROBIND_CONFORMANCE_PROOF_H
#define ZEROBIND_CONFORMANCE_PROOF_H

#include "trial.h"

/*
 * Every slot's report says DIRECT, no byte copied, and the engine's own address is that of the host's memory. A copy is
 * right only where copies are allowed, of all bytes of an output that no host memory could serve: a constant, an input
 * passed through, a tensor listed twice, or one of which only the run tells the shape; and at least one slot has to be one,
 * since otherwise none should have been asked for.
 */
outcome prove_slots(trial *trial, zb_context *context, const slot_memory *memory);

#endif
