//! Giving tasks to the executors of the host.
//!
//! An executor may run a task at once, inside the call. What that sets free is not given out in there but when the call has
//! returned: else each operation would be done inside the one before it, until there is no stack left. Or when a callback in there
//! is about to wait, which may be for just that.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

use super::Queue;
use super::lines::OpId;
use super::timeline::Timeline;
use super::worker::is_inside;
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
    /// Tasks to be given out after the callbacks that this thread is calling.
    #[allow(clippy::missing_const_for_thread_local, reason = "loom's cannot be const")]
    static HELD: RefCell<Vec<Task>> = RefCell::new(Vec::new());
}

/// Gives out tasks: now, or when the executor that this thread is inside of returns.
pub fn later(timeline: &Timeline, tasks: Vec<Task>) {
    if tasks.is_empty() {
        return;
    }
    let is_outermost = begin();
    put_off(tasks);
    if is_outermost {
        give_out_rest(timeline);
    }
}

/// Gives out what was put off, since this thread is about to wait, maybe for just that. Not what comes after a callback of its
/// own queue, that this thread is inside of.
pub fn before_waiting(timeline: &Timeline) {
    while let Some(task) = next_put_off().or_else(next_held) {
        give_out(timeline, task, None);
    }
}

/// Keeps tasks while callbacks are called, in which a wait gives them out.
pub fn hold(tasks: Vec<Task>) -> Held {
    let numbers = tasks.iter().map(|task| task.number).collect();
    if !tasks.is_empty() {
        HELD.with(|held| held.borrow_mut().extend(tasks));
    }
    Held(numbers)
}

/// The numbers of tasks that are kept.
#[must_use = "they are to be given out"]
pub struct Held(Vec<usize>);

impl Held {
    /// Those that no wait has given out.
    pub fn take_back(self) -> Vec<Task> {
        if self.0.is_empty() {
            return Vec::new();
        }
        HELD.with(|held| held.borrow_mut().extract_if(.., |task| self.0.contains(&task.number)).collect())
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

/// Keeps tasks for the call in progress.
fn put_off(tasks: Vec<Task>) {
    LATER.with(|later| later.borrow_mut().get_or_insert_default().extend(tasks));
}

/// The next one; the call goes on.
fn next_put_off() -> Option<Task> {
    LATER.try_with(|later| later.borrow_mut().as_mut().and_then(VecDeque::pop_front)).ok().flatten()
}

/// The next one that is kept for callbacks of queues that this thread is not inside of.
fn next_held() -> Option<Task> {
    let take = |held: &RefCell<Vec<Task>>| {
        let mut held = held.borrow_mut();
        let place = held.iter().position(|task| !is_inside(task.queue.id))?;
        Some(held.remove(place))
    };
    HELD.try_with(take).ok().flatten()
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
