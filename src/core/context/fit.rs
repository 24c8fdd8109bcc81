//! What fits a slot without a second look.
//!
//! Memory that is right in every way is the rule, and on the run path it is recognised here, in a few comparisons. Whatever
//! is not recognised goes through the checks of `route`, which decide, and find the words for what is wrong.

use super::Context;
use crate::base::hint::likely;
use crate::base::{Desc, Side, Slot};
use crate::memory::{Access, HostRange, page_size};

/// What memory for a slot of the plan has to be, worked out once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fit {
    /// `None`: nothing is accepted at first sight.
    wanted: Option<Wanted>,
}

#[derive(Clone, Copy, Debug)]
struct Wanted {
    desc: Desc,
    needs: Needs,
}

/// What memory for a slot has to be, whatever is said that it holds.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// Above 0.
    bytes: usize,
    alignment_mask: usize,
    slack: usize,
    page_mask: usize,
    side: Side,
}

impl Fit {
    /// Whether the engine can work on this memory directly, as far as one slot can tell.
    #[inline]
    pub fn accepts(&self, memory: &HostRange, desc: Option<&Desc>) -> bool {
        let Some(Wanted { desc: wanted, needs }) = &self.wanted else { return false };
        let right_size = match needs.side {
            Side::Input => memory.size() == needs.bytes,
            Side::Output => memory.size() >= needs.bytes && memory.access() == Access::ReadWrite,
        };
        right_size && desc.is_none_or(|desc| desc == wanted) && needs.place_is_right(memory)
    }

    /// The same without the desc, where planning knows it in full.
    pub fn needs(&self) -> Option<Needs> {
        self.wanted.as_ref().map(|wanted| wanted.needs)
    }

    /// The desc, where planning knows it in full.
    #[inline]
    pub fn desc(&self) -> Option<&Desc> {
        self.wanted.as_ref().map(|wanted| &wanted.desc)
    }

    /// Bytes of the slot, where planning knows them.
    #[inline]
    pub fn bytes(&self) -> Option<usize> {
        self.wanted.as_ref().map(|wanted| wanted.needs.bytes)
    }
}

impl Needs {
    /// Whether memory lent to the slot, to be written if it is an output, is right with nothing to spare.
    #[inline]
    pub fn are_met(&self, memory: &HostRange) -> bool {
        memory.size() == self.bytes && self.place_is_right(memory)
    }

    #[inline]
    fn place_is_right(&self, memory: &HostRange) -> bool {
        memory.data() as usize & self.alignment_mask == 0
            && (likely(memory.capacity() - memory.size() >= self.slack) || self.stays_in_page(memory))
    }

    /// Whether an engine that reads on past the end stays in the page that holds the last byte.
    fn stays_in_page(&self, memory: &HostRange) -> bool {
        let end = (memory.data() as usize).wrapping_add(memory.size());
        end.wrapping_neg() & self.page_mask >= self.slack
    }
}

impl Context {
    /// Works out what fits each slot of a new plan.
    pub(super) fn fit_all(&mut self) {
        for position in 0..self.slots.len() {
            let wanted = self.wanted(self.slot_at(position));
            self.slots[position].fit = Fit { wanted };
        }
    }

    fn wanted(&self, slot: Slot) -> Option<Wanted> {
        let planned = self.planned(slot)?;
        if planned.twin.is_some() || planned.fixed.is_some() || !planned.desc.dims.is_known() {
            return None;
        }
        let needs = Needs {
            // empty memory follows rules of its own
            bytes: planned.desc.memory_size().ok().filter(|bytes| *bytes > 0)?,
            alignment_mask: self.alignment_of(slot) - 1,
            slack: if slot.side == Side::Input { self.facts.input_slack } else { 0 },
            page_mask: page_size() - 1,
            side: slot.side,
        };
        Some(Wanted { desc: planned.desc, needs })
    }
}
