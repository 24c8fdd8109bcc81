package zerobind

import zerobind.internal.Layout
import zerobind.internal.frame
import zerobind.internal.native
import zerobind.internal.textAt

/** The library itself, and the engines' libraries. Any thread. */
public object Zerobind {
    /** The version of libzerobind, "1.2.3". */
    public val version: String
        get() = native.version().let { "${it ushr 22}.${(it ushr 12) and 0x3ff}.${it and 0xfff}" }

    /** How libzerobind is called: "jni", or "ffm", the foreign-function API of Java 22 and newer. */
    public val backend: String get() = native.name

    /** Objects of a kind that exist: not handles, a bound tensor lives on when it was closed. */
    public fun liveObjects(kind: Kind): Long = native.liveObjects(kind.code)

    /**
     * Loads an engine's library from [path], or by the search order. Not needed: the first model of an engine loads it. A
     * loaded engine stays for the life of the process.
     */
    public fun loadEngine(engine: Engine, path: String? = null): Unit = frame {
        check(native.runtimeLoad(engine.code, path?.let { text(it) } ?: 0L))
    }

    /** Whether an engine's library is loaded, its version and file, or why it is not; loads nothing. */
    public fun engineInfo(engine: Engine): EngineInfo = frame {
        val info = sized(Layout.RuntimeInfo.SIZE)
        check(native.runtimeGetInfo(engine.code, info.address))
        EngineInfo(
            isAvailable = info.int(Layout.RuntimeInfo.AVAILABLE) != 0,
            version = textAt(info.long(Layout.RuntimeInfo.VERSION)),
            path = textAt(info.long(Layout.RuntimeInfo.PATH)),
            reason = textAt(info.long(Layout.RuntimeInfo.REASON)),
        )
    }
}

/** Kinds of objects that are counted. */
public enum class Kind(internal val code: Int) { MODEL(1), CONTEXT(2), TENSOR(3), QUEUE(4), EVENT(5) }

/** State of an engine's library; null for what is not known. */
public data class EngineInfo(val isAvailable: Boolean, val version: String?, val path: String?, val reason: String?)
