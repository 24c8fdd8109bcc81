//! What a request does to the run that it is for, and to no other.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use super::{Asked, Cause, Stop};
use crate::runtime::Canceller;

/// An engine's flag, as it would be seen by a run.
#[derive(Default)]
struct Flag(AtomicI32);

impl Canceller for Flag {
    fn cancel(&self) {
        self.0.store(1, Ordering::SeqCst);
    }

    fn clear(&self) {
        self.0.store(0, Ordering::SeqCst);
    }
}

fn stop() -> (Arc<Stop>, Arc<Flag>) {
    let flag = Arc::new(Flag::default());
    (Arc::new(Stop::new(Some(flag.clone()))), flag)
}

#[test]
fn without_a_run_nothing_is_asked() {
    let (stop, flag) = stop();
    assert_eq!(stop.current(), None);
    drop(stop.begin());
    assert_eq!(stop.current(), None);
    assert_eq!(stop.ask(1, Cause::Cancel), Asked::NoRun);
    assert_eq!(flag.0.load(Ordering::SeqCst), 0);
}

#[test]
fn the_first_cause_counts_and_the_flag_goes_with_the_run() {
    let (stop, flag) = stop();
    let running = stop.begin();
    let number = stop.current().unwrap();
    assert_eq!(running.cause(), None);
    assert_eq!(stop.ask(number, Cause::Deadline), Asked::Told);
    assert_eq!(stop.ask(number, Cause::Cancel), Asked::Told);
    assert_eq!(running.cause(), Some(Cause::Deadline));
    assert_eq!(flag.0.load(Ordering::SeqCst), 1);
    drop(running);
    assert_eq!(stop.current(), None);
    assert_eq!(stop.ask(number, Cause::Cancel), Asked::NoRun, "the run is over");
    let next = stop.begin();
    assert_eq!(flag.0.load(Ordering::SeqCst), 0, "before the engine is called");
    assert_eq!(stop.ask(number, Cause::Cancel), Asked::NoRun, "a request for the run before");
    assert_eq!(next.cause(), None);
}

#[test]
fn an_engine_that_cannot_stop_still_does_not_start() {
    let stop = Arc::new(Stop::new(None));
    assert!(!stop.can_stop());
    let running = stop.begin();
    assert_eq!(stop.ask(running.number(), Cause::Cancel), Asked::Told);
    assert_eq!(running.cause(), Some(Cause::Cancel));
}
