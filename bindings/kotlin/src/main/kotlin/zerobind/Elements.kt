package zerobind

import java.nio.ByteBuffer
import java.nio.ByteOrder

/**
 * The elements of a tensor by their values, whatever type they have: unsigned ones are not negative, halves are floats, those of
 * 4 bits are taken apart. Nothing is copied. For a few elements; a loop over many is quicker on the buffer itself.
 *
 * A value that the type cannot hold is refused, not wrapped: 256 for u8, 1.5 for any integer. Floats are rounded to the nearest.
 */
public class Elements(buffer: ByteBuffer, public val dtype: DType) {
    private val bytes: ByteBuffer = buffer.slice().order(ByteOrder.nativeOrder())

    /** How many there are. */
    public val count: Int

    init {
        if (dtype.bits == 0 || dtype in UNREADABLE) {
            throw refusal(Status.UNSUPPORTED, "elements of type ${dtype.name.lowercase()} have no value on the JVM; use their bytes")
        }
        count = (bytes.capacity().toLong() * 8 / dtype.bits).toInt()
    }

    /** The value as a Double: exact for every type but i64 and u64 beyond 53 bits. */
    public fun double(index: Int): Double = when (dtype) {
        DType.F64 -> bytes.getDouble(8 * at(index))
        DType.F32 -> bytes.getFloat(4 * at(index)).toDouble()
        DType.F16 -> Half.toFloat(bytes.getShort(2 * at(index))).toDouble()
        DType.BF16 -> Half.bfloatToFloat(bytes.getShort(2 * at(index))).toDouble()
        DType.U64 -> bytes.getLong(8 * at(index)).toULong().toDouble()
        else -> long(index).toDouble()
    }

    /** The value as a Float, rounded where a Float cannot hold it. */
    public fun float(index: Int): Float = double(index).toFloat()

    /** The value of an integer. Of u64 those from 2^63 on do not fit: see [uLong]. */
    public fun long(index: Int): Long = when (dtype) {
        DType.I8 -> bytes.get(at(index)).toLong()
        DType.U8, DType.BOOL -> bytes.get(at(index)).toLong() and 0xff
        DType.I16 -> bytes.getShort(2 * at(index)).toLong()
        DType.U16 -> bytes.getShort(2 * at(index)).toLong() and 0xffff
        DType.I32 -> bytes.getInt(4 * at(index)).toLong()
        DType.U32 -> bytes.getInt(4 * at(index)).toLong() and 0xffffffff
        DType.I64 -> bytes.getLong(8 * at(index))
        DType.U64 -> bytes.getLong(8 * at(index)).also {
            if (it < 0) throw refusal(Status.INVALID_ARGUMENT, "element $index is ${it.toULong()}, more than a Long holds; read it with uLong")
        }
        DType.U4 -> nibble(index).toLong()
        DType.I4 -> ((nibble(index) shl 28) shr 28).toLong()
        else -> throw refusal(Status.DTYPE_MISMATCH, "element $index is ${dtype.name.lowercase()}, no integer; read it with double or float")
    }

    /** The value of an integer that is not negative. */
    public fun uLong(index: Int): ULong {
        if (dtype == DType.U64) return bytes.getLong(8 * at(index)).toULong()
        val value = long(index)
        if (value < 0) throw refusal(Status.INVALID_ARGUMENT, "element $index is $value, which is negative")
        return value.toULong()
    }

    /** Writes a value; an integer type takes whole numbers only. */
    public operator fun set(index: Int, value: Double) {
        when (dtype) {
            DType.F64 -> bytes.putDouble(8 * at(index), value)
            DType.F32 -> bytes.putFloat(4 * at(index), value.toFloat())
            DType.F16 -> bytes.putShort(2 * at(index), Half.fromFloat(value.toFloat()))
            DType.BF16 -> bytes.putShort(2 * at(index), Half.bfloatFromFloat(value.toFloat()))
            else -> {
                val whole = value.toLong()
                // 2^63 as a Double is one more than the largest Long, which it would become
                if (whole.toDouble() != value || value >= 9.223372036854775807E18) throw outOfRange(index, value.toString())
                set(index, whole)
            }
        }
    }

    public operator fun set(index: Int, value: Float): Unit = set(index, value.toDouble())

    public operator fun set(index: Int, value: Int): Unit = set(index, value.toLong())

    /** Writes a whole number. */
    public operator fun set(index: Int, value: Long) {
        val range = RANGES[dtype] ?: return set(index, value.toDouble())
        if (value !in range) throw outOfRange(index, value.toString())
        when (dtype.bits) {
            4 -> setNibble(index, value.toInt())
            8 -> bytes.put(at(index), value.toByte())
            16 -> bytes.putShort(2 * at(index), value.toShort())
            32 -> bytes.putInt(4 * at(index), value.toInt())
            else -> bytes.putLong(8 * at(index), value)
        }
    }

    /** Writes a whole number of any size. */
    public operator fun set(index: Int, value: ULong) {
        if (dtype == DType.U64) bytes.putLong(8 * at(index), value.toLong())
        else if (value > Long.MAX_VALUE.toULong()) throw outOfRange(index, value.toString())
        else set(index, value.toLong())
    }

    private fun outOfRange(index: Int, value: String): ZerobindException {
        val range = if (dtype == DType.U64) "0..${ULong.MAX_VALUE}" else RANGES[dtype].toString()
        return refusal(Status.INVALID_ARGUMENT, "$value for element $index: ${dtype.name.lowercase()} holds whole numbers in $range")
    }

    private fun at(index: Int): Int = if (index in 0 until count) index else throw IndexOutOfBoundsException("element $index of $count")

    private fun nibble(index: Int): Int = (bytes.get(at(index) / 2).toInt() shr (4 * (index % 2))) and 0xf

    private fun setNibble(index: Int, value: Int) {
        val shift = 4 * (index % 2)
        val old = bytes.get(at(index) / 2).toInt()
        bytes.put(index / 2, ((old and (0xf shl shift).inv()) or ((value and 0xf) shl shift)).toByte())
    }

    private companion object {
        val UNREADABLE = setOf(DType.C64, DType.C128, DType.F8E4M3FN, DType.F8E5M2, DType.STRING)
        val RANGES = mapOf(
            DType.BOOL to 0L..1L,
            DType.I4 to -8L..7L,
            DType.U4 to 0L..15L,
            DType.I8 to -128L..127L,
            DType.U8 to 0L..255L,
            DType.I16 to -32768L..32767L,
            DType.U16 to 0L..65535L,
            DType.I32 to Int.MIN_VALUE.toLong()..Int.MAX_VALUE.toLong(),
            DType.U32 to 0L..0xffffffffL,
            DType.I64 to Long.MIN_VALUE..Long.MAX_VALUE,
            DType.U64 to 0L..Long.MAX_VALUE,
        )
    }
}
