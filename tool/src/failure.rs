//! How the tool ends: one exit code for each kind of failure, and the text for it.

use std::path::Path;
use std::process::ExitCode;

use crate::abi::{self, *};

/// Exit codes; `docs/tool.md` and `zerobind --help` have the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Success = 0,
    /// A bug in the tool or in the library.
    Bug = 1,
    /// What was asked for cannot be meant: an unknown name, a bad value.
    Usage = 2,
    Model = 3,
    EngineMissing = 4,
    Files = 5,
    Unsupported = 6,
    /// Tensors that do not fit the model.
    Data = 7,
    /// It would take a copy that is not allowed.
    CopyNeeded = 8,
    /// The engine failed in the run.
    Engine = 9,
    Memory = 10,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub text: String,
}

pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub fn new(exit: Exit, text: impl Into<String>) -> Failure {
        Failure { exit, text: text.into() }
    }

    pub fn usage(text: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, text)
    }

    /// A file that cannot be used: what was tried, and the system's reason.
    pub fn file(path: &Path, what: &str, error: &std::io::Error) -> Failure {
        Failure::new(Exit::Files, format!("{}: {what}: {error}", path.display()))
    }

    /// Says what the text is about, when the text itself does not know.
    pub fn about(self, what: impl std::fmt::Display) -> Failure {
        Failure { text: format!("{what}: {}", self.text), ..self }
    }

    /// Adds what the user can do.
    pub fn hint(self, hint: &str) -> Failure {
        Failure { text: format!("{}\n  {hint}", self.text), ..self }
    }
}

/// The text is the library's own.
impl From<abi::Error> for Failure {
    fn from(error: abi::Error) -> Failure {
        let exit = exit_for(error.status);
        // only a bug makes its name worth telling
        let name = if exit == Exit::Bug { format!("{}: ", abi::status_name(error.status)) } else { String::new() };
        // what a host writes in code is an option here
        let text = error.text.replace("max_tensor_bytes in zb_model_options", "--max-tensor-bytes");
        Failure { exit, text: name + &text }
    }
}

fn exit_for(status: i32) -> Exit {
    match status {
        ZB_ERROR_INVALID_ARGUMENT | ZB_ERROR_NOT_FOUND => Exit::Usage,
        ZB_ERROR_MODEL_INVALID => Exit::Model,
        ZB_ERROR_RUNTIME_UNAVAILABLE => Exit::EngineMissing,
        ZB_ERROR_IO | ZB_ERROR_READ_ONLY => Exit::Files,
        ZB_ERROR_UNSUPPORTED => Exit::Unsupported,
        ZB_ERROR_DTYPE_MISMATCH | ZB_ERROR_SHAPE_MISMATCH | ZB_ERROR_UNBOUND => Exit::Data,
        // every buffer here has the size of its shape, so that one which is too small only lacks what lies behind it
        ZB_ERROR_COPY_REQUIRED | ZB_ERROR_MISALIGNED | ZB_ERROR_BUFFER_TOO_SMALL => Exit::CopyNeeded,
        ZB_ERROR_RUNTIME | ZB_ERROR_CANCELLED | ZB_ERROR_DEADLINE_EXCEEDED => Exit::Engine,
        ZB_ERROR_OUT_OF_MEMORY => Exit::Memory,
        _ => Exit::Bug,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Statuses that no call of the tool can give unless it is wrong: handles, NULLs, queues, threads.
    const BUGS: [&str; 11] = [
        "NULL_ARGUMENT",
        "INVALID_HANDLE",
        "BUSY",
        "ALIASED",
        "DESTROYED",
        "PANIC",
        "TIMEOUT",
        "DEPENDENCY",
        "QUEUE_FULL",
        "?",
        "OK",
    ];

    #[test]
    fn every_status_has_an_exit_code() {
        for status in 0..=26 {
            let name = abi::status_name(status);
            let is_bug = BUGS.iter().any(|bug| name.trim_start_matches("ZB_").trim_start_matches("ERROR_") == *bug);
            assert_eq!(exit_for(status) == Exit::Bug, is_bug, "{name}");
        }
    }

    #[test]
    fn the_manual_has_the_table() {
        let manual = include_str!("../../docs/tool.md");
        for code in 0..=10 {
            assert!(manual.contains(&format!("| {code} |")), "docs/tool.md does not tell exit code {code}");
            assert!(
                crate::cli::EXIT_CODES.contains(&format!("\n  {code:<3}")),
                "--help does not tell exit code {code}"
            );
        }
    }
}
