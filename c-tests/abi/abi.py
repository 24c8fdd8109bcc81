#!/usr/bin/env python3
"""abi.py check|update|self-test [HEADER]: what programs that are built already rely on, against the committed snapshot.

The snapshot is two files: functions.abi, what abidw reads in a library of empty functions that is compiled from the header
(functions, structs, callbacks), and constants.txt, the header's numbers and the version that the snapshot was made for.

  check      says how the header differs from the snapshot, and fails if it does at all
  update     writes the snapshot anew (`make abi`), but not a change that would need another version than Cargo.toml has
  self-test  changes copies of the header on purpose and fails if one of the changes is not found
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from shutil import which

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HEADER = ROOT / "include" / "zerobind.h"
FUNCTIONS = HERE / "functions.abi"
CONSTANTS = HERE / "constants.txt"
# what a change asks for, from nothing to a new major version
SAME, ADDED, CHANGED, BROKEN = range(4)
ADVICE = {
    SAME: "the ABI is that of the snapshot",
    ADDED: "something was added, which is fine: run `make abi` and commit the snapshot",
    CHANGED: "types have changed. Structs that begin with struct_size may grow at their end in a new minor version; anything "
    "else needs a new major version. Change it in Cargo.toml, then run `make abi`",
    BROKEN: "programs that are built already would break: undo the change, or make a new major version in Cargo.toml and run "
    "`make abi`",
}


def main() -> int:
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    for program in ("abidw", "abidiff", "cc"):
        if which(program) is None:
            print(f"skipped: {program} is not installed (Debian: abigail-tools)", file=sys.stderr)
            return 1 if os.environ.get("CI") else 77
    if command == "self-test":
        return self_test()
    if command not in ("check", "update"):
        print(__doc__, file=sys.stderr)
        return 2
    header = Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else HEADER
    verdict, report = compare(header)
    print(f"{report}{header}: {ADVICE[verdict]}", file=sys.stderr if verdict else sys.stdout)
    if command == "check":
        return 0 if verdict == SAME and snapshot_version()[:2] == cargo_version()[:2] else stale(verdict)
    if not may_be_written(verdict, snapshot_version(), cargo_version()):
        return 1
    write_snapshot(header)
    return 0


def stale(verdict: int) -> int:
    if verdict == SAME:
        print(f"the snapshot is of version {snapshot_version()}, Cargo.toml has {cargo_version()}: run `make abi`", file=sys.stderr)
    return 1


def may_be_written(verdict: int, was: tuple[int, ...], now: tuple[int, ...]) -> bool:
    return verdict <= ADDED or was[0] != now[0] or (verdict == CHANGED and was[1] != now[1])


def compare(header: Path) -> tuple[int, str]:
    """What the header's difference to the snapshot asks for, and the differences as text."""
    if not FUNCTIONS.exists():
        return ADDED, "there is no snapshot yet\n"
    constants, text = compare_constants(read_constants(CONSTANTS.read_text()), header_constants(header))
    functions, report = compare_functions(header)
    return max(constants, functions), text + report


def compare_constants(was: dict[str, int], now: dict[str, int]) -> tuple[int, str]:
    lines = []
    verdict = SAME
    for name in sorted(was.keys() | now.keys()):
        if name not in was:
            lines.append(f"added: {name} {now[name]}\n")
            verdict = max(verdict, ADDED)
        elif now.get(name) != was[name]:
            lines.append(f"changed: {name} was {was[name]}, is {now.get(name, 'gone')}\n")
            verdict = BROKEN
    return verdict, "".join(lines)


def compare_functions(header: Path) -> tuple[int, str]:
    with tempfile.TemporaryDirectory() as folder:
        stub = compile_stub(header, Path(folder))
        everything = abidiff(stub)
        if everything.returncode == 0:
            return SAME, ""
        if everything.returncode & 3:
            sys.exit(f"abidiff fails: {everything.stdout}{everything.stderr}")
        if everything.returncode & 8:
            return BROKEN, everything.stdout
        changed = abidiff(stub, "--no-added-syms").returncode != 0
        return CHANGED if changed else ADDED, everything.stdout


def abidiff(stub: Path, *options: str) -> subprocess.CompletedProcess:
    return subprocess.run(["abidiff", *options, FUNCTIONS, stub], text=True, capture_output=True, check=False)


def write_snapshot(header: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        stub = compile_stub(header, Path(folder))
        plain = ["--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--type-id-style", "hash"]
        subprocess.run(["abidw", *plain, "--out-file", FUNCTIONS, stub], check=True)
    version = ".".join(map(str, cargo_version()))
    lines = [f"{name} {value}\n" for name, value in header_constants(header).items()]
    CONSTANTS.write_text(f"version {version}\n" + "".join(lines))


def compile_stub(header: Path, folder: Path) -> Path:
    """A library with an empty function for each prototype of the header."""
    source, library = folder / "stub.c", folder / "libstub.so"
    functions = [f"{prototype}\n{{\n    return 0;\n}}\n" for prototype in prototypes(header.read_text())]
    if not functions:
        sys.exit(f"{header} declares no functions that this script can read")
    source.write_text(f'#include "{header}"\n' + "\n".join(functions))
    command = ["cc", "-std=c11", "-w", "-g", "-O0", "-fPIC", "-shared", str(source), "-o", str(library)]
    answer = subprocess.run(command, text=True, capture_output=True, check=False)
    if answer.returncode != 0:
        sys.exit(f"the header's functions do not compile:\n{answer.stderr}")
    return library


def prototypes(text: str) -> list[str]:
    """Without the semicolon and without macros, which only advise the compiler. None of the functions returns nothing."""
    bare = re.sub(r"\bZB_[A-Z_]+\b(\(\"[^\"]*\"\))?[ \t]*", "", text)
    return re.findall(r"^((?!typedef|static|return)[a-z][\w \*]*\bzb_\w+\([^;{}]*\))\s*;", bare, re.MULTILINE)


def header_constants(header: Path) -> dict[str, int]:
    found = re.findall(r"^#define (ZB_\w+) (0x[0-9a-fA-F]+|[0-9]+)[uUlL]*$", header.read_text(), re.MULTILINE)
    return {name: int(value, 0) for name, value in found if not name.startswith("ZB_VERSION_")}


def read_constants(text: str) -> dict[str, int]:
    return {name: int(value) for name, value in (line.split() for line in text.splitlines()[1:])}


def snapshot_version() -> tuple[int, ...]:
    if not CONSTANTS.exists():
        return cargo_version()
    return version_of(CONSTANTS.read_text().splitlines()[0].split()[1])


def cargo_version() -> tuple[int, ...]:
    return version_of(re.search(r'^version = "([0-9.]+)', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1])


def version_of(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


# Each is a mistake that a change of the sources could bring, and what has to be made of it.
SEEDS = [
    ("no change", SAME, None, None),
    ("two fields in another order", CHANGED, "  uint32_t flags;\n  uint64_t deadline_ns;", "  uint64_t deadline_ns;\n  uint32_t flags;"),
    ("a wider field", CHANGED, "  uint32_t memory_kinds;", "  uint64_t memory_kinds;"),
    ("a parameter of another type", CHANGED, "uint32_t zb_dtype_bits(int32_t dtype)", "uint32_t zb_dtype_bits(int64_t dtype)"),
    ("a result of another type", CHANGED, "uint64_t zb_live_objects(", "uint32_t zb_live_objects("),
    ("a callback with another parameter", CHANGED, "typedef void (*zb_task_fn)(void *", "typedef void (*zb_task_fn)(int32_t "),
    ("a function that is gone", BROKEN, "uint32_t zb_version(void);", ""),
    ("a function that is renamed", BROKEN, "uint32_t zb_version(void);", "uint32_t zb_versions(void);"),
    ("a constant with another value", BROKEN, "#define ZB_ERROR_BUSY 4", "#define ZB_ERROR_BUSY 5"),
    ("a constant that is gone", BROKEN, "#define ZB_ERROR_BUSY 4", ""),
    ("a constant more", ADDED, "#define ZB_ERROR_BUSY 4", "#define ZB_ERROR_BUSY 4\n#define ZB_ERROR_NEW 99"),
    ("a function more", ADDED, "uint32_t zb_version(void);", "uint32_t zb_version(void);\nuint32_t zb_new(void);"),
]


# a change, the version before it and after it, and whether the snapshot may follow
VERSIONS = [
    (ADDED, (1, 2, 3), (1, 2, 3), True),
    (CHANGED, (1, 2, 3), (1, 2, 4), False),
    (CHANGED, (1, 2, 3), (1, 3, 0), True),
    (BROKEN, (1, 2, 3), (1, 3, 0), False),
    (BROKEN, (1, 2, 3), (2, 0, 0), True),
]


def self_test() -> int:
    failures = 0
    for what, expected, old, new in SEEDS:
        with tempfile.TemporaryDirectory() as folder:
            header = Path(folder) / "zerobind.h"
            text = HEADER.read_text()
            # the fields' comments stand between them, and the header's own asserts would not let a changed struct compile
            text = re.sub(r"^\s*//.*\n", "", text, flags=re.MULTILINE)
            text = re.sub(r"^ZB_STATIC_ASSERT.*\n", "", text, flags=re.MULTILINE)
            if old is not None and old not in text:
                print(f"failed: {what}: the header has no '{old}' to change", file=sys.stderr)
                failures += 1
                continue
            header.write_text(text if old is None else text.replace(old, new, 1))
            verdict, report = compare(header)
        if verdict != expected:
            print(f"failed: {what} is taken for '{ADVICE[verdict]}'\n{report}", file=sys.stderr)
            failures += 1
    listed = (ROOT / "c-tests" / "symbols.txt").read_text().split()
    if len(prototypes(HEADER.read_text())) != len(listed):
        print("failed: not every function of symbols.txt is found in the header", file=sys.stderr)
        failures += 1
    for verdict, was, now, expected in VERSIONS:
        if may_be_written(verdict, was, now) != expected:
            print(f"failed: from {was} to {now}: {ADVICE[verdict]}", file=sys.stderr)
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
