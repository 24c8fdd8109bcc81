"""The command itself: help, exit codes, streams, engines that are missing, manual pages."""

import os
import pathlib
import re
import subprocess

import onnx
from harness import ENGINE_MISSING, FILES, MODELS, TOOL, USAGE, WATCHDOG, ToolTest, main, save
from onnx import TensorProto, helper

COMMANDS = ["doctor", "check", "inspect", "run", "bench"]
NO_ENGINES = {"ZEROBIND_TFLITE_LIB": "/nowhere/tflite", "ZEROBIND_ONNXRUNTIME_LIB": "/nowhere/onnxruntime"}
ADD4 = str(MODELS / "add4.onnx")


class Command(ToolTest):
    def test_help(self):
        text = self.ok("--help")
        for command in COMMANDS:
            self.assertRegex(text, rf"(?m)^  {command} ")
            page = self.ok(command, "--help")
            self.assertIn("Examples:", page)
            self.assertIn("--json", page)
        self.assertIn("Exit codes:", text)
        self.assertNotRegex(text, r"(?m)^  man ")
        self.assertRegex(self.ok("--version"), r"^zerobind \d+\.\d+\.\d+\n$")

    def test_lines_fit(self):
        for command in ([], *([command] for command in COMMANDS)):
            for line in self.ok(*command, "--help", environment={"COLUMNS": "120"}).splitlines():
                self.assertLessEqual(len(line), 120, line)

    def test_usage(self):
        for arguments in ([], ["walk"], ["run"], ["inspect"], ["inspect", ADD4, "--color"], ["run", ADD4, "--repeat", "0"],
                          ["run", ADD4, "--threads", "0"], ["run", ADD4, "--threads", "x"], ["inspect", ADD4, "--shape", "x"],
                          ["inspect", ADD4, "--shape", "x=-1"], ["inspect", ADD4, "--option", "x"], ["doctor", "--runtime", "x"],
                          ["inspect", ADD4, "--runtime", "caffe"]):  # fmt: skip
            self.fails(USAGE, "Usage|error", *arguments)

    def test_doctor(self):
        found = self.json("doctor")
        self.assertEqual([engine["engine"] for engine in found["engines"]], ["tflite", "onnxruntime"])
        for engine in found["engines"]:
            self.assertTrue(engine["available"])
            self.assertEqual((engine["path"], engine["reason"], engine["how_to_get"]), (os.environ[engine["variable"]], None, []))
            self.assertRegex(engine["version"], r"^\d+\.\d+")
        self.assertEqual(len(self.json("doctor", "--runtime", "tflite")["engines"]), 1)
        self.assertRegex(self.ok("doctor"), r"ONNX Runtime \d+\.\d+\.\d+: found\n  /")

    def test_doctor_without_engines(self):
        done = self.tool("doctor", environment=NO_ENGINES)
        self.assertEqual(done.returncode, ENGINE_MISSING)
        for text in ("/nowhere/tflite (from ZEROBIND_TFLITE_LIB)", "/nowhere/onnxruntime", "pip install onnxruntime", "npm install", "Debian"):
            self.assertIn(text, done.stdout)
        # nothing named: the places that are tried instead
        bare = {name: None for name in NO_ENGINES}
        done = self.tool("doctor", environment=bare)
        self.assertEqual(done.returncode, ENGINE_MISSING, "this machine has engines where the loader looks")
        self.assertRegex(done.stdout, "next to zerobind")
        self.assertRegex(done.stdout, "system loader")

    def test_one_engine_is_enough(self):
        environment = {"ZEROBIND_TFLITE_LIB": "/nowhere"}
        self.assertEqual([e["available"] for e in self.json("doctor", environment=environment)["engines"]], [False, True])
        done = self.tool("doctor", "--runtime", "tflite", environment=environment)
        self.assertEqual(done.returncode, ENGINE_MISSING)
        # a library that is no engine
        environment = {"ZEROBIND_TFLITE_LIB": os.environ["ZEROBIND_ONNXRUNTIME_LIB"]}
        self.assertEqual([e["available"] for e in self.json("doctor", environment=environment)["engines"]], [False, True])

    def test_models_without_engines(self):
        for command in ("inspect", "run", "bench"):
            self.fails(ENGINE_MISSING, "cannot be used. Tried: /nowhere/onnx", command, ADD4, environment=NO_ENGINES)

    def test_a_reader_that_leaves(self):
        for arguments in (["inspect", ADD4], ["inspect", ADD4, "--json"], ["doctor"], ["--help"], ["run", "--help"]):
            read, write = os.pipe()
            os.close(read)
            with os.fdopen(write, "wb") as out:
                done = subprocess.run([TOOL, *arguments], stdout=out, stderr=subprocess.PIPE, timeout=WATCHDOG)
            self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)
        shell = f"set -o pipefail; '{TOOL}' inspect '{ADD4}' | head -1"
        done = subprocess.run(["bash", "-c", shell], capture_output=True, timeout=WATCHDOG)
        self.assertEqual((done.returncode, done.stdout.count(b"\n"), done.stderr), (0, 1, b""))

    def test_output_that_cannot_be_written(self):
        for arguments in (["inspect", ADD4], ["doctor", "--json"], ["--help"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([TOOL, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=WATCHDOG)
            self.assertEqual(done.returncode, FILES, arguments)
            self.assertNotIn(b"panicked", done.stderr)

    def test_streams_that_are_closed(self):
        for arguments in (["inspect", ADD4], ["none"]):
            done = subprocess.run(["sh", "-c", '"$0" "$@" >&- 2>&-', TOOL, *arguments], timeout=WATCHDOG)
            self.assertIn(done.returncode, (0, USAGE, FILES), arguments)

    def test_a_model_that_is_a_pipe(self):
        os.mkfifo("pipe")
        self.fails(FILES, "pipe: ", "inspect", "pipe")

    def test_a_model_without_inputs(self):
        value = helper.make_tensor("value", TensorProto.FLOAT, [3], [1, 2, 3])
        graph = helper.make_graph(
            [helper.make_node("Constant", [], ["c"], value=value), helper.make_node("Neg", ["c"], ["y"])],
            "g", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
        )  # fmt: skip
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), "model.onnx")
        self.assertEqual(self.json("inspect", "model.onnx")["inputs"], [])
        self.assertRegex(self.ok("inspect", "model.onnx"), r"Inputs\n  none\n")
        self.ok("run", "model.onnx", "-o", "y=y.npy")
        self.same("y.npy", -onnx.numpy_helper.to_array(value))
        self.json("bench", "model.onnx", "--seconds", "0.02")

    def test_names_of_slots_with_signs_in_them(self):
        names = ["a", "a=b", "größe 小", "new\nline"]
        graph = helper.make_graph(
            [helper.make_node("Sum", names, ["out=put"])], "g",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in names],
            [helper.make_tensor_value_info("out=put", TensorProto.FLOAT, [2])],
        )  # fmt: skip
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), "model.onnx")
        files = []
        for number, name in enumerate(names):
            files += ["-i", f"{name}=" + save(f"{number}.npy", [10**number, 0], "f4")]
        self.ok("run", "model.onnx", *files, "-o", "out=put=r=1.npy")
        self.same("r=1.npy", sum((onnx.numpy_helper.to_array(helper.make_tensor("t", 1, [2], [10**n, 0])) for n in range(1, 4)), start=onnx.numpy_helper.to_array(helper.make_tensor("t", 1, [2], [1, 0]))))
        # a name cannot break the lines of the report
        self.assertNotIn("new\nline", self.ok("inspect", "model.onnx"))

    def named_model(self, name):
        """A model whose input has this name, as have its graph and its output."""
        value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])
        graph = helper.make_graph([helper.make_node("Neg", [name], ["out" + name])], name, [value(name)], [value("out" + name)])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), "model.onnx")
        return "model.onnx"

    def test_names_of_every_length(self):
        save("x.npy", [1, 2], "f4")
        for length in (200, 201, 65_535, 65_536, 70_000):
            name = "n" * length
            path = self.named_model(name)
            self.assertEqual(self.json("inspect", path)["inputs"][0]["name"], name)
            # an argument has a limit of the system's own
            files = ["-i", f"{name}=x.npy", "-o", f"out{name}=z.npy"]
            for arguments in (["inspect", path], ["run", path, *files], ["bench", path, "--seconds", "0.02"]):
                for line in self.ok(*arguments).splitlines():
                    self.assertLess(len(line), 1000)

    def test_nothing_moves_the_cursor(self):
        evil = "\x1b[31m\x07\x9b2J\r"
        path = self.named_model(evil)
        broken = bytearray(pathlib.Path(save("x.npy", [1, 2], "f4")).read_bytes())
        at = broken.index(b"<f4")
        broken[at : at + 3] = b"\x1b[7"
        pathlib.Path("esc.npy").write_bytes(broken)
        pathlib.Path(evil).write_bytes(b"no model")
        for arguments in (["inspect", path], ["inspect", path, "-v"], ["run", path], ["run", path, "-i", f"{evil}=x.npy", "-v"],
                          ["run", path, "-i", f"{evil}x=x.npy"], ["run", path, "-i", f"{evil}=esc.npy"], ["inspect", evil],
                          ["run", path, "-i", f"{evil}={evil}.npy"], ["inspect", path, "--option", f"{evil}=1"],
                          ["inspect", path, "--shape", f"{evil}=7"], [evil], ["inspect", path, "--runtime", evil], ["bench", path, "--seconds", "0.02"]):  # fmt: skip
            done = self.tool(*arguments)
            for text in (done.stdout, done.stderr):
                self.assertNotRegex(text, r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", arguments)
        for value in (f"/nowhere/{evil}", evil):
            for command in (["doctor"], ["inspect", path]):
                done = self.tool(*command, environment={name: value for name in NO_ENGINES})
                self.assertEqual(done.returncode, ENGINE_MISSING)
                self.assertNotRegex(done.stdout + done.stderr, r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")

    def test_manual_pages(self):
        self.ok("man", "pages/man1")
        pages = {page.name: page.read_text() for page in pathlib.Path("pages/man1").iterdir()}
        self.assertEqual(sorted(pages), ["zerobind-bench.1", "zerobind-check.1", "zerobind-doctor.1", "zerobind-inspect.1", "zerobind-run.1", "zerobind.1"])
        self.assertTrue(all(re.search(r"^\.TH zerobind", page, re.M) for page in pages.values()))
        self.assertIn("allow\\-copies", pages["zerobind-run.1"])
        pathlib.Path("file").touch()
        self.fails(FILES, "file", "man", "file")


main()
