/*
 * Which notes begin in a recording? Asked of one network twice: as .onnx on ONNX Runtime and as .tflite on TFLite, by the same
 * code, and without copying the sound or the answers.
 *
 *     listen RECORDING MODELS
 *
 * The recording is a mapped file, and is lent to the engine window by window, where it lies. The answers land in buffers of
 * ours. In the end the binding reports tell whether it was so.
 */
package demo

import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.FloatBuffer
import java.nio.channels.FileChannel
import kotlin.math.abs
import kotlin.system.exitProcess
import zerobind.Model
import zerobind.Path
import zerobind.Slot
import zerobind.Zerobind
import zerobind.directBuffer

// The network's shape: about two seconds of sound in; for each of 172 frames and 88 keys of a piano, how sure it is, out.
private const val SAMPLE_RATE = 22050
private const val WINDOW = 43844
private const val FRAME = 256
private const val FRAMES = 172
private const val KEYS = 88
private const val LOWEST_PITCH = 21

/** Frames at a window's edges, where the network hears too little around. */
private const val MARGIN = 15

/** From window to window; in bytes a multiple of 64, so each window lies as engines ask. */
private const val HOP = (FRAMES - 2 * MARGIN) * FRAME

private const val THRESHOLD = 0.5f
private val NAMES = listOf("C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B")

/** The network has the same names in both formats. */
private const val ONSET = "StatefulPartitionedCall:2"

private data class Note(val frame: Int, val pitch: Int) {
    override fun toString() = "%s%d at %.2f s".format(NAMES[pitch % 12], pitch / 12 - 1, frame * FRAME.toDouble() / SAMPLE_RATE)
}

private class Heard(val engine: String, val notes: List<Note>, val onsets: List<FloatBuffer>, val milliseconds: List<Double>)

fun main(arguments: Array<String>) {
    val (recording, models) = arguments
    val sound = FileChannel.open(File(recording).toPath()).use { it.map(FileChannel.MapMode.READ_ONLY, 0, it.size()) }
        .order(ByteOrder.nativeOrder())
    val heard = listOf("basic_pitch.onnx", "basic_pitch_static.tflite").map { listen(File(models, it), sound) }
    for (one in heard) {
        val median = one.milliseconds.sorted()[one.milliseconds.size / 2]
        println("%-14s %d windows, %.1f ms each (median), %d notes begin".format(one.engine, one.onsets.size, median, one.notes.size))
    }
    println("the first: ${heard[0].notes.take(6).joinToString()}")
    val difference = heard[0].onsets.zip(heard[1].onsets)
        .maxOf { (a, b) -> (0 until FRAMES * KEYS).maxOf { abs(a.get(it) - b.get(it)) } }
    val agree = heard[0].notes == heard[1].notes && difference < 0.001f
    println("the engines ${if (agree) "agree" else "do not agree"}: largest difference %.7f".format(difference))
    println("0 bytes copied: every address was the engine's own (${Zerobind.backend}, Java ${System.getProperty("java.version")})")
    if (!agree || heard[0].notes.isEmpty()) exitProcess(1)
}

/** Lends every window that the recording has to the model. */
private fun listen(file: File, sound: ByteBuffer): Heard = Model.open(file).use { model ->
    model.context { threads = 1; copyPolicy = NEVER }.use { context ->
        val onsetSlot = model.output(ONSET)
        val outputs = model.outputs.map { it.slot to it.shape.last() }
        val milliseconds = ArrayList<Double>()
        val onsets = ArrayList<FloatBuffer>()
        val loans = context.loans()
        for (start in 0..(sound.capacity() / 4 - WINDOW) step HOP) {
            val window = sound.duplicate().order(ByteOrder.nativeOrder()).position(4 * start).limit(4 * (start + WINDOW))
            loans.input(Slot.input(0), window, longArrayOf(1, WINDOW.toLong(), 1))
            for ((slot, width) in outputs) {
                val place = directBuffer((4 * FRAMES * width).toInt()).asFloatBuffer()
                loans.output(slot, place, longArrayOf(1, FRAMES.toLong(), width))
                if (slot == onsetSlot) onsets += place
            }
            val began = System.nanoTime()
            context.infer(loans)
            milliseconds += (System.nanoTime() - began) / 1e6
            for (slot in outputs.map { it.first } + Slot.input(0)) {
                val report = context.report(slot)
                check(report.path == Path.DIRECT && report.hostAddress == report.engineAddress) { "$slot was not used in place: $report" }
            }
        }
        check(context.stats.bytesCopied == 0L) { "bytes were copied: ${context.stats}" }
        Heard(model.engine.name, notes(onsets), onsets, milliseconds)
    }
}

/** A note begins where the onset is high, and higher than before and after. */
private fun notes(onsets: List<FloatBuffer>): List<Note> = onsets.flatMapIndexed { window, onset ->
    (MARGIN until FRAMES - MARGIN).flatMap { row ->
        (0 until KEYS).filter { key ->
            val here = onset.get(row * KEYS + key)
            here >= THRESHOLD && here > onset.get((row - 1) * KEYS + key) && here >= onset.get((row + 1) * KEYS + key)
        }.map { Note(window * (HOP / FRAME) + row, LOWEST_PITCH + it) }
    }
}
