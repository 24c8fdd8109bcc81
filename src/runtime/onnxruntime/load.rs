//! The engine, started once for the whole process and never unloaded.

use std::path::Path;

use ort_sys::{OrtAllocatorType, OrtEnv, OrtMemType, OrtMemoryInfo};

#[cfg(not(feature = "linked"))]
use super::dynamic as origin;
use super::failure::{Failure, Outcome, check};
#[cfg(feature = "linked")]
use super::linked as origin;
use super::logger;
use super::owned::Owned;
use super::symbols::Api;
use crate::base::{Error, Result, Status, text};
use crate::runtime::once::{Loaded, LoadedOnce, Origin};
use crate::runtime::{RuntimeInfo, format};

/// The engine in the process. Never dropped, so that its threads and statics outlive every user and no destructor of it runs at
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

static ENGINE: LoadedOnce<Engine> = LoadedOnce::new(format::ONNXRUNTIME.name);

/// The engine; loaded now, from `path` or by the search order, if it is not yet.
pub fn engine(path: Option<&Path>) -> Result<&'static Engine> {
    ENGINE.get(path, || origin::start(path))
}

/// What is known, without loading anything.
pub fn info() -> RuntimeInfo {
    origin::info(&ENGINE)
}

/// Starts the engine of a library that is in the process and stays there.
pub fn start(api: Api, version: &str, file: &Path) -> Result<Loaded<Engine>> {
    let unusable = |failure: Failure| Error::new(Status::RuntimeUnavailable, text!("{}: {failure}", file.display()));
    let env = create_env(api).map_err(unusable)?;
    silence(api, &env).map_err(unusable)?;
    let host_memory = create_host_memory(api).map_err(unusable)?;
    Ok(Loaded { engine: Engine { api, host_memory, env }, origin: Origin::new(version, file) })
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
