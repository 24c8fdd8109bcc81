//! Measuring: short blocks of the two ways in turns, so that what slows the machine for a while slows both.

use std::time::{Duration, Instant};

use super::allocations;
use super::rig::{Rig, Steps, Timed, ns_between};
use super::stats::median;
use crate::failure::Result;

/// Most runs of each way that are kept.
const MOST_SAMPLES: usize = 1_000_000;
/// Blocks that the time is divided into, if a run is short enough.
const BLOCKS: f64 = 64.0;

#[derive(Default)]
pub struct Measured {
    pub in_place: Vec<Timed>,
    pub copying: Vec<Timed>,
    pub copying_in_steps: Vec<Steps>,
    /// Medians of the first and of the last block of every round, which are the same way: how far these are apart is noise.
    pub first_blocks: Vec<u64>,
    pub last_blocks: Vec<u64>,
    /// By Rust code, in the runs in place and the uncounted ones before them.
    pub allocations: u64,
    /// All runs between the two looks at zerobind's own counters.
    pub all_runs: u64,
    /// By zerobind's own count, in all runs.
    pub allocations_by_zerobind: u64,
    pub bytes_copied_by_zerobind: u64,
    /// What a look at the clock costs.
    pub clock_ns: u64,
}

/// Rounds until the time is over: in place, copying, copying, in place; then copying with a look at every step. Tells how
/// much of the time is over.
pub fn alternate(rig: &mut Rig, seconds: f64, mut progress: impl FnMut(f64)) -> Result<Measured> {
    let total = Duration::from_secs_f64(seconds);
    let runs = runs_per_block(rig, seconds)?;
    let mut measured = Measured { clock_ns: clock_ns(), ..Measured::default() };
    let before = rig.context.stats()?;
    let start = Instant::now();
    while start.elapsed() < total && measured.in_place.len() + 2 * runs <= MOST_SAMPLES {
        let first = block_in_place(rig, runs, &mut measured)?;
        measured.first_blocks.push(first);
        for _ in 0..2 {
            block(runs, &mut measured.copying, || rig.run_copying())?;
        }
        let last = block_in_place(rig, runs, &mut measured)?;
        measured.last_blocks.push(last);
        block(runs.div_ceil(4), &mut measured.copying_in_steps, || rig.run_copying_in_steps())?;
        progress((start.elapsed().as_secs_f64() / seconds).min(1.0));
    }
    let after = rig.context.stats()?;
    measured.all_runs = after.runs - before.runs;
    measured.allocations_by_zerobind = after.allocations - before.allocations;
    measured.bytes_copied_by_zerobind = after.bytes_copied - before.bytes_copied;
    Ok(measured)
}

/// Gives the block's median.
fn block_in_place(rig: &mut Rig, runs: usize, measured: &mut Measured) -> Result<u64> {
    let from = measured.in_place.len();
    measured.in_place.reserve(runs);
    let before = allocations::count();
    block(runs, &mut measured.in_place, || rig.run_in_place())?;
    measured.allocations += allocations::count() - before;
    Ok(median(measured.in_place[from..].iter().map(|timed| timed.total)))
}

/// `runs` runs, after one that is not counted: it finds what the other way left in the caches.
fn block<T>(runs: usize, samples: &mut Vec<T>, mut run: impl FnMut() -> Result<T>) -> Result<()> {
    run()?;
    for _ in 0..runs {
        samples.push(run()?);
    }
    Ok(())
}

/// How many runs fit into a block, by a few of them.
fn runs_per_block(rig: &mut Rig, seconds: f64) -> Result<usize> {
    let mut samples = Vec::new();
    let start = Instant::now();
    while samples.is_empty() || (samples.len() < 1000 && start.elapsed().as_secs_f64() < seconds / 20.0) {
        samples.push(rig.run_copying()?.total);
    }
    let each = median(samples.into_iter()).max(1) as f64;
    Ok(((seconds * 1e9 / BLOCKS / each) as usize).clamp(1, MOST_SAMPLES / 16))
}

fn clock_ns() -> u64 {
    let look = |_| {
        let start = Instant::now();
        ns_between(start, Instant::now())
    };
    median((0..1001).map(look))
}
