"""run: .npy files that numpy or somebody else wrote, whole and broken."""

import io
import pathlib
import struct

import numpy as np
from harness import COPY_NEEDED, DATA, ENGINE, UNSUPPORTED, ToolTest, main, model, save

PLAIN = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }"


def header(text, version=1, pad_to=64, length=None, trail=b""):
    """A .npy header by hand; `length` lies about its own."""
    text = text.encode() if isinstance(text, str) else text
    prefix = 10 if version == 1 else 12
    if pad_to:
        text += b" " * (-(prefix + len(text) + 1) % pad_to) + b"\n"
    size = len(text) if length is None else length
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", size) + text + trail


class Npy(ToolTest):
    def setUp(self):
        super().setUp()
        self.x = np.array([1, 2, 3, 4], "f4")
        save("y.npy", self.x)
        self.arguments = ["run", model("add4"), "-i", "x=x.npy", "-i", "y=y.npy", "-o", "z=z.npy"]

    def write(self, content):
        pathlib.Path("x.npy").write_bytes(content)

    def takes(self, content):
        self.write(content)
        report = self.json(*self.arguments)
        self.same("z.npy", self.x + self.x)
        pathlib.Path("z.npy").unlink()
        return report

    def refuses(self, pattern, content, code=DATA):
        self.write(content)
        text = self.fails(code, pattern, *self.arguments)
        self.assertIn("x.npy", text)
        self.assertFalse(pathlib.Path("z.npy").exists())

    def test_every_version(self):
        for version in ((1, 0), (2, 0), (3, 0)):
            content = io.BytesIO()
            np.lib.format.write_array(content, self.x, version=version)
            self.in_place(self.takes(content.getvalue()), "x")

    def test_what_else_writers_write(self):
        data = self.x.tobytes()
        self.takes(header('{"shape": (4L,), "fortran_order": False, "descr": "<f4"}') + data)
        self.takes(header(PLAIN) + data + b"and more, as numpy too passes over")
        self.takes(header(PLAIN, pad_to=4096) + data)

    def test_a_file_from_before_numpy_1_14(self):
        # padded to 16: the data then lies where TFLite cannot take it
        old = header(PLAIN, pad_to=16) + self.x.tobytes()
        offset = len(old) - 16
        self.assertTrue(offset % 64 and not offset % 16)
        if ENGINE == "onnxruntime":
            self.in_place(self.takes(old), "x")
            return
        self.refuses("multiple of 64[^$]*--allow-copies", old, COPY_NEEDED)
        self.arguments.append("--allow-copies")
        slot = self.slots(self.takes(old))["x"]
        self.assertEqual((slot["way"], slot["bytes_copied"]), ("copied-by-zerobind", 16))

    def test_data_at_an_odd_place(self):
        odd = header(PLAIN, pad_to=0) + self.x.tobytes()
        self.assertTrue((len(odd) - 16) % 4)
        self.refuses("--allow-copies", odd, COPY_NEEDED)
        self.arguments.append("--allow-copies")
        self.takes(odd)

    def test_every_cut(self):
        whole = header(PLAIN) + self.x.tobytes()
        for length in (*range(0, 16), 64, 127, 128, 129, 143):
            with self.subTest(length):
                pattern = "not a .npy file" if length < 6 else "ends|cut short"
                self.refuses(pattern, whole[:length])
        self.takes(whole)

    def test_headers_that_lie_about_their_length(self):
        data = self.x.tobytes()
        self.refuses("ends inside its header", header(PLAIN, length=65535) + data)
        self.refuses("claims 4294967295 bytes", header(PLAIN, version=2, length=0xFFFFFFFF) + data)
        self.refuses("ends inside its header", header(PLAIN, version=3, length=1 << 20) + data)
        self.refuses("broken", header(PLAIN, length=0) + data)
        self.refuses("broken", header(PLAIN, length=20) + data)
        self.refuses("version is 4", header(PLAIN, version=4) + data)
        # the text goes on into the data
        self.refuses("broken", header(PLAIN, length=118 + 8) + data)

    def test_headers_that_are_broken(self):
        for text in [
            "",
            "{}",
            "{" * 1000,
            "None",
            PLAIN[:-1],
            PLAIN + "}",
            PLAIN.replace("(4,)", "(4)"),
            PLAIN.replace("(4,)", "[4]"),
            PLAIN.replace("(4,)", "(-4,)"),
            PLAIN.replace("(4,)", "(4.0,)"),
            PLAIN.replace("(4,)", "(None,)"),
            PLAIN.replace("False", "0"),
            PLAIN.replace("'descr': '<f4', ", ""),
            PLAIN.replace("'descr'", "'descr': '<f4', 'descr'"),
            PLAIN.replace("'descr'", "'more': 1, 'descr'"),
            PLAIN.replace("'<f4'", "'\\x3cf4'"),
            b"\xff" + PLAIN.encode(),
            b"\x00" * 100,
        ]:
            with self.subTest(text):
                self.refuses("broken", header(text) + self.x.tobytes())

    def test_shapes_that_cannot_be(self):
        data = self.x.tobytes()
        for shape in ("(9223372036854775807,)", "(4611686018427387904, 4)", "(1099511627776,)", "(5,)", "(4, 4)"):
            self.refuses("cut short|overflow|does not fit|too|bytes", header(PLAIN.replace("(4,)", shape)) + data)
        self.refuses("does not fit", header(PLAIN.replace("(4,)", "(9223372036854775808,)")) + data)
        self.refuses("does not fit", header(PLAIN.replace("(4,)", "(" + "9" * 1000 + ",)")) + data)
        # 2**62 times nothing
        self.refuses("'x'", header(PLAIN.replace("(4,)", "(4611686018427387904, 0)")) + data)
        ranks = header(PLAIN.replace("(4,)", "(" + "1," * 17 + ")"))
        self.refuses("17 dimensions", ranks + data, UNSUPPORTED)

    def test_shapes_that_the_model_does_not_take(self):
        for shape in [(3,), (5,), (4, 1), (1, 4), (), (0,)]:
            content = io.BytesIO()
            np.save(content, np.zeros(shape, "f4"))
            self.refuses("'x' is f32", content.getvalue())

    def test_types_that_the_model_does_not_take(self):
        for dtype, pattern in [("f8", "'x' is f32.*f64"), ("i4", "i32"), ("f2", "f16"), ("?", "bool"), ("c8", "c64")]:
            content = io.BytesIO()
            np.save(content, self.x.astype(dtype))
            self.refuses(pattern, content.getvalue())

    def test_what_no_engine_takes(self):
        for array, pattern in [
            (self.x.astype(">f4"), "big-endian.*astype\\('<f4'\\)"),
            (self.x.astype(object), "Python objects"),
            (np.array(["a", "b", "c", "d"]), "text"),
            (np.array([b"a", b"b", b"c", b"d"]), "text"),
            (self.x.astype("i8").astype("M8[s]"), "time"),
            (np.zeros(4, [("a", "f4"), ("b", "i4")]), "structures"),
            (np.zeros(4, "V4"), "no type"),
            (np.asfortranarray(np.ones((2, 3), "f4")), "Fortran order.*ascontiguousarray"),
        ]:
            content = io.BytesIO()
            np.save(content, array, allow_pickle=True)
            with self.subTest(pattern):
                self.refuses(pattern, content.getvalue())
        self.refuses("which byte comes first", header(PLAIN.replace("<f4", "=f4")) + self.x.tobytes())

    def test_a_name_without_the_content(self):
        self.refuses("not a .npy file, though its name ends so", self.x.tobytes())
        # and the content without the name
        pathlib.Path("x.dat").write_bytes(header(PLAIN) + self.x.tobytes())
        self.ok("run", model("add4"), "-i", "x=x.dat", "-i", "y=y.npy", "-o", "z=z.npy")
        self.same("z.npy", self.x + self.x)


main()
