//! The host's log callback.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use super::layout::zb_log_fn;
use crate::base::room::c_text;
use crate::base::{Result, fail, log};

/// Threads inside the callback now, and [`FORKED`]. Lets the run path skip the thread-local look-up while nobody logs.
static INSIDE: AtomicU32 = AtomicU32::new(0);

/// This process is the child of one that used the library.
const FORKED: u32 = 1 << 31;

thread_local! {
    static HERE: Cell<bool> = const { Cell::new(false) };
}

/// Why no call is let in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Barred {
    /// This thread is inside the host's log callback.
    Logging,
    /// This process is the child of one that used the library.
    Forked,
}

/// Whether a call of this thread is let in.
#[inline]
pub fn barred() -> Option<Barred> {
    if INSIDE.load(Ordering::Relaxed) == 0 { None } else { look_closer() }
}

#[cold]
fn look_closer() -> Option<Barred> {
    if INSIDE.load(Ordering::Relaxed) & FORKED != 0 {
        return Some(Barred::Forked);
    }
    HERE.try_with(Cell::get).unwrap_or(false).then_some(Barred::Logging)
}

/// From here on no call is let in.
#[cfg_attr(not(unix), allow(dead_code))]
pub fn mark_forked() {
    INSIDE.fetch_or(FORKED, Ordering::Relaxed);
}

struct Callback {
    function: unsafe extern "C" fn(*mut c_void, i32, *const std::ffi::c_char),
    user_data: *mut c_void,
    level: i32,
}

// SAFETY: the header says that the callback is called on any thread, so its user data is meant for any.
unsafe impl Send for Callback {}
// SAFETY: as above; several threads may be inside at once.
unsafe impl Sync for Callback {}

impl Callback {
    fn call(&self, level: log::Level, text: &str) {
        if level as i32 > self.level || HERE.try_with(|here| here.replace(true)).unwrap_or(true) {
            return;
        }
        INSIDE.fetch_add(1, Ordering::Relaxed);
        let line = c_text(text);
        let line = line.as_deref().unwrap_or(c"a line was lost: there is no memory for it");
        // SAFETY: the host gave this function for this use; the line is NUL-terminated and lives through the call.
        unsafe { (self.function)(self.user_data, level as i32, line.as_ptr()) };
        INSIDE.fetch_sub(1, Ordering::Relaxed);
        let _ = HERE.try_with(|here| here.set(false));
    }
}

/// Replaces the callback; returns when no other thread is inside the old one.
pub fn set(function: zb_log_fn, user_data: *mut c_void, level: i32) -> Result<()> {
    let Some(function) = function else {
        log::set_sink(None);
        return Ok(());
    };
    if !(log::Level::Error as i32..=log::Level::Debug as i32).contains(&level) {
        return fail!(InvalidArgument, "log level {level}: give ZB_LOG_ERROR (1) to ZB_LOG_DEBUG (4)");
    }
    let callback = Callback { function, user_data, level };
    log::set_sink(Some(Box::new(move |level, text| callback.call(level, text))));
    Ok(())
}
