//! Trying a model in another process.

use std::ffi::{c_char, c_int, c_void};

use super::guard::guard;
use super::layout::{zb_model_options, zb_preflight_options, zb_status};
use super::model::check_bytes;
use super::{options, pointers, versioned};
use crate::core::Model;
use crate::preflight::{Subject, try_model};

/// Sets `options` to the defaults; `size` is sizeof(zb_preflight_options). The same as ZB_PREFLIGHT_OPTIONS_INIT.
///
/// Errors: NULL_ARGUMENT, INVALID_ARGUMENT (size).
///
/// # Safety
/// `size` bytes at `options` are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zb_preflight_options_init(options: *mut zb_preflight_options, size: usize) -> zb_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { versioned::init(options, size) })
}

/// Tries the model in a file in a process of its own: loads it, plans, runs it once on zeros, and lets go of it. What crashes
/// or hangs there does not crash or hang the caller. Meant for models from elsewhere, before zb_model_open.
///
/// ZB_OK: all of that was done with this file, these engines' libraries, options and shapes, within the limits. It promises
/// nothing about other inputs or shapes, nor about a file that has changed since (give sha256 to both calls, or use
/// zb_model_preflight_bytes). It is a test, not a sandbox: the process may do whatever the caller may.
///
/// MODEL_INVALID is what to act on: the model is damaged, or it ended the process of the trial, or did not come to an end; the
/// text tells the stage (load, plan, run, close) and the signal or the limit. Every other error says that the trial came no
/// further, without a crash up to there: the status and text are those that the call of this stage would give in the
/// process itself.
///
/// Blocks for as long as it takes: the start of a process and of the engine, and the trial. Any thread, several at once.
/// Starts a helper executable (zb_preflight_options.helper), and waits only for that child; SIGCHLD may be ignored, and children
/// may be waited for by others. Errors: NULL_ARGUMENT, INVALID_ARGUMENT (options), those of zb_model_open, zb_context_create,
/// zb_context_prepare and zb_infer; IO (the helper is not found or cannot be started), RUNTIME_UNAVAILABLE (the helper is of
/// another version; the engine's library ends the process), DEADLINE_EXCEEDED (the time was over before the model was touched),
/// UNSUPPORTED (systems without processes of this kind).
///
/// # Safety
/// `path` is NUL-terminated; `options` and `preflight_or_null` are NULL or have their struct_size set.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_model_preflight(
    path: *const c_char,
    options: *const zb_model_options,
    preflight_or_null: *const zb_preflight_options,
) -> zb_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let path = unsafe { pointers::path(path, "path") }?;
        // SAFETY: the caller's promise.
        let settings = unsafe { options::read_preflight(options, preflight_or_null) }?;
        try_model(&Subject::Path(path), &settings)
    })
}

/// Tries the model in `length` bytes of a file at `offset`, as zb_model_open_fd opens it. The bytes are copied for the
/// helper, into memory.
///
/// Any thread. Errors: as zb_model_preflight, and those of zb_model_open_fd.
///
/// # Safety
/// `options` and `preflight_or_null` are NULL or have their struct_size set.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_model_preflight_fd(
    fd: c_int,
    offset: u64,
    length: u64,
    options: *const zb_model_options,
    preflight_or_null: *const zb_preflight_options,
) -> zb_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let settings = unsafe { options::read_preflight(options, preflight_or_null) }?;
        let bytes = Model::bytes_of_fd(fd, offset, length)?;
        try_model(&Subject::Bytes(bytes.as_ref()), &settings)
    })
}

/// Tries a model in memory, which is the caller's again when the call returns. Any alignment. The bytes are copied for the
/// helper, into memory that no other process sees.
///
/// Any thread. Errors: as zb_model_preflight.
///
/// # Safety
/// `size` bytes at `data` are readable; `options` and `preflight_or_null` are NULL or have their struct_size set.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_model_preflight_bytes(
    data: *const c_void,
    size: usize,
    options: *const zb_model_options,
    preflight_or_null: *const zb_preflight_options,
) -> zb_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { check_bytes(data, size) }?;
        // SAFETY: the caller's promise.
        let settings = unsafe { options::read_preflight(options, preflight_or_null) }?;
        try_model(&Subject::Bytes(bytes), &settings)
    })
}
