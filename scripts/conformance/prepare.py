"""prepare.py DEPS: what the conformance tests read, out of the unpacked wheels, into DEPS/conformance.

cases.txt and reference.bin are the node tests of onnx in a form that needs no protobuf to read:

    case NAME RTOL ATOL PATH
    input KIND TYPE OFFSET SIZE RANK DIM... SLOT
    output KIND TYPE OFFSET SIZE RANK DIM... SLOT

KIND is tensor, sequence, optional or map; TYPE is the number of the element type in ONNX; the bytes are those of
reference.bin, row-major, elements under 8 bits packed, low nibble first. Only tensors have bytes, strings have none.
tflite.txt lists the TFLite models, and the shapes that an input is given first:

    model NAME PATH
    resize INPUT RANK DIM...
"""

import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import numpy_helper

from fresh_folder import fresh_folder

NODE_TESTS = "onnx-tests/onnx/onnx/backend/test/data/node"
# as onnx's own loader has them for a case without a data.json
DEFAULT_TOLERANCES = {"rtol": 1e-3, "atol": 1e-7}
# the engine's first reads of vectors are at multiples of 64
ALIGNMENT = 64
FOUR_BITS = {onnx.TensorProto.INT4, onnx.TensorProto.UINT4}

# folders of DEPS; mediapipe has no wheel for some systems
TFLITE_PACKAGES = ("mediapipe/mediapipe", "packages/pymicro_wakeword", "packages/pyopen_wakeword", "packages/basic_pitch")
# the engine cannot plan this one at its declared shape; 1760 samples are what its package feeds it
RESIZED = {"pyopen_wakeword/melspectrogram": [(0, (1, 1760))]}


class ReferenceFile:
    """reference.bin while it is written."""

    def __init__(self, path):
        self.file = path.open("wb")

    def append(self, content):
        offset = -(-self.file.tell() // ALIGNMENT) * ALIGNMENT
        self.file.seek(offset)
        self.file.write(content)
        return offset

    def close(self):
        # whole even if the last tensors are empty
        self.append(bytes(ALIGNMENT))
        self.file.close()


def packed(tensor):
    """The elements as an engine has them in memory."""
    values = np.ascontiguousarray(numpy_helper.to_array(tensor))
    if tensor.data_type not in FOUR_BITS:
        return values.tobytes()
    nibbles = values.astype(np.int8).view(np.uint8).ravel() & 0xF
    nibbles = np.append(nibbles, np.zeros(nibbles.size % 2, np.uint8))
    return (nibbles[0::2] | nibbles[1::2] << 4).tobytes()


def read_tensor(path, declared_type):
    tensor = onnx.TensorProto.FromString(path.read_bytes())
    if tensor.data_type == onnx.TensorProto.UINT16 and declared_type == onnx.TensorProto.BFLOAT16:
        # the bits are right; when these were written, numpy had no name for the type
        tensor.data_type = declared_type
    if tensor.data_type != declared_type:
        raise SystemExit(f"{path}: type {tensor.data_type}; the model declares {declared_type}")
    return tensor


def slot_line(side, declared, path, reference):
    kind = declared.type.WhichOneof("value").removesuffix("_type")
    if kind != "tensor":
        return f"{side} {kind} 0 0 0 0 {declared.name}"
    tensor = read_tensor(path, declared.type.tensor_type.elem_type)
    content = b"" if tensor.data_type == onnx.TensorProto.STRING else packed(tensor)
    numbers = [tensor.data_type, reference.append(content), len(content), len(tensor.dims), *tensor.dims]
    return " ".join([side, kind, *map(str, numbers), declared.name])


def case_lines(folder, reference):
    model = onnx.load(folder / "model.onnx")
    stated = folder / "data.json"
    tolerances = DEFAULT_TOLERANCES | (json.loads(stated.read_text()) if stated.exists() else {})
    sets = sorted(path.name for path in folder.glob("test_data_set_*"))
    if sets != ["test_data_set_0"]:
        raise SystemExit(f"{folder}: one set of data is expected, there are {sets}")
    yield f"case {folder.name} {tolerances['rtol']} {tolerances['atol']} {folder.resolve() / 'model.onnx'}"
    for side, slots in (("input", model.graph.input), ("output", model.graph.output)):
        files = sorted((folder / sets[0]).glob(f"{side}_*.pb"))
        if len(files) != len(slots):
            raise SystemExit(f"{folder}: {len(files)} {side}s in the data, {len(slots)} in the model")
        for index, declared in enumerate(slots):
            yield slot_line(side, declared, folder / sets[0] / f"{side}_{index}.pb", reference)


def write_cases(source, target):
    reference = ReferenceFile(target / "reference.bin")
    lines = []
    for folder in sorted(source.iterdir()):
        lines += case_lines(folder, reference)
    reference.close()
    return write_lines(target / "cases.txt", lines)


def tflite_lines(deps):
    for package in TFLITE_PACKAGES:
        for path in sorted((deps / package).rglob("*.tflite")):
            name = f"{pathlib.Path(package).name}/{path.stem}"
            yield f"model {name} {path.resolve()}"
            for slot, dims in RESIZED.get(name, []):
                yield " ".join(map(str, ("resize", slot, len(dims), *dims)))


def write_lines(path, lines):
    """Returns how many cases or models they are about."""
    path.write_text("\n".join(lines) + "\n")
    return sum(line.startswith(("case ", "model ")) for line in lines)


def main(deps):
    with fresh_folder(deps / "conformance") as target:
        cases = write_cases(deps / NODE_TESTS, target)
        models = write_lines(target / "tflite.txt", list(tflite_lines(deps)))
    print(f"conformance: {cases} node tests of onnx, {models} TFLite models")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
