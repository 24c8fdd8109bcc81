//! A child of a process that has used the library.
//!
//! The threads of queues, of deadlines and of the engines are not in it, and locks that they held are held for good. So no call
//! is let in there, until it becomes another program. That costs a call nothing: the mark is in the word that is looked at for
//! the log callback anyway.

use std::sync::Once;

use super::log_callback;

/// To be called where something is made that a child cannot use.
#[inline]
pub fn watch() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        extern "C" fn in_child() {
            log_callback::mark_forked();
        }
        // without memory for it the child is not stopped, as nothing was promised to it
        // SAFETY: the handler only sets a bit of an atomic, and the library is never unloaded.
        #[cfg(unix)]
        let _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        #[cfg(not(unix))]
        let _ = in_child;
    });
}
