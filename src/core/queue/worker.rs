//! Who does the work of a queue: a thread of its own, or tasks of the host's executor.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::timeline::{Job, Timeline};
use crate::base::{Error, Result, Status, fail};
use crate::core::event::Outcome;
use crate::sync::Condvar;

crate::sync::thread_local! {
    /// The queues whose operations or callbacks this thread is inside, the innermost last.
    #[allow(clippy::missing_const_for_thread_local, reason = "loom's cannot be const")]
    static INSIDE: RefCell<Vec<u64>> = RefCell::new(Vec::new());
}

/// Whether this thread is inside an operation or a callback of the queue.
pub fn is_inside(queue: u64) -> bool {
    INSIDE.try_with(|inside| inside.borrow().contains(&queue)).unwrap_or(false)
}

/// Says so as long as it lives.
pub struct Inside {
    /// `false`: the thread is ending, and keeps no more lists.
    is_noted: bool,
}

impl Inside {
    pub fn queue(id: u64) -> Inside {
        Inside { is_noted: INSIDE.try_with(|inside| inside.borrow_mut().push(id)).is_ok() }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        if self.is_noted {
            let _ = INSIDE.try_with(|inside| inside.borrow_mut().pop());
        }
    }
}

/// Starts the thread of a queue; it ends when the queue is closed and empty.
pub fn start(id: u64, awake: Arc<Condvar>) -> Result<()> {
    let thread = std::thread::Builder::new().name("zerobind queue".to_owned());
    let body = move || {
        let timeline = Timeline::global();
        while let Some(job) = timeline.next(id, &awake) {
            work(timeline, job);
        }
    };
    match thread.spawn(body) {
        Ok(_) => Ok(()),
        Err(error) => fail!(OutOfMemory, "the queue's thread cannot be started: {error}"),
    }
}

/// Does one operation of the queue that gave out this task. A task that is over, or never was one, does nothing.
pub fn run_task(task: usize) {
    let timeline = Timeline::global();
    if let Some(job) = timeline.take_task(task) {
        work(timeline, job);
    }
}

/// Does an operation that has begun, and settles it.
pub(super) fn work(timeline: &Timeline, job: Job) {
    let _inside = Inside::queue(job.queue);
    let Job { id, work, refused, event, uses, .. } = job;
    let run = || match refused {
        Some(error) => {
            drop(work);
            Outcome::failed(error)
        }
        None => work.run(&event, &uses),
    };
    let outcome = catch_unwind(AssertUnwindSafe(run));
    let outcome = outcome.unwrap_or_else(|payload| Outcome::failed(panicked(payload.as_ref())));
    // what the operation held is let go before anybody hears of its end
    drop(uses);
    drop(event);
    timeline.settle(id, outcome);
}

fn panicked(payload: &(dyn Any + Send)) -> Error {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    Error::new(Status::Panic, format!("a bug in zerobind was caught ({text}): please report it"))
}
