package zerobind

import zerobind.internal.Layout

/** What the C compiler says, by the names that the Kotlin side has for it. */
private val layouts = mapOf(
    "zb_tensor_desc" to Layout.Desc.SIZE, "zb_tensor_desc.dtype" to Layout.Desc.DTYPE, "zb_tensor_desc.rank" to Layout.Desc.RANK,
    "zb_tensor_desc.dims" to Layout.Desc.DIMS,
    "zb_runtime_info" to Layout.RuntimeInfo.SIZE, "zb_runtime_info.available" to Layout.RuntimeInfo.AVAILABLE,
    "zb_runtime_info.version" to Layout.RuntimeInfo.VERSION, "zb_runtime_info.path" to Layout.RuntimeInfo.PATH,
    "zb_runtime_info.reason" to Layout.RuntimeInfo.REASON,
    "zb_option" to Layout.Option.SIZE, "zb_option.key" to Layout.Option.KEY, "zb_option.value" to Layout.Option.VALUE,
    "zb_model_options" to Layout.ModelOptions.SIZE, "zb_model_options.runtime" to Layout.ModelOptions.RUNTIME,
    "zb_model_options.sha256" to Layout.ModelOptions.SHA256,
    "zb_model_options.max_tensor_bytes" to Layout.ModelOptions.MAX_TENSOR_BYTES,
    "zb_slot_info" to Layout.SlotInfo.SIZE, "zb_slot_info.flags" to Layout.SlotInfo.FLAGS,
    "zb_slot_info.desc" to Layout.SlotInfo.DESC, "zb_slot_info.size" to Layout.SlotInfo.BYTES,
    "zb_slot_info.name" to Layout.SlotInfo.NAME, "zb_slot_info.dim_names" to Layout.SlotInfo.DIM_NAMES,
    "zb_slot_info.scales" to Layout.SlotInfo.SCALES, "zb_slot_info.zero_points" to Layout.SlotInfo.ZERO_POINTS,
    "zb_slot_info.quantization_count" to Layout.SlotInfo.QUANTIZATION_COUNT,
    "zb_slot_info.quantization" to Layout.SlotInfo.QUANTIZATION,
    "zb_slot_info.quantization_axis" to Layout.SlotInfo.QUANTIZATION_AXIS,
    "zb_context_options" to Layout.ContextOptions.SIZE, "zb_context_options.threads" to Layout.ContextOptions.THREADS,
    "zb_context_options.copy_policy" to Layout.ContextOptions.COPY_POLICY,
    "zb_context_options.flags" to Layout.ContextOptions.FLAGS, "zb_context_options.options" to Layout.ContextOptions.OPTIONS,
    "zb_context_options.option_count" to Layout.ContextOptions.OPTION_COUNT,
    "zb_requirements" to Layout.Requirements.SIZE, "zb_requirements.size" to Layout.Requirements.BYTES,
    "zb_requirements.alignment" to Layout.Requirements.ALIGNMENT, "zb_requirements.slack" to Layout.Requirements.SLACK,
    "zb_requirements.rebind" to Layout.Requirements.REBIND,
    "zb_binding_report" to Layout.BindingReport.SIZE, "zb_binding_report.path" to Layout.BindingReport.PATH,
    "zb_binding_report.bytes_copied" to Layout.BindingReport.BYTES_COPIED,
    "zb_binding_report.host_address" to Layout.BindingReport.HOST_ADDRESS,
    "zb_binding_report.engine_address" to Layout.BindingReport.ENGINE_ADDRESS,
    "zb_binding_report.reason" to Layout.BindingReport.REASON,
    "zb_context_stats" to Layout.ContextStats.SIZE, "zb_context_stats.runs" to Layout.ContextStats.RUNS,
    "zb_context_stats.bytes_copied" to Layout.ContextStats.BYTES_COPIED,
    "zb_context_stats.rebinds" to Layout.ContextStats.REBINDS,
    "zb_context_stats.allocations" to Layout.ContextStats.ALLOCATIONS,
    "zb_context_stats.last_run_ns" to Layout.ContextStats.LAST_RUN_NS,
    "zb_infer_options" to Layout.InferOptions.SIZE, "zb_infer_options.deadline_ns" to Layout.InferOptions.DEADLINE_NS,
    "zb_loan" to Layout.Loan.SIZE, "zb_loan.slot" to Layout.Loan.SLOT, "zb_loan.flags" to Layout.Loan.FLAGS,
    "zb_loan.data" to Layout.Loan.DATA, "zb_loan.size" to Layout.Loan.BYTES, "zb_loan.capacity" to Layout.Loan.CAPACITY,
    "zb_loan.desc" to Layout.Loan.DESC,
    "zb_queue_options" to Layout.QueueOptions.SIZE, "zb_queue_options.capacity" to Layout.QueueOptions.CAPACITY,
    "zb_slot_tensor" to Layout.SlotTensor.SIZE, "zb_slot_tensor.slot" to Layout.SlotTensor.SLOT,
    "zb_slot_tensor.tensor" to Layout.SlotTensor.TENSOR,
)

private fun refused(call: () -> Unit) = expectStatus(Status.INVALID_ARGUMENT, "holds whole numbers in", call = call)

val types: List<Test> = listOf(
    Test("structs are laid out as the C compiler does") {
        val c = inC("layout").trim().lines().associate { line -> line.split(' ').let { it[0] to it[1].toInt() } }
        expectEqual(c.toSortedMap().toString(), layouts.toSortedMap().toString())
    },
    Test("types and statuses are those of the library") {
        for (status in Status.entries) {
            if (status == Status.UNKNOWN || status == Status.OK) continue
            expectEqual("ZB_ERROR_$status", failure(status.code, "").statusName)
        }
        expectEqual("ZB_ERROR_?", failure(Status.entries.size - 1, "").statusName, "there are no more")
        expectEqual(Status.UNKNOWN, failure(4711, "").status)
        for (dtype in DType.entries) {
            if (dtype.bits == 0) continue
            expectEqual(dtype.bytes(3), Tensor.allocate(dtype, 3).use { it.buffer.remaining().toLong() }, dtype.name)
        }
    },
    Test("unsigned and small integers by their values") {
        for ((dtype, low, high) in listOf(
            Triple(DType.U8, 0L, 255L), Triple(DType.I8, -128L, 127L), Triple(DType.U16, 0L, 65535L),
            Triple(DType.I16, -32768L, 32767L), Triple(DType.U32, 0L, 4294967295L), Triple(DType.I4, -8L, 7L),
            Triple(DType.U4, 0L, 15L), Triple(DType.BOOL, 0L, 1L), Triple(DType.I32, -2147483648L, 2147483647L),
        )) {
            Tensor.allocate(dtype, 3).use { tensor ->
                val elements = tensor.elements
                elements[1] = low
                elements[2] = high
                expectEqual(listOf(0L, low, high), List(3) { elements.long(it) }, dtype.name)
                expectEqual(high.toDouble(), elements.double(2))
                refused { elements[0] = high + 1 }
                refused { elements[0] = low - 1 }
                refused { elements[0] = 0.5f }
                refused { elements[0] = Float.NaN }
                expectEqual(listOf(0L, low, high), List(3) { elements.long(it) }, "a refused value writes nothing: $dtype")
            }
        }
        // 200 as u8 is the byte -56
        Tensor.copyOf(byteArrayOf(-56), DType.U8, 1).use { expectEqual(200L, it.elements.long(0)) }
    },
    Test("64-bit integers") {
        Tensor.allocate(DType.U64, 2).use { tensor ->
            val elements = tensor.elements
            elements[0] = ULong.MAX_VALUE
            expectEqual(ULong.MAX_VALUE, elements.uLong(0))
            expectEqual(1.8446744073709552E19, elements.double(0))
            expectStatus(Status.INVALID_ARGUMENT, "18446744073709551615") { elements.long(0) }
            refused { elements[1] = -1L }
            refused { elements[1] = 1e30 }
        }
        Tensor.allocate(DType.I64, 2).use { tensor ->
            tensor.elements[0] = Long.MIN_VALUE
            expectEqual(Long.MIN_VALUE, tensor.elements.long(0))
            expectStatus(Status.INVALID_ARGUMENT, "negative") { tensor.elements.uLong(0) }
            refused { tensor.elements[1] = 9.223372036854775807E18 }
            refused { tensor.elements[1] = ULong.MAX_VALUE }
        }
    },
    Test("halves") {
        // IEEE 754: 1, -2, the largest, the smallest normal and the smallest of all, infinity
        for ((value, bits) in listOf(1f to 0x3c00, -2f to 0xc000, 65504f to 0x7bff, 6.1035156e-5f to 0x0400, 5.9604645e-8f to 1,
            Float.POSITIVE_INFINITY to 0x7c00, 0f to 0, -0f to 0x8000)) {
            expectEqual(bits.toShort(), Half.fromFloat(value), "$value")
            expectEqual(value, Half.toFloat(bits.toShort()), "$bits")
        }
        expectEqual(0x7c00.toShort(), Half.fromFloat(65520f), "rounded beyond the largest")
        expectEqual(0x7bff.toShort(), Half.fromFloat(65519f))
        expectEqual(0.toShort(), Half.fromFloat(2.9802322e-8f), "half of the smallest is nearer to even 0")
        expectEqual(0x3c00.toShort(), Half.fromFloat(1f + 1f / 2048), "a tie goes to even")
        expectEqual(0x3c02.toShort(), Half.fromFloat(1f + 3f / 2048))
        expect(Half.toFloat(Half.fromFloat(Float.NaN)).isNaN()) { "NaN" }
        for (bits in 0..0xffff) {
            val value = Half.toFloat(bits.toShort())
            if (!value.isNaN()) expectEqual(bits.toShort(), Half.fromFloat(value), "round trip of $bits")
        }
        expectEqual(0x3f80.toShort(), Half.bfloatFromFloat(1f))
        expectEqual(0x3f80.toShort(), Half.bfloatFromFloat(1f + 1f / 256), "a tie goes to even")
        expectEqual(-3.5f, Half.bfloatToFloat(Half.bfloatFromFloat(-3.5f)))
        expect(Half.bfloatToFloat(Half.bfloatFromFloat(Float.NaN)).isNaN()) { "NaN" }
    },
    Test("a model of whole numbers, in place") {
        Model.open(Place.model("add_i32", Format.ONNX)).use { model ->
            model.context().use { context ->
                val (x, y, z) = List(3) { directBuffer(32).asIntBuffer() }
                x.put(7, Int.MAX_VALUE - 1)
                y.put(7, 1)
                context.infer(listOf(x, y), listOf(z))
                expectEqual(Int.MAX_VALUE, z.get(7))
                expectStatus(Status.DTYPE_MISMATCH, "i32", "f32") { context.infer(listOf(floats(1f), y), listOf(z)) }
            }
        }
    },
)
