//! The size of a memory page.

use std::sync::OnceLock;

/// Bytes of a memory page of this machine.
pub fn page_size() -> usize {
    static SIZE: OnceLock<usize> = OnceLock::new();
    *SIZE.get_or_init(ask)
}

#[cfg(unix)]
fn ask() -> usize {
    // SAFETY: sysconf reads a number of the system.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).ok().filter(|size| size.is_power_of_two()).unwrap_or(4096)
}

#[cfg(not(unix))]
fn ask() -> usize {
    4096
}
