//! What goes to the terminal. A reader that leaves (`| head`) ends the text, not the program.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::failure::{Exit, Failure, Result};
use crate::text::plain_lines;

/// Prints a finished text to standard output.
pub fn text(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Files, format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints one JSON document.
pub fn json(value: &impl Serialize) -> Result<()> {
    let mut document = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::new(Exit::Bug, format!("the result makes no JSON: {error}")))?;
    document.push('\n');
    text(&document)
}

/// Prints an error to standard error, without what names and files could do to the terminal. If that fails there is nobody left to tell.
pub fn failure(failure: &Failure) {
    let _ = writeln!(io::stderr(), "zerobind: {}", plain_lines(&failure.text));
}

/// Prints what clap has to say: help and version to standard output, errors to standard error.
pub fn usage(error: &clap::Error) -> ExitCode {
    let printed = match error.use_stderr() {
        true => io::stderr().write_all(plain_lines(&error.render().to_string()).as_bytes()),
        false => error.print(),
    };
    match printed {
        Err(io) if io.kind() != ErrorKind::BrokenPipe => Exit::Files.into(),
        _ => ExitCode::from(error.exit_code() as u8),
    }
}
