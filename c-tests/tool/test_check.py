"""`zerobind check`: a model is tried in a process of its own; what it does there does not happen to the command."""

import json
import pathlib
import shutil
import subprocess

from harness import DATA, ENGINE, ENGINE_MISSING, FILES, MODEL, TOOL, UNSUPPORTED, USAGE, ToolTest, main, model

ENGINE_FAILED, OUT_OF_MEMORY = 9, 10


class Check(ToolTest):
    def verdict(self, code, *arguments, **how):
        """With --json the verdict is on standard output, whatever it is."""
        done = self.tool("check", *arguments, "--json", **how)
        self.assertEqual((done.returncode, done.stderr), (code, ""), done.stdout)
        return json.loads(done.stdout)

    def test_models_that_pass(self):
        for name in ("add4", "batch", "quantized", "basic_pitch"):
            self.assertRegex(self.ok("check", model(name)), r": passed \(.*ms\)\n$")
        found = self.verdict(0, model("add4"))
        self.assertEqual((found["model"], found["passed"], found["status"], found["text"]), (model("add4"), True, "ZB_OK", None))
        self.assertGreater(found["milliseconds"], 0)

    def test_models_that_do_not(self):
        pathlib.Path("text").write_text("no model")
        self.fails(MODEL, "text: preflight, stage load: ", "check", "text")
        self.assertEqual(self.verdict(MODEL, "text")["status"], "ZB_ERROR_MODEL_INVALID")
        self.fails(FILES, "stage load", "check", "nowhere")
        self.fails(UNSUPPORTED, "stage load.*--max-tensor-bytes", "check", model("huge"))
        self.fails(UNSUPPORTED, "stage run", "check", model("string_in"))

    def test_limits(self):
        # 64 threads in 24 MiB, for which both engines wait for ever (or which they cannot do without)
        arguments = [model("basic_pitch"), "--threads", "64", "--max-memory", str(24 << 20), "--timeout", "0.5"]
        done = self.tool("check", *arguments)
        self.assertIn(done.returncode, (MODEL, ENGINE_FAILED, OUT_OF_MEMORY), done.stderr)
        self.assertRegex(done.stderr, "within 500ms|signal|stage")
        self.fails(OUT_OF_MEMORY, "allowed 67108864 bytes", "check", model("big64"), "--max-memory", str(64 << 20))

    def test_shapes(self):
        self.ok("check", model("conv_dyn"), "--shape", "0=1,8,8,1")
        self.fails(DATA, "stage plan", "check", model("conv_dyn"), "--shape", "0=1,8,8,3")
        self.fails(USAGE, "input 7", "check", model("add4"), "--shape", "7=1")
        for bad in ("x=1", "0=x", "0"):
            self.fails(USAGE, "0=1|N=D", "check", model("add4"), "--shape", bad)

    def test_options(self):
        self.ok("check", model("add4"), "--option", "optimization=none", "--threads", "2")
        self.fails(USAGE, "nobody.knows", "check", model("add4"), "--option", "nobody.knows=1")
        self.ok("check", model("add4"), "--runtime", ENGINE)

    def test_engines_that_are_missing(self):
        nowhere = {"ZEROBIND_TFLITE_LIB": "/nowhere/tflite", "ZEROBIND_ONNXRUNTIME_LIB": "/nowhere/onnxruntime"}
        self.fails(ENGINE_MISSING, "/nowhere/", "check", model("add4"), environment=nowhere)

    def test_the_helper(self):
        self.fails(FILES, "/nowhere/helper.*ZEROBIND_PREFLIGHT", "check", model("add4"), environment={"ZEROBIND_PREFLIGHT": "/nowhere/helper"})
        self.fails(ENGINE_MISSING, "is not the helper", "check", model("add4"), environment={"ZEROBIND_PREFLIGHT": "/bin/true"})
        # a command that lies alone says what it lacks
        shutil.copy(TOOL, "zerobind")
        done = subprocess.run(["./zerobind", "check", model("add4")], capture_output=True, text=True, timeout=50)
        self.assertEqual(done.returncode, FILES)
        self.assertRegex(done.stderr, "zerobind-preflight.*was not found. Tried: /")


main()
