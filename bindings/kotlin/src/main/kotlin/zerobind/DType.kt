package zerobind

/**
 * Type of an element; [code] is the number of zerobind.h, [bits] are those of one element (0: not fixed).
 *
 * The JVM has neither unsigned nor half types: such elements lie in buffers of the same width, and [Elements] reads and writes
 * them by their values.
 */
public enum class DType(public val code: Int, public val bits: Int) {
    F32(1, 32),
    F64(2, 64),
    F16(3, 16),
    BF16(4, 16),
    I8(5, 8),
    U8(6, 8),
    I16(7, 16),
    U16(8, 16),
    I32(9, 32),
    U32(10, 32),
    I64(11, 64),
    U64(12, 64),

    /** One byte, 0 or 1. */
    BOOL(13, 8),

    /** Two elements in a byte, low nibble first. */
    I4(14, 4),

    /** Two elements in a byte, low nibble first. */
    U4(15, 4),

    /** Two f32, real part first. */
    C64(16, 64),

    /** Reported for slots; cannot be bound. */
    STRING(17, 0),
    F8E4M3FN(18, 8),
    F8E5M2(19, 8),

    /** Two f64, real part first. */
    C128(20, 128),

    /** A number that this version of the binding does not know. */
    UNKNOWN(-1, 0),
    ;

    /** Bytes that [elements] of this type take, rounded up. */
    public fun bytes(elements: Long): Long = Math.addExact(Math.multiplyExact(elements, bits.toLong()), 7L) / 8

    public companion object {
        private val known = entries.associateBy { it.code }

        /** The type of a number. */
        public fun of(code: Int): DType = known[code] ?: UNKNOWN
    }
}
