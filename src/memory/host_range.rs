//! A range of memory that somebody promised to keep.

use std::ffi::c_void;

/// Whether the memory may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    ReadOnly,
    ReadWrite,
}

/// A promised range: `size` bytes of tensor at `data`, of `capacity` readable bytes in all.
///
/// Making one is where the promise is given, so only that is unsafe; binding it and copying it are not.
/// It is a plain value without a lifetime: whoever passes one on sees to it that it is not used after the promise ends.
#[derive(Clone, Copy, Debug)]
pub struct HostRange {
    data: *mut c_void,
    size: usize,
    capacity: usize,
    access: Access,
}

// SAFETY: a range is an address with numbers; the promise of `new` says that any thread may use it.
unsafe impl Send for HostRange {}
// SAFETY: as above; shared access only reads the address and the numbers.
unsafe impl Sync for HostRange {}

impl HostRange {
    /// # Safety
    /// Until the promise ends (the loan's call returns, or the tensor that holds the range is dropped), `capacity` bytes at
    /// `data` stay readable, `size <= capacity` of them writable too unless `access` is `ReadOnly`, from any thread; nobody
    /// else writes them during a run that reads them, nor touches them during one that writes them.
    pub const unsafe fn new(data: *mut c_void, size: usize, capacity: usize, access: Access) -> HostRange {
        HostRange { data, size, capacity, access }
    }

    pub const fn data(&self) -> *mut c_void {
        self.data
    }

    pub const fn size(&self) -> usize {
        self.size
    }

    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    pub const fn access(&self) -> Access {
        self.access
    }

    /// The first `size` bytes of this range as a range of their own; the rest stays as slack.
    pub fn prefix(&self, size: usize) -> HostRange {
        debug_assert!(size <= self.size);
        HostRange { size: size.min(self.size), ..*self }
    }

    /// `size` bytes from byte `offset` on, if they are in the range.
    pub fn part(&self, offset: usize, size: usize) -> Option<HostRange> {
        if offset.checked_add(size)? > self.size {
            return None;
        }
        let data = self.data.wrapping_byte_add(offset);
        Some(HostRange { data, size, capacity: size, ..*self })
    }

    /// The same tensor with nothing behind it.
    pub fn without_slack(&self) -> HostRange {
        HostRange { capacity: self.size, ..*self }
    }

    /// Whether the two share a byte of tensor. Slack does not count, and an empty range overlaps nothing.
    pub fn overlaps(&self, other: &HostRange) -> bool {
        let (a, b) = (self.data as usize, other.data as usize);
        self.size > 0 && other.size > 0 && a < b.saturating_add(other.size) && b < a.saturating_add(self.size)
    }

    /// Copies as many bytes as both hold from `source`, and says how many. The ranges may overlap.
    pub fn copy_from(&self, source: &HostRange) -> usize {
        assert_eq!(self.access, Access::ReadWrite, "a read-only range is never a destination");
        let count = self.size.min(source.size);
        if count > 0 {
            // SAFETY: `new` promised `size` bytes readable at the source and writable here; `copy` allows overlap.
            unsafe { std::ptr::copy(source.data.cast::<u8>(), self.data.cast::<u8>(), count) };
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(start: usize, size: usize) -> HostRange {
        // SAFETY: only addresses are compared; nothing is read or written.
        unsafe { HostRange::new(start as *mut c_void, size, size, Access::ReadWrite) }
    }

    proptest! {
        #[test]
        fn overlap_is_a_shared_byte(a in 0usize..64, n in 0usize..16, b in 0usize..64, m in 0usize..16) {
            let shared = (a..a + n).any(|byte| (b..b + m).contains(&byte));
            prop_assert_eq!(at(a, n).overlaps(&at(b, m)), shared);
            prop_assert_eq!(at(b, m).overlaps(&at(a, n)), shared);
        }
    }

    #[test]
    fn the_end_of_the_address_space_does_not_wrap() {
        assert!(!at(usize::MAX - 4, 16).overlaps(&at(2, 4)));
        assert!(at(usize::MAX - 4, 16).overlaps(&at(usize::MAX - 2, 1)));
    }
}
