//! What the timeline's lock guards: every operation that is not over, and every queue.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::Queue;
use super::after::{After, Room};
use super::lines::{OpId, Place};
use super::repeats::Repeats;
use super::stake::Stake;
use super::submit::Task;
use super::timeline::{Job, New};
use super::work::{Use, Work};
use crate::base::room::{list, no_room, push};
use crate::base::{Error, Gather, Result, Status, fail, text};
use crate::core::event::{Event, Outcome};
use crate::core::watchdog;
use crate::sync::Condvar;

#[derive(Default)]
pub struct State {
    next_id: u64,
    pub(super) operations: BTreeMap<OpId, Operation>,
    pub(super) lanes: BTreeMap<u64, Lane>,
    /// Made when operations are put there, so that they can end in a moment when there is no memory.
    room: Room,
}

pub(super) struct Operation {
    pub(super) queue: u64,
    pub(super) event: Arc<Event>,
    /// `None` once it has begun.
    work: Option<Work>,
    /// Until it begins.
    uses: Vec<Use>,
    stakes: Arc<Vec<Stake>>,
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

fn destroyed(what: &str) -> Error {
    Error::new(Status::Destroyed, text!("the {what} was destroyed before the operation started"))
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

    /// Makes room for an operation, wherever it is going to be noted, and notes it at those that it waits for. When that fails,
    /// nothing has changed. Gives its number, and how many it waits for.
    pub fn prepare(&mut self, queue: u64, new: &mut New) -> Result<(OpId, usize)> {
        let id = self.new_id();
        let mut before = std::mem::take(&mut new.after);
        if new.stakes.is_none() {
            new.stakes = Some(Arc::new(new.uses.iter().map(Stake::of).gather()?));
        }
        for stake in new.stakes.iter().flat_map(|stakes| stakes.iter()) {
            stake.prepare(id, queue, &mut before)?;
        }
        if let Some(context) = &new.context {
            context.line().prepare(id, queue, &mut before)?;
        }
        self.room.reserve(self.operations.len() + 1)?;
        if let Some(lane) = self.lanes.get_mut(&queue) {
            lane.line.try_reserve(1).map_err(|_| no_room(size_of::<OpId>()))?;
        }
        Ok((id, self.depend(id, queue, before)?))
    }

    /// Notes that an operation waits for others, and says how many of them there are.
    fn depend(&mut self, id: OpId, queue: u64, mut before: Vec<OpId>) -> Result<usize> {
        before.sort_unstable();
        before.dedup();
        let mut count = 0;
        for (place, other) in before.iter().enumerate() {
            // those of the same queue come first anyway
            let Some(operation) = self.operations.get_mut(other).filter(|operation| operation.queue != queue) else {
                continue;
            };
            if let Err(error) = push(&mut operation.dependents, id) {
                self.forget_dependent(id, &before[..place]);
                return Err(error);
            }
            count += 1;
        }
        Ok(count)
    }

    /// Takes an operation back that was noted last.
    fn forget_dependent(&mut self, id: OpId, before: &[OpId]) {
        for other in before {
            if let Some(operation) = self.operations.get_mut(other) {
                operation.dependents.pop_if(|last| *last == id);
            }
        }
    }

    /// Puts an operation at the end of a queue, where all is prepared for it.
    pub fn add(&mut self, queue: u64, new: New, prepared: (OpId, usize), after: &mut After) -> Arc<Event> {
        let (id, blockers) = prepared;
        let event = Event::new(queue, id, new.wants_slots);
        let stakes = new.stakes.unwrap_or_default();
        stakes.iter().for_each(|stake| stake.join(id, queue));
        if let Some(context) = &new.context {
            context.line().join(id, queue);
        }
        let operation = Operation {
            queue,
            event: event.clone(),
            work: Some(new.work),
            uses: new.uses,
            stakes,
            context: new.context,
            repeats: Repeats::of(new.repeatable),
            blockers,
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

    /// Takes back lists that were lent, now empty.
    pub fn take_back(&mut self, lent: After) {
        self.room.take_back(lent);
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
        let mut touched = std::mem::take(&mut after.touched);
        for queue in touched.iter().copied() {
            self.schedule(queue, after);
            self.remove_if_over(queue, after);
        }
        touched.clear();
        after.touched = touched;
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
        if !operation.dependents.is_empty() {
            self.room.lend(after);
        }
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
        let ids = self.room.list(lane.line.iter().copied(), after);
        for id in ids.iter().copied() {
            if self.has_begun(id) {
                self.end_repeats(id, destroyed("queue"));
                // one that cannot be stopped just goes on
                let _ = self.ask_to_stop(id);
            } else {
                self.end_waiting(id, destroyed("queue"), after);
            }
        }
        self.room.forget(ids);
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
        let chosen = self.room.list(chosen.map(|(id, _)| *id), after);
        for id in chosen.iter().copied() {
            self.end_waiting(id, destroyed(what), after);
        }
        self.room.forget(chosen);
        self.go_on(after);
    }

    /// The same for the repeats of an inference that has begun.
    pub fn destroy_repeats(&mut self, is_chosen: impl Fn(&Place) -> bool) {
        let is_it =
            |operation: &Operation| operation.work.is_none() && operation.context.as_ref().is_some_and(&is_chosen);
        let begun = self.operations.iter().filter(|(_, it)| is_it(it)).map(|(id, _)| *id);
        let begun = self.room.list(begun, &mut After::default());
        for id in begun.iter().copied() {
            self.end_repeats(id, destroyed("context"));
        }
        self.room.forget(begun);
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
        let ids = self.room.list(lane.line.iter().take(concerned).copied(), after);
        for id in ids.iter().copied() {
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
        self.room.forget(ids);
        self.go_on(after);
        self.remove_if_over(queue, after);
        is_own_refused.then(|| not_taken(true))
    }

    pub fn ids(&self, queue: u64) -> Result<Vec<OpId>> {
        self.lanes.get(&queue).map_or(Ok(Vec::new()), |lane| lane.line.iter().copied().gather())
    }

    /// The events of operations; from here on, somebody waits for these and not for what is repeated later.
    pub fn events(&mut self, ids: Vec<OpId>) -> Result<Vec<Arc<Event>>> {
        let mut events = list(ids.len())?;
        for id in ids {
            if let Some(operation) = self.operations.get_mut(&id) {
                operation.repeats.of = None;
                events.push(operation.event.clone());
            }
        }
        Ok(events)
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
