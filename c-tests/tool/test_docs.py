"""Every command that docs/tool.md and the help show is run here, in a folder with the models and inputs that they name."""

import os
import re
import shlex

import numpy as np
from harness import DOCS, MODELS, ToolTest, main, save

COMMANDS = ["doctor", "check", "inspect", "run", "bench"]


class Docs(ToolTest):
    def setUp(self):
        super().setUp()
        for path in MODELS.glob("*.*"):
            if path.suffix in (".onnx", ".tflite"):
                os.symlink(path, path.name)
        save("x.npy", np.arange(4, dtype="f4")), save("y.npy", np.arange(4, dtype="f4"))
        save("n.npy", np.arange(16, dtype="f4"))
        np.arange(8, dtype="f4").tofile("frame.raw")

    def run_all(self, lines, least):
        commands = [line.split("#")[0].strip() for line in lines if line.strip().startswith("zerobind ")]
        self.assertGreaterEqual(len(commands), least)
        for command in commands:
            with self.subTest(command):
                arguments = shlex.split(command)[1:]
                text = self.ok(*arguments)
                self.assertTrue(text)
                written = [name for word in arguments if "=" in word for name in [word.split("=", 1)[1]] if "." in name]
                for name in written:
                    self.assertTrue(os.path.exists(name) or arguments[0] == "bench", name)

    def test_the_manual(self):
        text = (DOCS / "tool.md").read_text()
        blocks = re.findall(r"```sh\n(.*?)```", text, re.S)
        self.run_all([line for block in blocks for line in block.splitlines()], 12)
        for name in re.findall(r"`c-tests/tool/(\w+\.py)`", text):
            self.assertTrue((DOCS.parent / "c-tests/tool" / name).exists())

    def test_the_help(self):
        for command in COMMANDS:
            self.run_all(self.ok(command, "--help").split("Examples:")[1].splitlines(), 2)

    def test_options_in_the_manual_exist(self):
        text = (DOCS / "tool.md").read_text()
        helps = "".join(self.ok(command, "--help") for command in COMMANDS)
        for option in set(re.findall(r"`(--[a-z-]+)`", text)):
            self.assertIn(option, helps + "--help")


main()
