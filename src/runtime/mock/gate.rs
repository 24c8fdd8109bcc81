//! Gates with names, for the whole process: a run stands at one until another run opens it.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// Longer than any test needs; a test that gets here is wrong, and should say so instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Gate {
    /// How many stand there now.
    waiting: u32,
    /// How often it was opened; each opening lets all through that stand there, and closes behind them.
    opened: u64,
}

static GATES: Mutex<Option<HashMap<String, Gate>>> = Mutex::new(None);
static CHANGED: Condvar = Condvar::new();

/// Stands at the gate until it is opened.
pub fn wait(name: &str) {
    let mut seen = None;
    until(name, |gate| {
        let ticket = *seen.get_or_insert_with(|| {
            gate.waiting += 1;
            gate.opened
        });
        gate.opened > ticket
    });
}

/// Returns when somebody stands at the gate.
pub fn await_somebody(name: &str) {
    until(name, |gate| gate.waiting > 0);
}

/// Lets all through that stand there.
pub fn open(name: &str) {
    until(name, |gate| {
        gate.opened += 1;
        gate.waiting = 0;
        true
    });
}

fn until(name: &str, mut done: impl FnMut(&mut Gate) -> bool) {
    let give_up = Instant::now() + PATIENCE;
    let mut gates = GATES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    loop {
        let gate = gates.get_or_insert_default().entry(name.to_owned()).or_default();
        let is_done = done(gate);
        // any call may have changed what others wait for
        CHANGED.notify_all();
        if is_done {
            return;
        }
        let left = give_up.saturating_duration_since(Instant::now());
        let (again, _) = CHANGED.wait_timeout(gates, left).unwrap_or_else(|poisoned| poisoned.into_inner());
        gates = again;
        assert!(Instant::now() < give_up, "gate '{name}': nobody came");
    }
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
