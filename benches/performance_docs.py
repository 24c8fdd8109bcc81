"""performance_docs.py RESULTS DOCS: write the figures of results.json into DOCS/performance.md, and the chart beside it.

Only what stands between the marks is replaced.
"""

import json
import pathlib
import re
import sys

import chart
import figures


def table(head, rows):
    lines = ["| " + " | ".join(cells) + " |" for cells in [head, *rows]]
    # the first column is words, the others are figures
    lines.insert(1, "|---|" + "---:|" * (len(head) - 1))
    return "\n".join(lines)


def machine(results):
    about = results["machine"]
    engines = ", ".join(f"{figures.NAMES[name]} {version}" for name, version in sorted(about["engines"].items()))
    words = (f"{about['cpu']}, {about['cores']} cores, {about['memory']}, {about['system']}; {engines}; {about['rustc']}; "
             f"revision `{about['revision']}`; {about['date']}; load {about['load_before']} before and "
             f"{about['load_after']} after; `{about['command']}`.")
    if about["load_before"] > 1:
        words += ("\n\n**The machine had other work to do.** Small models and ratios hardly feel that, for it is why blocks take turns; but "
                  "times above a millisecond are longer than they should be, and the noise is large there.")
    return words


def promises(results):
    words = {True: "met", False: "**not met**", None: "not known"}
    return table(["what", "must be", "is", ""],
                 [[promise.what, promise.must, promise.figure, words[promise.is_met]] for promise in figures.promises(results)])


def times(results):
    rows = []
    for case in results["cases"]:
        if "zerobind_bytes" in case["details"] or case["id"].startswith("peer_"):
            continue
        ratio = "" if case["ratio"] is None else f"{case['ratio']:.3f}" + ("" if figures.is_shown(case) else " ≈ 1")
        copying = figures.copying(case)
        rows.append([
            f"`{case['id']}`", figures.NAMES.get(case["engine"], "–" if case["engine"] == "none" else case["engine"]),
            figures.time(case["raw_ns"]), figures.time(case["zerobind_ns"]), figures.signed_time(case["delta_ns"]), ratio,
            "" if case["noise"] is None else f"{case['noise']:.3f}",
            "" if case["allocs_zerobind"] is None else f"{case['allocs_zerobind']:g}",
            "" if copying is None else figures.digits(copying),
        ])
    return table(["case", "engine", "raw", "zerobind", "difference", "ratio", "noise", "allocations", "copying path"], rows)


def memory(results):
    cases = [case for case in results["cases"] if "zerobind_bytes" in case["details"]]
    return table(["case", "engine", "raw", "zerobind", "more"],
                 [[f"`{case['id']}`", figures.NAMES[case["engine"]]] +
                  [figures.size(case["details"][field]) for field in ("raw_bytes", "zerobind_bytes", "extra_bytes")]
                  for case in cases])


def instructions(_results):
    numbers = json.loads((pathlib.Path(__file__).resolve().parent / "instructions.json").read_text())
    names = {"onnxruntime": "ONNX Runtime, add4", "tflite": "TFLite, add256"}
    rows = [[names[engine], *(f"{numbers[f'{engine}.{kind}']}" for kind in ("bound", "lent"))] for engine in names]
    return table(["instructions of zerobind's own a run", "bound", "lent"], rows)


PARTS = {part.__name__: part for part in (machine, promises, times, memory, instructions)}


def fill(text, results):
    def replaced(match):
        return f"<!-- {match[1]} -->\n{PARTS[match[1]](results)}\n<!-- /{match[1]} -->"

    filled, count = re.subn(r"<!-- (\w+) -->\n.*?<!-- /\1 -->", replaced, text, flags=re.DOTALL)
    if count != len(PARTS):
        raise SystemExit(f"performance.md has {count} marked parts, {len(PARTS)} are known")
    return filled


def main(source, docs):
    results = json.loads(pathlib.Path(source).read_text())
    page = pathlib.Path(docs) / "performance.md"
    page.write_text(fill(page.read_text(), results))
    page.with_suffix(".svg").write_text(chart.draw(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
