package zerobind

import java.util.concurrent.atomic.AtomicIntegerArray

/** Steps of the stress, and one garbage collection for so many of them. */
private val LOANS = Integer.getInteger("zerobind.test.loans", 1_000)
private val EVERY = Integer.getInteger("zerobind.test.gc", 1)

private class Random(private var state: Int) {
    fun next(bound: Int): Int {
        state = state * 1_664_525 + 1_013_904_223
        return (state ushr 8) % bound
    }
}

/** Collects garbage at one of the [places] of each step, in turns, and has other direct memory take the place of what is freed. */
private class Collector(private val places: Int) {
    private val random = Random(7)
    private val kept = ArrayDeque<Any>()

    fun at(place: Int, step: Int) {
        if (step % EVERY != 0 || step / EVERY % places != place) return
        System.gc()
        churn()
        // some buffers live on for a while
        kept += directBuffer(64 * random.next(8))
        while (kept.size > 50) kept.removeFirst()
    }
}

/**
 * Each step lends fresh memory to one run, and binds other fresh memory, which from then on only zerobind holds, in place of
 * that of the step before, which is released then and there.
 */
val stress: List<Test> =
    onBoth("loans and bindings under the garbage collector: each released once") { format ->
        val released = AtomicIntegerArray(LOANS)
        val collector = Collector(4)
        withAdd4(format) { context ->
            val own = context.loans()
            repeat(LOANS) { step ->
                val (y, z) = List(2) { floats(step.toFloat(), 1f, 2f, 3f) }
                collector.at(0, step)
                Tensor.wrap(floats(step.toFloat(), 1f, 2f, 3f), DType.F32, 4) { released.incrementAndGet(step) }.use { x ->
                    collector.at(1, step)
                    context.bind(X, x)
                }
                if (step > 0) expectEqual(1, released[step - 1], "replaced")
                collector.at(2, step)
                // by name, by a set of loans, and with all of them lent
                when (step % 3) {
                    0 -> context.infer(mapOf("y" to y), mapOf("z" to z))
                    1 -> context.infer(own.input(Y, y).output(Z, z))
                    else -> context.infer(listOf(floats(step.toFloat(), 1f, 2f, 3f), y), listOf(z))
                }
                collector.at(3, step)
                expectEqual(listOf(2f * step, 2f, 4f, 6f), z.list())
                expectEqual(0, released[step], "bound")
            }
            expectEqual(LOANS.toLong(), context.stats.runs)
            expectEqual(0L, context.stats.bytesCopied)
        }
        for (step in 0 until LOANS) expectEqual(1, released[step], "step $step")
    }
