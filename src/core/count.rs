//! How many objects of each kind are alive, so that a host can prove that it leaks none.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::Kind;

static LIVE: [AtomicU64; 6] = [const { AtomicU64::new(0) }; 6];

/// Objects of a kind that exist now, whether a handle to them does or not; 0 for an unknown kind.
pub fn live(kind: i32) -> u64 {
    let counter = usize::try_from(kind).ok().and_then(|index| LIVE.get(index));
    counter.map_or(0, |counter| counter.load(Ordering::Acquire))
}

/// Part of every counted object: counts it from creation to drop.
#[derive(Debug)]
pub struct Counted(Kind);

impl Counted {
    pub fn new(kind: Kind) -> Counted {
        LIVE[kind as usize].fetch_add(1, Ordering::AcqRel);
        Counted(kind)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        LIVE[self.0 as usize].fetch_sub(1, Ordering::AcqRel);
    }
}
