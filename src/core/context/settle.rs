//! Checking the whole set of memory for a run, and handing it to the engine.

use std::sync::Arc;

use super::route::Route;
use super::{Attached, Context};
use crate::base::{Result, Slot, fail};
use crate::core::stop::Stop;
use crate::memory::{Buffer, HostRange};
use crate::runtime::Stay;

impl Context {
    /// Makes everything ready for `engine.run`: shapes, checks, attachments. Writes no memory of the host.
    pub(super) fn settle(&mut self, stop: &Arc<Stop>) -> Result<()> {
        self.prepare()?;
        self.unsettle();
        self.viewable = false;
        self.remembered = false;
        let mut lent = false;
        self.copies = false;
        for position in 0..self.slots.len() {
            let route = self.route(position)?;
            lent |= self.slots[position].loan.is_some();
            self.copies |= matches!(route, Route::Staged(..));
            self.slots[position].route = route;
        }
        self.check_overlap()?;
        // what is let go may be the tensor that another slot is about to be given
        for position in 0..self.slots.len() {
            self.let_go(position);
        }
        for position in 0..self.slots.len() {
            self.attach(position)?;
        }
        self.collect_uses(stop);
        self.settled = !lent;
        Ok(())
    }

    /// An output must not share a byte with any other slot: the engines compute wrong results without a word.
    #[inline]
    pub(super) fn check_overlap(&self) -> Result<()> {
        for output in self.inputs..self.slots.len() {
            let Some(memory) = self.slots[output].route.memory() else { continue };
            // each pair of outputs once
            for other in 0..output {
                let Some(taken) = self.slots[other].route.memory() else { continue };
                if memory.overlaps(taken) && !self.may_share(output, other) {
                    return self.overlap(output, memory, other, taken);
                }
            }
        }
        Ok(())
    }

    #[cold]
    fn overlap(&self, output: usize, memory: &HostRange, other: usize, taken: &HostRange) -> Result<()> {
        let start = memory.data() as usize;
        let other_start = taken.data() as usize;
        fail!(
            Aliased,
            "{} at {start:#x} ({} bytes) overlaps {} at {other_start:#x} ({} bytes): give each its own memory",
            self.label(output),
            memory.size(),
            self.label(other),
            taken.size()
        )
    }

    /// Whether two slots are one tensor for the model, at one address.
    fn may_share(&self, output: usize, other: usize) -> bool {
        let owner = |position: usize| self.owner_of(self.slot_at(position));
        let address = |position: usize| self.slots[position].route.memory().map(HostRange::data);
        owner(output) == owner(other) && address(output) == address(other)
    }

    /// Whether the route of a slot needs memory in the place of the engine's.
    fn needs_attachment(&self, position: usize) -> bool {
        match self.slots[position].route {
            Route::Direct(_) => true,
            Route::Staged(..) => position < self.inputs,
            // the engine uses its own memory, or that of the twin
            Route::Engine | Route::Shared(_) => false,
        }
    }

    fn let_go(&mut self, position: usize) {
        if self.slots[position].attached != Attached::Nothing && !self.needs_attachment(position) {
            self.detach(position);
        }
    }

    /// Gives the engine what the slot's route needs, unless it has it already.
    fn attach(&mut self, position: usize) -> Result<()> {
        match self.slots[position].route {
            Route::Direct(memory) => {
                let lent = self.slots[position].loan.is_some();
                let (what, stay) =
                    if lent { (Attached::Loan, Stay::OneRun) } else { (Attached::Binding, Stay::Sticky) };
                self.give(position, memory, what, stay)
            }
            Route::Staged(memory, _) if position < self.inputs => {
                let staging = self.staging_for(position, memory.size())?;
                self.give(position, staging, Attached::Staging, Stay::Sticky)
            }
            Route::Engine | Route::Shared(_) | Route::Staged(..) => Ok(()),
        }
    }

    /// A change of what is attached under the same name (another binding, say) comes here with nothing attached.
    #[inline]
    fn give(&mut self, position: usize, memory: HostRange, what: Attached, stay: Stay) -> Result<()> {
        if self.slots[position].attached == what {
            return Ok(());
        }
        let slot = self.owner_of(self.slot_at(position));
        self.note_before_change(position, slot);
        match self.slots[position].fit.desc() {
            Some(desc) => self.engine.attach(slot, memory, desc, stay)?,
            None => self.engine.attach(slot, memory, &self.desc_in_use(position), stay)?,
        }
        self.slots[position].attached = what;
        self.stats.rebinds += 1;
        Ok(())
    }

    /// Memory of our own for a staged input, made once for a plan.
    fn staging_for(&mut self, position: usize, size: usize) -> Result<HostRange> {
        if let Some(buffer) = &self.slots[position].staging {
            return Ok(buffer.range());
        }
        let alignment = self.alignment_of(self.slot_at(position)).max(64);
        let buffer = Buffer::zeroed(size, alignment)?;
        self.stats.allocations += 1;
        let range = buffer.range();
        self.slots[position].staging = Some(buffer);
        Ok(range)
    }

    /// The slot whose attachment holds the value of `slot`.
    pub(super) fn owner_of(&self, slot: Slot) -> Slot {
        self.planned(slot).and_then(|planned| planned.twin).unwrap_or(slot)
    }
}
