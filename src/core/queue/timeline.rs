//! What waits for what, over all queues.
//!
//! There is one lock. An operation waits for those before it in its queue, and for earlier ones of other queues that use
//! the same tensor (one of them writing) or the same context, or whose event its queue was told to wait for. It only ever
//! waits for older ones, so nothing waits in a circle. An event is settled under the lock, so whoever finds that an operation
//! is over finds its event settled. Whatever may run code of the host (callbacks, releases, an executor) is collected in
//! `After` and done when the lock is free.

use std::sync::{Arc, OnceLock};

use super::Queue;
use super::after::After;
use super::lines::{ContextLine, OpId, Place};
use super::repeats::Taken;
use super::stake::Stake;
use super::state::State;
use super::submit;
use super::work::{Use, Work};
use crate::base::{Error, Result};
use crate::core::event::{Event, Outcome};
use crate::core::tensor::Tensor;
use crate::sync::{Condvar, Mutex, MutexGuard, lock, wait};

/// A new operation.
pub struct New {
    pub work: Work,
    pub uses: Vec<Use>,
    pub context: Option<Place>,
    /// Operations of any queue that it has to wait for besides.
    pub after: Vec<OpId>,
    pub wants_slots: bool,
    /// What it does to tensors, where that is known already; else it follows from `uses`.
    pub stakes: Option<Arc<Vec<Stake>>>,
    /// What it runs with, if nobody hears of its end and it may be repeated.
    pub repeatable: Option<u64>,
}

impl New {
    pub fn of(work: Work) -> New {
        New {
            work,
            uses: Vec::new(),
            context: None,
            after: Vec::new(),
            wants_slots: false,
            stakes: None,
            repeatable: None,
        }
    }
}

/// An operation that has begun.
pub struct Job {
    pub id: OpId,
    pub queue: u64,
    pub work: Work,
    /// Why it must not be done.
    pub refused: Option<Error>,
    pub event: Arc<Event>,
    pub uses: Vec<Use>,
    pub is_repeatable: bool,
}

pub struct Timeline {
    state: Mutex<State>,
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline { state: Mutex::new(State::default()) }
    }
}

impl Timeline {
    pub fn global() -> &'static Timeline {
        static TIMELINE: OnceLock<Timeline> = OnceLock::new();
        TIMELINE.get_or_init(Timeline::default)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub fn new_id(&self) -> u64 {
        self.lock().new_id()
    }

    pub fn open(&self, queue: Arc<Queue>) -> Arc<Condvar> {
        self.lock().open(queue)
    }

    /// Puts an operation at the end of a queue.
    pub fn add(&self, queue: u64, capacity: usize, mut new: New) -> Result<Arc<Event>> {
        let mut after = After::default();
        let mut state = self.lock();
        // what is refused here is let go after the lock, which was taken later
        state.check_room(queue, capacity)?;
        let prepared = state.prepare(queue, &mut new)?;
        let event = state.add(queue, new, prepared, &mut after);
        drop(state);
        let tasks = std::mem::take(&mut after.tasks);
        self.finish(after);
        for task in tasks {
            if let Some(error) = submit::own(self, task, event.operation()) {
                return Err(error);
            }
        }
        Ok(event)
    }

    /// Puts the last operation of a queue there once more, if it runs with just that and nobody would hear of its end.
    pub fn repeat(&self, queue: u64, capacity: usize, captured: u64) -> bool {
        self.lock().repeat(queue, capacity, captured)
    }

    /// Takes up to `most` repeats of an operation that has begun, when what was taken before is done. `None`: there will be none.
    pub fn take_repeats(&self, id: OpId, most: usize) -> Option<Taken> {
        self.lock().take_repeats(id, most)
    }

    /// The next operation of a queue with a thread of its own; `None` when there will be none.
    pub fn next(&self, queue: u64, awake: &Condvar) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.begin(queue) {
                return Some(job);
            }
            let mut after = After::default();
            if state.remove_if_over(queue, &mut after) {
                drop(state);
                self.finish(after);
                return None;
            }
            state.set_asleep(queue, true);
            state = wait(awake, state);
            state.set_asleep(queue, false);
        }
    }

    /// The next operation of a queue, if it may begin now.
    #[cfg(test)]
    pub fn try_next(&self, queue: u64) -> Option<Job> {
        self.lock().begin(queue)
    }

    /// The operation that a task of an executor stands for; each task is for one.
    pub fn take_task(&self, task: usize) -> Option<Job> {
        let mut state = self.lock();
        let queue = state.queue_of_task(task)?;
        let job = state.begin(queue);
        let mut after = After::default();
        if job.is_none() {
            // what it was given out for was cancelled meanwhile
            state.schedule(queue, &mut after);
            state.remove_if_over(queue, &mut after);
        }
        drop(state);
        self.finish(after);
        job
    }

    /// Ends an operation that has begun.
    pub fn settle(&self, id: OpId, outcome: Outcome) {
        let mut after = After::default();
        self.lock().end(id, outcome, &mut after);
        self.finish(after);
    }

    /// Ends a queue.
    pub fn close(&self, queue: u64) {
        let mut after = After::default();
        self.lock().close(queue, &mut after);
        self.finish(after);
    }

    pub fn cancel(&self, event: &Arc<Event>) -> Result<()> {
        let mut after = After::default();
        let result = self.lock().cancel(event.operation(), &mut after);
        self.finish(after);
        result
    }

    /// The events of the operations on a tensor that are not over.
    pub fn events_of_tensor(&self, tensor: &Tensor) -> Result<Vec<Arc<Event>>> {
        let mut state = self.lock();
        state.events(tensor.line().ids()?)
    }

    /// The events of the operations of a queue that are not over.
    pub fn events_of_queue(&self, queue: u64) -> Result<Vec<Arc<Event>>> {
        let mut state = self.lock();
        let ids = state.ids(queue)?;
        state.events(ids)
    }

    /// Settles the reads of a tensor that have not begun: nobody is to hear of it any more.
    pub fn tensor_destroyed(&self, tensor: &Arc<Tensor>) {
        if !tensor.line().has_readers() {
            return;
        }
        let is_it = |used: &Use| Arc::ptr_eq(&used.tensor, tensor);
        let mut after = After::default();
        self.lock().destroy(
            "tensor",
            |work, uses, _| matches!(work, Work::Read { .. }) && uses.iter().any(is_it),
            &mut after,
        );
        self.finish(after);
    }

    /// Settles the inferences of a context that have not begun.
    pub fn context_destroyed(&self, line: &Arc<ContextLine>) {
        if !line.is_queued() {
            return;
        }
        let is_it = |used: &Place| Arc::ptr_eq(used.line(), line);
        let mut after = After::default();
        let mut state = self.lock();
        state.destroy("context", |_, _, context| context.is_some_and(is_it), &mut after);
        state.destroy_repeats(is_it);
        drop(state);
        self.finish(after);
    }

    /// The executor of a queue was given a task, or did not take it: then nobody does the work, and all that waits is
    /// cancelled. Gives the error for `own`, the operation that is just put there, if it was among them.
    pub(super) fn submitted(&self, queue: u64, task: usize, is_taken: bool, own: Option<OpId>) -> Option<Error> {
        let mut after = After::default();
        let error = self.lock().submitted(queue, task, is_taken, own, &mut after);
        self.finish(after);
        error
    }

    /// Does what is left to do when the lock is free.
    fn finish(&self, after: After) {
        let (next, lent) = after.finish(|tasks| submit::later(self, tasks));
        if let Some(lent) = lent {
            self.lock().take_back(lent);
        }
        submit::later(self, next);
    }
}
