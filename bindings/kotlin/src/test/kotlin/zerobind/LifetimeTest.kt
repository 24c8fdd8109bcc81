package zerobind

import java.lang.ref.WeakReference
import java.nio.FloatBuffer
import java.util.concurrent.atomic.AtomicInteger
import java.util.logging.Handler
import java.util.logging.Level
import java.util.logging.LogRecord
import zerobind.internal.logger
import zerobind.internal.native

/** What is logged during [body], which is not printed. */
fun logged(body: (List<LogRecord>) -> Unit) {
    val records = java.util.Collections.synchronizedList(ArrayList<LogRecord>())
    val handler = object : Handler() {
        override fun publish(record: LogRecord) {
            records += record
        }
        override fun flush() = Unit
        override fun close() = Unit
    }
    val parent = logger.useParentHandlers
    logger.useParentHandlers = false
    logger.addHandler(handler)
    try {
        body(records)
    } finally {
        logger.removeHandler(handler)
        logger.useParentHandlers = parent
    }
}

/** Binds a buffer that nobody else holds, and tells where it is and whether it is still there. */
private fun bindAnonymous(context: Context, slot: Slot, released: AtomicInteger, vararg values: Float): Pair<Long, WeakReference<FloatBuffer>> {
    val buffer = floats(*values)
    Tensor.wrap(buffer, DType.F32, 4) { released.incrementAndGet() }.use { context.bind(slot, it) }
    return Memory.of(buffer).address to WeakReference(buffer)
}

/** Direct memory that takes the place of what was freed. */
fun churn() {
    repeat(20) { directBuffer(16 + 64 * (it % 3)).asFloatBuffer().put(0, Float.NaN) }
}

val lifetimes: List<Test> =
    onBoth("bound memory stays when nobody else holds it, and is released once") { format ->
        val released = AtomicInteger()
        withAdd4(format) { context ->
            val (_, x) = bindAnonymous(context, X, released, 1f, 2f, 3f, 4f)
            val (_, y) = bindAnonymous(context, Y, released, 10f, 20f, 30f, 40f)
            val (at, z) = bindAnonymous(context, Z, released, 0f, 0f, 0f, 0f)
            repeat(20) {
                System.gc()
                churn()
                context.infer()
                val bytes = java.nio.ByteBuffer.wrap(native.bytes(at, 16)).order(java.nio.ByteOrder.nativeOrder())
                expectEqual(listOf(11f, 22f, 33f, 44f), bytes.asFloatBuffer().list())
            }
            expect(listOf(x, y, z).all { it.get() != null }) { "a bound buffer was collected" }
            expectEqual(0, released.get())
            context.unbind(X)
            expectEqual(1, released.get())
            awaitTrue("an unbound buffer is collected") { x.get() == null }
            expect(y.get() != null) { "the bound one is not" }
        }
        expectEqual(3, released.get(), "after the context")
    } + onBoth("a log handler that throws is no business of the callback's") { format ->
        val handler = object : Handler() {
            override fun publish(record: LogRecord): Unit = throw IllegalStateException("no log today")
            override fun flush() = Unit
            override fun close() = Unit
        }
        val parent = logger.useParentHandlers
        logger.useParentHandlers = false
        logger.addHandler(handler)
        try {
            withAdd4(format) { context ->
                val tensor = Tensor.wrap(floats(1f, 1f, 1f, 1f), DType.F32, 4) { throw IllegalStateException("no release today") }
                context.bind(X, tensor)
                tensor.close()
                context.unbind(X)
            }
        } finally {
            logger.removeHandler(handler)
            logger.useParentHandlers = parent
        }
    } + onBoth("exactly once, in any order of closing") { format ->
        val orders = listOf(listOf(0, 1, 2), listOf(0, 2, 1), listOf(1, 0, 2), listOf(1, 2, 0), listOf(2, 0, 1), listOf(2, 1, 0))
        for (order in orders) {
            val released = AtomicInteger()
            val model = Model.open(Place.model("add4", format))
            val context = model.context()
            val tensor = Tensor.wrap(floats(1f, 1f, 1f, 1f), DType.F32, 4) { released.incrementAndGet() }
            context.bind(X, tensor)
            context.bind(Y, tensor)
            val closeables = listOf(model, context, tensor)
            for (at in order) {
                closeables[at].close()
                closeables[at].close() // again: nothing happens
            }
            expectEqual(1, released.get(), "order $order")
        }
    } + Test("a refused wrap keeps nothing and releases nothing") {
        val released = AtomicInteger()
        val buffer = WeakReference(floats(1f, 2f)).also { weak ->
            expectStatus(Status.SHAPE_MISMATCH) { Tensor.wrap(weak.get()!!, DType.F32, 3) { released.incrementAndGet() } }
        }
        awaitTrue("the buffer is collected") { buffer.get() == null }
        expectEqual(0, released.get())
    } + Test("what was not closed is found by the garbage collector and logged") {
        logged { records ->
            val released = AtomicInteger()
            // in functions of their own, so that nothing stays on the stack
            fun leakTensor() { Tensor.wrap(floats(1f), DType.F32, 1) { released.incrementAndGet() } }
            fun leakContext() { Model.open(Place.model("add4", Format.ONNX)).context() }
            leakTensor()
            leakContext()
            awaitTrue("the leaks are found") { released.get() == 1 && Zerobind.liveObjects(Kind.CONTEXT) == 0L }
            awaitTrue("the leaks are logged") { synchronized(records) { records.count { it.level == Level.WARNING } == 3 } }
            for (kind in listOf("Tensor", "Context", "Model")) {
                expect(synchronized(records) { records.any { "a $kind was not closed" in it.message } }) { "$kind in ${records.map { it.message }}" }
            }
            expectEqual(1, released.get())
        }
    } + Test("what a release throws is logged and goes no further") {
        logged { records ->
            Tensor.wrap(floats(1f), DType.F32, 1) { throw IllegalStateException("on purpose") }.close()
            expectEqual(listOf("on purpose"), records.map { it.thrown?.message })
            Tensor.wrap(floats(1f), DType.F32, 1) { throw StackOverflowError("on purpose too") }.close()
            expectEqual(2, records.size)
        }
    } + onBoth("inside a release everything can be used") { format ->
        withAdd4(format) { context ->
            var seen = 0L
            val tensor = Tensor.wrap(floats(1f, 1f, 1f, 1f), DType.F32, 4) {
                // the same thread is in the middle of unbind
                context.resetState()
                seen = Model.open(Place.model("add4", format)).use { it.inputs.sumOf { slot -> slot.size } }
            }
            tensor.use { context.bind(X, it) }
            context.unbind(X)
            expectEqual(32L, seen)
        }
    } + onBoth("closed objects throw") { format ->
        val model = Model.open(Place.model("add4", format))
        val context = model.context()
        val tensor = Tensor.allocate(DType.F32, 4)
        val queue = Queue()
        val loans = context.loans().input(X, floats(1f, 1f, 1f, 1f))
        for (closeable in listOf(tensor, queue, context, model)) closeable.close()
        val uses = listOf<() -> Unit>(
            { model.engine }, { model.inputs }, { model.outputs }, { model.info(X) }, { model.input("x") }, { model.output("z") },
            { model.metadata("zerobind.keys") }, { model.context() },
            { context.infer() }, { context.infer(1_000_000_000) }, { context.infer(loans) },
            { context.infer(listOf(floats(1f, 1f, 1f, 1f)), listOf()) }, { context.bind(X, tensor) }, { context.unbind(X) },
            { context.swap(X, Y) }, { context.resize(X, 4) }, { context.prepare() }, { context.resetState() }, { context.cancel() },
            { context.info(X) }, { context.requirements(X) }, { context.report(X) }, { context.stats }, { context.tensorFor(X) },
            { context.bindNew(X) }, { tensor.sync() }, { tensor.written() },
            { queue.inferAsync(context) }, { queue.write(tensor, directBuffer(16)) }, { queue.read(tensor, directBuffer(16)) },
            { queue.fence() }, { queue.finish() },
        )
        for ((at, use) in uses.withIndex()) {
            try {
                use()
                throw AssertionError("use $at of something closed succeeded")
            } catch (e: ClosedException) {
                expectEqual(Status.INVALID_HANDLE, e.status)
                expect(e.text.isNotEmpty()) { "use $at says nothing" }
            }
        }
        expectEqual(16, tensor.buffer.remaining(), "its memory is there all the same")
    }
