//! Who does the work of a queue: a thread of its own, or tasks of the host's executor.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::inference::Inference;
use super::lines::OpId;
use super::repeats::Taken;
use super::timeline::{Job, Timeline};
use super::work::Work;
use crate::base::{Error, Result, Status, fail, text};
use crate::core::event::{Event, Outcome};
use crate::sync::Condvar;

/// Repeats are done several at once as long as that takes no longer.
const SHORT_TIME: Duration = Duration::from_micros(50);
const MOST_AT_ONCE: usize = 1024;

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
    let Job { id, work, refused, event, uses, is_repeatable, .. } = job;
    let run = || {
        let outcome = refused.map_or_else(|| work.run(&event, &uses), Outcome::failed);
        match &work {
            Work::Infer(inference) if is_repeatable => repeat(timeline, id, inference, &event).unwrap_or(outcome),
            _ => outcome,
        }
    };
    let outcome = catch_unwind(AssertUnwindSafe(run));
    let outcome = outcome.unwrap_or_else(|payload| Outcome::failed(panicked(payload.as_ref())));
    // what the operation held is let go before anybody hears of its end
    drop(work);
    drop(uses);
    drop(event);
    timeline.settle(id, outcome);
}

/// Runs an inference again, as often as it was put into the queue before something else was. Gives the end of the last one.
fn repeat(timeline: &Timeline, id: OpId, inference: &Inference, event: &Event) -> Option<Outcome> {
    let mut outcome = None;
    let mut most = 1;
    while let Some(Taken { times, refused }) = timeline.take_repeats(id, most) {
        let start = Instant::now();
        outcome = Some(refused.map_or_else(|| run_all(inference, event, times), Outcome::failed));
        // the host's changes and questions reach the context in between
        most = if start.elapsed() < SHORT_TIME { (2 * times).min(MOST_AT_ONCE) } else { 1.max(times / 2) };
    }
    outcome
}

/// Runs so many times, whatever becomes of each, unless it is told that the rest is not to happen.
fn run_all(inference: &Inference, event: &Event, times: usize) -> Outcome {
    let mut done = 0;
    loop {
        let (outcome, count) = inference.run_up_to(event, times - done);
        done += count;
        if done >= times {
            return outcome;
        }
        if event.cancelled().is_raised() {
            return Outcome::failed(Error::new(
                Status::Cancelled,
                "the queue or the context was destroyed before the operation started",
            ));
        }
    }
}

fn panicked(payload: &(dyn Any + Send)) -> Error {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    Error::new(Status::Panic, text!("a bug in zerobind was caught ({text}): please report it"))
}
