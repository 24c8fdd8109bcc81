//! What waits for what, over all queues.
//!
//! There is one lock. An operation waits for those before it in its queue, and for earlier ones of other queues that use
//! the same tensor (one of them writing) or the same context, or whose event its queue was told to wait for. It only ever
//! waits for older ones, so nothing waits in a circle. Whatever may run code of the host (callbacks, releases, an executor)
//! is collected in `After` and done when the lock is free.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use super::Queue;
use super::lines::{ContextLine, OpId, Place};
use super::work::{Use, Work};
use super::worker::Inside;
use crate::base::{Error, Result, Status, fail};
use crate::core::event::{Event, Outcome};
use crate::core::tensor::Tensor;
use crate::core::usage::Access;
use crate::core::watchdog;

/// A new operation.
pub struct New {
    pub work: Work,
    pub uses: Vec<Use>,
    pub context: Option<Place>,
    /// Operations of any queue that it has to wait for besides.
    pub after: Vec<OpId>,
    pub wants_slots: bool,
    /// Room in the queue is not asked for.
    pub is_unlimited: bool,
}

impl New {
    pub fn of(work: Work) -> New {
        New { work, uses: Vec::new(), context: None, after: Vec::new(), wants_slots: false, is_unlimited: false }
    }
}

/// An operation that has begun.
pub struct Job {
    pub id: OpId,
    pub queue: u64,
    pub work: Work,
    pub event: Arc<Event>,
    /// Of a copy.
    pub tensor: Option<Arc<Tensor>>,
}

pub struct Timeline {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next_id: u64,
    operations: BTreeMap<OpId, Operation>,
    lanes: BTreeMap<u64, Lane>,
}

struct Operation {
    lane: u64,
    event: Arc<Event>,
    /// `None` once it has begun.
    work: Option<Work>,
    uses: Vec<Use>,
    context: Option<Place>,
    /// How many operations of other queues it still waits for.
    blockers: usize,
    dependents: Vec<OpId>,
}

/// A queue as the timeline sees it.
struct Lane {
    queue: Arc<Queue>,
    /// In order; the first may have begun.
    line: VecDeque<OpId>,
    is_running: bool,
    is_closed: bool,
    /// For the queue's own thread, and whether it waits there: to wake nobody costs as much as to wake somebody.
    awake: Arc<Condvar>,
    is_asleep: bool,
    /// What the host's executor was given and has not run yet.
    task: Option<usize>,
}

/// What is left to do when the lock is free.
#[derive(Default)]
struct After {
    ended: Vec<(Operation, Outcome)>,
    awake: Vec<Arc<Condvar>>,
    tasks: Vec<(Arc<Queue>, usize)>,
    lanes: Vec<Lane>,
}

impl Timeline {
    pub fn global() -> &'static Timeline {
        static TIMELINE: OnceLock<Timeline> = OnceLock::new();
        TIMELINE.get_or_init(|| Timeline { state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn new_id(&self) -> u64 {
        self.lock().new_id()
    }

    pub fn open(&self, queue: Arc<Queue>) -> Arc<Condvar> {
        let awake = Arc::new(Condvar::new());
        let id = queue.id;
        let line = VecDeque::new();
        let lane = Lane {
            queue,
            line,
            is_running: false,
            is_closed: false,
            is_asleep: false,
            awake: awake.clone(),
            task: None,
        };
        self.lock().lanes.insert(id, lane);
        awake
    }

    /// Puts an operation at the end of a queue.
    pub fn add(&self, queue: u64, capacity: usize, new: New) -> Result<Arc<Event>> {
        let mut after = After::default();
        let event = self.lock().add(queue, capacity, new, &mut after)?;
        let refused = after.finish();
        if refused.is_empty() {
            return Ok(event);
        }
        let error = Error::new(Status::Busy, "the host's executor takes no task");
        self.refused(&refused, Some((&event, &error)));
        Err(error)
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
                after.finish();
                return None;
            }
            state.set_asleep(queue, true);
            state = awake.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.set_asleep(queue, false);
        }
    }

    /// The operation that a task of an executor stands for; each task is for one.
    pub fn take_task(&self, task: usize) -> Option<Job> {
        let mut state = self.lock();
        let (id, lane) = state.lanes.iter_mut().find(|(_, lane)| lane.task == Some(task))?;
        lane.task = None;
        let id = *id;
        let job = state.begin(id);
        let mut after = After::default();
        if job.is_none() {
            // what it was given out for was cancelled meanwhile
            state.schedule(id, &mut after);
            state.remove_if_over(id, &mut after);
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
        let mut state = self.lock();
        let Some(lane) = state.lanes.get_mut(&queue) else { return };
        lane.is_closed = true;
        if lane.is_asleep {
            after.awake.push(lane.awake.clone());
        }
        let waiting: Vec<_> = lane.line.iter().copied().collect();
        for id in waiting {
            if state.has_begun(id) {
                // one that cannot be stopped just goes on
                let _ = state.ask_to_stop(id);
            } else {
                state.end(id, destroyed("queue"), &mut after);
            }
        }
        state.remove_if_over(queue, &mut after);
        drop(state);
        self.finish(after);
    }

    pub fn cancel(&self, event: &Arc<Event>) -> Result<()> {
        let mut after = After::default();
        let mut state = self.lock();
        let id = event.operation();
        if !state.operations.contains_key(&id) {
            return Ok(());
        }
        let result = if state.has_begun(id) {
            state.ask_to_stop(id)
        } else {
            let error = Error::new(Status::Cancelled, "the operation was cancelled before it started");
            state.end(id, Outcome::failed(error), &mut after);
            Ok(())
        };
        drop(state);
        self.finish(after);
        result
    }

    /// The events of the operations that a new one on the tensor would have to wait for.
    pub fn events_of(&self, tensor: &Tensor) -> Vec<Arc<Event>> {
        let state = self.lock();
        let line = tensor.line().lock();
        let ids = line.writer.iter().chain(&line.readers);
        ids.filter_map(|id| state.operations.get(id)).map(|operation| operation.event.clone()).collect()
    }

    /// Settles what has not begun and is chosen.
    fn end_all(&self, what: &'static str, is_chosen: impl Fn(&Operation) -> bool) {
        let mut after = After::default();
        let mut state = self.lock();
        let is_waiting = |operation: &Operation| operation.work.is_some();
        let chosen = state.operations.iter().filter(|(_, operation)| is_waiting(operation) && is_chosen(operation));
        let chosen: Vec<_> = chosen.map(|(id, _)| *id).collect();
        for id in chosen {
            state.end(id, destroyed(what), &mut after);
        }
        drop(state);
        self.finish(after);
    }

    fn finish(&self, after: After) {
        let refused = after.finish();
        self.refused(&refused, None);
    }

    /// An executor that takes no more tasks leaves its queue without anybody who works: all that waits is cancelled.
    fn refused(&self, lanes: &[u64], own: Option<(&Arc<Event>, &Error)>) {
        for lane in lanes {
            let mut after = After::default();
            let mut state = self.lock();
            let waiting = state.lanes.get_mut(lane).map(|lane| {
                lane.task = None;
                lane.line.iter().copied().collect::<Vec<_>>()
            });
            for id in waiting.unwrap_or_default() {
                let is_own = own.is_some_and(|(event, _)| event.operation() == id);
                let error = match own {
                    Some((_, error)) if is_own => error.clone(),
                    _ => Error::new(Status::Cancelled, "the host's executor takes no task, so nobody does the work"),
                };
                if !state.has_begun(id) {
                    state.end_without_next(id, Outcome::failed(error), &mut after);
                }
            }
            state.remove_if_over(*lane, &mut after);
            drop(state);
            self.finish(after);
        }
    }
}

/// Settles the reads of a tensor that have not begun: nobody is to hear of it any more.
pub fn tensor_destroyed(tensor: &Arc<Tensor>) {
    if tensor.line().lock().readers.is_empty() {
        return;
    }
    Timeline::global().end_all("tensor", |operation| {
        let is_it = |used: &Use| Arc::ptr_eq(&used.tensor, tensor);
        matches!(operation.work, Some(Work::Read { .. })) && operation.uses.iter().any(is_it)
    });
}

/// Settles the inferences of a context that have not begun.
pub fn context_destroyed(line: &Arc<ContextLine>) {
    if !line.is_queued() {
        return;
    }
    let is_it = |operation: &Operation| operation.context.as_ref().is_some_and(|used| Arc::ptr_eq(used.line(), line));
    Timeline::global().end_all("context", is_it);
}

fn destroyed(what: &str) -> Outcome {
    Outcome::failed(Error::new(Status::Destroyed, format!("the {what} was destroyed before the operation started")))
}

impl State {
    fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    fn add(&mut self, queue: u64, capacity: usize, new: New, after: &mut After) -> Result<Arc<Event>> {
        let id = self.new_id();
        let Some(lane) = self.lanes.get_mut(&queue).filter(|lane| !lane.is_closed) else {
            return fail!(InvalidHandle, "the queue was destroyed");
        };
        if lane.line.len() >= capacity && !new.is_unlimited {
            return fail!(
                QueueFull,
                "the queue has {} operations that are not over, which is all it has room for: wait for one of them",
                lane.line.len()
            );
        }
        lane.line.push_back(id);
        let event = Event::new(queue, id, new.wants_slots);
        let mut operation = Operation {
            lane: queue,
            event: event.clone(),
            work: Some(new.work),
            uses: new.uses,
            context: new.context,
            blockers: 0,
            dependents: Vec::new(),
        };
        let mut before = new.after;
        join_lines(id, &operation, &mut before);
        operation.blockers = self.depend(id, queue, before);
        self.operations.insert(id, operation);
        self.schedule(queue, after);
        Ok(event)
    }

    /// Notes that an operation waits for others, and says how many of them there are.
    fn depend(&mut self, id: OpId, queue: u64, mut before: Vec<OpId>) -> usize {
        before.sort_unstable();
        before.dedup();
        let mut count = 0;
        for other in before {
            // those of the same queue come first anyway
            if let Some(operation) = self.operations.get_mut(&other).filter(|operation| operation.lane != queue) {
                operation.dependents.push(id);
                count += 1;
            }
        }
        count
    }

    fn set_asleep(&mut self, queue: u64, is_asleep: bool) {
        if let Some(lane) = self.lanes.get_mut(&queue) {
            lane.is_asleep = is_asleep;
        }
    }

    fn has_begun(&self, id: OpId) -> bool {
        self.operations.get(&id).is_some_and(|operation| operation.work.is_none())
    }

    /// The first operation of a queue, if it may begin now.
    fn ready(&self, queue: u64) -> Option<OpId> {
        let lane = self.lanes.get(&queue).filter(|lane| !lane.is_running)?;
        let first = *lane.line.front()?;
        self.operations.get(&first).filter(|operation| operation.blockers == 0).map(|_| first)
    }

    fn begin(&mut self, queue: u64) -> Option<Job> {
        let id = self.ready(queue)?;
        self.lanes.get_mut(&queue)?.is_running = true;
        let operation = self.operations.get_mut(&id)?;
        let work = operation.work.take()?;
        let work = operation.uses.iter().find_map(refusal).map_or(work, Work::Refused);
        let is_copy = matches!(work, Work::Write { .. } | Work::Read { .. });
        let tensor = operation.uses.first().filter(|_| is_copy).map(|used| used.tensor.clone());
        Some(Job { id, queue, work, event: operation.event.clone(), tensor })
    }

    /// Has somebody told that the queue has something to do.
    fn schedule(&mut self, queue: u64, after: &mut After) {
        if self.ready(queue).is_none() {
            return;
        }
        let task = self.next_id as usize + 1;
        let Some(lane) = self.lanes.get_mut(&queue) else { return };
        if lane.queue.executor.is_none() {
            if lane.is_asleep {
                after.awake.push(lane.awake.clone());
            }
        } else if lane.task.is_none() {
            self.next_id += 1;
            lane.task = Some(task);
            after.tasks.push((lane.queue.clone(), task));
        }
    }

    fn end(&mut self, id: OpId, outcome: Outcome, after: &mut After) {
        if let Some(lane) = self.end_one(id, outcome, after) {
            self.schedule(lane, after);
            self.remove_if_over(lane, after);
        }
    }

    fn end_without_next(&mut self, id: OpId, outcome: Outcome, after: &mut After) {
        self.end_one(id, outcome, after);
    }

    /// Takes an operation out, and lets those go on that waited for it; gives its queue.
    fn end_one(&mut self, id: OpId, outcome: Outcome, after: &mut After) -> Option<u64> {
        let operation = self.operations.remove(&id)?;
        let lane = self.lanes.get_mut(&operation.lane)?;
        lane.line.retain(|other| *other != id);
        lane.is_running &= operation.work.is_some();
        leave_lines(id, &operation, &outcome);
        for dependent in &operation.dependents {
            let Some(waiting) = self.operations.get_mut(dependent) else { continue };
            waiting.blockers -= 1;
            let queue = waiting.lane;
            if waiting.blockers == 0 {
                self.schedule(queue, after);
            }
        }
        let queue = operation.lane;
        after.ended.push((operation, outcome));
        Some(queue)
    }

    fn ask_to_stop(&self, id: OpId) -> Result<()> {
        let Some(operation) = self.operations.get(&id) else { return Ok(()) };
        // seen by one that has begun and not reached the engine yet
        operation.event.cancelled().store(true, std::sync::atomic::Ordering::Release);
        match &operation.context {
            Some(context) => watchdog::cancel(context.stop()),
            None => Ok(()),
        }
    }

    /// Forgets a queue that is closed and has nothing left.
    fn remove_if_over(&mut self, queue: u64, after: &mut After) -> bool {
        let is_over = |lane: &Lane| lane.is_closed && lane.line.is_empty();
        match self.lanes.get(&queue) {
            None => true,
            Some(lane) if is_over(lane) => {
                after.lanes.extend(self.lanes.remove(&queue));
                true
            }
            Some(_) => false,
        }
    }
}

/// Why an operation that reads a tensor must not begin.
fn refusal(used: &Use) -> Option<Error> {
    if used.access == Access::Write {
        return None;
    }
    let why = used.tensor.line().lock().invalid.clone()?;
    Some(Error::new(
        Status::Dependency,
        format!("a tensor that this reads was to be written by an operation that failed: {why}"),
    ))
}

/// Puts an operation into the lines of what it uses, and collects whom it has to wait for.
fn join_lines(id: OpId, operation: &Operation, before: &mut Vec<OpId>) {
    for used in &operation.uses {
        let mut line = used.tensor.line().lock();
        before.extend(line.writer);
        match used.access {
            Access::Read => line.readers.push(id),
            Access::Write => {
                before.extend(&line.readers);
                line.writer = Some(id);
            }
        }
    }
    if let Some(context) = &operation.context {
        before.extend(context.line().join(id));
    }
}

fn leave_lines(id: OpId, operation: &Operation, outcome: &Outcome) {
    for used in &operation.uses {
        let mut line = used.tensor.line().lock();
        line.readers.retain(|other| *other != id);
        if used.access == Access::Read {
            continue;
        }
        if line.writer == Some(id) {
            line.writer = None;
        }
        match &outcome.error {
            // an operation that never was in the queue takes nothing away
            Some(error) if error.status == Status::Busy => {}
            Some(error) => line.invalid = Some(Arc::from(error.to_string())),
            None if used.is_whole => line.invalid = None,
            None => {}
        }
    }
    if let Some(context) = &operation.context {
        context.line().leave(id);
    }
}

impl Operation {
    /// What it held goes before anybody hears of its end.
    fn finish(self, outcome: Outcome) {
        let Operation { event, work, uses, context, .. } = self;
        drop((work, uses, context));
        let _inside = Inside::queue(event.queue());
        event.settle(outcome);
    }
}

impl After {
    /// Does it all; gives the queues whose executor refused a task.
    fn finish(self) -> Vec<u64> {
        for awake in self.awake {
            awake.notify_one();
        }
        for (operation, outcome) in self.ended {
            operation.finish(outcome);
        }
        drop(self.lanes);
        let submit = |(queue, task): (Arc<Queue>, usize)| {
            let executor = queue.executor.as_ref()?;
            (!executor.submit(task)).then_some(queue.id)
        };
        self.tasks.into_iter().filter_map(submit).collect()
    }
}
