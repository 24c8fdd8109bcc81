//! Any sequence of calls, against a list of operations that is asked the plain question each time: what may begin now?

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::stand_in::{open, place, tensor};
use super::timeline::{Job, New, Timeline};
use super::work::{Use, Work};
use super::{ContextLine, Executor, Queue};
use crate::base::{Error, Status};
use crate::core::event::{Event, Outcome};
use crate::core::tensor::Tensor;
use crate::core::usage::Access;

const QUEUES: usize = 4;
const TENSORS: usize = 3;
const CONTEXTS: usize = 2;
const CAPACITY: usize = 5;

#[derive(Clone, Debug)]
struct Plan {
    queue: usize,
    /// Tensor, whether it is written, and whether all of it is.
    uses: Vec<(usize, bool, bool)>,
    is_read: bool,
    context: Option<usize>,
    after: Option<usize>,
}

#[derive(Clone, Debug)]
enum Step {
    Add(Plan),
    Begin(usize),
    Settle(usize, bool),
    Cancel(usize),
    DestroyTensor(usize),
    DestroyContext(usize),
    Close(usize),
    /// Whether the executors take tasks from now on.
    Take(bool),
}

fn plan() -> impl Strategy<Value = Plan> {
    let uses = prop::collection::vec((0..TENSORS, any::<bool>(), any::<bool>()), 0..3);
    let read = (0..QUEUES, 0..TENSORS).prop_map(|(queue, tensor)| Plan {
        queue,
        uses: vec![(tensor, false, false)],
        is_read: true,
        context: None,
        after: None,
    });
    let context = prop::option::weighted(0.4, 0..CONTEXTS);
    let after = prop::option::weighted(0.1, 0..64usize);
    let other = (0..QUEUES, uses, context, after).prop_map(|(queue, mut uses, context, after)| {
        uses.sort_by_key(|(tensor, ..)| *tensor);
        uses.dedup_by_key(|(tensor, ..)| *tensor);
        Plan { queue, uses, is_read: false, context, after }
    });
    prop_oneof![read, other]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => plan().prop_map(Step::Add),
        12 => (0..QUEUES).prop_map(Step::Begin),
        10 => (0..QUEUES, prop::bool::weighted(0.7)).prop_map(|(queue, ok)| Step::Settle(queue, ok)),
        5 => (0..64usize).prop_map(Step::Cancel),
        1 => (0..TENSORS).prop_map(Step::DestroyTensor),
        1 => (0..CONTEXTS).prop_map(Step::DestroyContext),
        1 => (0..QUEUES).prop_map(Step::Close),
        1 => any::<bool>().prop_map(Step::Take),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Life {
    Waiting,
    Begun,
    Over(Option<Status>),
}

struct Known {
    plan: Plan,
    after: Option<usize>,
    life: Life,
    event: Arc<Event>,
    /// How often the callback came, and with what.
    told: Arc<Mutex<Vec<Option<Status>>>>,
}

/// An executor that keeps what it is given.
#[derive(Default)]
struct Shelf {
    tasks: Mutex<Vec<usize>>,
    refuses: AtomicBool,
    refused: AtomicU32,
}

impl Executor for Arc<Shelf> {
    fn submit(&self, task: usize) -> bool {
        if self.refuses.load(Ordering::Relaxed) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        self.tasks.lock().unwrap().push(task);
        true
    }
}

struct World {
    timeline: Timeline,
    /// The first half would have threads, the others have an executor.
    queues: Vec<(Arc<Queue>, Option<Arc<Shelf>>)>,
    is_closed: [bool; QUEUES],
    /// The executor of the queue has a task that it has not run.
    has_task: [bool; QUEUES],
    takes: bool,
    tensors: Vec<Arc<Tensor>>,
    contexts: Vec<Arc<ContextLine>>,
    known: Vec<Known>,
}

fn failure(status: Status) -> Outcome {
    Outcome::failed(Error::new(status, "as the test says"))
}

impl World {
    fn new() -> World {
        let timeline = Timeline::default();
        let queues = (0..QUEUES).map(|number| {
            let shelf = (number >= QUEUES / 2).then(|| Arc::new(Shelf::default()));
            let executor = shelf.clone().map(|shelf| Box::new(shelf) as Box<dyn Executor>);
            (open(&timeline, executor).0, shelf)
        });
        let queues = queues.collect();
        World {
            timeline,
            queues,
            is_closed: [false; QUEUES],
            has_task: [false; QUEUES],
            takes: true,
            tensors: (0..TENSORS).map(|_| tensor()).collect(),
            contexts: (0..CONTEXTS).map(|_| Arc::default()).collect(),
            known: Vec::new(),
        }
    }

    // --- what should be ---

    fn is_over(&self, index: usize) -> bool {
        matches!(self.known[index].life, Life::Over(_))
    }

    fn waiting(&self, queue: usize) -> Vec<usize> {
        let is_it = |index: &usize| self.known[*index].plan.queue == queue && self.known[*index].life == Life::Waiting;
        (0..self.known.len()).filter(is_it).collect()
    }

    fn may_begin(&self, index: usize) -> bool {
        let one = &self.known[index].plan;
        let conflict = |other: &Plan| {
            let shares = |a: &(usize, bool, bool), b: &(usize, bool, bool)| a.0 == b.0 && (a.1 || b.1);
            other.queue == one.queue
                || (one.context.is_some() && other.context == one.context)
                || one.uses.iter().any(|a| other.uses.iter().any(|b| shares(a, b)))
        };
        self.known[index].life == Life::Waiting
            && (0..index).all(|other| self.is_over(other) || !conflict(&self.known[other].plan))
            && self.known[index].after.is_none_or(|after| self.is_over(after))
    }

    fn ready(&self, queue: usize) -> Option<usize> {
        (0..self.known.len()).find(|index| self.known[*index].plan.queue == queue && self.may_begin(*index))
    }

    fn running(&self, queue: usize) -> Option<usize> {
        self.known.iter().position(|known| known.plan.queue == queue && known.life == Life::Begun)
    }

    /// Whether it reads what an earlier write that failed was to write, and no whole write since then has.
    fn is_refused(&self, index: usize) -> bool {
        let reads = self.known[index].plan.uses.iter().filter(|(_, writes, _)| !writes);
        reads.clone().any(|(tensor, ..)| {
            let mut is_invalid = false;
            for earlier in &self.known[..index] {
                for (_, _, is_whole) in earlier.plan.uses.iter().filter(|used| used.0 == *tensor && used.1) {
                    match earlier.life {
                        Life::Over(None) => is_invalid &= !is_whole,
                        Life::Over(Some(_)) => is_invalid = true,
                        _ => unreachable!("the order does not hold"),
                    }
                }
            }
            is_invalid
        })
    }

    /// Executors are given what is ready; those that take nothing lose all that waits.
    fn give_out(&mut self) {
        loop {
            let is_due = |queue: &usize| self.queues[*queue].1.is_some() && !self.has_task[*queue];
            let Some(queue) = (0..QUEUES).filter(is_due).find(|queue| self.ready(*queue).is_some()) else { return };
            if self.takes {
                self.has_task[queue] = true;
            } else {
                for index in self.waiting(queue) {
                    self.known[index].life = Life::Over(Some(Status::Cancelled));
                }
            }
        }
    }

    // --- steps ---

    fn take(&mut self, step: Step) {
        match step {
            Step::Add(plan) => self.add(plan),
            Step::Begin(queue) => self.begin(queue),
            Step::Settle(queue, ok) => self.settle(queue, ok),
            Step::Cancel(number) if !self.known.is_empty() => self.cancel(number % self.known.len()),
            Step::Cancel(_) => {}
            Step::DestroyTensor(number) => {
                let is_it = |plan: &Plan| plan.is_read && plan.uses[0].0 == number;
                self.end_waiting(Status::Destroyed, is_it);
                self.timeline.tensor_destroyed(&self.tensors[number]);
            }
            Step::DestroyContext(number) => {
                self.end_waiting(Status::Destroyed, |plan| plan.context == Some(number));
                self.timeline.context_destroyed(&self.contexts[number]);
            }
            Step::Close(queue) => {
                self.is_closed[queue] = true;
                self.end_waiting(Status::Destroyed, |plan| plan.queue == queue);
                self.timeline.close(self.queues[queue].0.id);
            }
            Step::Take(takes) => {
                self.takes = takes;
                let shelves = self.queues.iter().filter_map(|(_, shelf)| shelf.as_ref());
                shelves.for_each(|shelf| shelf.refuses.store(!takes, Ordering::Relaxed));
            }
        }
        self.give_out();
        self.check();
    }

    fn end_waiting(&mut self, status: Status, is_it: impl Fn(&Plan) -> bool) {
        let waiting = self.known.iter_mut().filter(|known| known.life == Life::Waiting);
        waiting.filter(|known| is_it(&known.plan)).for_each(|known| known.life = Life::Over(Some(status)));
    }

    fn add(&mut self, mut plan: Plan) {
        let after = plan.after.filter(|_| !self.known.is_empty()).map(|after| after % self.known.len());
        plan.after = after;
        let queue = plan.queue;
        let result = self.timeline.add(self.queues[queue].0.id, CAPACITY, self.new_operation(&plan));
        let here = self.known.iter().filter(|known| known.plan.queue == queue);
        let is_full = here.filter(|known| !matches!(known.life, Life::Over(_))).count() >= CAPACITY;
        let error = match result {
            Err(error) => error.status,
            Ok(event) => {
                assert!(!self.is_closed[queue] && !is_full);
                let told = Arc::new(Mutex::new(Vec::new()));
                let heard = told.clone();
                event.on_complete(Box::new(move |status| heard.lock().unwrap().push(status))).unwrap();
                self.known.push(Known { plan, after, life: Life::Waiting, event, told });
                return;
            }
        };
        let expected = match (self.is_closed[queue], is_full) {
            (true, _) => Status::InvalidHandle,
            (_, true) => Status::QueueFull,
            _ => Status::Busy,
        };
        assert_eq!(error, expected);
        assert!(expected != Status::Busy || (!self.takes && self.queues[queue].1.is_some()));
    }

    fn new_operation(&self, plan: &Plan) -> New {
        let used = |(tensor, writes, is_whole): &(usize, bool, bool)| Use {
            tensor: self.tensors[*tensor].clone(),
            access: if *writes { Access::Write } else { Access::Read },
            is_read: !*writes,
            is_whole: *is_whole,
        };
        let range = self.tensors[0].range();
        let work = if plan.is_read { Work::Read { range, destination: range } } else { Work::Nothing };
        New {
            uses: plan.uses.iter().map(used).collect(),
            context: plan.context.map(|context| place(&self.contexts[context])),
            after: plan.after.map(|after| self.known[after].event.operation()).into_iter().collect(),
            ..New::of(work)
        }
    }

    fn begin(&mut self, queue: usize) {
        let Some(shelf) = self.queues[queue].1.clone() else {
            let expected = if self.running(queue).is_some() { None } else { self.ready(queue) };
            let job = self.timeline.try_next(self.queues[queue].0.id);
            return self.check_begun(expected, job);
        };
        let task = shelf.tasks.lock().unwrap().pop();
        assert_eq!(task.is_some(), self.has_task[queue]);
        let Some(task) = task else { return };
        self.has_task[queue] = false;
        let expected = self.ready(queue);
        let job = self.timeline.take_task(task);
        assert!(self.timeline.take_task(task).is_none(), "a task is for one operation");
        self.check_begun(expected, job);
    }

    fn check_begun(&mut self, expected: Option<usize>, job: Option<Job>) {
        let id = expected.map(|index| self.known[index].event.operation());
        assert_eq!(job.as_ref().map(|job| job.id), id);
        if let (Some(index), Some(job)) = (expected, job) {
            assert_eq!(
                job.refused.map(|error| error.status),
                self.is_refused(index).then_some(Status::Dependency),
                "operation {index}"
            );
            self.known[index].life = Life::Begun;
        }
    }

    fn settle(&mut self, queue: usize, ok: bool) {
        let Some(index) = self.running(queue) else { return };
        let is_ok = ok && !self.is_refused(index);
        self.known[index].life = Life::Over((!is_ok).then_some(Status::Io));
        let outcome = if is_ok { Outcome::default() } else { failure(Status::Io) };
        self.timeline.settle(self.known[index].event.operation(), outcome);
    }

    fn cancel(&mut self, index: usize) {
        let known = &mut self.known[index];
        let result = self.timeline.cancel(&known.event);
        match known.life {
            Life::Waiting => known.life = Life::Over(Some(Status::Cancelled)),
            Life::Begun => {
                assert!(known.event.cancelled().is_raised());
                // the engine of the test cannot stop
                assert_eq!(result.is_err(), known.plan.context.is_some());
                return;
            }
            Life::Over(_) => {}
        }
        assert!(result.is_ok());
    }

    // --- whether it is so ---

    fn check(&self) {
        for (index, known) in self.known.iter().enumerate() {
            let expected = match known.life {
                Life::Over(status) => vec![status],
                _ => Vec::new(),
            };
            let outcome = known.event.outcome().map(|outcome| outcome.status());
            assert_eq!(outcome.into_iter().collect::<Vec<_>>(), expected, "operation {index}");
            assert_eq!(*known.told.lock().unwrap(), expected, "the callback of operation {index}");
        }
        for (number, line) in self.contexts.iter().enumerate() {
            let is_it = |known: &Known| known.plan.context == Some(number) && !matches!(known.life, Life::Over(_));
            assert_eq!(line.is_queued(), self.known.iter().any(is_it));
        }
        for (number, (_, shelf)) in self.queues.iter().enumerate() {
            let tasks = shelf.as_ref().map_or(0, |shelf| shelf.tasks.lock().unwrap().len());
            assert_eq!(tasks, usize::from(self.has_task[number]), "tasks of queue {number}");
        }
        for (number, tensor) in self.tensors.iter().enumerate() {
            let is_it = |known: &&Known| {
                !matches!(known.life, Life::Over(_)) && known.plan.uses.iter().any(|used| used.0 == number)
            };
            let ids: BTreeSet<_> = self.known.iter().filter(is_it).map(|known| known.event.operation()).collect();
            let events = self.timeline.events_of_tensor(tensor).unwrap();
            assert_eq!(events.iter().map(|event| event.operation()).collect::<BTreeSet<_>>(), ids);
        }
    }

    /// All that waits comes to its end, and nothing is kept.
    fn drain(mut self) {
        self.take(Step::Take(true));
        while self.known.iter().any(|known| !matches!(known.life, Life::Over(_))) {
            let before: Vec<_> = self.known.iter().map(|known| known.life).collect();
            for queue in 0..QUEUES {
                self.take(Step::Begin(queue));
                self.take(Step::Settle(queue, true));
            }
            let now: Vec<_> = self.known.iter().map(|known| known.life).collect();
            assert_ne!(before, now, "nothing goes on");
        }
        for queue in 0..QUEUES {
            self.take(Step::Close(queue));
            assert_eq!(Arc::strong_count(&self.queues[queue].0), 1, "queue {queue} is kept");
        }
        assert!(self.tensors.iter().all(|tensor| Arc::strong_count(tensor) == 1));
        assert!(self.known.iter().all(|known| Arc::strong_count(&known.event) == 1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_is_that_of_a_plain_list(steps in prop::collection::vec(step(), 0..80)) {
        let mut world = World::new();
        steps.into_iter().for_each(|step| world.take(step));
        world.drain();
    }
}
