//! Loans: memory lent to a slot for one call.

use super::{Attached, Context, Deadline};
use crate::base::{Desc, Result, Side, Slot, fail};
use crate::memory::HostRange;

/// A context that is being lent memory for one run.
pub struct Lending<'a>(&'a mut Context);

impl Lending<'_> {
    /// Lends memory to a slot; without a desc, as what the slot is now.
    #[inline]
    pub fn lend(&mut self, slot: Slot, memory: HostRange, desc: Option<&Desc>) -> Result<()> {
        self.0.lend(slot, memory, desc)
    }
}

impl Context {
    /// Runs once with the memory that `lend_all` lends to some slots. However it ends, nothing of that memory is kept.
    pub fn infer_with(
        &mut self,
        deadline: Option<Deadline>,
        lend_all: impl FnOnce(&mut Lending<'_>) -> Result<()>,
    ) -> Result<()> {
        let result = match lend_all(&mut Lending(self)) {
            Ok(()) => self.infer(deadline),
            Err(error) => {
                self.restore_shapes();
                Err(error)
            }
        };
        self.end_loans();
        result
    }

    fn lend(&mut self, slot: Slot, memory: HostRange, desc: Option<&Desc>) -> Result<()> {
        let position = self.position(slot)?;
        if self.slots[position].loan.is_some() {
            return fail!(InvalidArgument, "{} is named twice among the loans", self.label(position));
        }
        if let Some(desc) = desc
            && (self.shapes_changed || self.slots[position].fit.desc() != Some(desc))
        {
            self.adopt_shape(slot, desc, memory.size())?;
        }
        self.settled = false;
        let state = &mut self.slots[position];
        state.loan = Some(memory);
        // a desc is large, and mostly there is none to forget
        if state.loan_desc.is_some() || desc.is_some() {
            state.loan_desc = desc.copied();
        }
        Ok(())
    }

    /// A lent input that differs from the slot only in open dimensions resizes it, and that stays.
    fn adopt_shape(&mut self, slot: Slot, desc: &Desc, size: usize) -> Result<()> {
        if slot.side == Side::Input && self.gives_new_shape(slot, desc) {
            let before = self.resized[slot.index].replace(desc.dims);
            self.slots[slot.index].resized_before_loan = Some(before);
            self.shapes_changed = true;
        }
        // what an output is going to be is known once the inputs are
        match slot.side {
            Side::Input => self.check_desc(slot, desc, size),
            Side::Output => Ok(()),
        }
    }

    pub(super) fn gives_new_shape(&self, slot: Slot, desc: &Desc) -> bool {
        let declared = &self.model.slots(slot.side)[slot.index].desc;
        desc.dtype == declared.dtype
            && desc.dims.is_known()
            && desc.dims.matches(&declared.dims)
            && desc.dims != *self.current_input_dims(slot.index)
    }

    /// A call that was refused before it planned leaves the shapes as they were.
    fn restore_shapes(&mut self) {
        for position in 0..self.inputs {
            if let Some(before) = self.slots[position].resized_before_loan.take() {
                self.resized[position] = before;
                self.shapes_changed = true;
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
