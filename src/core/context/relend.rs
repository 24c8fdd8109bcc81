//! Lending the same slots again.
//!
//! A host whose buffers move lends the same slots in every call, and nothing but addresses differs from the call before. So
//! a call that lends exactly those, with memory that is right at first sight, looks at these addresses and at nothing else.

use super::fit::Needs;
use super::route::Route;
use super::{Attached, Context, SlotState};
use crate::base::hint::unlikely;
use crate::base::room::list;
use crate::base::{Result, Side};
use crate::memory::HostRange;
use crate::runtime::Loan;

/// What runs like the last one rely on.
#[derive(Default)]
#[repr(C)]
pub struct Relending {
    /// How many slots were lent; 0: what is said of them does not hold any more.
    slots: usize,
    has_others: bool,
    /// The loans of the last run, if it was such a run and `SlotState::last` is not told of it yet.
    untold: Vec<Loan>,
    /// Memory of the other slots, inputs first.
    inputs: Vec<HostRange>,
    outputs: Vec<HostRange>,
}

/// What another call that lends the slot is held against: one line of the processor's cache.
#[derive(Default)]
#[repr(align(64))]
pub struct Again {
    /// `None`: such a call needs more than memory there.
    pub needs: Option<Needs>,
    /// The last call that lent memory to the slot.
    pub lent_in: u64,
    /// What was lent then, and was right at first sight, came with its desc.
    pub with_desc: bool,
}

/// Quicker than `overlaps`, for ranges that are not empty; those which go on beyond the end of all addresses go on at 0.
#[inline]
fn may_overlap(a: &HostRange, b: &HostRange) -> bool {
    let (start, other) = (a.data() as usize, b.data() as usize);
    other.wrapping_sub(start) < a.size() || start.wrapping_sub(other) < b.size()
}

impl Relending {
    /// For that many slots.
    pub fn new(count: usize) -> Result<Relending> {
        Ok(Relending { untold: list(count)?, ..Relending::default() })
    }

    /// The loans of the run, from where it is remembered.
    #[inline]
    pub fn loans(&self) -> &[Loan] {
        &self.untold
    }
}

impl Context {
    /// Whether loans of the same slots, right at first sight, make such a call.
    #[inline]
    pub(super) fn may_relend(&self) -> bool {
        self.relending.slots != 0 && !self.shapes_changed
    }

    /// Whether what was lent, each right at first sight, does.
    #[inline]
    pub(super) fn finds_relent(&self) -> bool {
        self.lent.len() == self.relending.slots && !self.is_overlapping()
    }

    /// As `check_overlap` has it, which finds the words. Where this cannot tell, it says yes.
    #[inline]
    fn is_overlapping(&self) -> bool {
        let outputs = self.lent.iter().filter(|loan| loan.slot.side == Side::Output);
        for output in outputs {
            let others = self.lent.iter().filter(|loan| loan.slot != output.slot);
            if unlikely(others.into_iter().any(|other| may_overlap(&output.memory, &other.memory))) {
                return true;
            }
        }
        unlikely(self.relending.has_others) && self.is_overlapping_others()
    }

    #[inline(never)]
    fn is_overlapping_others(&self) -> bool {
        self.lent.iter().any(|loan| {
            let overlaps = |taken: &HostRange| loan.memory.overlaps(taken);
            let is_output = loan.slot.side == Side::Output;
            self.relending.outputs.iter().any(overlaps) || is_output && self.relending.inputs.iter().any(overlaps)
        })
    }

    /// Keeps the loans of such a run, in the place of those of the one before, for who asks for a report.
    #[inline]
    pub(super) fn remember_relent(&mut self) {
        std::mem::swap(&mut self.lent, &mut self.relending.untold);
        self.stats.rebinds += self.relending.untold.len() as u64;
    }

    /// Has `last` of all slots tell of the last run. Whoever looks at it or changes it does this first.
    pub(super) fn tell_relent(&mut self) {
        for number in 0..self.relending.untold.len() {
            let loan = self.relending.untold[number];
            let position = self.position_of(loan.slot);
            self.slots[position].last.move_to(loan.memory);
        }
        self.relending.untold.clear();
    }

    /// The same for a `last` that tells of another run from now on.
    pub(super) fn forget_relent(&mut self) {
        self.relending.untold.clear();
    }

    /// Puts loans where a run looks that checks everything.
    #[inline(never)]
    pub(super) fn spread_loans(&mut self) {
        for number in 0..self.lent.len() {
            let loan = self.lent[number];
            let position = self.position_of(loan.slot);
            let slot = &mut self.slots[position];
            slot.loan = Some(loan.memory);
            // if it was given, it was this one
            slot.loan_desc = slot.fit.desc().filter(|_| self.again[position].with_desc).copied();
        }
    }

    /// After a call that worked: whether another one that lends the same slots can be such a run.
    pub(super) fn note_relendable(&mut self) {
        let is_plain = !self.has_twins && !self.copies && !self.shapes_changed;
        let is_direct = |loan: &Loan| {
            let slot = &self.slots[self.position_of(loan.slot)];
            matches!(slot.route, Route::Direct(_)) && slot.fit.desc().is_some() && slot.attached == Attached::Nothing
        };
        if !is_plain || !self.lent.iter().all(is_direct) {
            return self.unsettle();
        }
        self.again.iter_mut().for_each(|again| again.needs = None);
        for number in 0..self.lent.len() {
            let position = self.position_of(self.lent[number].slot);
            self.again[position].needs = self.slots[position].fit.needs();
        }
        let (inputs, outputs) = self.slots.split_at(self.inputs);
        let (inputs_again, outputs_again) = self.again.split_at(self.inputs);
        let other =
            |(slot, again): (&SlotState, &Again)| slot.route.memory().filter(|_| again.needs.is_none()).copied();
        self.relending.inputs.clear();
        self.relending.outputs.clear();
        if self.relending.inputs.try_reserve(inputs.len()).is_err()
            || self.relending.outputs.try_reserve(outputs.len()).is_err()
        {
            // the call worked; later ones are looked at in full
            return self.unsettle();
        }
        self.relending.inputs.extend(inputs.iter().zip(inputs_again).filter_map(other));
        self.relending.outputs.extend(outputs.iter().zip(outputs_again).filter_map(other));
        self.relending.has_others = !self.relending.inputs.is_empty() || !self.relending.outputs.is_empty();
        self.relending.slots = self.lent.len();
    }

    /// What runs relied on does not hold any more.
    #[inline]
    pub(super) fn unsettle(&mut self) {
        self.settled = false;
        self.relending.slots = 0;
    }
}
