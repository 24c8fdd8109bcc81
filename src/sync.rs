//! The only source of atomics, cells, locks and waiting for the concurrency core.
//!
//! With the feature `loom`, the unit tests get loom's versions, and the model checker sees every step:
//! `make model-check`

mod barrier;

pub use barrier::Barrier;
#[cfg(all(test, feature = "loom"))]
pub use barrier::{serve_until, use_it as use_asymmetric_barrier};

#[cfg(not(all(test, feature = "loom")))]
mod real {
    use std::ptr::null_mut;
    pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
    pub use std::thread_local;
    use std::time::Duration;

    #[cfg(zerobind_tsan)]
    pub use super::seen::*;
    #[cfg(not(zerobind_tsan))]
    pub use super::unseen::*;

    /// A cell whose every access says whether it shares or excludes, as loom's cell does.
    #[derive(Debug)]
    pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    /// Shared access to a cell. Like loom's, it counts as an access for as long as it lives.
    #[derive(Debug)]
    pub struct ConstPtr<T>(*const T);

    /// Exclusive access to a cell. Like loom's, it counts as an access for as long as it lives.
    #[derive(Debug)]
    pub struct MutPtr<T>(*mut T);

    impl<T> UnsafeCell<T> {
        pub const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        #[inline]
        pub fn get(&self) -> ConstPtr<T> {
            ConstPtr(self.0.get())
        }

        #[inline]
        pub fn get_mut(&self) -> MutPtr<T> {
            MutPtr(self.0.get())
        }
    }

    impl<T> ConstPtr<T> {
        /// # Safety
        /// The cell must outlive the reference, and nobody may have exclusive access meanwhile.
        #[inline]
        pub unsafe fn deref(&self) -> &T {
            // SAFETY: the pointer came from a cell, the caller keeps it alive and unwritten.
            unsafe { &*self.0 }
        }
    }

    impl<T> MutPtr<T> {
        /// # Safety
        /// The cell must outlive the reference, and nobody else may have any access meanwhile.
        #[inline]
        #[allow(clippy::mut_from_ref, reason = "the signature of loom's MutPtr")]
        pub unsafe fn deref(&self) -> &mut T {
            // SAFETY: the pointer came from a cell, the caller keeps it alive and to itself.
            unsafe { &mut *self.0 }
        }
    }

    pub const fn null_ptrs<T, const N: usize>() -> [AtomicPtr<T>; N] {
        [const { AtomicPtr::new(null_mut()) }; N]
    }

    /// Waiting for something short: spin, then yield, then sleep.
    #[derive(Debug, Default)]
    pub struct Backoff(u32);

    impl Backoff {
        const SPINS: u32 = 6;
        const YIELDS: u32 = 64;

        /// The sleep is for the thread that outranks the one it waits for: yielding to it would never run it.
        #[cold]
        pub fn wait(&mut self) {
            match self.0 {
                step @ 0..Self::SPINS => (0..1 << step).for_each(|_| std::hint::spin_loop()),
                Self::SPINS..Self::YIELDS => std::thread::yield_now(),
                _ => std::thread::sleep(Duration::from_micros(50)),
            }
            self.0 = self.0.saturating_add(1);
        }
    }
}

/// Locks and conditions of the standard library.
#[cfg(not(any(zerobind_tsan, all(test, feature = "loom"))))]
mod unseen {
    use std::sync::PoisonError;
    pub use std::sync::{Condvar, Mutex, MutexGuard};
    use std::time::Duration;

    /// Lets the lock go, and sleeps until somebody wakes this thread, or for no reason.
    pub fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        condition.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// The same for some time at most.
    pub fn wait_timeout<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>, time: Duration) -> MutexGuard<'a, T> {
        condition.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner).0
    }
}

/// The same where the thread sanitizer looks. It does not see what the standard library does inside, so whoever has a lock
/// also says in an atomic of the lock's when it is let go.
#[cfg(zerobind_tsan)]
mod seen {
    use std::ops::{Deref, DerefMut};
    pub use std::sync::Condvar;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{LockResult, PoisonError};
    use std::time::Duration;

    #[derive(Debug, Default)]
    pub struct Mutex<T> {
        inner: std::sync::Mutex<T>,
        order: AtomicU32,
    }

    type Inner<'a, T> = std::sync::MutexGuard<'a, T>;

    #[derive(Debug)]
    pub struct MutexGuard<'a, T> {
        /// `None` only while it waits.
        inner: Option<Inner<'a, T>>,
        order: &'a AtomicU32,
    }

    impl<T> Mutex<T> {
        pub const fn new(value: T) -> Mutex<T> {
            Mutex { inner: std::sync::Mutex::new(value), order: AtomicU32::new(0) }
        }

        pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
            let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(MutexGuard::new(inner, &self.order))
        }
    }

    impl<'a, T> MutexGuard<'a, T> {
        fn new(inner: Inner<'a, T>, order: &'a AtomicU32) -> MutexGuard<'a, T> {
            order.load(Ordering::Acquire);
            MutexGuard { inner: Some(inner), order }
        }

        fn waits(mut self, how: impl FnOnce(Inner<'a, T>) -> Inner<'a, T>) -> MutexGuard<'a, T> {
            let (inner, order) = (self.inner.take().expect("nobody waits"), self.order);
            order.store(0, Ordering::Release);
            MutexGuard::new(how(inner), order)
        }
    }

    impl<T> Drop for MutexGuard<'_, T> {
        fn drop(&mut self) {
            if self.inner.is_some() {
                self.order.store(0, Ordering::Release);
            }
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.inner.as_ref().expect("nobody waits")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.inner.as_mut().expect("nobody waits")
        }
    }

    pub fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        guard.waits(|inner| condition.wait(inner).unwrap_or_else(PoisonError::into_inner))
    }

    pub fn wait_timeout<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>, time: Duration) -> MutexGuard<'a, T> {
        guard.waits(|inner| condition.wait_timeout(inner, time).unwrap_or_else(PoisonError::into_inner).0)
    }
}

#[cfg(all(test, feature = "loom"))]
mod model {
    pub use loom::cell::{ConstPtr, MutPtr, UnsafeCell};
    pub use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
    pub use loom::sync::{Condvar, Mutex, MutexGuard};
    pub use loom::thread_local;

    pub fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        condition.wait(guard).unwrap()
    }

    /// A model has no clock: it only ends when somebody wakes it.
    pub fn wait_timeout<'a, T>(
        condition: &Condvar,
        guard: MutexGuard<'a, T>,
        _time: std::time::Duration,
    ) -> MutexGuard<'a, T> {
        wait(condition, guard)
    }

    pub fn null_ptrs<T, const N: usize>() -> [AtomicPtr<T>; N] {
        std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut()))
    }

    /// Loom must be told that only another thread can end the wait.
    #[derive(Debug, Default)]
    pub struct Backoff {}

    impl Backoff {
        pub fn wait(&mut self) {
            super::barrier::may_come_to_who_waits();
            loom::thread::yield_now();
        }
    }
}

#[cfg(all(test, feature = "loom"))]
pub use model::*;
#[cfg(not(all(test, feature = "loom")))]
pub use real::*;

/// Locks, also when a thread panicked inside: what is guarded here is never left half-changed.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    #[cfg(all(test, feature = "loom"))]
    if barrier::is_there() {
        return lock_and_pass(mutex);
    }
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Who waits for a lock passes a barrier all the same.
#[cfg(all(test, feature = "loom"))]
fn lock_and_pass<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    let mut backoff = Backoff::default();
    loop {
        if let Ok(guard) = mutex.try_lock() {
            return guard;
        }
        backoff.wait();
    }
}

/// A constructor that is `const`, so that statics can use it, except under loom, whose types cannot.
macro_rules! const_fn {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty $body:block) => {
        #[cfg(not(all(test, feature = "loom")))]
        $(#[$meta])*
        $vis const fn $name($($arg: $ty),*) -> $ret $body

        #[cfg(all(test, feature = "loom"))]
        $(#[$meta])*
        $vis fn $name($($arg: $ty),*) -> $ret $body
    };
}
pub(crate) use const_fn;

/// Raises a flag. No SeqCst load that comes later in this thread is done before.
#[inline]
pub fn announce_flag(flag: &AtomicBool) {
    flag.swap(true, Ordering::SeqCst);
    #[cfg(all(test, feature = "loom"))]
    fence(Ordering::SeqCst);
}

/// Stores a value, and gives the old one. No SeqCst load that comes later in this thread is done before.
///
/// Loom knows that order of fences only; on x86-64 a fence would cost as much as the exchange, which is one already.
#[inline]
pub fn announce(place: &AtomicU64, value: u64) -> u64 {
    let before = place.swap(value, Ordering::SeqCst);
    #[cfg(all(test, feature = "loom"))]
    fence(Ordering::SeqCst);
    before
}

/// The same if the value is still the one that was seen; says whether it was.
pub fn announce_instead(place: &AtomicU64, seen: u64, value: u64) -> bool {
    let is_stored = place.compare_exchange(seen, value, Ordering::SeqCst, Ordering::Relaxed).is_ok();
    #[cfg(all(test, feature = "loom"))]
    fence(Ordering::SeqCst);
    is_stored
}

/// Runs that ended, for the thread sanitizer alone: it does not see the order that a fence makes after the last owner of a
/// context has gone, so a run tells of its end here also.
#[cfg(zerobind_tsan)]
static ENDED: AtomicU64 = AtomicU64::new(0);

/// A run ends, and all that it did comes before.
#[inline]
pub fn run_ends() {
    // Release alone: the ends of runs are not to be put in order with each other, which would hide races
    #[cfg(zerobind_tsan)]
    ENDED.fetch_add(1, Ordering::Release);
}

/// To be called once it is known that a run is over since its context has gone: all that it did is seen.
pub fn see_ended_runs() {
    fence(Ordering::Acquire);
    #[cfg(zerobind_tsan)]
    ENDED.load(Ordering::Acquire);
}

/// `Release`, except where a test wants to see that the model checker finds it missing.
#[inline]
pub fn release() -> Ordering {
    #[cfg(all(test, feature = "loom"))]
    if weakened::is_weak() {
        return Ordering::Relaxed;
    }
    Ordering::Release
}

/// A mistake on purpose, for the threads of a model, which are all on the thread of their test.
#[cfg(all(test, feature = "loom"))]
pub mod weakened {
    use std::cell::Cell;

    std::thread_local! {
        static IS_WEAK: Cell<bool> = const { Cell::new(false) };
    }

    pub fn is_weak() -> bool {
        IS_WEAK.get()
    }

    /// For the rest of this test.
    pub fn weaken() {
        IS_WEAK.set(true);
    }
}
