//! The engine's library: found once, checked, never unloaded.

use std::ffi::{CStr, c_char, c_void};
use std::path::Path;

use libloading::Library;

use super::symbols::{LookUp, Symbols};
use crate::base::{Result, fail};
use crate::runtime::RuntimeInfo;
use crate::runtime::find::{self, Found, Names, keep_text};
use crate::runtime::once::{Loaded, LoadedOnce};

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
    /// Only kept: dropping it would unload the code behind `symbols`.
    _library: Library,
}

static ENGINE: LoadedOnce<Engine> = LoadedOnce::new(NAMES.engine);

/// The engine; loaded now, from `path` or by the search order, if it is not yet.
pub fn engine(path: Option<&Path>) -> Result<&'static Engine> {
    ENGINE.get(path, || load(path))
}

/// What is known, without loading anything.
pub fn info() -> RuntimeInfo {
    ENGINE.info()
}

fn load(path: Option<&Path>) -> Result<Loaded<Engine>> {
    let (found, (version, symbols)) = find::open(&NAMES, path, accept)?;
    let file = find::file_of(symbols.invoke as *const c_void).unwrap_or(found.path);
    Ok(Loaded {
        engine: Engine { symbols, _library: found.library },
        version: keep_text(&version),
        path: keep_text(&file.display().to_string()),
    })
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
