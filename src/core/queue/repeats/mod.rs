//! The same inference several times in a row, as one operation.
//!
//! An inference that nobody has an event of, and that comes right after one with the same context, tensors and shapes, needs no
//! entry of its own: nobody can tell it from the one before it. It is counted there as a repeat, and the queue's thread does
//! several of them before it looks at the queue again, which costs more than a small model's run.
//!
//! What is seen of the queue is the same: it is as full, an operation that is put there later comes after the repeats, and one
//! that something waits for already gets no more of them.

#[cfg(all(test, feature = "loom"))]
mod models;
#[cfg(all(test, not(feature = "loom")))]
mod properties;

use super::lines::OpId;
use super::state::State;
use crate::base::Error;

#[derive(Default)]
pub struct Repeats {
    /// The number of what was captured; `None`: it is not to be repeated (any more).
    pub of: Option<u64>,
    waiting: usize,
    /// Given to the thread that does them, and not known to be done. The first time that some are, the operation itself is.
    taken: usize,
}

/// Repeats for the thread to do.
pub struct Taken {
    pub times: usize,
    /// Why they must not be done.
    pub refused: Option<Error>,
}

impl Repeats {
    pub fn of(captured: Option<u64>) -> Repeats {
        Repeats { of: captured, ..Repeats::default() }
    }

    /// Whether there are any, or may be some when it has begun.
    pub fn may_come(&self) -> bool {
        self.of.is_some() || self.waiting > 0
    }

    /// Those that are not over, but for one: as many as there are more operations than the line has.
    pub fn count(&self) -> usize {
        self.waiting + self.taken.saturating_sub(1)
    }
}

impl State {
    /// Repeats the last operation of a queue, if it is an inference with just that, and if there is room.
    pub fn repeat(&mut self, queue: u64, capacity: usize, captured: u64) -> bool {
        let Some(lane) = self.lanes.get_mut(&queue) else { return false };
        // what was put there and is gone again may have left something behind
        let newest = lane.line.back().filter(|last| **last == lane.newest);
        let Some(last) = newest.and_then(|last| self.operations.get_mut(last)) else { return false };
        // what waits for it is not to wait for more
        if lane.len() >= capacity || last.repeats.of != Some(captured) || !last.dependents.is_empty() {
            return false;
        }
        last.repeats.waiting += 1;
        lane.repeats += 1;
        true
    }

    /// Takes up to `most` repeats of an operation that has begun, when what was taken before is done. `None`: there are none,
    /// and there will be none.
    pub fn take_repeats(&mut self, id: OpId, most: usize) -> Option<Taken> {
        let operation = self.operations.get_mut(&id)?;
        let repeats = &mut operation.repeats;
        let before = repeats.count();
        let times = repeats.waiting.min(most);
        repeats.waiting -= times;
        repeats.taken = times;
        if let Some(lane) = self.lanes.get_mut(&operation.queue) {
            lane.repeats -= before - repeats.count();
        }
        if times == 0 {
            repeats.of = None;
            return None;
        }
        Some(Taken { times, refused: operation.refusal(id) })
    }

    /// Sees to it that an operation that has begun is repeated no more. If it was to be, it ends with the error, as the repeats
    /// would have.
    pub fn end_repeats(&mut self, id: OpId, error: Error) {
        let Some(operation) = self.operations.get_mut(&id) else { return };
        let repeats = &mut operation.repeats;
        repeats.of = None;
        if repeats.waiting + repeats.taken > 0 {
            // seen by the thread that does them, before each one
            operation.event.cancelled().raise();
        }
        let waiting = std::mem::take(&mut repeats.waiting);
        if waiting > 0 {
            operation.doom.get_or_insert(error);
        }
        if let Some(lane) = self.lanes.get_mut(&operation.queue) {
            lane.repeats -= waiting;
        }
    }
}
