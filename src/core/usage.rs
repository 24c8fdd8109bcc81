//! Who uses a tensor's memory right now: any number of readers, or one writer.
//!
//! Nothing here waits. A run that finds a tensor in use gives back what it took and reports which one it was,
//! so two runs that want each other's tensors both end, neither hangs.

#[cfg(all(test, feature = "loom"))]
mod models;
mod sole;
#[cfg(all(test, not(feature = "loom")))]
mod tests;

use std::sync::Arc;

use super::stop::Stop;
use crate::sync::{AtomicU32, Ordering, release};

use sole::Sole;
pub use sole::Token;

/// The state of a tensor that is being written. Every other value is the number of its readers.
const WRITER: u32 = u32::MAX;
const MOST_READERS: u32 = WRITER - 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

#[derive(Debug)]
pub struct Usage {
    state: AtomicU32,
    sole: Sole,
}

impl Usage {
    pub fn new() -> Self {
        Self { state: AtomicU32::new(0), sole: Sole::new() }
    }

    /// For a run: says that only this context uses the tensor, unless somebody else does.
    pub fn claim(&self, stop: &Arc<Stop>, access: Access) -> Token {
        self.sole.claim(stop, access)
    }

    /// For a run that has begun: whether it may use the tensor without a start and an end.
    #[inline]
    pub fn is_sole(&self, token: Token) -> bool {
        self.sole.is(token)
    }

    /// Somebody else than its only user has to do with the tensor from now on.
    pub fn share(&self) {
        self.sole.share();
    }

    /// A context does not use the tensor any more.
    pub fn give_back(&self, stop: &Arc<Stop>) {
        self.sole.give_back(stop);
    }

    /// For a run that has begun: it is going to start and end the use as others do, from now on.
    pub fn give_up_sole(&self, stop: &Arc<Stop>) {
        self.sole.give_up(stop);
    }

    /// One more reader, unless someone writes.
    #[inline]
    #[must_use = "a refused reader must not read"]
    fn try_read(&self) -> bool {
        let mut seen = self.state.load(Ordering::Relaxed);
        while seen < MOST_READERS {
            // Acquire: what the last writer wrote is visible to this reader.
            match self.state.compare_exchange_weak(seen, seen + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// The only user, unless there is one already.
    #[inline]
    #[must_use = "a refused writer must not write"]
    fn try_write(&self) -> bool {
        // Acquire: every earlier use is over before this writer's first byte.
        self.state.compare_exchange(0, WRITER, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[inline]
    fn end_read(&self) {
        let before = self.state.fetch_sub(1, Ordering::Release);
        debug_assert!(before != 0 && before != WRITER, "no reader to end");
    }

    #[inline]
    fn end_write(&self) {
        debug_assert_eq!(self.state.load(Ordering::Relaxed), WRITER, "no writer to end");
        // A plain store is enough: nobody else changes the state while there is a writer.
        self.state.store(0, release());
    }

    #[inline]
    #[must_use = "a refused user must not touch the memory"]
    pub fn try_start(&self, access: Access) -> bool {
        self.sole.admits(access)
            && match access {
                Access::Read => self.try_read(),
                Access::Write => self.try_write(),
            }
    }

    #[inline]
    pub fn end(&self, access: Access) {
        match access {
            Access::Read => self.end_read(),
            Access::Write => self.end_write(),
        }
    }
}

impl Default for Usage {
    fn default() -> Self {
        Self::new()
    }
}

/// One slot of a run: which tensor state it needs, and how. `None`: no tensor that could be shared.
///
/// The answer must stay the same while the slot is in use.
pub trait Uses {
    fn uses(&self) -> Option<(&Usage, Access)>;
}

impl Uses for (&Usage, Access) {
    fn uses(&self) -> Option<(&Usage, Access)> {
        Some(*self)
    }
}

impl<T: Uses> Uses for Option<T> {
    fn uses(&self) -> Option<(&Usage, Access)> {
        self.as_ref()?.uses()
    }
}

/// Starts every use in the slice or none. `Err` is the index of the first one that was refused.
///
/// Allocates nothing. Pair it with [`end_all`] over the same slice, or use [`hold`].
#[inline]
pub fn start_all<T: Uses>(slots: &[T]) -> Result<(), usize> {
    for (index, slot) in slots.iter().enumerate() {
        if let Some((usage, access)) = slot.uses()
            && !usage.try_start(access)
        {
            end_all(&slots[..index]);
            return Err(index);
        }
    }
    Ok(())
}

#[inline]
pub fn end_all<T: Uses>(slots: &[T]) {
    for (usage, access) in slots.iter().filter_map(Uses::uses) {
        usage.end(access);
    }
}

/// Every use in a slice, ended when this is dropped, also by a panic.
#[derive(Debug)]
pub struct Held<'a, T: Uses>(&'a [T]);

/// Like [`start_all`], with a guard.
#[inline]
pub fn hold<T: Uses>(slots: &[T]) -> Result<Held<'_, T>, usize> {
    start_all(slots).map(|()| Held(slots))
}

impl<T: Uses> Drop for Held<'_, T> {
    #[inline]
    fn drop(&mut self) {
        end_all(self.0);
    }
}
