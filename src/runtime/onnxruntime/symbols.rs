//! The table of functions, checked once so that it can be called without further doubt.

use std::ffi::CStr;
use std::ops::Deref;

use ort_sys::{OrtApi, OrtApiBase};

use crate::base::room::Lossy;
use crate::base::{Result, fail, text};

/// The API level that is asked for: exactly that of the structure which was compiled in, so that every field of it exists.
/// Newer libraries still grant it; what later levels add is not used.
pub const LEVEL: u32 = ort_sys::ORT_API_VERSION;

/// The functions of a loaded library.
#[derive(Clone, Copy)]
pub struct Api(&'static OrtApi);

impl Deref for Api {
    type Target = OrtApi;

    fn deref(&self) -> &OrtApi {
        self.0
    }
}

impl Api {
    /// The functions that a library's `OrtGetApiBase` offers, with its version.
    ///
    /// # Safety
    /// `base` is null or what ONNX Runtime's `OrtGetApiBase` returned, and the library stays loaded for good.
    pub unsafe fn of(base: *const OrtApiBase) -> Result<(Api, String)> {
        // SAFETY: null, or a structure of the library that lives as long as it (the caller's promise).
        let Some(base) = (unsafe { base.as_ref() }) else {
            return fail!(RuntimeUnavailable, "OrtGetApiBase returned NULL");
        };
        // SAFETY: the first function of every version of the API; it takes nothing and returns a static text or null.
        let version = unsafe { text((base.GetVersionString)()) };
        require_version(&version)?;
        // SAFETY: the function of every version that gives the table of a level, or null.
        let table = unsafe { (base.GetApi)(LEVEL) };
        // SAFETY: the library was asked for exactly the level whose structure is compiled in, so a table that is not null
        // holds at least this many functions.
        unsafe { Ok((Api(checked(table, &version)?), version)) }
    }
}

/// A function pointer of the structure can never be null, so the words are looked at before they are called that.
///
/// # Safety
/// `table` is null or points to a whole `OrtApi` of a library that stays loaded.
unsafe fn checked(table: *const OrtApi, version: &str) -> Result<&'static OrtApi> {
    if table.is_null() {
        return fail!(RuntimeUnavailable, "version {version} does not offer API level {LEVEL}");
    }
    let count = size_of::<OrtApi>() / size_of::<usize>();
    // SAFETY: the structure consists of function pointers only, each as large as a word.
    let words = unsafe { std::slice::from_raw_parts(table.cast::<usize>(), count) };
    if let Some(position) = words.iter().position(|word| *word == 0) {
        return fail!(RuntimeUnavailable, "version {version}: function {position} of API level {LEVEL} is missing");
    }
    // SAFETY: whole, not null anywhere, and there as long as the library is.
    Ok(unsafe { &*table })
}

/// Asking an old library for a level that it does not know makes it print to stderr, so the version is read first.
fn require_version(version: &str) -> Result<()> {
    let mut parts = version.split(|letter: char| !letter.is_ascii_digit()).map(|part| part.parse::<u32>().ok());
    let (Some(Some(major)), Some(Some(minor))) = (parts.next(), parts.next()) else {
        return fail!(RuntimeUnavailable, "the library calls its version '{version}', which is not ONNX Runtime's way");
    };
    if (major, minor) < (1, LEVEL) {
        return fail!(RuntimeUnavailable, "version {version} is too old: 1.{LEVEL} or newer is needed");
    }
    Ok(())
}

/// A copy of a C text, as much as there is memory for; empty for null. For words that a person reads.
///
/// # Safety
/// `text` is null or NUL-terminated and stays during the call.
pub unsafe fn text(text: *const std::ffi::c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: NUL-terminated (the caller's promise).
    let text = unsafe { CStr::from_ptr(text) };
    text!("{}", Lossy(text.to_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for good in ["1.17.0", "1.23.2", "1.32.0", "1.33.0-dev+abc", "2.0.0"] {
            assert!(require_version(good).is_ok(), "{good}");
        }
        for bad in ["1.16.3", "0.99.1", "", "unknown", "1", "v1.20.0"] {
            assert!(require_version(bad).is_err(), "{bad}");
        }
    }
}
