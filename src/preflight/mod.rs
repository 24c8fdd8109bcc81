//! A trial of a model in a process of its own: what crashes or hangs there does not crash or hang the host.
//!
//! The host's side (`search`, `parent`, `listen`, `verdict`) starts a small program, the helper, hands it a request
//! (`request`) and hears of its progress in lines (`report`). The helper's side (`helper`) is two processes: one that loads
//! engines, plans and runs (`trial`), and one that watches it, ends it when its time is over, and tells how it ended. So the
//! host needs no word of the system about its children, which may go to somebody else: hosts ignore SIGCHLD, or wait for
//! every child.
//!
//! `docs/preflight.md` tells what it is for and what it is not.

#[cfg(unix)]
mod helper;
#[cfg(unix)]
mod listen;
#[cfg(unix)]
mod parent;
#[cfg(unix)]
mod report;
#[cfg(unix)]
mod request;
#[cfg(unix)]
mod search;
#[cfg(unix)]
mod sys;
#[cfg(unix)]
mod trial;
#[cfg(unix)]
mod verdict;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::{Dims, Result};
use crate::core::{ContextOptions, ModelOptions};

#[cfg(unix)]
pub use helper::main as helper_main;

/// The model to try.
pub enum Subject<'a> {
    Path(&'a Path),
    Bytes(&'a [u8]),
}

/// How to try it.
#[derive(Default)]
pub struct Settings {
    pub model: ModelOptions,
    pub context: ContextOptions,
    /// Inputs with the shapes that they are to have.
    pub shapes: Vec<(usize, Dims)>,
    /// How long it may take; `None` for 30 s.
    pub timeout: Option<Duration>,
    /// The most private memory of the trial; `None` for half of the machine's.
    pub max_memory: Option<u64>,
    /// The helper; `None` to look for it.
    pub helper: Option<PathBuf>,
}

/// The memory limit that is none.
pub const NO_LIMIT: u64 = u64::MAX;

#[cfg(unix)]
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// Loads, plans and runs the model once on zeros in another process.
///
/// What ends that process, or keeps it longer than allowed, is `MODEL_INVALID`; what the model is refused with there keeps
/// its status.
#[cfg(unix)]
pub fn try_model(subject: &Subject<'_>, settings: &Settings) -> Result<()> {
    let found = search::helper(settings.helper.as_deref())?;
    let limits = Limits {
        timeout: settings.timeout.unwrap_or(DEFAULT_TIMEOUT),
        memory: settings.max_memory.unwrap_or_else(|| sys::machine_memory().map_or(NO_LIMIT, |bytes| bytes / 2)),
    };
    let request = request::Request::new(subject, settings, &limits);
    let heard = parent::ask(&found, &request, subject, &limits)?;
    let result = verdict::of(&heard, &found, &limits);
    match subject {
        Subject::Path(path) => result.map_err(|error| error.at(path.display())),
        Subject::Bytes(_) => result,
    }
}

/// Here there is no way to start a process that such a trial could rely on.
#[cfg(not(unix))]
pub fn try_model(_subject: &Subject<'_>, _settings: &Settings) -> Result<()> {
    crate::base::fail!(Unsupported, "trying a model in another process is for POSIX systems only")
}

/// What a trial may take.
#[cfg(unix)]
pub struct Limits {
    pub timeout: Duration,
    /// In bytes; [`NO_LIMIT`] for any.
    pub memory: u64,
}

/// What helper and library have to agree on: the version, what the build contains, and how they talk to each other.
#[cfg(unix)]
fn build() -> String {
    let features = [
        ("tflite", cfg!(feature = "tflite")),
        ("onnxruntime", cfg!(feature = "onnxruntime")),
        ("load-dynamic", cfg!(feature = "load-dynamic")),
        ("linked", cfg!(feature = "linked")),
        ("mock", cfg!(feature = "mock")),
    ];
    let features: Vec<_> = features.into_iter().filter(|(_, is_in)| *is_in).map(|(name, _)| name).collect();
    let features = if features.is_empty() { "no engines".to_owned() } else { features.join(",") };
    format!("{} ({features}; protocol {PROTOCOL})", env!("CARGO_PKG_VERSION"))
}

/// Changes with the form of requests and reports.
#[cfg(unix)]
const PROTOCOL: u32 = 1;
