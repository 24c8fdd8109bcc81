//! How the memory of one slot meets the engine's.

use std::ffi::CStr;

use super::{Context, CopyPolicy};
use crate::base::{Desc, Error, Result, Side, Slot, Status, fail, text};
use crate::memory::HostRange;

/// The way of one slot in a run.
#[derive(Clone, Copy, Debug, Default)]
pub enum Route {
    /// No memory of the host: the engine's own is used.
    #[default]
    Engine,
    /// The engine works on the host's memory.
    Direct(HostRange),
    /// The same engine tensor as another slot, at the same address: that slot's attachment serves both.
    Shared(HostRange),
    /// The engine works on our memory or its own; the host's is copied into it before the run, or from it after.
    Staged(HostRange, &'static CStr),
}

impl Route {
    /// The host's memory, if there is any.
    #[inline]
    pub fn memory(&self) -> Option<&HostRange> {
        match self {
            Route::Engine => None,
            Route::Direct(memory) | Route::Shared(memory) | Route::Staged(memory, _) => Some(memory),
        }
    }
}

impl Context {
    /// Judges the memory of one slot: a loan before a binding, by itself; overlap is judged by the run.
    #[inline]
    pub(super) fn route(&self, position: usize) -> Result<Route> {
        if let Some((memory, desc)) = self.effective(position) {
            let fit = &self.slots[position].fit;
            if fit.accepts(&memory, desc) {
                return Ok(Route::Direct(memory.prefix(fit.bytes().unwrap_or(memory.size()))));
            }
        }
        self.route_with_care(position)
    }

    #[cold]
    fn route_with_care(&self, position: usize) -> Result<Route> {
        let slot = self.slot_at(position);
        match (self.effective(position), slot.side) {
            (None, Side::Input) => self.missing_input(position),
            (None, Side::Output) => Ok(Route::Engine),
            (Some((memory, desc)), Side::Input) => self.route_input(slot, memory, desc),
            (Some((memory, desc)), Side::Output) => self.route_output(slot, memory, desc),
        }
    }

    /// Memory and desc that a run would use for a slot.
    #[inline]
    pub(super) fn effective(&self, position: usize) -> Option<(HostRange, Option<&Desc>)> {
        let state = &self.slots[position];
        let bound = || state.binding.as_ref().map(|tensor| tensor.range());
        state.loan.or_else(bound).map(|memory| (memory, state.given_desc()))
    }

    /// The desc of the memory that a run uses for a slot: planned, or given where only the run will tell.
    pub(super) fn desc_in_use(&self, position: usize) -> Desc {
        let slot = self.slot_at(position);
        let given = || self.slots[position].given_desc().copied();
        self.settled_desc(slot).or_else(given).unwrap_or_else(|| self.wanted_desc(slot))
    }

    /// What planning found out about a slot, where it knows the whole shape.
    pub(super) fn settled_desc(&self, slot: Slot) -> Option<Desc> {
        self.planned(slot).map(|planned| planned.desc).filter(|desc| desc.dims.is_known())
    }

    fn missing_input(&self, position: usize) -> Result<Route> {
        self.check_holdable(self.slot_at(position))?;
        fail!(
            Unbound,
            "{} has no memory: bind a tensor to it or lend it a buffer in zb_infer_with (a loan ends with its call)",
            self.label(position)
        )
    }

    fn route_input(&self, slot: Slot, memory: HostRange, desc: Option<&Desc>) -> Result<Route> {
        let desc = self.checked_desc(slot, desc, memory.size())?;
        if let Some(planned) = self.planned(slot).filter(|planned| planned.desc.dims != desc.dims) {
            return fail!(
                ShapeMismatch,
                "{} is planned as {}, but the memory given is {desc}: call zb_context_resize_input with the new shape first",
                self.model.label(slot),
                planned.desc
            );
        }
        let needed = desc.memory_size()?;
        if memory.size() != needed {
            return fail!(
                ShapeMismatch,
                "{} of {desc} is {needed} bytes, but the size given is {}: give the exact size, and put what lies behind it into capacity",
                self.model.label(slot),
                memory.size()
            );
        }
        if let Some(reason) = self.planned(slot).and_then(|planned| planned.fixed) {
            return fail!(Unsupported, "{} cannot be given: {}", self.model.label(slot), reason.to_string_lossy());
        }
        if let Some(twin) = self.planned(slot).and_then(|planned| planned.twin) {
            return self.route_input_twin(slot, twin, memory);
        }
        self.direct_or_staged(slot, memory)
    }

    fn route_output(&self, slot: Slot, memory: HostRange, desc: Option<&Desc>) -> Result<Route> {
        let given = self.checked_desc(slot, desc, memory.size())?;
        // planning fills in what the host left open
        let desc = if given.dims.is_known() { given } else { self.settled_desc(slot).unwrap_or(given) };
        if !desc.dims.is_known() {
            return self.route_open_output(slot, memory, &desc);
        }
        let needed = desc.memory_size()?;
        if memory.size() < needed {
            return fail!(
                BufferTooSmall,
                "{} of {desc} needs {needed} bytes, but the buffer has {}",
                self.model.label(slot),
                memory.size()
            );
        }
        // an output's range is what the run writes, and what lies behind it is the rest of the room, never slack: where the
        // run computes more than was promised, an engine tells by it whether there would have been enough
        let memory = memory.without_slack().prefix(needed);
        let planned = self.planned(slot);
        if let Some(twin) = planned.and_then(|planned| planned.twin)
            && let Some(holder) = self.holder(slot, twin)
        {
            return self.route_twin(slot, holder, memory, &desc);
        }
        if let Some(reason) = planned.and_then(|planned| planned.fixed) {
            return self.stage(slot, memory, None, reason);
        }
        self.direct_or_staged(slot, memory)
    }

    /// An output of a size that neither planning nor the host knows: the engine makes it, and a copy goes into the host's
    /// room for it.
    fn route_open_output(&self, slot: Slot, memory: HostRange, desc: &Desc) -> Result<Route> {
        if let Some(reason) = self.planned(slot).and_then(|planned| planned.fixed) {
            return self.stage(slot, memory, None, reason);
        }
        let text = text!(
            "{} is {desc}, so only the run tells its size: give its memory a desc with the shape that you expect, leave it unbound and use zb_context_output_view, or allow copies",
            self.model.label(slot)
        );
        self.stage(slot, memory, Some(Error::new(Status::CopyRequired, text)), c"only the run tells its size")
    }

    /// An input that the model lists twice: there is one tensor, so there can be one memory only.
    fn route_input_twin(&self, slot: Slot, twin: Slot, memory: HostRange) -> Result<Route> {
        if self.shares_address(twin, &memory) {
            return Ok(Route::Shared(memory));
        }
        fail!(
            Unsupported,
            "{} is the same tensor of the model as {}: give both the same memory",
            self.model.label(slot),
            self.model.label(twin)
        )
    }

    fn shares_address(&self, slot: Slot, memory: &HostRange) -> bool {
        self.effective(self.position_of(slot)).is_some_and(|(other, _)| other.data() == memory.data())
    }

    /// An output that is the same engine tensor as `holder`, which has memory: nothing to do at that address, otherwise a
    /// copy.
    fn route_twin(&self, slot: Slot, holder: Slot, memory: HostRange, desc: &Desc) -> Result<Route> {
        if self.shares_address(holder, &memory) && self.shares_value(slot, holder, desc) {
            return Ok(Route::Shared(memory));
        }
        let reason = match self.owner_of(slot).side {
            Side::Input => c"the model passes an input through to this output",
            Side::Output => c"the model lists one tensor as two outputs",
        };
        self.stage(slot, memory, None, reason)
    }

    /// Whether what serves `holder` serves its twin without a look at the result. Where only the run tells the shape, each
    /// may have been promised another, and a copy for one says nothing of the other.
    fn shares_value(&self, slot: Slot, holder: Slot, desc: &Desc) -> bool {
        let position = self.position_of(holder);
        // the holder comes first, so its way is known
        let is_direct = || matches!(self.slots[position].route, Route::Direct(_));
        self.settled_desc(slot).is_some() || is_direct() && self.desc_in_use(position) == *desc
    }

    /// The first slot before `slot` that has memory for the engine tensor of `twin`.
    fn holder(&self, slot: Slot, twin: Slot) -> Option<Slot> {
        let same = |other: &Slot| *other == twin || self.owner_of(*other) == twin;
        let mut earlier = std::iter::once(twin).chain((0..slot.index).map(Slot::output)).filter(same);
        earlier.find(|other| self.effective(self.position_of(*other)).is_some())
    }

    fn direct_or_staged(&self, slot: Slot, memory: HostRange) -> Result<Route> {
        if let Err(refusal) = self.check_alignment(slot, &memory) {
            return self.stage(slot, memory, Some(refusal), c"the address is not aligned as the engine needs it");
        }
        if let Err(refusal) = self.check_slack(slot, &memory) {
            return self.stage(
                slot,
                memory,
                Some(refusal),
                c"the engine may read past the end of the input's last page",
            );
        }
        Ok(Route::Direct(memory))
    }

    /// A copy, if copies are allowed; otherwise `refusal`, or `COPY_REQUIRED` with the reason where there is none.
    fn stage(&self, slot: Slot, memory: HostRange, refusal: Option<Error>, reason: &'static CStr) -> Result<Route> {
        if self.copy_policy == CopyPolicy::Allow {
            return Ok(Route::Staged(memory, reason));
        }
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        fail!(
            CopyRequired,
            "{} cannot be written in place ({}): leave it unbound and use zb_context_output_view, or allow copies",
            self.model.label(slot),
            reason.to_string_lossy()
        )
    }

    /// The desc that the memory is used as, once it was checked against the slot.
    fn checked_desc(&self, slot: Slot, given: Option<&Desc>, size: usize) -> Result<Desc> {
        let desc = match given {
            Some(desc) => *desc,
            None => self.wanted_desc(slot),
        };
        self.check_desc(slot, &desc, size)?;
        Ok(desc)
    }
}
