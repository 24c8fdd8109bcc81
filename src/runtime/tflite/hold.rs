//! Putting memory in the place of the engine's, and taking it away again.

use super::context::{ALIGNMENT, Context};
use super::place::{Held, Place};
use super::symbols::{CustomAllocation, OK};
use crate::base::{Error, Result, Side, Slot, Status, text};
use crate::memory::{Buffer, HostRange};
use crate::runtime::{EngineContext, Loan, Rebind};

impl Context {
    #[inline]
    pub(super) fn place(&self, slot: Slot) -> Option<&Place> {
        let list = if slot.side == Side::Input { &self.inputs } else { &self.outputs };
        list.get(slot.index)
    }

    #[inline]
    pub(super) fn place_mut(&mut self, slot: Slot) -> Option<&mut Place> {
        let list = if slot.side == Side::Input { &mut self.inputs } else { &mut self.outputs };
        list.get_mut(slot.index)
    }

    /// Changes what a slot holds.
    ///
    /// # Safety
    /// `slot` exists, and as long as `memory` stays in place, all its bytes are good for what a run does with the slot (the
    /// sentinel, with which nothing runs, is good too).
    pub(super) unsafe fn put(&mut self, slot: Slot, memory: &CustomAllocation, held: Held) -> Result<()> {
        let list = if slot.side == Side::Input { &mut self.inputs } else { &mut self.outputs };
        let place = &mut list[slot.index];
        // SAFETY: the number was checked when the model was opened, the memory by the caller.
        let status = unsafe { self.interpreter.set_memory(place.tensor, memory) };
        if status != OK {
            return self.interpreter.check(status, || text!("TFLite refuses the memory"));
        }
        place.hold(held, &mut self.counts);
        if self.rebind == Rebind::Replan { self.interpreter.allocate() } else { Ok(()) }
    }

    /// Puts the sentinel in the place of a slot's memory.
    pub(super) fn put_nothing(&mut self, slot: Slot) -> Result<()> {
        // SAFETY: the sentinel is never used, since the slot counts as loose from now on.
        unsafe { self.put(slot, &self.sentinel.allocation(), Held::Nothing) }
    }

    /// Gives the engine memory for one run for slots whose last loan is over; `false`: it cannot be done so simply.
    #[inline]
    pub(super) fn gives(&mut self, loans: &[Loan]) -> bool {
        self.rebind == Rebind::Free
            && loans.iter().all(|loan| {
                let places = if loan.slot.side == Side::Input { &self.inputs } else { &self.outputs };
                places.get(loan.slot.index).is_some_and(|place| {
                    let memory = as_allocation(&loan.memory);
                    // SAFETY: it is large enough and good for the next run; a slot whose loan is over is in no other.
                    place.held == Held::Gone
                        && place.takes(&loan.memory)
                        && unsafe { self.interpreter.set_memory(place.tensor, &memory) } == OK
                })
            })
    }

    /// Lets all memory be that was lent for the run that ended, and sees to it that the engine does not use it again.
    pub(super) fn leave_loans_behind(&mut self) {
        if self.rebind == Rebind::Replan {
            // an engine that plans again for each address would see them in the next plan
            return self.take_loans_away();
        }
        let places = self.inputs.iter_mut().chain(&mut self.outputs);
        for place in places.filter(|place| place.held == Held::Lent) {
            place.hold(Held::Gone, &mut self.counts);
        }
    }

    #[cold]
    fn take_loans_away(&mut self) {
        let (inputs, outputs) = (self.inputs.len(), self.outputs.len());
        for slot in (0..inputs).map(Slot::input).chain((0..outputs).map(Slot::output)) {
            if self.place(slot).is_some_and(|place| place.held == Held::Lent) {
                self.detach(slot);
            }
        }
    }

    /// Gives an output memory of ours: the engine's own does not come back.
    pub(super) fn put_scratch(&mut self, position: usize) -> Result<()> {
        let place = &mut self.outputs[position];
        if place.scratch.is_none() {
            place.scratch = Some(Buffer::zeroed(place.bytes, ALIGNMENT)?);
        }
        let Some(range) = place.scratch.as_ref().map(Buffer::range) else { return Ok(()) };
        // SAFETY: the buffer is as large as the plan in force says, and another plan puts the sentinel in its place before
        // it lets the buffer go.
        unsafe { self.put(Slot::output(position), &as_allocation(&range), Held::Scratch) }
    }

    /// Why memory cannot be attached, or `None` when it can.
    pub(super) fn why_not(&self, slot: Slot, memory: &HostRange) -> Option<Error> {
        let Some(place) = self.place(slot) else {
            return Some(Error::new(Status::InvalidArgument, text!("{slot}: the model has no such slot")));
        };
        if self.plan.is_none() {
            return Some(Error::new(Status::Runtime, text!("{}: memory before there is a plan", self.title(slot))));
        }
        if place.is_text {
            let text = text!("{}: strings are not supported in this version", self.title(slot));
            return Some(Error::new(Status::Unsupported, text));
        }
        if !place.bindable {
            let text = text!("{}: no memory can take the place of the engine's", self.title(slot));
            return Some(Error::new(Status::CopyRequired, text));
        }
        // the engine would write past the end of memory that is too short
        if memory.size() < place.bytes {
            let (needed, given) = (place.bytes, memory.size());
            let text = text!("{}: {needed} bytes are needed, {given} were given", self.title(slot));
            return Some(Error::new(Status::BufferTooSmall, text));
        }
        None
    }

    /// A slot with its name, for texts.
    pub(super) fn title(&self, slot: Slot) -> String {
        let list = if slot.side == Side::Input { &self.declared.inputs } else { &self.declared.outputs };
        let name = list.get(slot.index).map_or("", |info| info.name.as_str());
        text!("{slot} '{name}'")
    }
}

pub fn as_allocation(memory: &HostRange) -> CustomAllocation {
    CustomAllocation { data: memory.data(), bytes: memory.size() }
}
