package zerobind.internal

/** Sizes and offsets of the structs of zerobind.h on 64-bit targets; the tests compare them with the C compiler's. */
internal object Layout {
    const val MAX_RANK = 16

    object Desc {
        const val SIZE = 136
        const val DTYPE = 0
        const val RANK = 4
        const val DIMS = 8
    }

    object RuntimeInfo {
        const val SIZE = 32
        const val AVAILABLE = 4
        const val VERSION = 8
        const val PATH = 16
        const val REASON = 24
    }

    object Option {
        const val SIZE = 16
        const val KEY = 0
        const val VALUE = 8
    }

    object ModelOptions {
        const val SIZE = 64
        const val RUNTIME = 4
        const val SHA256 = 8
        const val MAX_TENSOR_BYTES = 40
    }

    object SlotInfo {
        const val SIZE = 200
        const val FLAGS = 4
        const val DESC = 8
        const val BYTES = 144
        const val NAME = 152
        const val DIM_NAMES = 160
        const val SCALES = 168
        const val ZERO_POINTS = 176
        const val QUANTIZATION_COUNT = 184
        const val QUANTIZATION = 188
        const val QUANTIZATION_AXIS = 192
    }

    object ContextOptions {
        const val SIZE = 32
        const val THREADS = 4
        const val COPY_POLICY = 8
        const val FLAGS = 12
        const val OPTIONS = 16
        const val OPTION_COUNT = 24
    }

    object Requirements {
        const val SIZE = 40
        const val BYTES = 8
        const val ALIGNMENT = 16
        const val SLACK = 24
        const val REBIND = 32
    }

    object BindingReport {
        const val SIZE = 48
        const val PATH = 4
        const val BYTES_COPIED = 8
        const val HOST_ADDRESS = 16
        const val ENGINE_ADDRESS = 24
        const val REASON = 32
    }

    object ContextStats {
        const val SIZE = 48
        const val RUNS = 8
        const val BYTES_COPIED = 16
        const val REBINDS = 24
        const val ALLOCATIONS = 32
        const val LAST_RUN_NS = 40
    }

    object InferOptions {
        const val SIZE = 16
        const val DEADLINE_NS = 8
    }

    object Loan {
        const val SIZE = 40
        const val SLOT = 0
        const val FLAGS = 4
        const val DATA = 8
        const val BYTES = 16
        const val CAPACITY = 24
        const val DESC = 32
        const val INPUT = 65536
        const val OUTPUT = 131072
    }

    object QueueOptions {
        const val SIZE = 24
        const val CAPACITY = 4
    }

    object SlotTensor {
        const val SIZE = 16
        const val SLOT = 0
        const val TENSOR = 8
    }
}

/** Writes type and shape. */
internal fun Struct.desc(dtype: Int, shape: LongArray) {
    requireRank(shape)
    int(Layout.Desc.DTYPE, dtype)
    int(Layout.Desc.RANK, shape.size)
    shape.forEachIndexed { at, dimension -> long(Layout.Desc.DIMS + 8 * at, dimension) }
}

internal fun requireRank(shape: LongArray) {
    require(shape.size <= Layout.MAX_RANK) { "a shape has at most ${Layout.MAX_RANK} dimensions, not ${shape.size}" }
}

/** The shape in a zb_tensor_desc. */
internal fun Struct.shape(): List<Long> = List(int(Layout.Desc.RANK)) { long(Layout.Desc.DIMS + 8 * it) }

/** The text that a field points to; null where there is none. */
internal fun textAt(address: Long): String? = if (address == 0L) null else String(native.cString(address), Charsets.UTF_8)
