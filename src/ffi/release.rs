//! The host's release callback, as the core knows it.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::layout::zb_release_fn;
use crate::core::Release;

/// Host memory with the callback that gives it back.
struct Loaned {
    function: unsafe extern "C" fn(*mut c_void, *mut c_void, usize),
    user_data: *mut c_void,
    data: *mut c_void,
    size: usize,
}

// SAFETY: the header says that the callback runs on whichever thread ends the last use; the pointers are only passed on.
unsafe impl Send for Loaned {}
// SAFETY: as above.
unsafe impl Sync for Loaned {}

impl Loaned {
    fn give_back(self) {
        // SAFETY: the host gave this function for exactly this call.
        unsafe { (self.function)(self.user_data, self.data, self.size) };
    }
}

/// Ownership of memory passes only when a call succeeds: until then a release does nothing when it is dropped.
#[derive(Clone)]
pub struct Ownership(Arc<AtomicBool>);

impl Ownership {
    fn new() -> Ownership {
        Ownership(Arc::new(AtomicBool::new(false)))
    }

    /// From here on the release is real.
    pub fn pass(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A release by the host's callback, for memory whose ownership has not passed yet.
pub fn pending(
    function: zb_release_fn,
    user_data: *mut c_void,
    data: *mut c_void,
    size: usize,
) -> (Release, Ownership) {
    let Some(function) = function else {
        return (Release::NONE, Ownership::new());
    };
    let loaned = Loaned { function, user_data, data, size };
    when_passed(move || loaned.give_back())
}

/// A release that does nothing before ownership has passed.
pub fn when_passed(give_back: impl FnOnce() + Send + Sync + 'static) -> (Release, Ownership) {
    let ownership = Ownership::new();
    let passed = ownership.clone();
    let release = Release::new(move || {
        if passed.0.load(Ordering::Acquire) {
            give_back();
        }
    });
    (release, ownership)
}
