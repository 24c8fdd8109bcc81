//! An execution state: what is attached to each slot, and what the last run left.

use std::ffi::c_void;
use std::sync::Arc;

use ort_sys::OrtValue;

use super::failure::{Failure, Outcome};
use super::load::Engine;
use super::model::Slots;
use super::ports::{New, Ports};
use super::run::Runner;
use super::session::Session;
use super::value::{self, ValueMaker};
use super::{run_failure, shapes};
use crate::base::hint::{likely, unlikely};
use crate::base::{Desc, Dims, Dtype, Error, Gather, Result, Side, Slot, fail};
use crate::memory::{Access, HostRange};
use crate::runtime::{Alignment, Canceller, EngineContext, Facts, Loan, OutputView, Plan, PlannedSlot, Rebind, Stay};

// in few lines of the processor's cache
#[repr(C, align(64))]
pub struct OnnxContext {
    inputs: Ports,
    /// The outputs that the engine is asked for.
    outputs: Ports,
    maker: ValueMaker,
    /// Whether the engine allocated values of `outputs` in the last run.
    made: bool,
    /// Whether values of the last run, to which memory was passed for every slot, are still where the next one looks. Some may
    /// be gone by now. Then nothing is attached, and nothing was `made`.
    are_left: bool,
    /// Whether each output slot is where its index says.
    are_in_order: bool,
    /// Counts everything that happens here.
    clock: u64,
    /// When the last run ended, if it ended well; else 0.
    ran: u64,
    runner: Runner,
    /// Where among `outputs` each output slot is; `None` for a twin.
    places: Vec<Option<usize>>,
    session: Arc<Session>,
    slots: Arc<Slots>,
    /// What the slots are in the plan in force.
    planned: (Vec<Desc>, Vec<Desc>),
}

// SAFETY: the pointers inside are to what this object owns, shares with others that only read it (the session) or finds for
// good (the engine's memory info and functions); nothing of the engine's is tied to a thread.
unsafe impl Send for OnnxContext {}

impl OnnxContext {
    pub fn new(session: Arc<Session>, slots: Arc<Slots>) -> Result<OnnxContext> {
        let requested = slots.names.requested();
        let place = |output| match slots.names.twin(output) {
            None => requested.iter().position(|index| *index == output),
            Some(_) => None,
        };
        let places: Vec<_> = (0..slots.outputs.len()).map(place).gather()?;
        Ok(OnnxContext {
            inputs: Ports::new(slots.inputs.len())?,
            outputs: Ports::new(requested.len())?,
            maker: ValueMaker::new(session.engine),
            runner: Runner::new(session.clone(), slots.clone())?,
            are_in_order: places.iter().enumerate().all(|(index, place)| *place == Some(index)),
            places,
            slots,
            session,
            planned: (Vec::new(), Vec::new()),
            made: false,
            are_left: false,
            clock: 0,
            ran: 0,
        })
    }

    /// The slot that has the tensor: itself, or the one that it is a twin of.
    fn origin(&self, slot: Slot) -> Slot {
        match slot.side {
            Side::Input => slot,
            Side::Output => self.slots.names.twin(slot.index).unwrap_or(slot),
        }
    }

    /// Where a slot is; `None` for a twin, and for one that the model does not have.
    fn ports(&mut self, slot: Slot) -> (&mut Ports, Option<usize>) {
        match slot.side {
            Side::Input => (&mut self.inputs, (slot.index < self.slots.inputs.len()).then_some(slot.index)),
            Side::Output => (&mut self.outputs, self.places.get(slot.index).copied().flatten()),
        }
    }

    /// Whether the next run goes through a binding that is ready.
    #[cfg(test)]
    pub fn is_bound(&self) -> bool {
        self.runner.is_bound()
    }

    /// The value that stands for what is attached to a slot.
    #[cfg(test)]
    pub fn value(&mut self, slot: Slot) -> *mut OrtValue {
        self.forget_left();
        let (ports, place) = self.ports(slot);
        ports.value(place.unwrap())
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    #[inline]
    fn begin(&mut self) {
        self.ran = 0;
        self.release_all_made();
    }

    /// Takes values away that the last run left. Whoever looks at values, or puts some in, does this first: for a run that is
    /// passed memory for every slot again it would be in vain.
    #[inline]
    fn forget_left(&mut self) {
        if unlikely(std::mem::take(&mut self.are_left)) {
            self.inputs.forget_passed();
            self.outputs.forget_passed();
        }
    }

    /// Runs with the values in force, of which some may be there for this run only. What changes after it is not what was
    /// computed any more.
    #[inline]
    fn run_engine(&mut self, are_all_attached: bool) -> Outcome<()> {
        debug_assert!(!self.are_left);
        self.made = !self.outputs.are_all_attached();
        if unlikely(self.made) {
            self.outputs.forget_ended();
        }
        match are_all_attached {
            true => self.runner.run(&mut self.inputs, &mut self.outputs)?,
            false => self.runner.run_once(&mut self.inputs, &mut self.outputs)?,
        }
        self.ran = self.tick();
        Ok(())
    }

    /// Runs with what is attached, whatever that is.
    #[inline(never)]
    fn run_attached(&mut self) -> Result<()> {
        self.forget_left();
        self.begin();
        if let Some(input) = self.inputs.first_without() {
            self.end_loans();
            return self.unbound(input);
        }
        match self.run_engine(true) {
            Ok(()) => {
                self.end_loans();
                Ok(())
            }
            Err(failure) => {
                let error = self.failed(failure);
                self.end_loans();
                error
            }
        }
    }

    /// What was attached for the run that is over goes.
    #[inline]
    fn end_loans(&mut self) {
        if self.inputs.has_loans() || self.outputs.has_loans() {
            let now = self.tick();
            self.inputs.end_loans(now);
            self.outputs.end_loans(now);
        }
    }

    /// Runs with memory for every slot.
    #[inline]
    fn run_all_lent(&mut self, loans: &[Loan]) -> Result<()> {
        debug_assert!(!self.inputs.is_any_attached() && !self.outputs.is_any_attached());
        debug_assert!((1..loans.len()).all(|count| loans[..count].iter().all(|loan| loan.slot != loans[count].slot)));
        // first: whatever ends this, the values are not what anything else is about
        self.are_left = true;
        for loan in loans {
            if let Err(error) = self.pass(loan) {
                return self.labelled(loan.slot, error);
            }
        }
        match self.runner.run_once(&mut self.inputs, &mut self.outputs) {
            Ok(()) => {
                self.ran = self.tick();
                Ok(())
            }
            Err(failure) => self.lent_run_failed(loans, failure),
        }
    }

    /// Runs with memory for some slots, and what is attached.
    #[inline(never)]
    fn run_some_lent(&mut self, loans: &[Loan]) -> Result<()> {
        self.forget_left();
        for (number, loan) in loans.iter().enumerate() {
            if let Err(error) = self.pass(loan) {
                self.end_passes(&loans[..number]);
                return self.labelled(loan.slot, error);
            }
            self.ports(loan.slot).0.count_pass();
        }
        if let Some(input) = self.inputs.first_without() {
            self.end_passes(loans);
            return self.unbound(input);
        }
        let outcome = self.run_engine(false);
        // before anything of a failed run is given back: these values are not the engine's
        self.end_passes(loans);
        match outcome {
            Ok(()) => Ok(()),
            Err(failure) => self.lent_run_failed(loans, failure),
        }
    }

    fn end_passes(&mut self, loans: &[Loan]) {
        for loan in loans {
            if let (ports, Some(place)) = self.ports(loan.slot) {
                ports.end_pass(place);
            }
        }
    }

    /// Hands memory to the next run.
    #[inline(always)]
    fn pass(&mut self, loan: &Loan) -> Result<()> {
        if likely(self.pass_at_once(loan)) { Ok(()) } else { self.pass_with_care(loan) }
    }

    /// The rule: a slot that was lent memory of this kind before.
    #[inline]
    fn pass_at_once(&mut self, loan: &Loan) -> bool {
        let Loan { slot, memory } = loan;
        let ports = match slot.side {
            Side::Input => &mut self.inputs,
            Side::Output if self.are_in_order && memory.access() == Access::ReadWrite => &mut self.outputs,
            Side::Output => return false,
        };
        ports.pass_at_once(&self.maker, slot.index, memory)
    }

    #[inline(never)]
    fn pass_with_care(&mut self, loan: &Loan) -> Result<()> {
        let now = self.tick();
        let Loan { slot, memory } = *loan;
        let (ports, place, planned) = match slot.side {
            Side::Input => (&mut self.inputs, Some(slot.index), &self.planned.0),
            Side::Output => (&mut self.outputs, self.places.get(slot.index).copied().flatten(), &self.planned.1),
        };
        let (Some(place), Some(desc)) = (place, planned.get(slot.index)) else { return self.cannot_attach(slot) };
        if slot.side == Side::Output && memory.access() == Access::ReadOnly {
            return self.cannot_write(slot);
        }
        let check = || require_fit(&self.slots, slot, desc);
        ports.pass(&self.maker, place, New { memory, desc, stay: Stay::OneRun }, now, check)
    }

    /// Gives back what the engine allocated for outputs.
    fn release_all_made(&mut self) {
        if unlikely(std::mem::take(&mut self.made)) {
            debug_assert!(!self.are_left);
            let made = (0..self.outputs.len()).filter_map(|place| self.outputs.take_made(place));
            made.for_each(|value| release(self.session.engine, value));
        }
    }

    fn detach_all(&mut self) {
        self.release_all_made();
        let now = self.tick();
        (0..self.inputs.len()).for_each(|index| self.inputs.detach(index, now));
        (0..self.outputs.len()).for_each(|place| self.outputs.detach(place, now));
        self.runner.changed();
        self.ran = 0;
    }

    // What follows ends calls that fail. It is kept out of the way of those that do not: after a run of the engine even
    // the code of a call has to come back into the processor's cache, line by line.

    #[cold]
    fn cannot_attach(&self, slot: Slot) -> Result<()> {
        let label = self.slots.label(slot);
        match self.origin(slot) {
            origin if origin != slot => fail!(Unsupported, "{label} is the same tensor as {origin}; attach that"),
            _ => fail!(InvalidArgument, "the model has no {label}"),
        }
    }

    #[cold]
    fn cannot_write(&self, slot: Slot) -> Result<()> {
        fail!(ReadOnly, "{}: an output cannot be computed into read-only memory", self.slots.label(slot))
    }

    #[cold]
    fn labelled<T>(&self, slot: Slot, error: Error) -> Result<T> {
        Err(error.at(self.slots.label(slot)))
    }

    #[cold]
    fn unbound(&self, input: usize) -> Result<()> {
        let label = self.slots.label(Slot::input(input));
        fail!(Unbound, "{label} has no memory: bind a tensor or lend memory to it")
    }

    #[cold]
    fn not_computed<T>(&self, slot: Slot) -> Result<T> {
        fail!(Unbound, "{} has no value: run first; a failed run leaves none", self.slots.label(slot))
    }

    #[cold]
    fn lent_run_failed(&mut self, loans: &[Loan], failure: Failure) -> Result<()> {
        for loan in loans {
            if let (ports, Some(place)) = self.ports(loan.slot) {
                ports.note_passed(place, loan.memory);
            }
        }
        self.failed(failure)
    }

    #[cold]
    fn failed(&mut self, failure: Failure) -> Result<()> {
        self.release_all_made();
        Err(run_failure::explain(failure, &self.slots, &self.outputs))
    }
}

/// Gives back a value that was taken out of the outputs.
fn release(engine: &Engine, made: *mut OrtValue) {
    // SAFETY: the engine allocated the value in a run of ours and gave it to us; it is in no table any more, so this happens
    // once. Views of it have ended, as the trait says.
    unsafe { (engine.api.ReleaseValue)(made) };
}

/// What a slot can hold: the engine would take bytes for strings, and complain of all else only in the run.
fn require_fit(slots: &Slots, slot: Slot, desc: &Desc) -> Result<()> {
    let info = slots.info(slot)?;
    if info.desc.dtype == Dtype::String {
        return fail!(Unsupported, "string tensors cannot lie in host memory");
    }
    if desc.dtype != info.desc.dtype {
        return fail!(DtypeMismatch, "the model has {} and {desc} was given", info.desc);
    }
    if !desc.dims.is_known() || !desc.dims.matches(&info.desc.dims) {
        return fail!(ShapeMismatch, "the model has {} and {desc} was given", info.desc);
    }
    Ok(())
}

impl EngineContext for OnnxContext {
    fn facts(&self) -> Facts {
        Facts { alignment: Alignment::Element, input_slack: 0, rebind: Rebind::Free }
    }

    fn plan(&mut self, inputs: &[Dims]) -> Result<Plan> {
        let plan = shapes::plan(&self.slots.inputs, &self.slots.outputs, &self.slots.names, inputs)?;
        let descs = |slots: &[PlannedSlot]| slots.iter().map(|planned| planned.desc).gather();
        let planned = (descs(&plan.inputs)?, descs(&plan.outputs)?);
        self.detach_all();
        self.planned = planned;
        Ok(plan)
    }

    fn attach(&mut self, slot: Slot, memory: HostRange, desc: &Desc, stay: Stay) -> Result<()> {
        self.forget_left();
        let now = self.tick();
        let (ports, place) = match slot.side {
            Side::Input => (&mut self.inputs, Some(slot.index)),
            Side::Output => (&mut self.outputs, self.places.get(slot.index).copied().flatten()),
        };
        let Some(place) = place.filter(|place| *place < ports.len()) else { return self.cannot_attach(slot) };
        if slot.side == Side::Output {
            if memory.access() == Access::ReadOnly {
                return self.cannot_write(slot);
            }
            if let Some(made) = ports.take_made(place) {
                release(self.session.engine, made);
            }
        }
        let check = || require_fit(&self.slots, slot, desc);
        let attached = ports.attach(&self.maker, place, New { memory, desc, stay }, now, check);
        if let Err(error) = attached {
            return self.labelled(slot, error);
        }
        self.runner.changed();
        Ok(())
    }

    fn detach(&mut self, slot: Slot) {
        let now = self.tick();
        let (ports, Some(place)) = self.ports(slot) else { return };
        if ports.is_attached(place) {
            ports.detach(place, now);
            self.runner.changed();
        }
    }

    fn canceller(&self) -> Option<Arc<dyn Canceller>> {
        Some(self.runner.options())
    }

    fn run(&mut self) -> Result<()> {
        // the rule for what is bound: after a run of the engine, each line of memory that need not be looked at counts
        match self.runner.run_bound() {
            // nothing was changed since the run before, so `ran` is still right
            Some(Ok(())) => Ok(()),
            Some(Err(failure)) => {
                self.ran = 0;
                self.failed(failure)
            }
            None => self.run_attached(),
        }
    }

    fn run_lent(&mut self, loans: &[Loan]) -> Result<()> {
        self.begin();
        // they are for slots that differ, so these are all
        if likely(loans.len() == self.inputs.len() + self.outputs.len()) {
            self.run_all_lent(loans)
        } else {
            self.run_some_lent(loans)
        }
    }

    fn reset(&mut self, _inputs: &[Dims]) -> Result<Option<Plan>> {
        // what a session computes depends on what it is given only
        Ok(None)
    }

    fn output(&mut self, slot: Slot) -> Result<OutputView> {
        self.slots.info(slot)?;
        self.forget_left();
        let (ran, engine, origin) = (self.ran, self.session.engine, self.origin(slot));
        let (ports, Some(place)) = self.ports(origin) else { return self.not_computed(slot) };
        if ran == 0 || ports.changed(place) > ran {
            return self.not_computed(slot);
        }
        if let Some(view) = ports.view(place)? {
            return Ok(view);
        }
        let value = ports.value(place);
        if value.is_null() {
            return self.not_computed(slot);
        }
        // SAFETY: the engine allocated the value in the last run; it is released at the next run, plan or attach, up to
        // which the view is good.
        unsafe { value::view(engine, value) }.or_else(|error| self.labelled(slot, error))
    }

    fn engine_address(&mut self, slot: Slot) -> *const c_void {
        self.forget_left();
        let has_address = self.slots.info(slot).is_ok_and(|info| info.desc.dtype != Dtype::String);
        let (engine, origin) = (self.session.engine, self.origin(slot));
        let (ports, Some(place)) = self.ports(origin) else { return std::ptr::null() };
        let (value, has_memory) = match ports.ended(place) {
            Some(ended) => ended,
            None => (ports.value(place), !ports.memory(place).is_some_and(|memory| memory.data().is_null())),
        };
        if !has_address || value.is_null() {
            return std::ptr::null();
        }
        if !has_memory {
            // no bytes: the value has some address of ours in the place of the host's NULL
            return std::ptr::null();
        }
        // SAFETY: a value in force, or of a loan that ended and has no successor, is alive, and a tensor of numbers: attached
        // ones always are, and the slot's type is not string.
        unsafe { value::address(engine, value) }.map_or(std::ptr::null(), |address| address.cast_const())
    }
}

impl Drop for OnnxContext {
    fn drop(&mut self) {
        self.release_all_made();
    }
}
