"""bench: that its figures belong together. How large they are is the machine's business."""

import html.parser
import os
import pathlib
import pty
import re
import subprocess

import numpy as np
from harness import DATA, ENGINE, FILES, TOOL, USAGE, WATCHDOG, ToolTest, main, model, save

SHORT = ["--seconds", "0.2"]
SHORTEST = ["--seconds", "0.02"]


class Page(html.parser.HTMLParser):
    """Every tag that is opened, and those that lead elsewhere."""

    def __init__(self):
        super().__init__()
        self.tags, self.leads_elsewhere = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.leads_elsewhere += [value for name, value in attributes if name in ("src", "href", "xlink:href", "onload")]


class Bench(ToolTest):
    def bench(self, name, *more):
        return self.json("bench", model(name), *SHORT, *more)

    def check_latencies(self, way):
        latency = way["latency_ns"]
        values = [latency[key] for key in ("min", "p50", "p90", "p99", "max")]
        self.assertEqual(values, sorted(values))
        self.assertGreater(latency["min"], 0)

    def test_figures_belong_together(self):
        found = self.bench("add256")
        zero, copying, histogram = found["zero_copy"], found["copying"], found["histogram"]
        self.check_latencies(zero), self.check_latencies(copying)
        self.assertEqual(zero["runs"], copying["runs"])
        self.assertEqual(sum(histogram["zero_copy"]) + histogram["zero_copy_above"], zero["runs"])
        self.assertEqual(sum(histogram["copying"]) + histogram["copying_above"], copying["runs"])
        self.assertLessEqual(histogram["zero_copy_above"], zero["runs"])
        self.assertEqual(found["saved_ns"], copying["latency_ns"]["p50"] - zero["latency_ns"]["p50"])
        self.assertGreater(zero["engine_ns"], 0)

    def test_what_is_copied_and_allocated(self):
        found = self.bench("add256")
        self.assertEqual((found["zero_copy"]["bytes_copied_per_run"], found["copying"]["bytes_copied_per_run"]), (0, 3 * 1024))
        self.assertEqual((found["zero_copy"]["allocations_per_run"], found["zero_copy"]["allocations_by_zerobind"]), (0, 0))
        self.assertTrue(all(slot["bound"] for slot in found["slots"]))

    def test_copies_of_large_tensors_show(self):
        found = self.json("bench", model("big16"), "--seconds", "0.5")
        self.assertEqual(found["copying"]["bytes_copied_per_run"], 2 * 16 << 20)
        self.assertGreater(found["saved_ns"], 0)
        # 16 MiB in one ms are more than this kind of memory moves
        self.assertGreater(found["copying"]["copy_in_ns"], 500_000)
        self.assertGreater(found["copying"]["copy_out_ns"], 500_000)

    def test_outputs_that_only_the_run_tells(self):
        save("x.npy", np.ones(16, "f4"))
        found = self.bench("nonzero", "-i", "x=x.npy")
        slots = self.slots(found)
        self.assertEqual((slots["y"]["bound"], slots["y"]["shape"], slots["y"]["bytes"]), (False, [16, 1], 128))
        self.assertEqual(found["copying"]["bytes_copied_per_run"], 64 + 128)
        self.assertEqual(found["zero_copy"]["bytes_copied_per_run"], 0)

    def test_outputs_that_are_something_else(self):
        for name in ("passthrough", "duplicate", "constant"):
            self.check_latencies(self.json("bench", model(name), *SHORTEST)["zero_copy"])

    def test_open_shapes(self):
        found = self.bench("batch", "--shape", "x=64,4", "--seed", "5")
        self.assertEqual((self.slots(found)["y"]["shape"], found["inputs"]), ([64, 4], "random"))
        save("b.npy", np.zeros((3, 4), "f4"))
        self.assertEqual(self.slots(self.bench("batch", "-i", "x=b.npy"))["y"]["shape"], [3, 4])
        if ENGINE == "onnxruntime":
            self.fails(DATA, "open dimensions[^$]*--shape", "bench", model("batch"), *SHORT)
        save("b.npy", np.zeros((3, 5), "f4"))
        self.fails(DATA, "b.npy: .*'x'", "bench", model("batch"), *SHORT, "-i", "x=b.npy")
        save("d.npy", np.zeros((3, 4)))
        self.fails(DATA, "d.npy: .*f64.*f32", "bench", model("batch"), *SHORT, "-i", "x=d.npy")

    def test_types_and_seeds(self):
        names = ["add_f16", "add_i64", "image_u8", "logical_and", "quantized", "type_bf16", "scalar", "empty"]
        for name in names:
            self.json("bench", model(name), *SHORTEST, "--seed", "1")
            self.json("bench", model(name), *SHORTEST)

    def test_files_that_are_where_no_engine_could_read_them(self):
        # they are copied to memory that is right
        pathlib.Path("x.npy").write_bytes(b"\x93NUMPY\x01\x00\x3b\x00{'descr':'<f4','fortran_order':False,'shape':(4,)}".ljust(69) + bytes(16))
        self.assertEqual(self.bench("add4", "-i", "x=x.npy")["inputs"], "files, else zeros")

    def test_the_page(self):
        self.ok("bench", model("add4"), *SHORT, "--html", "page.html")
        text = pathlib.Path("page.html").read_text()
        page = Page()
        page.feed(text)
        self.assertEqual(page.tags.count("svg"), 2)
        self.assertGreater(page.tags.count("rect"), 5)
        self.assertEqual((page.leads_elsewhere, page.tags.count("script")), ([], 0))
        self.assertNotRegex(text, r"https?://|NaN|inf\b|@import|url\(")
        self.assertRegex(text, r"p99")
        # one that is there is replaced, one that cannot be written is told before anything is measured
        self.ok("bench", model("add4"), *SHORTEST, "--html", "page.html")
        self.fails(FILES, "no such folder", "bench", model("add4"), "--seconds", "3600", "--html", "no/page.html")

    def test_names_in_the_page_are_no_markup(self):
        name = "<img src=x>&" + os.path.splitext(model("add4"))[1]
        os.symlink(model("add4"), name)
        self.ok("bench", name, *SHORTEST, "--html", "page.html")
        page = Page()
        page.feed(pathlib.Path("page.html").read_text())
        self.assertNotIn("img", page.tags)

    def test_the_text(self):
        text = self.ok("bench", model("add4"), *SHORT)
        self.assertRegex(text, r"zero copy +[\d,]+ +[\d.]+ (ns|us|ms) ")
        self.assertRegex(text, r"zero copy saves|no difference beyond noise|copying way was faster")

    def test_progress_is_for_terminals(self):
        self.assertNotIn("measuring", self.tool("bench", model("add4"), *SHORT).stderr)
        controller, terminal = pty.openpty()
        with open(terminal, "wb") as stderr, open(controller, "rb", buffering=0) as shown:
            done = subprocess.run([TOOL, "bench", model("add4"), *SHORT, "--json"], stdout=subprocess.PIPE, stderr=stderr, timeout=WATCHDOG)
            stderr.close()
            text = b""
            try:
                while part := shown.read(65536):
                    text += part
            except OSError:
                # how a terminal without anybody at the other end says that it is over
                pass
        self.assertEqual(done.returncode, 0)
        self.assertRegex(text.decode(), r"measuring \[=*>? *\] +\d+ %")
        self.assertTrue(re.match(rb"\s*\{", done.stdout))

    def test_values_that_cannot_be(self):
        for bad in ("0", "-1", "nan", "inf", "x", "1e9"):
            self.fails(USAGE, "seconds", "bench", model("add4"), f"--seconds={bad}")


main()
