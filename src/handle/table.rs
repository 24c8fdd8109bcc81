//! The table: from handles to values.

use std::hint::cold_path;

use super::chunks::Chunks;
use super::free::FreeList;
use super::guard::{Entered, Lease, Pinned, Watch};
use super::layout::{Label, Layout, Native, Place};
use super::slot::Slot;
use super::{Full, Refused, word};
use crate::base::Kind;
use crate::sync::{Backoff, Mutex, Ordering, const_fn, lock};

/// All objects of one kind. At most one table per kind: only the kind tells their handles apart.
///
/// `S` is the part of each object that may be used at any time by anybody, `X` the part for one user at a time.
// what a look-up looks at comes first, mostly in one line of the processor's cache
#[repr(C, align(64))]
pub struct Table<S, X = (), L: Layout = Native> {
    label: Label,
    slots: Chunks<Slot<S, X>, L>,
    free: Mutex<FreeList>,
    /// How many chunks there are. Its own lock: who frees a slot must not wait for a new chunk.
    chunks: Mutex<u32>,
}

// SAFETY: values move to the thread that drops them (Send), pins share `S` between threads (Sync),
// and of `X` there is at most one user at a time. Everything else is atomic or locked.
unsafe impl<S: Send + Sync, X: Send, L: Layout> Sync for Table<S, X, L> {}

struct Found<'a, S, X> {
    slot: &'a Slot<S, X>,
    place: Place,
}

impl<S, X, L: Layout> Table<S, X, L> {
    const_fn! {
        pub fn new(kind: Kind) -> Self {
            const { assert!(L::BITS <= usize::BITS && L::GENERATION_BITS <= word::GENERATION_BITS) };
            Self {
                label: Label::new(kind),
                slots: Chunks::new(),
                free: Mutex::new(FreeList::new()),
                chunks: Mutex::new(0),
            }
        }
    }

    /// A new handle for a new value. When there is no room for it, the value is dropped, with no lock held.
    pub fn insert(&self, shared: S, state: X) -> Result<usize, Full> {
        let Some((index, slot)) = self.vacancy() else {
            return Err(Full);
        };
        // SAFETY: the free list gives each vacant slot to one caller only.
        let generation = unsafe { slot.fill(shared, state) };
        let place = Place { index, generation };
        Ok(L::pack(self.label, place) as usize)
    }

    /// Access to the shared part, side by side with all other users.
    #[inline]
    pub fn pin(&self, handle: usize) -> Result<Pinned<'_, S, X, L>, Refused> {
        let found = self.find(handle)?;
        let mut seen = found.slot.word.load(Ordering::Relaxed);
        loop {
            word::admit(seen, found.place.generation)?;
            if !word::has_room_for_pin(seen) {
                return Err(Refused::Busy);
            }
            match found.exchange(seen, seen + word::PIN) {
                Ok(()) => break,
                Err(now) => seen = now,
            }
        }
        // SAFETY: the slot was live when the pin was added.
        Ok(unsafe { Pinned::new(self.lease(found, word::PIN)) })
    }

    /// Exclusive access to the state for as long as it takes. In use by another run: `Busy` at once.
    #[inline]
    pub fn enter_run(&self, handle: usize) -> Result<Entered<'_, S, X, L>, Refused> {
        self.enter(handle, word::RUN)
    }

    /// The same for as long as `body` takes, which is quicker: nothing has to be kept for it, and what a panic has to do is done
    /// where it passes by.
    #[inline]
    pub fn run<T>(&self, handle: usize, body: impl FnOnce(&mut X) -> T) -> Result<T, Refused> {
        let found = self.claim(handle, word::RUN)?;
        let _lease = Lease::unwatched(self, found.slot, found.place.index, word::RUN);
        let state = found.slot.state();
        let watch = Watch::new(&found.slot.word);
        // SAFETY: the slot holds a value, and RUN excludes everybody else until the lease ends.
        let result = body(unsafe { state.deref().assume_init_mut() });
        watch.end();
        Ok(result)
    }

    /// Exclusive access to the state for a bounded time, in which no host code is called. In use by a run: `Busy`.
    #[inline]
    pub fn enter_short(&self, handle: usize) -> Result<Entered<'_, S, X, L>, Refused> {
        self.enter(handle, word::SHORT)
    }

    /// Ends the handle at once, for everybody. The value goes when the last one inside has left, on that thread;
    /// then no lock is held and the slot is free already, so its `drop` may call anything.
    #[inline]
    pub fn destroy(&self, handle: usize) -> Result<(), Refused> {
        self.retire(handle).map(drop)
    }

    /// Destroys, and keeps the value until the pin is dropped, to tell those still inside.
    /// Works on a poisoned slot. The only refusal is `Invalid`.
    pub fn retire(&self, handle: usize) -> Result<Pinned<'_, S, X, L>, Refused> {
        let found = self.find(handle)?;
        let mut seen = found.slot.word.load(Ordering::Relaxed);
        loop {
            if word::is_stale(seen, found.place.generation) {
                return Err(Refused::Invalid);
            }
            match found.exchange(seen, (seen | word::DEAD) + word::PIN) {
                Ok(()) => break,
                Err(now) => seen = now,
            }
        }
        // SAFETY: the slot was live when the pin was added.
        Ok(unsafe { Pinned::new(self.lease(found, word::PIN)) })
    }

    #[inline]
    fn find(&self, handle: usize) -> Result<Found<'_, S, X>, Refused> {
        let place = L::unpack(self.label, handle as u64).ok_or(Refused::Invalid)?;
        let slot = self.slots.get(place.index).ok_or(Refused::Invalid)?;
        Ok(Found { slot, place })
    }

    #[inline]
    fn lease<'a>(&'a self, found: Found<'a, S, X>, share: u64) -> Lease<'a, S, X, L> {
        Lease::new(self, found.slot, found.place.index, share)
    }

    #[inline]
    fn enter(&self, handle: usize, share: u64) -> Result<Entered<'_, S, X, L>, Refused> {
        let found = self.claim(handle, share)?;
        // SAFETY: the slot was live and neither RUN nor SHORT when the share was added.
        Ok(unsafe { Entered::new(self.lease(found, share)) })
    }

    /// Adds RUN or SHORT.
    #[inline]
    fn claim(&self, handle: usize, share: u64) -> Result<Found<'_, S, X>, Refused> {
        let found = self.find(handle)?;
        let unused = word::live(found.place.generation);
        if let Err(seen) = found.exchange(unused, unused | share) {
            cold_path();
            found.enter_slowly(seen, share)?;
        }
        Ok(found)
    }

    fn vacancy(&self) -> Option<(u32, &Slot<S, X>)> {
        loop {
            let index = lock(&self.free).take(&self.slots);
            if let Some(index) = index {
                return Some((index, self.slots.get(index)?));
            }
            if !self.grow() {
                return None;
            }
        }
    }

    fn grow(&self) -> bool {
        let mut chunks = lock(&self.chunks);
        if !lock(&self.free).is_empty() {
            return true;
        }
        let Some(added) = self.slots.add(*chunks, Slot::new) else {
            return false;
        };
        *chunks += 1;
        lock(&self.free).extend(added);
        true
    }

    /// Frees the slot, then drops its value.
    ///
    /// # Safety
    /// The caller took the word of the slot to "dead and unused".
    #[cold]
    pub(super) unsafe fn clear(&self, index: u32, slot: &Slot<S, X>) {
        // Acquire: everybody's work inside comes before the end of the value.
        let word = slot.word.load(Ordering::Acquire);
        // SAFETY: the slot held a value until now, and only one thread gets here.
        let (shared, state) = unsafe { slot.take() };
        let next = word::vacant(word::next_generation::<L>(word));
        // Relaxed: the lock of the free list orders it before the next use.
        slot.word.store(next, Ordering::Relaxed);
        lock(&self.free).put(&self.slots, index, slot);
        drop(state);
        drop(shared);
    }
}

impl<S, X> Found<'_, S, X> {
    /// Acquire: what the slot's last users did, or its `insert`, comes before what follows.
    #[inline]
    fn exchange(&self, seen: u64, wanted: u64) -> Result<(), u64> {
        self.slot.word.compare_exchange(seen, wanted, Ordering::Acquire, Ordering::Relaxed).map(drop)
    }

    /// Not alone in the slot, or refused.
    #[cold]
    #[inline(never)]
    fn enter_slowly(&self, mut seen: u64, share: u64) -> Result<(), Refused> {
        let mut backoff = Backoff::default();
        loop {
            word::admit(seen, self.place.generation)?;
            if seen & word::RUN != 0 {
                return Err(Refused::Busy);
            }
            if seen & word::SHORT != 0 {
                backoff.wait();
                seen = self.slot.word.load(Ordering::Relaxed);
                continue;
            }
            match self.exchange(seen, seen | share) {
                Ok(()) => return Ok(()),
                Err(now) => seen = now,
            }
        }
    }
}

/// Statics are never dropped; this is for tables that are not.
impl<S, X, L: Layout> Drop for Table<S, X, L> {
    fn drop(&mut self) {
        for slot in (0..).map_while(|index| self.slots.get(index)) {
            if word::is_live(slot.word.load(Ordering::Relaxed)) {
                // SAFETY: the slot holds a value, and nobody else has the table.
                drop(unsafe { slot.take() });
            }
        }
    }
}
