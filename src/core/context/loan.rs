//! Loans: memory lent to a slot for one call.

use super::{Attached, Context, Deadline};
use crate::base::hint::likely;
use crate::base::{Desc, Result, Side, Slot, fail};
use crate::memory::HostRange;
use crate::runtime::Loan;

/// A context that is being lent memory for one run.
pub struct Lending<'a> {
    context: &'a mut Context,
    /// Whether all that was lent so far may make a run that is relent.
    may_relend: bool,
}

impl Lending<'_> {
    /// Lends memory to a slot; without a desc, as what the slot is now.
    pub fn lend(&mut self, slot: Slot, memory: HostRange, desc: Option<&Desc>) -> Result<()> {
        let context = &mut *self.context;
        let position = context.position(slot)?;
        let is_wanted = self.may_relend && context.is_wanted_again(context.lent.len(), slot);
        let state = &mut context.slots[position];
        if std::mem::replace(&mut state.lent_in, context.call) == context.call {
            return context.named_twice(position);
        }
        // one with room to spare may have to hold another shape, if a later loan gives it
        if is_wanted && state.fit.bytes() == Some(memory.size()) && state.fit.accepts(&memory, desc) {
            state.lent_with_desc = desc.is_some();
            context.lent.push(Loan { slot, memory });
            return Ok(());
        }
        if std::mem::take(&mut self.may_relend) {
            context.spread_loans();
        }
        context.lend_with_care(slot, memory, desc)
    }
}

impl Context {
    /// As `infer_with`, where `at_once` gives the loans too: `None` for one that more has to be said about than slot and memory.
    #[inline]
    pub fn infer_lent(
        &mut self,
        deadline: Option<Deadline>,
        at_once: impl ExactSizeIterator<Item = Option<Loan>>,
        lend_all: impl FnOnce(&mut Lending<'_>) -> Result<()>,
    ) -> Result<()> {
        if likely(self.relend(at_once)) {
            return self.infer_relent(deadline);
        }
        self.infer_with(deadline, lend_all)
    }

    /// Runs once with the memory that `lend_all` lends to some slots. However it ends, nothing of that memory is kept.
    #[inline(never)]
    pub fn infer_with(
        &mut self,
        deadline: Option<Deadline>,
        lend_all: impl FnOnce(&mut Lending<'_>) -> Result<()>,
    ) -> Result<()> {
        self.call += 1;
        let mut lending = Lending { context: self, may_relend: true };
        let lent = lend_all(&mut lending);
        if lending.may_relend {
            if lent.is_ok() && self.relend_lent() {
                self.lent.clear();
                return self.infer_relent(deadline);
            }
            self.spread_loans();
        }
        self.infer_spread(deadline, lent)
    }

    #[inline(always)]
    fn infer_relent(&mut self, deadline: Option<Deadline>) -> Result<()> {
        self.is_relent = true;
        let result = self.infer(deadline);
        self.is_relent = false;
        result
    }

    /// Runs with loans that are all where a run looks that checks everything.
    #[inline(never)]
    fn infer_spread(&mut self, deadline: Option<Deadline>, lent: Result<()>) -> Result<()> {
        let result = match lent {
            Ok(()) => self.infer(deadline),
            Err(error) => {
                self.restore_shapes();
                Err(error)
            }
        };
        self.end_loans(result.is_ok());
        self.lent.clear();
        result
    }

    /// Lends where anything may be new, or wrong.
    #[inline(never)]
    fn lend_with_care(&mut self, slot: Slot, memory: HostRange, desc: Option<&Desc>) -> Result<()> {
        let position = self.position_of(slot);
        if let Some(desc) = desc
            && (self.shapes_changed || self.slots[position].fit.desc() != Some(desc))
        {
            self.adopt_shape(slot, desc, memory.size())?;
        }
        self.settled = false;
        self.lent.push(Loan { slot, memory });
        let state = &mut self.slots[position];
        state.loan = Some(memory);
        // a desc is large, and mostly there is none to forget
        if state.loan_desc.is_some() || desc.is_some() {
            state.loan_desc = desc.copied();
        }
        Ok(())
    }

    #[cold]
    fn named_twice(&self, position: usize) -> Result<()> {
        fail!(InvalidArgument, "{} is named twice among the loans", self.label(position))
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

    /// Takes every loan back. After a run the engine has let go of them by itself.
    fn end_loans(&mut self, has_worked: bool) {
        for number in 0..self.lent.len() {
            let position = self.position_of(self.lent[number].slot);
            let slot = &mut self.slots[position];
            slot.loan = None;
            slot.resized_before_loan = None;
            if slot.attached == Attached::Loan {
                self.detach(position);
            }
        }
        if has_worked && !self.lent.is_empty() {
            self.note_relendable();
        }
    }
}
