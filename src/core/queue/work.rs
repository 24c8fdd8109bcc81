//! What an operation does.

use std::sync::Arc;

use super::inference::Inference;
use crate::base::{Result, fail};
use crate::core::event::{CancelFlag, Event, Outcome};
use crate::core::tensor::Tensor;
use crate::core::usage::{self, Access, Usage, Uses};
use crate::memory::{self, Buffer, HostRange};
use crate::sync::Backoff;

pub enum Work {
    Infer(Inference),
    Write { bytes: Option<Buffer>, range: HostRange },
    Read { range: HostRange, destination: HostRange },
    Nothing,
}

/// A tensor that an operation uses.
pub struct Use {
    pub tensor: Arc<Tensor>,
    pub access: Access,
    /// What is in it has to be what it should.
    pub is_read: bool,
    /// What is written replaces all that the tensor held.
    pub is_whole: bool,
}

impl Use {
    pub fn read(tensor: Arc<Tensor>) -> Use {
        Use { tensor, access: Access::Read, is_read: true, is_whole: false }
    }

    pub fn write(tensor: Arc<Tensor>, is_whole: bool) -> Use {
        Use { tensor, access: Access::Write, is_read: false, is_whole }
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
    /// Does it. The uses are the ones that it was added with.
    pub fn run(&self, event: &Event, uses: &[Use]) -> Outcome {
        match self {
            Work::Infer(inference) => inference.run(event),
            Work::Write { bytes: Some(bytes), range } => copy(range, &bytes.range(), uses, event),
            Work::Read { range, destination } => copy(destination, range, uses, event),
            Work::Write { bytes: None, .. } | Work::Nothing => Outcome::default(),
        }
    }
}

impl Uses for Use {
    fn uses(&self) -> Option<(&Usage, Access)> {
        Some((self.tensor.usage(), self.access))
    }
}

/// Copies, once no direct run uses the tensor.
fn copy(to: &HostRange, from: &HostRange, uses: &[Use], event: &Event) -> Outcome {
    let copied = uses.iter().try_for_each(|used| used.tensor.still_there()).and_then(|()| {
        let _held = hold_patiently(uses, || give_up(event.cancelled()))?;
        to.copy_from(from);
        Ok(())
    });
    Outcome { error: copied.err(), slots: None }
}

/// Waits for direct runs of other contexts, which keep no line, until `give_up` has an error to end it with.
pub fn hold_patiently<T: Uses>(uses: &[T], give_up: impl Fn() -> Result<()>) -> Result<usage::Held<'_, T>> {
    let mut backoff = Backoff::default();
    loop {
        if let Ok(held) = usage::hold(uses) {
            return Ok(held);
        }
        give_up()?;
        backoff.wait();
    }
}

fn give_up(cancelled: &CancelFlag) -> Result<()> {
    if cancelled.is_raised() {
        return fail!(Cancelled, "cancelled while a run of another context used the tensor");
    }
    Ok(())
}
