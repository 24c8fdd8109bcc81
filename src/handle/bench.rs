//! What the hot path costs. `cargo test --release --lib -- --ignored --nocapture handle::bench`

use super::Table;
use crate::base::Kind;
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
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

/// The least that any lock costs on this machine: one atomic step in, one out.
fn two_bare_steps(word: &AtomicU64) {
    let word = black_box(word);
    let entered = word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
    black_box(entered.unwrap());
    black_box(word.fetch_sub(1, Ordering::Release));
}

fn enter_and_leave(handle: usize) {
    let mut state = TABLE.enter_run(black_box(handle)).unwrap();
    *state = black_box(*state);
}

#[test]
#[ignore = "a measurement"]
fn one_thread() {
    let handle = TABLE.insert((), 1).unwrap();
    let word = AtomicU64::new(0);
    let bare = median(|| nanoseconds(|| two_bare_steps(&word)));
    println!("two bare atomic steps {bare:.2} ns");
    let run = median(|| nanoseconds(|| enter_and_leave(handle)));
    let pin = median(|| nanoseconds(|| drop(black_box(TABLE.pin(black_box(handle)).unwrap()))));
    let churn = median(|| nanoseconds(|| TABLE.destroy(TABLE.insert((), 1).unwrap()).unwrap()));
    println!("enter_run + drop {run:.2} ns, pin + drop {pin:.2} ns, insert + destroy {churn:.2} ns");
    TABLE.destroy(handle).unwrap();
}

/// Both threads take the same turns at the same time, each with its own item.
fn side_by_side<T: Sync>(name: &str, items: &[T; 2], turn: impl Fn(&T) + Sync) {
    let together = Barrier::new(2);
    let measure = |item| {
        median(|| {
            together.wait();
            nanoseconds(|| turn(item))
        })
    };
    thread::scope(|scope| {
        let threads = items.each_ref().map(|item| scope.spawn(|| measure(item)));
        let [one, other] = threads.map(|thread| thread.join().unwrap());
        println!("two threads, {name} {one:.2} and {other:.2} ns");
    });
}

#[repr(align(128))]
struct Apart(AtomicU64);

#[test]
#[ignore = "a measurement"]
fn two_threads() {
    let words = [0, 0].map(|word| Apart(AtomicU64::new(word)));
    side_by_side("two bare atomic steps", &words, |word| two_bare_steps(&word.0));
    let handles = [1, 2].map(|state| TABLE.insert((), state).unwrap());
    side_by_side("enter_run + drop", &handles, |&handle| enter_and_leave(handle));
    for handle in handles {
        TABLE.destroy(handle).unwrap();
    }
}
