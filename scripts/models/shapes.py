"""Models that are about shapes: dynamic, empty, rank 0, data-dependent, absurd, and real arithmetic."""

import functools

import numpy as np

import onnx_writer as ox
from catalogue import Model, numbers
from elementwise import with_constant
from tflite_writer import Graph, write

SIXTEEN_MIB = (16 << 20) // 4


def models():
    yield with_constant("batch", "y = x * 2, first dim dynamic", [1, 4], "MUL", 2, onnx_shape=["batch", 4],
                        signature=[-1, 4], trials=[[numbers([1, 4])], [numbers([3, 4])]])
    yield with_constant("empty", "y = x * 2, no elements", [0, 4], "MUL", 2)
    yield with_constant("empty_dynamic", "y = x * 2, first dim dynamic and 0 where the format has a default",
                        [0, 4], "MUL", 2, onnx_shape=["rows", 4], signature=[-1, 4],
                        trials=[[numbers([0, 4])], [numbers([2, 4])]])
    yield with_constant("scalar", "y = x + 1, rank 0", [], "ADD", 1)
    yield huge()
    yield slice16()
    yield conv_dyn()
    yield matmul("matmul64", 64, 64, 64, "for wrong results where an output overlaps the input")
    yield matmul("fc13", 16, 13, 8, "XNNPACK reads past the input's end, though its size is a multiple of 64")
    yield nonzero()


def huge():
    """Only opened, never run: the tensors are 64 GiB each."""
    model = with_constant("huge", "y = x + 1, 64 GiB each: only to be refused", [16, 1 << 30], "ADD", 1,
                          trials=[[]])
    model.trials = []
    return model


def slice16():
    def write_tflite(path):
        graph = Graph()
        x = graph.input("x", [SIXTEEN_MIB], np.float32)
        begin = graph.constant("begin", np.array([0], np.int32))
        size = graph.constant("size", np.array([16], np.int32))
        graph.operator("SLICE", [x, begin, size], [graph.output("y", [16], np.float32)])
        write(path, graph)

    def onnx():
        return ox.model([ox.value("x", np.float32, [SIXTEEN_MIB])], [ox.value("y", np.float32, [16])],
                        [ox.node("Slice", "x begin end", "y")],
                        [ox.constant("begin", np.array([0])), ox.constant("end", np.array([16]))])

    return Model("slice16", "y = the first 16 of x, which has 16 MiB", onnx=onnx, tflite=write_tflite,
                 trials=[[numbers([SIXTEEN_MIB])]], expected=lambda x: [x[:16]])


def conv_dyn():
    """Height and width are dynamic. Below 3x3 there is no valid output, and XNNPACK does not check."""
    kernel = np.arange(1, 10, dtype=np.float32).reshape(3, 3)
    dynamic_in, default_in, default_out = [1, -1, -1, 1], [1, 8, 8, 1], [1, 6, 6, 1]

    def write_tflite(path):
        graph = Graph()
        x = graph.input("x", default_in, np.float32, dynamic_in)
        weights = graph.constant("weights", kernel.reshape(1, 3, 3, 1))
        bias = graph.constant("bias", np.zeros(1, np.float32))
        y = graph.output("y", default_out, np.float32, dynamic_in)
        graph.operator("CONV_2D", [x, weights, bias], [y], Padding=1, StrideW=1, StrideH=1,
                       DilationWFactor=1, DilationHFactor=1)
        write(path, graph)

    def onnx():
        # transposed around the convolution, so that both formats have the same slots
        nodes = [ox.node("Transpose", "x", "x_nchw", perm=[0, 3, 1, 2]),
                 ox.node("Conv", "x_nchw weights", "y_nchw"),
                 ox.node("Transpose", "y_nchw", "y", perm=[0, 2, 3, 1])]
        return ox.model([ox.value("x", np.float32, [1, "height", "width", 1])],
                        [ox.value("y", np.float32, [1, "height_out", "width_out", 1])], nodes,
                        [ox.constant("weights", kernel.reshape(1, 1, 3, 3))])

    def expected(x):
        windows = np.lib.stride_tricks.sliding_window_view(x[0, :, :, 0], (3, 3))
        return [np.einsum("hwij,ij->hw", windows, kernel)[None, :, :, None].astype(np.float32)]

    return Model("conv_dyn", "y = x convolved (as in networks, no flip) with [[1 2 3][4 5 6][7 8 9]], no padding",
                 onnx=onnx, tflite=write_tflite, expected=expected,
                 trials=[[numbers([1, 8, 8, 1])], [numbers([1, 5, 7, 1])], [numbers([1, 3, 3, 1])]])


def matmul(name, rows, depth, columns, purpose):
    out, k = np.meshgrid(np.arange(columns), np.arange(depth), indexing="ij")
    weights = ((out * 7 + k * 3) % 11 - 5).astype(np.float32)

    def write_tflite(path):
        graph = Graph()
        x = graph.input("x", [rows, depth], np.float32)
        w = graph.constant("weights", weights)
        # no bias
        graph.operator("FULLY_CONNECTED", [x, w, -1], [graph.output("y", [rows, columns], np.float32)],
                       KeepNumDims=False)
        write(path, graph)

    def onnx():
        return ox.model([ox.value("x", np.float32, [rows, depth])], [ox.value("y", np.float32, [rows, columns])],
                        [ox.node("MatMul", "x weights", "y")],
                        [ox.constant("weights", np.ascontiguousarray(weights.T))])

    return Model(name, f"y[r][c] = sum over k of x[r][k] * ((c * 7 + k * 3) % 11 - 5); {purpose}",
                 onnx=onnx, tflite=write_tflite, trials=[[numbers([rows, depth])]],
                 expected=lambda x: [x @ weights.T])


def nonzero():
    def write_tflite(path):
        graph = Graph()
        x = graph.input("x", [16], np.float32)
        zero = graph.constant("zero", np.float32(0))
        hits = graph.tensor("hits", [16], np.bool_)
        graph.operator("NOT_EQUAL", [x, zero], [hits])
        graph.operator("WHERE", [hits], [graph.output("y", [1, 1], np.int64, [-1, 1])])
        write(path, graph)

    def onnx():
        nodes = [ox.node("NonZero", "x", "positions"), ox.node("Transpose", "positions", "y", perm=[1, 0])]
        return ox.model([ox.value("x", np.float32, [16])], [ox.value("y", np.int64, ["hits", 1])], nodes)

    some = np.zeros(16, np.float32)
    some[[2, 3, 11]] = [1, -2, 3]
    return Model("nonzero", "y = positions of the elements that are not 0: its size depends on the data",
                 onnx=onnx, tflite=write_tflite,
                 trials=[[some], [np.zeros(16, np.float32)], [np.ones(16, np.float32)]],
                 expected=lambda x: [np.argwhere(x != 0)])
