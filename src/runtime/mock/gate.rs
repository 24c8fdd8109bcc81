//! Gates with names, for the whole process: a run stands at one until another run opens it.
//!
//! Made of atomics and looking again now and then, since a race detector understands those also where the standard library
//! is not built for it.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Longer than any test needs; a test that gets here is wrong, and should say so instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);

const NAP: Duration = Duration::from_micros(100);

struct Gate {
    name: String,
    /// How many came.
    came: AtomicU64,
    /// How many of these were let through, first come, first let. The gate closes behind them.
    let_through: AtomicU64,
    next: *mut Gate,
}

/// All gates, newest first. They stay as long as the process.
static GATES: AtomicPtr<Gate> = AtomicPtr::new(null_mut());

/// Stands at the gate until it is opened.
pub fn wait(name: &str) {
    let gate = gate(name);
    let ticket = gate.came.fetch_add(1, Ordering::AcqRel);
    until(name, || gate.let_through.load(Ordering::Acquire) > ticket);
}

/// Returns when somebody stands at the gate.
pub fn await_somebody(name: &str) {
    let gate = gate(name);
    until(name, || gate.came.load(Ordering::Acquire) > gate.let_through.load(Ordering::Acquire));
}

/// Lets all through that stand there.
pub fn open(name: &str) {
    let gate = gate(name);
    gate.let_through.store(gate.came.load(Ordering::Acquire), Ordering::Release);
}

fn until(name: &str, done: impl Fn() -> bool) {
    let give_up = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < give_up, "gate '{name}': nobody came");
        std::thread::sleep(NAP);
    }
}

/// The gate of that name; a new one if there is none.
fn gate(name: &str) -> &'static Gate {
    let mut fresh: *mut Gate = null_mut();
    loop {
        let first = GATES.load(Ordering::Acquire);
        if let Some(found) = find(first, name) {
            if !fresh.is_null() {
                // SAFETY: made below, and never put into the list.
                drop(unsafe { Box::from_raw(fresh) });
            }
            return found;
        }
        if fresh.is_null() {
            let (came, let_through) = (AtomicU64::new(0), AtomicU64::new(0));
            fresh = Box::into_raw(Box::new(Gate { name: name.to_owned(), came, let_through, next: null_mut() }));
        }
        // SAFETY: nobody else knows it yet.
        unsafe { (*fresh).next = first };
        if GATES.compare_exchange(first, fresh, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            // SAFETY: what is in the list is never freed or changed.
            return unsafe { &*fresh };
        }
    }
}

fn find(mut next: *mut Gate, name: &str) -> Option<&'static Gate> {
    // SAFETY: what is in the list is never freed or changed.
    while let Some(gate) = unsafe { next.as_ref() } {
        if gate.name == name {
            return Some(gate);
        }
        next = gate.next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_opens_for_those_who_stand_there() {
        let waiter = std::thread::spawn(|| wait("a test's gate"));
        await_somebody("a test's gate");
        assert!(!waiter.is_finished());
        open("a test's gate");
        waiter.join().unwrap();
    }
}
