"""Models whose sizes become known late: in the run, or from an input that may be empty at first."""

import numpy as np

import onnx_writer as ox
from catalogue import Model, numbers
from elementwise import with_constant
from tflite_writer import Graph, write

CACHE = [1, 8, 1, 128]
CACHE_AXIS = 2


def models():
    yield where()
    yield detector()
    yield kv_cache()
    yield with_constant("ragged", "y = x + 1, last dim dynamic: runs empty, then with 128", [1, 4, 1], "ADD", 1,
                        onnx_shape=[1, 4, "length"], signature=[1, 4, -1],
                        trials=[[numbers([1, 4, 0])], [numbers([1, 4, 128])], [numbers([1, 4, 0])]])


def where():
    """One output that host memory can hold beside one of which only the run knows the size."""
    def write_tflite(path):
        graph = Graph()
        mask, x = graph.input("mask", [16], np.bool_), graph.input("x", [16], np.float32)
        zeros = graph.constant("zeros", np.zeros(16, np.float32))
        graph.operator("SELECT", [mask, x, zeros], [graph.output("y", [16], np.float32)])
        graph.operator("WHERE", [mask], [graph.output("positions", [1, 1], np.int64, [-1, 1])])
        write(path, graph)

    def onnx():
        nodes = [ox.node("Where", "mask x zero", "y"), ox.node("NonZero", "mask", "row"),
                 ox.node("Transpose", "row", "positions", perm=[1, 0])]
        return ox.model([ox.value("mask", np.bool_, [16]), ox.value("x", np.float32, [16])],
                        [ox.value("y", np.float32, [16]), ox.value("positions", np.int64, ["hits", 1])], nodes,
                        [ox.constant("zero", np.float32(0))])

    masks = [np.arange(16) % 5 == 0, np.zeros(16, np.bool_), np.ones(16, np.bool_)]
    return Model("where", "y = x where mask, else 0; positions = where mask is true: its size depends on the data",
                 onnx=onnx, tflite=write_tflite, trials=[[mask, numbers([16])] for mask in masks],
                 expected=lambda mask, x: [np.where(mask, x, np.float32(0)), np.argwhere(mask)])


def kv_cache():
    """The first run's past is empty, each further one's is the last present."""
    past, present = [1, 8, "past", 128], [1, 8, "present", 128]
    default, signature = CACHE, [1, 8, -1, 128]

    def write_tflite(path):
        graph = Graph()
        inputs = [graph.input("past", default, np.float32, signature),
                  graph.input("current", CACHE, np.float32)]
        output = graph.output("present", [1, 8, 2, 128], np.float32, signature)
        graph.operator("CONCATENATION", inputs, [output], Axis=CACHE_AXIS)
        write(path, graph)

    def onnx():
        return ox.model([ox.value("past", np.float32, past), ox.value("current", np.float32, CACHE)],
                        [ox.value("present", np.float32, present)],
                        [ox.node("Concat", "past current", "present", axis=CACHE_AXIS)])

    lengths = (0, 1, 2, 63)
    return Model("kv_cache", "present = past, then current (along dim 2): the past may be empty",
                 onnx=onnx, tflite=write_tflite,
                 trials=[[numbers([1, 8, length, 128], seed=length), numbers(CACHE, seed=100)] for length in lengths],
                 expected=lambda past, current: [np.concatenate([past, current], CACHE_AXIS)])


# --- non-maximum suppression ---------------------------------------------------------------------

BOX_COUNT = 8
# Kept: a score above the one and no overlap above the other with a better box that was kept.
LEAST_SCORE, MOST_OVERLAP = 0.25, 0.5


def detector():
    return Model("detector", f"boxes (y1 x1 y2 x2) and scores left by non-maximum suppression, best first: score > "
                 f"{LEAST_SCORE}, and intersection over union with each better one <= {MOST_OVERLAP}; "
                 "sizes depend on the data",
                 onnx=onnx_detector, tflite=write_tflite_detector, trials=detector_trials(),
                 expected=suppress)


def write_tflite_detector(path):
    graph = Graph()
    boxes = graph.input("boxes", [BOX_COUNT, 4], np.float32)
    scores = graph.input("scores", [BOX_COUNT], np.float32)
    most = graph.constant("most", np.int32(BOX_COUNT))
    overlap = graph.constant("overlap", np.float32(MOST_OVERLAP))
    least = graph.constant("least", np.float32(LEAST_SCORE))
    padded = graph.tensor("padded", [BOX_COUNT], np.int32)
    count = graph.tensor("count", [], np.int32)
    graph.operator("NON_MAX_SUPPRESSION_V4", [boxes, scores, most, overlap, least], [padded, count])
    # the engine's list always has room for all boxes: cut it to the count that the run found
    size = graph.tensor("size", [1], np.int32)
    graph.operator("RESHAPE", [count, graph.constant("one_element", np.array([1], np.int32))], [size])
    selected = graph.tensor("selected", [1], np.int32, [-1])
    graph.operator("SLICE", [padded, graph.constant("begin", np.array([0], np.int32)), size], [selected])
    found_boxes = graph.output("found_boxes", [1, 4], np.float32, [-1, 4])
    found_scores = graph.output("found_scores", [1], np.float32, [-1])
    graph.operator("GATHER", [boxes, selected], [found_boxes])
    graph.operator("GATHER", [scores, selected], [found_scores])
    write(path, graph)


def onnx_detector():
    nodes = [ox.node("Unsqueeze", "boxes front", "boxes_3d"),
             ox.node("Unsqueeze", "scores fronts", "scores_3d"),
             ox.node("NonMaxSuppression", "boxes_3d scores_3d most overlap least", "found"),
             # each row is batch, class, box
             ox.node("Gather", "found two", "selected", axis=1),
             ox.node("Gather", "boxes selected", "found_boxes"),
             ox.node("Gather", "scores selected", "found_scores")]
    constants = [ox.constant("front", np.array([0])), ox.constant("fronts", np.array([0, 1])),
                 ox.constant("most", np.array([BOX_COUNT])), ox.constant("two", np.int64(2)),
                 ox.constant("overlap", np.array([MOST_OVERLAP], np.float32)),
                 ox.constant("least", np.array([LEAST_SCORE], np.float32))]
    return ox.model([ox.value("boxes", np.float32, [BOX_COUNT, 4]), ox.value("scores", np.float32, [BOX_COUNT])],
                    [ox.value("found_boxes", np.float32, ["found", 4]),
                     ox.value("found_scores", np.float32, ["found"])],
                    nodes, constants)


def detector_trials():
    """Three places of boxes that overlap, then nothing, one and all."""
    corners = np.array([(0, 0), (0, 1), (20, 0), (20, 9), (20, 1), (0, 40), (1, 40), (60, 60)], np.float32)
    crowded = np.concatenate([corners, corners + 10], axis=1)
    apart = crowded + np.arange(BOX_COUNT, dtype=np.float32)[:, None] * 100
    scores = np.array([0.5, 0.75, 0.375, 0.625, 0.875, 0.9375, 0.125, 0.25], np.float32)
    one = np.zeros(BOX_COUNT, np.float32)
    one[5] = 1
    return [[crowded, scores], [crowded, scores / 8], [apart, one], [apart, scores / 2 + 0.5]]


def suppress(boxes, scores):
    kept = []
    for candidate in np.argsort(-scores, kind="stable"):
        if scores[candidate] > LEAST_SCORE and all(overlap(boxes[candidate], boxes[better]) <= MOST_OVERLAP
                                                   for better in kept):
            kept.append(candidate)
    return [boxes[kept], scores[kept]]


def overlap(a, b):
    """Intersection over union."""
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0)
    common = np.prod(sides)
    return common / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - common)
