package zerobind

import java.lang.ref.Reference
import java.nio.Buffer
import java.util.concurrent.atomic.AtomicBoolean
import zerobind.internal.Block
import zerobind.internal.Layout
import zerobind.internal.desc
import zerobind.internal.requireRank
import zerobind.internal.Struct

/**
 * Memory to be lent for runs, each slot at most once: filled once, changed where a buffer moves, lent as often as you like
 * without an allocation. It holds the buffers that it names, and nothing native that would have to be closed.
 *
 * Not for more than one thread at a time: while a run uses it, everything else throws [BusyException].
 */
public class Loans internal constructor(private val model: SlotTypes) {
    private var block = Block(ROOM * ENTRY)
    private var entries = arrayOfNulls<Memory>(ROOM)
    private var slots = IntArray(ROOM)
    private var count = 0
    private val used = AtomicBoolean()

    /** Names the memory of an input, for the next runs. [shape] is needed only where the slot has open dimensions. */
    public fun input(slot: Slot, memory: Memory, shape: LongArray? = null): Loans = set(slot, memory, shape, Layout.Loan.INPUT)

    public fun input(slot: Slot, buffer: Buffer, shape: LongArray? = null): Loans = input(slot, Memory.of(buffer), shape)

    /** Names the memory of an output, for the next runs. Of [shape], -1 is what only the run tells. */
    public fun output(slot: Slot, memory: Memory, shape: LongArray? = null): Loans {
        if (memory.isReadOnly) {
            throw refusal(Status.READ_ONLY, "$slot: the buffer can only be read, and a run writes its outputs")
        }
        return set(slot, memory, shape, Layout.Loan.OUTPUT)
    }

    public fun output(slot: Slot, buffer: Buffer, shape: LongArray? = null): Loans = output(slot, Memory.of(buffer), shape)

    /** Names no memory any more. */
    public fun clear(): Unit = exclusively {
        entries.fill(null)
        count = 0
    }

    private fun set(slot: Slot, memory: Memory, shape: LongArray?, flag: Int): Loans {
        val type = model.type(slot)
        type?.let { memory.requireType(it, slot.toString()) }
        shape?.let(::requireRank)
        exclusively {
            // nothing from here on is refused: what is lent is always what is held
            val at = place(slot)
            val loan = entry(at)
            loan.int(Layout.Loan.SLOT, slot.bits)
            loan.int(Layout.Loan.FLAGS, flag)
            loan.long(Layout.Loan.DATA, memory.address)
            loan.long(Layout.Loan.BYTES, memory.size)
            loan.long(Layout.Loan.CAPACITY, memory.capacity)
            loan.long(Layout.Loan.DESC, 0)
            if (shape != null) {
                val desc = block.struct(Layout.Loan.SIZE * entries.size + Layout.Desc.SIZE * at)
                desc.desc((type ?: DType.UNKNOWN).code, shape)
                loan.long(Layout.Loan.DESC, desc.address)
            }
            entries[at] = memory
        }
        return this
    }

    /** Where the loan of a slot is, or goes. */
    private fun place(slot: Slot): Int {
        for (at in 0 until count) if (slots[at] == slot.bits) return at
        if (count == entries.size) grow()
        slots[count] = slot.bits
        return count++
    }

    /** Twice the room: loans first, then the descs that they may point to. */
    private fun grow() {
        val old = block
        val size = entries.size
        entries = entries.copyOf(2 * size)
        slots = slots.copyOf(2 * size)
        block = Block(2 * size * ENTRY)
        for (at in 0 until count) {
            val from = old.struct(Layout.Loan.SIZE * at)
            val to = entry(at)
            for (offset in 0 until Layout.Loan.SIZE step 8) to.long(offset, from.long(offset))
            if (from.long(Layout.Loan.DESC) == 0L) continue
            val shape = old.struct(Layout.Loan.SIZE * size + Layout.Desc.SIZE * at)
            val moved = block.struct(Layout.Loan.SIZE * entries.size + Layout.Desc.SIZE * at)
            for (offset in 0 until Layout.Desc.SIZE step 8) moved.long(offset, shape.long(offset))
            to.long(Layout.Loan.DESC, moved.address)
        }
    }

    private fun entry(at: Int): Struct = block.struct(Layout.Loan.SIZE * at)

    /** Lends: the memory stays until [run] is back. */
    internal inline fun lend(run: (address: Long, count: Long) -> Unit): Unit = exclusively {
        run(block.address, count.toLong())
        // not before: the buffers, and the block itself
        Reference.reachabilityFence(this)
    }

    private inline fun exclusively(block: () -> Unit) {
        if (!used.compareAndSet(false, true)) {
            throw refusal(Status.BUSY, "these loans are in use by a run on another thread; each thread needs its own")
        }
        try {
            block()
        } finally {
            used.set(false)
            Reference.reachabilityFence(this)
        }
    }

    private companion object {
        const val ROOM = 4
        const val ENTRY = Layout.Loan.SIZE + Layout.Desc.SIZE
    }
}
