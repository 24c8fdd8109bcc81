package zerobind

import zerobind.internal.frame
import zerobind.internal.native
import zerobind.internal.textAt

/** How a call ended; [code] is the number of zerobind.h. */
public enum class Status(public val code: Int) {
    OK(0),
    NULL_ARGUMENT(1),
    INVALID_ARGUMENT(2),

    /** The object was closed. */
    INVALID_HANDLE(3),

    /** The object is in use in a way that excludes this call; try again when that use has ended. */
    BUSY(4),
    NOT_FOUND(5),
    IO(6),
    RUNTIME_UNAVAILABLE(7),
    MODEL_INVALID(8),
    UNSUPPORTED(9),
    DTYPE_MISMATCH(10),
    SHAPE_MISMATCH(11),
    BUFFER_TOO_SMALL(12),
    MISALIGNED(13),
    ALIASED(14),
    UNBOUND(15),
    COPY_REQUIRED(16),
    CANCELLED(17),
    DEADLINE_EXCEEDED(18),
    DESTROYED(19),
    RUNTIME(20),
    OUT_OF_MEMORY(21),
    PANIC(22),
    TIMEOUT(23),
    READ_ONLY(24),
    DEPENDENCY(25),
    QUEUE_FULL(26),

    /** A number that this version of the binding does not know. */
    UNKNOWN(-1),
    ;

    public companion object {
        private val known = entries.associateBy { it.code }

        /** The status of a number. */
        public fun of(code: Int): Status = known[code] ?: UNKNOWN
    }
}

/**
 * A call that failed.
 *
 * @property status what went wrong, to decide by
 * @property code its number, also where [status] is [Status.UNKNOWN]
 * @property statusName its name as in zerobind.h, `ZB_ERROR_BUSY`
 * @property text which object, what was wanted, what was given and what to do
 */
public open class ZerobindException internal constructor(
    public val code: Int,
    public val statusName: String,
    public val text: String,
) : RuntimeException("$statusName: $text") {
    public val status: Status get() = Status.of(code)
}

/** [Status.BUSY]: another thread runs the context or uses the tensor. */
public class BusyException internal constructor(code: Int, name: String, text: String) : ZerobindException(code, name, text)

/** [Status.INVALID_HANDLE]: the object was closed. */
public class ClosedException internal constructor(code: Int, name: String, text: String) : ZerobindException(code, name, text)

/** Throws what the status and the thread's last error say, unless the call succeeded. */
internal fun check(status: Int) {
    if (status != 0) throw failure(status, errorText(native::lastError))
}

/** The text that a getter of zerobind gives, of any length. */
internal fun errorText(get: (buffer: Long, capacity: Long, needed: Long) -> Int): String = frame {
    val needed = take(8)
    get(0, 0, needed.address)
    val size = needed.long(0).toInt().coerceAtLeast(1)
    val text = take(size)
    get(text.address, size.toLong(), needed.address)
    text.text(size)
}

internal fun failure(status: Int, text: String): ZerobindException {
    val name = textAt(native.statusName(status)) ?: "ZB_ERROR_?"
    return when (Status.of(status)) {
        Status.BUSY -> BusyException(status, name, text)
        Status.INVALID_HANDLE -> ClosedException(status, name, text)
        else -> ZerobindException(status, name, text)
    }
}

/** A failure that the binding itself finds, before zerobind is called. */
internal fun refusal(status: Status, text: String): ZerobindException = failure(status.code, text)
