//! The host's side of a trial: start the helper, listen, and see that nothing is left of it.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::helper::ARGUMENT;
use super::listen::{self, Heard, Patience};
use super::request::Request;
use super::{Limits, Subject, sys};
use crate::base::{Error, Result, Status, text};

/// A helper that has not said a word by then is none.
const GREETING: Duration = Duration::from_secs(10);
/// The helper keeps the time itself; this is for one that cannot.
const GRACE: Duration = Duration::from_secs(5);

pub fn ask(helper: &Path, request: &Request, subject: &Subject<'_>, limits: &Limits) -> Result<Heard> {
    let failed = |what: &'static str| move |error: io::Error| Error::new(Status::Io, text!("{what}: {error}"));
    let file = request.write(subject).map_err(failed("the request of a trial cannot be written"))?;
    let (lines, lines_in) = pipe().map_err(failed("no pipe for a trial"))?;
    let (words, words_in) = pipe().map_err(failed("no pipe for a trial"))?;
    let file = above_standard(file).map_err(failed("no descriptor for a trial"))?;
    let child = start(helper, file, lines_in, words_in)
        .map_err(|error| Error::new(Status::Io, text!("the helper {} cannot be started: {error}", helper.display())))?;
    let patience = Patience { greeting: GREETING, all: limits.timeout.saturating_add(GRACE) };
    let heard = listen::listen(lines, words, &patience).map_err(failed("the helper cannot be listened to"));
    finish(child, heard.as_ref().ok());
    heard
}

/// A host may have closed its standard descriptors, and then new ones get their numbers, which the helper needs for itself.
fn above_standard(file: File) -> io::Result<File> {
    sys::duplicate_above(&file).map(File::from)
}

fn pipe() -> io::Result<(File, File)> {
    let (reader, writer) = io::pipe()?;
    let (reader, writer) = (sys::duplicate_above(&reader)?, sys::duplicate_above(&writer)?);
    Ok((reader.into(), writer.into()))
}

/// By `posix_spawn`, since a host has threads and things to do at a fork; the three descriptors are all that it gets.
fn start(helper: &Path, request: File, lines: File, words: File) -> io::Result<Child> {
    let mut command = Command::new(helper);
    command.arg(ARGUMENT).stdin(Stdio::from(request)).stdout(Stdio::from(lines)).stderr(Stdio::from(words));
    command.process_group(0).spawn()
}

/// Leaves no process behind, running or dead.
fn finish(mut child: Child, heard: Option<&Heard>) {
    let told_the_end = heard.is_some_and(|heard| heard.end.is_some());
    if !told_the_end {
        // What still holds a pipe of the trial is in one of these groups, and what has ended is not buried yet, so that their
        // numbers are nobody else's (but for a host that buries it itself, at this very moment).
        if let Some(worker) = heard.and_then(|heard| heard.worker) {
            sys::end_group(worker);
        }
        sys::end_group(child.id() as i32);
    }
    // an error is that of a host that ignores its children or has waited for this one: then it is gone as well
    let _ = child.wait();
}
