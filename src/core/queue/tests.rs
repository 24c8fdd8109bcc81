//! Calls that come back into the timeline: executors that run a task at once, callbacks, releases.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use super::stand_in::{open, read, tensor, write};
use super::timeline::{New, Timeline};
use super::work::{Use, Work};
use super::worker::{Inside, is_inside, work};
use super::{Executor, OpId};
use crate::base::{Error, Status};
use crate::core::event::Outcome;
use crate::core::release::Release;
use crate::core::tensor::Tensor;

/// Lives as long as the program, so that an executor can know it.
fn timeline() -> &'static Timeline {
    Box::leak(Box::default())
}

/// Runs each task inside `submit`, and says that it took it, or that it did not.
struct AtOnce(&'static Timeline, bool);

impl Executor for AtOnce {
    fn submit(&self, task: usize) -> bool {
        if let Some(job) = self.0.take_task(task) {
            work(self.0, job);
        }
        self.1
    }
}

fn run(timeline: &Timeline, queue: u64) -> OpId {
    let job = timeline.try_next(queue).unwrap();
    let id = job.id;
    work(timeline, job);
    id
}

/// Fails instead of waiting for good.
fn in_time(body: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    let thread = std::thread::Builder::new().stack_size(512 << 10);
    let thread = thread.spawn(move || {
        body();
        let _ = done.send(());
    });
    is_done.recv_timeout(Duration::from_secs(60)).expect("it hangs or failed");
    thread.unwrap().join().unwrap();
}

#[test]
fn an_executor_that_runs_at_once_needs_no_deeper_stack_for_more_operations() {
    in_time(|| {
        let timeline = timeline();
        let (first, _) = open(timeline, None);
        let others = [(); 2].map(|()| open(timeline, Some(Box::new(AtOnce(timeline, true)))).0);
        let tensor = tensor();
        let gate = timeline.add(first.id, 1, write(&tensor)).unwrap();
        let mut events = Vec::new();
        for number in 0..4000 {
            // in turn: each sets free one of the other queue
            events.push(timeline.add(others[number % 2].id, usize::MAX, write(&tensor)).unwrap());
        }
        assert!(!events[0].is_settled());
        run(timeline, first.id);
        assert!(gate.is_settled() && events.iter().all(|event| event.is_settled()));
    });
}

#[test]
fn a_task_that_was_run_was_taken() {
    let timeline = timeline();
    let (queue, _) = open(timeline, Some(Box::new(AtOnce(timeline, false))));
    let event = timeline.add(queue.id, 1, New::of(Work::Nothing)).unwrap();
    assert_eq!(event.outcome().unwrap().status(), None);
}

/// A queue that is closed from inside its executor settles what waits when the executor has returned.
struct Closing(&'static Timeline, OnceLock<u64>);

impl Executor for Arc<Closing> {
    fn submit(&self, _: usize) -> bool {
        self.0.close(self.1.get().copied().unwrap());
        assert_eq!(
            self.0.events_of_queue(self.1.get().copied().unwrap()).unwrap().len(),
            1,
            "the host may be done with it"
        );
        true
    }
}

#[test]
fn an_executor_is_needed_until_it_has_returned() {
    let timeline = timeline();
    let executor = Arc::new(Closing(timeline, OnceLock::new()));
    let (queue, _) = open(timeline, Some(Box::new(executor.clone())));
    executor.1.set(queue.id).unwrap();
    let event = timeline.add(queue.id, 1, New::of(Work::Nothing)).unwrap();
    assert_eq!(event.outcome().unwrap().status(), Some(Status::Destroyed));
    assert_eq!(Arc::strong_count(&queue), 1);
}

/// A tensor whose release uses the timeline.
fn noisy_tensor(timeline: &'static Timeline, releases: &Arc<AtomicUsize>) -> Arc<Tensor> {
    let releases = releases.clone();
    let release = move || {
        timeline.new_id();
        releases.fetch_add(1, Ordering::SeqCst);
    };
    let memory = tensor();
    Tensor::wrap(*memory.desc(), memory.range(), Release::new(release))
}

#[test]
fn what_a_full_queue_refuses_is_let_go_without_the_lock() {
    in_time(|| {
        let timeline = timeline();
        let (queue, _) = open(timeline, None);
        let releases = Arc::new(AtomicUsize::new(0));
        let last = noisy_tensor(timeline, &releases);
        timeline.add(queue.id, 1, New::of(Work::Nothing)).unwrap();
        let refused = New { uses: vec![Use::read(last)], ..New::of(Work::Nothing) };
        assert_eq!(timeline.add(queue.id, 1, refused).err().unwrap().status, Status::QueueFull);
        assert_eq!(releases.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn what_an_operation_held_is_gone_when_its_callback_comes() {
    in_time(|| {
        let timeline = timeline();
        let (queue, _) = open(timeline, None);
        let releases = Arc::new(AtomicUsize::new(0));
        let ends: [fn(&Timeline, u64); 2] =
            [|timeline, queue| assert_ne!(run(timeline, queue), 0), |timeline, queue| timeline.close(queue)];
        for (number, end) in ends.into_iter().enumerate() {
            let new = New { uses: vec![Use::read(noisy_tensor(timeline, &releases))], ..New::of(Work::Nothing) };
            let event = timeline.add(queue.id, 1, new).unwrap();
            let seen = releases.clone();
            let check = move |_| assert_eq!(seen.load(Ordering::SeqCst), number + 1);
            event.on_complete(Box::new(check)).unwrap();
            end(timeline, queue.id);
            assert!(event.is_settled());
        }
    });
}

#[test]
fn a_tensor_that_is_read_and_written_must_have_been_written_well() {
    let timeline = timeline();
    let (queue, _) = open(timeline, None);
    let tensor = tensor();
    let failed = timeline.add(queue.id, 9, write(&tensor)).unwrap();
    let job = timeline.try_next(queue.id).unwrap();
    timeline.settle(job.id, Outcome::failed(Error::new(Status::Io, "no luck")));
    assert!(failed.is_settled());
    let both = Use { is_read: true, ..Use::write(tensor.clone(), true) };
    let news = [New { uses: vec![both], ..New::of(Work::Nothing) }, read(&tensor), write(&tensor), read(&tensor)];
    let events = news.map(|new| timeline.add(queue.id, 9, new).unwrap());
    for _ in 0..4 {
        run(timeline, queue.id);
    }
    let statuses = events.map(|event| event.outcome().unwrap().status());
    assert_eq!(statuses, [Some(Status::Dependency), Some(Status::Dependency), None, None]);
}

#[test]
fn a_thread_is_inside_all_queues_that_called_it() {
    assert!(!is_inside(1));
    let outer = Inside::queue(1);
    {
        let _inner = Inside::queue(2);
        assert!(is_inside(1) && is_inside(2));
    }
    assert!(is_inside(1) && !is_inside(2));
    drop(outer);
    assert!(!is_inside(1));
}

/// The callback of one queue may wait for what its operation set free in another.
#[test]
fn a_callback_may_wait_for_another_queue() {
    in_time(|| {
        let timeline = timeline();
        let (first, _) = open(timeline, None);
        let (second, _) = open(timeline, Some(Box::new(AtOnce(timeline, true))));
        let tensor = tensor();
        let event = timeline.add(first.id, 1, write(&tensor)).unwrap();
        let next = timeline.add(second.id, 1, write(&tensor)).unwrap();
        let wait = move |_| assert_eq!(next.wait(None).unwrap().status(), None);
        event.on_complete(Box::new(wait)).unwrap();
        run(timeline, first.id);
    });
}
