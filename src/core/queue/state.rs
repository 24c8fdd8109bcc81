//! What the timeline's lock guards: every operation that is not over, and every queue.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::Queue;
use super::lines::{OpId, Place};
use super::repeats::Repeats;
use super::stake::Stake;
use super::submit::{Task, hold};
use super::timeline::{Job, New};
use super::work::{Use, Work};
use super::worker::Inside;
use crate::base::{Error, Result, Status, fail};
use crate::core::event::{Audience, Event, Outcome};
use crate::core::watchdog;
use crate::sync::Condvar;

#[derive(Default)]
pub struct State {
    next_id: u64,
    pub(super) operations: BTreeMap<OpId, Operation>,
    pub(super) lanes: BTreeMap<u64, Lane>,
}

pub(super) struct Operation {
    pub(super) queue: u64,
    pub(super) event: Arc<Event>,
    /// `None` once it has begun.
    work: Option<Work>,
    /// Until it begins.
    uses: Vec<Use>,
    stakes: Arc<[Stake]>,
    context: Option<Place>,
    pub(super) repeats: Repeats,
    /// How many operations of other queues it still waits for.
    blockers: usize,
    pub(super) dependents: Vec<OpId>,
    /// It is not to begin, but cannot be settled yet.
    pub(super) doom: Option<Error>,
}

/// A queue as the timeline sees it.
pub(super) struct Lane {
    queue: Arc<Queue>,
    /// In order; the first may have begun.
    pub(super) line: VecDeque<OpId>,
    /// The last one that was put there, whether it is there still or not.
    pub(super) newest: OpId,
    is_running: bool,
    is_closed: bool,
    /// Operations that are in `line` only as repeats of others.
    pub(super) repeats: usize,
    /// For the queue's own thread, and whether it waits there: to wake nobody costs as much as to wake somebody.
    awake: Arc<Condvar>,
    is_asleep: bool,
    /// What the host's executor was given, or is about to be, and has not run yet.
    task: Option<usize>,
    /// Calls to the executor that are about to be made or have not returned. Meanwhile the first operation is not settled
    /// unless it has begun: when all are, the host may take the executor away.
    submitting: usize,
}

/// What is left to do when the lock is free.
#[derive(Default)]
pub struct After {
    /// Queues that may have something to do now.
    touched: Vec<u64>,
    settled: Vec<(Arc<Event>, Audience)>,
    gone: Vec<Operation>,
    awake: Vec<Arc<Condvar>>,
    pub tasks: Vec<Task>,
    lanes: Vec<Lane>,
}

fn destroyed(what: &str) -> Error {
    Error::new(Status::Destroyed, format!("the {what} was destroyed before the operation started"))
}

impl State {
    pub fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    pub fn open(&mut self, queue: Arc<Queue>) -> Arc<Condvar> {
        let awake = Arc::new(Condvar::new());
        let id = queue.id;
        let lane = Lane {
            queue,
            line: VecDeque::new(),
            newest: 0,
            is_running: false,
            is_closed: false,
            repeats: 0,
            awake: awake.clone(),
            is_asleep: false,
            task: None,
            submitting: 0,
        };
        self.lanes.insert(id, lane);
        awake
    }

    pub fn check_room(&self, queue: u64, capacity: usize) -> Result<()> {
        let Some(lane) = self.lanes.get(&queue).filter(|lane| !lane.is_closed) else {
            return fail!(InvalidHandle, "the queue was destroyed");
        };
        if lane.len() < capacity {
            return Ok(());
        }
        fail!(
            QueueFull,
            "the queue has {} operations that are not over, which is all it has room for: wait for one of them",
            lane.len()
        )
    }

    /// Puts an operation at the end of a queue that has room.
    pub fn add(&mut self, queue: u64, new: New, after: &mut After) -> Arc<Event> {
        let id = self.new_id();
        let event = Event::new(queue, id, new.wants_slots);
        let stakes = new.stakes.unwrap_or_else(|| new.uses.iter().map(Stake::of).collect());
        let mut before = new.after;
        for stake in &*stakes {
            stake.join(id, queue, &mut before);
        }
        if let Some(context) = &new.context {
            context.line().join(id, queue, &mut before);
        }
        let operation = Operation {
            queue,
            event: event.clone(),
            work: Some(new.work),
            uses: new.uses,
            stakes,
            context: new.context,
            repeats: Repeats::of(new.repeatable),
            blockers: self.depend(id, queue, before),
            dependents: Vec::new(),
            doom: None,
        };
        self.operations.insert(id, operation);
        if let Some(lane) = self.lanes.get_mut(&queue) {
            lane.line.push_back(id);
            lane.newest = id;
        }
        self.schedule(queue, after);
        event
    }

    /// Notes that an operation waits for others, and says how many of them there are.
    fn depend(&mut self, id: OpId, queue: u64, mut before: Vec<OpId>) -> usize {
        before.sort_unstable();
        before.dedup();
        let mut count = 0;
        for other in before {
            // those of the same queue come first anyway
            if let Some(operation) = self.operations.get_mut(&other).filter(|operation| operation.queue != queue) {
                operation.dependents.push(id);
                count += 1;
            }
        }
        count
    }

    pub fn set_asleep(&mut self, queue: u64, is_asleep: bool) {
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

    pub fn begin(&mut self, queue: u64) -> Option<Job> {
        let id = self.ready(queue)?;
        self.lanes.get_mut(&queue)?.is_running = true;
        let operation = self.operations.get_mut(&id)?;
        let refused = operation.doom.take().or_else(|| operation.refusal(id));
        if refused.is_some() {
            // what comes later may find its tensors in order
            operation.repeats.of = None;
        }
        Some(Job {
            id,
            queue,
            work: operation.work.take()?,
            refused,
            event: operation.event.clone(),
            uses: std::mem::take(&mut operation.uses),
            is_repeatable: operation.repeats.may_come(),
        })
    }

    /// The queue of a task that was not taken yet; now it is.
    pub fn queue_of_task(&mut self, task: usize) -> Option<u64> {
        let (id, lane) = self.lanes.iter_mut().find(|(_, lane)| lane.task == Some(task))?;
        lane.task = None;
        Some(*id)
    }

    /// Has somebody told that the queue has something to do.
    pub fn schedule(&mut self, queue: u64, after: &mut After) {
        if self.ready(queue).is_none() {
            return;
        }
        let number = self.next_id + 1;
        let Some(lane) = self.lanes.get_mut(&queue).filter(|lane| !lane.is_closed) else { return };
        if lane.queue.executor.is_none() {
            if lane.is_asleep {
                after.awake.push(lane.awake.clone());
            }
        } else if lane.task.is_none() {
            self.next_id = number;
            let number = number as usize;
            lane.task = Some(number);
            lane.submitting += 1;
            after.tasks.push(Task { queue: lane.queue.clone(), number });
        }
    }

    /// Ends an operation that has begun.
    pub fn end(&mut self, id: OpId, outcome: Outcome, after: &mut After) {
        self.end_one(id, outcome, after);
        self.go_on(after);
    }

    /// Has the queues go on that operations were taken out of, or whose operations waited for those; once, when all are out.
    fn go_on(&mut self, after: &mut After) {
        for queue in std::mem::take(&mut after.touched) {
            self.schedule(queue, after);
            self.remove_if_over(queue, after);
        }
    }

    /// Ends an operation that has not begun, or sees to it that it does not begin.
    fn end_waiting(&mut self, id: OpId, error: Error, after: &mut After) {
        let Some(operation) = self.operations.get_mut(&id) else { return };
        let lane = self.lanes.get(&operation.queue);
        if lane.is_some_and(|lane| lane.submitting > 0 && lane.line.front() == Some(&id)) {
            operation.doom.get_or_insert(error);
        } else {
            self.end_one(id, Outcome::failed(error), after);
        }
    }

    /// Takes an operation out. `go_on` is for those that waited for it.
    fn end_one(&mut self, id: OpId, outcome: Outcome, after: &mut After) {
        let Some(mut operation) = self.operations.remove(&id) else { return };
        if let Some(lane) = self.lanes.get_mut(&operation.queue) {
            if let Ok(place) = lane.line.binary_search(&id) {
                lane.line.remove(place);
            }
            lane.is_running &= operation.work.is_some();
            lane.repeats -= operation.repeats.count();
        }
        // the last of its repeats was not to be
        let doom = operation.doom.take().filter(|_| operation.work.is_none());
        let outcome = doom.map_or(outcome, Outcome::failed);
        operation.leave_lines(id, &outcome);
        let audience = operation.event.settle(outcome);
        after.settled.push((operation.event.clone(), audience));
        after.touched.push(operation.queue);
        for dependent in &operation.dependents {
            let Some(waiting) = self.operations.get_mut(dependent) else { continue };
            waiting.blockers -= 1;
            if waiting.blockers == 0 {
                after.touched.push(waiting.queue);
            }
        }
        after.gone.push(operation);
    }

    /// Ends a queue: what waits is settled, what runs is asked to stop.
    pub fn close(&mut self, queue: u64, after: &mut After) {
        let Some(lane) = self.lanes.get_mut(&queue) else { return };
        lane.is_closed = true;
        if lane.is_asleep {
            after.awake.push(lane.awake.clone());
        }
        for id in self.ids(queue) {
            if self.has_begun(id) {
                self.end_repeats(id, destroyed("queue"));
                // one that cannot be stopped just goes on
                let _ = self.ask_to_stop(id);
            } else {
                self.end_waiting(id, destroyed("queue"), after);
            }
        }
        self.go_on(after);
        self.remove_if_over(queue, after);
    }

    pub fn cancel(&mut self, id: OpId, after: &mut After) -> Result<()> {
        if !self.operations.contains_key(&id) {
            return Ok(());
        }
        if self.has_begun(id) {
            return self.ask_to_stop(id);
        }
        let error = Error::new(Status::Cancelled, "the operation was cancelled before it started");
        self.end_waiting(id, error, after);
        self.go_on(after);
        Ok(())
    }

    /// Ends what has not begun and is chosen, because something was destroyed.
    pub fn destroy(
        &mut self,
        what: &str,
        is_chosen: impl Fn(&Work, &[Use], Option<&Place>) -> bool,
        after: &mut After,
    ) {
        let is_it = |operation: &Operation| {
            operation.work.as_ref().is_some_and(|work| is_chosen(work, &operation.uses, operation.context.as_ref()))
        };
        let chosen = self.operations.iter().filter(|(_, operation)| is_it(operation));
        let chosen: Vec<_> = chosen.map(|(id, _)| *id).collect();
        for id in chosen {
            self.end_waiting(id, destroyed(what), after);
        }
        self.go_on(after);
    }

    /// The same for the repeats of an inference that has begun.
    pub fn destroy_repeats(&mut self, is_chosen: impl Fn(&Place) -> bool) {
        let is_it =
            |operation: &Operation| operation.work.is_none() && operation.context.as_ref().is_some_and(&is_chosen);
        let begun: Vec<_> = self.operations.iter().filter(|(_, it)| is_it(it)).map(|(id, _)| *id).collect();
        for id in begun {
            self.end_repeats(id, destroyed("context"));
        }
    }

    fn ask_to_stop(&self, id: OpId) -> Result<()> {
        let Some(operation) = self.operations.get(&id) else { return Ok(()) };
        // seen by one that has begun and not reached the engine yet
        operation.event.cancelled().raise();
        match &operation.context {
            Some(context) => watchdog::cancel(context.stop()),
            None => Ok(()),
        }
    }

    /// The executor of a queue returned from taking a task, or from refusing it. Gives the error for `own` if that was
    /// settled here.
    pub fn submitted(
        &mut self,
        queue: u64,
        task: usize,
        is_taken: bool,
        own: Option<OpId>,
        after: &mut After,
    ) -> Option<Error> {
        let lane = self.lanes.get_mut(&queue)?;
        lane.submitting -= 1;
        // one that was run all the same was taken
        let is_refused = !is_taken && lane.task == Some(task);
        if is_refused {
            lane.task = None;
        }
        let mut is_own_refused = false;
        // nothing but the first is kept from its end by a call to the executor
        let concerned = if is_refused { lane.line.len() } else { 1 };
        let ids: Vec<_> = lane.line.iter().take(concerned).copied().collect();
        for id in ids {
            let Some(operation) = self.operations.get_mut(&id).filter(|operation| operation.work.is_some()) else {
                continue;
            };
            let doom = operation.doom.take();
            let refusal = is_refused.then(|| not_taken(own == Some(id)));
            let error = if own == Some(id) { refusal.or(doom) } else { doom.or(refusal) };
            if let Some(error) = error {
                is_own_refused |= is_refused && own == Some(id);
                self.end_waiting(id, error, after);
            }
        }
        self.go_on(after);
        self.remove_if_over(queue, after);
        is_own_refused.then(|| not_taken(true))
    }

    pub fn ids(&self, queue: u64) -> Vec<OpId> {
        self.lanes.get(&queue).map(|lane| lane.line.iter().copied().collect()).unwrap_or_default()
    }

    /// The events of operations; from here on, somebody waits for these and not for what is repeated later.
    pub fn events(&mut self, ids: Vec<OpId>) -> Vec<Arc<Event>> {
        let mut events = Vec::with_capacity(ids.len());
        for id in ids {
            if let Some(operation) = self.operations.get_mut(&id) {
                operation.repeats.of = None;
                events.push(operation.event.clone());
            }
        }
        events
    }

    /// Forgets a queue that is closed and has nothing left.
    pub fn remove_if_over(&mut self, queue: u64, after: &mut After) -> bool {
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

impl Lane {
    /// Operations that are not over.
    pub(super) fn len(&self) -> usize {
        self.line.len() + self.repeats
    }
}

/// The error of an operation whose executor takes no task.
fn not_taken(is_own: bool) -> Error {
    if is_own {
        Error::new(Status::Busy, "the host's executor takes no task")
    } else {
        Error::new(Status::Cancelled, "the host's executor takes no task, so nobody does the work")
    }
}

impl Operation {
    /// Why it must not begin now.
    pub(super) fn refusal(&self, id: OpId) -> Option<Error> {
        self.stakes.iter().find_map(|stake| stake.refusal(id))
    }

    fn leave_lines(&mut self, id: OpId, outcome: &Outcome) {
        let has_begun = self.work.is_none();
        self.stakes.iter().for_each(|stake| stake.leave(id, has_begun, outcome));
        if let Some(context) = &mut self.context {
            context.leave(id);
        }
    }
}

impl After {
    /// Does it all but for some tasks, which it gives back: what comes next in a queue comes after the callbacks of what was
    /// before. What waits in other queues need not, and a callback may wait for that, also if they have callbacks to come.
    pub fn finish(self, submit: impl Fn(Vec<Task>)) -> Vec<Task> {
        for awake in self.awake {
            awake.notify_one();
        }
        drop(self.gone);
        let settled = &self.settled;
        let is_next = |task: &Task| settled.iter().any(|(event, _)| event.queue() == task.queue.id);
        let (next, others): (Vec<_>, Vec<_>) = self.tasks.into_iter().partition(is_next);
        submit(others);
        let next = hold(next);
        for (event, audience) in self.settled {
            let _inside = Inside::queue(event.queue());
            event.tell(audience);
        }
        drop(self.lanes);
        next.take_back()
    }
}
