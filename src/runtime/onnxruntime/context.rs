//! An execution state: what is attached to each slot, and what the last run left.

use std::ffi::c_void;
use std::sync::Arc;

use super::model::Slots;
use super::ports::Ports;
use super::run::Runner;
use super::session::Session;
use super::{run_failure, shapes, value};
use crate::base::{Desc, Dims, Dtype, Result, Side, Slot, SlotInfo, fail};
use crate::memory::{Access, HostRange};
use crate::runtime::{Alignment, EngineContext, Facts, OutputView, Plan, Rebind, Stay};

pub struct OnnxContext {
    inputs: Ports,
    /// The outputs that the engine is asked for.
    outputs: Ports,
    runner: Runner,
    slots: Arc<Slots>,
    session: Arc<Session>,
    /// Where among `outputs` each output slot is; `None` for a twin.
    places: Vec<Option<usize>>,
    /// Whether the engine allocated values of `outputs` in the last run.
    made: bool,
    /// Counts everything that happens here.
    clock: u64,
    /// When the last run ended, if it ended well; else 0.
    ran: u64,
}

// SAFETY: the pointers inside are to values that this object owns; nothing of the engine's is tied to a thread.
unsafe impl Send for OnnxContext {}

impl OnnxContext {
    pub fn new(session: Arc<Session>, slots: Arc<Slots>) -> Result<OnnxContext> {
        let requested = slots.names.requested();
        let place = |output| match slots.names.twin(output) {
            None => requested.iter().position(|index| *index == output),
            Some(_) => None,
        };
        Ok(OnnxContext {
            inputs: Ports::new(slots.inputs.len()),
            outputs: Ports::new(requested.len()),
            runner: Runner::new(session.clone(), slots.clone())?,
            places: (0..slots.outputs.len()).map(place).collect(),
            slots,
            session,
            made: false,
            clock: 0,
            ran: 0,
        })
    }

    fn info(&self, slot: Slot) -> Result<&SlotInfo> {
        let slots = match slot.side {
            Side::Input => &self.slots.inputs,
            Side::Output => &self.slots.outputs,
        };
        match slots.get(slot.index) {
            Some(info) => Ok(info),
            None => fail!(InvalidArgument, "there is no {slot}: the model has {}", slots.len()),
        }
    }

    /// The slot that has the tensor: itself, or the one that it is a twin of.
    fn origin(&self, slot: Slot) -> Slot {
        match slot.side {
            Side::Input => slot,
            Side::Output => self.slots.names.twin(slot.index).unwrap_or(slot),
        }
    }

    fn ports(&mut self, slot: Slot) -> (&mut Ports, Option<usize>) {
        match slot.side {
            Side::Input => (&mut self.inputs, Some(slot.index)),
            Side::Output => (&mut self.outputs, self.places[slot.index]),
        }
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Gives back what the engine allocated for a place among the outputs.
    fn release_made(&mut self, place: usize) {
        if let Some(made) = self.outputs.take_foreign(place) {
            // SAFETY: the engine allocated the value in a run of ours and gave it to us; it is out of the table now, so
            // this happens once. Views of it have ended, as the trait says.
            unsafe { (self.session.engine.api.ReleaseValue)(made) };
        }
    }

    fn release_all_made(&mut self) {
        if std::mem::take(&mut self.made) {
            (0..self.outputs.len()).for_each(|place| self.release_made(place));
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

    /// What the engine would not notice, or only by crashing.
    fn check_attach(&self, slot: Slot, memory: &HostRange, desc: &Desc) -> Result<()> {
        let info = self.info(slot)?;
        let name = &info.name;
        if info.desc.dtype == Dtype::String {
            return fail!(Unsupported, "{slot} '{name}': string tensors cannot lie in host memory");
        }
        if desc.dtype != info.desc.dtype {
            return fail!(DtypeMismatch, "{slot} '{name}': the model has {} and {desc} was given", info.desc);
        }
        if !desc.dims.is_known() || !desc.dims.matches(&info.desc.dims) {
            return fail!(ShapeMismatch, "{slot} '{name}': the model has {} and {desc} was given", info.desc);
        }
        if slot.side == Side::Output && memory.access() == Access::ReadOnly {
            return fail!(ReadOnly, "{slot} '{name}': an output cannot be computed into read-only memory");
        }
        Ok(())
    }

    fn require_inputs(&self) -> Result<()> {
        match self.inputs.first_without() {
            None => Ok(()),
            Some(index) => fail!(
                Unbound,
                "{} '{}' has no memory: bind a tensor or lend memory to it",
                Slot::input(index),
                self.slots.inputs[index].name
            ),
        }
    }

    fn not_computed<T>(&self, slot: Slot) -> Result<T> {
        let name = &self.info(slot)?.name;
        fail!(Unbound, "{slot} '{name}' has no value: run first; a failed run leaves none")
    }
}

impl EngineContext for OnnxContext {
    fn facts(&self) -> Facts {
        Facts { alignment: Alignment::Element, input_slack: 0, rebind: Rebind::Free }
    }

    fn plan(&mut self, inputs: &[Dims]) -> Result<Plan> {
        let plan = shapes::plan(&self.slots.inputs, &self.slots.outputs, &self.slots.names, inputs)?;
        self.detach_all();
        Ok(plan)
    }

    fn attach(&mut self, slot: Slot, memory: HostRange, desc: &Desc, stay: Stay) -> Result<()> {
        self.check_attach(slot, &memory, desc)?;
        let (now, engine) = (self.tick(), self.session.engine);
        let (ports, Some(place)) = self.ports(slot) else {
            return fail!(Unsupported, "{slot} is the same tensor as {}; attach that", self.origin(slot));
        };
        let attached = ports.get(place).is_some();
        if slot.side == Side::Output && !attached {
            self.release_made(place);
        }
        self.ports(slot).0.attach(engine, place, memory, desc, stay, now).map_err(|error| error.at(slot))?;
        self.runner.changed();
        Ok(())
    }

    fn detach(&mut self, slot: Slot) {
        let now = self.tick();
        if self.info(slot).is_err() {
            return;
        }
        let (ports, Some(place)) = self.ports(slot) else { return };
        if ports.get(place).is_some() {
            ports.detach(place, now);
            self.runner.changed();
        }
    }

    fn run(&mut self) -> Result<()> {
        self.ran = 0;
        self.release_all_made();
        self.require_inputs()?;
        let outcome = self.runner.run(&mut self.inputs, &mut self.outputs);
        self.made = !self.outputs.are_all_attached();
        match outcome {
            Ok(()) => {
                self.ran = self.tick();
                Ok(())
            }
            Err(failure) => {
                self.release_all_made();
                Err(run_failure::explain(failure, &self.slots, &self.outputs))
            }
        }
    }

    fn output(&mut self, slot: Slot) -> Result<OutputView> {
        self.info(slot)?;
        let (ran, engine, origin) = (self.ran, self.session.engine, self.origin(slot));
        let (ports, Some(place)) = self.ports(origin) else { return self.not_computed(slot) };
        if ran == 0 || ports.changed(place) > ran {
            return self.not_computed(slot);
        }
        if let Some(attached) = ports.get(place) {
            return attached.view();
        }
        let value = ports.value(place);
        if value.is_null() {
            return self.not_computed(slot);
        }
        // SAFETY: the engine allocated the value in the last run; it is released at the next run, plan or attach, up to
        // which the view is good.
        unsafe { value::view(engine, value) }.map_err(|error| error.at(slot))
    }

    fn engine_address(&mut self, slot: Slot) -> *const c_void {
        let has_address = self.info(slot).is_ok_and(|info| info.desc.dtype != Dtype::String);
        let (engine, origin) = (self.session.engine, self.origin(slot));
        let (ports, Some(place)) = self.ports(origin) else { return std::ptr::null() };
        let value = ports.value(place);
        if !has_address || value.is_null() {
            return std::ptr::null();
        }
        if ports.get(place).is_some_and(|attached| attached.is_empty()) {
            // the value has an address of ours in the place of the host's, which may be null
            return ports.get(place).map_or(std::ptr::null(), |attached| attached.memory.data().cast_const());
        }
        // SAFETY: a value in force is alive, and a tensor of numbers: attached ones always are, and the slot's type is not
        // string.
        unsafe { value::address(engine, value) }.map_or(std::ptr::null(), |address| address.cast_const())
    }
}

impl Drop for OnnxContext {
    fn drop(&mut self) {
        self.release_all_made();
    }
}
