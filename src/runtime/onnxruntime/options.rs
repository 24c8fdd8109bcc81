//! Options of a session.

use std::ffi::{CStr, CString};

use ort_sys::{GraphOptimizationLevel, OrtSessionOptions};

use super::failure::{Outcome, check};
use super::owned::Owned;
use super::symbols::Api;
use crate::base::room::{c_text, push};
use crate::base::{Result, fail};
use crate::runtime::EngineOptions;

/// What follows is a key of the engine's own session configuration.
const PASSED_THROUGH: &str = "ort.session.";
const OPTIMIZATION: &str = "optimization";

/// More threads than any machine has use for; asked for thousands, the engine fails in ways of its own.
const MOST_THREADS: u32 = 1024;

/// Whether there is an option of this name.
pub fn is_known(key: &str) -> bool {
    key == OPTIMIZATION || key.strip_prefix(PASSED_THROUGH).is_some_and(|rest| !rest.is_empty())
}

/// Options in their one form, so that equal ones compare equal: the last value of each key, sorted by key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    threads: u32,
    optimization: Optimization,
    entries: Vec<(CString, CString)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Optimization {
    None,
    Basic,
    Extended,
    All,
}

impl Default for Settings {
    /// Those of the session that reads a model, and of a context with one thread and nothing set.
    fn default() -> Settings {
        Settings { threads: 1, optimization: Optimization::All, entries: Vec::new() }
    }
}

impl Settings {
    pub fn parse(options: &EngineOptions) -> Result<Settings> {
        if !(1..=MOST_THREADS).contains(&options.threads) {
            return fail!(InvalidArgument, "{} threads: give a number from 1 to {MOST_THREADS}", options.threads);
        }
        let mut settings = Settings { threads: options.threads, ..Settings::default() };
        for (key, value) in &options.settings {
            settings.set(key, value)?;
        }
        settings.entries.sort_unstable();
        Ok(settings)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        if key == OPTIMIZATION {
            self.optimization = optimization(value)?;
            return Ok(());
        }
        let Some(entry) = key.strip_prefix(PASSED_THROUGH).filter(|rest| !rest.is_empty()) else {
            return fail!(NotFound, "ONNX Runtime has no option '{key}'");
        };
        if entry.contains('\0') || value.contains('\0') {
            return fail!(InvalidArgument, "option '{key}': a NUL inside the key or the value");
        }
        let (entry, value) = (c_text(entry)?, c_text(value)?);
        self.entries.retain(|(known, _)| *known != entry);
        push(&mut self.entries, (entry, value))?;
        Ok(())
    }

    /// Whether something other than the number of threads was asked for.
    pub fn are_special(&self) -> bool {
        *self != Settings { threads: self.threads, ..Settings::default() }
    }

    /// The same as an object of the engine.
    pub fn to_engine(&self, api: Api) -> Outcome<Owned<OrtSessionOptions>> {
        // SAFETY: the function puts new options, ours to release, in the place.
        let options = unsafe { Owned::new(api, api.ReleaseSessionOptions, |place| (api.CreateSessionOptions)(place))? };
        let level = match self.optimization {
            Optimization::None => GraphOptimizationLevel::ORT_DISABLE_ALL,
            Optimization::Basic => GraphOptimizationLevel::ORT_ENABLE_BASIC,
            Optimization::Extended => GraphOptimizationLevel::ORT_ENABLE_EXTENDED,
            Optimization::All => GraphOptimizationLevel::ORT_ENABLE_ALL,
        };
        // SAFETY: the options are alive; the numbers are in range (`parse`) and the level is one of the enum.
        unsafe {
            check(api, (api.SetIntraOpNumThreads)(options.as_ptr(), self.threads as i32))?;
            check(api, (api.SetInterOpNumThreads)(options.as_ptr(), 1))?;
            check(api, (api.SetSessionGraphOptimizationLevel)(options.as_ptr(), level))?;
        }
        for (key, value) in &self.entries {
            add_entry(api, &options, key, value)?;
        }
        Ok(options)
    }
}

fn add_entry(api: Api, options: &Owned<OrtSessionOptions>, key: &CStr, value: &CStr) -> Outcome<()> {
    // SAFETY: the options are alive and both texts are NUL-terminated; the engine copies them.
    check(api, unsafe { (api.AddSessionConfigEntry)(options.as_ptr(), key.as_ptr(), value.as_ptr()) })
}

fn optimization(value: &str) -> Result<Optimization> {
    match value {
        "none" => Ok(Optimization::None),
        "basic" => Ok(Optimization::Basic),
        "extended" => Ok(Optimization::Extended),
        "all" => Ok(Optimization::All),
        other => fail!(InvalidArgument, "option '{OPTIMIZATION}': '{other}' is not one of none, basic, extended, all"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Status;

    fn parse(threads: u32, settings: &[(&str, &str)]) -> Result<Settings> {
        let settings = settings.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Settings::parse(&EngineOptions { threads, settings })
    }

    #[test]
    fn equal_options_compare_equal() {
        assert_eq!(parse(1, &[]).unwrap(), Settings::default());
        assert_eq!(parse(1, &[("optimization", "all")]).unwrap(), Settings::default());
        let one = parse(2, &[("ort.session.a", "1"), ("ort.session.b", "2"), ("ort.session.a", "3")]).unwrap();
        let other = parse(2, &[("ort.session.b", "2"), ("ort.session.a", "3")]).unwrap();
        assert_eq!(one, other);
        assert!(one.are_special());
        assert!(!parse(7, &[]).unwrap().are_special());
        assert_ne!(parse(2, &[]).unwrap(), parse(3, &[]).unwrap());
    }

    #[test]
    fn bad_values_are_refused() {
        for (threads, settings, status) in [
            (0, &[][..], Status::InvalidArgument),
            (1025, &[], Status::InvalidArgument),
            (1, &[("optimization", "best")], Status::InvalidArgument),
            (1, &[("ort.session.a\0", "1")], Status::InvalidArgument),
            (1, &[("ort.session.a", "\0")], Status::InvalidArgument),
            (1, &[("ort.session.", "1")], Status::NotFound),
            (1, &[("tflite.xnnpack", "1")], Status::NotFound),
        ] {
            assert_eq!(parse(threads, settings).unwrap_err().status, status, "{threads} {settings:?}");
        }
        assert!(is_known("ort.session.session.disable_prepacking") && is_known("optimization"));
        assert!(!is_known("ort.session.") && !is_known("ort.provider") && !is_known(""));
    }
}
