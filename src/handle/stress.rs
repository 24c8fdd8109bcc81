//! Real threads that destroy, reuse and enter the same few handles.

use super::{Refused, Table};
use crate::base::Kind;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;

const THREADS: u64 = 4;
const ROUNDS: u32 = 400_000;
const HANDLES: usize = 3;

static TABLE: Table<Shared, State> = Table::new(Kind::Event);
static INSERTED: AtomicU32 = AtomicU32::new(0);
static DROPPED: AtomicU32 = AtomicU32::new(0);

const ALIVE: u32 = 0xA11F_E000;

struct Shared(u32);

/// Two numbers that only an undisturbed owner keeps equal.
struct State {
    one: u64,
    other: u64,
}

impl Drop for Shared {
    fn drop(&mut self) {
        assert_eq!(self.0, ALIVE);
        self.0 = 0;
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for State {
    fn drop(&mut self) {
        assert_eq!(self.one, self.other);
        self.one = u64::MAX;
    }
}

fn insert() -> usize {
    INSERTED.fetch_add(1, Ordering::Relaxed);
    TABLE.insert(Shared(ALIVE), State { one: 0, other: 0 }).unwrap()
}

fn change(state: &mut State) {
    state.one += 1;
    assert_eq!(state.one, state.other + 1);
    state.other += 1;
}

/// Destroying leaves the place to whoever won, who puts a new handle there.
fn step(place: &AtomicUsize, choice: u64) -> Result<(), Refused> {
    let handle = place.load(Ordering::Relaxed);
    match choice % 8 {
        0 | 1 => TABLE.destroy(handle)?,
        2 => assert_eq!(TABLE.retire(handle)?.0, ALIVE),
        3 => {
            assert_eq!(TABLE.pin(handle)?.0, ALIVE);
            return Ok(());
        }
        4 | 5 => {
            change(&mut *TABLE.enter_short(handle)?);
            return Ok(());
        }
        _ => {
            let mut run = TABLE.enter_run(handle)?;
            change(&mut run);
            assert_eq!(run.shared().0, ALIVE);
            return Ok(());
        }
    }
    place.store(insert(), Ordering::Relaxed);
    Ok(())
}

fn work(places: &[AtomicUsize; HANDLES], seed: u64) {
    let mut random = seed;
    for _ in 0..ROUNDS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let place = &places[(random >> 32) as usize % HANDLES];
        let answer = step(place, random >> 8);
        assert_ne!(answer, Err(Refused::Poisoned));
    }
}

#[test]
fn nothing_is_lost_or_dropped_twice() {
    let places = [(); HANDLES].map(|()| AtomicUsize::new(insert()));
    thread::scope(|scope| {
        for seed in 1..=THREADS {
            let places = &places;
            scope.spawn(move || work(places, seed * 0x9E37_79B9));
        }
    });
    for place in &places {
        assert_eq!(TABLE.destroy(place.load(Ordering::Relaxed)), Ok(()));
    }
    assert_eq!(DROPPED.load(Ordering::Relaxed), INSERTED.load(Ordering::Relaxed));
}
