package zerobind

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.yield
import zerobind.coroutines.infer
import zerobind.coroutines.readNow

val coroutines: List<Test> =
    onBoth("suspending runs go on where they were") { format ->
        withAdd4(format) { context ->
            Tensor.copyOf(floatArrayOf(1f, 2f, 3f, 4f), 4).use { context.bind(X, it); context.bind(Y, it) }
            context.bindNew(Z).use { z ->
                Queue().use { queue ->
                    runBlocking {
                        val home = Thread.currentThread()
                        List(10) { async { queue.infer(context) } }.awaitAll()
                        expectEqual(home, Thread.currentThread())
                        val result = floats(0f, 0f, 0f, 0f)
                        queue.readNow(z, result)
                        expectEqual(listOf(2f, 4f, 6f, 8f), result.list())
                        context.unbind(X)
                        expectStatus(Status.UNBOUND) { runBlocking { queue.infer(context) } }
                    }
                }
            }
        }
    } + onBoth("a cancelled coroutine cancels its operation") { format ->
        withPitch(format) { context ->
            Queue().use { queue ->
                runBlocking {
                    val before = queue.inferAsync(context)
                    var failure: Throwable? = null
                    val job = launch {
                        try {
                            queue.infer(context)
                        } catch (e: CancellationException) {
                            failure = e
                            throw e
                        }
                    }
                    yield()
                    job.cancelAndJoin()
                    expect(failure is CancellationException) { "$failure" }
                    before.cancel(true)
                    queue.finish()
                }
            }
        }
    }
