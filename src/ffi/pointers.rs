//! Pointers from C: checked before they are used.

use std::ffi::{CStr, c_char, c_void};
use std::hint::cold_path;

use crate::base::hint::unlikely;
use crate::base::{Error, Result, Status, fail, text};

#[cold]
fn null(name: &str) -> Error {
    Error::new(Status::NullArgument, text!("{name} is NULL"))
}

/// A reference to what a pointer that may not be NULL points to.
///
/// # Safety
/// The pointer is NULL, or points to a `T` that nobody writes during the call.
#[inline]
pub unsafe fn required<'a, T>(pointer: *const T, name: &str) -> Result<&'a T> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(name))
}

/// Checks a place to write a result to, before any work is done.
#[inline]
pub fn check_out<T>(pointer: *mut T, name: &str) -> Result<()> {
    if pointer.is_null() { Err(null(name)) } else { Ok(()) }
}

/// An array; NULL is legal when it is empty.
///
/// # Safety
/// The pointer is NULL, or points to `count` values that nobody writes during the call.
#[inline]
pub unsafe fn array<'a, T>(pointer: *const T, count: usize, name: &str) -> Result<&'a [T]> {
    if unlikely(count == 0) {
        return Ok(&[]);
    }
    if pointer.is_null() || count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(no_array(pointer.is_null(), count, name));
    }
    // SAFETY: the caller's promise; the size was checked just now.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

#[cold]
#[inline(never)]
fn no_array(is_null: bool, count: usize, name: &str) -> Error {
    if is_null {
        return Error::new(Status::NullArgument, text!("{name} is NULL, but its count is {count}"));
    }
    Error::new(Status::InvalidArgument, text!("{name}: a count of {count} is more than memory can hold"))
}

/// A NUL-terminated UTF-8 string.
///
/// # Safety
/// The pointer is NULL, or points to a NUL-terminated string that nobody writes during the call.
pub unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str> {
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: the caller's promise.
    match unsafe { CStr::from_ptr(pointer) }.to_str() {
        Ok(text) => Ok(text),
        Err(_) => fail!(InvalidArgument, "{name} is not UTF-8"),
    }
}

/// No system takes longer paths, and what is made of one on the way to the system is to be small.
const LONGEST_PATH: usize = 32 << 10;

/// The path of a file: bytes as they are on Unix, UTF-8 elsewhere.
///
/// # Safety
/// As for [`text`].
pub unsafe fn path<'a>(pointer: *const c_char, name: &str) -> Result<&'a std::path::Path> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        if pointer.is_null() {
            return Err(null(name));
        }
        // SAFETY: the caller's promise.
        let bytes = unsafe { CStr::from_ptr(pointer) }.to_bytes();
        check_length(bytes.len(), name)?;
        Ok(std::path::Path::new(std::ffi::OsStr::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    {
        // SAFETY: the caller's promise.
        let path = unsafe { text(pointer, name) }?;
        check_length(path.len(), name)?;
        Ok(std::path::Path::new(path))
    }
}

fn check_length(length: usize, name: &str) -> Result<()> {
    if length > LONGEST_PATH {
        return fail!(Io, "{name} has {length} bytes, which is longer than any path of a file can be");
    }
    Ok(())
}

/// Checks data with its size and capacity; gives the capacity (0 stands for `size`).
pub fn check_data(data: *const c_void, size: usize, capacity: usize) -> Result<usize> {
    let taken = if capacity == 0 { size } else { capacity };
    let is_range = taken >= size
        && taken <= isize::MAX as usize
        && (data as usize).checked_add(taken).is_some()
        && (!data.is_null() || size == 0);
    if is_range { Ok(taken) } else { no_range(data, size, capacity) }
}

/// The same for what is the rule, in a few comparisons: there is memory, in the lower half of all addresses. `None` says nothing.
#[inline]
pub fn capacity_at_once(data: *const c_void, size: usize, capacity: usize) -> Option<usize> {
    let capacity = if capacity == 0 { size } else { capacity };
    let end = (data as usize).checked_add(capacity)?;
    if capacity < size || end > isize::MAX as usize || data.is_null() {
        cold_path();
        return None;
    }
    Some(capacity)
}

#[cold]
fn no_range(data: *const c_void, size: usize, capacity: usize) -> Result<usize> {
    if data.is_null() && size > 0 {
        return fail!(NullArgument, "data is NULL, but size is {size}: NULL is only legal with size 0");
    }
    let capacity = if capacity == 0 { size } else { capacity };
    if capacity < size {
        return fail!(
            InvalidArgument,
            "capacity {capacity} is less than size {size}: it counts all readable bytes at data; 0 means size"
        );
    }
    fail!(InvalidArgument, "{capacity} bytes at {data:p} go past the end of the address space")
}
