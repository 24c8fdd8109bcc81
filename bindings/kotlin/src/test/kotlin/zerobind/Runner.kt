package zerobind

import java.util.concurrent.TimeUnit
import java.util.concurrent.locks.LockSupport
import kotlin.system.exitProcess

/** A test: its name, and what throws when it fails. */
class Test(val name: String, val body: () -> Unit)

/** Runs tests one after the other, and says of each failure where it was. */
class Runner(private val only: String?) {
    private var passed = 0
    private var failed = 0

    fun run(tests: List<Test>) {
        for (test in tests) if (only == null || only in test.name) run(test)
    }

    private fun run(test: Test) {
        val limit = watchdog(test.name)
        try {
            test.body()
            awaitTrue("after ${test.name} nothing of zerobind's is alive") { Kind.entries.all { Zerobind.liveObjects(it) == 0L } }
            passed++
        } catch (e: Throwable) {
            failed++
            println("failed: ${test.name}")
            e.printStackTrace(System.out)
        } finally {
            limit.interrupt()
        }
    }

    fun finish(): Nothing {
        println("$passed passed, $failed failed")
        exitProcess(if (failed == 0 && passed > 0) 0 else 1)
    }

    /** Ends the process if a test hangs, and says where each thread is. */
    private fun watchdog(name: String): Thread = Thread {
        try {
            TimeUnit.SECONDS.sleep(LIMIT_S)
            println("failed: $name hangs")
            for ((thread, frames) in Thread.getAllStackTraces()) println("$thread\n  ${frames.joinToString("\n  ")}")
            Runtime.getRuntime().halt(1)
        } catch (_: InterruptedException) {
            // it came to its end
        }
    }.apply {
        isDaemon = true
        start()
    }

    private companion object {
        /** A test that takes longer hangs; `zerobind.test.limit` sets another, for long stress. */
        val LIMIT_S = java.lang.Long.getLong("zerobind.test.limit", 120L)
    }
}

fun expect(condition: Boolean, what: () -> String) {
    if (!condition) throw AssertionError(what())
}

fun <T> expectEqual(expected: T, actual: T, what: String = "") {
    expect(expected == actual) { "$what: expected $expected, got $actual" }
}

/** Runs what must fail with the status, and gives the exception. */
fun expectStatus(status: Status, vararg words: String, call: () -> Unit): ZerobindException {
    val thrown = try {
        call()
        null
    } catch (e: ZerobindException) {
        e
    }
    if (thrown == null) throw AssertionError("expected $status, but the call succeeded")
    expect(thrown.status == status) { "expected $status, got $thrown" }
    expectEqual("ZB_ERROR_$status", thrown.statusName, "the name")
    for (word in words) expect(word in thrown.text) { "'$word' is not in the text: ${thrown.text}" }
    return thrown
}

/** Waits for what other threads, the garbage collector among them, bring about. */
fun awaitTrue(what: String, condition: () -> Boolean) {
    val deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30)
    while (!condition()) {
        expect(System.nanoTime() < deadline) { "in 30 s it did not happen: $what" }
        System.gc()
        LockSupport.parkNanos(1_000_000)
    }
}
