"""models.py DEPS DIRECTORY [--small]: the models that only the benchmark uses.

hand_landmark_lite.tflite  out of the mediapipe package, if it is unpacked in DEPS/bench-packages
detector320.onnx           a detector of the kind of YOLO, with random weights: made here, since what counts is how long it takes
table200.onnx, .tflite     one row out of a table of 200 MB (8 MB with --small): heavy to load, nothing to run
"""

import pathlib
import shutil
import sys

import numpy as np
import onnx

import onnx_writer as ox
from tflite_writer import Graph, write

MEDIAPIPE_MODEL = "mediapipe/modules/hand_landmark/hand_landmark_lite.tflite"
ROW = 1024


class Layers:
    """Convolutions one after the other, as nodes and constants."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants, self.count = [], [], 0

    def name(self):
        self.count += 1
        return f"t{self.count}"

    def add(self, operator, inputs, **attributes):
        output = self.name()
        self.nodes.append(ox.node(operator, inputs, output, **attributes))
        return output

    def constant(self, values):
        name = self.name()
        self.constants.append(ox.constant(name, values))
        return name

    def conv(self, source, inputs, outputs, size=3, stride=1, activation=True):
        # as large as keeps the values in range from layer to layer
        scale = np.sqrt(2.0 / (inputs * size * size))
        weights = self.constant((self.random.standard_normal((outputs, inputs, size, size)) * scale).astype(np.float32))
        bias = self.constant(np.zeros(outputs, np.float32))
        made = self.add("Conv", f"{source} {weights} {bias}", kernel_shape=[size, size], strides=[stride, stride],
                        pads=[size // 2] * 4)
        # x * sigmoid(x), the activation of this family
        return self.add("Mul", f"{made} {self.add('Sigmoid', made)}") if activation else made

    def bottlenecks(self, source, channels, times):
        for _ in range(times):
            half = self.conv(source, channels, channels // 2)
            source = self.add("Add", f"{source} {self.conv(half, channels // 2, channels)}")
        return source


def detector():
    """Five halvings of 320 x 320, and at the last three sizes 4 box and 80 class numbers for each of 40 * 40 + 20 * 20 +
    10 * 10 = 2100 cells, as networks of this kind have them for the 80 classes of COCO."""
    layers, heads = Layers(seed=8), []
    here, channels = layers.conv("image", 3, 16, stride=2), 16
    for outputs, times in ((32, 1), (64, 2), (128, 2), (256, 1)):
        here = layers.bottlenecks(layers.conv(here, channels, outputs, stride=2), outputs, times)
        channels = outputs
        if outputs >= 64:
            heads.append((here, outputs))
    shape = layers.constant(np.array([1, 84, -1], np.int64))
    parts = []
    for source, inputs in heads:
        made = layers.conv(layers.conv(source, inputs, 80), 80, 84, size=1, activation=False)
        parts.append(layers.add("Reshape", f"{made} {shape}"))
    layers.nodes.append(ox.node("Concat", " ".join(parts), "found", axis=2))
    return ox.model([ox.value("image", np.float32, [1, 3, 320, 320])], [ox.value("found", np.float32, [1, 84, 2100])],
                    layers.nodes, layers.constants)


def table(megabytes):
    rows = megabytes * 1_000_000 // (4 * ROW)
    return np.arange(rows * ROW, dtype=np.float32).reshape(rows, ROW)


def table_onnx(values):
    return ox.model([ox.value("index", np.int32, [1])], [ox.value("row", np.float32, [1, ROW])],
                    [ox.node("Gather", "table index", "row")], [ox.constant("table", values)])


def table_tflite(values, path):
    graph = Graph()
    index = graph.input("index", [1], np.int32)
    rows = graph.constant("table", values)
    graph.operator("GATHER", [rows, index], [graph.output("row", [1, ROW], np.float32)])
    write(path, graph)


def main(deps, target, megabytes):
    target.mkdir(parents=True, exist_ok=True)
    found = deps / "bench-packages/mediapipe" / MEDIAPIPE_MODEL
    if found.exists():
        shutil.copyfile(found, target / found.name)
    onnx.save(detector(), target / "detector320.onnx")
    values = table(megabytes)
    onnx.save(table_onnx(values), target / "table200.onnx")
    table_tflite(values, target / "table200.tflite")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), 8 if "--small" in sys.argv else 200)
