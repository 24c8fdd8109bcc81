//! Loans: memory lent to a slot for one call.

use super::{Attached, Context};
use crate::base::{Desc, Result, Side, Slot, fail};
use crate::memory::HostRange;

/// Memory lent to a slot for one call.
#[derive(Clone, Copy, Debug)]
pub struct Loan {
    pub slot: Slot,
    pub range: HostRange,
    /// `None`: as the slot is now.
    pub desc: Option<Desc>,
}

impl Context {
    /// Runs once with memory lent to some slots. However it ends, nothing of that memory is kept.
    pub fn infer_with(&mut self, loans: impl Iterator<Item = Result<Loan>>) -> Result<()> {
        let result = self.lend_all(loans).and_then(|()| self.infer());
        self.end_loans();
        result
    }

    fn lend_all(&mut self, loans: impl Iterator<Item = Result<Loan>>) -> Result<()> {
        for loan in loans {
            let result = loan.and_then(|loan| self.lend(loan));
            if result.is_err() {
                self.restore_shapes();
                return result;
            }
        }
        Ok(())
    }

    fn lend(&mut self, loan: Loan) -> Result<()> {
        let position = self.position(loan.slot)?;
        if self.slots[position].loan.is_some() {
            return fail!(InvalidArgument, "{} is named twice among the loans", self.label(position));
        }
        if let Some(desc) = &loan.desc {
            self.adopt_shape(loan.slot, desc, loan.range.size())?;
        }
        self.settled = false;
        self.slots[position].loan = Some(loan);
        Ok(())
    }

    /// A lent input that differs from the slot only in open dimensions resizes it, and that stays.
    fn adopt_shape(&mut self, slot: Slot, desc: &Desc, size: usize) -> Result<()> {
        if slot.side == Side::Input && self.gives_new_shape(slot, desc) {
            let before = self.resized[slot.index].replace(desc.dims);
            self.slots[slot.index].resized_before_loan = Some(before);
        }
        self.check_desc(slot, desc, size)
    }

    fn gives_new_shape(&self, slot: Slot, desc: &Desc) -> bool {
        let declared = &self.model.slots(slot.side)[slot.index].desc;
        desc.dtype == declared.dtype
            && desc.dims.is_known()
            && desc.dims.matches(&declared.dims)
            && desc.dims != self.current_input_dims(slot.index)
    }

    /// A call that was refused before it planned leaves the shapes as they were.
    fn restore_shapes(&mut self) {
        for position in 0..self.inputs {
            if let Some(before) = self.slots[position].resized_before_loan.take() {
                self.resized[position] = before;
            }
        }
    }

    /// Takes every loan back from the engine.
    fn end_loans(&mut self) {
        for position in 0..self.slots.len() {
            if self.slots[position].loan.take().is_some() {
                self.slots[position].resized_before_loan = None;
                if self.slots[position].attached == Attached::Loan {
                    self.detach(position);
                }
                self.settled = false;
            }
        }
    }
}
