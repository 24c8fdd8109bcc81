package zerobind.internal

import java.nio.Buffer

/**
 * The functions of zerobind.h as numbers: handles, addresses, sizes. Two ways lead there, [Jni] and the foreign-function API
 * of newer JVMs; everything above is the same for both.
 *
 * What an address points to is the caller's to keep during the call: most are in a [Scratch].
 */
internal interface Backend {
    /** What it is called: "jni" or "ffm". */
    val name: String

    /** Where element 0 of a direct buffer lies; 0 if the buffer has no address. */
    fun address(buffer: Buffer): Long

    /** A copy of [size] bytes that zerobind keeps. */
    fun bytes(address: Long, size: Int): ByteArray

    /** A copy of the text at [address], without its NUL. */
    fun cString(address: Long): ByteArray

    fun version(): Int
    fun statusName(status: Int): Long
    fun liveObjects(kind: Int): Long
    fun lastError(buffer: Long, capacity: Long, needed: Long): Int
    fun tensorDescSize(desc: Long, size: Long): Int
    fun runtimeLoad(runtime: Int, path: Long): Int
    fun runtimeGetInfo(runtime: Int, info: Long): Int

    fun modelOpen(path: Long, options: Long, model: Long): Int
    fun modelOpenFd(fd: Int, offset: Long, length: Long, options: Long, model: Long): Int
    fun modelOpenBytes(data: Long, size: Long, pin: Pin, options: Long, model: Long): Int
    fun modelDestroy(model: Long): Int
    fun modelGetRuntime(model: Long, runtime: Long): Int
    fun modelGetSlotCounts(model: Long, inputs: Long, outputs: Long): Int
    fun modelGetSlotInfo(model: Long, slot: Int, info: Long): Int
    fun modelFindInput(model: Long, name: Long, slot: Long): Int
    fun modelFindOutput(model: Long, name: Long, slot: Long): Int
    fun modelGetMetadata(model: Long, key: Long, buffer: Long, capacity: Long, needed: Long): Int
    fun modelSignatureFindInput(model: Long, key: Long, name: Long, slot: Long): Int
    fun modelSignatureFindOutput(model: Long, key: Long, name: Long, slot: Long): Int

    fun contextCreate(model: Long, options: Long, context: Long): Int
    fun contextDestroy(context: Long): Int
    fun contextCancel(context: Long): Int
    fun contextResizeInput(context: Long, slot: Int, dims: Long, rank: Int): Int
    fun contextPrepare(context: Long): Int
    fun contextGetSlotInfo(context: Long, slot: Int, info: Long): Int
    fun contextGetRequirements(context: Long, slot: Int, requirements: Long): Int
    fun contextUnbind(context: Long, slot: Int): Int
    fun contextSwap(context: Long, a: Int, b: Int): Int
    fun contextResetState(context: Long): Int
    fun contextGetBindingReport(context: Long, slot: Int, report: Long): Int
    fun contextGetStats(context: Long, stats: Long): Int

    fun tensorWrap(desc: Long, data: Long, size: Long, capacity: Long, pin: Pin, tensor: Long): Int
    fun tensorWrapConst(desc: Long, data: Long, size: Long, capacity: Long, pin: Pin, tensor: Long): Int
    fun tensorDestroy(tensor: Long): Int
    fun tensorSync(tensor: Long, direction: Int, timeout: Long): Int
    fun tensorBind(tensor: Long, context: Long, slot: Int): Int

    fun infer(context: Long, options: Long): Int
    fun inferWith(context: Long, loans: Long, count: Long, options: Long): Int

    fun queueCreate(options: Long, queue: Long): Int
    fun queueDestroy(queue: Long): Int
    fun queueInferWith(queue: Long, context: Long, tensors: Long, count: Long, options: Long, event: Long): Int
    fun queueWrite(queue: Long, tensor: Long, offset: Long, source: Long, size: Long, event: Long): Int
    fun queueRead(queue: Long, tensor: Long, offset: Long, destination: Long, size: Long, event: Long): Int
    fun queueFence(queue: Long, event: Long): Int
    fun queueFinish(queue: Long, timeout: Long): Int

    fun eventOnComplete(event: Long, pin: Pin): Int
    fun eventGetError(event: Long, buffer: Long, capacity: Long, needed: Long): Int
    fun eventCancel(event: Long): Int
    fun eventDestroy(event: Long): Int
}

/** What another jar brings a backend by: it is named in META-INF/services. */
internal interface BackendProvider {
    fun open(): Backend
}
