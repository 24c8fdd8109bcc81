"""Charts as SVG, by hand: small enough to be committed, and without anything from elsewhere."""

import html

import figures

INK, MUTED, GRID = "#1f2430", "#667085", "#d8dce5"
RAW, OWN, BAD, COPY = "#9aa4b5", "#2f6fde", "#c2452d", "#e0a458"
FONT = "font-family='system-ui,Segoe UI,Helvetica,Arial,sans-serif'"


class Drawing:
    def __init__(self, width):
        self.width, self.y, self.parts = width, 0, []

    def text(self, x, y, words, size=12, colour=INK, anchor="start", weight="normal"):
        bold = "" if weight == "normal" else f" font-weight='{weight}'"
        self.parts.append(f"<text x='{x:g}' y='{y:g}' font-size='{size}' fill='{colour}' text-anchor='{anchor}'{bold}>"
                          f"{html.escape(words)}</text>")

    def bar(self, x, y, width, height, colour):
        self.parts.append(f"<rect x='{x:.1f}' y='{y:g}' width='{max(width, 0.5):.1f}' height='{height:g}' fill='{colour}'/>")

    def line(self, x, top, bottom, colour, dashed=False):
        dash = " stroke-dasharray='3 3'" if dashed else ""
        self.parts.append(f"<path d='M{x:.1f} {top:g}V{bottom:g}' stroke='{colour}'{dash}/>")

    def svg(self, title):
        return (f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {self.width} {self.y:g}' width='{self.width}' "
                f"height='{self.y:g}' role='img' {FONT}><title>{html.escape(title)}</title>"
                f"<rect width='100%' height='100%' fill='#fff'/>{''.join(self.parts)}</svg>\n")


LEFT, RIGHT, ROW = 260, 110, 22


def rows(drawing, entries, most, draw):
    """One line for each entry; `draw` gets it with its y and a function from values to x."""
    room = drawing.width - LEFT - RIGHT
    for entry in entries:
        draw(entry, drawing.y, lambda value: LEFT + room * min(max(value, 0), most) / most)
        drawing.y += ROW


def heading(drawing, words, explanation):
    drawing.y += 26
    drawing.text(12, drawing.y, words, 15, weight="600")
    drawing.y += 17
    drawing.text(12, drawing.y, explanation, 11.5, MUTED)
    drawing.y += 12


# case, engine, words, limit in ns or as a ratio over raw
OVERHEAD = (
    ("add4_bound", "onnxruntime", "bound, ONNX Runtime", ("ratio", 1.03)),
    ("add256_bound", "tflite", "bound, TFLite", ("ns", 40)),
    ("add4_lent", "onnxruntime", "lent, ONNX Runtime", ("ratio", 1.05)),
    ("add4_lent", "tflite", "lent, TFLite", ("ns", 80)),
    ("add4_lent_ring3", "onnxruntime", "lent, ring of 3, ONNX Runtime", None),
    ("add4_lent_ring3", "tflite", "lent, ring of 3, TFLite", None),
)


def limit_ns(case, limit):
    kind, value = limit
    return value if kind == "ns" else (value - 1) * case["raw_ns"]


def draw_overhead(drawing, results):
    found = [(figures.find(results, id, engine), words, limit) for id, engine, words, limit in OVERHEAD]
    found = [(case, words, limit) for case, words, limit in found if case]
    if not found:
        return
    most = max(max(case["delta_ns"] for case, _, _ in found), 100) * 1.05
    heading(drawing, "What a call costs over the bare engine",
            "nanoseconds, adding 4 floats (256 on TFLite, bound); dashed: what is promised")

    def draw(entry, y, place):
        case, words, limit = entry
        is_bad = limit is not None and case["delta_ns"] > limit_ns(case, limit)
        drawing.text(LEFT - 8, y + 15, words, anchor="end")
        drawing.bar(LEFT, y + 4, place(case["delta_ns"]) - LEFT, 14, BAD if is_bad else OWN)
        if limit is not None:
            drawing.line(place(limit_ns(case, limit)), y + 1, y + 21, INK, dashed=True)
        drawing.text(max(place(case["delta_ns"]), place(limit_ns(case, limit)) if limit else 0) + 6, y + 15,
                     f"{figures.signed_time(case['delta_ns'])} of {figures.time(case['raw_ns'])}", 11.5, MUTED)

    rows(drawing, found, most * 1.25, draw)


COPYING = (
    ("big64_bound", "onnxruntime", "64 MiB + 1, ONNX Runtime"), ("big64_bound", "tflite", "64 MiB + 1, TFLite"),
    ("big16_bound", "onnxruntime", "16 MiB + 1, ONNX Runtime"), ("big16_bound", "tflite", "16 MiB + 1, TFLite"),
    ("real_voice", "onnxruntime", "voice activity, ONNX Runtime"), ("real_pitch", "onnxruntime", "notes in music, ONNX Runtime"),
    ("real_pitch", "tflite", "notes in music, TFLite"), ("real_hand", "tflite", "hand landmarks, TFLite"),
    ("real_detector", "onnxruntime", "detector, 320 x 320, ONNX Runtime"),
)


def draw_copying(drawing, results):
    found = [(figures.find(results, id, engine), words) for id, engine, words in COPYING]
    found = [(case, words, figures.copying(case)) for case, words in found if case]
    found = [entry for entry in found if entry[2] is not None]
    if not found:
        return
    most = max(times for _, _, times in found) * 1.05
    heading(drawing, "How much longer the copying path of the same engine takes",
            "times the run on the host's own memory; 1: a copy costs nothing beside the model")

    def draw(entry, y, place):
        case, words, times = entry
        drawing.text(LEFT - 8, y + 15, words, anchor="end")
        drawing.bar(LEFT, y + 4, place(times) - LEFT, 14, COPY)
        drawing.bar(LEFT, y + 4, place(1) - LEFT, 14, OWN)
        drawing.text(place(max(times, 1)) + 6, y + 15, f"{times:.2f} x {figures.time(case['zerobind_ns'])}", 11.5, MUTED)

    rows(drawing, found, most, draw)


def draw(results):
    drawing = Drawing(760)
    draw_overhead(drawing, results)
    draw_copying(drawing, results)
    drawing.y += 16
    machine = results["machine"]
    drawing.text(12, drawing.y, f"{machine['cpu']}, {machine['cores']} cores, {machine['date']}", 10.5, MUTED)
    drawing.y += 12
    return drawing.svg("zerobind beside the engines' own C APIs")
