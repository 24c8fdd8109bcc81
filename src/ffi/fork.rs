//! A child of a process that has used the library.
//!
//! The threads of queues, of deadlines and of the engines are not in it, and locks that they held are held for good. So no call
//! is let in there, until it becomes another program. That costs a call nothing: the mark is in the word that is looked at for
//! the log callback anyway.

use std::sync::Once;

/// To be called where something is made that a child cannot use.
#[inline]
pub fn watch() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(register);
}

#[cfg(unix)]
fn register() {
    use std::ffi::c_int;

    type Handler = Option<extern "C" fn()>;
    // POSIX; the libc crate does not have it for every system
    unsafe extern "C" {
        fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> c_int;
    }
    extern "C" fn in_child() {
        super::log_callback::mark_forked();
    }
    // without memory for it the child is not stopped, as nothing was promised to it
    // SAFETY: the type is that of POSIX; the handler only sets a bit of an atomic, and the library is never unloaded.
    let _ = unsafe { pthread_atfork(None, None, Some(in_child)) };
}

/// There is no fork.
#[cfg(not(unix))]
fn register() {}
