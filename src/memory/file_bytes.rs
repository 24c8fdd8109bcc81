//! Bytes of a file that is known by its descriptor.

use super::fd;
use super::file_part::FilePart;
use super::host_bytes::HostBytes;
use super::host_range::Access;
use crate::base::{Result, fail};

/// Maps `length` bytes at `offset`, or with 0 all up to the end of the file. The descriptor stays the caller's.
///
/// The map breaks the promise of [`HostBytes`] when somebody changes the file or cuts it short: the header tells the host
/// that a model's file must stay as it is while the model is open.
pub fn map_bytes(fd: i32, offset: u64, length: u64) -> Result<HostBytes> {
    let file = fd::duplicate(fd)?;
    let Some(whole) = fd::length(&file, fd)? else {
        return fail!(Io, "descriptor {fd} is not that of a file: give one of a file or of memfd_create");
    };
    fd::check_access(&file, fd, Access::ReadOnly)?;
    let length = if length == 0 { whole.saturating_sub(offset) } else { length };
    let part = FilePart::new(offset, length)?;
    if part.end() > whole {
        return fail!(Io, "{}", part.missing(fd, whole));
    }
    if length == 0 {
        return fail!(
            ModelInvalid,
            "the file of descriptor {fd} has {whole} bytes, so there are none from byte {offset} on"
        );
    }
    let mapped = part.map(&file, part.end(), Access::ReadOnly);
    let (map, data) = mapped.map_err(|error| fd::io(fd, "cannot be mapped", &error))?;
    // SAFETY: mapped just now, for as long as `map` is kept; above for what the host has to keep to.
    Ok(unsafe { HostBytes::new(data, length as usize, map) })
}
