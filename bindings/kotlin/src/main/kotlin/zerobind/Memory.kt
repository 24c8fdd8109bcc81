package zerobind

import java.nio.Buffer
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.CharBuffer
import java.nio.DoubleBuffer
import java.nio.FloatBuffer
import java.nio.IntBuffer
import java.nio.LongBuffer
import java.nio.ShortBuffer
import zerobind.internal.native

/**
 * Memory outside of the JVM's heap, used where it is: from [address] on, [size] bytes of tensor and [capacity] readable bytes.
 *
 * It holds the buffer or segment that it was made of, so it may be kept and lent again and again without looking up the address.
 * Immutable, for any thread.
 */
public class Memory internal constructor(
    /** What keeps the bytes alive. */
    internal val owner: Any,
    public val address: Long,
    public val size: Long,
    public val capacity: Long,
    public val isReadOnly: Boolean,
    /** Types that the elements may be; null: any. */
    internal val types: Set<DType>?,
) {
    /** Refuses elements of another type than those of a typed buffer. */
    internal fun requireType(dtype: DType, what: String) {
        if (types == null || dtype in types) return
        throw refusal(
            Status.DTYPE_MISMATCH,
            "$what is ${dtype.name.lowercase()}, and the buffer is a ${kind(owner)}, which can hold " +
                "${types.joinToString(" or ") { it.name.lowercase() }}; take a ByteBuffer for any type",
        )
    }

    public companion object {
        /**
         * The memory of a direct buffer, from its position to its limit; what is behind the limit counts as readable.
         *
         * @throws ZerobindException `COPY_REQUIRED` for a buffer on the heap, `INVALID_ARGUMENT` for a typed buffer in another byte
         * order than the machine's
         */
        @JvmStatic
        public fun of(buffer: Buffer): Memory {
            if (!buffer.isDirect) throw onTheHeap(buffer)
            val bytes = elementBytes(buffer)
            requireNativeOrder(buffer)
            return Memory(
                // where it begins and ends is its own: the program may move its buffer's position later
                owner = if (buffer is ByteBuffer) buffer.slice() else buffer,
                address = native.address(buffer) + buffer.position() * bytes,
                size = buffer.remaining() * bytes,
                capacity = (buffer.capacity() - buffer.position()) * bytes,
                isReadOnly = buffer.isReadOnly,
                types = typesOf(buffer),
            )
        }

        private fun onTheHeap(buffer: Buffer) = refusal(
            Status.COPY_REQUIRED,
            "a ${kind(buffer)} that is an array on the JVM's heap, cannot be used in place: the garbage collector " +
                "moves it. Take directBuffer(bytes) or ByteBuffer.allocateDirect, or copy it with Tensor.copyOf",
        )
    }
}

/**
 * A zeroed direct buffer of [bytes], at a multiple of [alignment] and in the machine's byte order; behind it are readable bytes
 * that TFLite may read past the end of an input. 64 suits every engine.
 */
public fun directBuffer(bytes: Int, alignment: Int = 64): ByteBuffer {
    require(bytes >= 0) { "a size of $bytes bytes" }
    require(alignment > 0 && alignment and (alignment - 1) == 0) { "an alignment of $alignment, which is no power of two" }
    val all = ByteBuffer.allocateDirect(Math.addExact(bytes, alignment + SLACK))
    val start = ((alignment - native.address(all) % alignment) % alignment).toInt()
    all.position(start)
    return all.slice().limit(bytes).let { it as ByteBuffer }.order(ByteOrder.nativeOrder())
}

/** Bytes behind an input that an engine may read: 16 on TFLite. */
private const val SLACK = 64

internal fun elementBytes(buffer: Buffer): Long = when (buffer) {
    is ByteBuffer -> 1
    is ShortBuffer, is CharBuffer -> 2
    is IntBuffer, is FloatBuffer -> 4
    else -> 8
}

/** What a buffer is called in the program; its class has a longer name. */
private fun kind(buffer: Any): String = when (buffer) {
    is ByteBuffer -> "ByteBuffer"
    is ShortBuffer -> "ShortBuffer"
    is CharBuffer -> "CharBuffer"
    is IntBuffer -> "IntBuffer"
    is LongBuffer -> "LongBuffer"
    is FloatBuffer -> "FloatBuffer"
    is DoubleBuffer -> "DoubleBuffer"
    else -> buffer.javaClass.simpleName
}

private fun typesOf(buffer: Buffer): Set<DType>? = when (buffer) {
    is ByteBuffer -> null
    is FloatBuffer -> setOf(DType.F32)
    is DoubleBuffer -> setOf(DType.F64)
    is ShortBuffer -> setOf(DType.I16, DType.U16, DType.F16, DType.BF16)
    is IntBuffer -> setOf(DType.I32, DType.U32)
    is LongBuffer -> setOf(DType.I64, DType.U64)
    else -> throw refusal(Status.UNSUPPORTED, "a ${kind(buffer)}: no element type of a model is a character")
}

private fun requireNativeOrder(buffer: Buffer) {
    val order = when (buffer) {
        is ShortBuffer -> buffer.order()
        is IntBuffer -> buffer.order()
        is LongBuffer -> buffer.order()
        is FloatBuffer -> buffer.order()
        is DoubleBuffer -> buffer.order()
        else -> return
    }
    if (order == ByteOrder.nativeOrder()) return
    throw refusal(
        Status.INVALID_ARGUMENT,
        "the ${kind(buffer)} is $order and the machine ${ByteOrder.nativeOrder()}: an engine would read every element " +
            "with its bytes swapped. Call order(ByteOrder.nativeOrder()) before asFloatBuffer() and its like, or take directBuffer",
    )
}
