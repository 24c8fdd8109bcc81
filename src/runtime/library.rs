//! What is told of a library that is in the process, however it came there.
// a build without engines asks at most where it is itself
#![cfg_attr(not(any(feature = "tflite", feature = "onnxruntime")), allow(dead_code))]

use std::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::base::room::c_text;

/// The file that the loader opened for the library that holds an address, which a bare name does not tell.
#[cfg(unix)]
pub fn file_of(address: *const c_void) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;

    // SAFETY: an all-zero Dl_info is a valid value of that plain C struct.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be asked for, and `info` is a place to write to.
    if unsafe { libc::dladdr(address, &mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: on success dli_fname is a NUL-terminated string owned by the loader.
    let file = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(Path::new(std::ffi::OsStr::from_bytes(file.to_bytes())).to_owned())
}

#[cfg(not(unix))]
pub fn file_of(_address: *const c_void) -> Option<PathBuf> {
    None
}

/// Tells the host's log where a linked engine comes from, as is told of one that was found.
#[cfg(feature = "linked")]
pub fn tell_linked(engine: &str, file: &Path) {
    crate::base::log::emit(
        crate::base::log::Level::Info,
        &crate::base::text!("{engine}: linked with {}", file.display()),
    );
}

/// Texts given to the host for the life of the process.
static KEPT: Mutex<Vec<&'static CStr>> = Mutex::new(Vec::new());

/// A text that lives as long as the process. The same text again costs no further memory.
pub fn keep_text(text: &str) -> &'static CStr {
    let Ok(clean) = c_text(text) else { return c"(there was no memory for this text)" };
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.iter().find(|known| ***known == *clean) {
        return known;
    }
    if kept.try_reserve(1).is_err() {
        return c"(there was no memory for this text)";
    }
    let new: &'static CStr = Box::leak(clean.into_boxed_c_str());
    kept.push(new);
    new
}
