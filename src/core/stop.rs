//! Asking a run to stop: from another thread, or by the clock.
//!
//! A request is for the run in progress and for no other. So runs have numbers, and a run that ends waits for whoever is
//! just telling the engine, which takes no time, before the engine's own flag is taken back.

#[cfg(all(test, feature = "loom"))]
mod models;
#[cfg(all(test, not(feature = "loom")))]
mod tests;

use std::sync::Arc;

use crate::runtime::Canceller;
use crate::sync::{AtomicBool, AtomicU64, Backoff, Ordering, announce, announce_flag, run_ends};

/// Why a run is to stop; the first cause counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Cancel,
    Deadline,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The engine was told.
    Told,
    /// That run is over, or there is none.
    NoRun,
    /// Somebody else is telling the engine at this moment.
    BeingTold,
}

// The state is the number of the run, and what happens to it in the lowest bits.
const PHASE_BITS: u32 = 3;
const PHASE: u64 = (1 << PHASE_BITS) - 1;
const IDLE: u64 = 0;
const RUNNING: u64 = 1;
const TELLING: [u64; 2] = [2, 3];
const TOLD: [u64; 2] = [4, 5];

/// The run of one context, as those see it who may want it to end.
pub struct Stop {
    state: AtomicU64,
    /// Somebody else uses a tensor that this context was the only user of. Beside the number, so that a run finds both at once.
    is_disturbed: AtomicBool,
    /// Another one for each.
    id: u64,
    /// `None`: the engine cannot be stopped; a request still counts before it starts.
    engine: Option<Arc<dyn Canceller>>,
}

/// A run, from the call until it returns.
#[must_use]
pub struct Running<'a> {
    stop: &'a Arc<Stop>,
    number: u64,
}

impl Stop {
    pub fn new(engine: Option<Arc<dyn Canceller>>) -> Stop {
        Stop { state: AtomicU64::new(IDLE), is_disturbed: AtomicBool::new(false), id: next_id(), engine }
    }

    pub fn id(&self) -> u64 {
        self.id
    }

    pub fn can_stop(&self) -> bool {
        self.engine.is_some()
    }

    /// Begins the next run, and announces it: SeqCst loads that come later are not done before. There is at most one at a time.
    #[inline]
    pub fn begin(self: &Arc<Stop>) -> Running<'_> {
        // only a run changes the number, so nobody else writes here now
        let number = (self.state.load(Ordering::Relaxed) >> PHASE_BITS).wrapping_add(1);
        announce(&self.state, number << PHASE_BITS | RUNNING);
        Running { stop: self, number }
    }

    /// Tells the context that it is not alone any more with some tensor. Gives the run that may not have seen it: either the
    /// run that begins sees this, or this sees the run.
    pub fn disturb(&self) -> Option<u64> {
        announce_flag(&self.is_disturbed);
        self.current_now()
    }

    /// For a run that has begun: whether it was told so.
    #[inline]
    pub fn is_disturbed(&self) -> bool {
        self.is_disturbed.load(Ordering::SeqCst)
    }

    /// The context is going to look which tensor it is.
    pub fn calm(&self) {
        // Acquire: what was done before it was told is seen
        self.is_disturbed.swap(false, Ordering::SeqCst);
    }

    /// The number of the run in progress.
    pub fn current(&self) -> Option<u64> {
        run_of(self.state.load(Ordering::Acquire))
    }

    fn current_now(&self) -> Option<u64> {
        run_of(self.state.load(Ordering::SeqCst))
    }

    /// Asks a run to stop. Asking again tells the engine again: one that was just about to start may have missed it.
    pub fn ask(&self, number: u64, cause: Cause) -> Asked {
        let mut seen = self.state.load(Ordering::Acquire);
        loop {
            let phase = seen & PHASE;
            if phase == IDLE || seen >> PHASE_BITS != number {
                return Asked::NoRun;
            }
            if TELLING.contains(&phase) {
                return Asked::BeingTold;
            }
            let first = cause_of(phase).unwrap_or(cause) as usize;
            let with = |phase: u64| number << PHASE_BITS | phase;
            match self.state.compare_exchange(seen, with(TELLING[first]), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    if let Some(engine) = &self.engine {
                        engine.cancel();
                    }
                    self.state.store(with(TOLD[first]), Ordering::Release);
                    return Asked::Told;
                }
                Err(now) => seen = now,
            }
        }
    }
}

impl Running<'_> {
    pub fn number(&self) -> u64 {
        self.number
    }

    pub fn stop(&self) -> &Arc<Stop> {
        self.stop
    }

    /// Why this run is to stop, if it is.
    #[inline]
    pub fn cause(&self) -> Option<Cause> {
        cause_of(self.stop.state.load(Ordering::Acquire) & PHASE)
    }

    #[cold]
    fn end_slowly(&self) {
        let mut backoff = Backoff::default();
        loop {
            let seen = self.stop.state.load(Ordering::Acquire);
            let is_being_told = TELLING.contains(&(seen & PHASE));
            let idle = self.number << PHASE_BITS | IDLE;
            let exchange = || self.stop.state.compare_exchange(seen, idle, Ordering::AcqRel, Ordering::Relaxed);
            if !is_being_told && exchange().is_ok() {
                break;
            }
            backoff.wait();
        }
        if let Some(engine) = &self.stop.engine {
            engine.clear();
        }
    }
}

impl Drop for Running<'_> {
    #[inline]
    fn drop(&mut self) {
        run_ends();
        let (running, idle) = (self.number << PHASE_BITS | RUNNING, self.number << PHASE_BITS | IDLE);
        // Release: who sees that the run is over sees what it wrote
        if self.stop.state.compare_exchange(running, idle, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            self.end_slowly();
        }
    }
}

fn run_of(state: u64) -> Option<u64> {
    (state & PHASE != IDLE).then_some(state >> PHASE_BITS)
}

fn next_id() -> u64 {
    static LAST: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

fn cause_of(phase: u64) -> Option<Cause> {
    [Cause::Cancel, Cause::Deadline]
        .into_iter()
        .find(|cause| phase == TELLING[*cause as usize] || phase == TOLD[*cause as usize])
}
