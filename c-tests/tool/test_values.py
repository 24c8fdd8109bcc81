"""run: results against numpy and against references that were made without zerobind."""

import pathlib

import ml_dtypes
import numpy as np
from harness import DATA, ENGINE, REFERENCE, UNSUPPORTED, ToolTest, main, model, save

TYPES = {
    "f32": "f4", "f64": "f8", "f16": "f2", "i8": "i1", "u8": "u1", "i16": "i2", "u16": "u2", "i32": "i4", "u32": "u4",
    "i64": "i8", "u64": "u8", "bool": "?",
}  # fmt: skip


class Values(ToolTest):
    def run_one(self, name, x, *more):
        """x.npy to y.npy through a model of one input and one output."""
        save("x.npy", x)
        return self.json("run", model(name), "-i", "x=x.npy", "-o", "y=y.npy", *more)

    def test_every_type_that_numpy_has(self):
        types = dict(TYPES, **({"c64": "c8", "c128": "c16"} if ENGINE == "tflite" else {}))
        for name, dtype in types.items():
            x = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8]).astype(dtype)
            with self.subTest(name):
                report = self.run_one(f"type_{name}", x)
                self.same("y.npy", x)
                self.in_place(report, "x", "y")
                self.assertEqual(self.slots(report)["y"]["dtype"], name)

    def test_types_that_ml_dtypes_saves(self):
        types = {"bf16": ml_dtypes.bfloat16}
        if ENGINE == "onnxruntime":
            types |= {"f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2}
        for name, dtype in types.items():
            x = np.arange(9).astype(dtype)
            with self.subTest(name):
                self.in_place(self.run_one(f"type_{name}", x), "x", "y")
                self.assertEqual(pathlib.Path("y.npy").read_bytes()[-x.nbytes :], x.tobytes())
                # what was written is what ml_dtypes itself would have written
                np.save("expected.npy", x)
                self.assertEqual(pathlib.Path("y.npy").read_bytes(), pathlib.Path("expected.npy").read_bytes())

    def test_half_bytes_are_for_bare_files(self):
        if ENGINE != "tflite":
            self.skipTest("the .onnx model of this type does not run in this way")
        pathlib.Path("x.raw").write_bytes(b"\x21\x43\x65\x87\x09")
        arguments = ["run", model("type_i4"), "-i", "x=x.raw"]
        self.in_place(self.json(*arguments, "-o", "y=y.raw"), "x", "y")
        self.assertEqual(pathlib.Path("y.raw").read_bytes(), b"\x21\x43\x65\x87\x09")
        self.fails(UNSUPPORTED, "y.npy: .*no type for i4", *arguments, "-o", "y=y.npy")
        save("x.npy", np.arange(9, dtype="i1"))
        self.fails(DATA, "4 bits", "run", model("type_i4"), "-i", "x=x.npy")

    def test_sums(self):
        for name, dtype in [("add_f16", "f2"), ("add_i32", "i4"), ("add_i64", "i8"), ("add_f64", "f8")]:
            x, y = np.arange(8).astype(dtype), np.arange(8)[::-1].astype(dtype)
            save("x.npy", x), save("y.npy", y)
            self.in_place(self.json("run", model(name), "-i", "x=x.npy", "-i", "y=y.npy", "-o", "z=z.npy"), "x", "y", "z")
            self.same("z.npy", x + y)

    def test_quantized(self):
        x = np.arange(-8, 8, dtype="i1")
        self.in_place(self.run_one("quantized", x), "x", "y")
        self.same("y.npy", np.clip(2 * x.astype("i4") - 7, -128, 127).astype("i1"))

    def test_open_shapes_come_from_the_file(self):
        for batch in (1, 3, 0, 7):
            x = np.arange(4 * batch, dtype="f4").reshape(batch, 4)
            self.in_place(self.run_one("batch", x), "x", "y")
            self.same("y.npy", 2 * x)

    def test_a_convolution_of_open_size(self):
        kernel = np.arange(1, 10, dtype="f4").reshape(3, 3)
        for height, width in [(8, 8), (5, 12)]:
            x = (np.arange(height * width) % 7).astype("f4").reshape(height, width)
            windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3))
            expected = np.einsum("hwij,ij->hw", windows, kernel)[None, :, :, None]
            report = self.run_one("conv_dyn", x[None, :, :, None])
            self.same("y.npy", expected)
            self.in_place(report, "x")
            if ENGINE == "tflite":
                self.in_place(report, "y")
            else:
                # ONNX Runtime tells the size of this one in the run only
                self.copied(report, "y", expected.nbytes, "only the run")

    def test_a_cache_that_is_empty_at_first(self):
        past, current = np.zeros((1, 8, 0, 128), "f4"), np.ones((1, 8, 1, 128), "f4")
        for _ in range(3):
            save("past.npy", past), save("current.npy", current)
            self.ok("run", model("kv_cache"), "-i", "past=past.npy", "-i", "current=current.npy", "-o", "present=present.npy")
            past = np.concatenate([past, current], 2)
            self.same("present.npy", past)
            current = current + 1

    def copied(self, report, name, size, reason):
        slot = self.slots(report)[name]
        self.assertEqual((slot["way"], slot["bytes_copied"]), ("copied-by-tool", size))
        self.assertRegex(slot["reason"], reason)

    def test_outputs_that_only_the_run_tells(self):
        x = np.array([0, 1, 0, 2] * 4, "f4")
        for x in (x, 0 * x, x + 1):
            report = self.run_one("nonzero", x)
            self.same("y.npy", np.argwhere(x).astype("i8"))
            self.copied(report, "y", 8 * np.count_nonzero(x), "only the run")

    def test_a_known_output_beside_an_unknown_one(self):
        x, mask = np.arange(16, dtype="f4"), np.arange(16) % 3 == 0
        save("x.npy", x), save("mask.npy", mask)
        outputs = ["-o", "y=y.npy", "-o", "positions=p.npy"]
        report = self.json("run", model("where"), "-i", "x=x.npy", "-i", "mask=mask.npy", *outputs)
        self.same("y.npy", np.where(mask, x, 0).astype("f4"))
        self.same("p.npy", np.argwhere(mask).astype("i8"))
        self.in_place(report, "x", "mask", "y")
        self.copied(report, "positions", 48, "only the run")

    def test_detections(self):
        boxes = np.array([[0, 0, 2, 2], [0, 0, 2, 2.5], [5, 5, 7, 7], [9, 9, 10, 10]] * 2, "f4")
        boxes[4:] += 20
        scores = np.array([0.5, 0.9, 0.75, 0.125, 0.375, 0.25, 0.625, 1.0], "f4")
        kept = suppressed(boxes, scores)
        save("b.npy", boxes), save("s.npy", scores)
        files = ["-i", "boxes=b.npy", "-i", "scores=s.npy", "-o", "found_boxes=fb.npy", "-o", "found_scores=fs.npy"]
        report = self.json("run", model("detector"), *files)
        self.same("fb.npy", boxes[kept])
        self.same("fs.npy", scores[kept])
        self.copied(report, "found_scores", 4 * len(kept), "only the run")

    def test_a_constant(self):
        x = np.arange(8, dtype="f4")
        save("x.npy", x)
        report = self.json("run", model("constant"), "-i", "x=x.npy", "-o", "c=c.npy", "-o", "y=y.npy")
        self.same("c.npy", np.array([1, 2, 3, 4], "f4"))
        self.same("y.npy", x + 1)
        if ENGINE == "tflite":
            self.copied(report, "c", 16, "part of the model")
        else:
            self.in_place(report, "c")

    def test_an_input_passed_through(self):
        x = np.arange(8, dtype="f4")
        save("in.npy", x)
        report = self.json("run", model("passthrough"), "-i", "x=in.npy", "-o", "x=x.npy", "-o", "y=y.npy")
        self.same("x.npy", x)
        self.same("y.npy", x + 1)
        passed = [slot for slot in report["slots"] if slot["file"] == "x.npy"]
        self.assertEqual([(slot["way"], slot["bytes_copied"]) for slot in passed], [("copied-by-tool", 32)])

    def test_one_tensor_in_two_outputs(self):
        x = np.arange(8, dtype="f4")
        report = self.run_one("duplicate", x)
        self.same("y.npy", x + 1)
        self.in_place(report, "x", "y")

    def test_scalars_and_nothing(self):
        self.in_place(self.run_one("scalar", np.array(41, "f4")), "x", "y")
        self.same("y.npy", np.array(42, "f4"))
        self.run_one("empty", np.zeros((0, 4), "f4"))
        self.same("y.npy", np.zeros((0, 4), "f4"))
        pathlib.Path("nothing").write_bytes(b"")
        self.ok("run", model("empty"), "-i", "x=nothing", "-o", "y=nothing.out")
        self.assertEqual(pathlib.Path("nothing.out").read_bytes(), b"")

    def test_notes_of_a_recording(self):
        info = self.json("inspect", model("basic_pitch"))
        [name] = [slot["name"] for slot in info["inputs"]]
        outputs = [slot["name"] for slot in info["outputs"]]
        arguments = [f"--output={output}={number}.npy" for number, output in enumerate(outputs)]
        kind = "tflite-xnnpack" if ENGINE == "tflite" else "onnxruntime"
        shape = f"{name}=1,43844,1"
        path = REFERENCE / "basic_pitch.music.input.bin"
        report = self.json("run", model("basic_pitch"), "--shape", shape, "-i", f"{name}={path}", *arguments)
        self.in_place(report, name)
        expected = {
            part: np.fromfile(REFERENCE / f"basic_pitch.music.{kind}.{part}.bin", "f4") for part in ("onset", "note", "contour")
        }
        left = dict(expected)
        for number, _ in enumerate(outputs):
            found = np.load(f"{number}.npy").ravel()
            match = [part for part, value in left.items() if value.size == found.size and np.abs(value - found).max() < 1e-4]
            self.assertEqual(len(match), 1, f"output {number} is none of {list(left)}")
            del left[match[0]]
        self.assertEqual(left, {})

    def test_state_that_goes_through_files(self):
        if ENGINE != "onnxruntime":
            self.skipTest("the speech detector is an .onnx model")
        inputs = np.fromfile(REFERENCE / "silero_vad.input.bin", "f4").reshape(60, 1, 576)
        outputs = np.fromfile(REFERENCE / "silero_vad.onnxruntime.output.bin", "f4").reshape(60, 1, 1)
        states = np.fromfile(REFERENCE / "silero_vad.onnxruntime.state.bin", "f4").reshape(60, 2, 1, 128)
        save("state.npy", np.zeros((2, 1, 128), "f4")), save("sr.npy", np.array(16000, "i8"))
        for step in range(3):
            save("input.npy", inputs[step])
            files = ["-i", "input=input.npy", "-i", "state=state.npy", "-i", "sr=sr.npy", "-o", "output=o.npy", "-o", "stateN=next.npy"]
            self.ok("run", model("silero_vad"), *files)
            np.testing.assert_allclose(np.load("o.npy"), outputs[step], atol=1e-4)
            np.testing.assert_allclose(np.load("next.npy"), states[step], atol=1e-4, rtol=1e-4)
            pathlib.Path("next.npy").rename("state.npy")


def suppressed(boxes, scores):
    """Non-maximum suppression as the catalogue of models states it; indices, best first."""

    def overlap(a, b):
        height = max(0, min(a[2], b[2]) - max(a[0], b[0]))
        width = max(0, min(a[3], b[3]) - max(a[1], b[1]))
        area = lambda box: (box[2] - box[0]) * (box[3] - box[1])
        return height * width / (area(a) + area(b) - height * width)

    kept = []
    for index in np.argsort(-scores, kind="stable"):
        if scores[index] > 0.25 and all(overlap(boxes[index], boxes[better]) <= 0.5 for better in kept):
            kept.append(index)
    return kept


main()
