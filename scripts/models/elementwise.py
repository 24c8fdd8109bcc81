"""Models whose outputs have the shape of their inputs."""

import functools

import numpy as np

import onnx_writer as ox
from catalogue import Model, numbers
from tflite_writer import Graph, write

MEBI = 1 << 20


def models():
    yield from sums()
    yield from sums_of_other_types()
    yield from images()
    yield from large_ones()
    yield sum7()
    yield two_out()
    yield chain("chain", 40, 1024)
    # as long as it takes to be interrupted
    yield chain("long_chain", 300, 1 << 20)
    yield add_i8_1021()
    yield logical_and()


# --- x + y ---------------------------------------------------------------------------------------

def sums():
    for count in (4, 256):
        yield sum_model(f"add{count}", [count], np.float32)


def sums_of_other_types():
    yield sum_model("add_i32", [8], np.int32)
    yield sum_model("add_i64", [8], np.int64)
    for name, dtype in (("add_f64", np.float64), ("add_f16", np.float16)):
        yield sum_model(name, [8], dtype, write_tflite=tflite_sum_through_f32,
                        remark="; TFLite adds in f32 between casts, since its ADD does not take this type")


def sum_model(name, shape, dtype, write_tflite=None, remark=""):
    return Model(
        name, "z = x + y" + remark,
        onnx=functools.partial(onnx_binary, "Add", shape, dtype),
        tflite=functools.partial(write_tflite or tflite_sum, shape, dtype),
        trials=[[numbers(shape, dtype, 1), numbers(shape, dtype, 2)]],
        expected=lambda x, y: [x + y])


def onnx_binary(operator, shape, dtype):
    return ox.model([ox.value("x", dtype, shape), ox.value("y", dtype, shape)],
                    [ox.value("z", dtype, shape)], [ox.node(operator, "x y", "z")])


def tflite_sum(shape, dtype, path):
    graph = Graph()
    x, y = (graph.input(name, shape, dtype) for name in "xy")
    z = graph.output("z", shape, dtype)
    graph.operator("ADD", [x, y], [z], version=4 if dtype == np.int64 else 1)
    write(path, graph)


def tflite_sum_through_f32(shape, dtype, path):
    graph = Graph()
    x, y = (graph.input(name, shape, dtype) for name in "xy")
    z = graph.output("z", shape, dtype)
    x32, y32, z32 = (graph.tensor(f"{name}_f32", shape, np.float32) for name in "xyz")
    graph.operator("CAST", [x], [x32])
    graph.operator("CAST", [y], [y32])
    graph.operator("ADD", [x32, y32], [z32])
    graph.operator("CAST", [z32], [z])
    write(path, graph)


def logical_and():
    def write_tflite(path):
        graph = Graph()
        x, y = (graph.input(name, [8], np.bool_) for name in "xy")
        graph.operator("LOGICAL_AND", [x, y], [graph.output("z", [8], np.bool_)])
        write(path, graph)

    return Model("logical_and", "z = x and y", onnx=functools.partial(onnx_binary, "And", [8], np.bool_),
                 tflite=write_tflite, trials=[[numbers([8], np.bool_, 1), numbers([8], np.bool_, 2)]],
                 expected=lambda x, y: [x & y])


def add_i8_1021():
    """1021 is no multiple of any vector width: XNNPACK reads past the end of both inputs."""
    shape, scale, zero_points = [1021], 0.5, dict(x=3, y=-5, z=1)

    def write_tflite(path):
        graph = Graph()
        tensors = {name: graph.tensor(name, shape, np.int8, quantization=(scale, zero))
                   for name, zero in zero_points.items()}
        graph.inputs, graph.outputs = [tensors["x"], tensors["y"]], [tensors["z"]]
        graph.operator("ADD", graph.inputs, graph.outputs, version=2)
        write(path, graph)

    def onnx():
        constants = [ox.constant("scale", np.float32(scale))]
        constants += [ox.constant(f"{name}_zero", np.int8(zero)) for name, zero in zero_points.items()]
        nodes = [ox.node("DequantizeLinear", "x scale x_zero", "x_f32"),
                 ox.node("DequantizeLinear", "y scale y_zero", "y_f32"),
                 ox.node("Add", "x_f32 y_f32", "z_f32"),
                 ox.node("QuantizeLinear", "z_f32 scale z_zero", "z")]
        return ox.model([ox.value(name, np.int8, shape) for name in "xy"], [ox.value("z", np.int8, shape)],
                        nodes, constants)

    def expected(x, y):
        # all scales are equal, so that it is whole numbers: (x - 3) + (y + 5) + 1
        return [np.clip(x.astype(np.int32) + y + 3, -128, 127).astype(np.int8)]

    return Model("add_i8_1021", "z = clamp(x + y + 3, -128, 127): quantized, scale 0.5, zero points 3, -5, 1",
                 onnx=onnx, tflite=write_tflite, expected=expected,
                 trials=[[numbers(shape, np.int8, 1) * 6, numbers(shape, np.int8, 2) * 6]])


# --- one input and a constant --------------------------------------------------------------------

def images():
    shape = [1, 224, 224, 3]
    yield with_constant("image", "y = x * 2", shape, "MUL", 2)

    def write_tflite(path):
        graph = Graph()
        x = graph.input("x", shape, np.uint8)
        graph.operator("CAST", [x], [graph.output("y", shape, np.float32)])
        write(path, graph)

    def onnx():
        return ox.model([ox.value("x", np.uint8, shape)], [ox.value("y", np.float32, shape)],
                        [ox.node("Cast", "x", "y", to=1)])

    yield Model("image_u8", "y = x as float", onnx=onnx, tflite=write_tflite,
                trials=[[numbers(shape, np.uint8)]], expected=lambda x: [x.astype(np.float32)])


def large_ones():
    for size in (16, 64):
        yield with_constant(f"big{size}", f"y = x + 1, {size} MiB each", [size * MEBI // 4], "ADD", 1)


def with_constant(name, does, shape, operator, number, onnx_shape=None, signature=None, trials=None):
    """y = x OPERATOR number. `onnx_shape` and `signature` mark dynamic dims in either format."""
    def write_tflite(path):
        graph = Graph()
        x = graph.input("x", shape, np.float32, signature)
        constant = graph.constant("constant", np.array(number, np.float32))
        graph.operator(operator, [x, constant], [graph.output("y", shape, np.float32, signature)])
        write(path, graph)

    def onnx():
        return ox.model([ox.value("x", np.float32, onnx_shape or shape)],
                        [ox.value("y", np.float32, onnx_shape or shape)],
                        [ox.node(operator.capitalize(), "x constant", "y")],
                        [ox.constant("constant", np.float32(number))])

    compute = {"ADD": np.add, "MUL": np.multiply}[operator]
    return Model(name, does, onnx=onnx, tflite=write_tflite, trials=trials or [[numbers(shape)]],
                 expected=lambda x: [compute(x, np.float32(number))])


# --- more slots, more operators ------------------------------------------------------------------

def sum7():
    names = [f"x{index}" for index in range(7)]

    def write_tflite(path):
        graph = Graph()
        inputs = [graph.input(name, [8], np.float32) for name in names]
        partial = inputs[0]
        for index, following in enumerate(inputs[1:], 1):
            make = graph.output if index == 6 else graph.tensor
            total = make("y" if index == 6 else f"partial{index}", [8], np.float32)
            graph.operator("ADD", [partial, following], [total])
            partial = total
        write(path, graph)

    def onnx():
        return ox.model([ox.value(name, np.float32, [8]) for name in names],
                        [ox.value("y", np.float32, [8])], [ox.node("Sum", " ".join(names), "y")])

    return Model("sum7", "y = x0 + ... + x6", onnx=onnx, tflite=write_tflite,
                 trials=[[numbers([8], seed=seed) for seed in range(7)]],
                 expected=lambda *inputs: [np.sum(inputs, axis=0)])


def two_out():
    def write_tflite(path):
        graph = Graph()
        x = graph.input("x", [8], np.float32)
        one, two = graph.constant("one", np.float32(1)), graph.constant("two", np.float32(2))
        graph.operator("ADD", [x, one], [graph.output("a", [8], np.float32)])
        graph.operator("MUL", [x, two], [graph.output("b", [8], np.float32)])
        write(path, graph)

    def onnx():
        return ox.model([ox.value("x", np.float32, [8])],
                        [ox.value("a", np.float32, [8]), ox.value("b", np.float32, [8])],
                        [ox.node("Add", "x one", "a"), ox.node("Mul", "x two", "b")],
                        [ox.constant("one", np.float32(1)), ox.constant("two", np.float32(2))])

    return Model("two_out", "a = x + 1, b = x * 2", onnx=onnx, tflite=write_tflite, trials=[[numbers([8])]],
                 expected=lambda x: [x + np.float32(1), x * np.float32(2)])


def chain(name, length, count):
    names = ["x"] + [f"step{index}" for index in range(1, length)] + ["y"]

    def write_tflite(path):
        graph = Graph()
        one = graph.constant("one", np.float32(1))
        current = graph.input("x", [count], np.float32)
        for step in names[1:]:
            following = (graph.output if step == "y" else graph.tensor)(step, [count], np.float32)
            graph.operator("ADD", [current, one], [following])
            current = following
        write(path, graph)

    def onnx():
        nodes = [ox.node("Add", f"{source} one", target) for source, target in zip(names, names[1:])]
        return ox.model([ox.value("x", np.float32, [count])], [ox.value("y", np.float32, [count])], nodes,
                        [ox.constant("one", np.float32(1))])

    return Model(name, f"y = x + {length}, in {length} operators", onnx=onnx, tflite=write_tflite,
                 trials=[[numbers([count])]], expected=lambda x: [x + np.float32(length)])
