package zerobind

import java.io.File

private const val SAMPLES = 43844
private const val FRAMES = 172L

private fun bits(file: File): List<Int> = read(file).asIntBuffer().let { ints -> List(ints.remaining()) { ints.get(it) } }

val pitch: List<Test> =
    onBoth("basic-pitch from a direct buffer is C's result, bit for bit") { format ->
        val sound = Place.reference("basic_pitch.music.input.bin")
        Model.open(Place.network(format)).use { model ->
            val columns = model.outputs.map { it.shape.last() }
            val prefix = File(Place.folder, "pitch.${format.ending}").path
            inC("run", Place.network(format), sound.path, prefix, "$FRAMES", *columns.map { "$it" }.toTypedArray())
            model.context().use { context ->
                val loans = context.loans().input(X, read(sound).asFloatBuffer(), longArrayOf(1, SAMPLES.toLong(), 1))
                val results = columns.mapIndexed { at, width ->
                    directBuffer((4 * FRAMES * width).toInt()).also {
                        loans.output(Slot.output(at), it.asFloatBuffer(), longArrayOf(1, FRAMES, width))
                    }
                }
                context.infer(loans)
                results.forEachIndexed { at, result ->
                    val kotlin = result.asIntBuffer().let { ints -> List(ints.remaining()) { ints.get(it) } }
                    val c = bits(File("$prefix.$at"))
                    expect(c.any { it != 0 }) { "C computed something" }
                    expect(kotlin == c) { "output $at differs from C's in ${kotlin.zip(c).count { (a, b) -> a != b }} of ${c.size} values" }
                    expectEqual(Path.DIRECT, context.report(Slot.output(at)).path)
                }
                expectEqual(0L, context.stats.bytesCopied)
            }
        }
    }
