"""run.py BUILD MODELS EXTRA OUT [--quick] [--peers FOLDER] [--only PREFIX]: run the benchmark.

Writes OUT/results.json and OUT/report.html.

BUILD is CMake's folder with benches/ in it, MODELS the folder of the test models, EXTRA that of scripts/bench/models.py,
FOLDER that of scripts/bench/peers.sh.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

import report

HERE = pathlib.Path(__file__).resolve().parent
FIELDS = ("id", "engine", "raw_ns", "zerobind_ns", "ratio", "delta_ns", "noise", "allocs_zerobind", "bytes_copied")
PEERS = ("litert", "openvino", "tract")
# what engines say of themselves, again and again
CHATTER = ("INFO: ", "WARNING: [")


def run(command, environment=None):
    """The lines of JSON that a program prints. What it says to readers is passed on."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen([str(part) for part in command], stdout=output, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, **(environment or {})})
        for line in process.stderr:
            if not line.startswith(CHATTER):
                sys.stderr.write(line)
        if process.wait() != 0:
            raise SystemExit(f"{pathlib.Path(command[0]).name} failed")
        output.seek(0)
        return [json.loads(line) for line in output if line.startswith("{")]


def measure(options):
    programs = options.build / "benches"
    common = [options.models, options.extra] + options.settings
    # by its name alone: a path here must not have spaces
    counter = {"LD_PRELOAD": "libbench_allocations.so", "LD_LIBRARY_PATH": str(programs.resolve())}
    allocations = run([programs / "bench", *common, "--allocations"], counter)
    lines = run([programs / "bench", *common])
    lines += run([programs / "bench_load", *common])
    if not options.only or options.only.startswith("queue"):
        lines += queue_cases(run([programs / "bench_queue", options.models, 1 if options.quick else 100]))
    for name in PEERS if options.peers else ():
        lines += run([programs / "bench_peers", name, options.models, options.extra, options.peers] + options.settings)
    return join(lines, allocations)


def join(lines, allocations):
    """Cases, what was left out, and the versions of the engines."""
    cases = [line for line in lines if "id" in line]
    for case in cases:
        for counted in allocations:
            if (counted.get("id"), counted.get("engine")) == (case["id"], case["engine"]):
                case["allocs_zerobind"] = counted["allocs_zerobind"]
                case["details"]["allocs_run"] = counted["allocs_run"]
    versions = {line["runtime"]: line["version"] for line in lines if "runtime" in line}
    return cases, [line for line in lines if "skipped" in line], versions


def queue_cases(lines):
    """The rows of bench_queue as cases. A queue stands beside a bare hand-off by a condition variable, a burst beside direct runs."""
    rows = {(line["engine"], line["what"]): line for line in lines}
    for engine in dict.fromkeys(line["engine"] for line in lines):
        for what, beside in (("round trip", "condvar+infer"), ("burst 64", "direct"), ("burst 1024", "direct")):
            own, raw = rows[engine, what], rows[engine, beside]
            yield {
                "id": "queue_" + what.replace(" ", "_"), "engine": {"onnx": "onnxruntime"}.get(engine, engine),
                "raw_ns": raw["ns"], "zerobind_ns": own["ns"], "ratio": round(own["ns"] / raw["ns"], 4),
                "delta_ns": round(own["ns"] - raw["ns"], 2), "noise": round((own["aa_p90"] - own["aa_p10"]) / 2, 4),
                "allocs_zerobind": None, "bytes_copied": 0,
                "details": {"raw": beside, "blocks": own["blocks"],
                            "ratio_of": own["ratio_of"], "goal_ratio": own["ratio"], "goal": own["goal"],
                            "cpu_ns": own["cpu_ns"], "switches": own["switches"]},
            }


def first_line(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return None


def field_of(path, name):
    try:
        lines = pathlib.Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), None)


def stripped_size(library):
    """Of the shared library; None where there is no strip."""
    if not shutil.which("strip"):
        return None
    with tempfile.TemporaryDirectory() as folder:
        target = pathlib.Path(folder) / "stripped"
        subprocess.run(["strip", "-o", target, library], check=True)
        return target.stat().st_size


def machine(build, load, engines, quick):
    libraries = list((build / "lib/zerobind").glob("libzerobind.*"))
    return {
        "cpu": field_of("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": os.cpu_count(),
        "memory": field_of("/proc/meminfo", "MemTotal"),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "load_before": load, "load_after": round(os.getloadavg()[0], 2),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "rustc": first_line(["rustc", "--version"]), "cc": first_line(["cc", "--version"]),
        "revision": first_line(["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"]),
        "engines": engines,
        "stripped_library_bytes": stripped_size(libraries[0]) if libraries else None,
        "command": "make bench-quick" if quick else "make bench",
    }


def check(results):
    """What readers of the file rely on: every field in every case, and a figure in each."""
    if not results["cases"]:
        raise SystemExit("no case was measured")
    for case in results["cases"]:
        missing = [field for field in FIELDS if field not in case]
        if missing:
            raise SystemExit(f"{case['id']} on {case['engine']} has no {', '.join(missing)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("build", "models", "extra", "out"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--peers", type=pathlib.Path)
    options = parser.parse_args()
    options.settings = ["--quick"] * options.quick + [f"--only={options.only}"] * bool(options.only)

    load = round(os.getloadavg()[0], 2)
    cases, skipped, engines = measure(options)
    results = {"machine": machine(options.build, load, engines, options.quick), "cases": cases, "skipped": skipped}
    check(results)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (options.out / "report.html").write_text(report.page(results))
    print(f"{options.out / 'results.json'}: {len(cases)} cases, {len(skipped)} skipped; {options.out / 'report.html'}")


if __name__ == "__main__":
    main()
