package zerobind

import java.nio.ByteBuffer

val binding: List<Test> =
    onBoth("bound tensors, swap and unbind") { format ->
        withAdd4(format) { context ->
            val x = Tensor.copyOf(floatArrayOf(1f, 2f, 3f, 4f), 4).apply { use { context.bind(X, it) } }
            Tensor.copyOf(floatArrayOf(10f, 10f, 10f, 10f), 4).use { context.bind(Y, it) }
            context.bindNew(Z).use { z ->
                context.infer()
                expectEqual(listOf(11f, 12f, 13f, 14f), z.buffer.floats())
                // what came out goes in again, without a copy, and the next result lands where the first input was
                context.swap(Z, X)
                context.infer()
                expectEqual(listOf(21f, 22f, 23f, 24f), x.elements.let { e -> List(4) { e.float(it) } })
                expectEqual(Memory.of(x.buffer).address, context.report(Z).engineAddress)
                expectEqual(0L, context.stats.bytesCopied)
                context.unbind(Y)
                expectStatus(Status.UNBOUND, "y") { context.infer() }
            }
        }
    } + onBoth("a model in a direct buffer") { format ->
        var released = 0
        val model = Model.open(read(java.io.File(Place.model("add4", format))), { released++ }) {
            sha256 = java.security.MessageDigest.getInstance("SHA-256")
                .digest(java.io.File(Place.model("add4", format)).readBytes())
        }
        val context = model.context()
        expectEqual(if (format == Format.ONNX) Engine.ONNXRUNTIME else Engine.TFLITE, model.engine)
        model.close()
        val z = floats(0f, 0f, 0f, 0f)
        context.infer(listOf(floats(1f, 1f, 1f, 1f), floats(2f, 2f, 2f, 2f)), listOf(z))
        expectEqual(listOf(3f, 3f, 3f, 3f), z.list())
        expectEqual(0, released)
        context.close()
        expectEqual(1, released)

        Model.openCopy(java.io.File(Place.model("add4", format)).readBytes()).use { expectEqual(2, it.inputs.size) }
        expectStatus(Status.MODEL_INVALID, "SHA-256") {
            Model.open(Place.model("add4", format)) { sha256 = ByteArray(32) { 1 } }
        }
        expectStatus(Status.COPY_REQUIRED, "heap") { Model.open(ByteBuffer.allocate(64)) }
    } + onBoth("what a model says") { format ->
        Model.open(Place.model("add4", format)).use { model ->
            expectEqual(listOf("x", "y"), model.inputs.map { it.name })
            expectEqual(SlotInfo(Z, "z", DType.F32, listOf(4), 16, emptySet(), null, null), model.outputs.single())
            expectEqual(Y, model.input("y"))
            expectEqual(Z, model.output("z"))
            expectStatus(Status.NOT_FOUND, "x", "y") { model.input("nothing") }
            expect(model.metadata("zerobind.keys").isNotEmpty()) { "a model has something to say" }
            expectStatus(Status.NOT_FOUND) { model.metadata("no such key") }
            model.context { threads = 2; copyPolicy = NEVER }.use { context ->
                val needs = context.requirements(X)
                expectEqual(16L, needs.size)
                expect(needs.alignment in listOf(1L, 4L, 64L)) { "alignment ${needs.alignment}" }
            }
            expectStatus(Status.NOT_FOUND, "no.such.option") { model.context { options["no.such.option"] = "1" }.close() }
        }
    } + Test("a file that is not there, and texts that cannot be passed on") {
        expectStatus(Status.IO, "no such model") { Model.open("/no such model") }
        try {
            Model.open("a\u0000b")
            throw AssertionError("a path with a NUL was taken")
        } catch (_: IllegalArgumentException) {
            // as it should be
        }
        val info = Zerobind.engineInfo(Engine.ONNXRUNTIME)
        expect(info.isAvailable && info.version != null) { "$info" }
        expect(Regex("[0-9]+[.][0-9]+[.][0-9]+").matches(Zerobind.version)) { Zerobind.version }
    } + Test("open dimensions: resize, shapes of loans") {
        Model.open(Place.model("basic_pitch", Format.ONNX)).use { model ->
            expect(-1L in model.inputs.single().shape) { "${model.inputs}" }
            expect(SlotFlag.DYNAMIC in model.inputs.single().flags) { "${model.inputs}" }
            model.context().use { context ->
                expectStatus(Status.SHAPE_MISMATCH) { context.prepare() }
                context.resize(X, 1, 43844, 1)
                context.prepare()
                expectEqual(listOf(1L, 43844L, 1L), context.info(X).shape)
                context.tensorFor(X).use { expectEqual(43844 * 4, it.buffer.remaining()) }
            }
        }
    } + Test("quantization, as the model has it") {
        Model.open(Place.model("okay_nabu", Format.TFLITE)).use { model ->
            val quantization = model.inputs.first().quantization
            expect(quantization != null && quantization.scales.single() > 0 && quantization.axis == null) { "$quantization" }
        }
    } + Test("a buffer whose position moves later is where it was") {
        val bytes = directBuffer(32)
        bytes.position(16)
        val memory = Memory.of(bytes)
        Tensor.wrap(bytes, DType.I32, 4).use { tensor ->
            bytes.position(0)
            bytes.putInt(16, 7)
            expectEqual(7L, tensor.elements.long(0))
            Tensor.wrap(memory, DType.I32, 4).use { expectEqual(7L, it.elements.long(0)) }
            expectEqual(16, tensor.buffer.remaining())
        }
    } + Test("refused tensors") {
        expectStatus(Status.SHAPE_MISMATCH) { Tensor.wrap(floats(1f, 2f), DType.F32, 3).close() }
        expectStatus(Status.DTYPE_MISMATCH, "FloatBuffer") { Tensor.wrap(floats(1f, 2f), DType.I32, 2).close() }
        expectStatus(Status.SHAPE_MISMATCH, "3") { Tensor.copyOf(floatArrayOf(1f, 2f, 3f), 2).close() }
        expectStatus(Status.COPY_REQUIRED, "copyOf") { Tensor.wrap(ByteBuffer.wrap(ByteArray(8)), DType.F32, 2).close() }
        withAdd4(Format.ONNX) { context ->
            Tensor.wrap(floats(1f, 2f, 3f, 4f).asReadOnlyBuffer(), DType.F32, 4).use { tensor ->
                context.bind(X, tensor)
                expectStatus(Status.READ_ONLY) { context.bind(Z, tensor) }
            }
        }
    }
