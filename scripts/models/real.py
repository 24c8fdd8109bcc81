"""Trained models out of the unpacked wheels, under stable names."""

import shutil
import struct

from tflite.Model import Model as TfliteFile

from static_shapes import fold_shapes

# name in .deps/models -> package folder and path in it
FILES = {
    "basic_pitch.onnx": ("basic_pitch", "basic_pitch/saved_models/icassp_2022/nmp.onnx"),
    "basic_pitch.tflite": ("basic_pitch", "basic_pitch/saved_models/icassp_2022/nmp.tflite"),
    "silero_vad.onnx": ("silero_vad", "silero_vad/data/silero_vad.onnx"),
    "okay_nabu.tflite": ("pymicro_wakeword", "pymicro_wakeword/models/okay_nabu.tflite"),
    "embedding.tflite": ("pyopen_wakeword", "pyopen_wakeword/models/embedding_model.tflite"),
    "melspectrogram.tflite": ("pyopen_wakeword", "pyopen_wakeword/models/melspectrogram.tflite"),
}

DOES = {
    "basic_pitch": "notes in 2 s of music at 22050 Hz; outputs are onset, note, contour in both formats",
    "basic_pitch_static": "the same; shapes that the original computes in the run, which keeps its outputs from host memory, "
                          "are constants",
    "silero_vad": "how likely 512 samples at 16 kHz are speech: the 64 samples before them come first in the input; "
                  "stateN is the next window's state, all zero at first",
    "okay_nabu": "streaming wake word: state in six resource variables",
    "okay_nabu_features": "okay_nabu, cut before its last layer: the score is 0 for most sounds, these are not",
    "embedding": "speech embedding, first dim dynamic",
    "melspectrogram": "not to be run at its declared shape (see the traps below): resize first, to 512 samples or more",
}


def copy(packages, models):
    for name, (package, path) in FILES.items():
        shutil.copyfile(packages / package / path, models / name)
    fold_shapes(models / "basic_pitch.tflite", models / "basic_pitch_static.tflite")
    cut_last_layer(models / "okay_nabu.tflite", models / "okay_nabu_features.tflite")


def cut_last_layer(source, target):
    """The same file of a wake word with one number changed: the output is what its last fully connected layer reads."""
    content = bytearray(source.read_bytes())
    graph = TfliteFile.GetRootAs(content).Subgraphs(0)
    last_layer = [graph.Operators(index) for index in range(graph.OperatorsLength())
                  if graph.Operators(index).InputsLength() == 3][-1]
    struct.pack_into("<i", content, position_of_output(graph), last_layer.Inputs(0))
    target.write_bytes(content)


def position_of_output(graph):
    """Where the file holds the tensor index of output 0."""
    outputs_field = 8  # SubGraph.outputs, third field of the table
    return graph._tab.Vector(graph._tab.Offset(outputs_field))
