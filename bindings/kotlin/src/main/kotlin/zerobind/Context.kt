package zerobind

import java.nio.Buffer
import java.util.concurrent.atomic.AtomicReference
import zerobind.internal.Layout
import zerobind.internal.NativeHandle
import zerobind.internal.Scratch
import zerobind.internal.frame
import zerobind.internal.native
import zerobind.internal.reading
import zerobind.internal.use

/**
 * One execution state of a model, with its bindings.
 *
 * **Threads.** It may be used from any thread, by one at a time: while a run is in progress, everything but [cancel] and
 * [close] throws [BusyException]; nothing waits. Contexts of one model run side by side. While a [Queue] has work for it,
 * [infer], [resize], [prepare] and [resetState] throw it; binding and questions do not, and act on what comes later.
 *
 * **Closing** never waits: a run in progress on another thread is asked to stop, and throws `CANCELLED` there. Bound tensors are
 * let go when it has ended.
 */
public class Context private constructor(handle: Long, private val model: SlotTypes) : AutoCloseable {
    internal val handle = NativeHandle(this, handle, "Context") { native.contextDestroy(it) }
    private val spare = AtomicReference<Loans?>()

    /**
     * Runs with what is bound. When it returns, bound outputs are complete.
     *
     * @param deadlineNanos when the run has to be over, from now; 0: whenever it is
     */
    public fun infer(deadlineNanos: Long = 0) {
        if (deadlineNanos == 0L) check(handle.use(this) { native.infer(it, 0) })
        else frame { check(handle.use(this@Context) { native.infer(it, deadline(deadlineNanos)) }) }
    }

    /**
     * Runs with memory lent for this call: direct buffers for the inputs and outputs, from the first on; slots that are not
     * named keep their bindings. An input's buffer is the slot's bytes exactly, an output's at least that, from position to limit
     * (neither moves). Types of typed buffers are checked; a buffer on the heap is refused.
     *
     * For calls that allocate nothing on the heap, see [loans].
     */
    public fun infer(inputs: List<Buffer>, outputs: List<Buffer>, deadlineNanos: Long = 0): Unit = lend(deadlineNanos) { loans ->
        for (at in inputs.indices) loans.input(Slot.input(at), inputs[at])
        for (at in outputs.indices) loans.output(Slot.output(at), outputs[at])
    }

    /** Runs with memory lent for this call, by the names of the slots. */
    public fun infer(inputs: Map<String, Buffer>, outputs: Map<String, Buffer>, deadlineNanos: Long = 0): Unit =
        lend(deadlineNanos) { loans ->
            for ((name, buffer) in inputs) loans.input(model.input(name), buffer)
            for ((name, buffer) in outputs) loans.output(model.output(name), buffer)
        }

    /** Runs with memory lent for this call, as [loans] names it. */
    public fun infer(loans: Loans, deadlineNanos: Long = 0) {
        loans.lend { address, count ->
            if (deadlineNanos == 0L) check(handle.use(this) { native.inferWith(it, address, count, 0) })
            else frame { check(handle.use(this@Context) { native.inferWith(it, address, count, deadline(deadlineNanos)) }) }
        }
    }

    /** Runs with loans that are kept from call to call; a second thread makes its own, to be told that the context is busy. */
    private inline fun lend(deadlineNanos: Long, fill: (Loans) -> Unit) {
        val loans = spare.getAndSet(null) ?: loans()
        try {
            fill(loans)
            infer(loans, deadlineNanos)
        } finally {
            loans.clear()
            spare.set(loans)
        }
    }

    /** An empty set of loans for this context, to be filled once and lent again and again. */
    public fun loans(): Loans = Loans(model)

    /** Binds a tensor to a slot until it is unbound, replaced, or the context is closed. The binding holds the tensor. */
    public fun bind(slot: Slot, tensor: Tensor): Unit = handle.use(this) { context ->
        check(tensor.handle.use(tensor) { native.tensorBind(it, context, slot.bits) })
    }

    /** Makes a tensor with the type, shape and alignment that the slot needs now, and binds it. Plans if that is not done. */
    public fun bindNew(slot: Slot): Tensor {
        val tensor = tensorFor(slot)
        try {
            bind(slot, tensor)
        } catch (e: Throwable) {
            tensor.close()
            throw e
        }
        return tensor
    }

    /** Makes a tensor with the type, shape and alignment that the slot needs now; it is not bound. */
    public fun tensorFor(slot: Slot): Tensor {
        val needs = requirements(slot)
        val info = info(slot)
        return Tensor.allocate(info.dtype, *info.shape.toLongArray(), alignment = maxOf(64, Math.toIntExact(needs.alignment)))
    }

    /** Ends the binding of a slot; without one nothing happens. */
    public fun unbind(slot: Slot): Unit = call { native.contextUnbind(it, slot.bits) }

    /** Exchanges the tensors bound to two slots: state goes round without a copy. */
    public fun swap(a: Slot, b: Slot): Unit = call { native.contextSwap(it, a.bits, b.bits) }

    /** Asks for a shape of an input, from the next [prepare] or run on. */
    public fun resize(input: Slot, vararg shape: Long): Unit = frame {
        val dims = take(8 * shape.size)
        shape.forEachIndexed { at, dimension -> dims.long(8 * at, dimension) }
        call { native.contextResizeInput(it, input.bits, dims.address, shape.size) }
    }

    /** Plans now rather than in the next run. */
    public fun prepare(): Unit = call { native.contextPrepare(it) }

    /** Makes the engine forget what it keeps from run to run. */
    public fun resetState(): Unit = call { native.contextResetState(it) }

    /** Asks the run in progress to stop; from any thread. Whether it did is told by how that run ends. */
    public fun cancel(): Unit = call { native.contextCancel(it) }

    /** A slot as it is in this context now; after a run, with the shape that was computed. */
    public fun info(slot: Slot): SlotInfo = frame {
        val info = sized(Layout.SlotInfo.SIZE)
        handle.reading(this@Context) {
            check(native.contextGetSlotInfo(it, slot.bits, info.address))
            slotInfo(slot, info)
        }
    }

    /** What memory for a slot has to be like. Plans if that is not done. */
    public fun requirements(slot: Slot): Requirements = frame {
        val place = sized(Layout.Requirements.SIZE)
        call { native.contextGetRequirements(it, slot.bits, place.address) }
        requirements(place)
    }

    /** What the last run did with the memory of a slot. */
    public fun report(slot: Slot): BindingReport = frame {
        val place = sized(Layout.BindingReport.SIZE)
        call { native.contextGetBindingReport(it, slot.bits, place.address) }
        bindingReport(place)
    }

    /** The counters of the context. */
    public val stats: ContextStats
        get() = frame {
            val place = sized(Layout.ContextStats.SIZE)
            call { native.contextGetStats(it, place.address) }
            contextStats(place)
        }

    override fun close(): Unit = handle.close()

    private inline fun call(function: (context: Long) -> Int): Unit = check(handle.use(this, function))

    internal companion object {
        internal fun create(model: Model, options: ContextOptions): Context = frame {
            val place = take(8)
            model.handle.use(model) { check(native.contextCreate(it, options.write(this), place.address)) }
            // types and names are asked before anybody may close the model
            try {
                Context(place.long(0), SlotTypes(model))
            } catch (e: Throwable) {
                native.contextDestroy(place.long(0))
                throw e
            }
        }
    }
}

/** Options of a run with a deadline. */
internal fun Scratch.deadline(nanos: Long): Long {
    require(nanos >= 0) { "a deadline of $nanos ns, before now" }
    return sized(Layout.InferOptions.SIZE).apply { long(Layout.InferOptions.DEADLINE_NS, nanos) }.address
}

/** Names and types of a model's slots, which never change: kept for checks that cost no call. */
internal class SlotTypes(model: Model) {
    private val inputs = model.inputs
    private val outputs = model.outputs

    /** The type of a slot; null where there is no such slot, which zerobind tells. */
    fun type(slot: Slot): DType? = (if (slot.isOutput) outputs else inputs).getOrNull(slot.index)?.dtype

    fun input(name: String): Slot = find("input", name, inputs)

    fun output(name: String): Slot = find("output", name, outputs)

    private fun find(what: String, name: String, slots: List<SlotInfo>): Slot =
        slots.firstOrNull { it.name == name }?.slot ?: throw refusal(
            Status.NOT_FOUND,
            "no $what is named '$name'; there are: ${slots.joinToString { "'${it.name}'" }}",
        )
}

/** How to make a context. */
public class ContextOptions internal constructor() {
    /** Threads that compute, the caller's included. */
    public var threads: Int = 1

    /** What happens where memory cannot be used in place. */
    public var copyPolicy: CopyPolicy = CopyPolicy.NEVER

    /** Whether [ContextStats.lastRunNanos] is filled in, which costs two clock reads a run. */
    public var profile: Boolean = false

    /** Options of the engines by name; see `zb_context_options` in zerobind.h. */
    public val options: MutableMap<String, String> = LinkedHashMap()

    /** [CopyPolicy.NEVER], to be written short. */
    public val NEVER: CopyPolicy get() = CopyPolicy.NEVER

    /** [CopyPolicy.ALLOW], to be written short. */
    public val ALLOW: CopyPolicy get() = CopyPolicy.ALLOW

    internal fun write(scratch: Scratch): Long {
        val place = scratch.sized(Layout.ContextOptions.SIZE)
        place.int(Layout.ContextOptions.THREADS, threads)
        place.int(Layout.ContextOptions.COPY_POLICY, copyPolicy.code)
        place.int(Layout.ContextOptions.FLAGS, if (profile) PROFILE else 0)
        if (options.isNotEmpty()) {
            val list = scratch.take(Layout.Option.SIZE * options.size)
            options.entries.forEachIndexed { at, (key, value) ->
                val option = list.at(Layout.Option.SIZE * at)
                option.long(Layout.Option.KEY, scratch.text(key))
                option.long(Layout.Option.VALUE, scratch.text(value))
            }
            place.long(Layout.ContextOptions.OPTIONS, list.address)
            place.long(Layout.ContextOptions.OPTION_COUNT, options.size.toLong())
        }
        return place.address
    }

    private companion object {
        const val PROFILE = 1
    }
}
