"""Models with words about themselves: metadata, and in TFLite signatures."""

import numpy as np
import onnx
from tflite.Model import Model as TfliteFile

import onnx_writer as ox
from catalogue import Model, numbers
from tflite_writer import Graph, write
from validate import WrongResult, require

FOUR = [4]

# as ONNX's ModelProto names them
ABOUT = dict(producer_name="zerobind-models", producer_version="1.2.3", domain="org.example.zerobind",
             model_version=42, doc_string="Adds one.\nSays so in two lines.")
GRAPH_NAME = "described"
PROPERTIES = {"labels": "cat,dog", "größe": "klein – 小さい"}

DESCRIPTION = "adds one – eins dazu"
# the first as converters write it, padded with zeros; the second is no text
ENTRIES = {"min_runtime_version": b"1.14.0".ljust(16, b"\0"), "all_bytes": bytes(range(256))}


def models():
    yield metadata()
    yield signatures()
    yield signature_subset()


def metadata():
    def write_tflite(path):
        graph = Graph()
        x = graph.input("x", FOUR, np.float32)
        one = graph.constant("one", np.float32(1))
        graph.operator("ADD", [x, one], [graph.output("y", FOUR, np.float32)])
        write(path, graph, description=DESCRIPTION, metadata=ENTRIES)

    def onnx_model():
        model = ox.model([ox.value("x", np.float32, FOUR)], [ox.value("y", np.float32, FOUR)],
                         [ox.node("Add", "x one", "y")], [ox.constant("one", np.float32(1))])
        model.graph.name = GRAPH_NAME
        for field, words in ABOUT.items():
            setattr(model, field, words)
        onnx.helper.set_model_props(model, PROPERTIES)
        return model

    onnx_words = ", ".join(f"{name} {words!r}" for name, words in ABOUT.items())
    return Model("metadata", f"y = x + 1. ONNX: {onnx_words}, graph name {GRAPH_NAME!r}, properties {PROPERTIES}. "
                 f"TFLite: description {DESCRIPTION!r}, metadata min_runtime_version "
                 f"{ENTRIES['min_runtime_version']!r} and all_bytes, the 256 bytes from 0 to 255",
                 onnx=onnx_model, tflite=write_tflite, trials=[[numbers(FOUR)]],
                 expected=lambda x: [x + np.float32(1)], onnx_check=check_onnx_words, tflite_check=check_tflite_words)


def check_onnx_words(path, session):
    meta = session.get_modelmeta()
    require("what ONNX Runtime reads",
            (meta.producer_name, meta.domain, meta.version, meta.description,
             meta.graph_name, meta.custom_metadata_map),
            (ABOUT["producer_name"], ABOUT["domain"], ABOUT["model_version"], ABOUT["doc_string"],
             GRAPH_NAME, PROPERTIES))
    # the engine has no way to ask for it
    require("producer version", onnx.load(str(path)).producer_version, ABOUT["producer_version"])


def check_tflite_words(path, _interpreter):
    """By the schema's own classes: the C API has no call for these."""
    file = TfliteFile.GetRootAs(path.read_bytes())
    require("description", file.Description().decode(), DESCRIPTION)
    entries = [file.Metadata(index) for index in range(file.MetadataLength())]
    require("metadata", {entry.Name().decode(): file.Buffers(entry.Buffer()).DataAsNumpy().tobytes()
                         for entry in entries}, ENTRIES)


def signatures():
    """Neither the file's order of names nor their alphabetical one, which the engine gives, is that of the slots."""
    def write_tflite(path):
        main, side = Graph(), Graph("side")
        x, y = main.input("x", FOUR, np.float32), main.input("y", FOUR, np.float32)
        total, difference = main.output("sum", FOUR, np.float32), main.output("difference", FOUR, np.float32)
        main.operator("ADD", [x, y], [total])
        main.operator("SUB", [x, y], [difference])
        u, v = side.input("u", [3], np.float32), side.output("v", [3], np.float32)
        side.operator("MUL", [u, side.constant("two", np.float32(2))], [v])
        write(path, main, side, signatures=[
            ("serving_default", 0, dict(alfa=y, zulu=x), dict(less=difference, more=total)),
            ("other", 0, dict(subtrahend=y, minuend=x), dict(result=difference, both=total)),
            ("elsewhere", 1, {"in": u}, {"out": v})])

    return Model("signatures", "sum = x + y, difference = x - y. Signatures, each name -> tensor: serving_default "
                 "(alfa -> y, zulu -> x; less -> difference, more -> sum), other (subtrahend -> y, minuend -> x; "
                 "result -> difference, both -> sum), and on subgraph 1 elsewhere (in -> u; out -> v), v = 2 * u, float32[3]",
                 tflite=write_tflite, without="ONNX has no signatures",
                 trials=[[numbers(FOUR, seed=1), numbers(FOUR, seed=2)]],
                 expected=lambda x, y: [x + y, x - y], tflite_check=check_signatures)


def signature_subset():
    """Not to be asked for the name of its second output: see the traps in the index."""
    def write_tflite(path):
        graph = Graph()
        x = graph.input("x", FOUR, np.float32)
        one, two = graph.constant("one", np.float32(1)), graph.constant("two", np.float32(2))
        more, twice = graph.output("more", FOUR, np.float32), graph.output("twice", FOUR, np.float32)
        graph.operator("ADD", [x, one], [more])
        graph.operator("MUL", [x, two], [twice])
        write(path, graph, signatures=[("part", 0, {"in": x}, {"out": twice})])

    return Model("signature_subset", "more = x + 1, twice = x * 2; signature part (in -> x; out -> twice) leaves "
                 "out more",
                 tflite=write_tflite, without="ONNX has no signatures", trials=[[numbers(FOUR)]],
                 expected=lambda x: [x + np.float32(1), x * np.float32(2)])


def check_signatures(_path, interpreter):
    found = interpreter.signatures()
    require("signatures",
            {key: (one.tensor_names("Input"), one.tensor_names("Output")) for key, one in found.items()},
            {"serving_default": (dict(alfa="y", zulu="x"), dict(less="difference", more="sum")),
             "other": (dict(subtrahend="y", minuend="x"), dict(result="difference", both="sum")),
             "elsewhere": ({"in": "u"}, {"out": "v"})})
    x, y, u = numbers(FOUR, seed=3), numbers(FOUR, seed=4), numbers([3], seed=5)
    for key, inputs, outputs in (("serving_default", dict(alfa=y, zulu=x), dict(less=x - y, more=x + y)),
                                 ("other", dict(minuend=x, subtrahend=y), dict(result=x - y, both=x + y)),
                                 ("elsewhere", {"in": u}, {"out": 2 * u})):
        got = found[key].run(inputs)
        if not all(np.array_equal(got[name], values) for name, values in outputs.items()):
            raise WrongResult(f"signature {key}: {got}, not {outputs}")
