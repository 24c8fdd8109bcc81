//! What a slot computes with at the moment.

use std::ffi::c_int;

use crate::base::{Dtype, Side, Slot};
use crate::memory::{Buffer, HostRange};

/// Whose memory the engine holds for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Its own, as planned; nothing was ever put in its place.
    Engine,
    /// The sentinel: none.
    Nothing,
    /// The host's.
    Host,
    /// The host's, for one run.
    Lent,
    /// The host's from a run that is over. It is not to be used, and nothing runs or plans with it: the next memory of the slot
    /// takes its place, which mostly comes before anything else, and costs one call of the engine instead of two.
    Gone,
    /// Ours, since the engine's own does not come back.
    Scratch,
}

/// Slots that a run has to know of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Reasons to look closer before it: slots without memory, and one for a missing plan.
    pub loose: usize,
    /// Slots with memory that goes when it ends.
    pub lent: usize,
}

/// A slot with the tensor behind it.
pub struct Place {
    pub slot: Slot,
    /// The engine's number, checked when the model was opened.
    pub tensor: c_int,
    /// Whether its elements are strings, which can neither be given nor seen.
    pub is_text: bool,
    /// Bytes of the tensor in the plan in force.
    pub bytes: usize,
    /// Whether memory can be given to it: neither a twin of another slot nor fixed.
    pub bindable: bool,
    /// Whether planning tells the shape.
    pub is_settled: bool,
    pub held: Held,
    /// Made when an output that has lost the engine's memory first has to run without the host's.
    pub scratch: Option<Buffer>,
}

impl Place {
    pub fn new(slot: Slot, tensor: c_int, dtype: Dtype) -> Place {
        let is_text = dtype == Dtype::String;
        Place { slot, tensor, is_text, bytes: 0, bindable: false, is_settled: false, held: Held::Engine, scratch: None }
    }

    /// Whether the engine can be given this memory without another look.
    #[inline]
    pub fn takes(&self, memory: &HostRange) -> bool {
        self.bindable && !self.is_text && self.bytes > 0 && memory.size() >= self.bytes
    }

    /// Changes what it holds.
    #[inline]
    pub fn hold(&mut self, held: Held, counts: &mut Counts) {
        let (was_loose, was_lent) = (self.is_loose(), self.held == Held::Lent);
        self.held = held;
        counts.loose = counts.loose + usize::from(self.is_loose()) - usize::from(was_loose);
        counts.lent = counts.lent + usize::from(held == Held::Lent) - usize::from(was_lent);
    }

    /// Whether it is memory of the host that the engine may use.
    #[inline]
    pub fn is_the_hosts(&self) -> bool {
        matches!(self.held, Held::Host | Held::Lent)
    }

    /// Whether a run has to look at this slot before it can start.
    #[inline]
    pub fn is_loose(&self) -> bool {
        let has_memory = match self.slot.side {
            Side::Input => self.is_the_hosts(),
            Side::Output => !matches!(self.held, Held::Nothing | Held::Gone),
        };
        // strings as an input are refused by the look
        (self.bindable && !has_memory) || (self.is_text && self.slot.side == Side::Input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_need_the_host_and_outputs_need_anyone() {
        let loose = |slot, bindable, held| Place { bindable, held, ..Place::new(slot, 0, Dtype::F32) }.is_loose();
        for held in [Held::Engine, Held::Nothing, Held::Scratch, Held::Gone] {
            assert!(loose(Slot::input(0), true, held));
        }
        assert!(!loose(Slot::input(0), true, Held::Host) && !loose(Slot::input(0), true, Held::Lent));
        assert!(!loose(Slot::input(0), false, Held::Engine));
        assert!(loose(Slot::output(0), true, Held::Nothing) && loose(Slot::output(0), true, Held::Gone));
        for held in [Held::Engine, Held::Scratch, Held::Host, Held::Lent] {
            assert!(!loose(Slot::output(0), true, held));
        }
        assert!(Place::new(Slot::input(0), 0, Dtype::String).is_loose());
        assert!(!Place::new(Slot::output(0), 0, Dtype::String).is_loose());
    }
}
