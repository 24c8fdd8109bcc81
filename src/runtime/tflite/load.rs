//! The engine's library: found once, checked, never unloaded.

use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::sync::Mutex;

use libloading::Library;
use once_cell::sync::OnceCell;

use super::symbols::{LookUp, Symbols};
use crate::base::{Error, Result, fail};
use crate::runtime::RuntimeInfo;
use crate::runtime::find::{self, Found, Names};

/// The oldest version whose behaviour was checked: what is not in its headers (a new address without a new plan, the
/// size of returned structs, which allocation kinds there are) is only known from running it.
const OLDEST: (u32, u32) = (2, 17);

const NAMES: Names = Names {
    engine: "TFLite",
    variable: "ZEROBIND_TFLITE_LIB",
    files: FILES,
    hint: "Set ZEROBIND_TFLITE_LIB to the file, load it with zb_runtime_load, or put it next to zerobind; \
           it is TFLite's C library, version 2.17 or newer.",
};

#[cfg(target_os = "windows")]
const FILES: &[&str] = &["tensorflowlite_c.dll"];
#[cfg(target_vendor = "apple")]
const FILES: &[&str] = &["libtensorflowlite_c.dylib"];
#[cfg(not(any(target_os = "windows", target_vendor = "apple")))]
const FILES: &[&str] = &["libtensorflowlite_c.so"];

/// The loaded engine.
pub struct Engine {
    pub symbols: Symbols,
    version: &'static CStr,
    path: &'static CStr,
    /// Only kept: dropping it would unload the code behind `symbols`.
    _library: Library,
}

static ENGINE: OnceCell<Engine> = OnceCell::new();
static REASON: Mutex<Option<&'static CStr>> = Mutex::new(None);

/// The engine, loaded now if it is not yet. After a failure the next call tries again.
///
/// Code of one process can have only one copy of the engine through us, so a path to another one than what is loaded is
/// an `INVALID_ARGUMENT`.
pub fn engine(explicit: Option<&Path>) -> Result<&'static Engine> {
    let engine = ENGINE.get_or_try_init(|| load(explicit).inspect_err(remember))?;
    match explicit {
        Some(path) if !is_same_file(path, engine.path) => fail!(
            InvalidArgument,
            "TFLite is loaded from {} already and stays loaded; {} cannot take its place in this process",
            engine.path.to_string_lossy(),
            path.display()
        ),
        _ => Ok(engine),
    }
}

/// What is known, without loading anything.
pub fn info() -> RuntimeInfo {
    match ENGINE.get() {
        Some(engine) => {
            RuntimeInfo { available: true, version: Some(engine.version), path: Some(engine.path), reason: None }
        }
        None => {
            let reason = *REASON.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            RuntimeInfo { reason: Some(reason.unwrap_or(c"not loaded yet")), ..RuntimeInfo::default() }
        }
    }
}

/// Keeps the reason of a failure for `info`; the same reason again costs nothing.
fn remember(error: &Error) {
    let mut reason = REASON.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if reason.is_none_or(|known| known.to_bytes() != error.text.as_bytes()) {
        *reason = Some(find::keep_text(&error.text));
    }
}

fn load(explicit: Option<&Path>) -> Result<Engine> {
    let (found, (version, symbols)) = find::open(&NAMES, explicit, accept)?;
    let path = find::keep_text(&real_path(&symbols).unwrap_or_else(|| found.path.display().to_string()));
    Ok(Engine { symbols, version: find::keep_text(&version), path, _library: found.library })
}

/// Checks a candidate: its version before anything else of it is used.
fn accept(found: &Found) -> Result<(String, Symbols)> {
    let Some(address) = found.library.address(c"TfLiteVersion") else {
        return fail!(RuntimeUnavailable, "it has no function TfLiteVersion, so it is not TFLite's C library");
    };
    // SAFETY: a function of this name has had this type since the C API exists.
    let version: unsafe extern "C" fn() -> *const c_char = unsafe { std::mem::transmute(address) };
    // SAFETY: it returns a string literal.
    let version = unsafe { CStr::from_ptr(version()) }.to_string_lossy().into_owned();
    check_version(&version)?;
    match Symbols::fill(&found.library) {
        Ok(symbols) => Ok((version, symbols)),
        Err(missing) => {
            let names: Vec<_> = missing.iter().map(|name| name.to_string_lossy()).collect();
            fail!(RuntimeUnavailable, "TFLite {version} without {}", names.join(", "))
        }
    }
}

fn check_version(version: &str) -> Result<()> {
    let mut parts = version.split(['.', '-']).map(|part| part.parse::<u32>().ok());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(major), Some(minor)) if (major, minor) >= OLDEST => Ok(()),
        (Some(_), Some(_)) => {
            let (major, minor) = OLDEST;
            fail!(RuntimeUnavailable, "TFLite {version} is too old: {major}.{minor} or newer is needed")
        }
        _ => fail!(RuntimeUnavailable, "it says that its version is \"{version}\", which is not understood"),
    }
}

impl LookUp for Library {
    fn address(&self, name: &CStr) -> Option<*const c_void> {
        // SAFETY: only the address is taken here; who calls it says what type it has.
        let symbol = unsafe { self.get::<*const c_void>(name.to_bytes_with_nul()) }.ok()?;
        Some(*symbol).filter(|address| !address.is_null())
    }
}

/// The file that the loader really opened, which a bare name does not tell.
#[cfg(unix)]
fn real_path(symbols: &Symbols) -> Option<String> {
    // SAFETY: an all-zero Dl_info is a valid value of that plain C struct.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the address is a function of the library, and `info` is a place to write to.
    let found = unsafe { libc::dladdr(symbols.invoke as *const c_void, &mut info) } != 0;
    if !found || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: on success dli_fname is a NUL-terminated string owned by the loader.
    Some(unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy().into_owned())
}

#[cfg(not(unix))]
fn real_path(_symbols: &Symbols) -> Option<String> {
    None
}

/// Whether a path that the caller gave is the file that is loaded.
fn is_same_file(given: &Path, loaded: &CStr) -> bool {
    let loaded = loaded.to_string_lossy();
    let loaded = Path::new(loaded.as_ref());
    let is_bare_name = given.components().count() == 1;
    if given == loaded || (is_bare_name && loaded.file_name() == Some(given.as_os_str())) {
        return true;
    }
    matches!((given.canonicalize(), loaded.canonicalize()), (Ok(given), Ok(loaded)) if given == loaded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Status;

    #[test]
    fn versions_are_compared_as_numbers() {
        for good in ["2.17.0", "2.17.1", "2.100.0-rc1", "3.0.0"] {
            assert!(check_version(good).is_ok(), "{good}");
        }
        for (bad, part) in
            [("2.9.0", "too old"), ("1.15.0", "too old"), ("", "not understood"), ("x.y", "not understood")]
        {
            let error = check_version(bad).unwrap_err();
            assert_eq!(error.status, Status::RuntimeUnavailable);
            assert!(error.text.contains(part), "{bad}: {}", error.text);
        }
    }

    #[test]
    fn a_library_that_is_not_the_engine_is_refused_and_told() {
        let folder = std::env::temp_dir();
        let error = load(Some(&folder.join("no-such-file.so"))).err().unwrap();
        assert_eq!(error.status, Status::RuntimeUnavailable);
        assert!(error.text.contains("no-such-file.so") && error.text.contains("no such file"), "{}", error.text);
    }
}
