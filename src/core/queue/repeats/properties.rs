//! Any sequence of inferences, other operations and ends, against the plain list of what was put there.

use std::sync::Arc;

use proptest::prelude::*;

use super::super::Queue;
use super::super::stand_in::open;
use super::super::timeline::{Job, New, Timeline};
use super::super::work::Work;
use crate::base::Status;
use crate::core::event::{Event, Outcome};

const CAPACITY: usize = 6;
/// Stands in the list for an operation that is no inference.
const FENCE: u64 = 0;

#[derive(Clone, Debug)]
enum Step {
    /// An inference with this; with an event or without.
    Put(u64, bool),
    Fence,
    /// Somebody asks for the events of what is there now.
    WaitForAll,
    /// The queue's thread goes on, and takes so many repeats at once if it can.
    Work(usize),
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (1..3u64, prop::bool::weighted(0.1)).prop_map(|(number, has_event)| Step::Put(number, has_event)),
        1 => Just(Step::Fence),
        1 => Just(Step::WaitForAll),
        8 => (1..4usize).prop_map(Step::Work),
        1 => Just(Step::Close),
    ]
}

struct World {
    timeline: Timeline,
    queue: Arc<Queue>,
    running: Option<Job>,
    /// Repeats that were taken and are not known to be done.
    taken: usize,
    accepted: Vec<u64>,
    done: Vec<u64>,
    events: Vec<(Arc<Event>, usize)>,
    is_closed: bool,
}

impl World {
    fn new() -> World {
        let timeline = Timeline::default();
        let queue = open(&timeline, None).0;
        let (accepted, done, events) = Default::default();
        World { timeline, queue, running: None, taken: 0, accepted, done, events, is_closed: false }
    }

    fn put(&mut self, number: u64, has_event: bool) {
        let repeatable = (number != FENCE && !has_event).then_some(number);
        let is_repeated = repeatable.is_some_and(|number| self.timeline.repeat(self.queue.id, CAPACITY, number));
        let result = match is_repeated {
            true => Ok(None),
            false => {
                let after = vec![];
                let new = New { repeatable, after, ..New::of(Work::Nothing) };
                self.timeline.add(self.queue.id, CAPACITY, new).map(Some)
            }
        };
        let expected = match (self.is_closed, self.pending() >= CAPACITY) {
            (true, _) => Some(Status::InvalidHandle),
            (_, true) => Some(Status::QueueFull),
            _ => None,
        };
        assert_eq!(result.as_ref().err().map(|error| error.status), expected);
        let Ok(event) = result else { return };
        self.accepted.push(number);
        if let Some(event) = event.filter(|_| has_event) {
            self.events.push((event, self.accepted.len()));
        }
    }

    /// What is done, but for what is being done.
    fn over(&self) -> usize {
        self.done.len() - if self.running.is_some() { self.taken.max(1) } else { 0 }
    }

    fn pending(&self) -> usize {
        self.accepted.len() - self.over()
    }

    fn wait_for_all(&mut self) {
        let last = self.timeline.events_of_queue(self.queue.id).unwrap().pop();
        self.events.extend(last.map(|event| (event, self.accepted.len())));
    }

    fn work(&mut self, most: usize) {
        match self.running.take() {
            None => self.begin(),
            Some(job) => self.go_on(job, most),
        }
        self.check_events();
    }

    fn begin(&mut self) {
        let Some(job) = self.timeline.try_next(self.queue.id) else {
            assert!(self.is_closed || self.done.len() == self.accepted.len(), "something is left");
            return;
        };
        self.done.push(self.accepted[self.done.len()]);
        self.running = Some(job);
    }

    fn go_on(&mut self, job: Job, most: usize) {
        let taken = if job.is_repeatable { self.timeline.take_repeats(job.id, most) } else { None };
        self.taken = taken.map_or(0, |taken| taken.times);
        assert!(self.taken <= most);
        if self.taken == 0 {
            let id = job.id;
            drop(job);
            self.timeline.settle(id, Outcome::default());
            return;
        }
        let number = *self.done.last().expect("it has begun");
        self.done.extend(std::iter::repeat_n(number, self.taken));
        self.running = Some(job);
    }

    /// An event is settled when all that were put there until then are over, and by no more than those.
    fn check_events(&self) {
        let over = self.over();
        for (event, count) in &self.events {
            assert!(self.is_closed || event.is_settled() == (over >= *count), "{count} of {over}");
        }
    }

    fn close(&mut self) {
        self.is_closed = true;
        self.timeline.close(self.queue.id);
    }

    fn drain(&mut self) {
        while self.running.is_some() || !self.is_closed && self.done.len() < self.accepted.len() {
            self.work(3);
        }
        if !self.is_closed {
            assert_eq!((&self.done, self.pending()), (&self.accepted, 0));
        }
        assert_eq!(self.done, self.accepted[..self.done.len()], "in order");
        assert!(self.events.iter().all(|(event, _)| event.is_settled()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn repeats_are_operations_like_others(steps in prop::collection::vec(step(), 1..80)) {
        let mut world = World::new();
        for step in steps {
            match step {
                Step::Put(number, has_event) => world.put(number, has_event),
                Step::Fence => world.put(FENCE, true),
                Step::WaitForAll => world.wait_for_all(),
                Step::Work(most) if !world.is_closed => world.work(most),
                Step::Close if !world.is_closed => world.close(),
                Step::Work(_) | Step::Close => {}
            }
        }
        world.drain();
    }
}
