//! Lending the same slots again.
//!
//! A host whose buffers move lends the same slots in every call, and nothing but addresses differs from the call before. So
//! a call that lends exactly those, with memory that is right at first sight, looks at these addresses and at nothing else.

use std::hint::cold_path;

use super::fit::Needs;
use super::route::Route;
use super::{Attached, Context, SlotState};
use crate::base::hint::unlikely;
use crate::base::room::list;
use crate::base::{Result, Side, Slot};
use crate::memory::HostRange;
use crate::runtime::Loan;

/// What runs like the last one rely on.
// in two lines of the processor's cache
#[derive(Default)]
#[repr(C, align(64))]
pub struct Relending {
    /// What the loans of such a run have to be, in their order. Empty: nothing of this holds any more.
    wanted: Vec<Again>,
    /// A place for each of them.
    next: Vec<Loan>,
    /// How many inputs come before the first output, which may share memory with each other.
    outputs_from: usize,
    /// `SlotState::last` is not told of `last` yet.
    is_untold: bool,
    has_others: bool,
    /// The loans of the last such run.
    last: Vec<Loan>,
    /// Memory of the other slots.
    inputs: Vec<HostRange>,
    outputs: Vec<HostRange>,
}

/// What a loan is held against: one line of the processor's cache.
#[repr(align(64))]
struct Again {
    slot: Slot,
    needs: Needs,
}

/// Quicker than `overlaps`, for ranges that are not empty; those which go on beyond the end of all addresses go on at 0.
#[inline]
fn may_overlap(a: &HostRange, b: &HostRange) -> bool {
    let (start, other) = (a.data() as usize, b.data() as usize);
    other.wrapping_sub(start) < a.size() || start.wrapping_sub(other) < b.size()
}

impl Relending {
    /// For up to so many loans.
    pub fn new(count: usize) -> Result<Relending> {
        Ok(Relending { wanted: list(count)?, next: list(count)?, last: list(count)?, ..Relending::default() })
    }

    /// The loans of the run, from where it is remembered.
    #[inline]
    pub fn loans(&self) -> &[Loan] {
        &self.last
    }

    /// Whether it is about these loans, in this order.
    #[inline]
    fn is_about(&self, count: usize) -> bool {
        self.wanted.len() == count && count != 0
    }
}

impl Context {
    /// Whether a slot, in its turn, is lent again what it may be lent for such a run.
    #[inline]
    pub(super) fn is_wanted_again(&self, turn: usize, slot: Slot) -> bool {
        !self.shapes_changed && self.relending.wanted.get(turn).is_some_and(|again| again.slot == slot)
    }

    /// Takes the loans of such a run: `None` for what is not right at first sight. False: it is none, and nothing was done.
    #[inline]
    pub(super) fn relend(&mut self, loans: impl ExactSizeIterator<Item = Option<Loan>>) -> bool {
        if self.shapes_changed || !self.relending.is_about(loans.len()) {
            return false;
        }
        let Relending { wanted, next, .. } = &mut self.relending;
        for (loan, (again, place)) in loans.zip(wanted.iter().zip(next)) {
            match loan {
                Some(Loan { slot, memory }) if slot == again.slot && again.needs.are_met(&memory) => {
                    place.memory = memory
                }
                _ => {
                    cold_path();
                    return false;
                }
            }
        }
        !self.is_overlapping()
    }

    /// The same with loans that were looked at one by one.
    pub(super) fn relend_lent(&mut self) -> bool {
        if !self.relending.is_about(self.lent.len()) {
            return false;
        }
        for (place, loan) in self.relending.next.iter_mut().zip(&self.lent) {
            place.memory = loan.memory;
        }
        !self.is_overlapping()
    }

    /// As `check_overlap` has it, which finds the words.
    #[inline]
    fn is_overlapping(&self) -> bool {
        let Relending { next, outputs_from, has_others, .. } = &self.relending;
        for count in *outputs_from..next.len() {
            let (earlier, loan) = (&next[..count], &next[count]);
            if unlikely(earlier.iter().any(|other| may_overlap(&loan.memory, &other.memory))) {
                return self.is_overlapping_closely();
            }
        }
        unlikely(*has_others) && self.is_overlapping_others()
    }

    /// For memory that may be shared, as that of two inputs may, wherever these are among the loans.
    #[cold]
    fn is_overlapping_closely(&self) -> bool {
        let loans = &self.relending.next;
        let is_shared = |(count, loan): (usize, &Loan)| {
            loans[..count].iter().any(|other| {
                let is_written = loan.slot.side == Side::Output || other.slot.side == Side::Output;
                is_written && loan.memory.overlaps(&other.memory)
            })
        };
        loans.iter().enumerate().any(is_shared) || self.is_overlapping_others()
    }

    #[inline(never)]
    fn is_overlapping_others(&self) -> bool {
        self.relending.next.iter().any(|loan| {
            let overlaps = |taken: &HostRange| loan.memory.overlaps(taken);
            let is_output = loan.slot.side == Side::Output;
            self.relending.outputs.iter().any(overlaps) || is_output && self.relending.inputs.iter().any(overlaps)
        })
    }

    /// Keeps the loans of such a run, in the place of those of the one before, for who asks for a report.
    #[inline]
    pub(super) fn remember_relent(&mut self) {
        let Relending { next, last, is_untold, .. } = &mut self.relending;
        std::mem::swap(next, last);
        *is_untold = true;
        self.stats.rebinds += last.len() as u64;
    }

    /// Has `last` of all slots tell of the last run. Whoever looks at it or changes it does this first.
    pub(super) fn tell_relent(&mut self) {
        if !std::mem::take(&mut self.relending.is_untold) {
            return;
        }
        for number in 0..self.relending.last.len() {
            let loan = self.relending.last[number];
            let position = self.position_of(loan.slot);
            self.slots[position].last.move_to(loan.memory);
        }
    }

    /// The same for a `last` that tells of another run from now on.
    pub(super) fn forget_relent(&mut self) {
        self.relending.is_untold = false;
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
            slot.loan_desc = slot.fit.desc().filter(|_| slot.lent_with_desc).copied();
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
        let Relending { wanted, next, last, inputs, outputs, outputs_from, has_others, .. } = &mut self.relending;
        // there is room for as many loans as there are slots
        for list in [&mut *next, &mut *last] {
            list.clear();
            list.extend_from_slice(&self.lent);
        }
        wanted.clear();
        for loan in &self.lent {
            let position = if loan.slot.side == Side::Input { loan.slot.index } else { self.inputs + loan.slot.index };
            wanted.extend(self.slots[position].fit.needs().map(|needs| Again { slot: loan.slot, needs }));
        }
        *outputs_from = self.lent.iter().take_while(|loan| loan.slot.side == Side::Input).count();
        let (inputs_of_all, outputs_of_all) = self.slots.split_at(self.inputs);
        inputs.clear();
        outputs.clear();
        if inputs.try_reserve(inputs_of_all.len()).is_err() || outputs.try_reserve(outputs_of_all.len()).is_err() {
            // the call worked; later ones are looked at in full
            return self.unsettle();
        }
        let call = self.call;
        let other = |slot: &SlotState| slot.route.memory().filter(|_| slot.lent_in != call).copied();
        inputs.extend(inputs_of_all.iter().filter_map(other));
        outputs.extend(outputs_of_all.iter().filter_map(other));
        *has_others = !inputs.is_empty() || !outputs.is_empty();
    }

    /// What runs relied on does not hold any more.
    #[inline]
    pub(super) fn unsettle(&mut self) {
        self.settled = false;
        self.relending.wanted.clear();
    }
}
