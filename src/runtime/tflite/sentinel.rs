//! An address for slots without memory.
//!
//! TFLite has no way to take a custom allocation back: once a tensor has one, it always has one. A slot whose memory was
//! taken away is therefore given this address, which nothing may read or write. We never run the engine while a slot that
//! it uses has it; should that ever fail, the process stops at the first access instead of corrupting memory.

use std::ffi::c_void;

use once_cell::sync::OnceCell;

use super::symbols::CustomAllocation;
use crate::base::{Result, fail};

/// What is claimed to be there: enough for any tensor, so that planning accepts the place whatever the shape is.
const CLAIMED: usize = isize::MAX as usize;

/// The address, the same for all contexts; aligned to a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sentinel(usize);

impl Sentinel {
    pub fn get() -> Result<Sentinel> {
        static SHARED: OnceCell<Sentinel> = OnceCell::new();
        SHARED.get_or_try_init(reserve).copied()
    }

    pub fn allocation(self) -> CustomAllocation {
        CustomAllocation { data: self.0 as *mut c_void, bytes: CLAIMED }
    }

    /// A second address of the same kind, to see whether the engine follows a change.
    pub fn other(self) -> CustomAllocation {
        CustomAllocation { data: (self.0 + 64) as *mut c_void, bytes: CLAIMED }
    }

    /// Whether this is one of the two addresses.
    pub fn is(self, address: *const c_void) -> bool {
        address as usize == self.0 || address as usize == self.0 + 64
    }
}

#[cfg(unix)]
fn reserve() -> Result<Sentinel> {
    // reserved addresses cost neither memory nor swap
    const SIZE: usize = 1 << 20;
    // SAFETY: an anonymous map at an address of the kernel's choice touches nothing that exists.
    let start = unsafe {
        libc::mmap(std::ptr::null_mut(), SIZE, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    };
    if start == libc::MAP_FAILED {
        return fail!(OutOfMemory, "no address space for {SIZE} bytes: {}", std::io::Error::last_os_error());
    }
    Ok(Sentinel(start as usize))
}

/// The first 64 KiB of the address space are never mapped on Windows.
#[cfg(not(unix))]
fn reserve() -> Result<Sentinel> {
    Ok(Sentinel(4096))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_aligned_address_for_all() {
        let sentinel = Sentinel::get().unwrap();
        assert_eq!(sentinel, Sentinel::get().unwrap());
        let (first, other) = (sentinel.allocation(), sentinel.other());
        assert_eq!(first.data as usize % 64, 0);
        assert_eq!(other.data as usize % 64, 0);
        assert!(sentinel.is(first.data) && sentinel.is(other.data) && !sentinel.is(std::ptr::null()));
    }
}
