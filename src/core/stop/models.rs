//! Every interleaving of a run, its end and a request, by loom.

use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use std::sync::Arc;

use super::{Asked, Cause, Stop};
use crate::runtime::Canceller;
use crate::sync::{serve_until, use_asymmetric_barrier};

/// The engine's flag.
struct Flag(AtomicU32);

impl Canceller for Flag {
    fn cancel(&self) {
        self.0.store(1, Ordering::Relaxed);
    }

    fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// Runs twice while `askers` ask the first run to stop: the second run never sees the flag of the first.
fn two_runs(askers: usize, most_preemptions: Option<usize>) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = most_preemptions;
    model.check(move || {
        let flag = Arc::new(Flag(AtomicU32::new(0)));
        let stop = Arc::new(Stop::new(Some(flag.clone())));
        let over = Arc::new(AtomicU32::new(0));
        let first = stop.begin();
        let number = first.number();
        let threads: Vec<_> = (0..askers)
            .map(|asker| {
                let (stop, over) = (stop.clone(), over.clone());
                let cause = if asker == 0 { Cause::Cancel } else { Cause::Deadline };
                thread::spawn(move || {
                    stop.ask(number, cause);
                    over.fetch_add(1, Ordering::Release);
                })
            })
            .collect();
        drop(first);
        let second = stop.begin();
        assert_eq!(flag.0.load(Ordering::Relaxed), 0, "the flag of the first run is still up");
        assert_eq!(second.cause(), None);
        serve_until(|| over.load(Ordering::Acquire) == askers as u32);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(flag.0.load(Ordering::Relaxed), 0, "a late request hit the second run");
        assert_eq!(second.cause(), None);
    });
}

#[test]
fn loom_a_request_is_for_one_run() {
    two_runs(1, None);
}

#[test]
fn loom_two_requests_are_for_one_run() {
    // all of them take many minutes with three threads
    two_runs(2, Some(4));
}

/// The same with the barrier that one side need not do anything for.
#[test]
fn loom_a_request_is_for_one_run_with_the_asymmetric_barrier() {
    use_asymmetric_barrier(true);
    two_runs(1, Some(3));
}

/// The control of that.
#[test]
#[should_panic(expected = "the second run")]
fn loom_finds_an_asymmetric_barrier_that_is_missing() {
    use_asymmetric_barrier(false);
    two_runs(1, None);
}

/// One asks the first run, and another one whichever it finds: what is for the second is not forgotten with the first.
fn a_request_for_the_next_run() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let flag = Arc::new(Flag(AtomicU32::new(0)));
        let stop = Arc::new(Stop::new(Some(flag.clone())));
        let over = Arc::new(AtomicU32::new(0));
        let ask = |is_for: Option<u64>, cause| {
            let (stop, over) = (stop.clone(), over.clone());
            thread::spawn(move || {
                let number = is_for.or_else(|| stop.current());
                let asked = number.map(|number| (number, stop.ask(number, cause)));
                over.fetch_add(1, Ordering::Release);
                asked
            })
        };
        let first = stop.begin();
        let askers = [ask(Some(first.number()), Cause::Cancel), ask(None, Cause::Deadline)];
        drop(first);
        let second = stop.begin();
        if flag.0.load(Ordering::Relaxed) == 1 {
            assert_eq!(second.cause_told(), Cause::Deadline, "the flag of the first run is still up");
        }
        serve_until(|| over.load(Ordering::Acquire) == 2);
        let [_, any] = askers.map(|asker| asker.join().unwrap());
        let is_told = any == Some((second.number(), Asked::Told));
        assert_eq!(flag.0.load(Ordering::Relaxed) == 1, is_told, "{any:?}");
        assert_eq!(second.cause(), is_told.then_some(Cause::Deadline), "{any:?}");
        drop(second);
        let third = stop.begin();
        assert_eq!((flag.0.load(Ordering::Relaxed), third.cause()), (0, None));
    });
}

#[test]
fn loom_a_request_for_the_next_run_is_not_forgotten() {
    a_request_for_the_next_run();
}

#[test]
fn loom_a_request_for_a_run_that_goes_on_is_seen() {
    loom::model(|| {
        let flag = Arc::new(Flag(AtomicU32::new(0)));
        let stop = Arc::new(Stop::new(Some(flag.clone())));
        let running = stop.begin();
        let number = running.number();
        let asker = {
            let stop = stop.clone();
            thread::spawn(move || stop.ask(number, Cause::Cancel))
        };
        asker.join().unwrap();
        assert_eq!(running.cause(), Some(Cause::Cancel));
        assert_eq!(flag.0.load(Ordering::Relaxed), 1);
    });
}
