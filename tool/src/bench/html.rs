//! A page with the picture: one file without scripts and without anything from elsewhere.

use std::fmt::Write;

use super::histogram::Histogram;
use super::summary::Summary;
use crate::text;

const STYLE: &str = "\
:root { color-scheme: light dark; --zero: #1a7f5a; --copy: #b5561c; --rest: #7a7a8c; --in: #d98b3a; --out: #8c4a9e }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 } td, th { padding: .2rem .8rem; text-align: right }
td:first-child, th:first-child { text-align: left } th { border-bottom: 1px solid } svg { width: 100%; height: auto }
svg text { font: 12px system-ui, sans-serif; fill: currentColor } .verdict { font-size: 1.2rem; font-weight: 600 }
.notes { opacity: .75; font-size: .9rem } .key::before { content: ''; display: inline-block; width: .8em; height: .8em;
margin-right: .4em; background: var(--c) } .key { margin-right: 1.2em }";

const WIDTH: f64 = 900.0;

pub fn page(summary: &Summary) -> String {
    let title = escape(&text::plain(&summary.model));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         <h1>{title}</h1>\n<p>{} {}, {} thread(s), inputs: {}</p>\n<p class=\"verdict\">{}</p>\n",
        escape(summary.engine),
        escape(&summary.engine_version),
        summary.threads,
        summary.inputs,
        escape(&summary.verdict()),
    );
    page += &latency_table(summary);
    page += "<h2>Latency of a run</h2>\n";
    page += &key(&[("--zero", "zero copy"), ("--copy", "copying")]);
    page += &histogram(&summary.histogram);
    page += "<h2>Where the time goes</h2>\n";
    page += &key(&[
        ("--zero", "engine"),
        ("--rest", "zerobind"),
        ("--in", "copy in"),
        ("--copy", "run"),
        ("--out", "copy out"),
    ]);
    page += &parts(summary);
    page += "<h2>Slots</h2>\n";
    page += &slot_table(summary);
    let _ = writeln!(page, "<p class=\"notes\">{}</p>\n</html>", escape(&summary.notes()));
    page
}

fn key(entries: &[(&str, &str)]) -> String {
    let spans: Vec<_> = (entries.iter())
        .map(|(colour, name)| format!("<span class=\"key\" style=\"--c: var({colour})\">{name}</span>"))
        .collect();
    format!("<p>{}</p>\n", spans.concat())
}

fn latency_table(summary: &Summary) -> String {
    let mut table = "<table><tr><th></th><th>runs</th><th>min</th><th>p50</th><th>p90</th><th>p99</th><th>max</th>\
                     <th>bytes copied</th></tr>\n"
        .to_owned();
    let (zero, copying) = (&summary.zero_copy, &summary.copying);
    for (name, runs, latency, bytes) in [
        ("zero copy", zero.runs, zero.latency_ns, zero.bytes_copied_per_run.round() as u64),
        ("copying", copying.runs, copying.latency_ns, copying.bytes_copied_per_run),
    ] {
        let times = [latency.min, latency.p50, latency.p90, latency.p99, latency.max];
        let cells: String = times.map(|ns| format!("<td>{}</td>", text::time(ns as f64))).concat();
        let (runs, bytes) = (text::count(runs), text::count(bytes));
        let _ = writeln!(table, "<tr><td>{name}</td><td>{runs}</td>{cells}<td>{bytes}</td></tr>");
    }
    let _ = writeln!(table, "</table>\n<p>allocations per run with zero copy: {:.2}</p>", zero.allocations_per_run);
    table
}

fn histogram(histogram: &Histogram) -> String {
    const HEIGHT: f64 = 220.0;
    let bins = histogram.zero_copy.len().max(1);
    let step = WIDTH / bins as f64;
    let most = histogram.zero_copy.iter().chain(&histogram.copying).copied().max().unwrap_or(0).max(1) as f64;
    let mut svg =
        format!("<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"histogram of latencies\">\n", HEIGHT + 24.0);
    for (colour, counts) in [("--zero", &histogram.zero_copy), ("--copy", &histogram.copying)] {
        for (index, runs) in counts.iter().enumerate().filter(|(_, runs)| **runs > 0) {
            let (x, height) = (index as f64 * step, *runs as f64 / most * HEIGHT);
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{step:.1}\" height=\"{height:.1}\" fill=\"var({colour})\" fill-opacity=\".6\"/>",
                HEIGHT - height
            );
        }
    }
    for mark in 0..=4 {
        let share = f64::from(mark) / 4.0;
        let anchor = ["start", "middle", "middle", "middle", "end"][mark as usize];
        let label = text::time(histogram.from_ns + share * bins as f64 * histogram.bin_ns);
        let (x, y) = (share * WIDTH, HEIGHT + 16.0);
        let _ = writeln!(svg, "<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"{anchor}\">{label}</text>");
    }
    svg += "</svg>\n";
    let (zero, copying) = (histogram.zero_copy_above, histogram.copying_above);
    svg + &format!("<p class=\"notes\">Slower than shown: {zero} runs with zero copy, {copying} copying.</p>\n")
}

/// One bar for each way, on one scale.
fn parts(summary: &Summary) -> String {
    let (zero, copying) = (&summary.zero_copy, &summary.copying);
    let bars = [
        ("zero copy", vec![("--zero", zero.engine_ns), ("--rest", zero.zerobind_ns)]),
        ("copying", vec![("--in", copying.copy_in_ns), ("--copy", copying.run_ns), ("--out", copying.copy_out_ns)]),
    ];
    let sum = |parts: &[(&str, u64)]| parts.iter().map(|(_, ns)| ns).sum::<u64>() as f64;
    let longest = bars.iter().map(|(_, parts)| sum(parts)).fold(1.0, f64::max);
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} 110\" role=\"img\" aria-label=\"parts of a run\">\n");
    for (row, (name, parts)) in bars.iter().enumerate() {
        let (mut x, y) = (0.0, row as f64 * 55.0);
        let total = text::time(sum(parts));
        let _ = writeln!(svg, "<text x=\"0\" y=\"{:.0}\">{name}: {total}</text>", y + 14.0);
        for (colour, ns) in parts {
            let width = *ns as f64 / longest * WIDTH;
            let label = text::time(*ns as f64);
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{:.0}\" width=\"{width:.1}\" height=\"26\" fill=\"var({colour})\"><title>{label}</title></rect>",
                y + 20.0
            );
            x += width;
        }
    }
    svg + "</svg>\n"
}

fn slot_table(summary: &Summary) -> String {
    let mut table =
        "<table><tr><th>slot</th><th>type</th><th>shape</th><th>bytes</th><th>memory</th></tr>\n".to_owned();
    for slot in &summary.slots {
        let place = if slot.bound { "bound" } else { "the engine's, read there" };
        let (name, bytes) = (escape(&text::plain(&slot.name)), text::count(slot.bytes));
        let _ = writeln!(
            table,
            "<tr><td>{name}</td><td>{}</td><td>{:?}</td><td>{bytes}</td><td>{place}</td></tr>",
            slot.dtype, slot.shape
        );
    }
    table + "</table>\n"
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_make_no_markup() {
        assert_eq!(super::escape("<b a=\"1\">&"), "&lt;b a=&quot;1&quot;&gt;&amp;");
    }
}
