//! An execution state: an interpreter, and what each of its slots computes with.

use std::ffi::c_void;
use std::sync::Arc;

use super::cancel::CancelSwitch;
use super::hold::as_allocation;
use super::interpreter::{Interpreter, address_of};
use super::model::Declared;
use super::place::{Counts, Held, Place};
use super::sentinel::Sentinel;
use super::settings::Settings;
use super::symbols::{CustomAllocation, OK, Symbols};
use crate::base::{Desc, Dims, Dtype, Gather, Result, Side, Slot, SlotInfo, fail, text};
use crate::memory::{Access, HostRange};
use crate::runtime::{Alignment, Canceller, EngineContext, Facts, Loan, OutputView, Plan, Rebind, Stay, run_attached};

/// What the engine's kernels expect, and what it checks.
pub const ALIGNMENT: usize = 64;
/// XNNPACK's kernels load whole vectors; the plain ones read elements only.
const XNNPACK_SLACK: usize = 16;

pub struct Context {
    pub(super) symbols: &'static Symbols,
    pub(super) declared: Arc<Declared>,
    settings: Settings,
    /// `None`: runs cannot be stopped, because of the model or of this build of the engine.
    switch: Option<Arc<CancelSwitch>>,
    pub(super) interpreter: Interpreter,
    pub(super) sentinel: Sentinel,
    pub(super) inputs: Vec<Place>,
    pub(super) outputs: Vec<Place>,
    pub(super) counts: Counts,
    /// The plan in force, with its shapes.
    pub(super) plan: Option<(Vec<Dims>, Plan)>,
    pub(super) rebind: Rebind,
    /// Whether some tensor gets its size during the run only.
    pub(super) is_unsized: bool,
}

impl Context {
    pub fn create(symbols: &'static Symbols, declared: Arc<Declared>, settings: Settings) -> Result<Context> {
        let interpreter = Interpreter::create(symbols, declared.parsed.clone(), settings, declared.can_be_interrupted)?;
        let cancel = symbols.interpreter_cancel.filter(|_| declared.can_be_interrupted);
        let switch = cancel.map(|cancel| Arc::new(CancelSwitch::new(cancel)));
        if let Some(switch) = &switch {
            switch.connect(interpreter.as_ptr());
        }
        let places = |tensors: &[i32], infos: &[SlotInfo], slot: fn(usize) -> Slot| {
            let slots = tensors.iter().zip(infos).enumerate();
            slots.map(|(position, (tensor, info))| Place::new(slot(position), *tensor, info.desc.dtype)).gather()
        };
        Ok(Context {
            symbols,
            inputs: places(&declared.input_tensors, &declared.inputs, Slot::input)?,
            outputs: places(&declared.output_tensors, &declared.outputs, Slot::output)?,
            declared,
            settings,
            switch,
            interpreter,
            sentinel: Sentinel::get()?,
            counts: Counts { loose: 1, lent: 0 },
            plan: None,
            // what every version that was tried does; planning finds out
            rebind: Rebind::Free,
            is_unsized: false,
        })
    }

    /// Counts anew.
    pub(super) fn count(&mut self) {
        let places = || self.inputs.iter().chain(&self.outputs);
        let loose = places().filter(|place| place.is_loose()).count() + usize::from(self.plan.is_none());
        let lent = places().filter(|place| place.held == Held::Lent).count();
        self.counts = Counts { loose, lent };
    }

    #[inline]
    fn invoke(&mut self) -> Result<()> {
        if self.counts.loose != 0 {
            self.tighten()?;
        }
        // SAFETY: nothing is loose, so every slot that was given memory has good memory now.
        let status = unsafe { self.interpreter.invoke() };
        self.interpreter.check(status, || text!("TFLite could not run the model"))
    }

    #[inline]
    fn attach_memory(&mut self, slot: Slot, memory: HostRange, held: Held) -> Result<()> {
        let places = if slot.side == Side::Input { &mut self.inputs } else { &mut self.outputs };
        // the rule, and quick
        if let Some(place) = places.get_mut(slot.index)
            && place.takes(&memory)
            && self.plan.is_some()
            && self.rebind == Rebind::Free
        {
            // SAFETY: it is large enough, and whoever attaches promised to keep it until it is detached.
            if unsafe { self.interpreter.set_memory(place.tensor, &as_allocation(&memory)) } == OK {
                place.hold(held, &mut self.counts);
                return Ok(());
            }
        }
        self.attach_with_care(slot, &memory, held)
    }

    /// Attaches what is not the rule, and says what is wrong with what cannot be.
    #[cold]
    fn attach_with_care(&mut self, slot: Slot, memory: &HostRange, held: Held) -> Result<()> {
        if let Some(error) = self.why_not(slot, memory) {
            return Err(error);
        }
        let mut allocation = as_allocation(memory);
        if self.place(slot).is_some_and(|place| place.bytes == 0) {
            // the engine refuses null and misaligned addresses even where nothing is ever touched
            allocation = CustomAllocation { bytes: 0, ..self.sentinel.allocation() };
        }
        // SAFETY: it is large enough, and whoever attaches promised to keep it until it is detached.
        let result = unsafe { self.put(slot, &allocation, held) };
        result.map_err(|error| {
            self.detach(slot);
            error.at(self.title(slot))
        })
    }

    /// What a run needs before it starts, beyond a plan and attached memory.
    #[cold]
    fn tighten(&mut self) -> Result<()> {
        if self.plan.is_none() {
            return fail!(Runtime, "there is no plan: the last attempt to plan failed, or there was none");
        }
        if let Some(place) = self.inputs.iter().find(|place| place.is_text) {
            // it has no value, and kernels do not look whether it has one
            return fail!(
                Unsupported,
                "{} holds strings, which cannot be given in this version: the model cannot run",
                self.title(place.slot)
            );
        }
        if let Some(place) = self.inputs.iter().find(|place| place.is_loose()) {
            return fail!(Unbound, "{} has no memory: bind or lend some", self.title(place.slot));
        }
        for position in 0..self.outputs.len() {
            if self.outputs[position].is_loose() {
                self.put_scratch(position)?;
            }
        }
        Ok(())
    }

    /// Whether the tensor of a slot, which may be another slot's too, has memory that was lent for a run that is over.
    fn is_gone(&self, place: &Place) -> bool {
        let mut slots = self.inputs.iter().chain(&self.outputs);
        slots.any(|other| other.tensor == place.tensor && other.held == Held::Gone)
    }

    /// Reads an output where it is.
    fn view(&self, place: &Place) -> Result<OutputView> {
        let title = || self.title(place.slot);
        let Some(tensor) = self.interpreter.tensor(place.tensor) else {
            return fail!(Runtime, "{} has no tensor", title());
        };
        let (desc, bytes, data) = (tensor.desc()?, tensor.bytes(), tensor.data());
        if desc.dtype == Dtype::String {
            return fail!(Unsupported, "{}: strings are not supported in this version", title());
        }
        if bytes > 0 && (data.is_null() || self.sentinel.is(data) || self.is_gone(place)) {
            return fail!(Unbound, "{}: its memory was taken away, or nothing has run yet", title());
        }
        if desc.byte_size()? != bytes as u64 {
            return fail!(Runtime, "{}: TFLite has {bytes} bytes for {desc}", title());
        }
        // SAFETY: the engine keeps these bytes until it runs or plans again, which the caller knows.
        let memory = unsafe { HostRange::new(data, bytes, bytes, Access::ReadOnly) };
        Ok(OutputView { memory, desc })
    }
}

impl EngineContext for Context {
    fn facts(&self) -> Facts {
        let input_slack = if self.interpreter.has_delegate() { XNNPACK_SLACK } else { 0 };
        Facts { alignment: Alignment::Bytes(ALIGNMENT), input_slack, rebind: self.rebind }
    }

    fn plan(&mut self, inputs: &[Dims]) -> Result<Plan> {
        self.plan_shapes(inputs)
    }

    fn attach(&mut self, slot: Slot, memory: HostRange, _desc: &Desc, stay: Stay) -> Result<()> {
        self.attach_memory(slot, memory, if stay == Stay::OneRun { Held::Lent } else { Held::Host })
    }

    fn detach(&mut self, slot: Slot) {
        let Some(place) = self.place_mut(slot).filter(|place| place.is_the_hosts()) else { return };
        let has_scratch = place.scratch.is_some();
        let result = match slot.side {
            Side::Output if has_scratch => self.put_scratch(slot.index),
            _ => self.put_nothing(slot),
        };
        if result.is_err() {
            // the engine may still know the address, so it must not run any more
            self.plan = None;
            self.count();
        }
    }

    fn canceller(&self) -> Option<Arc<dyn Canceller>> {
        self.switch.clone().map(|switch| switch as Arc<dyn Canceller>)
    }

    #[inline]
    fn run(&mut self) -> Result<()> {
        if self.counts.lent == 0 {
            return self.invoke();
        }
        let result = self.invoke();
        self.leave_loans_behind();
        result
    }

    #[inline]
    fn run_lent(&mut self, loans: &[Loan]) -> Result<()> {
        // the rule: nothing is missing but the next memory of the slots that had loans before
        if self.counts.loose != loans.len() || !self.gives(loans) {
            return run_attached(self, loans, |context, loan| {
                context.attach_memory(loan.slot, loan.memory, Held::Lent)
            });
        }
        // SAFETY: every loose slot was given memory just now, which is good for this run; they go on to count as loose.
        let status = unsafe { self.interpreter.invoke() };
        self.interpreter.check(status, || text!("TFLite could not run the model"))
    }

    /// No call of the engine resets all state, so there is a new interpreter. The old one is let go without being run, so
    /// that what is attached to it is not touched. Whether a model has state cannot be told for sure (other graphs in it, and
    /// operators that draw random numbers, keep some too), so each is treated as if it had.
    fn reset(&mut self, inputs: &[Dims]) -> Result<Option<Plan>> {
        let mut fresh = Context::create(self.symbols, self.declared.clone(), self.settings)?;
        let is_tried = self.plan.as_ref().is_some_and(|(shapes, _)| shapes == inputs);
        let plan = if is_tried { fresh.plan_tried(inputs, None)? } else { fresh.plan_shapes(inputs)? };
        // whoever holds the switch reaches the new interpreter
        if let Some(switch) = &self.switch {
            switch.connect(fresh.interpreter.as_ptr());
        }
        fresh.switch = self.switch.take();
        *self = fresh;
        Ok(Some(plan))
    }

    fn output(&mut self, slot: Slot) -> Result<OutputView> {
        match self.place(slot) {
            Some(place) if slot.side == Side::Output => self.view(place),
            _ => fail!(InvalidArgument, "{slot}: the model has no such output"),
        }
    }

    fn engine_address(&mut self, slot: Slot) -> *const c_void {
        let Some(place) = self.place(slot) else { return std::ptr::null() };
        let address = address_of(&self.interpreter, place.tensor);
        if self.sentinel.is(address) { std::ptr::null() } else { address }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if let Some(switch) = &self.switch {
            switch.connect(std::ptr::null_mut());
        }
    }
}
