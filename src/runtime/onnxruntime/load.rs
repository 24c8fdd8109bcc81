//! The library, loaded once for the whole process and never unloaded.

use std::ffi::c_void;
use std::path::Path;

use ort_sys::{OrtAllocatorType, OrtApiBase, OrtEnv, OrtMemType, OrtMemoryInfo};

use super::failure::{Failure, Outcome, check};
use super::logger;
use super::owned::Owned;
use super::symbols::Api;
use crate::base::{Error, Result, Status, fail};
use crate::runtime::RuntimeInfo;
use crate::runtime::find::{self, Found, Names, keep_text};
use crate::runtime::once::{Loaded, LoadedOnce};

const NAMES: Names = Names {
    engine: "ONNX Runtime",
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

/// The loaded engine. Never dropped, so that its threads and statics outlive every user and no destructor of it runs at
/// process exit.
pub struct Engine {
    pub api: Api,
    /// Values over host memory are labelled with this.
    pub host_memory: Owned<OrtMemoryInfo>,
    env: Owned<OrtEnv>,
}

// SAFETY: the environment and the memory info are never changed after creation; the engine reads them from any thread.
unsafe impl Sync for Engine {}

impl Engine {
    pub fn env(&self) -> *const OrtEnv {
        self.env.as_ptr()
    }
}

static ENGINE: LoadedOnce<Engine> = LoadedOnce::new(NAMES.engine);

/// The engine; loaded now, from `path` or by the search order, if it is not yet.
pub fn engine(path: Option<&Path>) -> Result<&'static Engine> {
    ENGINE.get(path, || start(path))
}

/// What is known, without loading anything.
pub fn info() -> RuntimeInfo {
    ENGINE.info()
}

pub(super) fn start(path: Option<&Path>) -> Result<Loaded<Engine>> {
    let (found, (api, version)) = find::open(&NAMES, path, table_of)?;
    let file = find::file_of(api.CreateSession as *const c_void).unwrap_or(found.path);
    // From here on code of the library runs and may start threads, so it is never unloaded, not even after a failure.
    std::mem::forget(found.library);
    let unusable = |failure: Failure| Error::new(Status::RuntimeUnavailable, format!("{}: {failure}", file.display()));
    let env = create_env(api).map_err(unusable)?;
    silence(api, &env).map_err(unusable)?;
    let host_memory = create_host_memory(api).map_err(unusable)?;
    Ok(Loaded {
        engine: Engine { api, host_memory, env },
        version: keep_text(&version),
        path: keep_text(&file.display().to_string()),
    })
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

/// The one environment. A second one asked for in this process, by the host itself for example, is the same object, and
/// the logger of whoever came first stays.
fn create_env(api: Api) -> Outcome<Owned<OrtEnv>> {
    // SAFETY: the arguments are a function, no parameter for it, a static text, and the place for the result; the
    // environment is counted by the engine and released by nobody else on our behalf.
    unsafe {
        Owned::new(api, api.ReleaseEnv, |place| {
            let nothing = std::ptr::null_mut();
            (api.CreateEnvWithCustomLogger)(logger::function(), nothing, logger::THRESHOLD, c"zerobind".as_ptr(), place)
        })
    }
}

/// Builds of some vendors report use over the network (Microsoft's for Windows always did, those for Linux and macOS do
/// since 1.29). A library inside a host's program has no business doing so.
///
/// Creating the environment has sent a first report by then, and started a thread for more, unless the process began with
/// ORT_DISABLE_TELEMETRY=1. Setting that here would race with the other threads of the host.
fn silence(api: Api, env: &Owned<OrtEnv>) -> Outcome<()> {
    // SAFETY: the environment is alive.
    check(api, unsafe { (api.DisableTelemetryEvents)(env.as_ptr()) })
}

fn create_host_memory(api: Api) -> Outcome<Owned<OrtMemoryInfo>> {
    let (kind, place_kind) = (OrtAllocatorType::OrtDeviceAllocator, OrtMemType::OrtMemTypeDefault);
    // SAFETY: both are values of the enums that the function takes; the result is ours to release.
    unsafe { Owned::new(api, api.ReleaseMemoryInfo, |place| (api.CreateCpuMemoryInfo)(kind, place_kind, place)) }
}
