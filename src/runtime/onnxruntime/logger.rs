//! The engine's log lines, passed on to ours.

use std::ffi::{c_char, c_void};

use ort_sys::OrtLoggingLevel;

use super::symbols::text;
use crate::base::log::{self, Level};

/// Called by the engine, from any of its threads. The severity is taken as the number that it is in C: the enum of the
/// declaration is closed.
pub unsafe extern "system" fn receive(
    _param: *mut c_void,
    severity: i32,
    category: *const c_char,
    _log_id: *const c_char,
    place: *const c_char,
    message: *const c_char,
) {
    // a panic in the host's sink must not unwind into the engine
    let _ = std::panic::catch_unwind(|| {
        // SAFETY: the engine passes null or NUL-terminated texts that live during this call.
        let (category, place, message) = unsafe { (text(category), text(place), text(message)) };
        log::emit(level(severity), &crate::base::text!("ONNX Runtime: {message} ({category}, {place})"));
    });
}

fn level(severity: i32) -> Level {
    match severity {
        i32::MIN..=0 => Level::Debug,
        1 => Level::Info,
        2 => Level::Warn,
        _ => Level::Error,
    }
}

/// `receive` as the declaration wants it.
pub fn function() -> ort_sys::OrtLoggingFunction {
    type AsNumber =
        unsafe extern "system" fn(*mut c_void, i32, *const c_char, *const c_char, *const c_char, *const c_char);
    // SAFETY: the types differ only in the severity, an enum of 32 bits in C. Nothing in Rust calls the result, so no
    // value of the closed enum is ever made.
    unsafe { std::mem::transmute::<AsNumber, ort_sys::OrtLoggingFunction>(receive) }
}

/// The least grave lines that are asked for.
pub const THRESHOLD: OrtLoggingLevel = OrtLoggingLevel::ORT_LOGGING_LEVEL_WARNING;
