"""generate.py DEPS: write DEPS/models, check each model on the engines, and write the index."""

import pathlib
import sys

import onnx

import descriptions
import element_types
import elementwise
import index
import oddities
import open_sizes
import quantization
import real
import shapes
import strings
import tflite_engine
import traps
import validate
from fresh_folder import fresh_folder


def main(deps):
    library = tflite_engine.load(deps)
    with fresh_folder(deps / "models") as folder:
        fill(folder, library, deps / "packages")


def fill(folder, library, packages):
    entries = [index.HEADER]
    for group in (elementwise, element_types, shapes, open_sizes, quantization, descriptions, strings, oddities):
        for model in group.models():
            entries.append(generated_entry(folder, library, model))
    real.copy(packages, folder)
    entries += real_entries(folder)
    entries.append(traps.report(library, folder))
    (folder / "INDEX.txt").write_text("\n".join(entries))


def generated_entry(folder, library, model):
    formats = []
    if model.onnx is not None:
        path = folder / f"{model.name}.onnx"
        onnx.save(model.onnx(), str(path))
        outcome = validate.onnx_outcome(path, model)
        formats.append((path.name, index.onnx_slots(path), {"onnxruntime": outcome}))
    if model.tflite is not None:
        path = folder / f"{model.name}.tflite"
        model.tflite(path)
        outcomes = {"tflite, plain": validate.tflite_outcome(library, path, model, False),
                    "tflite, xnnpack": validate.tflite_outcome(library, path, model, True)}
        formats.append((path.name, index.tflite_slots(path), outcomes))
    does = model.does + (f" ({model.without})" if model.without else "")
    return index.entry(model.name, does, formats)


def real_entries(folder):
    for name, does in real.DOES.items():
        formats = []
        for suffix, slots in (("onnx", index.onnx_slots), ("tflite", index.tflite_slots)):
            path = folder / f"{name}.{suffix}"
            if path.exists():
                formats.append((path.name, slots(path), {}))
        yield index.entry(name, does, formats)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
