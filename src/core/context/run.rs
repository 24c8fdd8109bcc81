//! Running.

use std::ffi::CStr;
use std::hint::cold_path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::report::LastRun;
use super::route::Route;
use super::{Attached, Context};
use crate::base::hint::{likely, unlikely};
use crate::base::{Desc, Error, Result, Status, fail, text};
use crate::core::Tensor;
use crate::core::event::CancelFlag;
use crate::core::queue::hold_patiently;
use crate::core::stop::{Cause, Running, Stop};
use crate::core::usage::{self, Access, Token, Usage, Uses};
use crate::core::watchdog::{self, Armed};
use crate::memory::HostRange;
use crate::runtime::OutputView;

/// When a run has to be over, counted from the call.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    at: Instant,
    after: Duration,
}

impl Deadline {
    /// From now on; `None` when that is further away than any clock goes.
    pub fn after(time: Duration) -> Option<Deadline> {
        Instant::now().checked_add(time).map(|at| Deadline { at, after: time })
    }
}

/// What may end a run before it starts, or early.
#[derive(Clone, Copy, Default)]
pub struct Limits<'a> {
    pub deadline: Option<Deadline>,
    /// Set when the run is not to happen.
    pub cancelled: Option<&'a CancelFlag>,
    /// Waits for tensors that are in use, instead of giving up.
    pub is_patient: bool,
}

impl Limits<'_> {
    /// Whether the run is still to be started.
    fn check(&self) -> Result<()> {
        if self.cancelled.is_some_and(CancelFlag::is_raised) {
            return Err(stopped(Cause::Cancel, self.deadline, NOT_STARTED));
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline.at => {
                Err(stopped(Cause::Deadline, self.deadline, NOT_STARTED))
            }
            _ => Ok(()),
        }
    }
}

/// A bound tensor that a run uses.
pub struct Use {
    tensor: Arc<Tensor>,
    access: Access,
    /// Whether nobody else uses it, so that a run need not say that it does.
    token: Token,
    /// A slot that it is bound to, for texts.
    position: usize,
}

impl Use {
    #[inline]
    fn is_sole(&self) -> bool {
        self.tensor.usage().is_sole(self.token)
    }
}

impl Uses for Use {
    #[inline]
    fn uses(&self) -> Option<(&Usage, Access)> {
        Some((self.tensor.usage(), self.access))
    }
}

impl Context {
    /// Runs with what is bound, until the deadline at most. A call that is refused by a check writes nothing.
    // always inlined: what most runs do is one function then, with nothing in it that limits need, and after a run of an engine
    // the code of each function has to come back into the processor's cache
    #[inline(always)]
    pub fn infer(&mut self, deadline: Option<Deadline>) -> Result<()> {
        match deadline {
            None => self.infer_once(None),
            Some(_) => {
                cold_path();
                self.infer_within(&Limits { deadline, ..Limits::default() })
            }
        }
    }

    /// The same with all that can end a run early.
    #[inline(never)]
    pub fn infer_within(&mut self, limits: &Limits<'_>) -> Result<()> {
        self.infer_once(Some(limits))
    }

    #[inline(always)]
    fn infer_once(&mut self, limits: Option<&Limits<'_>>) -> Result<()> {
        // taken out, as the tensors are below: guards end what they stand for also when an engine panics
        let Some(stop) = self.stop.take() else {
            return fail!(Busy, "the context is running");
        };
        let result = self.infer_stoppable(&stop, limits);
        self.stop = Some(stop);
        if result.is_err() {
            cold_path();
            return result;
        }
        self.stats.runs += 1;
        // a queue says what its own operations mean, in their order; and a tensor of which one failed is shared
        if unlikely(!self.alone) && !is_patient(limits) {
            let written = self.uses.iter().filter(|used| used.access == Access::Write);
            written.for_each(|used| used.tensor.line().written_directly());
        }
        result
    }

    #[inline(always)]
    fn infer_stoppable(&mut self, stop: &Arc<Stop>, limits: Option<&Limits<'_>>) -> Result<()> {
        // whoever wants this run to end can say so from here on
        let running = stop.begin();
        if !self.is_relent && unlikely(!self.settled) {
            self.settle(stop)?;
        }
        self.viewable = false;
        if likely(self.alone) && (likely(!stop.is_disturbed()) || self.is_alone_after_all(stop)) {
            return self.run_watched(&running, limits);
        }
        // also of a run that was in progress when somebody took the tensor, which may be this one
        self.give_up_sole(stop);
        let uses = std::mem::take(&mut self.uses);
        let result = self.run_holding(&uses, &running, limits);
        self.uses = uses;
        result
    }

    /// Looks, after it was disturbed, whether it was in a tensor that this run uses. If so, runs say what they use from now on.
    #[cold]
    fn is_alone_after_all(&mut self, stop: &Arc<Stop>) -> bool {
        stop.calm();
        self.alone = self.uses.iter().all(Use::is_sole);
        if !self.alone {
            self.give_up_sole(stop);
        }
        self.alone
    }

    /// Whoever found this run in progress when it took a tensor waits no longer for it than until here.
    fn give_up_sole(&self, stop: &Arc<Stop>) {
        self.uses.iter().for_each(|used| used.tensor.usage().give_up_sole(stop));
    }

    /// Bound tensors that a loan stands in front of are not used by this run.
    fn give_back_hidden(&self, stop: &Arc<Stop>) {
        for slot in self.slots.iter().filter(|slot| slot.loan.is_some()) {
            let Some(tensor) = &slot.binding else { continue };
            if !self.uses.iter().any(|used| Arc::ptr_eq(&used.tensor, tensor)) {
                tensor.usage().give_back(stop);
            }
        }
    }

    #[inline(never)]
    fn run_holding(&mut self, uses: &[Use], running: &Running<'_>, limits: Option<&Limits<'_>>) -> Result<()> {
        if self.can_vanish {
            self.check_still_there(uses)?;
        }
        match (usage::hold(uses), limits) {
            (Ok(_held), _) => self.run_watched(running, limits),
            (Err(_), Some(limits)) if limits.is_patient => self.run_patiently(uses, running, limits),
            (Err(refused), _) => {
                let label = self.label(uses[refused].position);
                fail!(Busy, "the tensor bound to {label} is in use by a run of another context: wait for it")
            }
        }
    }

    /// Waits for direct runs of other contexts that use the same tensors.
    #[cold]
    fn run_patiently(&mut self, uses: &[Use], running: &Running<'_>, limits: &Limits<'_>) -> Result<()> {
        let _held = hold_patiently(uses, || {
            limits.check()?;
            running.cause().map_or(Ok(()), |cause| Err(stopped(cause, limits.deadline, NOT_STARTED)))
        })?;
        self.run_watched(running, Some(limits))
    }

    #[inline(always)]
    fn run_watched(&mut self, running: &Running<'_>, limits: Option<&Limits<'_>>) -> Result<()> {
        if let Some(limits) = limits {
            return self.run_limited(running, limits);
        }
        // the rule: only a request of another thread can end it
        if let Some(cause) = running.cause() {
            cold_path();
            return Err(stopped(cause, None, NOT_STARTED));
        }
        match self.run_engine() {
            Ok(()) => Ok(()),
            error => {
                cold_path();
                explain_stop(error, running, None)
            }
        }
    }

    #[cold]
    fn run_limited(&mut self, running: &Running<'_>, limits: &Limits<'_>) -> Result<()> {
        limits.check()?;
        let deadline = limits.deadline;
        let _armed = deadline.map(|deadline| arm(running, deadline)).transpose()?;
        if let Some(cause) = running.cause() {
            return Err(stopped(cause, deadline, NOT_STARTED));
        }
        explain_stop(self.run_engine(), running, deadline)
    }

    /// Shared files are asked for their size again before every run: touching a part that is gone ends the process.
    #[cold]
    fn check_still_there(&self, uses: &[Use]) -> Result<()> {
        for used in uses {
            used.tensor.still_there().map_err(|error| error.at(self.label(used.position)))?;
        }
        Ok(())
    }

    #[inline(always)]
    fn run_engine(&mut self) -> Result<()> {
        if unlikely(!self.remembered) {
            self.remember_routes();
        }
        if self.is_relent {
            self.remember_relent();
        }
        if unlikely(self.copies || self.profile) {
            return self.run_engine_with_care();
        }
        match self.start_engine() {
            Ok(()) => {
                self.viewable = true;
                Ok(())
            }
            error => {
                cold_path();
                error
            }
        }
    }

    /// With what not every run has.
    #[inline(never)]
    fn run_engine_with_care(&mut self) -> Result<()> {
        self.copy_inputs();
        let start = self.profile.then(Instant::now);
        if let Err(error) = self.start_engine() {
            self.forget_copies();
            return Err(error);
        }
        if let Some(start) = start {
            self.stats.last_run_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        }
        self.viewable = true;
        self.copy_outputs()
    }

    #[inline(always)]
    fn start_engine(&mut self) -> Result<()> {
        if self.is_relent {
            return self.engine.run_lent(self.relending.loans());
        }
        // without loans
        if likely(self.settled) {
            return self.engine.run();
        }
        let result = self.engine.run();
        self.note_ended_loans();
        result
    }

    /// However a run ended, the engine has let go of what was lent to it.
    fn note_ended_loans(&mut self) {
        for number in 0..self.lent.len() {
            let position = self.position_of(self.lent[number].slot);
            let slot = &mut self.slots[position];
            if slot.attached == Attached::Loan {
                slot.attached = Attached::Nothing;
            }
        }
    }

    /// After a run that failed, no report speaks of a copy out of it.
    #[cold]
    fn forget_copies(&mut self) {
        for slot in &mut self.slots[self.inputs..] {
            if let Route::Staged(memory, reason) = slot.route {
                slot.last.route = Route::Staged(memory.prefix(0), reason);
                self.remembered = false;
            }
        }
    }

    /// From here on, this is the run that reports and views speak of.
    fn remember_routes(&mut self) {
        self.has_run = true;
        self.remembered = true;
        self.forget_relent();
        for slot in &mut self.slots {
            slot.last = LastRun::new(slot.route, slot.loan.is_some());
            if slot.fit.desc().is_none() {
                slot.promised = slot.given_desc().copied();
            }
        }
    }

    fn copy_inputs(&mut self) {
        for position in 0..self.inputs {
            if let (Route::Staged(memory, _), Some(staging)) =
                (self.slots[position].route, &self.slots[position].staging)
            {
                self.stats.bytes_copied += staging.range().copy_from(&memory) as u64;
            }
        }
    }

    /// Copies every output that can be; the first that cannot makes the run fail.
    fn copy_outputs(&mut self) -> Result<()> {
        let mut result = Ok(());
        for position in self.inputs..self.slots.len() {
            let Route::Staged(memory, reason) = self.slots[position].route else { continue };
            if let Err(error) = self.copy_output(position, &memory, reason) {
                // the engine still has the value, and it can be viewed there
                self.slots[position].last = LastRun::new(Route::Engine, false);
                self.remembered = false;
                result = result.and(Err(error));
            }
        }
        result
    }

    fn copy_output(&mut self, position: usize, memory: &HostRange, reason: &'static CStr) -> Result<()> {
        let wanted = self.desc_in_use(position);
        let view = self.value_of(position)?;
        self.check_computed(position, &wanted, &view)?;
        let copied = memory.copy_from(&view.memory);
        self.stats.bytes_copied += copied as u64;
        if !wanted.dims.is_known() {
            // reports and views speak of what this run computed, not of the room that there was for it
            self.slots[position].last =
                LastRun::new(Route::Staged(memory.prefix(copied), reason), self.is_lent(position));
            self.slots[position].promised = Some(view.desc);
        }
        Ok(())
    }

    /// Whether what the run computed is what the host has room for.
    fn check_computed(&self, position: usize, wanted: &Desc, view: &OutputView) -> Result<()> {
        let given = self.effective(position).map_or(0, |(memory, _)| memory.size());
        let (computed, needed) = (view.desc, view.memory.size());
        if needed > given {
            return fail!(
                BufferTooSmall,
                "{}: the run computed {computed}, which is {needed} bytes, but the buffer has {given}: it is as it was, and zb_context_output_view has the result",
                self.label(position)
            );
        }
        if computed.dtype != wanted.dtype || !computed.dims.agrees_with(&wanted.dims) {
            return fail!(
                ShapeMismatch,
                "{} was given memory for {wanted}, but the run computed {computed} ({needed} bytes): the memory is as it was, and zb_context_output_view has the result",
                self.label(position)
            );
        }
        Ok(())
    }

    fn is_lent(&self, position: usize) -> bool {
        self.slots[position].loan.is_some()
    }

    /// Lists each bound tensor of the run once, as written if any slot writes it.
    pub(super) fn collect_uses(&mut self, stop: &Arc<Stop>) {
        self.uses.clear();
        for position in 0..self.slots.len() {
            let state = &self.slots[position];
            let (None, Some(tensor)) = (&state.loan, &state.binding) else { continue };
            let access = if position < self.inputs { Access::Read } else { Access::Write };
            match self.uses.iter_mut().find(|known| Arc::ptr_eq(&known.tensor, tensor)) {
                Some(known) if access == Access::Write => known.access = access,
                Some(_) => {}
                None => self.uses.push(Use { tensor: tensor.clone(), access, token: Token::NONE, position }),
            }
        }
        for used in &mut self.uses {
            used.token = used.tensor.usage().claim(stop, used.access);
        }
        self.can_vanish = self.uses.iter().any(|used| used.tensor.can_vanish());
        self.alone = !self.can_vanish && self.uses.iter().all(|used| used.token != Token::NONE);
        if !self.alone {
            self.give_up_sole(stop);
        }
        self.give_back_hidden(stop);
    }
}

const NOT_STARTED: &str = "before the engine was started: nothing was written";

fn is_patient(limits: Option<&Limits<'_>>) -> bool {
    limits.is_some_and(|limits| limits.is_patient)
}

/// What a run that ended early was stopped by.
#[cold]
fn explain_stop(result: Result<()>, running: &Running<'_>, deadline: Option<Deadline>) -> Result<()> {
    match result {
        Err(error) if error.status == Status::Cancelled => Err(stopped(
            running.cause_told(),
            deadline,
            "during the run: its outputs and the engine's state are not to be used",
        )),
        other => other,
    }
}

/// The error of a run that did not go on to its end.
#[cold]
fn stopped(cause: Cause, deadline: Option<Deadline>, when: &str) -> Error {
    match cause {
        Cause::Cancel => Error::new(Status::Cancelled, text!("the run was cancelled {when}")),
        Cause::Deadline => {
            let after = deadline.map_or(Duration::ZERO, |deadline| deadline.after);
            let text = text!("the deadline, {} ns after the call, passed {when}", after.as_nanos());
            Error::new(Status::DeadlineExceeded, text)
        }
    }
}

/// Has the clock watched for the rest of the run.
#[cold]
fn arm(running: &Running<'_>, deadline: Deadline) -> Result<Armed> {
    watchdog::arm(running.stop(), running.number(), deadline.at)
}
