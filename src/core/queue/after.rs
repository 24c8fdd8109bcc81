//! What is left to do when the timeline's lock is free, and lists for it that are there before they are needed.
//!
//! An end cannot be refused. So the lists that it takes are made when an operation is put into a queue, which can.

use std::sync::Arc;

use super::DEFAULT_CAPACITY;
use super::lines::OpId;
use super::state::{Lane, Operation};
use super::submit::{Task, hold};
use super::worker::Inside;
use crate::base::Result;
use crate::base::room::reserve;
use crate::core::event::{Audience, Event};
use crate::sync::Condvar;

/// Lists that are empty and have room for every operation that there is.
#[derive(Default)]
pub(super) struct Room {
    ids: Vec<OpId>,
    after: After,
}

/// What is left to do when the lock is free.
#[derive(Default)]
pub struct After {
    /// Queues that may have something to do now.
    pub(super) touched: Vec<u64>,
    pub(super) settled: Vec<(Arc<Event>, Audience)>,
    pub(super) gone: Vec<Operation>,
    pub(super) awake: Vec<Arc<Condvar>>,
    pub tasks: Vec<Task>,
    pub(super) lanes: Vec<Lane>,
    /// It has lists of the state's.
    pub(super) is_lent: bool,
}

impl Room {
    /// Before there are so many operations.
    pub(super) fn reserve(&mut self, operations: usize) -> Result<()> {
        fn at_least<T>(list: &mut Vec<T>, count: usize) -> Result<()> {
            if list.capacity() < count { reserve(list, count) } else { Ok(()) }
        }
        // so many that a queue of the usual size never asks again
        let operations = operations.max(DEFAULT_CAPACITY);
        let After { touched, settled, gone, awake, .. } = &mut self.after;
        at_least(&mut self.ids, operations)?;
        // each may touch the queue of its own, and those of the ones that waited for it
        at_least(touched, 2 * operations)?;
        at_least(settled, operations)?;
        at_least(gone, operations)?;
        at_least(awake, 2 * operations)
    }

    /// Operations of which several may end now.
    pub(super) fn list(&mut self, ids: impl Iterator<Item = OpId>, after: &mut After) -> Vec<OpId> {
        self.lend(after);
        let mut all = std::mem::take(&mut self.ids);
        all.extend(ids);
        all
    }

    pub(super) fn forget(&mut self, mut ids: Vec<OpId>) {
        ids.clear();
        self.ids = ids;
    }

    /// To the one who ends operations now. Whoever does so before they come back has to do without.
    pub(super) fn lend(&mut self, after: &mut After) {
        after.is_lent = true;
        after.take_larger(&mut self.after);
    }

    /// Takes back lists that were lent, now empty.
    pub(super) fn take_back(&mut self, mut lent: After) {
        self.after.take_larger(&mut lent);
    }
}

impl After {
    /// Exchanges lists that are empty for those of the other that have more room.
    fn take_larger(&mut self, other: &mut After) {
        fn exchange<T>(list: &mut Vec<T>, other: &mut Vec<T>) {
            if list.is_empty() && list.capacity() < other.capacity() {
                std::mem::swap(list, other);
            }
        }
        exchange(&mut self.touched, &mut other.touched);
        exchange(&mut self.settled, &mut other.settled);
        exchange(&mut self.gone, &mut other.gone);
        exchange(&mut self.awake, &mut other.awake);
    }

    /// Does it all but for some tasks, which it gives back: what comes next in a queue comes after the callbacks of what was
    /// before. What waits in other queues need not, and a callback may wait for that, also if they have callbacks to come.
    pub fn finish(mut self, submit: impl Fn(Vec<Task>)) -> (Vec<Task>, Option<After>) {
        for awake in self.awake.drain(..) {
            awake.notify_one();
        }
        self.gone.clear();
        let settled = &self.settled;
        let is_next = |task: &Task| settled.iter().any(|(event, _)| event.queue() == task.queue.id);
        let tasks = std::mem::take(&mut self.tasks);
        let (next, others): (Vec<_>, Vec<_>) = tasks.into_iter().partition(is_next);
        submit(others);
        let next = hold(next);
        for (event, audience) in self.settled.drain(..) {
            let _inside = Inside::queue(event.queue());
            event.tell(audience);
        }
        self.lanes.clear();
        (next.take_back(), self.is_lent.then_some(self))
    }
}
