//! Reading outputs where the run left them.

use super::Context;
use super::route::Route;
use crate::base::{Desc, Result, Side, Slot, fail};
use crate::runtime::OutputView;

impl Context {
    /// An output of the last run, in place. Ends with the next call that runs, binds, resizes or destroys.
    pub fn output_view(&mut self, slot: Slot) -> Result<OutputView> {
        let position = self.position(slot)?;
        self.tell_relent();
        let label = || self.label(position);
        if slot.side == Side::Input {
            return fail!(InvalidArgument, "{} is not an output: only outputs can be viewed", label());
        }
        if !self.viewable {
            return fail!(
                Unbound,
                "{} has no value: a view lasts from a successful run to the next run, bind, unbind, swap, resize or reset",
                label()
            );
        }
        let last = self.slots[position].last;
        if last.lent {
            return fail!(
                Unbound,
                "{} was written into memory lent for one call, which zerobind does not know any more: read it there",
                label()
            );
        }
        match last.route {
            // also where a twin had the same memory as a loan, which is over: this binding is not
            Route::Direct(memory) | Route::Staged(memory, _) | Route::Shared(memory) => {
                Ok(OutputView { memory, desc: self.desc_of_last_run(position) })
            }
            Route::Engine => self.value_of(position),
        }
    }

    /// What an output was in the last run, where it is in memory of the host.
    fn desc_of_last_run(&self, position: usize) -> Desc {
        let settled = self.settled_desc(self.slot_at(position));
        settled.or(self.slots[position].promised).unwrap_or_else(|| self.desc_in_use(position))
    }

    /// An output as the engine has it.
    pub(super) fn value_of(&mut self, position: usize) -> Result<OutputView> {
        let owner = self.owner_of(self.slot_at(position));
        if let Some(lent) = self.lent_holder(owner) {
            return fail!(
                Unbound,
                "{} is the same tensor of the model as {}, whose memory was lent for one call: read it there",
                self.label(position),
                self.label(lent)
            );
        }
        if owner.side == Side::Output {
            return match self.lent_value(owner) {
                Some(view) => Ok(view),
                None => self.engine.output(owner),
            };
        }
        // an input passed through: the engine's tensor is whatever memory the input has
        let input = self.position_of(owner);
        match self.slots[input].route {
            Route::Direct(memory) | Route::Staged(memory, _) => {
                Ok(OutputView { memory, desc: self.desc_in_use(input) })
            }
            Route::Engine | Route::Shared(_) => fail!(Unbound, "{} has no memory", self.label(input)),
        }
    }

    /// An output that was computed into a loan which is not over yet: the engine let go of it when its run ended.
    fn lent_value(&self, owner: Slot) -> Option<OutputView> {
        let lent = |position: usize| {
            let state = &self.slots[position];
            let is_it = state.loan.is_some() && self.owner_of(self.slot_at(position)) == owner;
            match state.route {
                Route::Direct(memory) if is_it => Some(OutputView { memory, desc: self.desc_in_use(position) }),
                _ => None,
            }
        };
        (self.inputs..self.slots.len()).find_map(lent)
    }

    /// The slot in whose memory a tensor was in the last run, if that memory was a loan that is over.
    fn lent_holder(&self, owner: Slot) -> Option<usize> {
        let held = |position: &usize| {
            let state = &self.slots[*position];
            let is_input = *position < self.inputs;
            let in_place =
                matches!(state.last.route, Route::Direct(_)) || (is_input && state.last.route.memory().is_some());
            in_place && state.last.lent && state.loan.is_none() && self.owner_of(self.slot_at(*position)) == owner
        };
        (0..self.slots.len()).find(held)
    }

    /// The shape that the last run computed for an output, where planning did not know it.
    pub(super) fn computed_desc(&mut self, slot: Slot) -> Option<Desc> {
        if slot.side == Side::Input || !self.viewable {
            return None;
        }
        let known = self.planned(slot)?.desc.dims.is_known();
        let position = self.position_of(slot);
        self.tell_relent();
        match self.slots[position].last.route {
            Route::Engine => self.value_of(position).ok().map(|view| view.desc),
            _ if known => None,
            _ => self.slots[position].promised,
        }
    }
}
