"""run: files in, files out, in place; names and paths of every kind; what it reports."""

import os
import pathlib
import shutil

import numpy as np
from harness import COPY_NEEDED, DATA, ENGINE, FILES, SUFFIX, USAGE, ToolTest, main, model, save


class Run(ToolTest):
    def setUp(self):
        super().setUp()
        self.x, self.y = np.array([1, 2, 3, 4], "f4"), np.array([10, 20, 30, 40], "f4")
        save("x.npy", self.x), save("y.npy", self.y)

    def add(self, *more):
        return self.json("run", model("add4"), "-i", "x=x.npy", "-i", "y=y.npy", *more)

    def test_npy_in_and_out_in_place(self):
        report = self.add("--output", "z=z.npy")
        self.same("z.npy", self.x + self.y)
        self.in_place(report, "x", "y", "z")
        self.assertEqual((report["engine"], report["runs"], report["threads"]), (ENGINE, 1, 1))
        self.assertEqual(self.slots(report)["z"]["shape"], [4])
        self.assertEqual(self.slots(report)["z"]["file"], "z.npy")

    def test_bare_bytes_in_and_out_in_place(self):
        self.x.tofile("x.raw"), self.y.tofile("y.bin")
        report = self.json("run", model("add4"), "-i", "x=x.raw", "-i", "y=y.bin", "-o", "z=z.f32")
        np.testing.assert_array_equal(np.fromfile("z.f32", "f4"), self.x + self.y)
        self.assertEqual(os.path.getsize("z.f32"), 16)
        self.in_place(report, "x", "y", "z")

    def test_what_is_written_begins_at_a_multiple_of_64(self):
        self.add("-o", "z=z.npy")
        self.assertEqual((os.path.getsize("z.npy") - 16) % 64, 0)
        self.assertEqual(pathlib.Path("z.npy").read_bytes()[:8], b"\x93NUMPY\x01\x00")

    def test_repeat_and_threads(self):
        report = self.add("-o", "z=z.npy", "--repeat", "50", "--threads", "2")
        self.assertEqual((report["runs"], report["threads"]), (50, 2))
        self.same("z.npy", self.x + self.y)

    def test_an_output_without_a_file_is_not_written(self):
        slot = self.slots(self.add())["z"]
        self.assertEqual((slot["way"], slot["file"]), ("unused", None))
        self.assertEqual(sorted(os.listdir()), ["x.npy", "y.npy"])

    def test_the_report_for_people(self):
        text = self.ok("run", model("add4"), "-i", "x=x.npy", "-i", "y=y.npy", "-o", "z=z.npy")
        self.assertRegex(text, r"(?m)^  z +f32 \[4\] +in place +0 +z\.npy$")

    def test_inputs_are_only_read(self):
        for name in ("x.npy", "y.npy"):
            os.chmod(name, 0o444)
        before = pathlib.Path("x.npy").read_bytes()
        self.add("-o", "z=z.npy")
        self.assertEqual(pathlib.Path("x.npy").read_bytes(), before)

    def test_one_file_for_two_inputs(self):
        self.ok("run", model("add4"), "-i", "x=x.npy", "-i", "y=x.npy", "-o", "z=z.npy")
        self.same("z.npy", self.x + self.x)

    def test_names_and_paths_of_every_kind(self):
        strange = [b"gr\xc3\xb6\xc3\x9fe \xe5\xb0\x8f.npy", b"\xff\xfe.npy", b"a=b=c.npy", b"-x.npy", b"two\nlines.npy"]
        for name in strange:
            shutil.copy("x.npy", name)
            out = b"out " + name
            text = self.ok("run", model("add4"), b"-ix=" + name, "-i", "y=y.npy", b"-oz=" + out)
            self.same(out, self.x + self.y)
            self.assertRegex(text, r"z +f32 \[4\] +in place")
            self.json("run", model("add4"), b"-ix=" + name, "-i", "y=y.npy", b"-oz=" + out)
        for name in (b"m\xff\xfe", "größe 小".encode()):
            path = name + SUFFIX.encode()
            shutil.copy(model("add4"), path)
            self.ok("run", path, "-i", "x=x.npy", "-i", "y=y.npy", "-o", "z=z.npy")
            self.assertIn("inputs", self.json("inspect", path))

    def test_options_reach_the_engine(self):
        self.add("-o", "z=z.npy", "--option", "tflite.xnnpack=false", "--option", "optimization=none")
        self.same("z.npy", self.x + self.y)
        self.fails(USAGE, "no.such", "run", model("add4"), "--option", "no.such=1")
        self.fails(USAGE, "xnnpack|optimization", "run", model("add4"), "--option", "tflite.xnnpack=maybe", "--option", "optimization=maybe")

    def test_the_engine_can_be_named(self):
        self.assertEqual(self.add("--runtime", ENGINE)["engine"], ENGINE)
        other = {"tflite": "onnxruntime", "onnxruntime": "tflite"}[ENGINE]
        self.fails(3, "model", "run", model("add4"), "--runtime", other)

    def test_unknown_and_repeated_names(self):
        self.fails(USAGE, r"--input q=x.npy: .*no input named 'q'.*'x', 'y'", "run", model("add4"), "-i", "q=x.npy")
        self.fails(USAGE, r"no output named 'x'", "run", model("add4"), "-o", "x=x2.npy")
        self.fails(USAGE, r"no input named 'q'", "run", model("add4"), "--shape", "q=1")
        self.fails(USAGE, "has a file already", "run", model("add4"), "-i", "x=x.npy", "-i", "x=y.npy")
        self.fails(USAGE, "--shape x: .*has a shape already", "run", model("batch"), "--shape", "x=2,4", "--shape", "x=3,4")
        self.fails(USAGE, "NAME=FILE", "run", model("add4"), "-i", "x.npy")
        self.fails(USAGE, "has no name", "run", model("add4"), "-i", "x=")

    def test_a_missing_input_is_told(self):
        self.fails(DATA, r"'y' has no memory[^$]*--input NAME=FILE", "run", model("add4"), "-i", "x=x.npy", "-o", "z=z.npy")
        self.assertNotIn("z.npy", os.listdir())

    def test_files_that_cannot_be_inputs(self):
        os.mkfifo("pipe"), os.mkdir("folder")
        for name, pattern in [("pipe", "not an ordinary file"), ("folder", "not an ordinary file"), ("none", "No such file")]:
            self.fails(FILES, f"{name}: .*{pattern}", "run", model("add4"), "-i", f"x={name}")
        self.fails(FILES, "not an ordinary file", "run", model("add4"), "-i", "x=/dev/zero")

    def test_bare_bytes_have_to_be_as_many_as_the_tensor(self):
        for size in (0, 15, 17, 32):
            pathlib.Path("x.raw").write_bytes(bytes(size))
            self.fails(DATA, rf"x\.raw: the file has {size} bytes.*16 bytes", "run", model("add4"), "-i", "x=x.raw")

    def test_bytes_that_end_with_a_page(self):
        np.arange(1024, dtype="f4").tofile("x.raw")
        arguments = ["run", model("chain"), "-i", "x=x.raw", "-o", "y=out.npy"]
        if ENGINE == "tflite":
            self.fails(COPY_NEEDED, "x.raw: .*may read 16 bytes past[^$]*--allow-copies", *arguments)
            self.assertNotIn("out.npy", os.listdir())
            slot = self.slots(self.json(*arguments, "--allow-copies"))["x"]
            self.assertEqual((slot["way"], slot["bytes_copied"]), ("copied-by-zerobind", 4096))
            self.assertIn("past the end", slot["reason"])
        else:
            self.in_place(self.json(*arguments), "x", "y")
        self.same("out.npy", np.arange(1024, dtype="f4") + 40)
        # the same as .npy lies behind a header, and ends elsewhere
        save("x.npy", np.arange(1024, dtype="f4"))
        self.in_place(self.json("run", model("chain"), "-i", "x=x.npy", "-o", "y=y2.npy"), "x", "y")
        self.same("y2.npy", np.arange(1024, dtype="f4") + 40)

    def test_shapes_of_bare_bytes(self):
        np.arange(8, dtype="f4").tofile("x.raw")
        arguments = ["run", model("batch"), "-i", "x=x.raw", "-o", "y=y.npy"]
        self.in_place(self.json(*arguments, "--shape", "x=2,4"), "x", "y")
        self.same("y.npy", 2 * np.arange(8, dtype="f4").reshape(2, 4))
        self.fails(DATA, "32 bytes", *arguments, "--shape", "x=3,4")
        self.fails(DATA, "'x'", *arguments, "--shape", "x=2,5")
        self.fails(DATA, "'x'", *arguments, "--shape", "x=8")
        if ENGINE == "onnxruntime":
            self.fails(DATA, r"do not tell their shape.*\[batch,4\].*--shape x=", *arguments)

    def test_tensors_over_the_limit(self):
        save("x8.npy", [[1] * 4] * 2, "f4")
        arguments = ["run", model("batch"), "-i", "x=x8.npy"]
        text = self.fails(6, "raise --max-tensor-bytes", *arguments, "--max-tensor-bytes", "31")
        self.assertNotIn("zb_", text)
        self.ok(*arguments, "--max-tensor-bytes", "32")
        self.fails(6, "raise --max-tensor-bytes", "inspect", model("batch"), "--shape", f"x={1 << 29},4")

    def test_a_shape_and_a_file_that_disagree(self):
        save("b.npy", np.zeros((2, 4), "f4"))
        self.fails(DATA, "'x'", "run", model("batch"), "--shape", "x=3,4", "-i", "x=b.npy")

    def test_verbose_prints_the_log(self):
        done = self.tool("run", model("add4"), "-i", "x=x.npy", "-i", "y=y.npy", "--verbose", "--json")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"\[(info|debug|warning)\] ")


main()
