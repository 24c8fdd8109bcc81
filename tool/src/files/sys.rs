//! What the standard library does not reach: files without a name, and room for them.

use std::fs::File;
use std::io::{Error, Result};
use std::path::Path;

/// A file in `folder` that has no name, and is gone with its descriptor, however the program ends.
#[cfg(target_os = "linux")]
pub fn unnamed_file(folder: &Path) -> Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    // what could not be given a name later is of no use
    std::fs::metadata("/proc/self/fd")?;
    std::fs::OpenOptions::new().read(true).write(true).custom_flags(libc::O_TMPFILE).mode(0o666).open(folder)
}

#[cfg(not(target_os = "linux"))]
pub fn unnamed_file(_folder: &Path) -> Result<File> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Gives such a file a name that nothing has.
#[cfg(target_os = "linux")]
pub fn give_name(file: &File, path: &Path) -> Result<()> {
    use std::ffi::CString;
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;

    let from = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let to = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: both are NUL-terminated; std's hard_link would name the link in /proc instead of the file.
    let status =
        unsafe { libc::linkat(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), libc::AT_SYMLINK_FOLLOW) };
    if status == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
pub fn give_name(_file: &File, _path: &Path) -> Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Makes a file `length` bytes long, with room for all of them.
#[cfg(target_os = "linux")]
pub fn reserve(file: &File, length: u64) -> Result<()> {
    use std::os::fd::AsRawFd;

    let too_long = |_| Error::from_raw_os_error(libc::EFBIG);
    let bytes = libc::off_t::try_from(length).map_err(too_long)?;
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: the descriptor is open. The C library writes zeros where the file system cannot reserve.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes) } {
        0 => Ok(()),
        error => Err(Error::from_raw_os_error(error)),
    }
}

#[cfg(not(target_os = "linux"))]
pub fn reserve(file: &File, length: u64) -> Result<()> {
    file.set_len(length)
}
