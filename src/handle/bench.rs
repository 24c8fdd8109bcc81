//! What the hot path costs. `cargo test --release --lib -- --ignored --nocapture handle::bench`

use super::{Kind, Table};
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

static TABLE: Table<(), u64> = Table::new(Kind::Context);

const TURNS: u32 = 2_000_000;
const ROUNDS: usize = 21;

fn median(mut of: impl FnMut() -> f64) -> f64 {
    let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| of()).collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

fn nanoseconds(mut turn: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..TURNS).for_each(|_| turn());
    start.elapsed().as_secs_f64() * 1e9 / f64::from(TURNS)
}

fn enter_and_leave(handle: usize) {
    let mut state = TABLE.enter_run(black_box(handle)).unwrap();
    *state = black_box(*state);
}

#[test]
#[ignore = "a measurement"]
fn one_thread() {
    let handle = TABLE.insert((), 1).unwrap();
    let run = median(|| nanoseconds(|| enter_and_leave(handle)));
    let pin = median(|| nanoseconds(|| drop(black_box(TABLE.pin(black_box(handle)).unwrap()))));
    let churn = median(|| nanoseconds(|| TABLE.destroy(TABLE.insert((), 1).unwrap()).unwrap()));
    println!("enter_run + drop {run:.2} ns, pin + drop {pin:.2} ns, insert + destroy {churn:.2} ns");
    TABLE.destroy(handle).unwrap();
}

#[test]
#[ignore = "a measurement"]
fn two_threads_on_two_slots() {
    let handles = [TABLE.insert((), 1).unwrap(), TABLE.insert((), 2).unwrap()];
    let together = Barrier::new(2);
    let measure = |handle| {
        median(|| {
            together.wait();
            nanoseconds(|| enter_and_leave(handle))
        })
    };
    thread::scope(|scope| {
        let threads = handles.map(|handle| scope.spawn(move || measure(handle)));
        for thread in threads {
            println!("enter_run + drop beside another {:.2} ns", thread.join().unwrap());
        }
    });
    for handle in handles {
        TABLE.destroy(handle).unwrap();
    }
}
