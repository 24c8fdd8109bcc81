"""Models for the description of quantized slots. All scales are powers of two, so that results are exact."""

import numpy as np

import onnx_writer as ox
from catalogue import Model, numbers
from tflite_writer import Graph, write

X, Y = (0.5, 3), (0.25, -5)


def models():
    yield quantized()
    yield per_axis()
    yield quantized_computed()
    yield qlinear()


def pair(name, scale, zero_point, dtype=np.int8):
    """The constants that ONNX's operators take."""
    return [ox.constant(f"{name}_scale", np.float32(scale)), ox.constant(f"{name}_zero", np.asarray(zero_point, dtype))]


def clamp(values):
    return np.clip(values, -128, 127).astype(np.int8)


def quantized():
    """In ONNX the numbers are with operators next to the slots, not with the slots."""
    def write_tflite(path):
        graph = Graph()
        x = graph.input("x", [16], np.int8, quantization=X)
        one = graph.tensor("one", [1], np.int8, data=np.int8(1).tobytes(), quantization=(1, 0))
        graph.operator("ADD", [x, one], [graph.output("y", [16], np.int8, quantization=Y)], version=2)
        write(path, graph)

    def onnx():
        nodes = [ox.node("DequantizeLinear", "x x_scale x_zero", "x_f32"),
                 ox.node("Add", "x_f32 one", "y_f32"),
                 ox.node("QuantizeLinear", "y_f32 y_scale y_zero", "y")]
        return ox.model([ox.value("x", np.int8, [16])], [ox.value("y", np.int8, [16])], nodes,
                        pair("x", *X) + pair("y", *Y) + [ox.constant("one", np.float32(1))])

    # (x - 3) / 2 + 1, in quarters, - 5
    return Model("quantized", f"y = x + 1 in real numbers, clamp(2 * x - 7, -128, 127) in stored ones; "
                 f"(scale, zero point) of x {X}, of y {Y}", onnx=onnx, tflite=write_tflite,
                 trials=[[numbers([16], np.int8) * 4]], expected=lambda x: [clamp(2 * x.astype(np.int32) - 7)])


def per_axis():
    scales, zero_points, axis, shape = [0.5, 0.25, 2], [1, -2, 3], 1, [2, 3]

    def write_tflite(path):
        graph = Graph()
        x = graph.input("x", shape, np.int8, quantization=(scales, zero_points, axis))
        graph.operator("DEQUANTIZE", [x], [graph.output("y", shape, np.float32)], version=5)
        write(path, graph)

    def onnx():
        return ox.model([ox.value("x", np.int8, shape)], [ox.value("y", np.float32, shape)],
                        [ox.node("DequantizeLinear", "x x_scale x_zero", "y", axis=axis)],
                        pair("x", scales, zero_points))

    def expected(x):
        return [(x.astype(np.float32) - np.float32(zero_points)) * np.float32(scales)]

    return Model("per_axis", f"y[r][c] = (x[r][c] - zero[c]) * scale[c]; scales {scales}, zero points {zero_points}",
                 onnx=onnx, tflite=write_tflite, trials=[[numbers(shape, np.int8)]], expected=expected)


def quantized_computed():
    """Whoever looks for the scale of x finds that it comes with each run."""
    def onnx():
        return ox.model([ox.value("x", np.int8, [16]), ox.value("scale", np.float32, [])],
                        [ox.value("y", np.float32, [16])],
                        [ox.node("DequantizeLinear", "x scale zero", "y")], [ox.constant("zero", np.int8(3))])

    return Model("quantized_computed", "y = (x - 3) * scale", onnx=onnx,
                 without="in TFLite the scale is a part of the file",
                 trials=[[numbers([16], np.int8), np.array(scale, np.float32)] for scale in (0.5, 4)],
                 expected=lambda x, scale: [((x.astype(np.float32) - 3) * scale).astype(np.float32)])


def qlinear():
    """Operators that take stored numbers: no dequantization stands next to the slots."""
    weights = np.array([[1, -2, 3], [-1, 2, 0], [4, 1, -3], [0, 5, 2]], np.int8)
    x_is, weights_are, y_is = X, (0.25, 0), (0.125, -5)

    def write_tflite(path):
        graph = Graph()
        x = graph.input("x", [2, 4], np.int8, quantization=x_is)
        stored = graph.tensor("weights", [3, 4], np.int8, data=np.ascontiguousarray(weights.T).tobytes(),
                              quantization=weights_are)
        y = graph.output("y", [2, 3], np.int8, quantization=y_is)
        graph.operator("FULLY_CONNECTED", [x, stored, -1], [y], version=4)
        write(path, graph)

    def onnx():
        inputs = "x x_scale x_zero weights weights_scale weights_zero y_scale y_zero"
        constants = pair("x", *x_is) + pair("weights", *weights_are) + pair("y", *y_is)
        return ox.model([ox.value("x", np.int8, [2, 4])], [ox.value("y", np.int8, [2, 3])],
                        [ox.node("QLinearMatMul", inputs, "y")], constants + [ox.constant("weights", weights)])

    return Model("qlinear", "y = x times weights, clamp((x - 3) @ w - 5, -128, 127) in stored numbers, w = "
                 f"{weights.tolist()}; (scale, zero point) of x {x_is}, of w {weights_are}, of y {y_is}",
                 onnx=onnx, tflite=write_tflite, trials=[[numbers([2, 4], np.int8)]],
                 expected=lambda x: [clamp((x.astype(np.int32) - 3) @ weights - 5)])
