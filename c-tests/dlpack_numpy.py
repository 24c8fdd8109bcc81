"""dlpack_numpy.py LIBRARY tflite|onnxruntime: arrays of numpy and tensors of zerobind over the same bytes, both ways.

numpy is the other library here: it makes managed tensors by itself, takes ours, and keeps to the versions and flags of
DLPack, which a test with structs of its own could get wrong in the same way as the library.
"""

import ctypes
import gc
import os
import sys
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

import numpy as np

F32 = 1
READ_ONLY = 24
KIND_TENSOR = 3
PATH_DIRECT = 1
OUTPUT = 0x80000000
VERSIONED = b"dltensor_versioned"
USED = b"used_dltensor_versioned"

zb = ctypes.CDLL(sys.argv[1])
zb.zb_live_objects.restype = c_uint64
capsule_new = ctypes.pythonapi.PyCapsule_New
capsule_new.restype = ctypes.py_object
capsule_new.argtypes = [c_void_p, c_char_p, c_void_p]
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype = c_void_p
capsule_pointer.argtypes = [ctypes.py_object, c_char_p]
capsule_rename = ctypes.pythonapi.PyCapsule_SetName
capsule_rename.argtypes = [ctypes.py_object, c_char_p]


class Desc(ctypes.Structure):
    _fields_ = [("dtype", c_int32), ("rank", c_uint32), ("dims", c_int64 * 16)]


class Report(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("path", c_int32),
        ("bytes_copied", c_uint64),
        ("host_address", c_void_p),
        ("engine_address", c_void_p),
        ("reason", c_char_p),
        ("reserved", c_void_p),
    ]


def ok(status):
    if status != 0:
        text = ctypes.create_string_buffer(2048)
        zb.zb_last_error(text, c_size_t(2048), None)
        raise AssertionError(f"status {status}: {text.value.decode()}")


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def live_tensors():
    gc.collect()
    return zb.zb_live_objects(KIND_TENSOR)


class Managed:
    """A tensor of ours as other libraries ask for it."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, max_version=None, **_wishes):
        check(max_version is not None and max_version[0] >= 1, "numpy takes versioned tensors")
        managed = c_void_p()
        ok(zb.zb_tensor_to_dlpack(self.tensor, byref(managed)))
        return capsule_new(managed, VERSIONED, None)


def export(tensor):
    return np.from_dlpack(Managed(tensor))


def take(array):
    """The array's memory as a tensor; from then on the tensor keeps the array alive."""
    capsule = array.__dlpack__(max_version=(1, 1))
    tensor = c_void_p()
    ok(zb.zb_tensor_from_dlpack(c_void_p(capsule_pointer(capsule, VERSIONED)), byref(tensor)))
    # what was taken is not the capsule's to delete
    check(capsule_rename(capsule, USED) == 0, "the capsule is renamed")
    return tensor


def refuse(array):
    """The text of the refusal; the capsule deletes what it still owns."""
    capsule = array.__dlpack__(max_version=(1, 1))
    tensor = c_void_p()
    status = zb.zb_tensor_from_dlpack(c_void_p(capsule_pointer(capsule, VERSIONED)), byref(tensor))
    text = ctypes.create_string_buffer(2048)
    ok(zb.zb_last_error(text, c_size_t(2048), None))
    check(status != 0 and tensor.value is None, "refused")
    return text.value.decode()


def aligned(values, alignment=64):
    """A float32 array on a multiple of `alignment`, with room behind it: numpy itself aligns to 16."""
    block = np.zeros(len(values) * 4 + alignment + 64, np.uint8)
    start = -block.ctypes.data % alignment
    array = block[start : start + len(values) * 4].view(np.float32)
    array[:] = values
    return array


def alloc(count):
    desc = Desc(F32, 1, (c_int64 * 16)(count))
    tensor = c_void_p()
    ok(zb.zb_tensor_alloc(byref(desc), c_size_t(0), byref(tensor)))
    return tensor


def address(tensor):
    data = c_void_p()
    ok(zb.zb_tensor_get_data(tensor, byref(data), None))
    return data.value


def check_direct(context, slot, expected):
    report = Report(struct_size=ctypes.sizeof(Report))
    ok(zb.zb_context_get_binding_report(context, c_uint32(slot), byref(report)))
    check(report.path == PATH_DIRECT and report.bytes_copied == 0, "nothing is copied")
    check(report.host_address == report.engine_address == expected, "the engine works in numpy's memory")


class Add4:
    def __enter__(self):
        ending = "tflite" if sys.argv[2] == "tflite" else "onnx"
        path = os.path.join(os.environ["ZB_TEST_MODELS"], f"add4.{ending}")
        self.model, self.context = c_void_p(), c_void_p()
        ok(zb.zb_model_open(path.encode(), None, byref(self.model)))
        ok(zb.zb_context_create(self.model, None, byref(self.context)))
        return self.context

    def __exit__(self, *_):
        ok(zb.zb_context_destroy(self.context))
        ok(zb.zb_model_destroy(self.model))


def bind(tensor, context, slot):
    return zb.zb_tensor_bind(tensor, context, c_uint32(slot))


def arrays_are_used_in_place():
    x, y, z = aligned([1, 2, 3, 4]), aligned([10, 20, 30, 40]), aligned([0, 0, 0, 0])
    with Add4() as context:
        for slot, array in [(0, x), (1, y), (OUTPUT, z)]:
            tensor = take(array)
            check(address(tensor) == array.ctypes.data, "the tensor is on the array's bytes")
            ok(bind(tensor, context, slot))
            ok(zb.zb_tensor_destroy(tensor))
        ok(zb.zb_infer(context, None))
        check(z.tolist() == [11, 22, 33, 44], f"sums, not {z}")
        for slot, array in [(0, x), (1, y), (OUTPUT, z)]:
            check_direct(context, slot, array.ctypes.data)
        x[:] = [5, 6, 7, 8]
        ok(zb.zb_infer(context, None))
        check(z.tolist() == [15, 26, 37, 48], f"what numpy wrote is seen by the next run, not {z}")


def tensors_are_arrays():
    with Add4() as context:
        tensors = [alloc(4) for _ in range(3)]
        x, y, z = arrays = [export(tensor) for tensor in tensors]
        for array, tensor, slot in zip(arrays, tensors, [0, 1, OUTPUT]):
            check(array.ctypes.data == address(tensor), "the array is on the tensor's bytes")
            check(array.dtype == np.float32 and array.shape == (4,) and array.flags.writeable, "as the tensor is")
            ok(bind(tensor, context, slot))
            ok(zb.zb_tensor_destroy(tensor))
        x[:], y[:] = [1, 2, 3, 4], [100, 200, 300, 400]
        ok(zb.zb_infer(context, None))
        check(z.tolist() == [101, 202, 303, 404], f"the result is in the array, not {z}")
    # only the arrays are left
    check(live_tensors() == 3, "arrays hold their tensors")
    check(z.tolist() == [101, 202, 303, 404], "also when everything else is gone")
    view = z[1:]
    del x, y, z, arrays, array
    check(live_tensors() == 1, "a view of an array holds it")
    check(view.tolist() == [202, 303, 404], "and its bytes")
    del view
    check(live_tensors() == 0, "the memory is released with the last array")


def read_only_stays_read_only():
    fixed = aligned([1, 2, 3, 4])
    fixed.flags.writeable = False
    tensor = take(fixed)
    with Add4() as context:
        ok(bind(tensor, context, 0))
        check(bind(tensor, context, OUTPUT) == READ_ONLY, "a read-only array is no output")
        again = export(tensor)
        ok(zb.zb_tensor_destroy(tensor))
        check(not again.flags.writeable, "read-only both ways")
        check(again.ctypes.data == fixed.ctypes.data, "the same bytes")
    del again
    check(live_tensors() == 0, "released")


def an_array_is_released_once():
    deleted = []

    class Watched(np.ndarray):
        def __del__(self):
            deleted.append(1)

    array = np.zeros(16, np.float32).view(Watched)
    tensor = take(array)
    del array
    gc.collect()
    check(deleted == [], "the tensor keeps the array")
    exported = export(tensor)
    ok(zb.zb_tensor_destroy(tensor))
    gc.collect()
    check(deleted == [], "the export keeps the array")
    del exported
    gc.collect()
    check(deleted == [1], f"released once, not {len(deleted)} times")


def types_and_shapes_come_back():
    types = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128 bool"
    for name in types.split():
        for shape in [(), (3,), (2, 3, 4), (0, 4), (1, 5, 1)]:
            array = np.ones(shape, name)
            tensor = take(array)
            back = export(tensor)
            ok(zb.zb_tensor_destroy(tensor))
            check(back.dtype == array.dtype and back.shape == shape, f"{name} {shape}, not {back.dtype} {back.shape}")
            check(array.size == 0 or back.ctypes.data == array.ctypes.data, "the same bytes")
            check((back == array).all(), "the same values")
            del back
    check(live_tensors() == 0, "released")


def strided_arrays_are_refused():
    array = np.zeros((4, 6), np.float32)
    for strided in [array.T, array[:, ::2], array[::-1], array[:, 1:]]:
        text = refuse(strided)
        check("strides of [" in text and "contiguous" in text, text)
    # rows of a dense array are dense, at an offset
    ok(zb.zb_tensor_destroy(take(array[1:3])))


TESTS = [
    arrays_are_used_in_place,
    tensors_are_arrays,
    read_only_stays_read_only,
    an_array_is_released_once,
    types_and_shapes_come_back,
    strided_arrays_are_refused,
]

for test in TESTS:
    test()
    for kind in range(1, 6):
        gc.collect()
        check(zb.zb_live_objects(kind) == 0, f"objects of kind {kind} are left by {test.__name__}")
    print("ok     ", test.__name__)
