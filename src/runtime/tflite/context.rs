//! An execution state: an interpreter, and what each of its slots computes with.

use std::ffi::c_void;
use std::sync::Arc;

use super::interpreter::{Interpreter, address_of};
use super::model::Declared;
use super::place::{Held, Place};
use super::sentinel::Sentinel;
use super::settings::Settings;
use super::symbols::{CustomAllocation, OK, Symbols};
use crate::base::{Desc, Dims, Dtype, Error, Result, Side, Slot, Status, fail};
use crate::memory::{Access, Buffer, HostRange};
use crate::runtime::{Alignment, EngineContext, Facts, OutputView, Plan, Rebind, Stay};

/// What the engine's kernels expect, and what it checks.
const ALIGNMENT: usize = 64;
/// XNNPACK's kernels load whole vectors; the plain ones read elements only.
const XNNPACK_SLACK: usize = 16;

pub struct Context {
    pub(super) symbols: &'static Symbols,
    pub(super) declared: Arc<Declared>,
    pub(super) interpreter: Interpreter,
    pub(super) sentinel: Sentinel,
    pub(super) inputs: Vec<Place>,
    pub(super) outputs: Vec<Place>,
    /// Reasons to look closer before a run: slots without memory, and one for a missing plan.
    pub(super) loose: usize,
    /// The plan in force, with its shapes.
    pub(super) plan: Option<(Vec<Dims>, Plan)>,
    pub(super) rebind: Rebind,
}

impl Context {
    pub fn create(symbols: &'static Symbols, declared: Arc<Declared>, settings: Settings) -> Result<Context> {
        let interpreter = Interpreter::create(symbols, declared.parsed.clone(), settings)?;
        let places = |tensors: &[i32], slot: fn(usize) -> Slot| {
            tensors.iter().enumerate().map(|(position, tensor)| Place::new(slot(position), *tensor)).collect()
        };
        Ok(Context {
            symbols,
            inputs: places(&declared.input_tensors, Slot::input),
            outputs: places(&declared.output_tensors, Slot::output),
            declared,
            interpreter,
            sentinel: Sentinel::get()?,
            loose: 1,
            plan: None,
            // what every version that was tried does; planning finds out
            rebind: Rebind::Free,
        })
    }

    pub(super) fn count_loose(&mut self) {
        let slots = self.inputs.iter().chain(&self.outputs).filter(|place| place.is_loose()).count();
        self.loose = slots + usize::from(self.plan.is_none());
    }

    fn place(&mut self, slot: Slot) -> Option<&mut Place> {
        match slot.side {
            Side::Input => self.inputs.get_mut(slot.index),
            Side::Output => self.outputs.get_mut(slot.index),
        }
    }

    /// A slot with its name, for texts.
    fn title(&self, slot: Slot) -> String {
        let list = if slot.side == Side::Input { &self.declared.inputs } else { &self.declared.outputs };
        let name = list.get(slot.index).map_or("", |info| info.name.as_str());
        format!("{slot} \"{name}\"")
    }

    /// Changes what a slot holds.
    ///
    /// # Safety
    /// `memory` is good for `bytes` of the slot as long as it stays in place (the sentinel, which is never used, is too).
    unsafe fn put(&mut self, slot: Slot, memory: &CustomAllocation, held: Held) -> Result<()> {
        let place = match slot.side {
            Side::Input => &mut self.inputs[slot.index],
            Side::Output => &mut self.outputs[slot.index],
        };
        let was_loose = place.is_loose();
        // SAFETY: the number was checked when the model was opened, the memory by the caller.
        let status = unsafe { self.interpreter.set_memory(place.tensor, memory) };
        if status != OK {
            return self.interpreter.check(status, || "TFLite refuses the memory".to_owned());
        }
        place.held = held;
        self.loose = self.loose + usize::from(place.is_loose()) - usize::from(was_loose);
        if self.rebind == Rebind::Replan { self.interpreter.allocate() } else { Ok(()) }
    }

    /// What a run needs before it starts, beyond a plan and attached memory.
    #[cold]
    fn tighten(&mut self) -> Result<()> {
        if self.plan.is_none() {
            return fail!(Runtime, "there is no plan: the last attempt to plan failed, or there was none");
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

    /// Gives an output memory of ours: the engine's own does not come back.
    fn put_scratch(&mut self, position: usize) -> Result<()> {
        let place = &mut self.outputs[position];
        if place.scratch.is_none() {
            place.scratch = Some(Buffer::zeroed(place.bytes, ALIGNMENT)?);
        }
        let Some(range) = place.scratch.as_ref().map(Buffer::range) else { return Ok(()) };
        // SAFETY: the scratch is as large as the plan says, and a plan of another size puts the sentinel in its place
        // before it lets the scratch go.
        unsafe { self.put(Slot::output(position), &as_allocation(&range), Held::Scratch) }
    }

    fn refuse_attach(&self, slot: Slot, memory: &HostRange) -> Error {
        let planned = self.plan.is_some();
        let place = if slot.side == Side::Input { self.inputs.get(slot.index) } else { self.outputs.get(slot.index) };
        let title = self.title(slot);
        match place {
            None => Error::new(Status::InvalidArgument, format!("{slot}: the model has no such slot")),
            Some(_) if !planned => Error::new(Status::Runtime, format!("{title}: memory before there is a plan")),
            Some(place) if !place.bindable => {
                Error::new(Status::CopyRequired, format!("{title}: no memory can take the place of the engine's"))
            }
            Some(place) => {
                let (needed, given) = (place.bytes, memory.size());
                Error::new(Status::BufferTooSmall, format!("{title}: {needed} bytes are needed, {given} were given"))
            }
        }
    }
}

fn as_allocation(memory: &HostRange) -> CustomAllocation {
    CustomAllocation { data: memory.data(), bytes: memory.size() }
}

impl EngineContext for Context {
    fn facts(&self) -> Facts {
        let input_slack = if self.interpreter.has_delegate() { XNNPACK_SLACK } else { 0 };
        Facts { alignment: Alignment::Bytes(ALIGNMENT), input_slack, rebind: self.rebind }
    }

    fn plan(&mut self, inputs: &[Dims]) -> Result<Plan> {
        self.plan_shapes(inputs)
    }

    fn attach(&mut self, slot: Slot, memory: HostRange, _desc: &Desc, _stay: Stay) -> Result<()> {
        let planned = self.plan.is_some();
        // the engine would write past the end of memory that is too short
        let fits = |place: &mut Place| planned && place.bindable && memory.size() >= place.bytes;
        let Some(bytes) = self.place(slot).and_then(|place| fits(place).then_some(place.bytes)) else {
            return Err(self.refuse_attach(slot, &memory));
        };
        // the engine refuses null and misaligned addresses even where nothing is ever touched
        let allocation = if bytes == 0 { self.sentinel.allocation() } else { as_allocation(&memory) };
        // SAFETY: it is large enough, and whoever attaches promised to keep it until it is detached.
        let result = unsafe { self.put(slot, &allocation, Held::Host) };
        result.map_err(|error| error.at(self.title(slot)))
    }

    fn detach(&mut self, slot: Slot) {
        let Some(place) = self.place(slot).filter(|place| place.held == Held::Host) else { return };
        let has_scratch = place.scratch.is_some();
        let result = match slot.side {
            Side::Output if has_scratch => self.put_scratch(slot.index),
            // SAFETY: the sentinel is never used: the slot counts as loose from now on.
            _ => unsafe { self.put(slot, &self.sentinel.allocation(), Held::Nothing) },
        };
        if result.is_err() {
            // the engine may still know the address, so it must not run any more
            self.plan = None;
            self.count_loose();
        }
    }

    #[inline]
    fn run(&mut self) -> Result<()> {
        if self.loose != 0 {
            self.tighten()?;
        }
        // SAFETY: nothing is loose, so every slot that was given memory has good memory now.
        let status = unsafe { self.interpreter.invoke() };
        self.interpreter.check(status, || "TFLite could not run the model".to_owned())
    }

    fn output(&mut self, slot: Slot) -> Result<OutputView> {
        let index = self.outputs.get(slot.index).filter(|_| slot.side == Side::Output).map(|place| place.tensor);
        let Some(tensor) = index.and_then(|index| self.interpreter.tensor(index)) else {
            return fail!(InvalidArgument, "{slot}: the model has no such output");
        };
        let (desc, bytes, data) = (tensor.desc()?, tensor.bytes(), tensor.data());
        if desc.dtype == Dtype::String {
            return fail!(Unsupported, "{}: strings are not supported in this version", self.title(slot));
        }
        if bytes > 0 && (data.is_null() || self.sentinel.is(data)) {
            return fail!(Unbound, "{}: its memory was taken away, or nothing has run yet", self.title(slot));
        }
        if desc.byte_size()? != bytes as u64 {
            return fail!(Runtime, "{}: TFLite has {bytes} bytes for {desc}", self.title(slot));
        }
        // SAFETY: the engine keeps these bytes until it runs or plans again, which the caller knows.
        let memory = unsafe { HostRange::new(data, bytes, bytes, Access::ReadOnly) };
        Ok(OutputView { memory, desc })
    }

    fn engine_address(&mut self, slot: Slot) -> *const c_void {
        let Some(index) = self.place(slot).map(|place| place.tensor) else { return std::ptr::null() };
        let address = address_of(&self.interpreter, index);
        if self.sentinel.is(address) { std::ptr::null() } else { address }
    }
}
