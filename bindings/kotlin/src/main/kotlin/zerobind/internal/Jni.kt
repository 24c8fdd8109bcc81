package zerobind.internal

import java.nio.Buffer

/** The native methods of libzerobind_jni, which registers them when it is loaded: names and signatures are those there. */
internal class Jni : Backend {
    override val name: String get() = "jni"

    external override fun address(buffer: Buffer): Long
    external override fun bytes(address: Long, size: Int): ByteArray
    external override fun cString(address: Long): ByteArray
    external override fun version(): Int
    external override fun statusName(status: Int): Long
    external override fun liveObjects(kind: Int): Long
    external override fun lastError(buffer: Long, capacity: Long, needed: Long): Int
    external override fun tensorDescSize(desc: Long, size: Long): Int
    external override fun runtimeLoad(runtime: Int, path: Long): Int
    external override fun runtimeGetInfo(runtime: Int, info: Long): Int
    external override fun modelOpen(path: Long, options: Long, model: Long): Int
    external override fun modelOpenFd(fd: Int, offset: Long, length: Long, options: Long, model: Long): Int
    external override fun modelOpenBytes(data: Long, size: Long, pin: Pin, options: Long, model: Long): Int
    external override fun modelDestroy(model: Long): Int
    external override fun modelGetRuntime(model: Long, runtime: Long): Int
    external override fun modelGetSlotCounts(model: Long, inputs: Long, outputs: Long): Int
    external override fun modelGetSlotInfo(model: Long, slot: Int, info: Long): Int
    external override fun modelFindInput(model: Long, name: Long, slot: Long): Int
    external override fun modelFindOutput(model: Long, name: Long, slot: Long): Int
    external override fun modelGetMetadata(model: Long, key: Long, buffer: Long, capacity: Long, needed: Long): Int
    external override fun modelSignatureFindInput(model: Long, key: Long, name: Long, slot: Long): Int
    external override fun modelSignatureFindOutput(model: Long, key: Long, name: Long, slot: Long): Int
    external override fun contextCreate(model: Long, options: Long, context: Long): Int
    external override fun contextDestroy(context: Long): Int
    external override fun contextCancel(context: Long): Int
    external override fun contextResizeInput(context: Long, slot: Int, dims: Long, rank: Int): Int
    external override fun contextPrepare(context: Long): Int
    external override fun contextGetSlotInfo(context: Long, slot: Int, info: Long): Int
    external override fun contextGetRequirements(context: Long, slot: Int, requirements: Long): Int
    external override fun contextUnbind(context: Long, slot: Int): Int
    external override fun contextSwap(context: Long, a: Int, b: Int): Int
    external override fun contextResetState(context: Long): Int
    external override fun contextGetBindingReport(context: Long, slot: Int, report: Long): Int
    external override fun contextGetStats(context: Long, stats: Long): Int
    external override fun tensorWrap(desc: Long, data: Long, size: Long, capacity: Long, pin: Pin, tensor: Long): Int
    external override fun tensorWrapConst(desc: Long, data: Long, size: Long, capacity: Long, pin: Pin, tensor: Long): Int
    external override fun tensorDestroy(tensor: Long): Int
    external override fun tensorSync(tensor: Long, direction: Int, timeout: Long): Int
    external override fun tensorBind(tensor: Long, context: Long, slot: Int): Int
    external override fun infer(context: Long, options: Long): Int
    external override fun inferWith(context: Long, loans: Long, count: Long, options: Long): Int
    external override fun queueCreate(options: Long, queue: Long): Int
    external override fun queueDestroy(queue: Long): Int
    external override fun queueInferWith(queue: Long, context: Long, tensors: Long, count: Long, options: Long, event: Long): Int
    external override fun queueWrite(queue: Long, tensor: Long, offset: Long, source: Long, size: Long, event: Long): Int
    external override fun queueRead(queue: Long, tensor: Long, offset: Long, destination: Long, size: Long, event: Long): Int
    external override fun queueFence(queue: Long, event: Long): Int
    external override fun queueFinish(queue: Long, timeout: Long): Int
    external override fun eventOnComplete(event: Long, pin: Pin): Int
    external override fun eventGetError(event: Long, buffer: Long, capacity: Long, needed: Long): Int
    external override fun eventCancel(event: Long): Int
    external override fun eventDestroy(event: Long): Int

    companion object {
        init {
            Library.load("zerobind_jni")
        }
    }
}
