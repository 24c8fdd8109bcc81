package zerobind

/** Values of 16-bit floats by their bits, which is how they lie in a buffer. */
public object Half {
    private const val SIGN = 0x8000
    private const val F32_FRACTION_BITS = 23
    private const val F16_FRACTION_BITS = 10
    private const val SHIFT = F32_FRACTION_BITS - F16_FRACTION_BITS
    private const val F16_INFINITY = 0x7c00
    private const val REBIAS = 127 - 15

    /** 2^-24, the smallest f16 above 0: every f16 below the normal ones is a multiple of it. */
    private const val F16_STEP = 5.9604645e-8f

    /** The value of an f16. */
    @JvmStatic
    public fun toFloat(bits: Short): Float {
        val all = bits.toInt() and 0xffff
        val sign = (all and SIGN) shl 16
        val exponent = (all shr F16_FRACTION_BITS) and 0x1f
        val fraction = all and 0x3ff
        return when (exponent) {
            0 -> (fraction * F16_STEP).let { if (sign == 0) it else -it }
            0x1f -> Float.fromBits(sign or 0x7f800000 or (fraction shl SHIFT))
            else -> Float.fromBits(sign or ((exponent + REBIAS) shl F32_FRACTION_BITS) or (fraction shl SHIFT))
        }
    }

    /** The nearest f16, of two equally near ones the even one; infinity beyond the largest, and NaN stays NaN. */
    @JvmStatic
    public fun fromFloat(value: Float): Short {
        val all = value.toRawBits()
        val sign = (all ushr 16) and SIGN
        val size = all and 0x7fffffff
        val exponent = (size ushr F32_FRACTION_BITS) - REBIAS
        val half = when {
            size > 0x7f800000 -> F16_INFINITY or 0x200 or ((size ushr SHIFT) and 0x1ff)
            exponent >= 0x1f -> F16_INFINITY
            // a fraction that rounds up beyond its bits goes on into the exponent, which is right, up to infinity
            exponent > 0 -> rounded((exponent shl F32_FRACTION_BITS) or (size and 0x7fffff), SHIFT)
            exponent < -F16_FRACTION_BITS -> 0
            else -> rounded((size and 0x7fffff) or 0x800000, SHIFT + 1 - exponent)
        }
        return (sign or half).toShort()
    }

    /** The value of a bf16. */
    @JvmStatic
    public fun bfloatToFloat(bits: Short): Float = Float.fromBits(bits.toInt() shl 16)

    /** The nearest bf16, of two equally near ones the even one; NaN stays NaN. */
    @JvmStatic
    public fun bfloatFromFloat(value: Float): Short {
        val all = value.toRawBits()
        if (value.isNaN()) return ((all ushr 16) or 0x40).toShort()
        val sign = (all ushr 16) and SIGN
        return (sign or rounded(all and 0x7fffffff, 16)).toShort()
    }

    /** `bits` without the last `drop` ones, to the nearest, ties to even. */
    private fun rounded(bits: Int, drop: Int): Int {
        val kept = bits ushr drop
        val rest = bits and ((1 shl drop) - 1)
        val middle = 1 shl (drop - 1)
        return if (rest > middle || (rest == middle && kept and 1 == 1)) kept + 1 else kept
    }
}
