"""crowd.py FOLDER: write crowd.onnx and crowd.tflite, whose every list and text is long: what zerobind keeps of them takes
more than a page, so that the tests of memory can tell it from what is small and fixed.

160 inputs x0.. of n floats (n is open, 4 by default), as many outputs y = x + x; one more input "quantized", int8, with a
scale for each of its 300 rows, and its real value as the last output. The first four names on each side are long. In the ONNX
model as many nodes make tensors of a size that is a constant.
"""

import pathlib
import sys

import numpy as np

import onnx_writer as ox
from tflite_writer import Graph, write

COUNT = 160
LONG = 1500
ROWS = 300
TEXT = "a text of the model's author " * 200


def names(letter):
    return [f"{letter}{index}" + ("_" * LONG if index < 4 else "") for index in range(COUNT)]


def symbol(name):
    """The open dimension of a slot; that of slots with long names has one too."""
    return "n" * LONG if len(name) > LONG else "n"


def quantization():
    return np.exp2(np.arange(ROWS) % 5).astype(np.float32), np.arange(ROWS) % 7


def entries():
    return {**{f"key {index}": "short" for index in range(100)}, "long": TEXT, "x" * LONG: TEXT}


def write_onnx(path):
    import onnx

    scales, zeros = quantization()
    inputs = [ox.value(name, np.float32, [symbol(name)]) for name in names("x")] + [ox.value("quantized", np.int8, [ROWS, 1])]
    outputs = [ox.value(name, np.float32, [symbol(name)]) for name in names("y")] + [ox.value("real", np.float32, [ROWS, 1])]
    nodes = [ox.node("Add", f"{x} {x}", y) for x, y in zip(names("x"), names("y"))]
    nodes.append(ox.node("DequantizeLinear", "quantized scales zeros", "real", axis=0))
    # nodes whose outputs are as large as constants say, for nobody
    nodes += [ox.node("Tile", f"{x} once{i}", f"t{i}") for i, x in enumerate(names("x"))]
    constants = [ox.constant("scales", scales), ox.constant("zeros", np.int8(zeros))]
    constants += [ox.constant(f"once{i}", np.int64([1])) for i in range(COUNT)]
    model = ox.model(inputs, outputs, nodes, constants)
    for key, value in entries().items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value
    onnx.save(model, str(path))


def write_tflite(path):
    graph = Graph()
    xs = [graph.input(name, [4], np.float32, signature=[-1]) for name in names("x")]
    quantized = graph.input("quantized", [ROWS, 1], np.int8, quantization=(*quantization(), 0))
    ys = [graph.output(name, [4], np.float32, signature=[-1]) for name in names("y")]
    real = graph.output("real", [ROWS, 1], np.float32)
    for x, y in zip(xs, ys):
        graph.operator("ADD", [x, x], [y])
    graph.operator("DEQUANTIZE", [quantized], [real], version=5)
    inputs, outputs = dict(zip(names("in"), xs)), dict(zip(names("out"), ys))
    signatures = [(f"signature {index}", 0, inputs if index == 0 else {}, outputs if index == 0 else {})
                  for index in range(40)]
    signatures.append(("s" * LONG, 0, {}, {}))
    write(path, graph, description=TEXT, signatures=signatures,
          metadata={key: value.encode() for key, value in entries().items()})


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    write_onnx(folder / "crowd.onnx")
    write_tflite(folder / "crowd.tflite")
