//! Events: how one operation of a queue ended, for whoever wants to know.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::count::Counted;
use super::queue::OpId;
use crate::base::room::push;
use crate::base::{Desc, Error, Kind, Result, Side, Slot, Status, fail, text};
#[cfg(unix)]
use crate::memory::Signal;
use crate::sync::{self, AtomicBool, Condvar, Mutex, MutexGuard, Ordering, fence};

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

/// Somebody wants an operation not to happen.
pub struct CancelFlag(AtomicBool);

impl CancelFlag {
    pub fn new() -> CancelFlag {
        CancelFlag(AtomicBool::new(false))
    }

    /// Whoever raises it looks for a run to stop after this, and a run that has begun looks here: one of them sees the other.
    pub(super) fn raise(&self) {
        self.0.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
    }

    /// The same at no cost, a moment late.
    #[inline]
    pub fn seems_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// To be asked once the run can be found by those who want it to stop.
    pub fn is_raised(&self) -> bool {
        fence(Ordering::SeqCst);
        self.0.load(Ordering::Acquire)
    }
}

/// The end of one operation. Settled exactly once.
pub struct Event {
    state: Mutex<State>,
    settled: Condvar,
    /// The same as in `state`, for a look without a lock.
    is_settled: AtomicBool,
    cancelled: CancelFlag,
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
    #[cfg(unix)]
    signals: Vec<Signal>,
    waiting: usize,
}

/// Who is to hear that an event is settled.
#[must_use = "somebody may wait for it"]
pub struct Audience {
    callback: Option<(Callback, Option<Status>)>,
    #[cfg(unix)]
    signals: Vec<Signal>,
    is_awaited: bool,
}

impl Event {
    pub(super) fn new(queue: u64, operation: OpId, wants_slots: bool) -> Arc<Event> {
        Arc::new(Event {
            state: Mutex::new(State::default()),
            settled: Condvar::new(),
            is_settled: AtomicBool::new(false),
            cancelled: CancelFlag::new(),
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
    pub(super) fn cancelled(&self) -> &CancelFlag {
        &self.cancelled
    }

    pub fn is_settled(&self) -> bool {
        self.is_settled.load(Ordering::Acquire)
    }

    /// How it ended, if it has.
    pub fn outcome(&self) -> Option<Arc<Outcome>> {
        if self.is_settled() { self.lock().outcome.clone() } else { None }
    }

    /// Settles it. From here on all see it; those who wait for it are still to be told. Calls nothing of the host's.
    pub(super) fn settle(&self, outcome: Outcome) -> Audience {
        let status = outcome.status();
        let mut state = self.lock();
        debug_assert!(state.outcome.is_none(), "an event is settled once");
        state.outcome = Some(Arc::new(outcome));
        self.is_settled.store(true, Ordering::Release);
        Audience {
            callback: state.callback.take().map(|callback| (callback, status)),
            #[cfg(unix)]
            signals: std::mem::take(&mut state.signals),
            is_awaited: state.waiting > 0,
        }
    }

    /// Wakes those who wait, then runs the callback; no lock is held, so it may do anything.
    pub(super) fn tell(&self, audience: Audience) {
        if audience.is_awaited {
            self.settled.notify_all();
        }
        #[cfg(unix)]
        audience.signals.into_iter().for_each(Signal::give);
        if let Some((callback, status)) = audience.callback {
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
                None => sync::wait(&self.settled, state),
                Some(Duration::ZERO) => break,
                Some(left) => sync::wait_timeout(&self.settled, state, left),
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

    /// A descriptor that becomes readable when the event is settled, or is already.
    #[cfg(unix)]
    pub fn descriptor(&self) -> Result<std::os::fd::OwnedFd> {
        let made = Signal::new();
        let (signal, given) = made.map_err(|error| Error::new(Status::Io, text!("no descriptor: {error}")))?;
        let mut state = self.lock();
        if state.outcome.is_none() {
            push(&mut state.signals, signal)?;
        } else {
            drop(state);
            signal.give();
        }
        Ok(given)
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
            Error::new(Status::InvalidArgument, text!("{slot} is out of range: the model has {}", side.len()))
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        sync::lock(&self.state)
    }
}
