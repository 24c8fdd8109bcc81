//! Queues: ordered timelines of writes, inferences and reads.
//!
//! `timeline` knows what waits for what and has the only lock, with `state` behind it, `after` for what is left to do when it is free, and `lines` for each tensor and context;
//! `submit` gives tasks to executors of the host when the lock is free; `repeats` counts the same inference again; `stake` is an operation's part in the line of a tensor; `work` is what an operation does; `worker` is who
//! does it: a thread of the queue's own, or tasks that an executor of the host runs; `inference` runs a context that stays
//! open to other calls meanwhile.

mod after;
mod inference;
mod lines;
mod repeats;
mod stake;
mod state;
mod submit;
mod timeline;
mod work;
mod worker;

#[cfg(all(test, feature = "loom"))]
mod models;
#[cfg(all(test, not(feature = "loom")))]
mod properties;
#[cfg(test)]
mod stand_in;
#[cfg(all(test, not(feature = "loom")))]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::context::Captured;
use super::count::Counted;
use super::event::Event;
use super::tensor::Tensor;
use crate::base::{Kind, Result, fail};
use crate::memory::HostRange;

pub use inference::{Gate, GateClosed, Inference};
pub use lines::{ContextLine, OpId, Place, TensorLine};
pub use stake::Stake;
pub use work::{Use, hold_patiently};
pub use worker::run_task;

use timeline::{New, Timeline};
use work::Work;

/// Unsettled operations of a queue when the host sets no limit.
const DEFAULT_CAPACITY: usize = 64;

/// Runs tasks of queues on threads of the host's.
pub trait Executor: Send + Sync {
    /// Has `run_task(task)` called once, now or later, on any thread. `false`: it will not be.
    fn submit(&self, task: usize) -> bool;
}

/// An ordered timeline.
pub struct Queue {
    id: u64,
    capacity: usize,
    /// `None`: a thread of its own.
    executor: Option<Box<dyn Executor>>,
    _counted: Counted,
}

impl Queue {
    /// `capacity` 0 stands for 64.
    pub fn create(capacity: usize, executor: Option<Box<dyn Executor>>) -> Result<Arc<Queue>> {
        let capacity = if capacity == 0 { DEFAULT_CAPACITY } else { capacity };
        let id = Timeline::global().new_id();
        let queue = Arc::new(Queue { id, capacity, executor, _counted: Counted::new(Kind::Queue) });
        let awake = Timeline::global().open(queue.clone());
        if queue.executor.is_none()
            && let Err(error) = worker::start(id, awake)
        {
            Timeline::global().close(id);
            return Err(error);
        }
        Ok(queue)
    }

    /// Ends the queue: what has not started is settled with `DESTROYED`, what runs is asked to stop.
    pub fn destroy(&self) {
        Timeline::global().close(self.id);
    }

    /// Runs a context with what was captured of it.
    pub fn infer(&self, inference: Inference, place: Place, wants_event: bool) -> Result<Arc<Event>> {
        let can_repeat = !wants_event && inference.deadline.is_none() && self.executor.is_none();
        self.add(New {
            context: Some(place),
            wants_slots: wants_event,
            stakes: Some(inference.captured.stakes().clone()),
            repeatable: inference.captured.number().filter(|_| can_repeat),
            ..New::of(Work::Infer(inference))
        })
    }

    /// Runs a context without limits and without an event, if that is just what the last operation here does.
    #[inline]
    pub fn infer_again(&self, captured: &Captured) -> bool {
        captured.number().is_some_and(|number| Timeline::global().repeat(self.id, self.capacity, number))
    }

    /// Writes bytes into a tensor, `offset` bytes from its start. They are copied before this returns.
    pub fn write(&self, tensor: Arc<Tensor>, offset: usize, source: &HostRange) -> Result<Arc<Event>> {
        let range = work::part(&tensor, offset, source.size())?;
        work::require_writable(&tensor)?;
        let bytes = work::copy_of(source)?;
        let whole = source.size() == tensor.range().size();
        self.add(New { uses: vec![work::Use::write(tensor, whole)], ..New::of(Work::Write { bytes, range }) })
    }

    /// Reads bytes of a tensor, `offset` bytes from its start. The destination is lent until the event is settled.
    pub fn read(&self, tensor: Arc<Tensor>, offset: usize, destination: HostRange) -> Result<Arc<Event>> {
        let range = work::part(&tensor, offset, destination.size())?;
        self.add(New { uses: vec![work::Use::read(tensor)], ..New::of(Work::Read { range, destination }) })
    }

    /// Settles when all before it has.
    pub fn fence(&self) -> Result<Arc<Event>> {
        self.add(New::of(Work::Nothing))
    }

    /// Lets nothing that comes later start before `event` is settled.
    pub fn wait_event(&self, event: &Event) -> Result<()> {
        self.add(New { after: vec![event.operation()], ..New::of(Work::Nothing) }).map(drop)
    }

    /// Waits until everything that is in the queue now is settled.
    pub fn finish(&self, time: Option<Duration>) -> Result<()> {
        wait_for_all(&Timeline::global().events_of_queue(self.id)?, time)
    }

    fn add(&self, new: New) -> Result<Arc<Event>> {
        Timeline::global().add(self.id, self.capacity, new)
    }
}

/// Waits until every operation on a tensor that is in any queue now is settled.
pub fn sync(tensor: &Tensor, time: Option<Duration>) -> Result<()> {
    wait_for_all(&Timeline::global().events_of_tensor(tensor)?, time)
}

/// Settles the reads of a tensor that have not begun.
pub fn tensor_destroyed(tensor: &Arc<Tensor>) {
    Timeline::global().tensor_destroyed(tensor);
}

/// Settles the inferences of a context that have not begun.
pub fn context_destroyed(line: &Arc<ContextLine>) {
    Timeline::global().context_destroyed(line);
}

/// The host says that it has written all of a tensor that no operation uses.
pub fn written_by_host(tensor: &Tensor) {
    tensor.line().written_directly();
}

/// Asks for an operation not to happen: one that waits never starts, one that runs is asked to stop.
pub fn cancel(event: &Arc<Event>) -> Result<()> {
    Timeline::global().cancel(event)
}

/// To be called before a wait: refuses where only this thread could end it, and gives out what this thread has put off.
pub fn prepare_to_wait(event: &Event) -> Result<()> {
    if event.is_settled() {
        return Ok(());
    }
    if worker::is_inside(event.queue()) {
        return fail!(
            Busy,
            "waiting here would wait for good: this thread is inside an operation or a callback of the same queue"
        );
    }
    submit::before_waiting(Timeline::global());
    Ok(())
}

fn wait_for_all(events: &[Arc<Event>], time: Option<Duration>) -> Result<()> {
    let start = Instant::now();
    for event in events {
        // a time of 0 asks, and waits for nothing
        if time != Some(Duration::ZERO) {
            prepare_to_wait(event)?;
        }
        let left = time.map(|time| time.saturating_sub(start.elapsed()));
        if event.wait(left).is_none() {
            return fail!(Timeout, "the time is over; the operations go on");
        }
    }
    Ok(())
}
