//! File descriptors of the host: what they can be used for, asked before they are mapped.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileTypeExt;

use memmap2::{MmapOptions, MmapRaw};

use super::host_range::Access;
use crate::base::{Error, Result, Status, fail, text};

/// An error of the system about a descriptor, in its words.
pub fn io(fd: i32, what: &str, error: &io::Error) -> Error {
    Error::new(Status::of_io(error), text!("descriptor {fd} {what}: {error}"))
}

/// A descriptor of our own for the same file, closed on exec.
pub fn duplicate(fd: i32) -> Result<File> {
    // SAFETY: any number may be asked about; the system says whether it is a descriptor.
    let own = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
    if own < 0 {
        return Err(io(fd, "cannot be duplicated", &io::Error::last_os_error()));
    }
    // SAFETY: made just now, and nobody else knows it.
    Ok(unsafe { File::from_raw_fd(own) })
}

/// The length of an ordinary file; `None` for what has none that could be relied on, such as a device.
pub fn length(file: &File, fd: i32) -> Result<Option<u64>> {
    let metadata = file.metadata().map_err(|error| io(fd, "tells no size", &error))?;
    let kind = metadata.file_type();
    let name = match () {
        () if kind.is_file() => return Ok(Some(metadata.len())),
        () if kind.is_dir() => "a directory",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        // whether it can be mapped, only trying tells
        () => return Ok(None),
    };
    let words = io::Error::from_raw_os_error(libc::ENODEV);
    fail!(Io, "descriptor {fd} is {name}, which cannot be mapped ({words}): give that of a file or of memfd_create")
}

/// Whether the descriptor may be used that way.
pub fn check_access(file: &File, fd: i32, access: Access) -> Result<()> {
    // SAFETY: asks about a descriptor of ours.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    if flags < 0 {
        return Err(io(fd, "tells no flags", &io::Error::last_os_error()));
    }
    let mode = flags & libc::O_ACCMODE;
    if mode == libc::O_WRONLY {
        return fail!(Io, "descriptor {fd} was opened for writing only, but a map is read too: open it with O_RDWR");
    }
    if access == Access::ReadOnly {
        return Ok(());
    }
    if mode == libc::O_RDONLY {
        return fail!(
            ReadOnly,
            "descriptor {fd} was opened for reading only: give ZB_MAP_READ_ONLY to map it for inputs, or open it with O_RDWR"
        );
    }
    if seals(file) & WRITE_SEALS != 0 {
        return fail!(
            ReadOnly,
            "the file of descriptor {fd} is sealed against writing: give ZB_MAP_READ_ONLY to map it for inputs"
        );
    }
    Ok(())
}

/// Whether the file keeps its length, or grows.
pub fn is_sealed_against_shrinking(file: &File) -> bool {
    seals(file) & SHRINK_SEAL != 0
}

/// A shared map of `length` bytes from `offset` on, which may lie past the end of the file.
pub fn map(file: &File, offset: u64, length: usize, access: Access) -> io::Result<MmapRaw> {
    let mut options = MmapOptions::new();
    options.offset(offset).len(length);
    if access == Access::ReadWrite {
        return options.map_raw(file);
    }
    match options.map_raw_read_only(file) {
        // before Linux 6.7 a shared map of a file that is sealed against writing is refused, also for reading; since nobody
        // writes it and this map never does, a private one shows the same pages
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && seals(file) & WRITE_SEALS != 0 => {
            // SAFETY: only the address of the map is used, never as a slice.
            unsafe { options.map_copy_read_only(file) }.map(MmapRaw::from)
        }
        other => other,
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
const WRITE_SEALS: i32 = libc::F_SEAL_WRITE | libc::F_SEAL_FUTURE_WRITE;
#[cfg(any(target_os = "linux", target_os = "android"))]
const SHRINK_SEAL: i32 = libc::F_SEAL_SHRINK;

/// The seals of a memfd; none where there are no seals.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn seals(file: &File) -> i32 {
    // SAFETY: asks about a descriptor of ours.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) }.max(0)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
const WRITE_SEALS: i32 = 1;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const SHRINK_SEAL: i32 = 2;

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn seals(_file: &File) -> i32 {
    0
}
