//! The engine's own failures and what they become.

use std::fmt;
use std::num::NonZeroI32;

use ort_sys::{OrtErrorCode, OrtStatus, OrtStatusPtr};

use super::symbols::{self, Api};
use crate::base::room::{self, boxed};
use crate::base::{Error, Status, text};

pub const NO_SUCH_FILE: i32 = 3;
pub const NOT_IMPLEMENTED: i32 = 9;
/// What has no number of its own.
const ANY: NonZeroI32 = NonZeroI32::new(1).unwrap();

/// A status of the engine: its number, whichever that is, and its text. Two words, as `Error` is.
#[derive(Debug)]
pub struct Failure {
    code: NonZeroI32,
    text: Option<Box<[String; 1]>>,
}

/// A result whose failure is the engine's and has no status yet.
pub type Outcome<T> = Result<T, Failure>;

impl Failure {
    /// With 0, which is none, it is the number that the engine has for what has no other.
    #[cold]
    pub fn new(code: i32, text: String) -> Failure {
        Failure { code: NonZeroI32::new(code).unwrap_or(ANY), text: boxed(text) }
    }

    #[cold]
    pub fn ours(text: &str) -> Failure {
        Failure::new(ANY.get(), text!("{text}"))
    }

    pub fn code(&self) -> i32 {
        self.code.get()
    }

    pub fn text(&self) -> &str {
        self.text.as_ref().map_or("", |text| &text[0])
    }

    /// What it is wherever it happens, if its meaning does not depend on the place.
    pub fn general_status(&self) -> Option<Status> {
        if self.text().is_empty() {
            // the engine always has words: there was no memory for them
            return Some(Status::OutOfMemory);
        }
        let out_of_memory = ["bad_alloc", "Failed to allocate memory", "out of memory", room::NO_MEMORY];
        if out_of_memory.iter().any(|phrase| self.text().contains(phrase)) {
            return Some(Status::OutOfMemory);
        }
        (self.code() == NOT_IMPLEMENTED).then_some(Status::Unsupported)
    }

    /// The error of a call that should not fail for a reason of the caller's.
    pub fn or(&self, status: Status) -> Error {
        Error::new(self.general_status().unwrap_or(status), text!("{self}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ONNX Runtime [{}]: {}", self.code, self.text())
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        failure.or(Status::Runtime)
    }
}

/// Memory of ours that cannot be had, where failures are mostly the engine's.
impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::new(ANY.get(), error.into_text())
    }
}

/// Turns a status of the engine into a result, and releases it.
pub fn check(api: Api, status: OrtStatusPtr) -> Outcome<()> {
    if status.0.is_null() { Ok(()) } else { Err(take(api, status.0)) }
}

#[cold]
fn take(api: Api, status: *mut OrtStatus) -> Failure {
    type AsDeclared = unsafe extern "system" fn(*const OrtStatus) -> OrtErrorCode;
    type AsNumber = unsafe extern "system" fn(*const OrtStatus) -> i32;
    // SAFETY: in C the function returns an enum, which is an i32. The Rust enum of the declaration is closed, so a code
    // of a newer library would be an invalid value of it; as a number it is not.
    let code_of = unsafe { std::mem::transmute::<AsDeclared, AsNumber>(api.GetErrorCode) };
    // SAFETY: the status is not null, was just returned to us, and is used only before its release, which happens once.
    // Its text lives as long as it does.
    unsafe {
        let failure = Failure::new(code_of(status), symbols::text((api.GetErrorMessage)(status)));
        (api.ReleaseStatus)(status);
        failure
    }
}
