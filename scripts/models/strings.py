"""Models of strings, whose memory is the engine's in both formats."""

import numpy as np

import onnx_writer as ox
from catalogue import Model
from tflite_writer import Graph, write

WORDS = np.array(["zero", "copy", "", "größer"], np.object_)
THREE = [3]
# from here on ONNX compares strings
EQUAL_OPSET, EQUAL_IR = 19, 9


def models():
    yield strings()
    yield string_in()
    yield string_out()


def strings():
    def write_tflite(path):
        graph = Graph()
        x = graph.input("x", THREE, np.object_)
        shape = graph.constant("shape", np.array(THREE, np.int32))
        graph.operator("RESHAPE", [x, shape], [graph.output("y", THREE, np.object_)])
        write(path, graph)

    def onnx():
        return ox.model([ox.value("x", str, THREE)], [ox.value("y", str, THREE)], [ox.node("Identity", "x", "y")])

    return Model("strings", "y = x, strings", onnx=onnx, tflite=write_tflite,
                 trials=[[WORDS[:3]], [WORDS[1:]]], expected=lambda x: [x])


def string_in():
    def write_tflite(path):
        graph = Graph()
        x, word = graph.input("x", THREE, np.object_), graph.constant("word", WORDS[1:2])
        graph.operator("EQUAL", [x, word], [graph.output("y", THREE, np.bool_)], version=3)
        write(path, graph)

    def onnx():
        return ox.model([ox.value("x", str, THREE)], [ox.value("y", np.bool_, THREE)],
                        [ox.node("Equal", "x word", "y")], [ox.constant("word", WORDS[1:2])], EQUAL_OPSET, EQUAL_IR)

    return Model("string_in", f"y = (x is {WORDS[1]!r}), x strings", onnx=onnx, tflite=write_tflite,
                 trials=[[WORDS[:3]], [WORDS[1:]]], expected=lambda x: [x == WORDS[1]])


def string_out():
    def write_tflite(path):
        graph = Graph()
        words, x = graph.constant("words", WORDS), graph.input("x", THREE, np.int64)
        graph.operator("GATHER", [words, x], [graph.output("y", THREE, np.object_)])
        write(path, graph)

    def onnx():
        return ox.model([ox.value("x", np.int64, THREE)], [ox.value("y", str, THREE)],
                        [ox.node("Gather", "words x", "y")], [ox.constant("words", WORDS)])

    return Model("string_out", f"y = words[x], strings; words {WORDS.tolist()}", onnx=onnx, tflite=write_tflite,
                 trials=[[np.array(indices)] for indices in ([0, 1, 2], [3, 0, 3])], expected=lambda x: [WORDS[x]])
