//! The helper: a process that watches, and one that tries the model.

use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use super::report::{End, Line};
use super::request::Request;
use super::{build, sys, trial};

/// What the helper is started with.
pub const ARGUMENT: &str = "--trial";

/// The whole of the helper: a program whose `main` calls this.
pub fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments.as_slice() {
        [argument] if argument == ARGUMENT => {}
        [argument] if argument == "--version" => {
            println!("zerobind-preflight {}", build());
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!(
                "zerobind-preflight {}: libzerobind starts this program to try a model in a process of its own; to try one by hand, use `zerobind check MODEL`",
                build()
            );
            return ExitCode::from(2);
        }
    }
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("zerobind-preflight: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    sys::close_others();
    sys::reset_signals();
    let (mut file, mut out) = take_descriptors()?;
    sys::end_with_parent();
    sys::adopt_orphans();
    out.write_all(&Line::Hello(build()).to_bytes())?;
    let (request, model_at) = Request::read(&mut file)?;
    if request.build != build() {
        return Err(io::Error::other(format!("the library is {}", request.build)));
    }
    // a trial is no use of the product that anybody has to hear of
    sys::set_variable("ORT_DISABLE_TELEMETRY", "1");
    let timeout = Duration::from_nanos(request.timeout_ns);
    match sys::split()? {
        None => trial::process(&request, &file, model_at, out),
        Some(worker) => watch(worker, timeout, out),
    }
}

/// The request from standard input and the pipe from standard output; what engines print goes where errors go.
fn take_descriptors() -> io::Result<(File, File)> {
    let file = File::from(sys::duplicate_above(&io::stdin())?);
    let out = File::from(sys::duplicate_above(&io::stdout())?);
    sys::make_standard(&File::open("/dev/null")?, 0)?;
    sys::make_standard(&io::stderr(), 1)?;
    Ok((file, out))
}

/// Sees the worker to its end, in time, and leaves nothing running that it may have started.
fn watch(worker: i32, timeout: Duration, mut out: File) -> io::Result<()> {
    sys::lead_group(worker);
    out.write_all(&Line::Worker(worker).to_bytes())?;
    sys::end_after(worker, timeout)?;
    let end = sys::end_of(worker)?;
    bury_all(worker);
    tell_end(end, out)
}

fn tell_end(end: End, mut out: File) -> io::Result<()> {
    out.write_all(&Line::Ended(end).to_bytes())
}

/// Ends what is left of the worker's group, and its children that have left the group.
fn bury_all(worker: i32) {
    const ROUNDS: usize = 500;

    sys::end_group(worker);
    for _ in 0..ROUNDS {
        if !sys::has_children_left() {
            return;
        }
        sys::end_children();
        // they are dying; one that forks faster than this is left to the limit of its processor time
        std::thread::sleep(Duration::from_millis(1));
    }
}
