"""TFLite's C API through ctypes, with copies: the oracle of models and references. It is not zerobind."""

import contextlib
import ctypes
import os
import sys

import ml_dtypes
import numpy as np

from raw import from_bytes, to_bytes

DTYPES = {1: np.float32, 2: np.int32, 3: np.uint8, 4: np.int64, 6: np.bool_, 7: np.int16, 9: np.int8,
          5: np.object_, 8: np.complex64, 10: np.float16, 11: np.float64, 12: np.complex128, 13: np.uint64, 16: np.uint32,
          17: np.uint16, 18: ml_dtypes.int4, 19: ml_dtypes.bfloat16}
SKIP_ALIGNMENT_CHECK = 1
REPORTER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


class TfliteError(Exception):
    """A call that did not return kTfLiteOk, with the engine's text."""


class Allocation(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


class Library:
    POINTERS = ("ModelCreateFromFile", "InterpreterOptionsCreate", "InterpreterCreate",
                "InterpreterGetInputTensor", "InterpreterGetOutputTensor", "XNNPackDelegateCreate", "TensorData",
                "InterpreterGetSignatureRunner", "SignatureRunnerGetInputTensor", "SignatureRunnerGetOutputTensor")
    STRINGS = ("TensorName", "InterpreterGetSignatureKey", "SignatureRunnerGetInputName",
               "SignatureRunnerGetOutputName")

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        for name in self.POINTERS:
            self[name].restype = ctypes.c_void_p
        for name in self.STRINGS:
            self[name].restype = ctypes.c_char_p
        self["TensorByteSize"].restype = ctypes.c_size_t
        # a va_list is passed on untouched, which works where it is passed as a pointer
        self.format = ctypes.CDLL(None).vsnprintf

    def __getitem__(self, name):
        return getattr(self.library, f"TfLite{name}")


class Interpreter:
    def __init__(self, library, path, xnnpack, threads=1):
        self.library = library
        self.messages = []
        self.cleanup = contextlib.ExitStack()
        self.model = self.pointer("ModelCreateFromFile", str(path).encode())
        self.cleanup.callback(self.call, "ModelDelete", self.model)
        options = self.pointer("InterpreterOptionsCreate")
        self.call("InterpreterOptionsSetNumThreads", options, threads)
        self.reporter = REPORTER(self.report)
        self.call("InterpreterOptionsSetErrorReporter", options, self.reporter, None)
        if xnnpack:
            # NULL options are the defaults, which do not depend on the struct's layout
            with silent_stderr():
                delegate = self.pointer("XNNPackDelegateCreate", None)
            self.cleanup.callback(self.call, "XNNPackDelegateDelete", delegate)
            self.call("InterpreterOptionsAddDelegate", options, delegate)
        try:
            self.handle = self.pointer("InterpreterCreate", self.model, options)
        finally:
            self.call("InterpreterOptionsDelete", options)
        self.cleanup.callback(self.call, "InterpreterDelete", self.handle)

    def close(self):
        """The interpreter, then the delegate, then the model."""
        self.cleanup.close()

    def report(self, _user_data, text, arguments):
        buffer = ctypes.create_string_buffer(1024)
        self.library.format(buffer, ctypes.c_size_t(1024), text, ctypes.c_void_p(arguments))
        self.messages.append(buffer.value.decode(errors="replace").strip())

    def pointer(self, name, *arguments):
        result = self.call(name, *arguments)
        if result is None:
            raise TfliteError(f"{name} gave NULL: {' / '.join(self.messages)}")
        return ctypes.c_void_p(result)

    def call(self, name, *arguments):
        return self.library[name](*arguments)

    def check(self, name, *arguments):
        status = self.call(name, self.handle, *arguments)
        if status != 0:
            raise TfliteError(f"{name} gave {status}: {' / '.join(self.messages)}")

    def allocate(self):
        self.check("InterpreterAllocateTensors")

    def resize(self, index, shape):
        self.check("InterpreterResizeInputTensor", index, (ctypes.c_int * len(shape))(*shape), len(shape))

    def invoke(self):
        self.check("InterpreterInvoke")

    def run(self, inputs):
        """Resize where a shape differs, copy in, invoke, copy out."""
        for index, values in enumerate(inputs):
            if shape(self.library, self.input_tensor(index)) != values.shape:
                self.resize(index, values.shape)
        self.allocate()
        return self.step(inputs)

    def step(self, inputs):
        """A further run at the shapes of the last one."""
        for index, values in enumerate(inputs):
            self.write(self.input_tensor(index), values)
        self.invoke()
        return [self.read(self.output_tensor(index)) for index in range(self.output_count())]

    def write(self, tensor, values):
        bytes_ = to_bytes(values)
        if values.dtype == np.object_:
            # strings have no size that a shape gives
            self.call("TensorRealloc", ctypes.c_size_t(len(bytes_)), tensor)
        size = self.call("TensorByteSize", tensor)
        if size != len(bytes_):
            raise TfliteError(f"a tensor takes {size} bytes, not {len(bytes_)}")
        if size > 0:
            status = self.call("TensorCopyFromBuffer", tensor, bytes_, ctypes.c_size_t(size))
            if status != 0:
                raise TfliteError(f"TensorCopyFromBuffer gave {status}")

    def signatures(self):
        """key -> Signature, in the engine's order."""
        count = self.call("InterpreterGetSignatureCount", self.handle)
        keys = [self.call("InterpreterGetSignatureKey", self.handle, index) for index in range(count)]
        return {key.decode(): Signature(self, key) for key in keys}

    def bind_input(self, index, address, size):
        """Lend memory at any alignment; only for probing what the engine does with it."""
        tensor = self.call("InterpreterGetInputTensorIndex", self.handle, index)
        self.check("InterpreterSetCustomAllocationForTensor", tensor,
                   ctypes.byref(Allocation(address, size)), ctypes.c_int64(SKIP_ALIGNMENT_CHECK))

    def read(self, tensor):
        size = self.call("TensorByteSize", tensor)
        data = ctypes.string_at(self.call("TensorData", tensor), size) if size > 0 else b""
        return from_bytes(data, dtype(self.library, tensor), shape(self.library, tensor))

    # Looked up each time: a tensor's address changes when tensors are allocated.
    def input_tensor(self, index):
        return self.pointer("InterpreterGetInputTensor", self.handle, index)

    def output_tensor(self, index):
        return self.pointer("InterpreterGetOutputTensor", self.handle, index)

    def input_count(self):
        return self.call("InterpreterGetInputTensorCount", self.handle)

    def output_count(self):
        return self.call("InterpreterGetOutputTensorCount", self.handle)


class Signature:
    """A runner of one signature; `side` is "Input" or "Output". To be used before the interpreter is closed."""

    def __init__(self, interpreter, key):
        self.interpreter = interpreter
        self.runner = interpreter.pointer("InterpreterGetSignatureRunner", interpreter.handle, key)
        interpreter.cleanup.callback(self.call, "SignatureRunnerDelete")

    def call(self, name, *arguments):
        return self.interpreter.call(name, self.runner, *arguments)

    def count(self, side):
        """That of the graph, even where the signature has fewer names."""
        return self.call(f"SignatureRunnerGet{side}Count")

    def names(self, side):
        return [self.call(f"SignatureRunnerGet{side}Name", index).decode() for index in range(self.count(side))]

    def tensor(self, side, name):
        return self.interpreter.pointer(f"SignatureRunnerGet{side}Tensor", self.runner, name.encode())

    def tensor_names(self, side):
        """Name in the signature -> name of the tensor."""
        return {name: self.interpreter.call("TensorName", self.tensor(side, name)).decode()
                for name in self.names(side)}

    def run(self, inputs):
        """Both are name -> values."""
        self.check("SignatureRunnerAllocateTensors")
        for name, values in inputs.items():
            self.interpreter.write(self.tensor("Input", name), values)
        self.check("SignatureRunnerInvoke")
        return {name: self.interpreter.read(self.tensor("Output", name)) for name in self.names("Output")}

    def check(self, name):
        status = self.call(name)
        if status != 0:
            raise TfliteError(f"{name} gave {status}: {' / '.join(self.interpreter.messages)}")


@contextlib.contextmanager
def silent_stderr():
    """XNNPACK announces itself there whatever reporter is set."""
    saved, sink = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(sink)


def shape(library, tensor):
    return tuple(library["TensorDim"](tensor, axis) for axis in range(library["TensorNumDims"](tensor)))


def dtype(library, tensor):
    return DTYPES[library["TensorType"](tensor)]


def load(deps):
    suffix = ".dylib" if sys.platform == "darwin" else ".so"
    return Library(deps / "engines" / f"libtensorflowlite_c{suffix}")
