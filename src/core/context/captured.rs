//! What a queue takes of a context when an inference is put there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Context;
use crate::base::room::{copied, list};
use crate::base::{Dims, Error, Gather, Result, Side, Slot, Status, text};
use crate::core::Tensor;
use crate::core::queue::{Stake, Use};

/// What an inference on a queue runs with: bindings and shapes of the moment when it was put there.
pub struct Captured {
    pub(super) bindings: Vec<Option<Arc<Tensor>>>,
    pub(super) shapes: Vec<Option<Dims>>,
    /// What it does to tensors, without holding them.
    stakes: Arc<Vec<Stake>>,
    /// Another one for all others, if running with this once more leaves all as it is but for the time that it takes.
    number: Option<u64>,
}

impl Captured {
    fn new(bindings: Vec<Option<Arc<Tensor>>>, shapes: Vec<Option<Dims>>, inputs: usize) -> Result<Captured> {
        let stakes = Arc::new(uses(&bindings, inputs)?.iter().map(Stake::of).gather()?);
        // one that reads what it writes goes on from where the last one was
        let is_repeatable = !stakes.iter().any(Stake::is_read_and_written);
        Ok(Captured { bindings, shapes, stakes, number: is_repeatable.then(next_number) })
    }

    pub fn stakes(&self) -> &Arc<Vec<Stake>> {
        &self.stakes
    }

    pub fn number(&self) -> Option<u64> {
        self.number
    }
}

/// The tensors that a run uses, each once.
fn uses(bindings: &[Option<Arc<Tensor>>], inputs: usize) -> Result<Vec<Use>> {
    let mut uses: Vec<Use> = list(bindings.len())?;
    for (position, tensor) in bindings.iter().enumerate() {
        let Some(tensor) = tensor else { continue };
        let known = uses.iter_mut().find(|used| Arc::ptr_eq(&used.tensor, tensor));
        match (known, position < inputs) {
            // one that is passed through is read all the same
            (Some(known), false) => *known = Use { is_read: known.is_read, ..Use::write(tensor.clone(), true) },
            (Some(_), true) => {}
            (None, false) => uses.push(Use::write(tensor.clone(), true)),
            (None, true) => uses.push(Use::read(tensor.clone())),
        }
    }
    Ok(uses)
}

fn next_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

impl Context {
    /// What a run would use now. The same as the last time if nothing was changed since.
    pub fn capture(&mut self) -> Result<Arc<Captured>> {
        if let Some(captured) = self.captured() {
            return Ok(captured.clone());
        }
        let captured = Arc::new(self.capture_with(&[])?);
        self.captured = Some(captured.clone());
        Ok(captured)
    }

    /// What was captured the last time, if nothing was changed since.
    #[inline]
    pub fn captured(&self) -> Option<&Arc<Captured>> {
        self.captured.as_ref().filter(|captured| captured.shapes == self.resized)
    }

    /// What a run would use now, with `instead` in the place of some bindings.
    pub fn capture_with(&self, instead: &[(Slot, Arc<Tensor>)]) -> Result<Captured> {
        let mut bindings = self.slots.iter().map(|slot| slot.binding.clone()).gather()?;
        let mut shapes = copied(&self.resized)?;
        let is_reshaped = |(slot, tensor): &(Slot, Arc<Tensor>)| {
            slot.side == Side::Input && slot.index < self.inputs && self.gives_new_shape(*slot, tensor.desc())
        };
        // then the plan in force, if there is one, says nothing of the outputs
        let has_other_shapes = instead.iter().any(is_reshaped);
        for (number, (slot, tensor)) in instead.iter().enumerate() {
            let position = self.position(*slot)?;
            if instead[..number].iter().any(|(other, _)| other == slot) {
                let text = text!("{} is named twice", self.label(position));
                return Err(Error::new(Status::InvalidArgument, text));
            }
            if slot.side == Side::Input && self.gives_new_shape(*slot, tensor.desc()) {
                shapes[slot.index] = Some(tensor.desc().dims);
            } else if slot.side == Side::Output && has_other_shapes {
                self.check_fits_pattern(*slot, tensor, &Dims::ANY)?;
            } else {
                self.check_fits(*slot, tensor)?;
            }
            bindings[position] = Some(tensor.clone());
        }
        if let Some(position) = bindings[..self.inputs].iter().position(Option::is_none) {
            let text = text!("{} has no tensor: bind one, or name one for this operation", self.label(position));
            return Err(Error::new(Status::Unbound, text));
        }
        Captured::new(bindings, shapes, self.inputs)
    }
}
