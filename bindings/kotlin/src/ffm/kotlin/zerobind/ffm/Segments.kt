package zerobind.ffm

import java.lang.foreign.MemorySegment
import zerobind.DType
import zerobind.Loans
import zerobind.Memory
import zerobind.Slot
import zerobind.Status
import zerobind.Tensor
import zerobind.refusal

/**
 * The memory of a native segment, used where it is: memory of an arena, a mapped file, or what other native code gave.
 *
 * A segment of `Arena.ofAuto()` or `Arena.global()` stays as long as it is used here. One of another arena ends when that is
 * closed, and the JVM cannot be asked to wait: closing it while memory is lent or given is as wrong as freeing it in C.
 *
 * @throws zerobind.ZerobindException `COPY_REQUIRED` for a segment of an array on the heap
 */
public fun memoryOf(segment: MemorySegment): Memory {
    if (!segment.isNative) {
        throw refusal(
            Status.COPY_REQUIRED,
            "the segment is an array on the JVM's heap, which the garbage collector moves, so no engine can work on it in place. " +
                "Allocate with arena.allocate(bytes, 64), or copy it with Tensor.copyOf",
        )
    }
    return Memory(segment, segment.address(), segment.byteSize(), segment.byteSize(), segment.isReadOnly, null)
}

/**
 * Makes a tensor of a native segment's memory, without copying it; see [Tensor.wrap]. A segment of a confined arena is refused:
 * that ends with a thread's own block, and a tensor may be used longer and by others.
 */
public fun Tensor.Companion.wrap(
    segment: MemorySegment,
    dtype: DType,
    vararg shape: Long,
    onRelease: (() -> Unit)? = null,
): Tensor {
    if (!segment.isAccessibleBy(another)) {
        throw refusal(
            Status.INVALID_ARGUMENT,
            "the segment is of a confined arena, which other threads may not use; allocate with Arena.ofAuto() or " +
                "Arena.ofShared(), or lend it for one run",
        )
    }
    return wrap(memoryOf(segment), dtype, *shape, onRelease = onRelease)
}

/** Names a segment as the memory of an input; see [Loans.input]. */
public fun Loans.input(slot: Slot, segment: MemorySegment, shape: LongArray? = null): Loans = input(slot, memoryOf(segment), shape)

/** Names a segment as the memory of an output; see [Loans.output]. */
public fun Loans.output(slot: Slot, segment: MemorySegment, shape: LongArray? = null): Loans =
    output(slot, memoryOf(segment), shape)

/** A thread that owns nothing; it never runs. */
private val another = Thread { }
