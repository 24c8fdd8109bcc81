"""Arrays as the engines hold them in memory: little-endian, and two 4-bit numbers in a byte, the low one first."""

import ml_dtypes
import numpy as np

FOUR_BITS = {np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.uint4)}


def size_of(dtype, shape):
    count = int(np.prod(shape, dtype=np.int64))
    return (count + 1) // 2 if np.dtype(dtype) in FOUR_BITS else count * np.dtype(dtype).itemsize


def to_bytes(array):
    if array.dtype == np.object_:
        return strings_to_bytes(array.ravel())
    if array.dtype not in FOUR_BITS:
        return np.ascontiguousarray(array).tobytes()
    nibbles = array.astype(np.int8).ravel().view(np.uint8) & 15
    nibbles = np.append(nibbles, np.zeros(nibbles.size % 2, np.uint8))
    return (nibbles[0::2] | nibbles[1::2] << 4).tobytes()


def from_bytes(data, dtype, shape):
    if dtype == np.object_:
        return np.array(strings_from_bytes(data), np.object_).reshape(shape)
    if np.dtype(dtype) not in FOUR_BITS:
        return np.frombuffer(data, dtype).reshape(shape)
    packed = np.frombuffer(data, np.uint8)
    nibbles = np.stack([packed & 15, packed >> 4], axis=1).ravel()[:int(np.prod(shape))].astype(np.int8)
    if dtype == ml_dtypes.int4:
        nibbles = (nibbles ^ 8) - 8
    return nibbles.astype(dtype).reshape(shape)


def strings_to_bytes(strings):
    """TFLite's form: the count, where each begins, where the last ends, then all of them without zeros."""
    encoded = [string.encode() for string in strings]
    begin = 4 * (len(encoded) + 2)
    places = begin + np.cumsum([0] + [len(string) for string in encoded])
    return np.array([len(encoded), *places], "<i4").tobytes() + b"".join(encoded)


def strings_from_bytes(data):
    count = int.from_bytes(data[:4], "little")
    places = np.frombuffer(data, "<i4", count + 1, offset=4)
    return [data[begin:end].decode() for begin, end in zip(places, places[1:])]
