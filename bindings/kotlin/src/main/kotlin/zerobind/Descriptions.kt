package zerobind

import java.nio.ByteBuffer
import java.nio.ByteOrder
import zerobind.internal.Layout
import zerobind.internal.Struct
import zerobind.internal.native
import zerobind.internal.shape
import zerobind.internal.textAt

/** An input or an output of a model, by its number. */
@JvmInline
public value class Slot internal constructor(internal val bits: Int) {
    public val isOutput: Boolean get() = bits < 0
    public val index: Int get() = bits and Int.MAX_VALUE

    override fun toString(): String = if (isOutput) "output $index" else "input $index"

    public companion object {
        public fun input(index: Int): Slot = Slot(number(index))

        public fun output(index: Int): Slot = Slot(number(index) or Int.MIN_VALUE)

        private fun number(index: Int) = index.also { require(it >= 0) { "a slot is counted from 0, not $it" } }
    }
}

/** An engine. */
public enum class Engine(public val code: Int) {
    /** Chosen by the content of the model. */
    AUTO(0),
    TFLITE(1),
    ONNXRUNTIME(2),
    UNKNOWN(-1),
    ;

    public companion object {
        public fun of(code: Int): Engine = entries.firstOrNull { it.code == code } ?: UNKNOWN
    }
}

/** What happens where memory cannot be used in place. */
public enum class CopyPolicy(public val code: Int) {
    /** The call fails and says why. */
    NEVER(0),

    /** The bytes are copied, and [BindingReport] says so. */
    ALLOW(1),
}

/** How stored numbers stand for real ones: real = scale * (stored - zero point), for each index of [axis] if there is one. */
public data class Quantization(val scales: List<Float>, val zeroPoints: List<Int>, val axis: Int?)

/**
 * What a model says of a slot. Of [shape], -1 is a dimension that is open; [size] is in bytes, 0 while one is.
 *
 * @property dimensionNames one for each dimension, "" where it has none; null if none has
 */
public data class SlotInfo(
    val slot: Slot,
    val name: String,
    val dtype: DType,
    val shape: List<Long>,
    val size: Long,
    val flags: Set<SlotFlag>,
    val dimensionNames: List<String>?,
    val quantization: Quantization?,
)

/** What is special about a slot. */
public enum class SlotFlag(internal val bit: Int) {
    /** The value is part of the model. */
    CONSTANT(1),

    /** This output is an input of the model. */
    PASS_THROUGH(2),

    /** A dimension is not known before the resize or the run. */
    DYNAMIC(4),

    /** This output is the same engine tensor as an earlier one. */
    DUPLICATE(8),
}

/** What memory for a slot has to be like; see `zb_requirements`. Sizes are in bytes. */
public data class Requirements(val size: Long, val alignment: Long, val slack: Long, val rebind: Rebind)

/** What a new address costs. */
public enum class Rebind(internal val code: Int) { FREE(0), REPLAN(1), STAGED(2), UNKNOWN(-1) }

/** What a run did with the memory of a slot. */
public enum class Path(internal val code: Int) {
    /** There was no memory for the slot, or no run. */
    UNBOUND(0),

    /** The engine worked on the memory itself. */
    DIRECT(1),

    /** Bytes were copied. */
    STAGED(2),
    UNKNOWN(-1),
}

/**
 * What the last run did with the memory of a slot: the proof of zero copy. Addresses are numbers to compare: memory that was
 * lent may be gone.
 */
public data class BindingReport(
    val path: Path,
    val bytesCopied: Long,
    val hostAddress: Long,
    val engineAddress: Long,
    val reason: String?,
)

/** Counters of a context since it was made. */
public data class ContextStats(
    val runs: Long,
    val bytesCopied: Long,
    val rebinds: Long,
    val allocations: Long,
    val lastRunNanos: Long,
)

internal fun slotInfo(slot: Slot, info: Struct): SlotInfo {
    val desc = info.at(Layout.SlotInfo.DESC)
    val shape = desc.shape()
    val flags = info.int(Layout.SlotInfo.FLAGS)
    return SlotInfo(
        slot = slot,
        name = textAt(info.long(Layout.SlotInfo.NAME)).orEmpty(),
        dtype = DType.of(desc.int(Layout.Desc.DTYPE)),
        shape = shape,
        size = info.long(Layout.SlotInfo.BYTES),
        flags = SlotFlag.entries.filterTo(LinkedHashSet()) { flags and it.bit != 0 },
        dimensionNames = numbers(info.long(Layout.SlotInfo.DIM_NAMES), shape.size, 8)
            ?.let { names -> List(shape.size) { textAt(names.getLong(8 * it)).orEmpty() } },
        quantization = quantization(info),
    )
}

private fun quantization(info: Struct): Quantization? {
    val count = info.int(Layout.SlotInfo.QUANTIZATION_COUNT)
    val scales = numbers(info.long(Layout.SlotInfo.SCALES), count, 4) ?: return null
    val zeroPoints = numbers(info.long(Layout.SlotInfo.ZERO_POINTS), count, 4)
    return Quantization(
        scales = List(count) { scales.getFloat(4 * it) },
        zeroPoints = List(count) { zeroPoints?.getInt(4 * it) ?: 0 },
        axis = info.int(Layout.SlotInfo.QUANTIZATION_AXIS).takeIf { info.int(Layout.SlotInfo.QUANTIZATION) == PER_AXIS },
    )
}

private const val PER_AXIS = 2

/** A copy of numbers that zerobind keeps; null where there are none. */
private fun numbers(address: Long, count: Int, bytes: Int): ByteBuffer? =
    if (address == 0L || count == 0) null else ByteBuffer.wrap(native.bytes(address, count * bytes)).order(ByteOrder.nativeOrder())

internal fun requirements(place: Struct): Requirements = Requirements(
    size = place.long(Layout.Requirements.BYTES),
    alignment = place.long(Layout.Requirements.ALIGNMENT),
    slack = place.long(Layout.Requirements.SLACK),
    rebind = place.int(Layout.Requirements.REBIND).let { code -> Rebind.entries.firstOrNull { it.code == code } ?: Rebind.UNKNOWN },
)

internal fun bindingReport(place: Struct): BindingReport = BindingReport(
    path = place.int(Layout.BindingReport.PATH).let { code -> Path.entries.firstOrNull { it.code == code } ?: Path.UNKNOWN },
    bytesCopied = place.long(Layout.BindingReport.BYTES_COPIED),
    hostAddress = place.long(Layout.BindingReport.HOST_ADDRESS),
    engineAddress = place.long(Layout.BindingReport.ENGINE_ADDRESS),
    reason = textAt(place.long(Layout.BindingReport.REASON)),
)

internal fun contextStats(place: Struct): ContextStats = ContextStats(
    runs = place.long(Layout.ContextStats.RUNS),
    bytesCopied = place.long(Layout.ContextStats.BYTES_COPIED),
    rebinds = place.long(Layout.ContextStats.REBINDS),
    allocations = place.long(Layout.ContextStats.ALLOCATIONS),
    lastRunNanos = place.long(Layout.ContextStats.LAST_RUN_NS),
)
