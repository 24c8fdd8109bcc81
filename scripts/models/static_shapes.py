"""A TFLite model whose shapes are all known before it runs.

Some models compute a shape in the run (SHAPE, STRIDED_SLICE, PACK, then RESHAPE) although it is always the declared one.
TFLite then gives everything behind that RESHAPE memory of its own in each run, so no memory of the host can take the place
of an output. `fold_shapes` does such a computation once: its result becomes a constant and its operators go.

The file is edited where it is: buffers are appended, the list of operators gets shorter, nothing else moves.
"""

import struct

import numpy as np
import tflite

OPERATORS = {value: name for name, value in vars(tflite.BuiltinOperator).items() if isinstance(value, int)}

# places of fields in their tables
MODEL_BUFFERS = 12
SUBGRAPH_OPERATORS = 10


def fold_shapes(source, target):
    """Writes the folded model of `source` to `target`; gives the number of operators that went."""
    content = bytearray(source.read_bytes())
    model = tflite.Model.GetRootAs(bytes(content))
    graph = model.Subgraphs(0)

    known, folded = {}, set()
    for index in range(graph.OperatorsLength()):
        value = evaluate(model, graph, graph.Operators(index), known)
        if value is not None:
            known[graph.Operators(index).Outputs(0)] = value
            folded.add(index)

    set_constants(content, model, graph, known)
    drop_operators(content, graph, folded)
    target.write_bytes(content)
    return len(folded)


def evaluate(model, graph, operator, known):
    """What an operator of a shape computation gives; None for any other operator."""
    name = operator_name(model, operator)
    inputs = [int(index) for index in operator.InputsAsNumpy()]
    if name == "SHAPE":
        return np.array(graph.Tensors(inputs[0]).ShapeAsNumpy(), np.int32)
    if inputs[0] not in known:
        return None
    values = [known[index] if index in known else constant(model, graph, index) for index in inputs]
    if name == "PACK":
        return np.stack(values)
    if name == "STRIDED_SLICE":
        return slice_of(operator, *values)
    return None


def operator_name(model, operator):
    code = model.OperatorCodes(operator.OpcodeIndex())
    # the old field holds small codes, the new one all
    return OPERATORS[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())]


def constant(model, graph, index):
    tensor = graph.Tensors(index)
    data = model.Buffers(tensor.Buffer()).DataAsNumpy()
    shape = tensor.ShapeAsNumpy() if tensor.ShapeLength() > 0 else ()
    return np.frombuffer(data.tobytes(), "<i4").reshape(shape)


def slice_of(operator, values, begin, end, step):
    options = tflite.StridedSliceOptions()
    table = operator.BuiltinOptions()
    options.Init(table.Bytes, table.Pos)
    if options.BeginMask() or options.EndMask() or options.EllipsisMask() or options.NewAxisMask():
        raise ValueError("a slice of a shape with a mask that is not provided for")
    part = values[begin[0]:end[0]:step[0]]
    return part[0] if options.ShrinkAxisMask() else part


def set_constants(content, model, graph, known):
    """Gives each tensor in `known` a buffer with its value, in place of the empty one that it has."""
    users = [graph.Tensors(index).Buffer() for index in range(graph.TensorsLength())]
    buffers = model._tab.Vector(model._tab.Offset(MODEL_BUFFERS))
    for index, value in known.items():
        number = graph.Tensors(index).Buffer()
        if number == 0 or users.count(number) != 1:
            raise ValueError(f"tensor {index} has no buffer of its own")
        point(content, buffers + 4 * number, append_buffer(content, value))


def drop_operators(content, graph, folded):
    operators = graph._tab.Vector(graph._tab.Offset(SUBGRAPH_OPERATORS))
    kept = [index for index in range(graph.OperatorsLength()) if index not in folded]
    targets = [follow(content, operators + 4 * index) for index in kept]
    for place, target in enumerate(targets):
        point(content, operators + 4 * place, target)
    struct.pack_into("<I", content, operators - 4, len(kept))


def follow(content, offset):
    return offset + struct.unpack_from("<I", content, offset)[0]


def point(content, offset, target):
    struct.pack_into("<I", content, offset, target - offset)


def append_buffer(content, value):
    """Appends a table Buffer that holds the value; gives its place."""
    data = np.ascontiguousarray(value, "<i4").tobytes()
    content.extend(bytes(-len(content) % 16))
    # the vtable: its own size, the table's, where in the table field 0 (data) is; 2 bytes of padding
    content.extend(struct.pack("<HHHH", 6, 8, 4, 0))
    table = len(content)
    # the table: how far back the vtable is, how far on from here the vector is
    content.extend(struct.pack("<iI", 8, 16))
    # 12 bytes and the length, so that the data begins at a multiple of 16, as TFLite asks
    content.extend(bytes(12) + struct.pack("<I", len(data)) + data)
    return table
