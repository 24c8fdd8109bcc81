package zerobind

import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.atomic.AtomicReference
import kotlin.concurrent.thread

val threads: List<Test> =
    onBoth("two threads on one context: one is busy, the other goes on") { format ->
        withPitch(format) { context ->
            val busy = AtomicInteger()
            val runs = AtomicInteger()
            val wrong = AtomicReference<Throwable>()
            val workers = List(2) {
                thread {
                    try {
                        // each goes on until somebody was busy, and both have run
                        while (wrong.get() == null && (busy.get() == 0 || runs.get() == 0)) {
                            try {
                                context.infer()
                                runs.incrementAndGet()
                            } catch (e: BusyException) {
                                expectEqual(Status.BUSY, e.status)
                                busy.incrementAndGet()
                            }
                        }
                    } catch (e: Throwable) {
                        wrong.set(e)
                    }
                }
            }
            workers.forEach { it.join() }
            wrong.get()?.let { throw it }
            expect(busy.get() > 0 && runs.get() > 0) { "busy ${busy.get()}, runs ${runs.get()}" }
        }
    } + onBoth("describing a slot while another thread closes the object") { format ->
        val path = Place.model("batch", format)
        val expected = Model.open(path).use { it.info(X) }
        val place = AtomicReference<Pair<Model, Context>?>()
        val wrong = AtomicReference<Throwable>()
        val over = AtomicBoolean()
        val reader = thread {
            try {
                while (!over.get()) {
                    val (model, context) = place.get() ?: continue
                    try {
                        expectEqual(expected, model.info(X))
                        expectEqual(expected.name, context.info(X).name)
                    } catch (e: ClosedException) {
                        // also right
                    }
                }
            } catch (e: Throwable) {
                wrong.set(e)
            }
        }
        repeat(1000) {
            val model = Model.open(path)
            val context = model.context()
            place.set(model to context)
            Thread.onSpinWait()
            model.close()
            context.close()
            expectStatus(Status.INVALID_HANDLE, "closed") { model.info(X) }
        }
        over.set(true)
        reader.join()
        wrong.get()?.let { throw it }
    } + onBoth("closing a context under its run: it ends by itself, and nothing crashes") { format ->
        Model.open(Place.network(format)).use { model ->
            repeat(5) {
                val context = model.context()
                context.resize(X, 1, 43844, 1)
                val released = AtomicInteger()
                val input = directBuffer(43844 * 4)
                Tensor.wrap(input, DType.F32, 1, 43844, 1) { released.incrementAndGet() }.use { context.bind(X, it) }
                val started = CountDownLatch(1)
                val end = AtomicReference<Status>()
                val runner = thread {
                    started.countDown()
                    try {
                        while (true) context.infer()
                    } catch (e: ZerobindException) {
                        end.set(e.status)
                    }
                }
                started.await()
                context.close()
                runner.join()
                expect(end.get() == Status.CANCELLED || end.get() == Status.INVALID_HANDLE) { "ended with ${end.get()}" }
                expectEqual(1, released.get())
            }
        }
    } + onBoth("contexts of one model side by side, opened and closed on any thread") { format ->
        Model.open(Place.model("add4", format)).use { model ->
            val wrong = AtomicReference<Throwable>()
            List(4) { number ->
                thread {
                    try {
                        repeat(25) {
                            model.context().use { context ->
                                val z = floats(0f, 0f, 0f, 0f)
                                context.infer(listOf(floats(1f, 1f, 1f, number.toFloat()), floats(1f, 1f, 1f, 1f)), listOf(z))
                                expectEqual(number + 1f, z.get(3))
                            }
                        }
                    } catch (e: Throwable) {
                        wrong.set(e)
                    }
                }
            }.forEach { it.join() }
            wrong.get()?.let { throw it }
        }
    } + onBoth("handles used while another thread closes them") { format ->
        repeat(20) {
            val context = Model.open(Place.model("add4", format)).use { it.context() }
            val go = AtomicBoolean()
            val wrong = AtomicReference<Throwable>()
            val user = thread {
                val z = floats(0f, 0f, 0f, 0f)
                go.set(true)
                try {
                    while (true) context.infer(listOf(z, z), listOf(floats(0f, 0f, 0f, 0f)))
                } catch (e: ZerobindException) {
                    if (e.status != Status.INVALID_HANDLE && e.status != Status.CANCELLED) wrong.set(e)
                }
            }
            while (!go.get()) Thread.onSpinWait()
            context.close()
            user.join()
            wrong.get()?.let { throw it }
        }
    } + onBoth("loans belong to one thread") { format ->
        withPitch(format) { context ->
            val loans = context.loans().input(X, directBuffer(43844 * 4))
            val busy = AtomicInteger()
            val runs = AtomicInteger()
            List(2) {
                thread {
                    while (busy.get() == 0 || runs.get() == 0) {
                        try {
                            context.infer(loans)
                            runs.incrementAndGet()
                        } catch (_: BusyException) {
                            busy.incrementAndGet()
                        }
                    }
                }
            }.forEach { it.join() }
        }
    }
