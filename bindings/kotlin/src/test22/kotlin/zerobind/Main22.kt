package zerobind.ffm

import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_FLOAT
import java.util.concurrent.atomic.AtomicInteger
import zerobind.*

/** What only Java 22 and newer has. */
fun main() {
    println("backend ${Zerobind.backend}, Java ${System.getProperty("java.version")}")
    val runner = Runner(null)
    runner.run(segments)
    runner.run(halves)
    runner.finish()
}

private fun segment(arena: Arena, vararg values: Float): MemorySegment =
    arena.allocate(128, 64).asSlice(0, 4L * values.size).also { MemorySegment.copy(values, 0, it, JAVA_FLOAT, 0, values.size) }

private fun MemorySegment.list() = toArray(JAVA_FLOAT).toList()

private val segments: List<Test> =
    onBoth("segments lent, of any arena") { format ->
        withAdd4(format) { context ->
            Arena.ofConfined().use { arena ->
                val z = segment(arena, 0f, 0f, 0f, 0f)
                val loans = context.loans().input(X, segment(arena, 1f, 2f, 3f, 4f)).input(Y, segment(arena, 1f, 1f, 1f, 1f))
                    .output(Z, z)
                context.infer(loans)
                expectEqual(listOf(2f, 3f, 4f, 5f), z.list())
                expectEqual(z.address(), context.report(Z).engineAddress)
                expectStatus(Status.READ_ONLY) { loans.output(Z, z.asReadOnly()) }
            }
            expectStatus(Status.COPY_REQUIRED, "heap") { memoryOf(MemorySegment.ofArray(FloatArray(4))) }
        }
    } + onBoth("segments given: an automatic arena stays until the release") { format ->
        val released = AtomicInteger()
        withAdd4(format) { context ->
            fun give(slot: Slot, vararg values: Float) =
                Tensor.wrap(segment(Arena.ofAuto(), *values), DType.F32, 4) { released.incrementAndGet() }.use { context.bind(slot, it) }
            give(X, 1f, 2f, 3f, 4f)
            give(Y, 1f, 1f, 1f, 1f)
            val z = segment(Arena.ofAuto(), 0f, 0f, 0f, 0f)
            Tensor.wrap(z, DType.F32, 4).use { context.bind(Z, it) }
            repeat(20) {
                System.gc()
                repeat(20) { segment(Arena.ofAuto(), Float.NaN, Float.NaN) }
                context.infer()
                expectEqual(listOf(2f, 3f, 4f, 5f), z.list())
            }
            expectEqual(0, released.get())
            Arena.ofConfined().use { arena ->
                expectStatus(Status.INVALID_ARGUMENT, "confined") { Tensor.wrap(segment(arena, 1f), DType.F32, 1) }
            }
        }
        expectEqual(2, released.get())
    }

private val halves: List<Test> = listOf(
    Test("every half, and many floats, as the JVM converts them") {
        for (bits in 0..0xffff) {
            val (ours, theirs) = Half.toFloat(bits.toShort()) to java.lang.Float.float16ToFloat(bits.toShort())
            expect(ours.toRawBits() == theirs.toRawBits() || ours.isNaN() && theirs.isNaN()) { "$bits: $ours, $theirs" }
        }
        // all exponents, and the fractions around every rounding
        for (high in 0..0xffff) for (low in intArrayOf(0, 1, 0xfff, 0x1000, 0x1001, 0x7fff, 0x8000, 0xffff)) {
            val value = Float.fromBits((high shl 16) or low)
            if (value.isNaN()) continue
            val (ours, theirs) = Half.fromFloat(value) to java.lang.Float.floatToFloat16(value)
            expect(ours == theirs) { "$value: $ours, $theirs" }
        }
    },
)
