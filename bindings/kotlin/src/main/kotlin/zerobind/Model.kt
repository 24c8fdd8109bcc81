package zerobind

import java.io.File
import java.nio.ByteBuffer
import java.nio.file.Path as FilePath
import zerobind.internal.Layout
import zerobind.internal.NativeHandle
import zerobind.internal.Pin
import zerobind.internal.Scratch
import zerobind.internal.frame
import zerobind.internal.native
import zerobind.internal.reading
import zerobind.internal.use

/**
 * A loaded model, TFLite or ONNX by its content. Immutable, for any thread. Contexts keep what they need of it, so it may be
 * closed before them.
 */
public class Model private constructor(handle: Long) : AutoCloseable {
    internal val handle = NativeHandle(this, handle, "Model") { native.modelDestroy(it) }

    /** The engine that runs it. */
    public val engine: Engine
        get() = frame {
            val place = take(4)
            this@Model.handle.use(this@Model) { check(native.modelGetRuntime(it, place.address)) }
            Engine.of(place.int(0))
        }

    /** The inputs as the model declares them. */
    public val inputs: List<SlotInfo> get() = List(counts().first) { info(Slot.input(it)) }

    /** The outputs as the model declares them. */
    public val outputs: List<SlotInfo> get() = List(counts().second) { info(Slot.output(it)) }

    /** A slot as the model declares it. */
    public fun info(slot: Slot): SlotInfo = frame {
        val info = sized(Layout.SlotInfo.SIZE)
        // texts and numbers in it live as long as the handle
        handle.reading(this@Model) {
            check(native.modelGetSlotInfo(it, slot.bits, info.address))
            slotInfo(slot, info)
        }
    }

    /** An input by its name. @throws ZerobindException `NOT_FOUND`, with the names that there are */
    public fun input(name: String): Slot = find(name, native::modelFindInput)

    /** An output by its name. */
    public fun output(name: String): Slot = find(name, native::modelFindOutput)

    /** An input by the name that a signature of a TFLite model gives it. */
    public fun input(signature: String, name: String): Slot = frame {
        val key = text(signature)
        find(name) { model, place, slot -> native.modelSignatureFindInput(model, key, place, slot) }
    }

    /** An output by the name that a signature of a TFLite model gives it. */
    public fun output(signature: String, name: String): Slot = frame {
        val key = text(signature)
        find(name) { model, place, slot -> native.modelSignatureFindOutput(model, key, place, slot) }
    }

    /** What the model says about itself; "zerobind.keys" lists the keys that it has, one in a line. */
    public fun metadata(key: String): String = frame {
        val place = text(key)
        handle.use(this@Model) { model ->
            var status = 0
            val found = errorText { buffer, capacity, needed ->
                native.modelGetMetadata(model, place, buffer, capacity, needed).also { status = it }
            }
            check(status)
            found
        }
    }

    /** Makes a context: `model.context { threads = 2; copyPolicy = NEVER }`. Plans nothing. */
    public fun context(configure: ContextOptions.() -> Unit = {}): Context =
        Context.create(this, ContextOptions().apply(configure))

    override fun close(): Unit = handle.close()

    private fun counts(): Pair<Int, Int> = frame {
        val places = take(8)
        handle.use(this@Model) { check(native.modelGetSlotCounts(it, places.address, places.address + 4)) }
        places.int(0) to places.int(4)
    }

    private inline fun find(name: String, call: (model: Long, name: Long, slot: Long) -> Int): Slot = frame {
        val slot = take(4)
        val place = text(name)
        handle.use(this@Model) { check(call(it, place, slot.address)) }
        Slot(slot.int(0))
    }

    public companion object {
        /** Opens the model in a file, which is mapped and must not change while the model or a context of it is open. */
        @JvmStatic
        public fun open(path: String, configure: ModelOptions.() -> Unit = {}): Model = frame {
            made { native.modelOpen(text(path), options(configure), it) }
        }

        @JvmStatic
        public fun open(path: FilePath, configure: ModelOptions.() -> Unit = {}): Model = open(path.toString(), configure)

        @JvmStatic
        public fun open(file: File, configure: ModelOptions.() -> Unit = {}): Model = open(file.path, configure)

        /**
         * Opens the model in [length] bytes of an open file at [offset], such as an asset of an Android package
         * (`AssetFileDescriptor`: its `parcelFileDescriptor.fd`, `startOffset` and `length`). The descriptor stays the caller's.
         */
        @JvmStatic
        public fun open(fd: Int, offset: Long, length: Long, configure: ModelOptions.() -> Unit = {}): Model = frame {
            made { native.modelOpenFd(fd, offset, length, options(configure), it) }
        }

        /**
         * Opens the model in a direct buffer, without copying it. The buffer is kept until the model is closed and its last
         * context too, and must not be written until then; [onRelease] tells when, once, on any thread. Its memory must be at a
         * multiple of 16: [directBuffer], or a mapped file.
         */
        @JvmStatic
        public fun open(buffer: ByteBuffer, onRelease: (() -> Unit)? = null, configure: ModelOptions.() -> Unit = {}): Model = frame {
            val memory = Memory.of(buffer)
            val pin = Pin(memory, onRelease)
            made { native.modelOpenBytes(memory.address, memory.size, pin, options(configure), it) }
        }

        /** Opens the model from a copy of [bytes]. */
        @JvmStatic
        public fun openCopy(bytes: ByteArray, configure: ModelOptions.() -> Unit = {}): Model =
            open(directBuffer(bytes.size).apply { put(bytes).flip() }, null, configure)

        private inline fun Scratch.made(open: (place: Long) -> Int): Model {
            val place = take(8)
            check(open(place.address))
            return Model(place.long(0))
        }

        private fun Scratch.options(configure: ModelOptions.() -> Unit): Long = ModelOptions().apply(configure).write(this)
    }
}

/** How to open a model. */
public class ModelOptions internal constructor() {
    /** The engine; [Engine.AUTO] looks at the content. */
    public var engine: Engine = Engine.AUTO

    /** The SHA-256 that the bytes must have, 32 bytes; null: any. */
    public var sha256: ByteArray? = null

    /** The largest input or output, in bytes; 0: 4 GiB. */
    public var maxTensorBytes: Long = 0

    internal fun write(scratch: Scratch): Long {
        val place = scratch.sized(Layout.ModelOptions.SIZE)
        place.int(Layout.ModelOptions.RUNTIME, engine.code)
        sha256?.let { hash ->
            require(hash.size == 32) { "a SHA-256 has 32 bytes, not ${hash.size}" }
            hash.forEachIndexed { at, byte -> place.byte(Layout.ModelOptions.SHA256 + at, byte) }
        }
        place.long(Layout.ModelOptions.MAX_TENSOR_BYTES, maxTensorBytes)
        return place.address
    }
}
