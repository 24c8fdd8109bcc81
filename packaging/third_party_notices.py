#!/usr/bin/env python3
"""third_party_notices.py [--check]: writes packaging/THIRD_PARTY_NOTICES.txt, or tells whether it is fresh.

The crates are those that Cargo.lock puts into what is installed (normal dependencies with the default features, on the target
that is tested), and the texts are the licence files that each crate brings. The file is committed, so that installing needs
no Python, and a test runs this with --check.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTICES = ROOT / "packaging" / "THIRD_PARTY_NOTICES.txt"
TARGET = "x86_64-unknown-linux-gnu"
# what is installed; the tool and the helper are packages of the workspace of their own
SHIPPED = ("zerobind", "zerobind-tool", "zerobind-preflight")
LICENCE_FILES = ("licen", "copying", "notice", "unlicense", "copyright", "authors")

TOP = """Third-party notices of zerobind
===============================

The installed libraries and programs contain code of the crates below, under the licences whose texts follow. They also contain
Rust's standard library (MIT or Apache-2.0, The Rust Project Developers) and what it is made of: RUST_LIBRARY_NOTICES.html
beside this file, which comes from the toolchain that built them.

The engines (TFLite, ONNX Runtime) are not part of zerobind: a program that brings them along brings their notices too.

"""


def main() -> int:
    text = notices()
    if "--check" not in sys.argv[1:]:
        NOTICES.write_text(text, encoding="utf-8")
        return 0
    if NOTICES.read_text(encoding="utf-8") != text:
        print(f"{NOTICES.relative_to(ROOT)} is stale: run `make notices` and commit the result", file=sys.stderr)
        return 1
    return 0


def notices() -> str:
    crates = shipped_crates()
    texts: dict[str, list[str]] = {}
    parts = [TOP]
    for crate in crates:
        name = f"{crate['name']} {crate['version']}"
        files = licence_files(Path(crate["manifest_path"]).parent)
        if not files:
            sys.exit(f"{name} ({crate['license']}) brings no licence file: add its text by hand")
        parts.append(f"  {name}: {crate['license']}\n")
        for file in files:
            texts.setdefault(tidy(file.read_text(encoding="utf-8")), []).append(f"{name} ({file.name})")
    for text, users in texts.items():
        heading = "\n".join(users)
        parts.append(f"\n{'=' * 80}\n{heading}\n{'=' * 80}\n\n{text}\n")
    return "".join(parts)


def shipped_crates() -> list[dict]:
    """Everything that is reached by normal dependencies, without the workspace's own packages, by name and version."""
    found = json.loads(cargo("metadata", "--format-version=1", f"--filter-platform={TARGET}"))
    own = set(found["workspace_members"])
    packages = {(package["name"], package["version"]): package for package in found["packages"]}
    shipped = [option for package in found["packages"] if package["id"] in own and package["name"] in SHIPPED
               for option in ("--package", package["name"])]
    # the metadata's own graph has features in it that another member of the workspace asks for; the tree has not
    tree = cargo("tree", *shipped, "--edges=normal,no-proc-macro", f"--target={TARGET}", "--prefix=none", "--no-dedupe", "--format={p}")
    reached = {tuple(line.split()[:2]) for line in tree.decode().splitlines() if line}
    crates = [packages[name, version.removeprefix("v")] for name, version in sorted(reached)]
    return [crate for crate in crates if crate["id"] not in own]


def licence_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.is_file() and file.name.lower().startswith(LICENCE_FILES))


def tidy(text: str) -> str:
    """The same text is printed once, however a crate ends its lines."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\f", "\n").split("\n")]
    return "\n".join(lines).strip("\n")


def cargo(*arguments: str) -> bytes:
    return subprocess.run(["cargo", *arguments, "--locked"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
