"""What the engine does where zerobind must not let it: recorded in the index, so that each trap stays proved.

Each probe runs in a child process. Nothing depends on the outcomes: they differ between processors.
"""

import ctypes
import mmap

import tflite_engine
import validate

# model, shape of input 0, what it shows
SHAPES = (
    ("conv_dyn", (1, 2, 2, 1), "below the kernel's size"),
    ("melspectrogram", None, "at the declared shape"),
    ("melspectrogram", (1, 100), "too short"),
    ("melspectrogram", (1, 1280), "long enough"),
    ("huge", None, "allocation only"),
)
OVER_READS = ("add4", "add_i8_1021", "fc13", "matmul64")
CONFIGURATIONS = {"plain": False, "xnnpack": True}


def report(library, folder):
    lines = ["traps"]
    for model, shape, why in SHAPES:
        for configuration, xnnpack in CONFIGURATIONS.items():
            outcome = validate.in_child(run_at_shape, library, folder / f"{model}.tflite", xnnpack, shape,
                                        model != "huge")
            at = "" if shape is None else f" at {list(shape)}"
            lines.append(f"  tflite, {configuration}: {model}{at}, {why}: {outcome}")
    for model in OVER_READS:
        for configuration, xnnpack in CONFIGURATIONS.items():
            outcome = validate.in_child(run_at_page_end, library, folder / f"{model}.tflite", xnnpack)
            lines.append(f"  tflite, {configuration}: {model}, inputs ending at an unreadable page: {outcome}")
    outcome = validate.in_child(count_names, library, folder / "signature_subset.tflite")
    lines.append(f"  tflite: signature_subset: {outcome}")
    return "\n".join(lines) + "\n"


def count_names(library, path):
    """Asking for the name beyond the last reads behind the end of the engine's list."""
    interpreter = tflite_engine.Interpreter(library, path, False)
    signature = interpreter.signatures()["part"]
    return f"the engine counts {signature.count('Output')} outputs of a signature that has 1"


def run_at_shape(library, path, xnnpack, shape, invoke):
    interpreter = tflite_engine.Interpreter(library, path, xnnpack)
    if shape is not None:
        interpreter.resize(0, shape)
    interpreter.allocate()
    if invoke:
        interpreter.invoke()
        output = interpreter.output_tensor(0)
        return f"runs, output {list(tflite_engine.shape(library, output))}"
    return "allocates"


def run_at_page_end(library, path, xnnpack):
    interpreter = tflite_engine.Interpreter(library, path, xnnpack)
    interpreter.allocate()
    for index in range(interpreter.input_count()):
        size = library["TensorByteSize"](interpreter.input_tensor(index))
        interpreter.bind_input(index, page_end(size), size)
    interpreter.invoke()
    return "runs"


def page_end(size):
    """Address of `size` readable bytes right before an unreadable page. Never freed."""
    pages = -(-size // mmap.PAGESIZE)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    private_anonymous = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    start = libc.mmap(None, ctypes.c_size_t((pages + 1) * mmap.PAGESIZE), mmap.PROT_READ | mmap.PROT_WRITE,
                      private_anonymous, -1, ctypes.c_long(0))
    guard = start + pages * mmap.PAGESIZE
    if libc.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(mmap.PAGESIZE), 0) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")
    return guard - size
