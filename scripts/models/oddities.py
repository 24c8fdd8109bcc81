"""Models that are legal and awkward: outputs that no host memory helps with, state, side files."""

import numpy as np
from onnx import external_data_helper

import onnx_writer as ox
from catalogue import Model, numbers
from tflite_writer import Graph, write

EIGHT = [8]


def models():
    yield passthrough()
    yield duplicate()
    yield constant()
    yield accumulator()
    yield recurrent()
    yield external()


def passthrough():
    def write_tflite(path):
        graph = Graph()
        x = graph.input("x", EIGHT, np.float32)
        graph.outputs.append(x)
        one = graph.constant("one", np.float32(1))
        graph.operator("ADD", [x, one], [graph.output("y", EIGHT, np.float32)])
        write(path, graph)

    def onnx_model():
        x = ox.value("x", np.float32, EIGHT)
        return ox.model([x], [x, ox.value("y", np.float32, EIGHT)], [ox.node("Add", "x one", "y")],
                        [ox.constant("one", np.float32(1))])

    return Model("passthrough", "output 0 is input x itself, y = x + 1", onnx=onnx_model, tflite=write_tflite,
                 trials=[[numbers(EIGHT)]], expected=lambda x: [x, x + np.float32(1)])


def duplicate():
    def write_tflite(path):
        graph = Graph()
        x = graph.input("x", EIGHT, np.float32)
        one = graph.constant("one", np.float32(1))
        y = graph.output("y", EIGHT, np.float32)
        graph.outputs.append(y)
        graph.operator("ADD", [x, one], [y])
        write(path, graph)

    def onnx_model():
        y = ox.value("y", np.float32, EIGHT)
        return ox.model([ox.value("x", np.float32, EIGHT)], [y, y], [ox.node("Add", "x one", "y")],
                        [ox.constant("one", np.float32(1))])

    return Model("duplicate", "outputs 0 and 1 are one tensor, y = x + 1", onnx=onnx_model, tflite=write_tflite,
                 trials=[[numbers(EIGHT)]], expected=lambda x: [x + np.float32(1)] * 2)


def constant():
    values = np.array([1, 2, 3, 4], np.float32)

    def write_tflite(path):
        graph = Graph()
        x = graph.input("x", EIGHT, np.float32)
        graph.outputs.append(graph.constant("c", values))
        one = graph.constant("one", np.float32(1))
        graph.operator("ADD", [x, one], [graph.output("y", EIGHT, np.float32)])
        write(path, graph)

    def onnx_model():
        return ox.model([ox.value("x", np.float32, EIGHT)],
                        [ox.value("c", np.float32, [4]), ox.value("y", np.float32, EIGHT)],
                        [ox.node("Add", "x one", "y")],
                        [ox.constant("one", np.float32(1)), ox.constant("c", values)])

    return Model("constant", "c = 1 2 3 4 whatever x is, y = x + 1", onnx=onnx_model, tflite=write_tflite,
                 trials=[[numbers(EIGHT)]], expected=lambda x: [values, x + np.float32(1)])


def accumulator():
    def handle(graph):
        resource = graph.tensor("sum", [1], "resource")
        graph.operator("VAR_HANDLE", [], [resource], Container="", SharedName="sum")
        return resource

    def write_tflite(path):
        graph = Graph()
        x = graph.input("x", EIGHT, np.float32)
        y = graph.output("y", EIGHT, np.float32)
        before = graph.tensor("before", EIGHT, np.float32)
        graph.operator("CALL_ONCE", [], [], InitSubgraphIndex=1)
        resource = handle(graph)
        graph.operator("READ_VARIABLE", [resource], [before])
        graph.operator("ADD", [x, before], [y])
        graph.operator("ASSIGN_VARIABLE", [resource, y], [])

        setup = Graph("set_to_zero")
        zeros = setup.constant("zeros", np.zeros(EIGHT, np.float32))
        setup.operator("ASSIGN_VARIABLE", [handle(setup), zeros], [])
        write(path, graph, setup)

    return Model("accumulator", "y = sum of all x since the interpreter was made (resource variable)",
                 tflite=write_tflite, without="ONNX has no state inside a model",
                 trials=[[numbers(EIGHT, seed=seed)] for seed in range(4)], stateful=True,
                 expected=lambda *inputs_so_far: [np.sum(inputs_so_far, axis=0)])


def recurrent():
    """State outside the model: whoever runs it gives the last output `next` as `state`. Exact for many runs."""
    def write_tflite(path):
        graph = Graph()
        x, state = graph.input("x", [4], np.float32), graph.input("state", [4], np.float32)
        two, half = graph.constant("two", np.float32(2)), graph.constant("half", np.float32(0.5))
        doubled, halved = graph.tensor("doubled", [4], np.float32), graph.tensor("halved", [4], np.float32)
        graph.operator("MUL", [state, two], [doubled])
        graph.operator("MUL", [state, half], [halved])
        graph.operator("ADD", [x, doubled], [graph.output("y", [4], np.float32)])
        graph.operator("ADD", [x, halved], [graph.output("next", [4], np.float32)])
        write(path, graph)

    def onnx_model():
        nodes = [ox.node("Mul", "state two", "doubled"), ox.node("Mul", "state half", "halved"),
                 ox.node("Add", "x doubled", "y"), ox.node("Add", "x halved", "next")]
        return ox.model([ox.value(name, np.float32, [4]) for name in ("x", "state")],
                        [ox.value(name, np.float32, [4]) for name in ("y", "next")], nodes,
                        [ox.constant("two", np.float32(2)), ox.constant("half", np.float32(0.5))])

    def expected(x, state):
        return [x + np.float32(2) * state, x + np.float32(0.5) * state]

    trials = [[numbers([4], seed=1), np.zeros(4, np.float32)]]
    for seed in range(2, 10):
        trials.append([numbers([4], seed=seed), expected(*trials[-1])[1]])
    return Model("recurrent", "y = x + 2 * state, next = x + state / 2: state and next are to be swapped after a run",
                 onnx=onnx_model, tflite=write_tflite, trials=trials, expected=expected)


def external():
    weights = np.arange(1024, dtype=np.float32)

    def onnx_model():
        stored = ox.constant("weights", weights)
        model = ox.model([ox.value("x", np.float32, [1024])], [ox.value("y", np.float32, [1024])],
                         [ox.node("Add", "x weights", "y")], [stored])
        # written by save_model into a file of this name next to the model
        external_data_helper.set_external_data(model.graph.initializer[0], "external.data", 0, weights.nbytes)
        return model

    return Model("external", "y[i] = x[i] + i, the weights lie in external.data next to the model",
                 onnx=onnx_model, without="TFLite has no such thing",
                 trials=[[numbers([1024])]], expected=lambda x: [x + weights])
