#include "compare.h"

#include <math.h>

/* A float of 16 bits with `fraction` bits behind the exponent, which has the rest but the sign. */
static double small_float(uint16_t bits, int fraction)
{
    int exponents = 15 - fraction;
    int bias = (1 << (exponents - 1)) - 1;
    int exponent = (bits >> fraction) & ((1 << exponents) - 1);
    double value = bits & ((1 << fraction) - 1);
    if (exponent == (1 << exponents) - 1) {
        value = value > 0 ? (double)NAN : (double)INFINITY;
    } else if (exponent == 0) {
        value = ldexp(value, 1 - bias - fraction);
    } else {
        value = ldexp(value + (1 << fraction), exponent - bias - fraction);
    }
    return bits >> 15 ? -value : value;
}

#define READ(type) \
    type value;    \
    memcpy(&value, (const char *)bytes + index * sizeof value, sizeof value)

/* Returns 0 for types that are compared bit for bit. */
static int read_number(int32_t dtype, const void *bytes, size_t index, long double *number)
{
    switch (dtype) {
#define CASE(dtype, type, expression) \
    case dtype: {                     \
        READ(type);                   \
        *number = (expression);       \
        return 1;                     \
    }
        CASE(ZB_DTYPE_F32, float, (long double)value)
        CASE(ZB_DTYPE_F64, double, (long double)value)
        CASE(ZB_DTYPE_F16, uint16_t, (long double)small_float(value, 10))
        CASE(ZB_DTYPE_BF16, uint16_t, (long double)small_float(value, 7))
        CASE(ZB_DTYPE_I8, int8_t, (long double)value)
        CASE(ZB_DTYPE_U8, uint8_t, (long double)value)
        CASE(ZB_DTYPE_I16, int16_t, (long double)value)
        CASE(ZB_DTYPE_U16, uint16_t, (long double)value)
        CASE(ZB_DTYPE_I32, int32_t, (long double)value)
        CASE(ZB_DTYPE_U32, uint32_t, (long double)value)
        CASE(ZB_DTYPE_I64, int64_t, (long double)value)
        CASE(ZB_DTYPE_U64, uint64_t, (long double)value)
#undef CASE
    default:
        return 0;
    }
}

static int is_close(const reference_case *each, long double got, long double wanted)
{
    if (isnan(got) || isnan(wanted)) {
        return isnan(got) && isnan(wanted);
    }
    if (isinf(got) || isinf(wanted)) {
        return got == wanted;
    }
    return fabsl(got - wanted) <= (long double)each->absolute + (long double)each->relative * fabsl(wanted);
}

/* Bit for bit, but for the half of the last byte that a number of 4-bit elements leaves over. */
static int is_same(const reference_slot *reference, const void *got)
{
    const unsigned char *bytes = got;
    size_t last = reference->size - 1, elements = 1;
    unsigned mask = 0xFF;
    for (uint32_t i = 0; i < reference->desc.rank; i++) {
        elements *= (size_t)reference->desc.dims[i];
    }
    if (zb_dtype_bits(reference->desc.dtype) == 4 && elements % 2 == 1) {
        mask = 0x0F;
    }
    return memcmp(bytes, reference->bytes, last) == 0 && (bytes[last] & mask) == (reference->bytes[last] & mask);
}

int is_right(const reference_case *each, const reference_slot *reference, const void *got, char *why, size_t capacity)
{
    long double wanted, number;
    size_t bits = zb_dtype_bits(reference->desc.dtype);
    if (reference->size == 0) {
        return 1;
    }
    if (!read_number(reference->desc.dtype, reference->bytes, 0, &wanted)) {
        int same = is_same(reference, got);
        snprintf(why, capacity, "%s: other bytes than the reference", reference->name);
        return same;
    }
    for (size_t i = 0; i < reference->size * 8 / bits; i++) {
        read_number(reference->desc.dtype, reference->bytes, i, &wanted);
        read_number(reference->desc.dtype, got, i, &number);
        if (!is_close(each, number, wanted)) {
            snprintf(why, capacity, "%s[%zu] is %.9Lg, the reference %.9Lg", reference->name, i, number, wanted);
            return 0;
        }
    }
    return 1;
}
