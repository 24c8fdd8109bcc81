"""A small writer of TFLite models, over the schema classes of the `tflite` package.

A model is one or more `Graph`s; `write` turns them into a flatbuffer. Only what the test models need.
"""

import importlib

import flatbuffers
import ml_dtypes
import numpy as np
from tflite.BuiltinOperator import BuiltinOperator
from tflite.BuiltinOptions import BuiltinOptions
from tflite.TensorType import TensorType

from raw import to_bytes

TENSOR_TYPES = {
    np.dtype(np.float32): TensorType.FLOAT32,
    np.dtype(np.float64): TensorType.FLOAT64,
    np.dtype(np.float16): TensorType.FLOAT16,
    np.dtype(np.int8): TensorType.INT8,
    np.dtype(np.uint8): TensorType.UINT8,
    np.dtype(np.int16): TensorType.INT16,
    np.dtype(np.int32): TensorType.INT32,
    np.dtype(np.int64): TensorType.INT64,
    np.dtype(np.bool_): TensorType.BOOL,
    np.dtype(np.uint16): TensorType.UINT16,
    np.dtype(np.uint32): TensorType.UINT32,
    np.dtype(np.uint64): TensorType.UINT64,
    np.dtype(np.complex64): TensorType.COMPLEX64,
    np.dtype(np.complex128): TensorType.COMPLEX128,
    np.dtype(np.object_): TensorType.STRING,
    np.dtype(ml_dtypes.int4): TensorType.INT4,
    np.dtype(ml_dtypes.bfloat16): TensorType.BFLOAT16,
    "resource": TensorType.RESOURCE,
}


class Graph:
    """Tensors and operators of one subgraph, in the order in which they were added."""

    def __init__(self, name="main"):
        self.name = name
        self.tensors = []
        self.operators = []
        self.inputs = []
        self.outputs = []

    def tensor(self, name, shape, dtype, signature=None, data=None, quantization=None):
        """`signature` is the shape with -1 for dynamic dims; `quantization` is (scale, zero point), or
        (scales, zero points, axis)."""
        self.tensors.append(dict(name=name, shape=shape, dtype=tensor_type(dtype), signature=signature,
                                 data=data, quantization=quantization))
        return len(self.tensors) - 1

    def constant(self, name, values):
        # not ascontiguousarray, which turns rank 0 into rank 1
        values = np.asarray(values)
        return self.tensor(name, values.shape, values.dtype, data=to_bytes(values))

    def input(self, *args, **kwargs):
        index = self.tensor(*args, **kwargs)
        self.inputs.append(index)
        return index

    def output(self, *args, **kwargs):
        index = self.tensor(*args, **kwargs)
        self.outputs.append(index)
        return index

    def operator(self, name, inputs, outputs, version=1, **options):
        """`options` are the fields of NAMEOptions, strings and vectors as Python values."""
        self.operators.append(dict(code=getattr(BuiltinOperator, name), inputs=inputs, outputs=outputs,
                                   version=version, options=options))


def tensor_type(dtype):
    return TENSOR_TYPES[dtype if isinstance(dtype, str) else np.dtype(dtype)]


# The options table of an operator whose options have fields or are required.
OPTION_TABLES = {
    BuiltinOperator.ADD: "AddOptions",
    BuiltinOperator.MUL: "MulOptions",
    BuiltinOperator.SUB: "SubOptions",
    BuiltinOperator.CAST: "CastOptions",
    BuiltinOperator.CONCATENATION: "ConcatenationOptions",
    BuiltinOperator.CONV_2D: "Conv2DOptions",
    BuiltinOperator.FULLY_CONNECTED: "FullyConnectedOptions",
    BuiltinOperator.VAR_HANDLE: "VarHandleOptions",
    BuiltinOperator.READ_VARIABLE: "ReadVariableOptions",
    BuiltinOperator.ASSIGN_VARIABLE: "AssignVariableOptions",
    BuiltinOperator.CALL_ONCE: "CallOnceOptions",
    BuiltinOperator.RESHAPE: "ReshapeOptions",
    BuiltinOperator.SLICE: "SliceOptions",
    BuiltinOperator.EQUAL: "EqualOptions",
    BuiltinOperator.GATHER: "GatherOptions",
    BuiltinOperator.NON_MAX_SUPPRESSION_V4: "NonMaxSuppressionV4Options",
    BuiltinOperator.WHERE: "WhereOptions",
    BuiltinOperator.LOGICAL_AND: "LogicalAndOptions",
}

SCHEMA_VERSION = 3
FILE_IDENTIFIER = b"TFL3"
# The schema demands it of a tensor's bytes, so that they can be used where the file is mapped.
DATA_ALIGNMENT = 16


def write(path, *graphs, description="zerobind test model", metadata=None, signatures=()):
    """`metadata` is name -> bytes. A signature is (key, number of its graph, inputs, outputs); the latter two
    are name -> tensor and are written in their order."""
    path.write_bytes(Writer().model(graphs, description, metadata or {}, signatures))


class Writer:
    def __init__(self):
        self.builder = flatbuffers.Builder(1024)
        # buffer 0 is the empty one, by convention
        self.buffers = [None]
        self.codes = []

    def model(self, graphs, description, metadata, signatures):
        subgraphs = [self.subgraph(graph) for graph in graphs]
        codes = [self.table("OperatorCode", DeprecatedBuiltinCode=min(code, 127), BuiltinCode=code,
                            Version=version) for code, version in self.codes]
        fields = {}
        if metadata:
            entries = [self.table("Metadata", Name=self.builder.CreateString(name), Buffer=self.buffer_index(data))
                       for name, data in metadata.items()]
            fields["Metadata"] = self.offsets(entries)
        if signatures:
            fields["SignatureDefs"] = self.offsets([self.signature(*signature) for signature in signatures])
        buffers = [self.buffer(data) for data in self.buffers]
        model = self.table(
            "Model", Version=SCHEMA_VERSION, OperatorCodes=self.offsets(codes),
            Subgraphs=self.offsets(subgraphs), Description=self.builder.CreateString(description),
            Buffers=self.offsets(buffers), **fields)
        self.builder.Finish(model, FILE_IDENTIFIER)
        return bytes(self.builder.Output())

    def signature(self, key, graph, inputs, outputs):
        return self.table("SignatureDef", Inputs=self.name_map(inputs), Outputs=self.name_map(outputs),
                          SignatureKey=self.builder.CreateString(key), SubgraphIndex=graph)

    def name_map(self, tensors):
        return self.offsets([self.table("TensorMap", Name=self.builder.CreateString(name), TensorIndex=tensor)
                             for name, tensor in tensors.items()])

    def subgraph(self, graph):
        tensors = [self.tensor(tensor) for tensor in graph.tensors]
        operators = [self.operator(operator) for operator in graph.operators]
        return self.table(
            "SubGraph", Tensors=self.offsets(tensors), Inputs=self.ints(graph.inputs),
            Outputs=self.ints(graph.outputs), Operators=self.offsets(operators),
            Name=self.builder.CreateString(graph.name))

    def tensor(self, tensor):
        fields = dict(Shape=self.ints(tensor["shape"]), Type=tensor["dtype"],
                      Buffer=self.buffer_index(tensor["data"]),
                      Name=self.builder.CreateString(tensor["name"]), HasRank=True)
        if tensor["signature"] is not None:
            fields["ShapeSignature"] = self.ints(tensor["signature"])
        if tensor["quantization"] is not None:
            fields["Quantization"] = self.quantization(*tensor["quantization"])
        return self.table("Tensor", **fields)

    def quantization(self, scales, zero_points, axis=0):
        scales, zero_points = np.atleast_1d(np.float32(scales)), np.atleast_1d(np.int64(zero_points))
        return self.table("QuantizationParameters", Scale=self.builder.CreateNumpyVector(scales),
                          ZeroPoint=self.builder.CreateNumpyVector(zero_points), QuantizedDimension=axis)

    def buffer_index(self, data):
        if data is None:
            return 0
        self.buffers.append(data)
        return len(self.buffers) - 1

    def operator(self, operator):
        key = (operator["code"], operator["version"])
        if key not in self.codes:
            self.codes.append(key)
        fields = dict(OpcodeIndex=self.codes.index(key), Inputs=self.ints(operator["inputs"]),
                      Outputs=self.ints(operator["outputs"]))
        table = OPTION_TABLES.get(operator["code"])
        if table is not None:
            options = {name: self.builder.CreateString(value) if isinstance(value, str) else value
                       for name, value in operator["options"].items()}
            fields["BuiltinOptionsType"] = getattr(BuiltinOptions, table)
            fields["BuiltinOptions"] = self.table(table, **options)
        return self.table("Operator", **fields)

    def buffer(self, data):
        if data is None:
            return self.table("Buffer")
        builder = self.builder
        builder.StartVector(1, len(data), DATA_ALIGNMENT)
        builder.head -= len(data)
        builder.Bytes[builder.head:builder.head + len(data)] = data
        return self.table("Buffer", Data=builder.EndVector())

    def table(self, name, **fields):
        """One table of the schema; nested values must be written before."""
        module = importlib.import_module(f"tflite.{name}")
        getattr(module, f"{name}Start")(self.builder)
        for field, value in fields.items():
            getattr(module, f"{name}Add{field}")(self.builder, value)
        return getattr(module, f"{name}End")(self.builder)

    def ints(self, values):
        return self.builder.CreateNumpyVector(np.array(values, np.int32))

    def offsets(self, values):
        self.builder.StartVector(4, len(values), 4)
        for value in reversed(values):
            self.builder.PrependUOffsetTRelative(value)
        return self.builder.EndVector()
