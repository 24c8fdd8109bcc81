//! Every interleaving of a run, its end and a request, by loom.

use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use std::sync::Arc;

use super::{Cause, Stop};
use crate::runtime::Canceller;

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
        let first = stop.begin();
        let number = first.number();
        let threads: Vec<_> = (0..askers)
            .map(|asker| {
                let stop = stop.clone();
                let cause = if asker == 0 { Cause::Cancel } else { Cause::Deadline };
                thread::spawn(move || stop.ask(number, cause))
            })
            .collect();
        drop(first);
        let second = stop.begin();
        assert_eq!(flag.0.load(Ordering::Relaxed), 0, "the flag of the first run is still up");
        assert_eq!(second.cause(), None);
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
