//! Operators that take or make quantized tensors, with the inputs that say how they are.

/// An operand that is quantized, by the numbers of the inputs.
pub struct Operand {
    data: usize,
    pub scale: usize,
    pub zero_point: usize,
    pub axis: Axis,
}

/// The axis that more than one scale is for.
#[derive(Clone, Copy)]
pub enum Axis {
    /// There is one scale only.
    None,
    Fixed(i64),
    Attribute,
}

pub struct Operator {
    domain: &'static [u8],
    name: &'static [u8],
    reads: &'static [Operand],
    /// How the first output is quantized.
    pub writes: Option<Operand>,
}

impl Operator {
    pub fn find(domain: &[u8], name: &[u8]) -> Option<&'static Operator> {
        let domain = if domain == b"ai.onnx" { b"" } else { domain };
        OPERATORS.iter().find(|operator| operator.name == name && operator.domain == domain)
    }

    /// The quantized operand that is this input.
    pub fn reads(&self, input: usize) -> Option<&'static Operand> {
        self.reads.iter().find(|operand| operand.data == input)
    }
}

const STANDARD: &[u8] = b"";
/// What the engine's own tools for quantizing write where the standard set has nothing, or had nothing for 16 bits.
const MICROSOFT: &[u8] = b"com.microsoft";

/// Data, scale and zero point in a row.
const fn row(data: usize, axis: Axis) -> Operand {
    Operand { data, scale: data + 1, zero_point: data + 2, axis }
}

/// The result, whose scale and zero point are inputs.
const fn result(scale: usize, axis: Axis) -> Option<Operand> {
    Some(Operand { data: 0, scale, zero_point: scale + 1, axis })
}

const ONE: &[Operand] = &[row(0, Axis::None)];
const TWO: &[Operand] = &[row(0, Axis::None), row(3, Axis::None)];
/// Weights have a scale for each of their output channels, which come first.
const CONVOLUTION: &[Operand] = &[row(0, Axis::None), row(3, Axis::Fixed(0))];
const ANY: &[Operand] = &[row(0, Axis::Attribute)];

const fn operator(
    domain: &'static [u8],
    name: &'static [u8],
    reads: &'static [Operand],
    writes: Option<Operand>,
) -> Operator {
    Operator { domain, name, reads, writes }
}

static OPERATORS: &[Operator] = &[
    operator(STANDARD, b"DequantizeLinear", ANY, None),
    operator(STANDARD, b"QuantizeLinear", &[], result(1, Axis::Attribute)),
    operator(STANDARD, b"QLinearConv", CONVOLUTION, result(6, Axis::None)),
    operator(STANDARD, b"QLinearMatMul", TWO, result(6, Axis::None)),
    operator(MICROSOFT, b"DequantizeLinear", ANY, None),
    operator(MICROSOFT, b"QuantizeLinear", &[], result(1, Axis::Attribute)),
    operator(MICROSOFT, b"QLinearAdd", TWO, result(6, Axis::None)),
    operator(MICROSOFT, b"QLinearMul", TWO, result(6, Axis::None)),
    operator(MICROSOFT, b"QLinearSigmoid", ONE, result(3, Axis::None)),
    operator(MICROSOFT, b"QLinearLeakyRelu", ONE, result(3, Axis::None)),
    operator(MICROSOFT, b"QLinearSoftmax", ONE, result(3, Axis::None)),
    operator(MICROSOFT, b"QLinearAveragePool", ONE, result(3, Axis::None)),
    operator(MICROSOFT, b"QLinearGlobalAveragePool", ONE, result(3, Axis::None)),
];
