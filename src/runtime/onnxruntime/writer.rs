//! ONNX models for tests, written byte by byte, so that they can be wrong in every way.

/// Numbers of ONNX for element types.
pub const F32: u64 = 1;
pub const U8: u64 = 2;
pub const I64: u64 = 7;
pub const STRING: u64 = 8;
pub const BOOL: u64 = 9;
pub const F16: u64 = 10;
pub const C64: u64 = 14;
pub const C128: u64 = 15;
pub const BF16: u64 = 16;
pub const F8E4M3FN: u64 = 17;
pub const F8E5M2: u64 = 19;
pub const U4: u64 = 21;
pub const I4: u64 = 22;

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

pub fn number(field: u64, value: i64) -> Vec<u8> {
    [varint(field << 3), varint(value as u64)].concat()
}

pub fn fixed32(field: u64, value: f32) -> Vec<u8> {
    [&varint(field << 3 | 5)[..], &value.to_le_bytes()].concat()
}

pub fn bytes(field: u64, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    [&varint(field << 3 | 2)[..], &varint(content.len() as u64), content].concat()
}

/// Names separated by spaces; "-" is one that is left out.
fn names(field: u64, names: &str) -> Vec<u8> {
    names.split_whitespace().flat_map(|name| bytes(field, if name == "-" { "" } else { name })).collect()
}

/// The head of a tensor, without elements.
pub fn tensor_head(name: &str, dtype: u64, dims: &[i64]) -> Vec<u8> {
    let dims = dims.iter().flat_map(|dim| number(1, *dim));
    dims.chain(number(2, dtype as i64)).chain(bytes(8, name)).collect()
}

/// A tensor with its elements as they lie in memory.
pub fn tensor(name: &str, dtype: u64, dims: &[i64], raw: impl AsRef<[u8]>) -> Vec<u8> {
    [tensor_head(name, dtype, dims), bytes(9, raw)].concat()
}

pub fn floats(name: &str, dims: &[i64], values: &[f32]) -> Vec<u8> {
    tensor(name, F32, dims, values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
}

pub fn int_attribute(name: &str, value: i64) -> Vec<u8> {
    [bytes(1, name), number(3, value), number(20, 2)].concat()
}

pub fn tensor_attribute(name: &str, tensor: &[u8]) -> Vec<u8> {
    [bytes(1, name), bytes(5, tensor), number(20, 4)].concat()
}

pub fn graph_attribute(name: &str, graph: &[u8]) -> Vec<u8> {
    [bytes(1, name), bytes(6, graph), number(20, 5)].concat()
}

/// A node with its attributes; `operator` may have a domain before a colon.
pub fn node(operator: &str, inputs: &str, outputs: &str, attributes: &[Vec<u8>]) -> Vec<u8> {
    let (domain, operator) = operator.split_once(':').unwrap_or(("", operator));
    let attributes = attributes.iter().flat_map(|attribute| bytes(5, attribute));
    let head = [names(1, inputs), names(2, outputs), bytes(4, operator), bytes(7, domain)].concat();
    head.into_iter().chain(attributes).collect()
}

/// A graph input or output; dimensions are numbers, names, or "?" for neither, separated by spaces.
pub fn value(name: &str, dtype: u64, dims: &str) -> Vec<u8> {
    let dim = |dim: &str| match dim.parse::<i64>() {
        Ok(size) => bytes(1, number(1, size)),
        Err(_) if dim == "?" => bytes(1, ""),
        Err(_) => bytes(1, bytes(2, dim)),
    };
    let shape: Vec<u8> = dims.split_whitespace().flat_map(dim).collect();
    let kind = bytes(1, [number(1, dtype as i64), bytes(2, shape)].concat());
    [bytes(1, name), bytes(2, kind)].concat()
}

/// What a graph consists of.
#[derive(Default)]
pub struct Graph {
    pub nodes: Vec<Vec<u8>>,
    pub constants: Vec<Vec<u8>>,
    pub inputs: Vec<Vec<u8>>,
    pub outputs: Vec<Vec<u8>>,
}

impl Graph {
    pub fn bytes(&self) -> Vec<u8> {
        let all = |field, parts: &[Vec<u8>]| parts.iter().flat_map(|part| bytes(field, part)).collect::<Vec<_>>();
        let values = [all(11, &self.inputs), all(12, &self.outputs)].concat();
        [all(1, &self.nodes), bytes(2, "main"), all(5, &self.constants), values].concat()
    }

    pub fn model(&self) -> Vec<u8> {
        self.model_with(&[])
    }

    /// A model with more fields behind the usual ones.
    pub fn model_with(&self, more: &[u8]) -> Vec<u8> {
        let opset = |domain: &str, version| bytes(8, [bytes(1, domain), number(2, version)].concat());
        let opsets = [opset("", 21), opset("com.microsoft", 1)].concat();
        [&number(1, 10)[..], &bytes(7, self.bytes()), &opsets, more].concat()
    }
}
