//! The engines' libraries.

use std::ffi::{CStr, c_char};
use std::ptr::null;

use super::guard::guard;
use super::layout::{zb_runtime_info, zb_status};
use super::{fork, pointers, versioned};
use crate::base::{Result, fail};
use crate::runtime::{self, Runtime};

/// Loads an engine's library: from `path_or_null`, or with NULL by the search order: the environment (ZEROBIND_TFLITE_LIB,
/// ZEROBIND_ONNXRUNTIME_LIB), next to this library, the system loader.
///
/// Not needed: the first model of an engine loads it by the search order. Call it to choose a file, or to learn early that
/// the engine is missing. A loaded engine stays for the life of the process. After a failure the other engine works, and
/// loading can be tried again. Loading again is ZB_OK, unless another file is named than the one in use.
///
/// Any thread. Errors: INVALID_ARGUMENT (runtime; an engine loaded from another file); RUNTIME_UNAVAILABLE, with every place
/// that was tried and what was wrong there.
///
/// # Safety
/// `path_or_null` is NULL or NUL-terminated; the file it names is an engine, not code that must not run.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_runtime_load(runtime: i32, path_or_null: *const c_char) -> zb_status {
    guard(|| {
        let runtime = by_id(runtime)?;
        fork::watch();
        if path_or_null.is_null() {
            return runtime.load(None);
        }
        // SAFETY: the caller's promise.
        runtime.load(Some(unsafe { pointers::path(path_or_null, "path") }?))
    })
}

/// Tells whether an engine's library is loaded, its version and file, or why it is not; loads nothing.
///
/// The strings live as long as the process. Any thread. Errors: NULL_ARGUMENT, INVALID_ARGUMENT (runtime, struct_size).
///
/// # Safety
/// `info` is NULL or points to a zb_runtime_info with its struct_size set.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_runtime_get_info(runtime: i32, info: *mut zb_runtime_info) -> zb_status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { versioned::check_out(info, "info") }?;
        let state = by_id(runtime)?.info();
        let pointer = |text: Option<&'static CStr>| text.map_or(null(), CStr::as_ptr);
        let mut value: zb_runtime_info = versioned::zeroed();
        value.available = i32::from(state.available);
        value.version = pointer(state.version);
        value.path = pointer(state.path);
        value.reason = pointer(state.reason);
        // SAFETY: checked above.
        unsafe { versioned::write(info, &value) };
        Ok(())
    })
}

fn by_id(id: i32) -> Result<&'static dyn Runtime> {
    match runtime::by_id(id) {
        Some(runtime) => Ok(runtime),
        None => fail!(InvalidArgument, "runtime {id}: give ZB_RUNTIME_TFLITE or ZB_RUNTIME_ONNXRUNTIME"),
    }
}
