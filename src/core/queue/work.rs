//! What an operation does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::inference::Inference;
use crate::base::{Error, Result, Status, fail};
use crate::core::event::{Event, Outcome};
use crate::core::tensor::Tensor;
use crate::core::usage::{self, Access, Usage, Uses};
use crate::memory::{self, Buffer, HostRange};
use crate::sync::Backoff;

pub enum Work {
    Infer(Box<Inference>),
    Write {
        bytes: Option<Buffer>,
        range: HostRange,
    },
    Read {
        range: HostRange,
        destination: HostRange,
    },
    Nothing,
    /// It must not be done.
    Refused(Error),
}

/// A tensor that an operation uses.
pub struct Use {
    pub tensor: Arc<Tensor>,
    pub access: Access,
    /// What is written replaces all that the tensor held.
    pub is_whole: bool,
}

impl Use {
    pub fn read(tensor: Arc<Tensor>) -> Use {
        Use { tensor, access: Access::Read, is_whole: false }
    }

    pub fn write(tensor: Arc<Tensor>, is_whole: bool) -> Use {
        Use { tensor, access: Access::Write, is_whole }
    }
}

/// The bytes of a tensor from `offset` on.
pub fn part(tensor: &Tensor, offset: usize, size: usize) -> Result<HostRange> {
    let whole = tensor.range();
    match whole.part(offset, size) {
        Some(part) => Ok(part),
        None => fail!(
            InvalidArgument,
            "{size} bytes from byte {offset} on are not in the tensor, which has {}",
            whole.size()
        ),
    }
}

pub fn require_writable(tensor: &Tensor) -> Result<()> {
    if tensor.range().access() == memory::Access::ReadOnly {
        return fail!(ReadOnly, "the tensor's memory is read-only");
    }
    Ok(())
}

/// What is to be written, as it is now.
pub fn copy_of(source: &HostRange) -> Result<Option<Buffer>> {
    if source.size() == 0 {
        return Ok(None);
    }
    let buffer = Buffer::zeroed(source.size(), 64)?;
    buffer.range().copy_from(source);
    Ok(Some(buffer))
}

impl Work {
    /// Does it; a copy with the tensor that it was added with.
    pub fn run(self, event: &Event, tensor: Option<&Tensor>) -> Outcome {
        match self {
            Work::Infer(inference) => inference.run(event),
            Work::Write { bytes: Some(bytes), range } => copy(&range, &bytes.range(), tensor, Access::Write, event),
            Work::Read { range, destination } => copy(&destination, &range, tensor, Access::Read, event),
            Work::Write { bytes: None, .. } | Work::Nothing => Outcome::default(),
            Work::Refused(error) => Outcome::failed(error),
        }
    }
}

struct Held<'a>(&'a Tensor, Access);

impl Uses for Held<'_> {
    fn uses(&self) -> Option<(&Usage, Access)> {
        Some((self.0.usage(), self.1))
    }
}

/// Copies, once no direct run uses the tensor.
fn copy(to: &HostRange, from: &HostRange, tensor: Option<&Tensor>, access: Access, event: &Event) -> Outcome {
    let Some(tensor) = tensor else { return Outcome::default() };
    if let Err(error) = tensor.still_there() {
        return Outcome::failed(error);
    }
    let held = [Held(tensor, access)];
    match hold_patiently(&held, event.cancelled()) {
        Ok(_held) => {
            to.copy_from(from);
            Outcome::default()
        }
        Err(error) => Outcome::failed(error),
    }
}

/// Waits for direct runs of other contexts, which keep no line.
pub fn hold_patiently<'a, T: Uses>(uses: &'a [T], cancelled: &AtomicBool) -> Result<usage::Held<'a, T>> {
    let mut backoff = Backoff::default();
    loop {
        if let Ok(held) = usage::hold(uses) {
            return Ok(held);
        }
        if cancelled.load(Ordering::Acquire) {
            return Err(Error::new(Status::Cancelled, "cancelled while a run of another context used the tensor"));
        }
        backoff.wait();
    }
}
