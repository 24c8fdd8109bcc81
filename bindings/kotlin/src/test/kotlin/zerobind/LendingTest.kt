package zerobind

import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.FloatBuffer

val lending: List<Test> =
    onBoth("loans at new addresses every call") { format ->
        withAdd4(format) { context ->
            repeat(20) { step ->
                val z = floats(0f, 0f, 0f, 0f)
                context.infer(listOf(floats(1f, 2f, 3f, step.toFloat()), floats(10f, 20f, 30f, 40f)), listOf(z))
                expectEqual(listOf(11f, 22f, 33f, 40f + step), z.list())
                val report = context.report(Z)
                expectEqual(Path.DIRECT, report.path)
                expectEqual(0L, report.bytesCopied)
                expectEqual(Memory.of(z).address, report.hostAddress)
                expectEqual(Memory.of(z).address, report.engineAddress)
            }
            expectEqual(20L, context.stats.runs)
        }
    } + onBoth("loans by name and prepared ones") { format ->
        withAdd4(format) { context ->
            val z = floats(0f, 0f, 0f, 0f)
            context.infer(mapOf("y" to floats(1f, 1f, 1f, 1f), "x" to floats(1f, 2f, 3f, 4f)), mapOf("z" to z))
            expectEqual(listOf(2f, 3f, 4f, 5f), z.list())
            expectStatus(Status.NOT_FOUND, "'q'", "'x', 'y'") { context.infer(mapOf("q" to z), mapOf()) }

            val x = floats(1f, 1f, 1f, 1f)
            val loans = context.loans().input(X, x).input(Y, x).output(Z, z)
            context.infer(loans)
            expectEqual(listOf(2f, 2f, 2f, 2f), z.list())
            x.put(0, 5f)
            context.infer(loans)
            expectEqual(listOf(10f, 2f, 2f, 2f), z.list())
        }
    } + onBoth("a loan with a shape of too many dimensions is none") { format ->
        withAdd4(format) { context ->
            val good = floats(1f, 1f, 1f, 1f)
            val loans = context.loans().input(Y, good).output(Z, floats(0f, 0f, 0f, 0f))
            try {
                loans.input(X, good, LongArray(17) { 1 })
                throw AssertionError("17 dimensions were taken")
            } catch (e: IllegalArgumentException) {
                expect("17" in e.message.orEmpty()) { "${e.message}" }
            }
            expectStatus(Status.UNBOUND, "'x'") { context.infer(loans) }
            // and what was lent before stays lent
            loans.input(X, good)
            runCatching { loans.input(X, directBuffer(64), LongArray(17) { 1 }) }
            System.gc()
            churn()
            context.infer(loans)
        }
    } + onBoth("part of a buffer, where it lies") { format ->
        withAdd4(format) { context ->
            val all = directBuffer(3 * 64).asFloatBuffer()
            for (at in 0 until 48) all.put(at, at.toFloat())
            val (x, y, z) = List(3) { part -> all.duplicate().position(16 * part).limit(16 * part + 4) as FloatBuffer }
            context.infer(listOf(x, y), listOf(z))
            expectEqual(listOf(16f, 18f, 20f, 22f), z.list())
            expectEqual(36f, all.get(36))
            expectEqual(0, x.position() - 0, "positions stay")
        }
    } + onBoth("what is refused") { format ->
        withAdd4(format) { context ->
            val good = floats(1f, 2f, 3f, 4f)
            val out = floats(0f, 0f, 0f, 0f)
            expectStatus(Status.COPY_REQUIRED, "garbage collector", "directBuffer", "copyOf") {
                context.infer(listOf(FloatBuffer.wrap(floatArrayOf(1f, 2f, 3f, 4f)), good), listOf(out))
            }
            expectStatus(Status.INVALID_ARGUMENT, "BIG_ENDIAN", "nativeOrder") {
                context.infer(listOf(ByteBuffer.allocateDirect(16).order(ByteOrder.BIG_ENDIAN).asFloatBuffer(), good), listOf(out))
            }
            expectStatus(Status.DTYPE_MISMATCH, "input 0", "f32", "i32 or u32") {
                context.infer(listOf(directBuffer(16).asIntBuffer(), good), listOf(out))
            }
            expectStatus(Status.SHAPE_MISMATCH) { context.infer(listOf(floats(1f, 2f, 3f), good), listOf(out)) }
            expectStatus(Status.READ_ONLY, "output 0") { context.infer(listOf(good, good), listOf(out.asReadOnlyBuffer())) }
            expectStatus(Status.UNBOUND) { context.infer(listOf(good), listOf(out)) }
            expectStatus(Status.ALIASED) { context.infer(listOf(good, good), listOf(good)) }
            expectStatus(Status.INVALID_ARGUMENT) { context.infer(listOf(good, good, good), listOf(out)) }
            expectEqual(listOf(0f, 0f, 0f, 0f), out.list(), "nothing was written")
            context.infer(listOf(good.asReadOnlyBuffer(), good), listOf(out))
            expectEqual(listOf(2f, 4f, 6f, 8f), out.list(), "and it runs all the same")
        }
    } + Test("a misaligned buffer fails on TFLite, or is copied where that is allowed") {
        val odd = directBuffer(128).position(4).limit(20).let { it as ByteBuffer }
        val good = floats(1f, 1f, 1f, 1f)
        val z = floats(0f, 0f, 0f, 0f)
        withAdd4(Format.TFLITE) { context ->
            expectStatus(Status.MISALIGNED, "64") { context.infer(listOf(odd, good), listOf(z)) }
        }
        withAdd4(Format.TFLITE, { copyPolicy = ALLOW }) { context ->
            context.infer(listOf(odd, good), listOf(z))
            expectEqual(listOf(1f, 1f, 1f, 1f), z.list())
            expectEqual(Path.STAGED, context.report(X).path)
            expectEqual(16L, context.report(X).bytesCopied)
            expect(context.report(X).reason != null) { "a copy has a reason" }
            expectEqual(Path.DIRECT, context.report(Z).path)
        }
        withAdd4(Format.ONNX) { context ->
            context.infer(listOf(odd, good), listOf(z))
            expectEqual(Path.DIRECT, context.report(X).path)
        }
    } + Test("more loans than there was room for, with shapes") {
        Model.open(Place.model("add4", Format.ONNX)).use { model ->
            model.context().use { context ->
                val loans = context.loans()
                // one of each number; only three exist, which the run tells
                repeat(9) { loans.input(Slot.input(it), floats(1f, 1f, 1f, 1f), longArrayOf(4)) }
                expectStatus(Status.INVALID_ARGUMENT) { context.infer(loans) }
                loans.clear()
                val z = floats(0f, 0f, 0f, 0f)
                loans.input(X, floats(1f, 2f, 3f, 4f), longArrayOf(4)).input(Y, floats(1f, 1f, 1f, 1f), longArrayOf(4))
                    .output(Z, z, longArrayOf(4))
                context.infer(loans)
                expectEqual(listOf(2f, 3f, 4f, 5f), z.list())
            }
        }
    }
