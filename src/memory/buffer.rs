//! Aligned, zeroed memory of our own.

use std::alloc::{Layout, alloc_zeroed, dealloc};

use super::host_range::{Access, HostRange};
use crate::base::{Result, fail};

/// Engines read up to 16 bytes past the end of an input; our own memory always has that much room.
const SLACK: usize = 64;

/// An owned buffer; freed when dropped.
#[derive(Debug)]
pub struct Buffer {
    start: *mut u8,
    size: usize,
    layout: Layout,
}

// SAFETY: the buffer owns its memory; nothing in it is tied to a thread.
unsafe impl Send for Buffer {}
// SAFETY: shared access only reads the address and the numbers.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// `size` zeroed bytes whose address is a multiple of `alignment` (a power of two), with slack behind them.
    pub fn zeroed(size: usize, alignment: usize) -> Result<Buffer> {
        let layout = size.checked_add(SLACK).and_then(|bytes| Layout::from_size_align(bytes, alignment).ok());
        let Some(layout) = layout else {
            return fail!(OutOfMemory, "{size} bytes aligned to {alignment} cannot be described to the allocator");
        };
        // SAFETY: the layout is not empty, since the slack is part of it.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            return fail!(OutOfMemory, "no memory for {size} bytes aligned to {alignment}");
        }
        Ok(Buffer { start, size, layout })
    }

    /// A copy of `bytes` at an address that is a multiple of `alignment`.
    pub fn copy_of(bytes: &[u8], alignment: usize) -> Result<Buffer> {
        let buffer = Buffer::zeroed(bytes.len(), alignment)?;
        // SAFETY: the buffer is at least as long as `bytes` and was allocated just now, so they do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.start, bytes.len()) };
        Ok(buffer)
    }

    /// The memory as a range, good as long as the buffer lives.
    pub fn range(&self) -> HostRange {
        let capacity = self.layout.size();
        // SAFETY: the memory is ours until drop; whoever keeps the range keeps the buffer.
        unsafe { HostRange::new(self.start.cast(), self.size, capacity, Access::ReadWrite) }
    }

    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `size` bytes are allocated and initialised; a buffer read as a slice is not bound to anything.
        unsafe { std::slice::from_raw_parts(self.start, self.size) }
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `zeroed`, freed once.
        unsafe { dealloc(self.start, self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Status;

    #[test]
    fn aligned_zeroed_and_fallible() {
        for alignment in [1, 16, 64, 4096] {
            let buffer = Buffer::zeroed(100, alignment).unwrap();
            assert_eq!(buffer.range().data() as usize % alignment, 0);
            assert!(buffer.as_slice().iter().all(|byte| *byte == 0));
            assert!(buffer.range().capacity() >= 116);
        }
        assert_eq!(Buffer::copy_of(b"abc", 64).unwrap().as_slice(), b"abc");
        for size in [usize::MAX - 3, usize::MAX / 2] {
            assert!(Buffer::zeroed(size, 64).unwrap_err().text().contains("cannot be described"));
        }
    }

    #[test]
    fn what_the_system_has_not_is_an_error() {
        // With 32 bits one of them may be had; two never, since the address space has to hold the program too. Of alignment 1,
        // which the system zeroes when it is touched: it is not.
        let halves = [(); 2].map(|()| Buffer::zeroed(isize::MAX as usize - SLACK, 1));
        let refused = halves.iter().find_map(|half| half.as_ref().err()).unwrap();
        assert_eq!(refused.status, Status::OutOfMemory);
        assert!(refused.text().contains("no memory for"), "{}", refused.text());
    }
}
