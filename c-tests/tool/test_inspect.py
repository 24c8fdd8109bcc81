"""inspect: what it says against what the models are known to be."""

from harness import ENGINE, FILES, MODEL, USAGE, ToolTest, main, model


class Inspect(ToolTest):
    def inspect(self, name, *more):
        return self.json("inspect", model(name), *more)

    def test_slots(self):
        found = self.inspect("add4")
        self.assertEqual((found["engine"], found["not_planned"]), (ENGINE, None))
        self.assertEqual([slot["name"] for slot in found["inputs"]], ["x", "y"])
        self.assertEqual([slot["name"] for slot in found["outputs"]], ["z"])
        for slot in found["inputs"] + found["outputs"]:
            self.assertEqual((slot["dtype"], slot["shape"], slot["bytes"], slot["flags"]), ("f32", [4], 16, []))

    def test_what_memory_has_to_be_like(self):
        [x, _], [z] = (self.inspect("add4")[side] for side in ("inputs", "outputs"))
        alignment, slack = (64, 16) if ENGINE == "tflite" else (4, 0)
        self.assertEqual(x["memory"], {"bytes": 16, "alignment": alignment, "slack": slack, "new_address": "free", "kinds": ["host", "shared"]})
        self.assertEqual((z["memory"]["alignment"], z["memory"]["slack"]), (alignment, 0))

    def test_open_dimensions(self):
        found = self.inspect("batch")
        [x] = found["inputs"]
        if ENGINE == "onnxruntime":
            self.assertEqual((x["shape"], x["dim_names"], x["bytes"], x["memory"]), ([None, 4], ["batch", ""], None, None))
            self.assertIn("open dimensions", found["not_planned"])
            self.assertRegex(self.ok("inspect", model("batch")), r"x +f32 \[batch,4\] +dynamic")
        found = self.inspect("batch", "--shape", "x=8,4")
        for slot in found["inputs"] + found["outputs"]:
            self.assertEqual((slot["shape"], slot["bytes"], slot["memory"]["bytes"]), ([8, 4], 128, 128))

    def test_sizes_that_only_the_run_tells(self):
        [y] = self.inspect("nonzero")["outputs"]
        self.assertEqual((y["shape"], y["flags"], y["memory"]["bytes"]), ([None, 1], ["dynamic"], None))
        self.assertRegex(self.ok("inspect", model("nonzero")), "the run tells")

    def test_quantization(self):
        found = self.inspect("quantized")
        [x], [y] = found["inputs"], found["outputs"]
        self.assertEqual(x["quantization"], {"scales": [0.5], "zero_points": [3], "axis": None})
        self.assertEqual(y["quantization"], {"scales": [0.25], "zero_points": [-5], "axis": None})
        self.assertRegex(self.ok("inspect", model("quantized")), r"x +0\.5 \* \(stored - 3\)")
        [x] = self.inspect("per_axis")["inputs"]
        self.assertEqual(x["quantization"], {"scales": [0.5, 0.25, 2.0], "zero_points": [1, -2, 3], "axis": 1})
        self.assertIn("along dimension 1", self.ok("inspect", model("per_axis")))

    def test_flags(self):
        known = [("passthrough", "pass-through"), ("duplicate", "duplicate")]
        # ONNX Runtime writes a constant output as any other
        known += [("constant", "constant")] if ENGINE == "tflite" else []
        for name, flag in known:
            flags = [flag for slot in self.inspect(name)["outputs"] for flag in slot["flags"]]
            self.assertIn(flag, flags, name)

    def test_metadata_and_signatures(self):
        found = {entry["key"]: entry["value"] for entry in self.inspect("metadata")["metadata"]}
        if ENGINE == "onnxruntime":
            self.assertEqual((found["onnx.producer_name"], found["onnx.version"]), ("zerobind-models", "42"))
            self.assertEqual((found["größe"], found["labels"]), ("klein – 小さい", "cat,dog"))
        else:
            self.assertIn("tflite.version", found)
            signatures = self.inspect("signatures")["signatures"]
            self.assertEqual(signatures, ["serving_default", "other", "elsewhere"])
            self.assertIn("elsewhere", self.ok("inspect", model("signatures")))

    def test_every_model_can_be_described(self):
        for name in ["strings", "scalar", "empty", "kv_cache", "huge", "basic_pitch", "type_bf16"]:
            with self.subTest(name):
                done = self.tool("inspect", model(name), "--json")
                if name == "huge":
                    # its tensors are over the limit, which is told at once
                    self.assertEqual(done.returncode, 6, done.stderr)
                else:
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.ok("inspect", model(name))

    def test_strings_have_no_memory(self):
        [x] = self.inspect("strings")["inputs"]
        self.assertEqual((x["dtype"], x["bytes"], x["memory"] and x["memory"]["kinds"]), ("string", None, []))
        self.assertRegex(self.ok("inspect", model("strings")), "x +none fits")

    def test_what_is_no_model(self):
        with open("text", "w") as file:
            file.write("not a model at all, only words")
        self.fails(MODEL, "not a model", "inspect", "text")
        self.fails(FILES, "not a file", "inspect", ".")
        self.fails(FILES, "No such file", "inspect", "none.onnx")
        self.fails(USAGE, "no.such", "inspect", model("add4"), "--option", "no.such=1")

    def test_a_model_that_is_damaged(self):
        with open(model("add4"), "rb") as file:
            content = file.read()
        with open("cut", "wb") as file:
            file.write(content[: len(content) // 2])
        self.fails(MODEL, "cut: ", "inspect", "cut")


main()
