//! One place of a table.

use super::word;
use crate::sync::{AtomicU32, AtomicU64, ConstPtr, MutPtr, Ordering, UnsafeCell};
use std::mem::MaybeUninit;

/// The generation of the first handle of a slot. Not 0, so that small integers are no handles.
const FIRST_GENERATION: u64 = 1;

/// Alone on its cache lines: threads at work on different slots do not slow each other down.
#[repr(align(64))]
pub struct Slot<S, X> {
    pub word: AtomicU64,
    /// Index of the next free slot. Only touched with the free list locked.
    pub next: AtomicU32,
    shared: UnsafeCell<MaybeUninit<S>>,
    state: UnsafeCell<MaybeUninit<X>>,
}

impl<S, X> Slot<S, X> {
    pub fn new() -> Self {
        Self {
            word: AtomicU64::new(word::vacant(FIRST_GENERATION)),
            next: AtomicU32::new(0),
            shared: UnsafeCell::new(MaybeUninit::uninit()),
            state: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Puts a value into the slot and gives the generation of its handle.
    ///
    /// # Safety
    /// The slot is vacant and only the caller knows its index.
    pub unsafe fn fill(&self, shared: S, state: X) -> u64 {
        // SAFETY: no handle leads here, so nobody else has access to the cells.
        unsafe {
            self.shared.get_mut().deref().write(shared);
            self.state.get_mut().deref().write(state);
        }
        let generation = word::generation(self.word.load(Ordering::Relaxed));
        // Release: who enters by the new handle sees the value.
        self.word.store(word::live(generation), Ordering::Release);
        generation
    }

    /// Takes the value out.
    ///
    /// # Safety
    /// The slot holds a value, the caller owns the slot, and takes only once.
    pub unsafe fn take(&self) -> (S, X) {
        // SAFETY: the value is there, and nobody else has access to the cells.
        unsafe {
            let state = self.state.get_mut().deref().assume_init_read();
            (self.shared.get_mut().deref().assume_init_read(), state)
        }
    }

    #[inline]
    pub fn shared(&self) -> ConstPtr<MaybeUninit<S>> {
        self.shared.get()
    }

    #[inline]
    pub fn state(&self) -> MutPtr<MaybeUninit<X>> {
        self.state.get_mut()
    }
}
