//! Element types: the engine's numbers and ours.

use ort_sys::ONNXTensorElementDataType::{self as Theirs, *};

use crate::base::{Dtype, Result, fail};

macro_rules! pairs {
    ($($ours:ident $theirs:ident;)*) => {
        const PAIRS: &[(Dtype, Theirs)] = &[$((Dtype::$ours, $theirs),)*];
    };
}

pairs! {
    F32 ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    F64 ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
    F16 ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16;
    BF16 ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16;
    I8 ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
    U8 ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
    I16 ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16;
    U16 ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16;
    I32 ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
    U32 ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32;
    I64 ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
    U64 ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64;
    Bool ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL;
    I4 ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4;
    U4 ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4;
    C64 ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64;
    C128 ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128;
    String ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
    F8E4M3FN ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN;
    F8E5M2 ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2;
}

/// Types of ONNX that have no number in the ABI, for the text.
const UNKNOWN: &[(i32, &str)] = &[
    (0, "undefined"),
    (18, "float8e4m3fnuz"),
    (20, "float8e5m2fnuz"),
    (23, "float4e2m1"),
    (24, "uint2"),
    (25, "int2"),
    (26, "float8e8m0"),
];

/// Our type for a number that came from the engine.
pub fn from_engine(code: i32) -> Result<Dtype> {
    if let Some((ours, _)) = PAIRS.iter().find(|(_, theirs)| *theirs as i32 == code) {
        return Ok(*ours);
    }
    let name = UNKNOWN.iter().find(|(number, _)| *number == code).map_or("unknown", |(_, name)| name);
    fail!(Unsupported, "the element type {name} (number {code} of ONNX) has no counterpart in zerobind")
}

/// The engine's type for ours, strings excepted: bytes of a host are never strings of the engine.
pub fn to_engine(dtype: Dtype) -> Result<Theirs> {
    match PAIRS.iter().find(|(ours, _)| *ours == dtype && dtype != Dtype::String) {
        Some((_, theirs)) => Ok(*theirs),
        None => fail!(Unsupported, "{dtype} tensors cannot lie in host memory"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_the_abi_has_a_number_and_back() {
        for dtype in Dtype::ALL.iter().copied().filter(|dtype| *dtype != Dtype::String) {
            assert_eq!(from_engine(to_engine(dtype).unwrap() as i32).unwrap(), dtype);
        }
        assert_eq!(from_engine(8).unwrap(), Dtype::String);
        assert!(to_engine(Dtype::String).is_err());
        for code in [-1, 0, 18, 20, 23, 24, 25, 26, 27, 1000, i32::MIN, i32::MAX] {
            assert!(from_engine(code).is_err(), "{code}");
        }
    }
}
