package zerobind

import java.util.concurrent.atomic.AtomicInteger

/** Loans in the stress; `zerobind.test.loans` sets another number, and one garbage collection for so many of them. */
private val LOANS = Integer.getInteger("zerobind.test.loans", 4_000)
private val EVERY = Integer.getInteger("zerobind.test.gc", 40)

private class Random(private var state: Int) {
    fun next(bound: Int): Int {
        state = state * 1_664_525 + 1_013_904_223
        return (state ushr 8) % bound
    }
}

val stress: List<Test> =
    onBoth("loans while the garbage collector runs and buffers come and go") { format ->
        val random = Random(7)
        withAdd4(format) { context ->
            val kept = ArrayDeque<Any>()
            val own = context.loans()
            repeat(LOANS) { step ->
                val (x, y, z) = List(3) { floats(step.toFloat(), 1f, 2f, 3f) }
                // some buffers live on for a while, most do not
                kept += directBuffer(64 * random.next(8))
                while (kept.size > 50) kept.removeFirst()
                if (step % EVERY == 0) System.gc()
                if (step % 2 == 0) context.infer(listOf(x, y), listOf(z))
                else context.infer(own.input(X, x).input(Y, y).output(Z, z))
                expectEqual(2f * step, z.get(0))
                expectEqual(6f, z.get(3))
            }
            expectEqual(LOANS.toLong(), context.stats.runs)
            expectEqual(0L, context.stats.bytesCopied)
        }
    } + onBoth("bindings while the garbage collector runs: each released once") { format ->
        val steps = LOANS / 4
        val released = Array(steps) { AtomicInteger() }
        withAdd4(format) { context ->
            Tensor.copyOf(floatArrayOf(1f, 1f, 1f, 1f), 4).use { context.bind(Y, it) }
            context.bindNew(Z).use { z ->
                repeat(steps) { step ->
                    Tensor.wrap(floats(step.toFloat(), 0f, 0f, 0f), DType.F32, 4) { released[step].incrementAndGet() }
                        .use { context.bind(X, it) }
                    if (step % EVERY == 0) System.gc()
                    context.infer()
                    expectEqual(step + 1f, z.buffer.asFloatBuffer().get(0))
                    if (step > 0) expectEqual(1, released[step - 1].get(), "replaced")
                    expectEqual(0, released[step].get(), "bound")
                }
            }
        }
        expect(released.all { it.get() == 1 }) { "each once: ${released.map { it.get() }.groupingBy { it }.eachCount()}" }
    }
