//! The library itself: version, names, errors, the log, sizes.

use std::ffi::{CStr, c_char, c_void};

use super::constants::{ZB_ERROR_BUSY, ZB_OK};
use super::guard::guard;
use super::layout::{zb_log_fn, zb_status, zb_tensor_desc};
use super::log_callback::Barred;
use super::{error_text, log_callback, pointers, slots};
use crate::base::{Dtype, Status};
use crate::core;

const fn number(text: &str) -> u32 {
    let bytes = text.as_bytes();
    let (mut value, mut index) = (0, 0);
    while index < bytes.len() {
        value = value * 10 + (bytes[index] - b'0') as u32;
        index += 1;
    }
    value
}

const VERSION: u32 = number(env!("CARGO_PKG_VERSION_MAJOR")) << 22
    | number(env!("CARGO_PKG_VERSION_MINOR")) << 12
    | number(env!("CARGO_PKG_VERSION_PATCH"));

/// The version of the library that runs: major << 22 | minor << 12 | patch. Equals ZB_HEADER_VERSION when the header is of
/// the same version. A program works with any library of the same major version that is not older than its header.
///
/// Any thread; may be called inside a log callback.
#[unsafe(no_mangle)]
pub extern "C" fn zb_version() -> u32 {
    VERSION
}

/// The version as text, "1.2.3". Lives as long as the process.
///
/// Any thread; may be called inside a log callback.
#[unsafe(no_mangle)]
pub extern "C" fn zb_version_string() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The name of a status as in this header, "ZB_ERROR_BUSY"; "ZB_ERROR_?" for a number that this version does not have.
/// Lives as long as the process.
///
/// Any thread; may be called inside a log callback.
#[unsafe(no_mangle)]
pub extern "C" fn zb_status_name(status: zb_status) -> *const c_char {
    let name: &CStr = match Status::from_code(status) {
        Some(status) => status.c_name(),
        None if status == ZB_OK => c"ZB_OK",
        None => c"ZB_ERROR_?",
    };
    name.as_ptr()
}

/// The short name of an element type, "f32"; "?" for a number that this version does not have. Lives as long as the
/// process.
///
/// Any thread; may be called inside a log callback.
#[unsafe(no_mangle)]
pub extern "C" fn zb_dtype_name(dtype: i32) -> *const c_char {
    Dtype::from_code(dtype).map_or(c"?", Dtype::c_name).as_ptr()
}

/// Bits of one element of a type; 0 for ZB_DTYPE_STRING and for numbers that this version does not have.
///
/// Any thread; may be called inside a log callback.
#[unsafe(no_mangle)]
pub extern "C" fn zb_dtype_bits(dtype: i32) -> u32 {
    Dtype::from_code(dtype).map_or(0, Dtype::bits)
}

/// Objects of a kind (ZB_KIND_) that exist now; 0 for an unknown kind. Objects, not handles: a tensor whose handle was
/// destroyed lives on while it is bound, a model while it has contexts. When all of a program's objects are gone, it is 0.
///
/// Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn zb_live_objects(kind: i32) -> u64 {
    core::live(kind)
}

/// Copies the text of the last error of the calling thread into `buffer`; "" if there was none.
///
/// The text names the object, what was wanted, what was given and what to do. Success does not clear it, and this function
/// never changes it. `needed`, if not NULL, always gets the size of the text in bytes with its NUL (not inside a log callback); (NULL, 0) asks for that
/// alone. A buffer that is too short gets NUL-terminated text cut at a character.
///
/// Errors: NULL_ARGUMENT (buffer NULL with capacity above 0), BUFFER_TOO_SMALL, BUSY (inside a log callback).
///
/// # Safety
/// `capacity` bytes at `buffer` are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zb_last_error(buffer: *mut c_char, capacity: usize, needed: *mut usize) -> zb_status {
    if log_callback::barred() == Some(Barred::Logging) {
        return ZB_ERROR_BUSY;
    }
    // SAFETY: the caller's promise.
    match unsafe { error_text::copy_last(buffer, capacity, needed) } {
        Ok(()) => ZB_OK,
        Err(error) => error.status as zb_status,
    }
}

/// Sets the function that gets the log of zerobind and of the engines, or with NULL none; lines of `min_level` (ZB_LOG_) and
/// graver ones. One for the process.
///
/// When it returns, no other thread is inside the old callback, so its user data can be freed. The callback may run on any
/// thread, maybe while an engine holds a lock; only functions that return no zb_status may be called inside.
///
/// Errors: INVALID_ARGUMENT (level), BUSY (inside a log callback).
///
/// # Safety
/// `callback` and `user_data` stay usable from any thread until the callback is replaced.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_set_log_callback(callback: zb_log_fn, user_data: *mut c_void, min_level: i32) -> zb_status {
    guard(|| log_callback::set(callback, user_data, min_level))
}

/// Gives the bytes that a dense tensor of this type and shape takes; types under 8 bits are packed and rounded up.
///
/// Errors: NULL_ARGUMENT; INVALID_ARGUMENT (dtype); UNSUPPORTED (rank above 16, strings); SHAPE_MISMATCH (a dimension of -1,
/// or a size that does not fit).
///
/// # Safety
/// `desc` is NULL or readable, `size` NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_tensor_desc_size(desc: *const zb_tensor_desc, size: *mut usize) -> zb_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let desc = slots::read_desc(unsafe { pointers::required(desc, "desc") }?)?;
        pointers::check_out(size, "size")?;
        let bytes = desc.memory_size()?;
        // SAFETY: not NULL, and writable by the caller's promise.
        unsafe { size.write(bytes) };
        Ok(())
    })
}
