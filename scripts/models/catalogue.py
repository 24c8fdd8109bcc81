"""What a test model is: how each format of it is written, and what it must compute."""

import dataclasses
from typing import Callable, Optional

import numpy as np


@dataclasses.dataclass
class Model:
    name: str
    # one line for the index: what the outputs are
    does: str
    # () -> onnx.ModelProto, and (path) -> None; None where the format cannot say it
    onnx: Optional[Callable] = None
    tflite: Optional[Callable] = None
    # why a format is missing, for the index
    without: str = ""
    # lists of inputs to run at generation; none for a model that must not be run
    trials: list = dataclasses.field(default_factory=list)
    # inputs -> outputs, in numpy
    expected: Optional[Callable] = None
    # largest allowed difference to `expected`, 0 for bit-exact
    tolerance: float = 0.0
    # outputs depend on the runs before: one interpreter for all trials, and `expected` gets all their inputs
    stateful: bool = False
    # raises validate.WrongResult where the file or the engine says something else than it should
    onnx_check: Optional[Callable] = None    # (path, session)
    tflite_check: Optional[Callable] = None  # (path, interpreter)


def numbers(shape, dtype=np.float32, seed=0):
    """Small whole numbers, so that sums and products are exact in every type. Never all zero."""
    generator = np.random.default_rng(seed)
    if np.dtype(dtype) == np.bool_:
        return generator.integers(0, 2, shape).astype(np.bool_)
    low = 0 if np.dtype(dtype).kind == "u" else -20
    return generator.integers(low, 21, shape).astype(dtype)
