"""What the results mean: numbers as words, and the promises that they are held against."""

import dataclasses


def find(results, id, engine):
    return next((case for case in results["cases"] if (case["id"], case["engine"]) == (id, engine)), None)


def time(ns):
    """Three digits that say something."""
    if ns is None:
        return ""
    for limit, unit, scale in ((1e3, "ns", 1), (1e6, "µs", 1e3), (1e9, "ms", 1e6)):
        if abs(ns) < limit:
            return f"{digits(ns / scale)} {unit}"
    return f"{digits(ns / 1e9)} s"


def digits(value):
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def signed_time(ns):
    return "" if ns is None else ("+" if ns >= 0 else "−") + time(abs(ns))


def size(count):
    return "" if count is None else f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"


def is_shown(case):
    """Whether a difference is larger than what chance makes of equal things."""
    return case["ratio"] is not None and abs(case["ratio"] - 1) > case["noise"]


def copying(case):
    """How many times longer the copying path of the same engine takes; None where there is none. The last one listed copies most."""
    return next(reversed(case["details"].get("over_zerobind", {}).values()), None)


@dataclasses.dataclass
class Promise:
    what: str
    must: str
    figure: str
    is_met: bool | None  # None: not measured, or nothing can be told from it


def judged(value, limit, noise):
    """Whether a value is at most the limit; `None` where it is above by no more than chance may make it."""
    return True if value <= limit else False if value - noise > limit else None


def promises(results):
    """The lines of the contract about speed, each with its figure."""
    yield at_most_ratio(results, "`zb_infer`, 4-float Add, over the faster of raw `Run` and `RunWithBinding`",
                        "add4_bound", "onnxruntime", 1.03)
    yield at_most_delta(results, "`zb_infer` minus raw `Invoke`, 256-float Add", "add256_bound", "tflite", 40)
    for id, which in (("add4_lent_ring3", "3 sets of buffers in turn"), ("add4_lent", "256 sets in turn")):
        yield at_most_ratio(results, f"`zb_infer_with`, all slots lent, {which}, over raw fresh values and `Run`",
                            id, "onnxruntime", 1.05)
        yield at_most_delta(results, f"`zb_infer_with`, all slots lent, {which}, minus raw new addresses and `Invoke`",
                            id, "tflite", 80)
    for engine in ("onnxruntime", "tflite"):
        yield at_most_ratio(results, "64 MiB elementwise, bound, over raw bound", "big64_bound", engine, 1.01)
        yield from copying_promises(results, engine)
    yield no_allocations(results)
    yield library_size(results)
    for engine in ("onnxruntime", "tflite"):
        yield extra_resident(results, engine)
        yield no_second_copy(results, engine)


NAMES = {"onnxruntime": "ONNX Runtime", "tflite": "TFLite"}


def title(what, engine):
    return f"{what} ({NAMES[engine]})"


def missing(what, must):
    return Promise(what, must, "not measured", None)


def at_most_ratio(results, what, id, engine, limit):
    case, what, must = find(results, id, engine), title(what, engine), f"at most {limit:.2f}"
    if case is None:
        return missing(what, must)
    return Promise(what, must, f"{case['ratio']:.3f} (noise {case['noise']:.3f})", judged(case["ratio"], limit, case["noise"]))


def at_most_delta(results, what, id, engine, limit):
    case, what, must = find(results, id, engine), title(what, engine), f"at most {limit} ns"
    if case is None:
        return missing(what, must)
    noise = case["noise"] * case["raw_ns"]
    return Promise(what, must, f"{case['delta_ns']:.0f} ns (noise {digits(noise)} ns)", judged(case["delta_ns"], limit, noise))


def copying_promises(results, engine):
    """One for each copying path of the engine: where there is more than one, each is told for itself."""
    case, must = find(results, "big64_bound", engine), "at least 2.5"
    ways = case["details"].get("over_zerobind") if case else None
    if not ways:
        yield missing(title("64 MiB elementwise, the copying path over bound", engine), must)
        return
    for way, times in reversed(ways.items()):
        yield Promise(title(f"64 MiB elementwise, copying ({way}) over bound", engine), must, digits(times), times >= 2.5)


def no_allocations(results):
    what, must = "heap allocations at zerobind's own sites in a bound or lent run", "0"
    counts = [case["allocs_zerobind"] for case in results["cases"]
              if case["id"].endswith(("_bound", "_lent", "_ring3", "_ring32")) or case["id"].startswith("real_")]
    counts = [count for count in counts if count is not None]
    if not counts:
        return missing(what, must)
    return Promise(what, must, f"{max(counts):g} in {len(counts)} cases", max(counts) == 0)


def library_size(results):
    what, must = "the stripped shared library", "at most 1.5 MiB"
    bytes = results["machine"]["stripped_library_bytes"]
    return missing(what, must) if bytes is None else Promise(what, must, f"{bytes / 2**20:.2f} MiB", bytes <= 1.5 * 2**20)


def extra_resident(results, engine):
    case, must = find(results, "load_resident", engine), "at most 2 MiB"
    what = title("resident memory over the raw engine", engine)
    if case is None:
        return missing(what, must)
    extra = case["details"]["extra_bytes"]
    return Promise(what, must, f"{extra / 2**20:.2f} MiB", extra <= 2 * 2**20)


def no_second_copy(results, engine):
    """The peak of opening a model of 200 MB must not be higher than the bare engine's by a part of the model worth a word."""
    what, must = title("no second copy of a model of 200 MB, by path and by borrowed bytes", engine), "at most 4 MB more than raw"
    cases = [find(results, id, engine) for id in ("load_peak_path", "load_peak_bytes")]
    if None in cases:
        return missing(what, must)
    extra = [case["details"]["extra_bytes"] for case in cases]
    return Promise(what, must, " and ".join(f"{round(bytes / 1e6, 1) + 0.0:+.1f} MB" for bytes in extra), max(extra) <= 4e6)
