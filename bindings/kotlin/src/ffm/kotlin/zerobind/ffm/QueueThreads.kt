package zerobind.ffm

import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.util.concurrent.CompletableFuture
import java.util.concurrent.locks.ReentrantReadWriteLock
import kotlin.concurrent.read
import kotlin.concurrent.write
import zerobind.Status
import zerobind.check
import zerobind.internal.Backend
import zerobind.internal.Pin
import zerobind.internal.frame
import zerobind.refusal

/**
 * Makes the threads of queues known to the JVM while it takes new ones.
 *
 * A thread that C has started becomes one of the JVM's in its first upcall, and stays one to its end. A JVM that has ended aborts
 * the process when such a call comes from a thread that it does not know; one that it knows is just stopped there. So every
 * queue's thread makes its first upcall before anybody has the queue, and no queue is made any more once the JVM is ending. All
 * other upcalls come on threads of Java's.
 */
internal class QueueThreads(private val backend: Backend) {
    /** Read while a queue is made. */
    private val lock = ReentrantReadWriteLock()
    private var isEnding = false

    init {
        try {
            Runtime.getRuntime().addShutdownHook(Thread { lock.write { isEnding = true } })
        } catch (_: IllegalStateException) {
            isEnding = true
        }
    }

    /** Has [create] put a new queue's handle at [place]. */
    fun made(place: Long, create: () -> Int): Int = lock.read {
        if (isEnding) throw refusal(Status.UNSUPPORTED, "the JVM is ending and takes no more threads; a queue has one")
        val status = create()
        if (status == 0) introduce(MemorySegment.ofAddress(place).reinterpret(8).get(JAVA_LONG, 0))
        status
    }

    private fun introduce(queue: Long) {
        try {
            // a fence that is over before it gets its callback tells this thread instead; then it is another's turn
            do {
                val told = threadAfterFence(queue).join()
            } while (told == Thread.currentThread())
        } catch (e: Throwable) {
            backend.queueDestroy(queue)
            throw e
        }
    }

    /** The thread that is told of the end of a fence. */
    private fun threadAfterFence(queue: Long): CompletableFuture<Thread> = frame {
        val told = CompletableFuture<Thread>()
        val event = take(8)
        check(backend.queueFence(queue, event.address))
        val pin = Pin(null, onSettled = { _, _ -> told.complete(Thread.currentThread()) })
        val status = backend.eventOnComplete(event.long(0), pin)
        // which does not take the callback back
        backend.eventDestroy(event.long(0))
        check(status)
        told
    }
}
