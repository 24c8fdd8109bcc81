"""smoke.py BUILD MODELS EXTRA OUT: a short run of the whole benchmark, to see that every case works and every figure is one.

It says nothing of speed: the figures of so few runs mean nothing.
"""

import json
import math
import pathlib
import re
import subprocess
import sys

import run

BOTH = ("onnxruntime", "tflite")
EXPECTED = {
    **dict.fromkeys(("add4_bound", "add256_bound", "add4_lent", "add4_lent_ring3", "add4_lent_ring32", "add4_rebind",
                     "big16_bound", "big64_bound", "slice_bound", "real_pitch", "load_engine", "load_cold", "load_warm", "load_resident", "load_anonymous",
                     "load_peak_path", "load_peak_bytes", "load_peak_copy", "queue_round_trip", "queue_burst_64",
                     "queue_burst_1024"), BOTH),
    **dict.fromkeys(("real_voice", "real_detector"), ("onnxruntime",)),
    **dict.fromkeys(("call", "lookup", "lookup_2", "lookup_2_same", "create_destroy", "create_destroy_2"), ("none",)),
}
# what only `make bench` fetches
MAY_BE_SKIPPED = {("real_hand", "tflite")}
NUMBERS = run.FIELDS[2:]
# a run of these must not allocate, whatever it takes; the calls of the next must be seen to
WITHOUT_ALLOCATION = re.compile(r".*_bound|add4_lent.*|add4_rebind|lookup.*")
WITH_ALLOCATION = re.compile(r"create_destroy.*")


def require(condition, words):
    if not condition:
        sys.exit(f"smoke: {words}")


def check_case(case):
    name = f"{case['id']} on {case['engine']}"
    require(tuple(case)[:len(run.FIELDS)] == run.FIELDS, f"{name} has the fields {', '.join(case)}")
    for field in NUMBERS:
        value = case[field]
        require(value is None or isinstance(value, (int, float)) and math.isfinite(value), f"{name}: {field} is {value}")
    is_memory = case["id"].startswith(("load_resident", "load_anonymous", "load_peak"))
    figure = case["details"]["zerobind_bytes"] if is_memory else case["zerobind_ns"]
    require(figure is not None and figure > 0, f"{name} has no figure")
    require(is_memory or case["engine"] == "none" or case["raw_ns"] > 0 and case["ratio"] > 0, f"{name} has nothing beside it")
    require(not WITHOUT_ALLOCATION.fullmatch(case["id"]) or case["allocs_zerobind"] == 0, f"{name} allocates")
    require(not WITH_ALLOCATION.fullmatch(case["id"]) or case["allocs_zerobind"] > 0, f"{name}: the counter sees nothing")
    require(case["bytes_copied"] in (0, None), f"{name} copies {case['bytes_copied']} bytes")


def check_page(page):
    require("<svg" in page and page.count("<tr>") > len(EXPECTED), "the report is not complete")
    outside = re.search(r"<(script|link|img|iframe)|(src|href)=|url\(|@import", page)
    require(outside is None, f"the report loads something: {outside and outside[0]}")


def main(build, models, extra, out):
    here = pathlib.Path(__file__).resolve().parent
    subprocess.run([sys.executable, here / "run.py", build, models, extra, out, "--quick"], check=True)
    results = json.loads((pathlib.Path(out) / "results.json").read_text())
    found = [(case["id"], case["engine"]) for case in results["cases"]]
    require(len(found) == len(set(found)), "a case is there twice")
    wanted = {(id, engine) for id, engines in EXPECTED.items() for engine in engines}
    require(wanted <= set(found), f"not measured: {sorted(wanted - set(found))}")
    require(set(found) <= wanted | MAY_BE_SKIPPED, f"not expected: {sorted(set(found) - wanted)}")
    for case in results["cases"]:
        check_case(case)
    check_page((pathlib.Path(out) / "report.html").read_text())
    print(f"smoke: {len(found)} cases")


if __name__ == "__main__":
    main(*sys.argv[1:])
