//! Every order of steps of those who repeat an inference, the thread that does it, and those who end it.

use std::sync::Arc;

use loom::thread::{JoinHandle, spawn};

use super::super::Queue;
use super::super::models::check;
use super::super::stand_in::{open, read, tensor, write};
use super::super::timeline::{New, Timeline};
use super::super::work::{Use, Work};
use crate::base::{Error, Status};
use crate::core::event::Outcome;
use crate::core::tensor::Tensor;
use crate::sync::Condvar;

const CAPTURED: u64 = 7;

struct World {
    timeline: Timeline,
    queue: Arc<Queue>,
    awake: Arc<Condvar>,
    tensor: Arc<Tensor>,
}

fn cancelled() -> Outcome {
    Outcome::failed(Error::new(Status::Cancelled, "before it started"))
}

fn world() -> Arc<World> {
    let timeline = Timeline::default();
    let (queue, awake) = open(&timeline, None);
    Arc::new(World { timeline, queue, awake, tensor: tensor() })
}

impl World {
    /// Puts an inference there once more; whether there was still a queue.
    fn put(&self) -> bool {
        if self.timeline.repeat(self.queue.id, 8, CAPTURED) {
            return true;
        }
        let uses = vec![Use::write(self.tensor.clone(), true)];
        let new = New { uses, repeatable: Some(CAPTURED), ..New::of(Work::Nothing) };
        self.timeline.add(self.queue.id, 8, new).is_ok()
    }

    /// The thread of the queue until it is closed; gives how many inferences it did.
    fn thread(self: &Arc<World>) -> JoinHandle<usize> {
        let world = self.clone();
        spawn(move || {
            let mut count = 0;
            while let Some(job) = world.timeline.next(world.queue.id, &world.awake) {
                let mut outcome = Outcome::default();
                let mut times = usize::from(job.is_repeatable);
                while times > 0 {
                    // an inference looks right before it starts
                    let is_done = !job.event.cancelled().is_raised();
                    count += if is_done { times } else { 0 };
                    outcome = if is_done { Outcome::default() } else { cancelled() };
                    times = world.timeline.take_repeats(job.id, 2).map_or(0, |taken| taken.times);
                }
                let id = job.id;
                drop(job);
                world.timeline.settle(id, outcome);
            }
            count
        })
    }
}

#[test]
fn loom_no_repeat_is_lost_or_done_twice() {
    check("no repeat is lost or done twice", Some(4), || {
        let world = world();
        let thread = world.thread();
        for _ in 0..3 {
            assert!(world.put());
        }
        let fence = world.timeline.add(world.queue.id, 8, New::of(Work::Nothing)).unwrap();
        fence.wait(None);
        world.timeline.close(world.queue.id);
        assert_eq!(thread.join().unwrap(), 3);
    });
}

#[test]
fn loom_a_closed_queue_ends_its_repeats() {
    check("a closed queue ends its repeats", None, || {
        let world = world();
        assert!(world.put() && world.put());
        let (reader, _) = open(&world.timeline, None);
        let event = world.timeline.add(reader.id, 8, read(&world.tensor)).unwrap();
        let thread = world.thread();
        world.timeline.close(world.queue.id);
        let count = thread.join().unwrap();
        assert!(count <= 2);
        // what reads the result finds out whether all of it was done
        let job = world.timeline.try_next(reader.id).expect("what it waited for is over");
        assert_eq!(job.refused.as_ref().map(|error| error.status), (count < 2).then_some(Status::Dependency));
        let id = job.id;
        drop(job);
        world.timeline.settle(id, Outcome::default());
        assert!(event.is_settled());
        world.timeline.close(reader.id);
    });
}

#[test]
fn loom_what_waits_for_it_waits_for_no_more() {
    check("what waits for it waits for no more", Some(3), || {
        let world = world();
        let thread = world.thread();
        assert!(world.put());
        let (other, _) = open(&world.timeline, None);
        let event = world.timeline.add(other.id, 8, write(&world.tensor)).unwrap();
        assert!(world.put());
        // the second inference comes after that, so the thread cannot have done both
        let fence = world.timeline.add(world.queue.id, 8, New::of(Work::Nothing)).unwrap();
        assert!(!fence.is_settled());
        let awake = world.timeline.try_next(other.id);
        if let Some(job) = awake {
            let id = job.id;
            drop(job);
            world.timeline.settle(id, Outcome::default());
            assert!(event.is_settled());
            fence.wait(None);
        }
        world.timeline.close(other.id);
        world.timeline.close(world.queue.id);
        thread.join().unwrap();
    });
}
