package zerobind.internal

import java.util.logging.Level
import java.util.logging.Logger

/**
 * Keeps what zerobind uses, its memory above all, until the callback that comes exactly once. Nothing is thrown out of it: what
 * a callback of the program throws is logged.
 */
internal class Pin(
    @Volatile private var kept: Any?,
    private val onRelease: (() -> Unit)? = null,
    private val onSettled: ((event: Long, result: Int) -> Unit)? = null,
) {
    /** zerobind uses the memory no more. On any thread; called by native code. */
    fun released() {
        kept = null
        guarded { onRelease?.invoke() }
    }

    /** The operation of an event has ended. On any thread; called by native code. */
    fun settled(event: Long, result: Int) {
        guarded { onSettled?.invoke(event, result) }
        kept = null
    }

    private inline fun guarded(block: () -> Unit) {
        try {
            block()
        } catch (e: Throwable) {
            log(Level.SEVERE, "zerobind: a callback threw", e)
        }
    }
}

internal val logger: Logger = Logger.getLogger("zerobind")

/** A handler of the program's may throw, or there may be no memory; neither may get out of a callback. */
internal fun log(level: Level, text: String, thrown: Throwable?) {
    try {
        logger.log(level, text, thrown)
    } catch (_: Throwable) {
        // there is nobody left to tell
    }
}
