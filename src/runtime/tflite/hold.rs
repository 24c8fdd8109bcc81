//! Putting memory in the place of the engine's, and taking it away again.

use super::context::{ALIGNMENT, Context};
use super::place::{Held, Place};
use super::symbols::{CustomAllocation, OK};
use crate::base::{Error, Result, Side, Slot, Status};
use crate::memory::{Buffer, HostRange};
use crate::runtime::Rebind;

impl Context {
    pub(super) fn place(&self, slot: Slot) -> Option<&Place> {
        let list = if slot.side == Side::Input { &self.inputs } else { &self.outputs };
        list.get(slot.index)
    }

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
        let was_loose = place.is_loose();
        // SAFETY: the number was checked when the model was opened, the memory by the caller.
        let status = unsafe { self.interpreter.set_memory(place.tensor, memory) };
        if status != OK {
            return self.interpreter.check(status, || "TFLite refuses the memory".to_owned());
        }
        place.held = held;
        self.loose = self.loose + usize::from(place.is_loose()) - usize::from(was_loose);
        if self.rebind == Rebind::Replan { self.interpreter.allocate() } else { Ok(()) }
    }

    /// Puts the sentinel in the place of a slot's memory.
    pub(super) fn put_nothing(&mut self, slot: Slot) -> Result<()> {
        // SAFETY: the sentinel is never used, since the slot counts as loose from now on.
        unsafe { self.put(slot, &self.sentinel.allocation(), Held::Nothing) }
    }

    /// Lets memory that was lent be, and sees to it that the engine does not use it again; `false`: the slot has none.
    pub(super) fn leave_behind(&mut self, slot: Slot) -> bool {
        let Some(place) = self.place_mut(slot).filter(|place| place.held == Held::Lent) else { return false };
        let was_loose = place.is_loose();
        place.held = Held::Gone;
        let is_loose = place.is_loose();
        self.loose = self.loose + usize::from(is_loose) - usize::from(was_loose);
        true
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
            return Some(Error::new(Status::InvalidArgument, format!("{slot}: the model has no such slot")));
        };
        if self.plan.is_none() {
            return Some(Error::new(Status::Runtime, format!("{}: memory before there is a plan", self.title(slot))));
        }
        if place.is_text {
            let text = format!("{}: strings are not supported in this version", self.title(slot));
            return Some(Error::new(Status::Unsupported, text));
        }
        if !place.bindable {
            let text = format!("{}: no memory can take the place of the engine's", self.title(slot));
            return Some(Error::new(Status::CopyRequired, text));
        }
        // the engine would write past the end of memory that is too short
        if memory.size() < place.bytes {
            let (needed, given) = (place.bytes, memory.size());
            let text = format!("{}: {needed} bytes are needed, {given} were given", self.title(slot));
            return Some(Error::new(Status::BufferTooSmall, text));
        }
        None
    }

    /// A slot with its name, for texts.
    pub(super) fn title(&self, slot: Slot) -> String {
        let list = if slot.side == Side::Input { &self.declared.inputs } else { &self.declared.outputs };
        let name = list.get(slot.index).map_or("", |info| info.name.as_str());
        format!("{slot} '{name}'")
    }
}

pub fn as_allocation(memory: &HostRange) -> CustomAllocation {
    CustomAllocation { data: memory.data(), bytes: memory.size() }
}
