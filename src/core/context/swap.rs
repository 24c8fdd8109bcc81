//! Exchanging the tensors of two slots, as a model with state needs after each run.

use super::{Attached, Context};
use crate::base::{Error, Result, Slot, Status, text};
use crate::core::Tensor;

impl Context {
    /// Exchanges what is bound to two slots. Both tensors must be alike and fit the other's slot; else nothing changes.
    pub fn swap(&mut self, a: Slot, b: Slot) -> Result<()> {
        let (first, second) = (self.position(a)?, self.position(b)?);
        let (left, right) = (self.bound(first)?, self.bound(second)?);
        self.check_alike(first, left, second, right)?;
        self.check_fits(a, right)?;
        self.check_fits(b, left)?;
        for position in [first, second] {
            if self.slots[position].attached == Attached::Binding {
                self.detach(position);
            }
        }
        self.captured = None;
        let left = self.slots[first].binding.take();
        let right = self.slots[second].binding.take();
        // a slot may be swapped with itself: then there was one tensor only
        self.slots[first].binding = right.or_else(|| left.clone());
        self.slots[second].binding = left;
        self.unsettle();
        self.viewable = false;
        Ok(())
    }

    fn bound(&self, position: usize) -> Result<&Tensor> {
        let unbound = || {
            let text = text!("{} has no tensor bound to it: a swap needs both slots bound", self.label(position));
            Error::new(Status::Unbound, text)
        };
        self.slots[position].binding.as_deref().ok_or_else(unbound)
    }

    fn check_alike(&self, first: usize, left: &Tensor, second: usize, right: &Tensor) -> Result<()> {
        let (a, b) = (left.desc(), right.desc());
        if a == b {
            return Ok(());
        }
        let text = text!(
            "{} has a tensor of {a}, but {} one of {b}: only tensors of one type and shape can be swapped",
            self.label(first),
            self.label(second)
        );
        let status = if a.dtype == b.dtype { Status::ShapeMismatch } else { Status::DtypeMismatch };
        Err(Error::new(status, text))
    }
}
