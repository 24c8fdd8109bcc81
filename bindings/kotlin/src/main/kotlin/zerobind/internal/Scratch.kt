package zerobind.internal

import java.nio.ByteBuffer
import java.nio.ByteOrder

/** A place for a struct: fields are read and written at their offsets. */
internal class Struct(private val bytes: ByteBuffer, private val start: Int, val address: Long) {
    fun int(offset: Int): Int = bytes.getInt(start + offset)
    fun long(offset: Int): Long = bytes.getLong(start + offset)
    fun int(offset: Int, value: Int) {
        bytes.putInt(start + offset, value)
    }
    fun long(offset: Int, value: Long) {
        bytes.putLong(start + offset, value)
    }
    fun byte(offset: Int, value: Byte) {
        bytes.put(start + offset, value)
    }

    /** A struct inside of this one. */
    fun at(offset: Int): Struct = Struct(bytes, start + offset, address + offset)

    /** The bytes up to a NUL, as text. */
    fun text(limit: Int): String {
        val all = ByteArray(limit) { bytes.get(start + it) }
        val end = all.indexOf(0).let { if (it < 0) limit else it }
        return String(all, 0, end, Charsets.UTF_8)
    }
}

/** A native block that lives as long as the object: structs that stay from call to call. */
internal class Block(size: Int) {
    private val bytes = ByteBuffer.allocateDirect(size).order(ByteOrder.nativeOrder())
    val address: Long = native.address(bytes)
    fun struct(offset: Int): Struct = Struct(bytes, offset, address + offset)
}

/**
 * The thread's own memory for what goes into calls and comes out of them, taken and given back like a stack, since callbacks
 * may use it in the middle of a call.
 */
internal class Scratch private constructor() {
    private val bytes = ByteBuffer.allocateDirect(SIZE).order(ByteOrder.nativeOrder())
    private val base = native.address(bytes)
    private var top = 0

    /** Blocks of frames for which [bytes] was too small. */
    private val large = ArrayList<Block>()

    /** Zeroed memory until the end of the frame. */
    fun take(size: Int): Struct {
        val start = top
        val end = (start.toLong() + size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT
        if (end > SIZE) return Block(size).also { large += it }.struct(0)
        top = end.toInt()
        for (at in start until top step 8) bytes.putLong(at, 0)
        return Struct(bytes, start, base + start)
    }

    /** A struct whose size is its first field. */
    fun sized(size: Int): Struct = take(size).apply { int(0, size) }

    /** Where the text is, in UTF-8 with a NUL. */
    fun text(text: String): Long {
        if (text.indexOf('\u0000') >= 0) throw IllegalArgumentException("a text with a NUL character cannot be passed on: $text")
        val utf8 = text.toByteArray()
        val place = take(utf8.size + 1)
        utf8.forEachIndexed { at, byte -> place.byte(at, byte) }
        return place.address
    }

    @PublishedApi
    internal fun mark(): Int = top

    @PublishedApi
    internal fun back(mark: Int, blocks: Int) {
        top = mark
        while (large.size > blocks) large.removeAt(large.size - 1)
    }

    val blocks: Int get() = large.size

    companion object {
        private const val SIZE = 4096
        private const val ALIGNMENT = 16
        private val threads = ThreadLocal.withInitial { Scratch() }
        fun get(): Scratch = threads.get()
    }
}

/** Runs [block] with scratch memory that is given back at its end. */
internal inline fun <R> frame(block: Scratch.() -> R): R {
    val scratch = Scratch.get()
    val mark = scratch.mark()
    val blocks = scratch.blocks
    try {
        return scratch.block()
    } finally {
        scratch.back(mark, blocks)
    }
}
