//! Memory that other processes see too: bytes of a file, mapped.

use std::fs::File;
use std::ptr::null_mut;

use memmap2::MmapRaw;

use super::fd;
use super::file_part::FilePart;
use super::host_range::{Access, HostRange};
use crate::base::{Result, fail};

/// A part of a file as memory, shared with everybody who maps it; unmapped when dropped.
pub struct SharedMap {
    range: HostRange,
    watched: Option<Watched>,
    /// Never read: what `range` lies in. Nothing for zero bytes.
    _map: Option<MmapRaw>,
}

/// A file that somebody may cut short, after which touching the lost pages ends the process.
struct Watched {
    file: File,
    /// The length at which all that may be touched is still there.
    least: u64,
}

impl SharedMap {
    /// Maps `size` bytes at `offset`. The descriptor stays the caller's.
    pub fn new(fd: i32, offset: u64, size: usize, access: Access) -> Result<SharedMap> {
        let part = FilePart::new(offset, size as u64)?;
        let file = fd::duplicate(fd)?;
        let length = fd::length(&file, fd)?;
        fd::check_access(&file, fd, access)?;
        if let Some(length) = length.filter(|length| *length < part.end()) {
            return fail!(BufferTooSmall, "{}", part.missing(fd, length));
        }
        if length.is_none() && offset > 0 {
            // some map without a word what is not there: seen with /dev/zero
            return fail!(
                Io,
                "fd {fd} is no ordinary file, so what is at offset {offset} cannot be known: map it from 0"
            );
        }
        if size == 0 {
            return Ok(SharedMap::empty(access));
        }
        let readable = part.readable(length);
        let (map, data) = part.map(&file, readable, access).map_err(|error| fd::io(fd, "cannot be mapped", &error))?;
        // SAFETY: mapped just now, until `_map` is dropped with this; `readable` ends within the file's last page. That the
        // file is not cut short is watched as far as it can be; that others keep to the times of the runs is the host's word.
        let range = unsafe { HostRange::new(data.cast(), size, (readable - offset) as usize, access) };
        let can_shrink = length.is_some() && !fd::is_sealed_against_shrinking(&file);
        let watched = can_shrink.then(|| Watched { file, least: part.least_length(readable) });
        Ok(SharedMap { range, watched, _map: Some(map) })
    }

    fn empty(access: Access) -> SharedMap {
        // SAFETY: no byte is promised.
        let range = unsafe { HostRange::new(null_mut(), 0, 0, access) };
        SharedMap { range, watched: None, _map: None }
    }

    /// The memory as a range, good as long as the map lives.
    pub fn range(&self) -> HostRange {
        self.range
    }

    /// Whether somebody could cut the file short.
    pub fn can_shrink(&self) -> bool {
        self.watched.is_some()
    }

    /// Whether the file still has the bytes; a system call when it can shrink, else nothing.
    pub fn still_there(&self) -> Result<()> {
        let Some(Watched { file, least }) = &self.watched else { return Ok(()) };
        let length = match file.metadata() {
            Ok(metadata) => metadata.len(),
            Err(error) => return fail!(Io, "the size of the file that it is shared by cannot be asked: {error}"),
        };
        if length >= *least {
            return Ok(());
        }
        fail!(
            Io,
            "the file that it is shared by was cut to {length} bytes, but its memory needs {least}: make the file as long as it was, or map it again (a memfd sealed with F_SEAL_SHRINK cannot be cut)"
        )
    }
}
