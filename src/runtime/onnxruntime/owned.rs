//! Objects of the engine that are released when dropped.

use std::ptr::NonNull;

use ort_sys::OrtStatusPtr;

use super::failure::{Failure, Outcome, check};
use super::symbols::Api;

type Release<T> = unsafe extern "system" fn(*mut T);

/// One object that the engine made for us.
pub struct Owned<T> {
    object: NonNull<T>,
    release: Release<T>,
}

// SAFETY: no object of the C API is tied to the thread that made it; an `Owned` is its only handle.
unsafe impl<T> Send for Owned<T> {}

impl<T> Owned<T> {
    /// What `create` puts in the place that it is given.
    ///
    /// # Safety
    /// When `create` succeeds, the place holds null or an object that `release` frees and that nobody else frees.
    pub unsafe fn new(
        api: Api,
        release: Release<T>,
        create: impl FnOnce(*mut *mut T) -> OrtStatusPtr,
    ) -> Outcome<Owned<T>> {
        let mut place = std::ptr::null_mut();
        check(api, create(&mut place))?;
        match NonNull::new(place) {
            Some(object) => Ok(Owned { object, release }),
            None => Err(Failure::ours(
                "the engine reported success and gave no object, as where it is out of memory for its own words",
            )),
        }
    }

    pub fn as_ptr(&self) -> *mut T {
        self.object.as_ptr()
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: made by the function that belongs to this release (the promise of `new`), and dropped once.
        unsafe { (self.release)(self.object.as_ptr()) };
    }
}
