package zerobind

import java.lang.ref.WeakReference
import java.nio.FloatBuffer
import java.util.concurrent.CompletionException
import java.util.concurrent.ExecutionException
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.atomic.AtomicReference

private fun <R> withQueued(format: Format, body: (Queue, Context, Tensor, Tensor) -> R): R = withAdd4(format) { context ->
    Tensor.copyOf(floatArrayOf(1f, 1f, 1f, 1f), 4).use { context.bind(Y, it) }
    context.bindNew(X).use { x -> context.bindNew(Z).use { z -> Queue().use { queue -> body(queue, context, x, z) } } }
}

val queues: List<Test> =
    onBoth("write, infer, read, in order") { format ->
        withQueued(format) { queue, context, x, z ->
            val results = List(30) { floats(0f, 0f, 0f, 0f) }
            val last = results.mapIndexed { step, result ->
                if (step % 5 == 4) expect(queue.finish()) { "the queue comes to its end" }
                queue.write(x, floats(step.toFloat(), 0f, 0f, 0f))
                queue.inferAsync(context)
                queue.read(z, result)
            }.last()
            last.get(30, TimeUnit.SECONDS)
            expectEqual(List(30) { it + 1f }, results.map { it.get(0) })
        }
    } + onBoth("tensors for one run, and a read that keeps its buffer") { format ->
        withQueued(format) { queue, context, _, z ->
            val other = Tensor.copyOf(floatArrayOf(5f, 6f, 7f, 8f), 4)
            queue.inferAsync(context, mapOf(X to other))
            other.close()
            fun readAnonymous(): Pair<Operation, WeakReference<FloatBuffer>> =
                floats(0f, 0f, 0f, 0f).let { queue.read(z, it) to WeakReference(it) }
            val (done, buffer) = readAnonymous()
            System.gc()
            done.get(30, TimeUnit.SECONDS)
            awaitTrue("the buffer is let go") { buffer.get() == null }
            expect(z.sync()) { "nothing uses it any more" }
            expectEqual(listOf(6f, 7f, 8f, 9f), z.buffer.floats())
        }
    } + onBoth("how operations fail") { format ->
        withQueued(format) { queue, context, x, z ->
            expectStatus(Status.INVALID_ARGUMENT) { queue.write(x, directBuffer(16), offset = 8) }
            expectStatus(Status.COPY_REQUIRED, "heap") { queue.read(z, java.nio.ByteBuffer.allocate(16)) }
            expectStatus(Status.READ_ONLY) { queue.read(z, directBuffer(16).asReadOnlyBuffer()) }
            context.unbind(X)
            expectStatus(Status.UNBOUND, "x") { queue.inferAsync(context) }
            // put there faster than a thread can take them out, sooner or later
            Queue(capacity = 2).use { small ->
                var refused: ZerobindException? = null
                while (refused == null) {
                    try {
                        small.write(x, directBuffer(16))
                    } catch (e: ZerobindException) {
                        refused = e
                    }
                }
                expectEqual(Status.QUEUE_FULL, refused.status)
            }
        }
    } + onBoth("cancelled and destroyed operations") { format ->
        withPitch(format) { context ->
            val queue = Queue()
            val runs = List(6) { queue.inferAsync(context) }
            expect(runs.last().cancel(true)) { "it was asked" }
            awaitTrue("the cancelled one is settled") { runs.last().isDone }
            expect(runs.last().isCancelled) { "as cancelled" }
            queue.close()
            val ends = runs.map { run ->
                try {
                    run.get(60, TimeUnit.SECONDS)
                    Status.OK
                } catch (e: ExecutionException) {
                    (e.cause as ZerobindException).also { expect(it.text.isNotEmpty()) { "a text" } }.status
                } catch (_: java.util.concurrent.CancellationException) {
                    Status.CANCELLED
                }
            }
            expect(ends.all { it in setOf(Status.OK, Status.CANCELLED, Status.DESTROYED) }) { "$ends" }
        }
        Queue().use { queue ->
            val over = queue.fence().apply { get(30, TimeUnit.SECONDS) }
            expect(!over.cancel(true)) { "what is over cannot be asked" }
            expect(!over.isCancelled) { "and stays as it is" }
        }
    } + onBoth("on the queue's thread: a daemon, never waiting for itself, and nothing thrown gets out") { format ->
        withPitch(format) { context ->
            Queue().use { queue ->
                val seen = AtomicReference<Thread>()
                val busy = AtomicReference<Throwable>()
                // long enough for the callback to be set before the run is over
                val after = queue.inferAsync(context).thenRun {
                    seen.set(Thread.currentThread())
                    try {
                        queue.fence()
                        queue.finish()
                    } catch (e: Throwable) {
                        busy.set(e)
                    }
                    throw IllegalStateException("on purpose")
                }.handle { _, failure -> failure }
                expect(after.get(60, TimeUnit.SECONDS) is CompletionException) { "${after.get()}" }
                expect(seen.get() != Thread.currentThread()) { "the run was over at once" }
                expect(seen.get().isDaemon) { "it would hold up the end of the program" }
                expect(busy.get() is BusyException) { "${busy.get()}" }
                queue.fence().get(30, TimeUnit.SECONDS)
            }
        }
    } + onBoth("released on the queue's thread, when the run that has it is over") { format ->
        logged { records ->
            withPitch(format) { context ->
                Queue().use { queue ->
                    val released = AtomicReference<Thread>()
                    val tensor = Tensor.wrap(directBuffer(43844 * 4), DType.F32, 1, 43844, 1) {
                        released.set(Thread.currentThread())
                        throw IllegalStateException("on purpose")
                    }
                    val run = queue.inferAsync(context, mapOf(X to tensor))
                    tensor.close()
                    run.get(60, TimeUnit.SECONDS)
                    awaitTrue("it is released, and what that threw is logged") { records.any { it.thrown?.message == "on purpose" } }
                    expect(released.get() != Thread.currentThread() && released.get().isDaemon) { "${released.get()}" }
                }
            }
        }
    } + onBoth("many operations from many threads, all settled once") { format ->
        withQueued(format) { _, context, x, z ->
            Queue(capacity = 1000).use { queue ->
                val settled = AtomicInteger()
                val wrong = AtomicReference<Throwable>()
                List(4) {
                    kotlin.concurrent.thread {
                        try {
                            repeat(50) { step ->
                                queue.write(x, floats(step.toFloat(), 0f, 0f, 0f)).thenRun { settled.incrementAndGet() }
                                queue.inferAsync(context).thenRun { settled.incrementAndGet() }
                                queue.read(z, floats(0f, 0f, 0f, 0f)).thenRun { settled.incrementAndGet() }
                                if (step % 10 == 0) System.gc()
                            }
                        } catch (e: Throwable) {
                            wrong.set(e)
                        }
                    }
                }.forEach { it.join() }
                wrong.get()?.let { throw it }
                awaitTrue("all are settled") { settled.get() == 600 }
            }
        }
    }
