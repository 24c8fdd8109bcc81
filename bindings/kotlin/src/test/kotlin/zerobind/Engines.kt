package zerobind

import java.io.File
import java.nio.ByteBuffer
import java.nio.FloatBuffer

/** A format, by the ending of its models. */
enum class Format(val ending: String) { ONNX("onnx"), TFLITE("tflite") }

/** Where models and reference data are, and the program in C. */
object Place {
    private fun variable(name: String) = System.getenv(name) ?: throw AssertionError("$name is not set; use make test-kotlin")
    fun model(name: String, format: Format) = File(variable("ZB_TEST_MODELS"), "$name.${format.ending}").path

    /** basic-pitch. The published TFLite file computes shapes in the run, and could not write where we want; the prepared one can. */
    fun network(format: Format) = model(if (format == Format.ONNX) "basic_pitch" else "basic_pitch_static", format)
    fun reference(name: String) = File(variable("ZB_TEST_REFERENCE"), name)
    val program get() = variable("ZB_KOTLIN_REFERENCE")
    val folder: File by lazy { File(variable("ZB_KOTLIN_FOLDER")).apply { mkdirs() } }
}

/** The same test on both engines. */
fun onBoth(name: String, body: (Format) -> Unit): List<Test> =
    Format.entries.map { format -> Test("$name, ${format.ending}") { body(format) } }

/** A context of z = x + y, four floats each. */
fun <R> withAdd4(format: Format, configure: ContextOptions.() -> Unit = {}, body: (Context) -> R): R =
    Model.open(Place.model("add4", format)).use { model -> model.context(configure).use(body) }

/** Binds a window of silence and places for what comes out to a network that takes long enough to be met in a run. */
fun <R> withPitch(format: Format, body: (Context) -> R): R {
    return Model.open(Place.network(format)).use { model ->
        model.context().use { context ->
            context.resize(X, 1, 43844, 1)
            context.bindNew(X).close()
            body(context)
        }
    }
}

val X = Slot.input(0)
val Y = Slot.input(1)
val Z = Slot.output(0)

/** A direct buffer of floats. */
fun floats(vararg values: Float): FloatBuffer = directBuffer(4 * values.size).asFloatBuffer().apply {
    put(values)
    flip()
}

fun FloatBuffer.list(): List<Float> = List(remaining()) { get(position() + it) }

fun ByteBuffer.floats(): List<Float> = duplicate().order(order()).asFloatBuffer().list()

/** The bytes of a file in a direct buffer. */
fun read(file: File): ByteBuffer = file.readBytes().let { directBuffer(it.size).apply { put(it).flip() } }

/** What the program in C prints. */
fun inC(vararg arguments: String): String {
    val process = ProcessBuilder(Place.program, *arguments).redirectErrorStream(true).start()
    val text = process.inputStream.bufferedReader().readText()
    expect(process.waitFor() == 0) { "the program in C failed: $text" }
    return text
}
