"""prepare.py DEPS PYTHON: what the conformance tests read, into DEPS/conformance.

The node tests are read out of the wheel of onnx for that version of Python, which is downloaded; the TFLite models are
those of packages that are unpacked already.

cases.txt and reference.bin are the node tests of onnx in a form that needs no protobuf to read:

    case NAME RTOL ATOL PATH
    input KIND TYPE OFFSET SIZE RANK DIM... SLOT
    output KIND TYPE OFFSET SIZE RANK DIM... SLOT

KIND is tensor, sequence, optional or map; TYPE is the number of the element type in ONNX; the bytes are those of
reference.bin, row-major, elements under 8 bits packed, low nibble first. Only tensors have bytes, strings have none.
tflite.txt lists the TFLite models, and the shapes that an input is given first:

    model NAME PATH
    resize INPUT RANK DIM...
    derived NAME PATH
"""

import json
import pathlib
import sys
import tempfile
import zipfile

import numpy as np
import onnx
from onnx import numpy_helper

import unpack_wheels
from fresh_folder import fresh_folder
from real import cut_last_layer

REQUIREMENTS = "conformance-requirements.txt"
NODE_TESTS = "onnx/backend/test/data/node/"
# as onnx's own loader has them for a case without a data.json
DEFAULT_TOLERANCES = {"rtol": 1e-3, "atol": 1e-7}
# the engine's first reads of vectors are at multiples of 64
ALIGNMENT = 64
FOUR_BITS = {onnx.TensorProto.INT4, onnx.TensorProto.UINT4}

# folders of DEPS; mediapipe has no wheel for some systems
TFLITE_PACKAGES = ("mediapipe/mediapipe", "packages/pymicro_wakeword", "packages/pyopen_wakeword", "packages/basic_pitch")
SCORES_OF_ZERO = "packages/pymicro_wakeword"
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


def read_tensor(content, declared_type):
    tensor = onnx.TensorProto.FromString(content)
    if tensor.data_type == onnx.TensorProto.UINT16 and declared_type == onnx.TensorProto.BFLOAT16:
        # the bits are right; when these were written, numpy had no name for the type
        tensor.data_type = declared_type
    if tensor.data_type != declared_type:
        raise SystemExit(f"a tensor of type {tensor.data_type}; the model declares {declared_type}")
    return tensor


def slot_line(side, declared, content, reference):
    kind = declared.type.WhichOneof("value").removesuffix("_type")
    if kind != "tensor":
        return f"{side} {kind} 0 0 0 0 {declared.name}"
    tensor = read_tensor(content, declared.type.tensor_type.elem_type)
    content = b"" if tensor.data_type == onnx.TensorProto.STRING else packed(tensor)
    numbers = [tensor.data_type, reference.append(content), len(content), len(tensor.dims), *tensor.dims]
    return " ".join([side, kind, *map(str, numbers), declared.name])


def case_lines(name, files, path, reference):
    """`files` are those of the case's folder, by their names in it; the model comes to lie at `path`."""
    model = onnx.load_from_string(files.pop("model.onnx"))
    tolerances = DEFAULT_TOLERANCES | json.loads(files.pop("data.json", "{}"))
    yield f"case {name} {tolerances['rtol']} {tolerances['atol']} {path}"
    for side, slots in (("input", model.graph.input), ("output", model.graph.output)):
        for index, declared in enumerate(slots):
            yield slot_line(side, declared, files.pop(f"test_data_set_0/{side}_{index}.pb"), reference)
    if files:
        raise SystemExit(f"{name}: not expected in its folder: {sorted(files)}")


def node_tests(archive):
    """The files of each case's folder: {case: {name: content}}."""
    cases = {}
    for path in archive.namelist():
        if path.startswith(NODE_TESTS) and not path.endswith("/"):
            case, _, name = path.removeprefix(NODE_TESTS).partition("/")
            cases.setdefault(case, {})[name] = archive.read(path)
    return cases


def write_cases(archive, target, final):
    """`final` is where the folder will be when it is complete."""
    reference = ReferenceFile(target / "reference.bin")
    (target / "node").mkdir()
    lines = []
    for name, files in sorted(node_tests(archive).items()):
        (target / "node" / f"{name}.onnx").write_bytes(files["model.onnx"])
        lines += case_lines(name, files, final / "node" / f"{name}.onnx", reference)
    reference.close()
    return write_lines(target / "cases.txt", lines)


def tflite_lines(deps, target, final):
    """A wake word's score is 0 for nearly every sound: there is also each without its last layer, which shows its state.

    Of a model that is given a shape there is also the one as declared, which the engine has to refuse.
    """
    for package in TFLITE_PACKAGES:
        for path in sorted((deps / package).rglob("*.tflite")):
            name = f"{pathlib.Path(package).name}/{path.stem}"
            yield f"model {name} {path.resolve()}"
            for slot, dims in RESIZED.get(name, []):
                yield " ".join(map(str, ("resize", slot, len(dims), *dims)))
            if name in RESIZED:
                yield f"derived {name}_as_declared {path.resolve()}"
            if package == SCORES_OF_ZERO:
                features = f"{path.stem}_features.tflite"
                cut_last_layer(path, target / features)
                yield f"derived {name}_features {final / features}"


def write_lines(path, lines):
    """Returns how many cases or models they are about."""
    path.write_text("\n".join(lines) + "\n")
    return sum(line.startswith(("case ", "model ")) for line in lines)


def main(deps, python):
    final = deps.absolute() / "conformance"
    with tempfile.TemporaryDirectory() as folder, fresh_folder(final) as target:
        unpack_wheels.download(REQUIREMENTS, folder, python)
        (wheel,) = pathlib.Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            cases = write_cases(archive, target, final)
        models = write_lines(target / "tflite.txt", list(tflite_lines(deps, target, final)))
    print(f"conformance: {cases} node tests of onnx, {models} TFLite models")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2])
