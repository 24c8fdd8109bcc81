//! Which slots are free. Oldest first, so that a slot rests as long as possible and stale handles stay recognizable.

use super::chunks::Chunks;
use super::layout::Layout;
use super::slot::Slot;
use crate::sync::Ordering;

const NONE: u32 = u32::MAX;

/// A queue threaded through the slots themselves, then the slots that were never used.
#[derive(Debug)]
pub struct FreeList {
    oldest: u32,
    newest: u32,
    unused: u32,
    end: u32,
}

impl FreeList {
    pub const fn new() -> Self {
        Self { oldest: NONE, newest: NONE, unused: 0, end: 0 }
    }

    pub const fn is_empty(&self) -> bool {
        self.oldest == NONE && self.unused == self.end
    }

    /// New slots behind all others.
    pub const fn extend(&mut self, count: u32) {
        self.end += count;
    }

    pub fn take<S, X, L: Layout>(&mut self, slots: &Chunks<Slot<S, X>, L>) -> Option<u32> {
        if let Some(slot) = slots.get(self.oldest) {
            let index = self.oldest;
            self.oldest = slot.next.load(Ordering::Relaxed);
            Some(index)
        } else if self.unused < self.end {
            self.unused += 1;
            Some(self.unused - 1)
        } else {
            None
        }
    }

    pub fn put<S, X, L: Layout>(&mut self, slots: &Chunks<Slot<S, X>, L>, index: u32, slot: &Slot<S, X>) {
        slot.next.store(NONE, Ordering::Relaxed);
        match slots.get(self.newest) {
            Some(newest) if self.oldest != NONE => newest.next.store(index, Ordering::Relaxed),
            _ => self.oldest = index,
        }
        self.newest = index;
    }
}
