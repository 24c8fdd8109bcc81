//! The engine: had once, checked, kept for the life of the process.

use std::path::Path;

#[cfg(not(feature = "linked"))]
use super::dynamic as origin;
#[cfg(feature = "linked")]
use super::linked as origin;
use super::symbols::Symbols;
use crate::base::{Result, fail};
use crate::runtime::once::LoadedOnce;
use crate::runtime::{RuntimeInfo, format};

/// The oldest version whose behaviour was checked: what is not in its headers (a new address without a new plan, the
/// size of returned structs, which allocation kinds there are) is only known from running it.
const OLDEST: (u32, u32) = (2, 17);

/// The engine in the process.
pub struct Engine {
    pub symbols: Symbols,
}

static ENGINE: LoadedOnce<Engine> = LoadedOnce::new(format::TFLITE.name);

/// The engine; loaded now, from `path` or by the search order, if it is not yet.
pub fn engine(path: Option<&Path>) -> Result<&'static Engine> {
    ENGINE.get(path, || origin::start(path))
}

/// What is known, without loading anything.
pub fn info() -> RuntimeInfo {
    origin::info(&ENGINE)
}

/// Refuses versions that nobody looked at.
pub fn check_version(version: &str) -> Result<()> {
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
            assert!(error.text().contains(part), "{bad}: {}", error.text());
        }
    }
}
