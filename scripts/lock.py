"""lock.py [NAME...]: write NAME.txt from NAME.in; all of them, if none is named.

For each pin the hashes of the wheels of all supported platforms are looked up through pip's own
resolver, without downloading the wheels. Run by hand when a pin changes; the set-up never runs it.
"""

import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

# Tags are listed from new to old, since pip takes an explicit platform literally.
LINUX_GLIBCS = ("2_35", "2_34", "2_31", "2_28", "2_27", "2_26", "2_24", "2_17")
PLATFORMS = {
    "Linux x86-64": [f"manylinux_{v}_x86_64" for v in LINUX_GLIBCS] + ["manylinux2014_x86_64", "manylinux1_x86_64"],
    "Linux arm64": [f"manylinux_{v}_aarch64" for v in LINUX_GLIBCS] + ["manylinux2014_aarch64"],
    "macOS arm64": [f"macosx_{v}_0_arm64" for v in (15, 14, 13, 12, 11)]
    + [f"macosx_{v}_universal2" for v in ("11_0", "10_13", "10_10", "10_9")],
}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def pins(path):
    """The `name==version` lines of a requirements file."""
    lines = (line.split("#")[0].strip() for line in path.read_text().splitlines())
    return [line for line in lines if line]


def wheel_hash(pin, platform_tags, python):
    """SHA-256 of the wheel that pip would take, or None where there is none."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-deps",
               "--quiet", "--only-binary=:all:", "--target", "unused", "--report", "-",
               "--python-version", python]
    for tag in platform_tags:
        command += ["--platform", tag]
    found = subprocess.run(command + [pin], capture_output=True, text=True)
    if found.returncode != 0:
        return None
    (item,) = json.loads(found.stdout)["install"]
    return item["download_info"]["archive_info"]["hashes"]["sha256"]


def lock(source, target):
    lines = [f"# Written by scripts/lock.py from {source.name}; do not edit."]
    for pin in pins(source):
        hashes = {}
        for platform, tags in PLATFORMS.items():
            for python in PYTHONS:
                digest = wheel_hash(pin, tags, python)
                if digest is None:
                    print(f"no wheel: {pin} on {platform}, Python {python}", file=sys.stderr)
                else:
                    hashes[digest] = None
        lines.append(pin + "".join(f" \\\n    --hash=sha256:{digest}" for digest in hashes))
    target.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(path.stem for path in HERE.glob("*.in")):
        lock(HERE / f"{name}.in", HERE / f"{name}.txt")
