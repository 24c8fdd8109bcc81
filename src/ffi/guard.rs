//! What surrounds every function that returns a status.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::constants::ZB_OK;
use super::error_text;
use super::layout::zb_status;
use super::log_callback::{self, Barred};
use crate::base::{Error, Result, Status, panic_message, text};

/// Runs the body of a function: no panic crosses the boundary, and an error's text is kept for zb_last_error.
///
/// A panic poisons the object that it happened in, because its guard is dropped while the stack unwinds.
#[inline]
pub fn guard(body: impl FnOnce() -> Result<()>) -> zb_status {
    if let Some(barred) = log_callback::barred() {
        return refused(barred);
    }
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => ZB_OK,
        Ok(Err(error)) => failed(error),
        Err(payload) => panicked(payload.as_ref()),
    }
}

#[cold]
#[inline(never)]
fn failed(error: Error) -> zb_status {
    error_text::keep(error.text());
    error.status as zb_status
}

#[cold]
#[inline(never)]
fn panicked(payload: &(dyn Any + Send)) -> zb_status {
    failed(Error::new(Status::Panic, panic_text(payload)))
}

#[cold]
#[inline(never)]
fn refused(barred: Barred) -> zb_status {
    failed(match barred {
        Barred::Logging => {
            Error::new(Status::Busy, "inside a log callback only functions that return no status may be called")
        }
        Barred::Forked => Error::new(
            Status::Unsupported,
            "this process was forked from one that had used zerobind, whose threads and locks are not here: call exec first, or fork before the first use",
        ),
    })
}

fn panic_text(payload: &(dyn Any + Send)) -> String {
    text!(
        "a bug in zerobind was caught ({}): destroy the object that this happened in, and please report it",
        panic_message(payload)
    )
}
