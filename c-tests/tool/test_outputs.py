"""run: output files appear whole or not at all, and never in place of what is read."""

import os
import pathlib
import signal
import subprocess
import time

import numpy as np
from harness import DATA, FILES, TOOL, USAGE, WATCHDOG, ToolTest, main, model, save


class Outputs(ToolTest):
    def setUp(self):
        super().setUp()
        self.x = np.array([1, 2, 3, 4], "f4")
        save("x.npy", self.x), save("y.npy", self.x)
        os.mkdir("out")
        self.inputs = ["run", model("add4"), "-i", "x=x.npy", "-i", "y=y.npy"]

    def add(self, out):
        self.ok(*self.inputs, "-o", f"z={out}")

    def test_a_file_that_exists_is_replaced(self):
        for old in (b"", b"short", bytes(100_000)):
            pathlib.Path("out/z.npy").write_bytes(old)
            self.add("out/z.npy")
            self.same("out/z.npy", 2 * self.x)
            self.assertEqual(os.listdir("out"), ["z.npy"])

    def test_others_who_have_the_old_file_open_keep_it(self):
        pathlib.Path("out/z.npy").write_bytes(b"old")
        os.link("out/z.npy", "linked")
        with open("out/z.npy", "rb") as old:
            self.add("out/z.npy")
            self.assertEqual(old.read(), b"old")
        self.assertEqual(pathlib.Path("linked").read_bytes(), b"old")

    def test_nothing_is_left_of_a_run_that_fails(self):
        arguments = ["run", model("add4"), "-i", "x=x.npy", "-o", "z=out/z.npy"]
        self.fails(DATA, "'y'", *arguments)
        self.assertEqual(os.listdir("out"), [])
        pathlib.Path("out/z.npy").write_bytes(b"old")
        self.fails(DATA, "'y'", *arguments)
        self.assertEqual((os.listdir("out"), pathlib.Path("out/z.npy").read_bytes()), (["z.npy"], b"old"))

    def test_nothing_is_left_of_a_run_that_is_killed(self):
        arguments = ["-i", "x=x.npy", "-i", "y=y.npy", "-o", "z=out/z.npy", "--repeat", str(1 << 60)]
        running = subprocess.Popen([TOOL, "run", model("add4"), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            # until the file that has no name yet is mapped, which is before the first run
            end = time.monotonic() + WATCHDOG
            while f"{os.getcwd()}/out/" not in pathlib.Path(f"/proc/{running.pid}/maps").read_text():
                self.assertIsNone(running.poll(), "the run ended by itself")
                self.assertLess(time.monotonic(), end)
        finally:
            running.send_signal(signal.SIGKILL)
            running.wait()
        self.assertEqual(os.listdir("out"), [])

    def test_an_output_that_is_an_input(self):
        os.symlink("x.npy", "symbolic"), os.link("x.npy", "hard")
        before = pathlib.Path("x.npy").read_bytes()
        for name in ("x.npy", "./x.npy", "out/../x.npy", "symbolic", "hard", os.path.abspath("x.npy")):
            self.fails(USAGE, f"{name}: is also read as an input", *self.inputs, "-o", f"z={name}")
        self.assertEqual(pathlib.Path("x.npy").read_bytes(), before)

    def test_an_output_that_is_the_model(self):
        path = pathlib.Path("model")
        path.write_bytes(pathlib.Path(model("add4")).read_bytes())
        self.fails(USAGE, "is also the model", "run", "model", *self.inputs[2:], "-o", "z=model")
        self.fails(USAGE, "is also the model", "bench", "model", "--seconds", "0.01", "--html", "model")
        self.assertEqual(path.read_bytes(), pathlib.Path(model("add4")).read_bytes())

    def test_one_file_for_two_outputs(self):
        save("x.npy", np.arange(8, dtype="f4"))
        two = ["run", model("two_out"), "-i", "x=x.npy"]
        for existing in (False, True):
            if existing:
                pathlib.Path("same.npy").write_bytes(b"old")
            for other in ("same.npy", "./same.npy", "out/../same.npy"):
                self.fails(USAGE, "is also written as another output", *two, "-o", "a=same.npy", "-o", f"b={other}")
        self.assertEqual(pathlib.Path("same.npy").read_bytes(), b"old")
        self.fails(USAGE, "has a file already", *two, "-o", "a=1.npy", "-o", "a=2.npy")
        self.ok(*two, "-o", "a=a.npy", "-o", "b=b.npy")
        self.same("a.npy", np.arange(8, dtype="f4") + 1)
        self.same("b.npy", np.arange(8, dtype="f4") * 2)

    def test_links_are_followed(self):
        pathlib.Path("out/target.npy").write_bytes(b"old")
        os.symlink("out/target.npy", "link.npy")
        self.add("link.npy")
        self.assertTrue(os.path.islink("link.npy"))
        self.same("out/target.npy", 2 * self.x)
        self.assertEqual(os.listdir("out"), ["target.npy"])

    def test_a_link_to_nothing_becomes_a_file(self):
        os.symlink("out/nothing.npy", "link.npy")
        self.add("link.npy")
        self.same("link.npy", 2 * self.x)

    def test_places_where_no_file_can_be(self):
        os.mkfifo("pipe")
        for name, pattern in [
            ("out", "not an ordinary file"),
            ("pipe", "not an ordinary file"),
            ("/dev/null", "not an ordinary file"),
            ("no/z.npy", "no such folder"),
            ("x.npy/z.npy", "cannot be written"),
            ("..", "names no file"),
            ("new/", "names a folder"),
            ("out/new/", "names a folder"),
            ("x.npy/", "names a folder"),
            ("n" * 300, "n: "),
        ]:
            before = sorted(os.listdir()), os.listdir("out")
            self.fails(FILES, pattern, *self.inputs, "-o", f"z={name}")
            self.assertEqual((sorted(os.listdir()), os.listdir("out")), before)

    def test_names_as_long_as_they_can_be(self):
        name = "n" * 251 + ".npy"
        for _ in range(2):
            self.add(name)
            self.same(name, 2 * self.x)

    def test_a_full_disk_is_an_error(self):
        # a limit on the size of files stands for it: the room is asked for before anything is mapped
        import resource

        # python ignores the signal for it, and here so does the command
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, 64 * 1024))
        save("big.npy", np.zeros((1 << 22,), "f4"))
        pathlib.Path("out/y.npy").write_bytes(b"old")
        arguments = ["run", model("big16"), "-i", "x=big.npy", "-o", "y=out/y.npy"]
        text = self.fails(FILES, "out/y.npy: there is no room", *arguments, preexec_fn=limit, restore_signals=False)
        self.assertIn("File too large", text)
        self.assertEqual((os.listdir("out"), pathlib.Path("out/y.npy").read_bytes()), (["y.npy"], b"old"))

    def test_a_file_that_is_replaced_keeps_its_rights(self):
        os.umask(0o022)
        os.symlink("out/z.npy", "link.npy")
        for name in ("out/z.npy", "link.npy"):
            for mode in (0o600, 0o640, 0o664, 0o444):
                pathlib.Path("out/z.npy").unlink(missing_ok=True)
                pathlib.Path("out/z.npy").write_bytes(b"old")
                os.chmod("out/z.npy", mode)
                self.add(name)
                self.same("out/z.npy", 2 * self.x)
                self.assertEqual(os.stat("out/z.npy").st_mode & 0o7777, mode)

    def test_the_rights_are_those_of_new_files(self):
        os.umask(0o027)
        self.add("out/z.npy")
        self.assertEqual(os.stat("out/z.npy").st_mode & 0o777, 0o640)


main()
