package zerobind

import java.nio.Buffer
import java.util.concurrent.CancellationException
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit
import zerobind.internal.Layout
import zerobind.internal.NativeHandle
import zerobind.internal.Pin
import zerobind.internal.Scratch
import zerobind.internal.frame
import zerobind.internal.native
import zerobind.internal.use

/**
 * An ordered timeline of writes, inferences and reads, on a thread of its own. For any thread. Work of different queues that
 * uses one tensor or one context happens in the order in which it was put there.
 *
 * **Futures** are completed on the queue's thread: what hangs on them runs there (`thenApply`) and must not wait for the same queue:
 * [finish] is [BusyException] there, but `get` and `join` of another of its operations would wait for ever. `thenApplyAsync` runs
 * elsewhere. Waiting threads are free to do anything. With coroutines, use
 * `zerobind.coroutines`: they go on where they were.
 *
 * **Closing** never waits: what has not started ends with `DESTROYED`, what runs is asked to stop.
 *
 * @param capacity most operations that are not done; a further one is `QUEUE_FULL`
 */
public class Queue(capacity: Int = 64) : AutoCloseable {
    internal val handle = NativeHandle(this, create(capacity), "Queue") { native.queueDestroy(it) }

    /**
     * Puts a run of the context into the queue, with what is bound to it now, or for this run with [tensors] in place of some.
     * The tensors and the context are held until it is done.
     */
    public fun inferAsync(context: Context, tensors: Map<Slot, Tensor> = emptyMap(), deadlineNanos: Long = 0): Operation =
        submit(listOf(tensors, context)) { queue, event ->
            val list = take(Layout.SlotTensor.SIZE * tensors.size)
            tensors.entries.forEachIndexed { at, (slot, tensor) ->
                val entry = list.at(Layout.SlotTensor.SIZE * at)
                entry.int(Layout.SlotTensor.SLOT, slot.bits)
                entry.long(Layout.SlotTensor.TENSOR, tensor.handle.value)
            }
            val options = if (deadlineNanos == 0L) 0 else deadline(deadlineNanos)
            context.handle.use(context) {
                native.queueInferWith(queue, it, list.address, tensors.size.toLong(), options, event)
            }
        }

    /** Puts a write into the queue: the buffer's bytes, copied before this returns, to byte [offset] of the tensor. */
    public fun write(tensor: Tensor, source: Buffer, offset: Long = 0): Operation {
        val memory = Memory.of(source)
        memory.requireType(tensor.dtype, "the tensor")
        return submit(tensor) { queue, event ->
            tensor.handle.use(memory) { native.queueWrite(queue, it, offset, memory.address, memory.size, event) }
        }
    }

    /** Puts a read into the queue: from byte [offset] of the tensor, to all of the buffer, which is kept until it is done. */
    public fun read(tensor: Tensor, destination: Buffer, offset: Long = 0): Operation {
        val memory = Memory.of(destination)
        memory.requireType(tensor.dtype, "the tensor")
        if (memory.isReadOnly) throw refusal(Status.READ_ONLY, "the buffer can only be read, and the operation writes it")
        return submit(memory) { queue, event ->
            tensor.handle.use(tensor) { native.queueRead(queue, it, offset, memory.address, memory.size, event) }
        }
    }

    /** An operation that is done when all before it is. */
    public fun fence(): Operation = submit(null) { queue, event -> native.queueFence(queue, event) }

    /**
     * Waits until all that is in the queue now is done.
     *
     * @return false if [timeout] passed before; the operations go on
     */
    @JvmOverloads
    public fun finish(timeout: Long = Long.MAX_VALUE, unit: TimeUnit = TimeUnit.NANOSECONDS): Boolean =
        waited(handle.use(this) { native.queueFinish(it, timeoutNanos(timeout, unit)) })

    override fun close(): Unit = handle.close()

    /** Puts an operation into the queue, and keeps what it uses until it is done. */
    private inline fun submit(kept: Any?, put: Scratch.(queue: Long, event: Long) -> Int): Operation = frame {
        val event = take(8)
        check(handle.use(this@Queue) { put(it, event.address) })
        Operation.of(event.long(0), listOf(kept, this@Queue))
    }

    private companion object {
        fun create(capacity: Int): Long = frame {
            require(capacity > 0) { "a queue for $capacity operations" }
            val place = take(8)
            val options = sized(Layout.QueueOptions.SIZE).apply { int(Layout.QueueOptions.CAPACITY, capacity) }
            check(native.queueCreate(options.address, place.address))
            place.long(0)
        }
    }
}

/**
 * One operation of a queue: completed when it is done, exceptionally with [ZerobindException] if it failed, or cancelled.
 */
public class Operation private constructor(private val event: Long) : CompletableFuture<Unit>() {
    /**
     * Asks for the operation not to happen: one that has not started is cancelled at once, one that runs is asked to stop, and
     * one that is done stays as it is. Until the future is completed, the memory is the operation's.
     *
     * @return whether it was asked, or is cancelled already; the future tells whether it stopped
     */
    override fun cancel(mayInterruptIfRunning: Boolean): Boolean =
        if (isDone) isCancelled else native.eventCancel(event) == 0

    private fun settled(event: Long, result: Int) {
        when (result) {
            0 -> complete(Unit)
            Status.CANCELLED.code -> completeExceptionally(CancellationException(text(event)))
            else -> completeExceptionally(failure(result, text(event)))
        }
    }

    private fun text(event: Long) = errorText { buffer, capacity, needed -> native.eventGetError(event, buffer, capacity, needed) }

    internal companion object {
        internal fun of(event: Long, kept: Any?): Operation {
            val operation = Operation(event)
            val pin = Pin(kept, onSettled = { handle, result ->
                try {
                    operation.settled(handle, result)
                } finally {
                    native.eventDestroy(handle)
                }
            })
            val status = native.eventOnComplete(event, pin)
            if (status != 0) {
                native.eventDestroy(event)
                check(status)
            }
            return operation
        }
    }
}
