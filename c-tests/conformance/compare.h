/* Whether values are those of the reference, as the ONNX project's own backend tests judge it. */
#ifndef ZEROBIND_CONFORMANCE_COMPARE_H
#define ZEROBIND_CONFORMANCE_COMPARE_H

#include "cases.h"

/*
 * Floats and whole numbers within absolute + relative * |reference|, NaN equal to NaN; truth values, and types of 8 and 4
 * bits that are no whole numbers of C, bit for bit. `got` has the reference's type and size. Puts the first that differs
 * into `why`.
 */
int is_right(const reference_case *each, const reference_slot *reference, const void *got, char *why, size_t capacity);

#endif
