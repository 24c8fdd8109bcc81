package zerobind.ffm

import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.nio.Buffer
import zerobind.elementBytes
import zerobind.internal.Backend
import zerobind.internal.BackendProvider
import zerobind.internal.Pin

/** Named in META-INF/services. */
internal class FfmProvider : BackendProvider {
    override fun open(): Backend = Ffm()
}

/** zerobind.h by the foreign-function API: each function is a method handle that the JIT compiler calls as it calls C. */
internal class Ffm : Backend {
    private val queueThreads = QueueThreads(this)

    override val name: String get() = "ffm"

    override fun address(buffer: Buffer): Long =
        // the segment begins at the buffer's position
        if (buffer.isDirect) MemorySegment.ofBuffer(buffer).address() - buffer.position() * elementBytes(buffer) else 0

    override fun bytes(address: Long, size: Int): ByteArray =
        MemorySegment.ofAddress(address).reinterpret(size.toLong()).toArray(JAVA_BYTE)

    override fun cString(address: Long): ByteArray =
        MemorySegment.ofAddress(address).reinterpret(Long.MAX_VALUE).getString(0).toByteArray()

    override fun version(): Int = VERSION.invokeExact() as Int
    override fun statusName(status: Int): Long = STATUS_NAME.invokeExact(status) as Long
    override fun liveObjects(kind: Int): Long = LIVE_OBJECTS.invokeExact(kind) as Long
    override fun lastError(buffer: Long, capacity: Long, needed: Long): Int =
        LAST_ERROR.invokeExact(buffer, capacity, needed) as Int
    override fun tensorDescSize(desc: Long, size: Long): Int = TENSOR_DESC_SIZE.invokeExact(desc, size) as Int
    override fun runtimeLoad(runtime: Int, path: Long): Int = RUNTIME_LOAD.invokeExact(runtime, path) as Int
    override fun runtimeGetInfo(runtime: Int, info: Long): Int = RUNTIME_GET_INFO.invokeExact(runtime, info) as Int
    override fun modelOpen(path: Long, options: Long, model: Long): Int = MODEL_OPEN.invokeExact(path, options, model) as Int
    override fun modelOpenFd(fd: Int, offset: Long, length: Long, options: Long, model: Long): Int =
        MODEL_OPEN_FD.invokeExact(fd, offset, length, options, model) as Int
    override fun modelOpenBytes(data: Long, size: Long, pin: Pin, options: Long, model: Long): Int =
        pinned(pin) { id -> MODEL_OPEN_BYTES.invokeExact(data, size, RELEASE_STUB, id, options, model) as Int }
    override fun modelDestroy(model: Long): Int = MODEL_DESTROY.invokeExact(model) as Int
    override fun modelGetRuntime(model: Long, runtime: Long): Int = MODEL_GET_RUNTIME.invokeExact(model, runtime) as Int
    override fun modelGetSlotCounts(model: Long, inputs: Long, outputs: Long): Int =
        MODEL_GET_SLOT_COUNTS.invokeExact(model, inputs, outputs) as Int
    override fun modelGetSlotInfo(model: Long, slot: Int, info: Long): Int =
        MODEL_GET_SLOT_INFO.invokeExact(model, slot, info) as Int
    override fun modelFindInput(model: Long, name: Long, slot: Long): Int =
        MODEL_FIND_INPUT.invokeExact(model, name, slot) as Int
    override fun modelFindOutput(model: Long, name: Long, slot: Long): Int =
        MODEL_FIND_OUTPUT.invokeExact(model, name, slot) as Int
    override fun modelGetMetadata(model: Long, key: Long, buffer: Long, capacity: Long, needed: Long): Int =
        MODEL_GET_METADATA.invokeExact(model, key, buffer, capacity, needed) as Int
    override fun modelSignatureFindInput(model: Long, key: Long, name: Long, slot: Long): Int =
        MODEL_SIGNATURE_FIND_INPUT.invokeExact(model, key, name, slot) as Int
    override fun modelSignatureFindOutput(model: Long, key: Long, name: Long, slot: Long): Int =
        MODEL_SIGNATURE_FIND_OUTPUT.invokeExact(model, key, name, slot) as Int
    override fun contextCreate(model: Long, options: Long, context: Long): Int =
        CONTEXT_CREATE.invokeExact(model, options, context) as Int
    override fun contextDestroy(context: Long): Int = CONTEXT_DESTROY.invokeExact(context) as Int
    override fun contextCancel(context: Long): Int = CONTEXT_CANCEL.invokeExact(context) as Int
    override fun contextResizeInput(context: Long, slot: Int, dims: Long, rank: Int): Int =
        CONTEXT_RESIZE_INPUT.invokeExact(context, slot, dims, rank) as Int
    override fun contextPrepare(context: Long): Int = CONTEXT_PREPARE.invokeExact(context) as Int
    override fun contextGetSlotInfo(context: Long, slot: Int, info: Long): Int =
        CONTEXT_GET_SLOT_INFO.invokeExact(context, slot, info) as Int
    override fun contextGetRequirements(context: Long, slot: Int, requirements: Long): Int =
        CONTEXT_GET_REQUIREMENTS.invokeExact(context, slot, requirements) as Int
    override fun contextUnbind(context: Long, slot: Int): Int = CONTEXT_UNBIND.invokeExact(context, slot) as Int
    override fun contextSwap(context: Long, a: Int, b: Int): Int = CONTEXT_SWAP.invokeExact(context, a, b) as Int
    override fun contextResetState(context: Long): Int = CONTEXT_RESET_STATE.invokeExact(context) as Int
    override fun contextGetBindingReport(context: Long, slot: Int, report: Long): Int =
        CONTEXT_GET_BINDING_REPORT.invokeExact(context, slot, report) as Int
    override fun contextGetStats(context: Long, stats: Long): Int = CONTEXT_GET_STATS.invokeExact(context, stats) as Int
    override fun tensorWrap(desc: Long, data: Long, size: Long, capacity: Long, pin: Pin, tensor: Long): Int =
        pinned(pin) { id -> TENSOR_WRAP.invokeExact(desc, data, size, capacity, RELEASE_STUB, id, tensor) as Int }
    override fun tensorWrapConst(desc: Long, data: Long, size: Long, capacity: Long, pin: Pin, tensor: Long): Int =
        pinned(pin) { id -> TENSOR_WRAP_CONST.invokeExact(desc, data, size, capacity, RELEASE_STUB, id, tensor) as Int }
    override fun tensorDestroy(tensor: Long): Int = TENSOR_DESTROY.invokeExact(tensor) as Int
    override fun tensorSync(tensor: Long, direction: Int, timeout: Long): Int =
        TENSOR_SYNC.invokeExact(tensor, direction, timeout) as Int
    override fun tensorBind(tensor: Long, context: Long, slot: Int): Int = TENSOR_BIND.invokeExact(tensor, context, slot) as Int
    override fun infer(context: Long, options: Long): Int = INFER.invokeExact(context, options) as Int
    override fun inferWith(context: Long, loans: Long, count: Long, options: Long): Int =
        INFER_WITH.invokeExact(context, loans, count, options) as Int
    override fun queueCreate(options: Long, queue: Long): Int =
        queueThreads.made(queue) { QUEUE_CREATE.invokeExact(options, queue) as Int }
    override fun queueDestroy(queue: Long): Int = QUEUE_DESTROY.invokeExact(queue) as Int
    override fun queueInferWith(queue: Long, context: Long, tensors: Long, count: Long, options: Long, event: Long): Int =
        QUEUE_INFER_WITH.invokeExact(queue, context, tensors, count, options, event) as Int
    override fun queueWrite(queue: Long, tensor: Long, offset: Long, source: Long, size: Long, event: Long): Int =
        QUEUE_WRITE.invokeExact(queue, tensor, offset, source, size, event) as Int
    override fun queueRead(queue: Long, tensor: Long, offset: Long, destination: Long, size: Long, event: Long): Int =
        QUEUE_READ.invokeExact(queue, tensor, offset, destination, size, event) as Int
    override fun queueFence(queue: Long, event: Long): Int = QUEUE_FENCE.invokeExact(queue, event) as Int
    override fun queueFinish(queue: Long, timeout: Long): Int = QUEUE_FINISH.invokeExact(queue, timeout) as Int
    override fun eventOnComplete(event: Long, pin: Pin): Int =
        pinned(pin) { id -> EVENT_ON_COMPLETE.invokeExact(event, COMPLETE_STUB, id) as Int }
    override fun eventGetError(event: Long, buffer: Long, capacity: Long, needed: Long): Int =
        EVENT_GET_ERROR.invokeExact(event, buffer, capacity, needed) as Int
    override fun eventCancel(event: Long): Int = EVENT_CANCEL.invokeExact(event) as Int
    override fun eventDestroy(event: Long): Int = EVENT_DESTROY.invokeExact(event) as Int
}

// Constants to the JIT compiler, as they have to be for calls through them to be compiled.

private val VERSION = link("zb_version", ":I")
private val STATUS_NAME = link("zb_status_name", "I:J")
private val LIVE_OBJECTS = link("zb_live_objects", "I:J")
private val LAST_ERROR = link("zb_last_error", "JJJ:I")
private val TENSOR_DESC_SIZE = link("zb_tensor_desc_size", "JJ:I")
private val RUNTIME_LOAD = link("zb_runtime_load", "IJ:I")
private val RUNTIME_GET_INFO = link("zb_runtime_get_info", "IJ:I")
private val MODEL_OPEN = link("zb_model_open", "JJJ:I")
private val MODEL_OPEN_FD = link("zb_model_open_fd", "IJJJJ:I")
private val MODEL_OPEN_BYTES = link("zb_model_open_bytes", "JJJJJJ:I")
private val MODEL_DESTROY = link("zb_model_destroy", "J:I")
private val MODEL_GET_RUNTIME = link("zb_model_get_runtime", "JJ:I")
private val MODEL_GET_SLOT_COUNTS = link("zb_model_get_slot_counts", "JJJ:I")
private val MODEL_GET_SLOT_INFO = link("zb_model_get_slot_info", "JIJ:I")
private val MODEL_FIND_INPUT = link("zb_model_find_input", "JJJ:I")
private val MODEL_FIND_OUTPUT = link("zb_model_find_output", "JJJ:I")
private val MODEL_GET_METADATA = link("zb_model_get_metadata", "JJJJJ:I")
private val MODEL_SIGNATURE_FIND_INPUT = link("zb_model_signature_find_input", "JJJJ:I")
private val MODEL_SIGNATURE_FIND_OUTPUT = link("zb_model_signature_find_output", "JJJJ:I")
private val CONTEXT_CREATE = link("zb_context_create", "JJJ:I")
private val CONTEXT_DESTROY = link("zb_context_destroy", "J:I")
private val CONTEXT_CANCEL = link("zb_context_cancel", "J:I")
private val CONTEXT_RESIZE_INPUT = link("zb_context_resize_input", "JIJI:I")
private val CONTEXT_PREPARE = link("zb_context_prepare", "J:I")
private val CONTEXT_GET_SLOT_INFO = link("zb_context_get_slot_info", "JIJ:I")
private val CONTEXT_GET_REQUIREMENTS = link("zb_context_get_requirements", "JIJ:I")
private val CONTEXT_UNBIND = link("zb_context_unbind", "JI:I")
private val CONTEXT_SWAP = link("zb_context_swap", "JII:I")
private val CONTEXT_RESET_STATE = link("zb_context_reset_state", "J:I")
private val CONTEXT_GET_BINDING_REPORT = link("zb_context_get_binding_report", "JIJ:I")
private val CONTEXT_GET_STATS = link("zb_context_get_stats", "JJ:I")
private val TENSOR_WRAP = link("zb_tensor_wrap", "JJJJJJJ:I")
private val TENSOR_WRAP_CONST = link("zb_tensor_wrap_const", "JJJJJJJ:I")
private val TENSOR_DESTROY = link("zb_tensor_destroy", "J:I")
private val TENSOR_SYNC = link("zb_tensor_sync", "JIJ:I")
private val TENSOR_BIND = link("zb_tensor_bind", "JJI:I")
private val INFER = link("zb_infer", "JJ:I")
private val INFER_WITH = link("zb_infer_with", "JJJJ:I")
private val QUEUE_CREATE = link("zb_queue_create", "JJ:I")
private val QUEUE_DESTROY = link("zb_queue_destroy", "J:I")
private val QUEUE_INFER_WITH = link("zb_queue_infer_with", "JJJJJJ:I")
private val QUEUE_WRITE = link("zb_queue_write", "JJJJJJ:I")
private val QUEUE_READ = link("zb_queue_read", "JJJJJJ:I")
private val QUEUE_FENCE = link("zb_queue_fence", "JJ:I")
private val QUEUE_FINISH = link("zb_queue_finish", "JJ:I")
private val EVENT_ON_COMPLETE = link("zb_event_on_complete", "JJJ:I")
private val EVENT_GET_ERROR = link("zb_event_get_error", "JJJJ:I")
private val EVENT_CANCEL = link("zb_event_cancel", "J:I")
private val EVENT_DESTROY = link("zb_event_destroy", "J:I")
