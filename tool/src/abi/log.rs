//! The log of the library and of the engines, on standard error.

use std::ffi::{c_char, c_void};

use zerobind::ffi::api::*;

use super::{Result, check, text_at};
use crate::text::plain;

unsafe extern "C" fn print(_user_data: *mut c_void, level: i32, text: *const c_char) {
    let level = match level {
        ZB_LOG_ERROR => "error",
        ZB_LOG_WARN => "warning",
        ZB_LOG_INFO => "info",
        _ => "debug",
    };
    // SAFETY: the library gives a NUL-terminated line for the time of the call.
    let text = unsafe { text_at(text) }.unwrap_or_default();
    // nobody to tell if that fails, and nothing may leave a callback
    let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("[{level}] {}\n", plain(&text)));
}

/// From now on every line of the log is printed.
pub fn show_log() -> Result<()> {
    // SAFETY: a function without user data is usable from any thread for good.
    check(unsafe { zb_set_log_callback(Some(print), std::ptr::null_mut(), ZB_LOG_DEBUG) })
}
