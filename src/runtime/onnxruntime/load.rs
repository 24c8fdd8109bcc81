//! The library, loaded once for the whole process and never unloaded.

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use once_cell::sync::OnceCell;
use ort_sys::{OrtAllocatorType, OrtApiBase, OrtEnv, OrtMemType, OrtMemoryInfo};

use super::failure::{Failure, Outcome, check};
use super::logger;
use super::owned::Owned;
use super::symbols::Api;
use crate::base::{Error, Result, Status, fail};
use crate::runtime::RuntimeInfo;
use crate::runtime::find::{self, Found, Names, keep_text};

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
    version: &'static CStr,
    path: &'static CStr,
    file: PathBuf,
}

// SAFETY: the environment and the memory info are never changed after creation; the engine reads them from any thread.
unsafe impl Sync for Engine {}

impl Engine {
    pub fn env(&self) -> *const OrtEnv {
        self.env.as_ptr()
    }
}

static ENGINE: OnceCell<Engine> = OnceCell::new();

/// Why the last try failed.
static REASON: Mutex<Option<&'static CStr>> = Mutex::new(None);

/// The engine; loaded now, from `path` or by the search order, if it is not yet.
pub fn engine(path: Option<&Path>) -> Result<&'static Engine> {
    let engine = ENGINE.get_or_try_init(|| start(path)).inspect_err(remember)?;
    match path {
        Some(path) if !is_same_file(path, &engine.file) => fail!(
            InvalidArgument,
            "ONNX Runtime is loaded from {} and stays for the life of the process; {} cannot be loaded too. Load the \
             library you want before the first model is opened",
            engine.file.display(),
            path.display()
        ),
        _ => Ok(engine),
    }
}

pub fn info() -> RuntimeInfo {
    match ENGINE.get() {
        Some(engine) => {
            RuntimeInfo { available: true, version: Some(engine.version), path: Some(engine.path), reason: None }
        }
        None => RuntimeInfo { reason: *reason(), ..RuntimeInfo::default() },
    }
}

pub(super) fn start(path: Option<&Path>) -> Result<Engine> {
    let (found, (api, version)) = find::open(&NAMES, path, table_of)?;
    let file = found.path;
    // From here on code of the library runs and may start threads, so it is never unloaded, not even after a failure.
    std::mem::forget(found.library);
    let unusable = |failure: Failure| Error::new(Status::RuntimeUnavailable, format!("{}: {failure}", file.display()));
    let env = create_env(api).map_err(unusable)?;
    silence(api, &env).map_err(unusable)?;
    Ok(Engine {
        api,
        env,
        host_memory: create_host_memory(api).map_err(unusable)?,
        version: keep_text(&version),
        path: keep_text(&file.display().to_string()),
        file,
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

fn is_same_file(a: &Path, b: &Path) -> bool {
    let same_target = || Some(a.canonicalize().ok()? == b.canonicalize().ok()?);
    a == b || same_target().unwrap_or(false)
}

/// Keeps the text for `info`. The same failure again costs no further memory.
fn remember(error: &Error) {
    let mut reason = reason();
    if reason.is_none_or(|kept| kept.to_bytes() != error.text.as_bytes()) {
        *reason = Some(keep_text(&error.text));
    }
}

fn reason() -> std::sync::MutexGuard<'static, Option<&'static CStr>> {
    REASON.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
