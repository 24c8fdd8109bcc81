"""One model per element type: nine elements in, the same nine out."""

import functools

import ml_dtypes
import numpy as np

import onnx_writer as ox
from catalogue import Model
from raw import FOUR_BITS
from tflite_writer import TENSOR_TYPES, Graph, write

# odd, so that the byte count of packed types shows how it is rounded
NINE = [9]

# names as in zerobind's header
DTYPES = dict(f32=np.float32, f64=np.float64, f16=np.float16, bf16=ml_dtypes.bfloat16, i8=np.int8, u8=np.uint8,
              i16=np.int16, u16=np.uint16, i32=np.int32, u32=np.uint32, i64=np.int64, u64=np.uint64, bool=np.bool_,
              i4=ml_dtypes.int4, u4=ml_dtypes.uint4, c64=np.complex64, c128=np.complex128,
              f8e4m3fn=ml_dtypes.float8_e4m3fn, f8e5m2=ml_dtypes.float8_e5m2)
# ONNX's versions from which on a type exists: opset and IR
NEWER = dict(f8e4m3fn=(19, 9), f8e5m2=(19, 9), i4=(21, 10), u4=(21, 10))


def models():
    for name, dtype in DTYPES.items():
        dtype = np.dtype(dtype)
        known = dtype in TENSOR_TYPES
        yield Model(f"type_{name}", "y = x", onnx=functools.partial(onnx_copy, name, dtype),
                    tflite=functools.partial(write_tflite_copy, dtype) if known else None,
                    without="" if known else "TFLite has no such type", trials=[[values(dtype)]],
                    expected=lambda x: [x])


def values(dtype):
    """No two equal where the type has that many, and signs where it has them."""
    count = np.arange(9)
    if dtype == np.bool_:
        return count % 3 == 1
    if dtype.kind == "c":
        return (count - 4 - 2j * count).astype(dtype)
    unsigned = dtype.kind == "u" or dtype == ml_dtypes.uint4
    return (count + 7 if unsigned else count - 4).astype(dtype)


def onnx_copy(name, dtype):
    """ONNX Runtime has no Identity of 4-bit types: they go through f32 by a scale of one, and
    through two signs, since it would make an Identity of a pair that cancels out."""
    nodes, constants = [ox.node("Identity", "x", "y")], []
    if dtype in FOUR_BITS:
        nodes = [ox.node("DequantizeLinear", "x one zero", "wide"), ox.node("Neg", "wide", "turned"),
                 ox.node("Neg", "turned", "back"), ox.node("QuantizeLinear", "back one zero", "y")]
        constants = [ox.constant("one", np.float32(1)), ox.constant("zero", np.zeros((), dtype))]
    versions = NEWER.get(name, (ox.OPSET, ox.IR_VERSION))
    return ox.model([ox.value("x", dtype, NINE)], [ox.value("y", dtype, NINE)], nodes, constants, *versions)


def write_tflite_copy(dtype, path):
    """RESHAPE to the shape that it has: the one kernel that does not look at the type."""
    graph = Graph()
    x = graph.input("x", NINE, dtype)
    shape = graph.constant("shape", np.array(NINE, np.int32))
    graph.operator("RESHAPE", [x, shape], [graph.output("y", NINE, dtype)])
    write(path, graph)
