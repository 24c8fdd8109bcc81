//! The engine from a shared library that is found at run time.

use std::ffi::c_void;
use std::path::Path;

use ort_sys::OrtApiBase;

use super::load::{self, Engine};
use super::symbols::Api;
use crate::base::{Result, fail};
use crate::runtime::find::{self, Found, Names};
use crate::runtime::library::file_of;
use crate::runtime::once::{Loaded, LoadedOnce};
use crate::runtime::{RuntimeInfo, format};

const NAMES: Names = Names {
    engine: format::ONNXRUNTIME.name,
    variable: "ZEROBIND_ONNXRUNTIME_LIB",
    files: FILES,
    hint: "Install ONNX Runtime 1.17 or newer (the Python package onnxruntime contains the library), or name the file in \
           ZEROBIND_ONNXRUNTIME_LIB or in zb_runtime_load.",
};

#[cfg(windows)]
const FILES: &[&str] = &["onnxruntime.dll"];
#[cfg(target_vendor = "apple")]
const FILES: &[&str] = &["libonnxruntime.dylib", "libonnxruntime.1.dylib"];
#[cfg(not(any(windows, target_vendor = "apple")))]
const FILES: &[&str] = &["libonnxruntime.so", "libonnxruntime.so.1"];

pub fn info(engine: &LoadedOnce<Engine>) -> RuntimeInfo {
    engine.info()
}

pub fn start(path: Option<&Path>) -> Result<Loaded<Engine>> {
    let (found, (api, version)) = find::open(&NAMES, path, table_of)?;
    let file = file_of(api.CreateSession as *const c_void).unwrap_or(found.path);
    // From here on code of the library runs and may start threads, so it is never unloaded, not even after a failure.
    std::mem::forget(found.library);
    load::start(api, &version, &file)
}

fn table_of(found: &Found) -> Result<(Api, String)> {
    type GetApiBase = unsafe extern "system" fn() -> *const OrtApiBase;
    // SAFETY: the type is that of the one symbol of this name, which ONNX Runtime has exported since its first version.
    let Ok(get_base) = (unsafe { found.library.get::<GetApiBase>(b"OrtGetApiBase\0") }) else {
        return fail!(RuntimeUnavailable, "the library does not export OrtGetApiBase, so it is not ONNX Runtime");
    };
    // SAFETY: the function takes nothing; when this result is used, the caller keeps the library loaded for good.
    unsafe { Api::of(get_base()) }
}
