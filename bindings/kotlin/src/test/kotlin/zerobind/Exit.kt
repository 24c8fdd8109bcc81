package zerobind

import java.util.concurrent.CountDownLatch
import kotlin.concurrent.thread
import kotlin.system.exitProcess

/**
 * Ends the program in the middle of everything, while what [what] names goes on: by the end of main, or by `System.exit` if
 * [isAtOnce]. The script looks at how the process ended.
 */
fun exit(what: String, isAtOnce: Boolean) {
    when (what) {
        "network" -> runNetwork()
        "queues" -> makeQueues()
        "releases" -> replaceMemory()
        else -> throw IllegalArgumentException(what)
    }
    println("ends in the middle of its $what")
    if (isAtOnce) exitProcess(0)
}

/** Runs of a large network on a queue and on a thread, futures to be completed, objects that are open. */
private fun runNetwork() {
    val model = Model.open(Place.network(Format.ONNX))
    fun context() = model.context().apply {
        resize(X, 1, 43844, 1)
        bindNew(X)
    }
    val (queued, own) = List(2) { context() }
    val queue = Queue()
    repeat(8) { queue.inferAsync(queued).thenRun { queue.fence() } }
    queue.inferAsync(queued, mapOf(X to Tensor.allocate(DType.F32, 1, 43844, 1)))
    thread(isDaemon = true) { while (true) own.infer() }
}

/** Queues that come and go, each with callbacks of its own thread. */
private fun makeQueues() {
    val begun = CountDownLatch(MANY)
    repeat(THREADS) {
        thread(isDaemon = true) {
            while (true) {
                Queue().use { queue -> repeat(3) { queue.fence().thenRun(begun::countDown) } }
            }
        }
    }
    begun.await()
}

/** Memory that only a queue's run still holds, so that its thread releases it. */
private fun replaceMemory() {
    val begun = CountDownLatch(MANY)
    val model = Model.open(Place.model("add4", Format.ONNX))
    repeat(THREADS) {
        thread(isDaemon = true) {
            val context = model.context()
            for (slot in listOf(X, Y, Z)) context.bindNew(slot).close()
            while (true) {
                Queue().use { queue ->
                    val lent = Tensor.wrap(floats(1f, 2f, 3f, 4f), DType.F32, 4, onRelease = begun::countDown)
                    lent.use { queue.inferAsync(context, mapOf(X to it)) }
                    queue.finish()
                }
            }
        }
    }
    begun.await()
}

private const val THREADS = 4
private const val MANY = 200
