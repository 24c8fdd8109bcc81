package zerobind.internal

import java.lang.ref.Cleaner
import java.lang.ref.Reference
import java.util.logging.Level

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

        override fun run() {
            if (!isClosed) {
                logger.log(Level.WARNING, "zerobind: a $kind was not closed; the garbage collector found it. Use `use {}` or " +
                    "close(). The property zerobind.leaks=trace tells where it was made", made)
            }
            destroy.handle(handle)
        }
    }

    private val state = State(value, kind, destroy)
    private val cleanable = cleaner.register(owner, state)

    fun close() {
        state.isClosed = true
        cleanable.clean()
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
