//! Giving tasks to the executors of the host.
//!
//! An executor may run a task at once, inside the call. What that sets free is not given out in there but when the call has
//! returned: else each operation would be done inside the one before it, until there is no stack left.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

use super::Queue;
use super::lines::OpId;
use super::timeline::Timeline;
use crate::base::Error;

/// A task that a queue has for its executor.
pub struct Task {
    pub queue: Arc<Queue>,
    pub number: usize,
}

crate::sync::thread_local! {
    /// Tasks to be given out when the call in progress on this thread has returned; `None`: there is no such call.
    #[allow(clippy::missing_const_for_thread_local, reason = "loom's cannot be const")]
    static LATER: RefCell<Option<VecDeque<Task>>> = RefCell::new(None);
}

/// Gives out a task: now, or when the executor that this thread is inside of returns.
pub fn later(timeline: &Timeline, task: Task) {
    if let Some(task) = put_off(task) {
        give_out(timeline, task, None);
        give_out_rest(timeline);
    }
}

/// Gives out the task for an operation that is just put into a queue; the error is for that.
pub fn own(timeline: &Timeline, task: Task, operation: OpId) -> Option<Error> {
    let is_outermost = begin();
    let error = give_out(timeline, task, Some(operation));
    if is_outermost {
        give_out_rest(timeline);
    }
    error
}

fn give_out(timeline: &Timeline, task: Task, own: Option<OpId>) -> Option<Error> {
    let is_taken = task.queue.executor.as_ref().is_some_and(|executor| executor.submit(task.number));
    timeline.submitted(task.queue.id, task.number, is_taken, own)
}

fn give_out_rest(timeline: &Timeline) {
    while let Some(task) = next() {
        give_out(timeline, task, None);
    }
}

/// Notes that this thread is inside a call; `false` if it was already.
fn begin() -> bool {
    LATER.with(|later| {
        let mut later = later.borrow_mut();
        let is_outermost = later.is_none();
        later.get_or_insert_default();
        is_outermost
    })
}

/// Keeps the task if there is a call in progress, else notes one and gives the task back.
fn put_off(task: Task) -> Option<Task> {
    LATER.with(|later| {
        let mut later = later.borrow_mut();
        if let Some(tasks) = later.as_mut() {
            tasks.push_back(task);
            return None;
        }
        *later = Some(VecDeque::new());
        Some(task)
    })
}

/// The next one, or the end of the call.
fn next() -> Option<Task> {
    LATER.with(|later| {
        let mut later = later.borrow_mut();
        let task = later.as_mut().and_then(VecDeque::pop_front);
        if task.is_none() {
            *later = None;
        }
        task
    })
}
