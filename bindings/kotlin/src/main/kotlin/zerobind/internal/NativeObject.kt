package zerobind.internal

import java.lang.ref.Cleaner
import java.lang.ref.Reference
import java.util.concurrent.atomic.AtomicInteger
import java.util.logging.Level
import zerobind.Status
import zerobind.refusal

/** What destroys a handle of one kind. */
internal fun interface Destroy {
    fun handle(handle: Long): Int
}

private val cleaner: Cleaner = Cleaner.create()

/** Whether leaks are logged with where the object was made: the property `zerobind.leaks` is `trace`. */
private val traces = System.getProperty("zerobind.leaks") == "trace"

/** The handle of an object that is closed once: by `close`, or by the garbage collector, which is logged. */
internal class NativeHandle(owner: Any, val value: Long, kind: String, destroy: Destroy) {
    /** Holds nothing of the owner's, which the garbage collector could not find unused otherwise. */
    private class State(private val handle: Long, private val kind: String, private val destroy: Destroy) : Runnable {
        private val made = if (traces) Throwable("made here") else null

        @Volatile
        var isClosed = false

        /** Calls that read what the handle keeps, and one for the object itself; with the last, the handle goes. */
        private val holders = AtomicInteger(1)

        fun enter(): Boolean {
            while (!isClosed) {
                val count = holders.get()
                if (count == 0) return false
                if (holders.compareAndSet(count, count + 1)) return true
            }
            return false
        }

        fun leave() {
            if (holders.decrementAndGet() == 0) destroy.handle(handle)
        }

        override fun run() {
            leave()
            if (!isClosed) {
                log(Level.WARNING, "zerobind: a $kind was not closed; the garbage collector found it. Use `use {}` or " +
                    "close(). The property zerobind.leaks=trace tells where it was made", made)
            }
        }
    }

    private val state = State(value, kind, destroy)
    private val cleanable = cleaner.register(owner, state)

    /** While such a call is under way on another thread, that call ends the handle. */
    fun close() {
        state.isClosed = true
        cleanable.clean()
    }

    fun enter(): Boolean = state.enter()

    fun leave(): Unit = state.leave()
}

/** As `use`, for a call that goes on to read what lives as long as the handle: `close` on another thread does not end it. */
internal inline fun <R> NativeHandle.reading(owner: Any, call: (Long) -> R): R {
    if (!enter()) throw refusal(Status.INVALID_HANDLE, "this object was closed")
    try {
        return call(value)
    } finally {
        leave()
        Reference.reachabilityFence(owner)
    }
}

/** Calls with the owner's handle; the owner is not taken for unused before the call has returned. */
internal inline fun <R> NativeHandle.use(owner: Any, call: (Long) -> R): R {
    try {
        return call(value)
    } finally {
        Reference.reachabilityFence(owner)
    }
}
