//! Where there are no file descriptors: nothing can be mapped by one.

use super::host_bytes::HostBytes;
use super::host_range::{Access, HostRange};
use crate::base::{Result, fail};

/// There is none.
pub enum SharedMap {}

impl SharedMap {
    pub fn new(_fd: i32, _offset: u64, _size: usize, _access: Access) -> Result<SharedMap> {
        fail!(Unsupported, "memory cannot be shared by a file descriptor on this system: map it and use zb_tensor_wrap")
    }

    pub fn range(&self) -> HostRange {
        match *self {}
    }

    pub fn can_shrink(&self) -> bool {
        match *self {}
    }

    pub fn still_there(&self) -> Result<()> {
        match *self {}
    }
}

pub fn map_bytes(_fd: i32, _offset: u64, _length: u64) -> Result<HostBytes> {
    fail!(Unsupported, "models cannot be opened by a file descriptor on this system: use zb_model_open with the path")
}
