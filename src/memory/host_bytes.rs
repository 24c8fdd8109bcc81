//! Bytes of the host that are read as they are, such as a model's.

use std::any::Any;
use std::fs::File;

/// Read-only bytes of the host, with whatever has to be dropped when they are no longer used.
pub struct HostBytes {
    data: *const u8,
    size: usize,
    _keep: Box<dyn Any + Send + Sync>,
}

// SAFETY: `new` promises that the bytes stay and do not change, so any thread may read them.
unsafe impl Send for HostBytes {}
// SAFETY: as above.
unsafe impl Sync for HostBytes {}

impl HostBytes {
    /// `keep` is dropped when the bytes are used no more.
    ///
    /// # Safety
    /// `size` bytes at `data` (not null) stay readable and do not change until `keep` is dropped.
    pub unsafe fn new(data: *const u8, size: usize, keep: impl Send + Sync + 'static) -> HostBytes {
        HostBytes { data, size, _keep: Box::new(keep) }
    }

    /// A read-only map of a whole file.
    pub fn map(file: &File) -> std::io::Result<memmap2::Mmap> {
        // SAFETY: a map of a file that somebody changes or cuts short breaks the promise of `&[u8]`; the header tells the
        // host that a model's file must stay as it is while the model is open, as every engine's own mapping does.
        unsafe { memmap2::Mmap::map(file) }
    }

    pub fn address(&self) -> usize {
        self.data as usize
    }
}

impl AsRef<[u8]> for HostBytes {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the promise of `new`.
        unsafe { std::slice::from_raw_parts(self.data, self.size) }
    }
}
