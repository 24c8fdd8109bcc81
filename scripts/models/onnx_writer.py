"""Short forms for writing ONNX models with the `onnx` package."""

import numpy as np
import onnx
from onnx import helper, numpy_helper

# Old enough for every engine from ONNX Runtime 1.17 on, new enough for what the models use.
OPSET = 17
IR_VERSION = 8


def value(name, dtype, shape):
    """A graph input or output; a string in `shape` is a symbolic dimension."""
    kind = onnx.TensorProto.STRING if dtype is str else helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name, values):
    return numpy_helper.from_array(np.asarray(values), name)


def node(operator, inputs, outputs, **attributes):
    """Inputs and outputs are names, separated by spaces."""
    return helper.make_node(operator, inputs.split(), outputs.split(), **attributes)


def model(inputs, outputs, nodes, constants=(), opset=OPSET, ir_version=IR_VERSION):
    graph = helper.make_graph(list(nodes), "main", list(inputs), list(outputs), list(constants))
    return helper.make_model(graph, producer_name="zerobind", ir_version=ir_version,
                             opset_imports=[helper.make_opsetid("", opset)])
