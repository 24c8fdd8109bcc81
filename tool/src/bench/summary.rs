//! What was measured, as JSON and as text.

use serde::Serialize;

use super::histogram::Histogram;
use super::measure::Measured;
use super::rig::{Rig, Steps, Timed};
use super::stats::{Latency, median};
use crate::abi::dtype_name;
use crate::cli::Bench;
use crate::session::Session;
use crate::text;

#[derive(Serialize)]
pub struct Summary {
    pub model: String,
    pub engine: &'static str,
    pub engine_version: String,
    pub threads: i32,
    pub inputs: &'static str,
    /// What a look at the clock costs; three are in every latency.
    pub clock_ns: u64,
    pub slots: Vec<SlotSummary>,
    pub zero_copy: InPlace,
    pub copying: Copying,
    pub saved_ns: i64,
    pub saved_percent: f64,
    pub noise_ns: u64,
    pub histogram: Histogram,
}

#[derive(Serialize)]
pub struct SlotSummary {
    pub name: String,
    pub dtype: String,
    pub shape: Vec<i64>,
    pub bytes: u64,
    /// Else it is read where the engine put it, without a copy.
    pub bound: bool,
    #[serde(skip)]
    title: String,
}

#[derive(Serialize)]
pub struct InPlace {
    pub runs: u64,
    pub latency_ns: Latency,
    pub bytes_copied_per_run: f64,
    /// Blocks allocated by Rust code, the tool's and zerobind's; engines are not seen.
    pub allocations_per_run: f64,
    /// zerobind's own count.
    pub allocations_by_zerobind: u64,
    /// Medians; the looks at the clock that tell them are in zerobind's.
    pub engine_ns: u64,
    pub zerobind_ns: u64,
}

#[derive(Serialize)]
pub struct Copying {
    pub runs: u64,
    pub latency_ns: Latency,
    pub bytes_copied_per_run: u64,
    /// Medians of runs of their own, with two more looks at the clock.
    pub copy_in_ns: u64,
    pub run_ns: u64,
    pub copy_out_ns: u64,
}

impl Summary {
    pub fn new(session: &Session, options: &Bench, rig: &Rig, measured: &Measured) -> Summary {
        let totals = |samples: &[Timed]| samples.iter().map(|timed| timed.total).collect::<Vec<_>>();
        let (in_place, copying) = (totals(&measured.in_place), totals(&measured.copying));
        let latencies = [Latency::of(in_place.clone()), Latency::of(copying.clone())];
        let saved_ns = latencies[1].p50 as i64 - latencies[0].p50 as i64;
        let noise =
            median(measured.first_blocks.iter().copied()).abs_diff(median(measured.last_blocks.iter().copied()));
        Summary {
            model: options.common.model.to_string_lossy().into_owned(),
            engine: session.engine.key(),
            engine_version: session.engine_version.clone(),
            threads: options.common.engine.threads,
            inputs: rig.inputs,
            clock_ns: measured.clock_ns,
            slots: slots(rig),
            zero_copy: in_place_summary(measured, latencies[0]),
            copying: copying_summary(rig, measured, latencies[1]),
            saved_ns,
            saved_percent: 100.0 * saved_ns as f64 / latencies[1].p50.max(1) as f64,
            noise_ns: noise,
            histogram: Histogram::new(&in_place, &copying, latencies),
        }
    }

    /// What it means.
    pub fn verdict(&self) -> String {
        let saved = text::time(self.saved_ns.unsigned_abs() as f64);
        let percent = self.saved_percent.abs();
        let noise = text::time(self.noise_ns as f64);
        if self.saved_ns.unsigned_abs() <= self.noise_ns {
            format!("no difference beyond noise ({noise}); a longer measurement (--seconds) lessens noise")
        } else if self.saved_ns > 0 {
            format!("zero copy saves {saved} of a run ({percent:.1} %); noise {noise}")
        } else {
            format!("the copying way was faster by {saved} ({percent:.1} %); noise {noise}")
        }
    }

    pub fn prose(&self, session: &Session) -> String {
        let threads = if self.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", self.threads) };
        let head =
            format!("{}: {}, {threads}, inputs: {}\n\n", text::plain(&self.model), session.engine_title(), self.inputs);
        let slots: Vec<_> = self.slots.iter().map(SlotSummary::row).collect();
        head + &text::table(&slots)
            + "\n"
            + &text::table(&self.latency_rows())
            + "\nWhere the time goes (medians)\n"
            + &text::table(&self.part_rows())
            + &format!("\n{}\n{}\n", self.verdict(), self.notes())
    }

    fn latency_rows(&self) -> Vec<Vec<String>> {
        let heads = ["", "runs", "min", "p50", "p90", "p99", "max", "bytes copied", "allocations"];
        let row = |name: &str, runs: u64, latency: &Latency, bytes: String, allocations: String| {
            let times = [latency.min, latency.p50, latency.p90, latency.p99, latency.max];
            let mut row = vec![name.to_owned(), text::count(runs)];
            row.extend(times.map(|ns| text::time(ns as f64)));
            row.extend([bytes, allocations]);
            row
        };
        let InPlace { runs, latency_ns, bytes_copied_per_run, allocations_per_run, .. } = &self.zero_copy;
        let copied = text::count(bytes_copied_per_run.round() as u64);
        vec![
            heads.map(str::to_owned).to_vec(),
            row("zero copy", *runs, latency_ns, copied, format!("{allocations_per_run:.2}")),
            row(
                "copying",
                self.copying.runs,
                &self.copying.latency_ns,
                text::count(self.copying.bytes_copied_per_run),
                String::new(),
            ),
        ]
    }

    fn part_rows(&self) -> Vec<Vec<String>> {
        let time = |ns: u64| text::time(ns as f64);
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        vec![
            row([
                "zero copy",
                &format!("engine {}", time(self.zero_copy.engine_ns)),
                &format!("zerobind {}", time(self.zero_copy.zerobind_ns)),
                "",
            ]),
            row([
                "copying",
                &format!("in {}", time(self.copying.copy_in_ns)),
                &format!("run {}", time(self.copying.run_ns)),
                &format!("out {}", time(self.copying.copy_out_ns)),
            ]),
        ]
    }

    /// What the figures do and do not say.
    pub fn notes(&self) -> String {
        format!(
            "Three looks at the clock ({} each) are in every latency and in zerobind's part. Allocations: blocks per run by \
             zerobind\nand this tool; what the engine allocates is not seen. Bytes copied: per run, by zerobind or by the \
             copying way.",
            text::time(self.clock_ns as f64)
        )
    }
}

fn slots(rig: &Rig) -> Vec<SlotSummary> {
    let summary = |entry: &super::rig::RigSlot| SlotSummary {
        name: entry.name.clone(),
        dtype: dtype_name(entry.desc.dtype),
        shape: entry.desc.dims.clone(),
        bytes: entry.bytes(),
        bound: entry.is_bound,
        title: entry.desc.to_string(),
    };
    rig.slots.iter().map(summary).collect()
}

impl SlotSummary {
    fn row(&self) -> Vec<String> {
        let place = if self.bound { "" } else { "read in the engine's memory" };
        vec![text::plain(&self.name), self.title.clone(), text::bytes(self.bytes), place.to_owned()]
    }
}

fn in_place_summary(measured: &Measured, latency_ns: Latency) -> InPlace {
    let runs = measured.in_place.len() as u64;
    let part = |part: fn(&Timed) -> u64| median(measured.in_place.iter().map(part));
    InPlace {
        runs,
        latency_ns,
        // zerobind copies as much in either way, so its count is over both
        bytes_copied_per_run: measured.bytes_copied_by_zerobind as f64 / measured.all_runs.max(1) as f64,
        allocations_per_run: measured.allocations as f64 / (runs + measured.first_blocks.len() as u64 * 2) as f64,
        allocations_by_zerobind: measured.allocations_by_zerobind,
        engine_ns: part(|timed| timed.engine),
        zerobind_ns: part(|timed| timed.total.saturating_sub(timed.engine)),
    }
}

fn copying_summary(rig: &Rig, measured: &Measured, latency_ns: Latency) -> Copying {
    let part = |part: fn(&Steps) -> u64| median(measured.copying_in_steps.iter().map(part));
    Copying {
        runs: measured.copying.len() as u64,
        latency_ns,
        bytes_copied_per_run: rig.copied_bytes(),
        copy_in_ns: part(|steps| steps.copy_in),
        run_ns: part(|steps| steps.run),
        copy_out_ns: part(|steps| steps.copy_out),
    }
}
