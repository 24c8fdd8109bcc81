"""INDEX.txt: each model's slots as the file declares them, and what the engines said to it."""

import numpy as np
import onnx
from tflite.Model import Model as TfliteFile
from tflite.TensorType import TensorType

TFLITE_TYPES = {value: name.lower() for name, value in vars(TensorType).items() if not name.startswith("_")}

HEADER = """\
Models in this folder, written by scripts/models/generate.py.
A slot is: direction, name, dtype, shape (? or a name: dynamic, with the format's default after =), and the
quantization (scale, zero point), one for each index where it goes along a dim. Outcomes are those of the set-up's own run, made without zerobind:
"runs" and "opens" (never run) are compared with numpy; anything else is what the engine said or did.
"""


def entry(name, does, formats):
    """`formats` is a list of (format, slots or None, {configuration: outcome})."""
    lines = [name, f"  {does}"]
    for format_, slots, outcomes in formats:
        lines.append(f"  {format_}")
        lines += [f"    {slot}" for slot in slots]
        lines += [f"    {configuration}: {outcome}" for configuration, outcome in outcomes.items()]
    return "\n".join(lines) + "\n"


def onnx_slots(path):
    graph = onnx.load(str(path), load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    for direction, values in (("in ", graph.input), ("out", graph.output)):
        for value in values:
            if direction == "in " and value.name in constants:
                continue
            tensor = value.type.tensor_type
            dtype = onnx.TensorProto.DataType.Name(tensor.elem_type).lower()
            dims = [dim.dim_param or (str(dim.dim_value) if dim.HasField("dim_value") else "?")
                    for dim in tensor.shape.dim]
            yield f"{direction} {value.name} {dtype}[{','.join(dims)}]"


def tflite_slots(path):
    graph = TfliteFile.GetRootAs(path.read_bytes()).Subgraphs(0)
    for direction, indices in (("in ", graph.InputsAsNumpy()), ("out", graph.OutputsAsNumpy())):
        for index in np.atleast_1d(indices):
            tensor = graph.Tensors(int(index))
            yield f"{direction} {tensor.Name().decode()} {TFLITE_TYPES[tensor.Type()]}" \
                  f"[{','.join(tflite_dims(tensor))}]{tflite_quantization(tensor)}"


def tflite_dims(tensor):
    for axis in range(tensor.ShapeLength()):
        size = tensor.Shape(axis)
        dynamic = tensor.ShapeSignatureLength() > axis and tensor.ShapeSignature(axis) == -1
        yield f"?={size}" if dynamic else str(size)


def tflite_quantization(tensor):
    found = tensor.Quantization()
    if found is None or found.ScaleLength() == 0:
        return ""
    pairs = [f"({found.Scale(index):.9g}, {found.ZeroPoint(index)})" for index in range(found.ScaleLength())]
    axis = f" along dim {found.QuantizedDimension()}" if len(pairs) > 1 else ""
    return f" quantized {' '.join(pairs)}{axis}"
