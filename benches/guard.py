"""guard.py PROGRAM MODELS ENGINE KIND NUMBERS [--write]: how many instructions of zerobind's own a run takes.

Counted by callgrind inside libzerobind only, so neither the engine's version nor what else the machine does changes it. It
fails when the count differs from what is written in NUMBERS by more than MARGIN: an addition that nobody meant, or
an improvement that is to be kept. `make instructions` writes the numbers anew.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import callgrind

RUNS = 200
# Of a run. What a new compiler may change without anybody's doing is a few; a check or an atomic more is more than that.
MARGIN = 16
LIBRARY = "libzerobind"


def count(program, models, engine, kind):
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=counted_runs",
                   f"--callgrind-out-file={output}", program, models, engine, kind, str(RUNS)]
        made = subprocess.run(command, capture_output=True, text=True)
        if made.returncode != 0:
            raise SystemExit(made.stderr)
        profile = callgrind.read(output)
    total = profile.total(LIBRARY)
    if total == 0:
        raise SystemExit(f"callgrind saw nothing of {LIBRARY}")
    return total / RUNS, profile


def show(profile):
    """The functions that it goes into, for who has to find out what changed."""
    own = [(cost, function) for (where, function), cost in profile.functions.items() if LIBRARY in where]
    for cost, function in sorted(own, reverse=True):
        print(f"{cost / RUNS:9.1f}  {function}")


def write(path, name, number):
    numbers = json.loads(path.read_text()) if path.exists() else {}
    numbers[name] = round(number)
    path.write_text(json.dumps(dict(sorted(numbers.items())), indent=2) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("program", "models", "engine", "kind"):
        parser.add_argument(name)
    parser.add_argument("numbers", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        raise SystemExit("valgrind is not installed")

    name = f"{options.engine}.{options.kind}"
    number, profile = count(options.program, options.models, options.engine, options.kind)
    if options.write:
        write(options.numbers, name, number)
    written = json.loads(options.numbers.read_text())[name]
    print(f"{name}: {number:.1f} instructions of zerobind's own a run, {written} are written down")
    if abs(number - written) > MARGIN:
        show(profile)
        what = "more" if number > written else "fewer: good, keep it"
        sys.exit(f"{abs(number - written):.0f} {what}. If that is meant: make instructions, and commit {options.numbers.name}")


if __name__ == "__main__":
    main()
