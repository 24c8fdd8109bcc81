//! The engine from a shared library that is found at run time, and never unloaded.

use std::ffi::{CStr, c_char, c_void};
use std::path::Path;

use libloading::Library;

use super::load::{Engine, check_version};
use super::symbols::{LookUp, Symbols};
use crate::base::{Result, fail};
use crate::runtime::find::{self, Found, Names};
use crate::runtime::library::file_of;
use crate::runtime::once::{Loaded, LoadedOnce, Origin};
use crate::runtime::{RuntimeInfo, format};

const NAMES: Names = Names {
    engine: format::TFLITE.name,
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

pub fn info(engine: &LoadedOnce<Engine>) -> RuntimeInfo {
    engine.info()
}

pub fn start(path: Option<&Path>) -> Result<Loaded<Engine>> {
    let (found, (version, symbols)) = find::open(&NAMES, path, accept)?;
    let file = file_of(symbols.invoke as *const c_void).unwrap_or(found.path);
    // dropping it would unload the code behind `symbols`
    std::mem::forget(found.library);
    Ok(Loaded { engine: Engine { symbols }, origin: Origin::new(&version, &file) })
}

/// Checks a candidate: its version before anything else of it is used.
fn accept(found: &Found) -> Result<(String, Symbols)> {
    let Some(address) = found.library.address(c"TfLiteVersion") else {
        return fail!(RuntimeUnavailable, "it has no function TfLiteVersion, so it is not TFLite's C library");
    };
    // SAFETY: a function of this name has had this type since the C API exists.
    let version: unsafe extern "C" fn() -> *const c_char = unsafe { std::mem::transmute(address) };
    // SAFETY: the engine's takes nothing and returns a string literal.
    let version = unsafe { version() };
    if version.is_null() {
        return fail!(
            RuntimeUnavailable,
            "its function TfLiteVersion gives no version, so it is not TFLite's C library"
        );
    }
    // SAFETY: not null, so the string literal.
    let version = unsafe { CStr::from_ptr(version) }.to_string_lossy().into_owned();
    check_version(&version)?;
    match Symbols::fill(&found.library) {
        Ok(symbols) => Ok((version, symbols)),
        Err(missing) => {
            let names: Vec<_> = missing.iter().map(|name| name.to_string_lossy()).collect();
            fail!(RuntimeUnavailable, "TFLite {version} without {}", names.join(", "))
        }
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
    fn a_library_that_is_not_the_engine_is_refused_and_told() {
        let folder = std::env::temp_dir();
        let error = start(Some(&folder.join("no-such-file.so"))).err().unwrap();
        assert_eq!(error.status, Status::RuntimeUnavailable);
        assert!(error.text().contains("no-such-file.so") && error.text().contains("no such file"), "{}", error.text());
    }
}
