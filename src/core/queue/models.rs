//! Every order of steps of a few threads: those who put operations into queues, those who do them, those who end them early.
//!
//! A cell of loom's stands for the bytes of a tensor or for what the host keeps for its executor: loom reports any access that
//! is not ordered after the last exclusive one. A thread that sleeps for good is reported too, so a model that ends has lost
//! no wake-up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use loom::thread::{JoinHandle, spawn};

use super::stand_in::{open, place, read, tensor, write};
use super::timeline::{Job, New, Timeline};
use super::work::Work;
use super::{ContextLine, Executor, Queue};
use crate::base::Status;
use crate::core::event::{CancelFlag, Event, Outcome};
use crate::core::stop::{Cause, Stop};
use crate::sync::{Condvar, UnsafeCell};

/// Tries all orders, or those with few preemptions, which find what there is to find; says how many.
pub fn check(name: &str, preemptions: Option<usize>, body: impl Fn() + Sync + Send + 'static) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let mut model = loom::model::Builder::new();
    model.preemption_bound = preemptions;
    model.max_branches = 5000;
    model.check(move || {
        counted.fetch_add(1, Relaxed);
        body();
    });
    eprintln!("{name}: {} interleavings", count.load(Relaxed));
}

/// Memory that only loom watches.
struct Memory(UnsafeCell<u32>);

// SAFETY: that it is used rightly is what the models are about.
unsafe impl Sync for Memory {}
// SAFETY: as above.
unsafe impl Send for Memory {}

impl Memory {
    fn new() -> Arc<Memory> {
        Arc::new(Memory(UnsafeCell::new(0)))
    }

    fn get(&self) -> u32 {
        // SAFETY: loom looks.
        unsafe { *self.0.get().deref() }
    }

    fn set(&self, value: u32) {
        // SAFETY: loom looks.
        unsafe { *self.0.get_mut().deref() = value }
    }
}

/// A queue, and what its thread sleeps on.
type Lane = (Arc<Queue>, Arc<Condvar>);

#[derive(Clone)]
struct World {
    timeline: Arc<Timeline>,
    memory: Arc<Memory>,
}

impl World {
    fn new() -> World {
        World { timeline: Arc::default(), memory: Memory::new() }
    }

    fn lane(&self) -> Lane {
        open(&self.timeline, None)
    }

    fn add(&self, lane: &Lane, new: New) -> Arc<Event> {
        self.timeline.add(lane.0.id, 64, new).unwrap()
    }

    fn thread<R: 'static>(&self, body: impl FnOnce(&World) -> R + 'static) -> JoinHandle<R> {
        let world = self.clone();
        spawn(move || body(&world))
    }

    /// The thread of a queue, for one operation.
    fn one(&self, lane: &Lane, body: impl FnOnce(&World) + 'static) -> JoinHandle<()> {
        let lane = lane.clone();
        self.thread(move |world| {
            let job = world.timeline.next(lane.0.id, &lane.1).unwrap();
            body(world);
            world.end(job);
        })
    }

    /// The thread of a queue until it is closed; gives how many operations it did.
    fn all(&self, lane: &Lane) -> JoinHandle<usize> {
        let lane = lane.clone();
        self.thread(move |world| {
            let jobs = std::iter::from_fn(|| world.timeline.next(lane.0.id, &lane.1));
            jobs.inspect(|_| world.memory.set(1)).map(|job| world.end(job)).count()
        })
    }

    fn end(&self, job: Job) {
        let outcome = job.refused.clone().map_or_else(Outcome::default, Outcome::failed);
        let id = job.id;
        drop(job);
        self.timeline.settle(id, outcome);
    }
}

/// Counts the calls of a callback, which each must come with this.
fn count(event: &Event, allowed: &'static [Option<Status>]) -> Arc<AtomicUsize> {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let call = move |status| {
        assert!(allowed.contains(&status), "{status:?}");
        counted.fetch_add(1, Relaxed);
    };
    event.on_complete(Box::new(call)).unwrap();
    calls
}

const GOOD: &[Option<Status>] = &[None];
const GOOD_OR_CANCELLED: &[Option<Status>] = &[None, Some(Status::Cancelled)];
const GOOD_OR_DESTROYED: &[Option<Status>] = &[None, Some(Status::Destroyed)];

fn settle(event: &Event) {
    let audience = event.settle(Outcome::default());
    event.tell(audience);
}

#[test]
fn loom_event_settled_while_others_wait() {
    check("an event and two who wait", None, || {
        let event = Event::new(1, 1, false);
        let waiting = [(); 2].map(|()| {
            let event = event.clone();
            spawn(move || assert_eq!(event.wait(None).unwrap().status(), None))
        });
        settle(&event);
        waiting.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn loom_event_settled_while_a_callback_is_set() {
    check("an event, its callback and a second one", None, || {
        let event = Event::new(1, 1, false);
        let memory = Memory::new();
        let settler = {
            let (event, memory) = (event.clone(), memory.clone());
            spawn(move || {
                memory.set(1);
                settle(&event);
            })
        };
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = calls.clone();
        let call = move |status| {
            assert_eq!((status, memory.get()), (None, 1));
            counted.fetch_add(1, Relaxed);
        };
        event.on_complete(Box::new(call)).unwrap();
        assert!(event.on_complete(Box::new(|_| unreachable!())).is_err());
        settler.join().unwrap();
        assert_eq!(calls.load(Relaxed), 1);
    });
}

#[test]
fn loom_event_settled_while_it_is_looked_at() {
    check("an event and who looks without a lock", None, || {
        let event = Event::new(1, 1, false);
        let memory = Memory::new();
        let looker = {
            let (event, memory) = (event.clone(), memory.clone());
            spawn(move || {
                if event.is_settled() {
                    assert_eq!(memory.get(), 1);
                    assert_eq!(event.outcome().unwrap().status(), None);
                }
                assert!(event.outcome().is_none_or(|outcome| outcome.status().is_none()));
            })
        };
        memory.set(1);
        settle(&event);
        looker.join().unwrap();
    });
}

/// An operation that is asked not to happen before it can be found by its run, and one that begins just then.
#[test]
fn loom_cancelling_and_beginning_see_each_other() {
    check("a cancel and a run that begins", None, || {
        let flag = Arc::new(CancelFlag::new());
        let stop = Arc::new(Stop::new(None));
        let asker = {
            let (flag, stop) = (flag.clone(), stop.clone());
            spawn(move || {
                flag.raise();
                if let Some(run) = stop.current() {
                    stop.ask(run, Cause::Cancel);
                }
            })
        };
        let running = stop.begin();
        let is_seen = flag.is_raised();
        asker.join().unwrap();
        assert!(is_seen || running.cause() == Some(Cause::Cancel), "neither saw the other");
    });
}

/// The second write comes after the first is settled, and after its bytes.
#[test]
fn loom_two_queues_write_one_tensor() {
    check("two queues write", None, || {
        let world = World::new();
        let tensor = tensor();
        let (first, second) = (world.lane(), world.lane());
        let one = world.add(&first, write(&tensor));
        let writer = world.one(&first, |world| world.memory.set(world.memory.get() + 1));
        let other = {
            let one = one.clone();
            world.one(&second, move |world| {
                assert!(one.is_settled());
                assert_eq!(world.memory.get(), 1);
                world.memory.set(2);
            })
        };
        let two = world.add(&second, write(&tensor));
        assert_eq!(two.wait(None).unwrap().status(), None);
        assert_eq!(world.memory.get(), 2);
        writer.join().unwrap();
        other.join().unwrap();
    });
}

#[test]
fn loom_a_queue_reads_what_another_writes() {
    check("a write, a read and a write", None, || {
        let world = World::new();
        let tensor = tensor();
        let (first, second) = (world.lane(), world.lane());
        world.add(&first, write(&tensor));
        world.add(&second, read(&tensor));
        let last = world.add(&first, write(&tensor));
        let reader = world.one(&second, |world| assert_eq!(world.memory.get(), 1));
        for value in 1..=2 {
            let job = world.timeline.next(first.0.id, &first.1).unwrap();
            world.memory.set(value);
            world.end(job);
        }
        assert!(last.is_settled());
        reader.join().unwrap();
    });
}

/// The one in the middle is cancelled; the last still waits for the first.
#[test]
fn loom_a_cancelled_write_leaves_the_order() {
    check("three writes, the middle one cancelled", None, || {
        let world = World::new();
        let tensor = tensor();
        let (first, second, third) = (world.lane(), world.lane(), world.lane());
        world.add(&first, write(&tensor));
        let middle = world.add(&second, write(&tensor));
        world.add(&third, write(&tensor));
        let writer = world.one(&first, |world| world.memory.set(1));
        let last = world.one(&third, |world| {
            assert_eq!(world.memory.get(), 1);
            world.memory.set(2);
        });
        world.timeline.cancel(&middle).unwrap();
        assert_eq!(middle.outcome().unwrap().status(), Some(Status::Cancelled));
        writer.join().unwrap();
        last.join().unwrap();
        assert_eq!(world.memory.get(), 2);
    });
}

/// One context on two queues, whose operation in the middle is destroyed with its queue.
#[test]
fn loom_a_context_runs_one_operation_at_a_time() {
    check("a context on three queues, one closed", None, || {
        let world = World::new();
        let line = Arc::<ContextLine>::default();
        let run = || New { context: Some(place(&line)), ..New::of(Work::Nothing) };
        let (first, second, third) = (world.lane(), world.lane(), world.lane());
        world.add(&first, run());
        world.add(&second, run());
        world.add(&third, run());
        let runner = world.one(&first, |world| world.memory.set(1));
        let last = world.one(&third, |world| world.memory.set(2));
        world.timeline.close(second.0.id);
        runner.join().unwrap();
        last.join().unwrap();
        assert_eq!(world.memory.get(), 2);
        assert!(!line.is_queued(), "the context is free before the event is settled");
    });
}

#[test]
fn loom_enqueue_and_close_wake_the_thread() {
    check("enqueue, close and sleep", None, || {
        let world = World::new();
        let lane = world.lane();
        let worker = world.all(&lane);
        let event = world.add(&lane, New::of(Work::Nothing));
        let calls = count(&event, GOOD_OR_DESTROYED);
        world.timeline.close(lane.0.id);
        let done = worker.join().unwrap();
        let outcome = event.outcome().expect("the thread ends after the last operation");
        assert_eq!(done, usize::from(outcome.status().is_none()), "what is destroyed does not run");
        assert_eq!(calls.load(Relaxed), 1);
        assert_eq!(Arc::strong_count(&lane.0), 1);
    });
}

#[test]
fn loom_cancel_while_it_begins_and_ends() {
    check("cancel, begin and end", None, || {
        let world = World::new();
        let lane = world.lane();
        let event = world.add(&lane, New::of(Work::Nothing));
        let fence = world.add(&lane, New::of(Work::Nothing));
        let calls = count(&event, GOOD_OR_CANCELLED);
        let after = event.clone();
        let heard = count(&fence, GOOD);
        let worker = {
            let lane = lane.clone();
            world.thread(move |world| {
                let mut done = 0;
                while !fence.is_settled() {
                    let job = world.timeline.next(lane.0.id, &lane.1).unwrap();
                    world.memory.set(1);
                    world.end(job);
                    done += 1;
                }
                assert!(after.is_settled(), "a fence is settled when all before it is");
                done
            })
        };
        world.timeline.cancel(&event).unwrap();
        let done = worker.join().unwrap();
        assert_eq!(done, 1 + usize::from(event.outcome().unwrap().status().is_none()));
        assert_eq!([calls.load(Relaxed), heard.load(Relaxed)], [1, 1]);
    });
}

#[test]
fn loom_destroying_a_tensor_and_beginning_its_read() {
    check("a tensor is destroyed while its read begins", None, || {
        let world = World::new();
        let tensor = tensor();
        let lane = world.lane();
        let event = world.add(&lane, read(&tensor));
        let calls = count(&event, GOOD_OR_DESTROYED);
        let destroyer = {
            let tensor = tensor.clone();
            world.thread(move |world| world.timeline.tensor_destroyed(&tensor))
        };
        let ran = world.timeline.try_next(lane.0.id).map(|job| world.end(job)).is_some();
        destroyer.join().unwrap();
        assert_eq!(event.outcome().unwrap().status().is_none(), ran);
        assert_eq!(calls.load(Relaxed), 1);
        assert_eq!(Arc::strong_count(&tensor), 1);
    });
}

#[test]
fn loom_destroying_context_and_queue_and_beginning() {
    check("context and queue are destroyed while a run begins", None, || {
        let world = World::new();
        let line = Arc::<ContextLine>::default();
        let lane = world.lane();
        let event = world.add(&lane, New { context: Some(place(&line)), ..New::of(Work::Nothing) });
        let calls = count(&event, GOOD_OR_DESTROYED);
        let destroyer = {
            let line = line.clone();
            world.thread(move |world| world.timeline.context_destroyed(&line))
        };
        let worker = world.all(&lane);
        world.timeline.close(lane.0.id);
        destroyer.join().unwrap();
        let done = worker.join().unwrap();
        assert_eq!(done, usize::from(event.outcome().unwrap().status().is_none()));
        assert_eq!(calls.load(Relaxed), 1);
        assert!(!line.is_queued());
    });
}

/// An executor that only keeps the number; its memory is the host's, who takes it away when it may.
struct Shelf {
    memory: Arc<Memory>,
    task: Arc<AtomicUsize>,
    takes: bool,
}

impl Executor for Shelf {
    fn submit(&self, task: usize) -> bool {
        assert_eq!(self.memory.get(), 0, "the executor is gone");
        self.task.store(task, Relaxed);
        self.takes
    }
}

/// A queue with such an executor, and its task.
fn shelf(world: &World, takes: bool) -> (Lane, Arc<AtomicUsize>) {
    let task = Arc::new(AtomicUsize::new(0));
    let executor = Shelf { memory: world.memory.clone(), task: task.clone(), takes };
    (open(&world.timeline, Some(Box::new(executor))), task)
}

#[test]
fn loom_a_task_is_for_one_operation() {
    check("a task run twice and a cancel", None, || {
        let world = World::new();
        let (lane, task) = shelf(&world, true);
        let event = world.add(&lane, New::of(Work::Nothing));
        let calls = count(&event, GOOD_OR_CANCELLED);
        let number = task.load(Relaxed);
        let run = move |world: &World| world.timeline.take_task(number).map(|job| world.end(job)).is_some();
        let other = world.thread(run);
        let third = {
            let event = event.clone();
            world.thread(move |world| world.timeline.cancel(&event).unwrap())
        };
        let runs = [run(&world), other.join().unwrap()];
        third.join().unwrap();
        let done = runs.iter().filter(|ran| **ran).count();
        assert_eq!(done, usize::from(event.outcome().unwrap().status().is_none()));
        assert_eq!(calls.load(Relaxed), 1);
        assert!(!run(&world), "a late run does nothing");
    });
}

/// Another queue's operation sets one free while its queue is destroyed: once all is settled, the executor is the host's.
fn executor_goes(name: &str, takes: bool, is_cancelled: bool) {
    check(name, None, move || {
        let world = World::new();
        let tensor = tensor();
        let first = world.lane();
        let (second, _) = shelf(&world, takes);
        let before = world.add(&first, write(&tensor));
        let event = world.add(&second, write(&tensor));
        let worker = world.thread(move |world| {
            let job = world.timeline.try_next(first.0.id).unwrap();
            world.end(job);
        });
        if is_cancelled {
            world.timeline.cancel(&event).unwrap();
        }
        world.timeline.close(second.0.id);
        let status = event.wait(None).unwrap().status();
        assert!([Some(Status::Destroyed), Some(Status::Cancelled)].contains(&status));
        world.memory.set(1);
        worker.join().unwrap();
        assert!(before.is_settled());
        assert_eq!(Arc::strong_count(&second.0), 1);
    });
}

#[test]
fn loom_no_call_to_an_executor_after_the_end() {
    executor_goes("a queue is destroyed while its task is given out", true, false);
}

#[test]
fn loom_no_call_to_an_executor_after_a_cancel_and_the_end() {
    executor_goes("cancelled and destroyed while its task is given out", true, true);
}

#[test]
fn loom_an_executor_that_refuses_while_its_queue_goes() {
    executor_goes("a queue is destroyed while its task is refused", false, false);
}

/// Whoever sees the event settled can run the context without a queue.
#[test]
fn loom_a_context_is_free_once_its_event_is_settled() {
    check("a context that becomes free", None, || {
        let world = World::new();
        let line = Arc::<ContextLine>::default();
        let lane = world.lane();
        let event = world.add(&lane, New { context: Some(place(&line)), ..New::of(Work::Nothing) });
        let worker = world.one(&lane, |_| {});
        if event.is_settled() {
            assert!(!line.is_queued());
        }
        event.wait(None).unwrap();
        assert!(!line.is_queued());
        worker.join().unwrap();
    });
}
