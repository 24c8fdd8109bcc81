//! An engine that is loaded once for the whole process, and tried again after a failure.

use std::ffi::CStr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use once_cell::sync::OnceCell;

use super::RuntimeInfo;
use super::library::keep_text;
use crate::base::{Error, Result, fail};

/// Holds an engine once it is loaded, and before that the reason why it is not.
pub struct LoadedOnce<T> {
    /// For texts.
    name: &'static str,
    loaded: OnceCell<Loaded<T>>,
    reason: Mutex<Option<&'static CStr>>,
}

/// An engine with the library that it came from.
pub struct Loaded<T> {
    pub engine: T,
    pub origin: Origin,
}

/// The library of an engine.
#[derive(Clone, Copy)]
pub struct Origin {
    pub version: &'static CStr,
    /// The file that the loader really opened.
    pub path: &'static CStr,
}

impl Origin {
    pub fn new(version: &str, path: &Path) -> Origin {
        Origin { version: keep_text(version), path: keep_text(&path.display().to_string()) }
    }

    fn info(self) -> RuntimeInfo {
        RuntimeInfo { available: true, version: Some(self.version), path: Some(self.path), reason: None }
    }
}

/// Why another file cannot be had, for texts.
#[cfg(not(feature = "linked"))]
const STAYS: &str = "is loaded from";
#[cfg(feature = "linked")]
const STAYS: &str = "is linked into this build of zerobind, and comes from";
#[cfg(not(feature = "linked"))]
const CURE: &str = "name the library that you want before the first model is opened";
#[cfg(feature = "linked")]
const CURE: &str = "give NULL, or use a build with the cargo feature `load-dynamic`";

impl<T> LoadedOnce<T> {
    pub const fn new(name: &'static str) -> LoadedOnce<T> {
        LoadedOnce { name, loaded: OnceCell::new(), reason: Mutex::new(None) }
    }

    /// The engine, loaded now by `load` if it is not yet.
    ///
    /// A process can have one copy of an engine, so an explicit path to another file is an `INVALID_ARGUMENT`.
    pub fn get(&self, explicit: Option<&Path>, load: impl FnOnce() -> Result<Loaded<T>>) -> Result<&T> {
        let loaded = self.loaded.get_or_try_init(|| load().inspect_err(|error| self.remember(error)))?;
        match explicit {
            Some(path) if !is_same_file(path, loaded.origin.path) => fail!(
                InvalidArgument,
                "{} {STAYS} {} and stays for the life of the process, so {} cannot be loaded too: {CURE}",
                self.name,
                loaded.origin.path.to_string_lossy(),
                path.display()
            ),
            _ => Ok(&loaded.engine),
        }
    }

    /// What is known, without loading anything.
    pub fn info(&self) -> RuntimeInfo {
        match self.loaded.get() {
            Some(loaded) => loaded.origin.info(),
            None => unavailable(self.reason().unwrap_or(c"not loaded yet")),
        }
    }

    /// What is known of an engine that is in the process from the start; `origin` is asked as long as it was not used.
    #[cfg(feature = "linked")]
    pub fn info_of_linked(&self, origin: impl FnOnce() -> Result<Origin>) -> RuntimeInfo {
        if self.loaded.get().is_some() || self.reason().is_some() {
            return self.info();
        }
        origin().map_or_else(|error| unavailable(keep_text(error.text())), Origin::info)
    }

    fn reason(&self) -> Option<&'static CStr> {
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, error: &Error) {
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(keep_text(error.text()));
    }
}

fn unavailable(reason: &'static CStr) -> RuntimeInfo {
    RuntimeInfo { reason: Some(reason), ..RuntimeInfo::default() }
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

    fn loaded() -> Result<Loaded<u32>> {
        Ok(Loaded { engine: 7, origin: Origin::new("1.2", Path::new("/lib/engine.so")) })
    }

    #[test]
    fn a_failure_is_told_and_tried_again() {
        let once = LoadedOnce::new("engine");
        assert_eq!(once.info().reason, Some(c"not loaded yet"));
        let failed = once.get(None, || fail!(RuntimeUnavailable, "nowhere to be found"));
        assert_eq!(failed.err().map(|error| error.status), Some(Status::RuntimeUnavailable));
        assert_eq!(once.info().reason, Some(c"nowhere to be found"));
        assert_eq!(once.get(None, loaded).ok(), Some(&7));
        assert!(once.info().available && once.info().reason.is_none());
    }

    #[test]
    fn one_file_for_the_whole_process() {
        let once = LoadedOnce::new("engine");
        once.get(None, loaded).unwrap();
        for same in ["/lib/engine.so", "engine.so"] {
            assert_eq!(once.get(Some(Path::new(same)), || unreachable!()).ok(), Some(&7), "{same}");
        }
        let error = once.get(Some(Path::new("/other/engine.so")), || unreachable!()).unwrap_err();
        assert_eq!(error.status, Status::InvalidArgument);
        assert!(
            error.text().contains("/lib/engine.so") && error.text().contains("/other/engine.so"),
            "{}",
            error.text()
        );
    }
}
