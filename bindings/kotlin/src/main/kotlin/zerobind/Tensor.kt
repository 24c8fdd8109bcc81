package zerobind

import java.nio.Buffer
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.concurrent.TimeUnit
import zerobind.internal.Layout
import zerobind.internal.NativeHandle
import zerobind.internal.Pin
import zerobind.internal.desc
import zerobind.internal.frame
import zerobind.internal.native
import zerobind.internal.use

/**
 * Typed, shaped memory that stays at its place, to be bound. For any thread; during a run that uses it, its bytes are the engine's.
 *
 * Closing it does not end bindings, nor what queues do with it: the memory is kept until the last of them is gone.
 */
public class Tensor private constructor(
    handle: Long,
    public val dtype: DType,
    public val shape: List<Long>,
    private val bytes: ByteBuffer?,
) : AutoCloseable {
    internal val handle = NativeHandle(this, handle, "Tensor") { native.tensorDestroy(it) }

    /**
     * The memory, in the machine's byte order and from position 0: a view of its own at each call. It may be used as long as you
     * like, also after [close].
     *
     * @throws ZerobindException `UNSUPPORTED` for a tensor of a typed buffer or a segment: that itself is the memory
     */
    public val buffer: ByteBuffer
        get() = (bytes ?: throw refusal(Status.UNSUPPORTED, "the tensor was wrapped around something that is no ByteBuffer; use that"))
            .let { if (it.isReadOnly) it.asReadOnlyBuffer() else it.duplicate() }.order(ByteOrder.nativeOrder())

    /** The elements by their values, as [buffer] has them. */
    public val elements: Elements get() = Elements(buffer, dtype)

    /**
     * Waits until what queues have for this tensor now is done: then its memory may be read.
     *
     * @return false if [timeout] passed before; the operations go on
     */
    @JvmOverloads
    public fun sync(timeout: Long = Long.MAX_VALUE, unit: TimeUnit = TimeUnit.NANOSECONDS): Boolean =
        waited(handle.use(this) { native.tensorSync(it, TO_HOST, timeoutNanos(timeout, unit)) })

    /**
     * As [sync], after the program has written all of the memory by itself: what a failed operation left there counts no more.
     */
    @JvmOverloads
    public fun written(timeout: Long = Long.MAX_VALUE, unit: TimeUnit = TimeUnit.NANOSECONDS): Boolean =
        waited(handle.use(this) { native.tensorSync(it, TO_DEVICE, timeoutNanos(timeout, unit)) })

    override fun close(): Unit = handle.close()

    public companion object {
        private const val TO_HOST = 0
        private const val TO_DEVICE = 1

        /**
         * Makes a tensor of a direct buffer's memory, from position to limit, without copying it. A read-only buffer makes a
         * tensor for inputs only. A dimension of -1 makes room for an output of which only the run tells the shape.
         *
         * The buffer is kept until the tensor is closed and nothing uses it any more; [onRelease] tells when: exactly once, on
         * whichever thread ends the last use, maybe inside [close]. What it throws is logged.
         *
         * @throws ZerobindException `COPY_REQUIRED` for a buffer on the heap: see [copyOf]
         */
        @JvmStatic
        public fun wrap(buffer: Buffer, dtype: DType, vararg shape: Long, onRelease: (() -> Unit)? = null): Tensor =
            wrap(Memory.of(buffer), dtype, *shape, onRelease = onRelease)

        /** As the other, for any [Memory]. */
        @JvmStatic
        public fun wrap(memory: Memory, dtype: DType, vararg shape: Long, onRelease: (() -> Unit)? = null): Tensor = frame {
            memory.requireType(dtype, "the tensor")
            val place = take(8)
            val desc = take(Layout.Desc.SIZE).apply { desc(dtype.code, shape) }.address
            val pin = Pin(memory, onRelease)
            val (address, size, capacity) = Triple(memory.address, memory.size, memory.capacity)
            check(
                if (memory.isReadOnly) native.tensorWrapConst(desc, address, size, capacity, pin, place.address)
                else native.tensorWrap(desc, address, size, capacity, pin, place.address),
            )
            Tensor(place.long(0), dtype, shape.toList(), memory.owner as? ByteBuffer)
        }

        /** Makes a tensor on zeroed memory of its own: [buffer] and [elements] are the way to it. */
        @JvmStatic
        public fun allocate(dtype: DType, vararg shape: Long, alignment: Int = 64): Tensor =
            wrap(directBuffer(Math.toIntExact(sizeOf(dtype, shape)), alignment), dtype, *shape)

        /** Makes a tensor of a copy of the array. */
        @JvmStatic
        public fun copyOf(values: FloatArray, vararg shape: Long): Tensor =
            allocate(DType.F32, *shape).filled(values.size) { it.asFloatBuffer().put(values) }

        @JvmStatic
        public fun copyOf(values: DoubleArray, vararg shape: Long): Tensor =
            allocate(DType.F64, *shape).filled(values.size) { it.asDoubleBuffer().put(values) }

        /** [dtype] is [DType.I32] or [DType.U32]. */
        @JvmStatic
        public fun copyOf(values: IntArray, dtype: DType, vararg shape: Long): Tensor =
            allocate(dtype.of(32), *shape).filled(values.size) { it.asIntBuffer().put(values) }

        /** [dtype] is [DType.I64] or [DType.U64]. */
        @JvmStatic
        public fun copyOf(values: LongArray, dtype: DType, vararg shape: Long): Tensor =
            allocate(dtype.of(64), *shape).filled(values.size) { it.asLongBuffer().put(values) }

        /** [dtype] is one of 16 bits, floats by their bits ([Half]). */
        @JvmStatic
        public fun copyOf(values: ShortArray, dtype: DType, vararg shape: Long): Tensor =
            allocate(dtype.of(16), *shape).filled(values.size) { it.asShortBuffer().put(values) }

        /** [dtype] is any: the bytes are taken as they are. */
        @JvmStatic
        public fun copyOf(values: ByteArray, dtype: DType, vararg shape: Long): Tensor {
            val tensor = allocate(dtype, *shape)
            return tensor.filled(values.size, tensor.buffer.remaining()) { it.put(values) }
        }

        /** Bytes of a tensor. */
        private fun sizeOf(dtype: DType, shape: LongArray): Long = frame {
            val size = take(8)
            val desc = take(Layout.Desc.SIZE).apply { desc(dtype.code, shape) }
            check(native.tensorDescSize(desc.address, size.address))
            size.long(0)
        }

        private fun DType.of(bits: Int): DType {
            if (this.bits == bits && this != DType.F32 && this != DType.F64 && this != DType.C64) return this
            throw refusal(Status.DTYPE_MISMATCH, "${name.lowercase()} is no type for an array of whole numbers of $bits bits")
        }

        private inline fun Tensor.filled(given: Int, wanted: Int = shape.fold(1L, Long::times).toInt(), fill: (ByteBuffer) -> Unit): Tensor {
            if (given == wanted) return apply { fill(buffer) }
            close()
            throw refusal(Status.SHAPE_MISMATCH, "an array of $given for shape $shape, which takes $wanted")
        }
    }
}

/** A timeout in ns, where the largest is for good. */
internal fun timeoutNanos(timeout: Long, unit: TimeUnit): Long {
    require(timeout >= 0) { "a timeout of $timeout $unit" }
    val nanos = unit.toNanos(timeout)
    return if (nanos == Long.MAX_VALUE) -1 else nanos
}

/** Whether a wait has come to its end. */
internal fun waited(status: Int): Boolean = (status != Status.TIMEOUT.code).also { if (it) check(status) }
