"""generate.py DEPS: outputs of the real models by the engines' own APIs, in DEPS/reference.

The tests compare zerobind with these. Nothing here goes through zerobind: ONNX Runtime is driven by its
Python package, TFLite by its C API through ctypes, with copies.
"""

import pathlib
import sys

import numpy as np
import onnxruntime

import silero
import tflite_engine
from fresh_folder import fresh_folder

WINDOW = 43844
CONFIGURATIONS = {"plain": False, "xnnpack": True}
# In the order of both files' outputs.
BASIC_PITCH_OUTPUTS = ("onset", "note", "contour")
STREAM_FRAMES = 50


class Folder:
    """Writes arrays as raw little-endian files and keeps the list of them."""

    def __init__(self, path):
        self.path = path
        self.lines = ["file dtype shape (raw little-endian, C order; made without zerobind)"]

    def save(self, name, array):
        array = np.ascontiguousarray(array)
        array.astype(array.dtype.newbyteorder("<")).tofile(self.path / f"{name}.bin")
        self.lines.append(f"{name}.bin {array.dtype.name} {','.join(map(str, array.shape))}")

    def finish(self):
        (self.path / "INDEX.txt").write_text("\n".join(self.lines) + "\n")


def main(deps):
    library = tflite_engine.load(deps)
    with fresh_folder(deps / "reference") as path:
        folder = Folder(path)
        basic_pitch(deps, library, folder)
        silero.generate(deps, folder)
        okay_nabu(deps, library, folder)
        embedding(deps, library, folder)
        folder.finish()


def basic_pitch(deps, library, folder):
    recording = np.fromfile(deps / "audio/recording.f32", "<f4")
    noise = np.random.default_rng(1).uniform(-0.5, 0.5, WINDOW).astype(np.float32)
    session = onnxruntime.InferenceSession(str(deps / "models/basic_pitch.onnx"),
                                           providers=["CPUExecutionProvider"])
    for kind, window in (("music", recording[:WINDOW]), ("noise", noise)):
        window = window.reshape(1, WINDOW, 1)
        folder.save(f"basic_pitch.{kind}.input", window)
        outputs = {"onnxruntime": session.run(None, {session.get_inputs()[0].name: window})}
        for configuration, xnnpack in CONFIGURATIONS.items():
            outputs[f"tflite-{configuration}"] = run_tflite(
                library, deps / "models/basic_pitch.tflite", xnnpack, [window])
        for engine, arrays in outputs.items():
            for slot, array in zip(BASIC_PITCH_OUTPUTS, arrays, strict=True):
                folder.save(f"basic_pitch.{kind}.{engine}.{slot}", array)
        require_agreement(f"basic_pitch on {kind}", outputs)


def okay_nabu(deps, library, folder):
    """A stream: each output depends on all frames before it. Ramps and noise by turns of ten frames."""
    generator = np.random.default_rng(2)
    ramp = np.linspace(-128, 127, 120).astype(np.int8).reshape(1, 3, 40)
    frames = [ramp if index // 10 % 2 == 0 else generator.integers(-128, 128, (1, 3, 40), np.int8)
              for index in range(STREAM_FRAMES)]
    folder.save("okay_nabu.input", np.stack(frames))
    for model in ("okay_nabu", "okay_nabu_features"):
        for configuration, xnnpack in CONFIGURATIONS.items():
            outputs, again = stream_twice(library, deps / f"models/{model}.tflite", xnnpack, frames)
            folder.save(f"{model}.tflite-{configuration}.output", outputs)
    # the last ones: each of the 50 must differ from its neighbour, or the stream shows nothing
    if same(outputs[1:], outputs[:-1]).any():
        raise SystemExit("okay_nabu_features: two frames in a row have the same output")
    # and a reset that does nothing must show
    if same(outputs, again)[0]:
        raise SystemExit("okay_nabu_features: a second stream begins like the first without a reset")


def same(left, right):
    """Per frame."""
    return (left == right).all(axis=tuple(range(1, left.ndim)))


def stream_twice(library, path, xnnpack, frames):
    """The outputs from a fresh start, and those of the same frames right after, without a reset."""
    interpreter = tflite_engine.Interpreter(library, path, xnnpack)
    interpreter.allocate()
    outputs = np.stack([interpreter.step([frame])[0] for frame in frames * 2])
    interpreter.close()
    return outputs[:len(frames)], outputs[len(frames):]


def embedding(deps, library, folder):
    generator = np.random.default_rng(3)
    for batch in (1, 3):
        values = generator.uniform(-1, 1, (batch, 76, 32, 1)).astype(np.float32)
        folder.save(f"embedding.batch{batch}.input", values)
        outputs = {}
        for configuration, xnnpack in CONFIGURATIONS.items():
            outputs[configuration] = run_tflite(library, deps / "models/embedding.tflite", xnnpack, [values])
            folder.save(f"embedding.batch{batch}.tflite-{configuration}.output", outputs[configuration][0])
        require_agreement(f"embedding, batch {batch}", outputs)


def run_tflite(library, path, xnnpack, inputs):
    interpreter = tflite_engine.Interpreter(library, path, xnnpack)
    outputs = interpreter.run(inputs)
    interpreter.close()
    return outputs


def require_agreement(what, outputs, tolerance=5e-3):
    """A wrong slot order or a broken driver would show here, long before a test."""
    first, *others = outputs.values()
    scale = max(1.0, *(float(np.abs(array).max()) for array in first))
    for other in others:
        for a, b in zip(first, other, strict=True):
            difference = float(np.abs(a - b).max())
            if not difference <= tolerance * scale:
                raise SystemExit(f"{what}: engines differ by {difference}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
