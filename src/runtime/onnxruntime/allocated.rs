//! Texts that the engine allocates for its caller.

use std::ffi::{CStr, CString, c_char};

use ort_sys::{OrtAllocator, OrtStatusPtr};

use super::failure::{Outcome, check};
use super::symbols::Api;
use crate::base::room::{c_copy, push};

/// The engine's own allocator, which is there as long as the engine.
#[derive(Clone, Copy)]
pub struct Allocator {
    api: Api,
    allocator: *mut OrtAllocator,
}

impl Allocator {
    pub fn of(api: Api) -> Outcome<Allocator> {
        let mut allocator = std::ptr::null_mut();
        // SAFETY: the place takes an allocator that belongs to the engine and is never released.
        check(api, unsafe { (api.GetAllocatorWithDefaultOptions)(&mut allocator) })?;
        Ok(Allocator { api, allocator })
    }

    /// A copy of the text that `get` puts in the place that it is given; `None` where it gives none.
    ///
    /// # Safety
    /// When `get` succeeds, the place holds null or a NUL-terminated text from the allocator that is nobody else's.
    pub unsafe fn text(
        self,
        get: impl FnOnce(*mut OrtAllocator, *mut *mut c_char) -> OrtStatusPtr,
    ) -> Outcome<Option<CString>> {
        let mut text = std::ptr::null_mut();
        check(self.api, get(self.allocator, &mut text))?;
        // SAFETY: the caller's promise.
        unsafe { self.take(text) }
    }

    /// Copies of the texts of an array that `get` puts in the place that it is given, with their number.
    ///
    /// # Safety
    /// When `get` succeeds, the places hold an array from the allocator, or null, and the number of its texts, each as for
    /// `text`.
    pub unsafe fn texts(
        self,
        get: impl FnOnce(*mut OrtAllocator, *mut *mut *mut c_char, *mut i64) -> OrtStatusPtr,
    ) -> Outcome<Vec<CString>> {
        let (mut array, mut count) = (std::ptr::null_mut(), 0);
        check(self.api, get(self.allocator, &mut array, &mut count))?;
        if array.is_null() {
            return Ok(Vec::new());
        }
        // SAFETY: so many texts are in the array, each taken once (the caller's promise).
        let mut next = (0..usize::try_from(count).unwrap_or(0)).map(|index| unsafe { self.take(*array.add(index)) });
        let mut texts = Vec::new();
        let mut add = |text: Outcome<Option<CString>>| match text? {
            Some(text) => Ok(push(&mut texts, text)?),
            None => Ok(()),
        };
        // after a failure the rest is taken and dropped
        let taken = next.by_ref().try_for_each(&mut add);
        next.for_each(drop);
        // SAFETY: from this allocator, and not used any more.
        unsafe { self.free(array.cast())? };
        taken.map(|()| texts)
    }

    /// # Safety
    /// `text` is null or a NUL-terminated text from the allocator; it is not used after this.
    unsafe fn take(self, text: *mut c_char) -> Outcome<Option<CString>> {
        if text.is_null() {
            return Ok(None);
        }
        // SAFETY: NUL-terminated (the caller's promise), and copied before it goes back.
        let copy = c_copy(unsafe { CStr::from_ptr(text) });
        // SAFETY: from this allocator, and not used any more (the caller's promise).
        unsafe { self.free(text.cast())? };
        Ok(Some(copy?))
    }

    /// # Safety
    /// `memory` is from the allocator and not used after this.
    unsafe fn free(self, memory: *mut std::ffi::c_void) -> Outcome<()> {
        // SAFETY: the caller's promise.
        check(self.api, unsafe { (self.api.AllocatorFree)(self.allocator, memory) })
    }
}
