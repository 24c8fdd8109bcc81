"""What the tests of the zerobind command share. Each runs it as a user does, in a folder of its own."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

TOOL = os.environ["ZB_TEST_TOOL"]
MODELS = pathlib.Path(os.environ["ZB_TEST_MODELS"])
REFERENCE = pathlib.Path(os.environ["ZB_TEST_REFERENCE"])
DOCS = pathlib.Path(os.environ["ZB_TEST_DOCS"])
# the engine that the test is for, if it is for one
ENGINE = next((word for word in sys.argv[1:] if word in ("tflite", "onnxruntime")), None)
SUFFIX = ".tflite" if ENGINE == "tflite" else ".onnx"
# no run here takes more than a few seconds
WATCHDOG = 50

USAGE, MODEL, ENGINE_MISSING, FILES, UNSUPPORTED, DATA, COPY_NEEDED = 2, 3, 4, 5, 6, 7, 8


def model(name):
    return str(MODELS / (name + SUFFIX))


class ToolTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="zerobind-tool-")
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def tool(self, *arguments, environment=None, **how):
        """Runs the command; its texts are strings, whatever is in them."""
        environment = {**os.environ, **(environment or {})}
        environment = {name: value for name, value in environment.items() if value is not None}
        done = subprocess.run(
            [TOOL, *arguments], capture_output=True, timeout=WATCHDOG, env=environment, stdin=subprocess.DEVNULL, **how
        )
        done.stdout = done.stdout.decode(errors="surrogateescape")
        done.stderr = done.stderr.decode(errors="surrogateescape")
        return done

    def ok(self, *arguments, **how):
        done = self.tool(*arguments, **how)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("panicked", done.stderr)
        return done.stdout

    def json(self, *arguments, **how):
        return json.loads(self.ok(*arguments, "--json", **how))

    def fails(self, code, pattern, *arguments, **how):
        """The exit code, a text on standard error that matches, and nothing on standard output."""
        done = self.tool(*arguments, **how)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout}{done.stderr}")
        self.assertRegex(done.stderr, pattern)
        self.assertNotIn("panicked", done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def slots(self, report):
        """The report's lines by name; the first of a name counts."""
        return {slot["name"]: slot for slot in reversed(report["slots"])}

    def in_place(self, report, *names):
        for name in names:
            slot = self.slots(report)[name]
            self.assertEqual((slot["way"], slot["bytes_copied"], slot["reason"]), ("in-place", 0, None), name)

    def same(self, path, expected):
        """A .npy file has exactly these elements, type and shape included."""
        found = np.load(path)
        self.assertEqual((found.dtype, found.shape), (expected.dtype, expected.shape))
        np.testing.assert_array_equal(found, expected)


def save(name, array, dtype=None):
    np.save(name, np.asarray(array, dtype))
    return name


def main():
    # with every test's name, and the reason of each that is left out
    unittest.main(argv=[sys.argv[0], *(word for word in sys.argv[1:] if word != ENGINE)], verbosity=2)
