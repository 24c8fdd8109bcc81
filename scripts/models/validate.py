"""Runs a written model on each engine and compares with numpy.

A run is made in a child process, since the TFLite engine may crash where it should refuse.
"""

import ctypes
import multiprocessing

import numpy as np
import onnx
import onnxruntime

import tflite_engine
from raw import from_bytes, size_of, to_bytes

# what the Python package of ONNX Runtime takes as they are: numpy's own, but for those that it has no tensor of
PYTHON_DTYPES = {np.dtype(kind) for kind in "?bBhHiIlLefdO"}


def onnx_outcome(path, model):
    """"runs", or what the engine said."""
    return in_child(run_onnx, path, model)


def tflite_outcome(library, path, model, xnnpack):
    return in_child(run_tflite, library, path, model, xnnpack)


def in_child(function, *arguments):
    # forked, so that models need not be picklable
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def work():
        try:
            sender.send(function(*arguments))
        except WrongResult as error:
            sender.send(error)
        except Exception as error:
            sender.send(f"refused: {first_line(error)}")

    process = context.Process(target=work)
    process.start()
    sender.close()
    try:
        outcome = receiver.recv()
    except EOFError:
        process.join()
        outcome = f"crashed: exit code {process.exitcode}"
    process.join()
    if isinstance(outcome, WrongResult):
        raise outcome
    return outcome


class WrongResult(Exception):
    """The engine ran and computed something else: the generated model is wrong."""


def require(what, got, wanted):
    if got != wanted:
        raise WrongResult(f"{what}: {got}, not {wanted}")


def first_line(error):
    return str(error).strip().splitlines()[0]


def run_onnx(path, model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    for position, inputs in enumerate(model.trials):
        compare(model, position, run_session(session, inputs))
    if model.onnx_check is not None:
        model.onnx_check(path, session)
    return "runs" if model.trials else "opens"


def run_session(session, inputs):
    names = [slot.name for slot in session.get_inputs()]
    if all(np.dtype(values.dtype) in PYTHON_DTYPES for values in inputs):
        return session.run(None, dict(zip(names, inputs)))
    outputs = session.run_with_ort_values(None, {name: lend(values) for name, values in zip(names, inputs)})
    return [copy_out(output) for output in outputs]


def lend(values):
    """A tensor of the engine's, of a type that its Python package does not know in numpy."""
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(values.dtype))
    tensor = onnxruntime.OrtValue.ortvalue_from_shape_and_type(values.shape, kind, "cpu")
    content = to_bytes(values)
    ctypes.memmove(tensor.data_ptr(), content, len(content))
    return tensor


def copy_out(tensor):
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.element_type()))
    shape = tuple(tensor.shape())
    return from_bytes(ctypes.string_at(tensor.data_ptr(), size_of(dtype, shape)), dtype, shape)


def run_tflite(library, path, model, xnnpack):
    # one interpreter for all: whoever changes shapes between runs does so too
    interpreter = tflite_engine.Interpreter(library, path, xnnpack)
    for position, inputs in enumerate(model.trials):
        compare(model, position, interpreter.run(inputs))
    if model.tflite_check is not None:
        model.tflite_check(path, interpreter)
    interpreter.close()
    return "runs" if model.trials else "opens"


def compare(model, position, outputs):
    if model.expected is None:
        return
    if model.stateful:
        inputs = [values for trial in model.trials[:position + 1] for values in trial]
    else:
        inputs = model.trials[position]
    expected = model.expected(*inputs)
    if len(outputs) != len(expected):
        raise WrongResult(f"{model.name}: {len(outputs)} outputs, not {len(expected)}")
    for index, (got, wanted) in enumerate(zip(outputs, expected)):
        if got.dtype != wanted.dtype or got.shape != wanted.shape:
            raise WrongResult(f"{model.name} output {index}: {got.dtype} {got.shape}, "
                              f"not {wanted.dtype} {wanted.shape}")
        if not np.array_equal(got, wanted):
            raise WrongResult(f"{model.name} output {index}: {got.flat[:8]}, not {wanted.flat[:8]}")
