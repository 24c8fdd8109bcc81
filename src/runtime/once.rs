//! An engine that is loaded once for the whole process, and tried again after a failure.

use std::ffi::CStr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use once_cell::sync::OnceCell;

use super::RuntimeInfo;
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
    pub version: &'static CStr,
    /// The file that the loader really opened.
    pub path: &'static CStr,
}

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
            Some(path) if !is_same_file(path, loaded.path) => fail!(
                InvalidArgument,
                "{} is loaded from {} and stays for the life of the process, so {} cannot be loaded too: name the \
                 library that you want before the first model is opened",
                self.name,
                loaded.path.to_string_lossy(),
                path.display()
            ),
            _ => Ok(&loaded.engine),
        }
    }

    /// What is known, without loading anything.
    pub fn info(&self) -> RuntimeInfo {
        match self.loaded.get() {
            Some(loaded) => {
                RuntimeInfo { available: true, version: Some(loaded.version), path: Some(loaded.path), reason: None }
            }
            None => {
                let reason = *self.reason.lock().unwrap_or_else(PoisonError::into_inner);
                RuntimeInfo { reason: Some(reason.unwrap_or(c"not loaded yet")), ..RuntimeInfo::default() }
            }
        }
    }

    fn remember(&self, error: &Error) {
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(super::find::keep_text(&error.text));
    }
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
        Ok(Loaded { engine: 7, version: c"1.2", path: c"/lib/engine.so" })
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
        assert!(error.text.contains("/lib/engine.so") && error.text.contains("/other/engine.so"), "{}", error.text);
    }
}
