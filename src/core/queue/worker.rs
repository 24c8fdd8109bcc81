//! Who does the work of a queue: a thread of its own, or tasks of the host's executor.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar};

use super::timeline::{Job, Timeline};
use crate::base::{Error, Result, Status, fail};
use crate::core::event::Outcome;

thread_local! {
    /// The queue whose operation or callback this thread is inside.
    static CURRENT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// The queue whose operation or callback this thread is inside.
pub fn current() -> Option<u64> {
    CURRENT.try_with(Cell::get).ok().flatten()
}

/// Says so as long as it lives.
pub struct Inside(Option<u64>);

impl Inside {
    pub fn queue(id: u64) -> Inside {
        Inside(CURRENT.try_with(|current| current.replace(Some(id))).ok().flatten())
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let _ = CURRENT.try_with(|current| current.set(self.0));
    }
}

/// Starts the thread of a queue; it ends when the queue is closed and empty.
pub fn start(id: u64, awake: Arc<Condvar>) -> Result<()> {
    let thread = std::thread::Builder::new().name("zerobind queue".to_owned());
    let body = move || {
        while let Some(job) = Timeline::global().next(id, &awake) {
            work(job);
        }
    };
    match thread.spawn(body) {
        Ok(_) => Ok(()),
        Err(error) => fail!(OutOfMemory, "the queue's thread cannot be started: {error}"),
    }
}

/// Does one operation of the queue that gave out this task. A task that is over, or never was one, does nothing.
pub fn run_task(task: usize) {
    if let Some(job) = Timeline::global().take_task(task) {
        work(job);
    }
}

fn work(job: Job) {
    let _inside = Inside::queue(job.queue);
    let Job { id, work, event, tensor, .. } = job;
    let outcome = catch_unwind(AssertUnwindSafe(|| work.run(&event, tensor.as_deref())));
    let outcome = outcome.unwrap_or_else(|payload| Outcome::failed(panicked(payload.as_ref())));
    // what the operation held is let go before anybody hears of its end
    drop(tensor);
    drop(event);
    Timeline::global().settle(id, outcome);
}

fn panicked(payload: &(dyn Any + Send)) -> Error {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    Error::new(Status::Panic, format!("a bug in zerobind was caught ({text}): please report it"))
}
