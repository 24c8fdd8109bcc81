//! Asking a run to stop: from another thread, or by the clock.
//!
//! A request is for the run in progress and for no other. So runs have numbers. The number of the run is written by the run
//! alone, which therefore ends by a plain store; requests have a word of their own. Who asks may find the run ended while it
//! tells the engine. So a run that begins looks for requests to runs before it: it waits for whoever is just telling the
//! engine, which takes no time, and takes the engine's flag back.

#[cfg(all(test, feature = "loom"))]
mod models;
#[cfg(all(test, not(feature = "loom")))]
mod tests;

use std::sync::Arc;

use crate::runtime::Canceller;
use crate::sync::{
    AtomicBool, AtomicU64, Backoff, Barrier, Ordering, announce_flag, announce_instead, fence, run_ends,
};

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

// Both words are the number of a run, and what is with it in the lowest bits.
const PHASE_BITS: u32 = 3;
const PHASE: u64 = (1 << PHASE_BITS) - 1;

// of the run
const IDLE: u64 = 0;
const RUNNING: u64 = 1;

// of a request
const NONE: u64 = 0;
const TELLING: [u64; 2] = [2, 3];
const TOLD: [u64; 2] = [4, 5];

/// The run of one context, as those see it who may want it to end.
pub struct Stop {
    /// Only a run writes here, when it begins and when it ends.
    state: AtomicU64,
    /// Who asks writes here, and a run that begins.
    request: AtomicU64,
    /// Somebody else uses a tensor that this context was the only user of. Beside the number, so that a run finds both at once.
    is_disturbed: AtomicBool,
    /// Of a run that begins, with those who ask or disturb.
    barrier: Barrier,
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
        let (state, request) = (AtomicU64::new(IDLE), AtomicU64::new(NONE));
        Stop { state, request, is_disturbed: AtomicBool::new(false), barrier: Barrier::new(), id: next_id(), engine }
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
        self.barrier.announce(&self.state, with(number, RUNNING));
        // either this sees a request for a run before, or who makes it sees this run
        if self.request.load(Ordering::SeqCst) != NONE {
            self.forget_request_before(number);
        }
        Running { stop: self, number }
    }

    /// Takes back what a run before was asked, unless this one is asked too already: then the next run does it.
    #[cold]
    fn forget_request_before(&self, number: u64) {
        let mut backoff = Backoff::default();
        loop {
            let seen = self.request.load(Ordering::Acquire);
            if seen >> PHASE_BITS == number {
                return;
            }
            if TELLING.contains(&(seen & PHASE)) {
                backoff.wait();
                continue;
            }
            // taken first, so that nobody tells the engine of this run before its flag is back
            let taking = with(seen >> PHASE_BITS, TELLING[0]);
            if self.request.compare_exchange(seen, taking, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                break;
            }
        }
        if let Some(engine) = &self.engine {
            engine.clear();
        }
        self.request.store(NONE, Ordering::Release);
    }

    /// Tells the context that it is not alone any more with some tensor. Gives the run that may not have seen it: either the
    /// run that begins sees this, or this sees the run.
    pub fn disturb(&self) -> Option<u64> {
        announce_flag(&self.is_disturbed);
        self.barrier.await_announced();
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
        let mut backoff = Backoff::default();
        loop {
            if self.current() != Some(number) {
                return Asked::NoRun;
            }
            let seen = self.request.load(Ordering::Acquire);
            if seen >> PHASE_BITS > number {
                // it has ended since, and a later one was asked, which must not be forgotten for it
                return Asked::NoRun;
            }
            let is_for_it = seen >> PHASE_BITS == number;
            if TELLING.contains(&(seen & PHASE)) {
                if is_for_it {
                    return Asked::BeingTold;
                }
                // a run before is being forgotten
                backoff.wait();
                continue;
            }
            let before = if is_for_it { cause_of(seen & PHASE) } else { None };
            let first = before.unwrap_or(cause) as usize;
            if announce_instead(&self.request, seen, with(number, TELLING[first])) {
                return self.tell(number, first);
            }
        }
    }

    /// Tells the engine, unless the run has ended meanwhile. Another one cannot begin before this is over.
    fn tell(&self, number: u64, first: usize) -> Asked {
        self.barrier.await_announced();
        let is_in_progress = self.current_now() == Some(number);
        if is_in_progress && let Some(engine) = &self.engine {
            engine.cancel();
        }
        self.request.store(with(number, TOLD[first]), Ordering::Release);
        if is_in_progress { Asked::Told } else { Asked::NoRun }
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
        match self.stop.request.load(Ordering::Acquire) {
            NONE => None,
            request => self.cause_in(request),
        }
    }

    /// The same when the engine has said that it was told to stop: then the request is seen that it was told of.
    #[cold]
    pub fn cause_told(&self) -> Cause {
        fence(Ordering::Acquire);
        self.cause().unwrap_or(Cause::Cancel)
    }

    #[cold]
    fn cause_in(&self, request: u64) -> Option<Cause> {
        if request >> PHASE_BITS == self.number { cause_of(request & PHASE) } else { None }
    }
}

impl Drop for Running<'_> {
    #[inline]
    fn drop(&mut self) {
        run_ends();
        // Release: who sees that the run is over sees what it wrote
        self.stop.state.store(with(self.number, IDLE), Ordering::Release);
    }
}

fn with(number: u64, phase: u64) -> u64 {
    number << PHASE_BITS | phase
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
