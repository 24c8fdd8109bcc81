package zerobind.ffm

import java.lang.foreign.Arena
import java.lang.foreign.FunctionDescriptor
import java.lang.foreign.Linker
import java.lang.foreign.MemoryLayout
import java.lang.foreign.SymbolLookup
import java.lang.foreign.ValueLayout.JAVA_INT
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.lang.invoke.MethodHandle
import java.lang.invoke.MethodHandles
import java.lang.invoke.MethodType
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong
import zerobind.internal.Library
import zerobind.internal.Pin

private val linker: Linker = Linker.nativeLinker()

private val library: SymbolLookup = run {
    val file = Library.file("zerobind")
    if (file == null) {
        System.loadLibrary("zerobind")
        SymbolLookup.loaderLookup()
    } else {
        if (!file.exists()) throw UnsatisfiedLinkError("${file.path} does not exist; zerobind.library.path names its folder")
        SymbolLookup.libraryLookup(file.toPath(), Arena.global())
    }
}

/** A function of zerobind.h: parameters and result by letters, I for 32 bits and J for 64, as in "JI:I". */
internal fun link(name: String, letters: String): MethodHandle {
    val symbol = library.find(name).orElseThrow { UnsatisfiedLinkError("libzerobind has no $name: it is older than this binding") }
    val (parameters, result) = letters.split(':').map { part -> part.map(::layout) }
    return linker.downcallHandle(symbol, FunctionDescriptor.of(result.single(), *parameters.toTypedArray()))
}

private fun layout(letter: Char): MemoryLayout = if (letter == 'I') JAVA_INT else JAVA_LONG

// What callbacks find by the number that they are given as user data. The map is the reference that keeps a pin.
private val pins = ConcurrentHashMap<Long, Pin>()
private val ids = AtomicLong()

/** Keeps the pin for the callback that [accept] hands over, or not, if it does not succeed: then no callback comes. */
internal inline fun pinned(pin: Pin, accept: (id: Long) -> Int): Int {
    val id = keep(pin)
    val status = accept(id)
    if (status != 0) forget(id)
    return status
}

internal fun keep(pin: Pin): Long = ids.incrementAndGet().also { pins[it] = pin }

internal fun forget(id: Long): Pin? = pins.remove(id)

// Called by C on any thread; the JVM makes a daemon of one that it does not know. A pin throws nothing.

internal fun released(id: Long, data: Long, size: Long) {
    forget(id)?.released()
}

internal fun settled(id: Long, event: Long, result: Int) {
    forget(id)?.settled(event, result)
}

internal val RELEASE_STUB: Long = stub("released", JAVA_LONG, JAVA_LONG, JAVA_LONG)
internal val COMPLETE_STUB: Long = stub("settled", JAVA_LONG, JAVA_LONG, JAVA_INT)

private fun stub(name: String, vararg parameters: MemoryLayout): Long {
    val descriptor = FunctionDescriptor.ofVoid(*parameters)
    val lookup = MethodHandles.lookup()
    val type: MethodType = descriptor.toMethodType()
    return linker.upcallStub(lookup.findStatic(lookup.lookupClass(), name, type), descriptor, Arena.global()).address()
}
