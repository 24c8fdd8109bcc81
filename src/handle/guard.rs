//! Proof of access to a slot, for as long as it lives.
//!
//! In each guard the lease comes last: fields are dropped in order, and access must end before the slot is left.

use super::Table;
use super::layout::Layout;
use super::slot::Slot;
use super::word;
use crate::sync::{AtomicU64, ConstPtr, MutPtr, Ordering};
use std::hint::cold_path;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

/// A share in a slot's word: one pin, RUN or SHORT. Whoever gives back the last one of a dead slot clears it.
pub(super) struct Lease<'a, S, X, L: Layout> {
    table: &'a Table<S, X, L>,
    slot: &'a Slot<S, X>,
    index: u32,
    share: u64,
    /// A panic is none of this guard's business: it was there before, or another guard looks to it.
    is_unwatched: bool,
}

impl<'a, S, X, L: Layout> Lease<'a, S, X, L> {
    /// The share must have been added to the word already.
    #[inline]
    pub(super) fn new(table: &'a Table<S, X, L>, slot: &'a Slot<S, X>, index: u32, share: u64) -> Self {
        Self { table, slot, index, share, is_unwatched: std::thread::panicking() }
    }

    /// The same beside a `Watch`.
    #[inline]
    pub(super) fn unwatched(table: &'a Table<S, X, L>, slot: &'a Slot<S, X>, index: u32, share: u64) -> Self {
        Self { table, slot, index, share, is_unwatched: true }
    }
}

impl<S, X, L: Layout> Drop for Lease<'_, S, X, L> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_unwatched && std::thread::panicking() {
            cold_path();
            self.slot.word.fetch_or(word::POISONED, Ordering::Relaxed);
        }
        // Release: what was done inside comes before the next one's entry, or before the value's end.
        // A subtraction, because it gives back the old value in one instruction, which clearing a bit does not.
        let before = self.slot.word.fetch_sub(self.share, Ordering::Release);
        if word::is_dead_and_unused(before - self.share) {
            cold_path();
            // SAFETY: this took the word to "dead and unused", which makes this thread the owner of the slot.
            unsafe { self.table.clear(self.index, self.slot) };
        }
    }
}

/// Poisons a slot, unless it is ended.
pub(super) struct Watch<'a> {
    word: &'a AtomicU64,
}

impl<'a> Watch<'a> {
    #[inline]
    pub(super) fn new(word: &'a AtomicU64) -> Self {
        Self { word }
    }

    #[inline]
    pub(super) fn end(self) {
        std::mem::forget(self);
    }
}

impl Drop for Watch<'_> {
    #[cold]
    fn drop(&mut self) {
        self.word.fetch_or(word::POISONED, Ordering::Relaxed);
    }
}

/// Shared access to the shared part of a slot. The value lives at least as long.
pub struct Pinned<'a, S, X, L: Layout> {
    shared: ConstPtr<MaybeUninit<S>>,
    _lease: Lease<'a, S, X, L>,
}

impl<'a, S, X, L: Layout> Pinned<'a, S, X, L> {
    /// # Safety
    /// The lease is for a slot that holds a value.
    #[inline]
    pub(super) unsafe fn new(lease: Lease<'a, S, X, L>) -> Self {
        let shared = lease.slot.shared();
        Self { shared, _lease: lease }
    }
}

impl<S, X, L: Layout> Deref for Pinned<'_, S, X, L> {
    type Target = S;

    #[inline]
    fn deref(&self) -> &S {
        // SAFETY: the lease keeps the value in its slot, and nobody gets exclusive access to the shared part.
        unsafe { self.shared.deref().assume_init_ref() }
    }
}

/// Exclusive access to the state of a slot, and shared access to its shared part.
pub struct Entered<'a, S, X, L: Layout> {
    shared: ConstPtr<MaybeUninit<S>>,
    state: MutPtr<MaybeUninit<X>>,
    _lease: Lease<'a, S, X, L>,
}

impl<'a, S, X, L: Layout> Entered<'a, S, X, L> {
    /// # Safety
    /// The lease is RUN or SHORT of a slot that holds a value.
    #[inline]
    pub(super) unsafe fn new(lease: Lease<'a, S, X, L>) -> Self {
        let (shared, state) = (lease.slot.shared(), lease.slot.state());
        Self { shared, state, _lease: lease }
    }

    #[inline]
    pub fn shared(&self) -> &S {
        // SAFETY: the lease keeps the value in its slot, and nobody gets exclusive access to the shared part.
        unsafe { self.shared.deref().assume_init_ref() }
    }
}

impl<S, X, L: Layout> Deref for Entered<'_, S, X, L> {
    type Target = X;

    #[inline]
    fn deref(&self) -> &X {
        // SAFETY: RUN and SHORT exclude each other, so this guard has the only access to the state.
        unsafe { self.state.deref().assume_init_ref() }
    }
}

impl<S, X, L: Layout> DerefMut for Entered<'_, S, X, L> {
    #[inline]
    fn deref_mut(&mut self) -> &mut X {
        // SAFETY: RUN and SHORT exclude each other, so this guard has the only access to the state.
        unsafe { self.state.deref().assume_init_mut() }
    }
}
