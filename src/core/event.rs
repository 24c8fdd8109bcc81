//! Events: how one operation of a queue ended, for whoever wants to know.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::count::Counted;
use super::queue::OpId;
use crate::base::{Desc, Error, Kind, Result, Side, Slot, Status, fail};

/// How an operation ended.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// `None`: it did all that it should.
    pub error: Option<Error>,
    /// The slots of an inference as it left them.
    pub slots: Option<Box<SlotDescs>>,
}

/// The desc of each slot after a run.
#[derive(Clone, Debug)]
pub struct SlotDescs {
    pub inputs: Vec<Desc>,
    pub outputs: Vec<Desc>,
}

impl Outcome {
    pub fn failed(error: Error) -> Outcome {
        Outcome { error: Some(error), slots: None }
    }

    pub fn status(&self) -> Option<Status> {
        self.error.as_ref().map(|error| error.status)
    }
}

/// Called once with how it ended; on the thread that settles the event, or on the caller's when it is settled already.
pub type Callback = Box<dyn FnOnce(Option<Status>) + Send>;

/// The end of one operation. Settled exactly once.
pub struct Event {
    state: Mutex<State>,
    settled: Condvar,
    /// The same as in `state`, for a look without a lock.
    is_settled: AtomicBool,
    /// Somebody wants the operation not to happen.
    cancelled: AtomicBool,
    /// Where its operation is, as long as there is one.
    operation: OpId,
    queue: u64,
    /// Tells slots of its outcome, so the operation keeps them.
    wants_slots: bool,
    _counted: Counted,
}

#[derive(Default)]
struct State {
    outcome: Option<Arc<Outcome>>,
    has_callback: bool,
    callback: Option<Callback>,
    pipes: Vec<std::io::PipeWriter>,
    waiting: usize,
}

impl Event {
    pub(super) fn new(queue: u64, operation: OpId, wants_slots: bool) -> Arc<Event> {
        Arc::new(Event {
            state: Mutex::default(),
            settled: Condvar::new(),
            is_settled: AtomicBool::new(false),
            cancelled: AtomicBool::new(false),
            operation,
            queue,
            wants_slots,
            _counted: Counted::new(Kind::Event),
        })
    }

    pub(super) fn operation(&self) -> OpId {
        self.operation
    }

    /// The number of the queue that it belongs to.
    pub fn queue(&self) -> u64 {
        self.queue
    }

    pub(super) fn wants_slots(&self) -> bool {
        self.wants_slots
    }

    /// Whether somebody asked for the operation not to happen, to be looked at when it starts.
    pub(super) fn cancelled(&self) -> &AtomicBool {
        &self.cancelled
    }

    pub fn is_settled(&self) -> bool {
        self.is_settled.load(Ordering::Acquire)
    }

    /// How it ended, if it has.
    pub fn outcome(&self) -> Option<Arc<Outcome>> {
        if self.is_settled() { self.lock().outcome.clone() } else { None }
    }

    /// Settles it. Wakes those who wait, then runs the callback; no lock is held then, so it may do anything.
    pub(super) fn settle(&self, outcome: Outcome) {
        let status = outcome.status();
        let mut state = self.lock();
        debug_assert!(state.outcome.is_none(), "an event is settled once");
        state.outcome = Some(Arc::new(outcome));
        self.is_settled.store(true, Ordering::Release);
        let callback = state.callback.take();
        let pipes = std::mem::take(&mut state.pipes);
        let is_awaited = state.waiting > 0;
        drop(state);
        if is_awaited {
            self.settled.notify_all();
        }
        for mut pipe in pipes {
            // whoever closed the other end wants no byte any more
            let _ = pipe.write_all(&[1]);
        }
        if let Some(callback) = callback {
            callback(status);
        }
    }

    /// Waits until it is settled; `None` when the time was over before. `None` for the time waits for good.
    pub fn wait(&self, time: Option<Duration>) -> Option<Arc<Outcome>> {
        if let Some(outcome) = self.outcome() {
            return Some(outcome);
        }
        if time == Some(Duration::ZERO) {
            return None;
        }
        let end = time.and_then(|time| Instant::now().checked_add(time));
        let mut state = self.lock();
        state.waiting += 1;
        while state.outcome.is_none() {
            state = match end.map(|end| end.saturating_duration_since(Instant::now())) {
                None => self.settled.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => break,
                Some(left) => self.settled.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
        state.waiting -= 1;
        state.outcome.clone()
    }

    /// Has `callback` called when it is settled, or now if it is. One for each event.
    pub fn on_complete(&self, callback: Callback) -> Result<()> {
        let mut state = self.lock();
        if state.has_callback {
            return fail!(InvalidArgument, "the event has a callback already, and has room for one only");
        }
        state.has_callback = true;
        match &state.outcome {
            None => state.callback = Some(callback),
            Some(outcome) => {
                let status = outcome.status();
                drop(state);
                callback(status);
            }
        }
        Ok(())
    }

    /// The reading end of a pipe in which one byte comes when the event is settled, or is already.
    pub fn pipe(&self) -> Result<std::io::PipeReader> {
        let made = std::io::pipe();
        let (reader, mut writer) = made.map_err(|error| Error::new(Status::Io, format!("no pipe: {error}")))?;
        let mut state = self.lock();
        if state.outcome.is_none() {
            state.pipes.push(writer);
        } else {
            drop(state);
            let _ = writer.write_all(&[1]);
        }
        Ok(reader)
    }

    /// A slot as the inference left it.
    pub fn slot_desc(&self, slot: Slot) -> Result<Desc> {
        let Some(outcome) = self.outcome() else {
            return fail!(Busy, "the operation is not over: wait for the event first");
        };
        let Some(slots) = &outcome.slots else {
            return fail!(Unbound, "no shapes are known: the operation was no inference, or it failed");
        };
        let side = if slot.side == Side::Input { &slots.inputs } else { &slots.outputs };
        side.get(slot.index).copied().ok_or_else(|| {
            Error::new(Status::InvalidArgument, format!("{slot} is out of range: the model has {}", side.len()))
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
