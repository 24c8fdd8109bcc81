package demo

import zerobind.*

fun main(arguments: Array<String>) {                // add4.onnx or add4.tflite: z = x + y, four floats each
    Model.open(arguments[0]).use { model ->
        model.context { threads = 2; copyPolicy = NEVER }.use { context ->
            val (x, y, z) = List(3) { directBuffer(16).asFloatBuffer() }
            x.put(floatArrayOf(1f, 2f, 3f, 4f)).flip()
            y.put(floatArrayOf(10f, 20f, 30f, 40f)).flip()

            context.infer(inputs = listOf(x, y), outputs = listOf(z))   // lent for this call, wherever they are
            println(List(4) { z.get(it) })                              // [11.0, 22.0, 33.0, 44.0]
            println(context.report(Slot.output(0)))                     // DIRECT, 0 bytes copied, both addresses

            Tensor.wrap(z, DType.F32, 4).use { context.bind(Slot.input(0), it) }   // stays at its place: bound once
            val sum = context.bindNew(Slot.output(0))
            context.infer(inputs = mapOf("y" to y), outputs = mapOf())
            println(sum.use { List(4) { at -> it.elements.float(at) } })           // [21.0, 42.0, 63.0, 84.0]
        }
    }
}
