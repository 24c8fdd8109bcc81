"""The report as one HTML file, with nothing from elsewhere."""

import html

import chart
import figures

STYLE = """
body{font:15px/1.5 system-ui,Segoe UI,Helvetica,Arial,sans-serif;color:#1f2430;background:#fff;margin:2rem auto;max-width:1200px;
padding:0 1rem}
h1{font-size:1.6rem;margin:0 0 .2rem}h2{font-size:1.15rem;margin:2rem 0 .5rem}p{margin:.4rem 0}
table{border-collapse:collapse;width:100%;font-size:13.5px}th,td{padding:.3rem .5rem;text-align:right;border-bottom:1px solid #e4e7ee}
th{color:#667085;font-weight:500}td.w,th.w{text-align:left}td.n{color:#667085}td{white-space:nowrap}td.w{white-space:normal}
.met{color:#1c7c45;font-weight:600}.not{color:#c2452d;font-weight:600}.dim{color:#667085}
.scroll{overflow-x:auto}svg{max-width:100%;height:auto}code{font-size:.92em}
"""


def cell(text, kind=""):
    return f"<td class='{kind}'>{text}</td>" if kind else f"<td>{text}</td>"


def row(cells):
    return "<tr>" + "".join(cells) + "</tr>"


def table(head, rows):
    heads = "".join(f"<th class='{kind}'>{text}</th>" for text, kind in head)
    return f"<div class='scroll'><table><tr>{heads}</tr>{''.join(rows)}</table></div>"


def marked(text):
    """Code in backquotes, the rest as it is."""
    parts = html.escape(text).split("`")
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))


def verdict(promise):
    word, kind = {True: ("met", "met"), False: ("not met", "not"), None: ("not known", "dim")}[promise.is_met]
    return f"<span class='{kind}'>{word}</span>"


def promise_table(results):
    head = [("what", "w"), ("must be", "w"), ("is", "w"), ("", "w")]
    return table(head, [row([cell(marked(promise.what), "w"), cell(html.escape(promise.must), "w"),
                             cell(html.escape(promise.figure), "w"), cell(verdict(promise), "w")])
                        for promise in figures.promises(results)])


def time_row(case):
    details, ratio = case["details"], case["ratio"]
    shown = "" if ratio is None else f"{ratio:.3f}" if figures.is_shown(case) else f"<span class='dim'>{ratio:.3f}</span>"
    spread = f"{details['ratio_p10']:.2f}–{details['ratio_p90']:.2f}" if "ratio_p10" in details else ""
    copying = figures.copying(case)
    return row([
        cell(html.escape(case["id"]), "w"), cell(html.escape(case["engine"]), "w"), cell(figures.time(case["raw_ns"])),
        cell(figures.time(case["zerobind_ns"])), cell(figures.signed_time(case["delta_ns"])), cell(shown), cell(spread, "n"),
        cell("" if case["noise"] is None else f"{case['noise']:.3f}", "n"),
        cell("" if case["allocs_zerobind"] is None else f"{case['allocs_zerobind']:g}"),
        cell("" if case["bytes_copied"] is None else f"{case['bytes_copied']:.0f}"),
        cell("" if copying is None else figures.digits(copying)), cell(html.escape(str(details.get("raw", ""))), "w n"),
    ])


def time_table(cases):
    head = [("case", "w"), ("engine", "w"), ("raw", ""), ("zerobind", ""), ("difference", ""), ("ratio", ""), ("p10–p90", ""),
            ("noise", ""), ("allocations", ""), ("copied", ""), ("copying path", ""), ("raw is", "w")]
    return table(head, [time_row(case) for case in cases])


def memory_table(cases):
    head = [("case", "w"), ("engine", "w"), ("raw", ""), ("zerobind", ""), ("more", "")]
    return table(head, [row([cell(case["id"], "w"), cell(case["engine"], "w"), cell(figures.size(case["details"]["raw_bytes"])),
                             cell(figures.size(case["details"]["zerobind_bytes"])), cell(figures.size(case["details"]["extra_bytes"]))])
                        for case in cases])


def skipped_list(results):
    items = "".join(f"<li><code>{html.escape(line['skipped'])}</code> ({html.escape(line['engine'])}): "
                    f"{html.escape(line['reason'])}</li>" for line in results["skipped"])
    return f"<h2>Left out</h2><ul>{items}</ul>" if items else ""


def about(machine):
    engines = ", ".join(f"{html.escape(name)} {html.escape(version)}" for name, version in machine["engines"].items())
    return (f"<p class='dim'>{html.escape(str(machine['cpu']))}, {machine['cores']} cores, {html.escape(machine['system'])}; load "
            f"{machine['load_before']} before and {machine['load_after']} after; {html.escape(machine['date'])}; {engines}; "
            f"revision {html.escape(str(machine['revision']))}; <code>{html.escape(machine['command'])}</code></p>")


def page(results):
    memory = [case for case in results["cases"] if "zerobind_bytes" in case["details"]]
    times = [case for case in results["cases"] if case not in memory]
    return f"""<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>zerobind: speed</title><style>{STYLE}</style>
<h1>zerobind beside the engines' own C APIs</h1>
{about(results["machine"])}
{chart.draw(results)}
<h2>What is promised</h2>
{promise_table(results)}
<h2>Times of one run</h2>
<p>Medians of blocks that take turns. A ratio in grey is within the noise: the 95th percentile of what the same raw code in a
second instance differs from the first. Allocations are those at zerobind's own sites. The copying path is given as a multiple of zerobind's time.</p>
{time_table(times)}
<h2>Memory</h2>
{memory_table(memory)}
{skipped_list(results)}
</html>
"""
