//! Settling shapes, and finding out what can be done with each slot then.

use std::ffi::CStr;

use super::context::Context;
use super::dry_run::{self, OutputShapes, apply_shapes, has_unsized_tensors, settled_shape, spare_inputs};
use super::interpreter::address_of;
use super::model::{input_twin, output_twin};
use super::place::{Held, Place};
use super::tensor::{Allocation, Tensor};
use crate::base::room::copied;
use crate::base::{Desc, Dims, Dtype, Error, Gather, Result, Side, Slot, SlotFlags, SlotInfo, Status, fail, log, text};
use crate::runtime::{Plan, PlannedSlot, Rebind};

impl Context {
    pub(super) fn plan_shapes(&mut self, shapes: &[Dims]) -> Result<Plan> {
        self.declared.check_shapes(shapes)?;
        self.check_twins(shapes)?;
        if let Some((known, plan)) = &self.plan
            && known == shapes
        {
            return plan.copy();
        }
        let rehearsed = self.rehearse(shapes)?;
        self.plan_tried(shapes, rehearsed)
    }

    /// Plans shapes that were tried out, or need not be.
    pub(super) fn plan_tried(&mut self, shapes: &[Dims], rehearsed: Option<OutputShapes>) -> Result<Plan> {
        let kept_shapes = copied(shapes)?;
        self.take_memory_away()?;
        match self.try_plan(shapes, rehearsed).and_then(|plan| Ok((plan.copy()?, plan))) {
            Ok((kept, plan)) => {
                self.adopt(kept_shapes, kept);
                Ok(plan)
            }
            Err(error) => {
                self.restore();
                Err(error)
            }
        }
    }

    /// One tensor cannot have two shapes.
    fn check_twins(&self, shapes: &[Dims]) -> Result<()> {
        for (position, shape) in shapes.iter().enumerate() {
            match input_twin(&self.declared.input_tensors, position) {
                Some(twin) if shapes[twin.index] != *shape => {
                    let other = shapes[twin.index];
                    return fail!(
                        ShapeMismatch,
                        "input {position} is {twin}: it cannot be {shape} while that is {other}"
                    );
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Where shapes are fixed they are the model's own, and a first plan without XNNPACK has nothing to lose.
    fn rehearse(&self, shapes: &[Dims]) -> Result<Option<OutputShapes>> {
        let has_risk = self.interpreter.has_delegate() || self.plan.is_some();
        if !has_risk || !self.declared.is_open() {
            return Ok(None);
        }
        dry_run::rehearse(self.symbols, &self.declared, shapes, self.sentinel, self.interpreter.has_delegate())
    }

    fn try_plan(&mut self, shapes: &[Dims], rehearsed: Option<OutputShapes>) -> Result<Plan> {
        apply_shapes(&mut self.interpreter, &self.declared, shapes)?;
        spare_inputs(&mut self.interpreter, &self.declared, self.sentinel)?;
        let planned = self.interpreter.allocate().and_then(|()| self.refuse_senseless_plan());
        planned.map_err(|error| self.explain(error, shapes, rehearsed.is_some()))?;
        if self.plan.is_none() {
            self.rebind = self.try_rebinding()?;
        }
        self.refuse_new_unsized_tensors()?;
        let plan = self.describe()?;
        self.refuse_empty_outputs(&plan, shapes)?;
        if let Some(rehearsed) = rehearsed {
            self.compare(&plan, &rehearsed)?;
        }
        Ok(plan)
    }

    /// Refuses what the engine takes for a plan although it is none.
    fn refuse_senseless_plan(&self) -> Result<()> {
        dry_run::refuse_senseless_shapes(&self.interpreter)?;
        // a delegate keeps its tensors elsewhere
        if self.interpreter.has_delegate() { Ok(()) } else { dry_run::refuse_lost_arena(&self.interpreter) }
    }

    fn explain(&self, error: Error, shapes: &[Dims], is_rehearsed: bool) -> Error {
        let mut error = error.at(dry_run::given(&self.declared, shapes));
        if is_rehearsed && self.interpreter.has_delegate() {
            let hint = "it works without XNNPACK, which the option tflite.xnnpack = \"false\" turns off";
            let text = text!("{}; {hint}", error.text());
            error = error.with_text(text);
        }
        error
    }

    /// The header asks for a new plan after a change of memory; the engine does without. That is seen here once for each
    /// context, and where it is not so each change is followed by a plan.
    fn try_rebinding(&mut self) -> Result<Rebind> {
        let is_bindable = |place: &&Place| self.interpreter.tensor(place.tensor).is_some_and(dry_run::is_bindable);
        let Some(index) = self.inputs.iter().find(is_bindable).map(|place| place.tensor) else {
            return Ok(Rebind::Replan);
        };
        let mut follows = true;
        for memory in [self.sentinel.other(), self.sentinel.allocation()] {
            // SAFETY: the number was checked when the model was opened; no run happens before there is memory.
            let status = unsafe { self.interpreter.set_memory(index, &memory) };
            self.interpreter.check(status, || text!("TFLite refuses memory of ours"))?;
            follows &= address_of(&self.interpreter, index) == memory.data;
        }
        if !follows {
            log::emit(log::Level::Warn, "TFLite: this version plans again whenever memory changes");
        }
        Ok(if follows { Rebind::Free } else { Rebind::Replan })
    }

    fn describe(&self) -> Result<Plan> {
        let inputs = self.inputs.iter().zip(&self.declared.inputs);
        let outputs = self.outputs.iter().zip(&self.declared.outputs);
        Ok(Plan {
            inputs: inputs.map(|(place, info)| self.describe_slot(place, info)).gather_all()?,
            outputs: outputs.map(|(place, info)| self.describe_slot(place, info)).gather_all()?,
        })
    }

    fn describe_slot(&self, place: &Place, info: &SlotInfo) -> Result<PlannedSlot> {
        let slot = place.slot;
        let Some(tensor) = self.interpreter.tensor(place.tensor) else {
            return fail!(Runtime, "{slot} '{}' has no tensor", info.name);
        };
        let twin = match slot.side {
            Side::Input => input_twin(&self.declared.input_tensors, slot.index),
            Side::Output => output_twin(&self.declared.input_tensors, &self.declared.output_tensors, slot.index),
        };
        let dims = match slot.side {
            Side::Input => tensor.dims()?,
            // what was not settled by one plan is not settled by another, though it has an address from the runs between
            Side::Output if self.is_unsized && !place.is_settled => unsettled_shape(info),
            Side::Output => settled_shape(tensor).unwrap_or_else(|| unsettled_shape(info)),
        };
        let desc = Desc { dtype: info.desc.dtype, dims };
        let flags = SlotFlags {
            constant: tensor.allocation() == Allocation::Constant,
            dynamic: !dims.is_known(),
            ..info.flags
        };
        check_size(tensor, &desc, slot, info)?;
        Ok(PlannedSlot { desc, flags, twin, fixed: why_fixed(tensor, &desc) })
    }

    /// Where memory of ours is in the place of an output, it cannot be seen whether planning settled its size. It did so
    /// before, which is good enough unless this plan is the first in which sizes are left to the run.
    fn refuse_new_unsized_tensors(&self) -> Result<()> {
        let was_given = self.outputs.iter().any(|place| place.held != Held::Engine);
        if was_given && !self.is_unsized && has_unsized_tensors(&self.interpreter) {
            return fail!(Unsupported, "with these shapes sizes depend on data, which needs a context of its own");
        }
        Ok(())
    }

    /// Nothing can be computed where a shape that was chosen leaves an output without elements.
    fn refuse_empty_outputs(&self, plan: &Plan, shapes: &[Dims]) -> Result<()> {
        if !self.declared.is_open() || shapes.iter().any(dry_run::is_empty) {
            return Ok(());
        }
        match plan.outputs.iter().position(|output| dry_run::is_empty(&output.desc.dims)) {
            Some(position) => fail!(
                ShapeMismatch,
                "{}: {} would be {}; the shape is too small for the model",
                dry_run::given(&self.declared, shapes),
                self.title(Slot::output(position)),
                plan.outputs[position].desc.dims
            ),
            None => Ok(()),
        }
    }

    /// A delegate that computes other shapes than the plain kernels has misunderstood the model or the shapes.
    fn compare(&self, plan: &Plan, rehearsed: &OutputShapes) -> Result<()> {
        for (position, (planned, plain)) in plan.outputs.iter().zip(rehearsed).enumerate() {
            if let Some(plain) = plain
                && planned.desc.dims.is_known()
                && planned.desc.dims != *plain
            {
                return fail!(
                    ShapeMismatch,
                    "output {position} '{}' would be {} with XNNPACK and {plain} without; the option \
                     tflite.xnnpack = \"false\" turns it off",
                    self.declared.outputs[position].name,
                    planned.desc.dims
                );
            }
        }
        Ok(())
    }

    /// Puts the sentinel wherever memory of the host or of ours is: planning looks at sizes, and these are the old ones.
    fn take_memory_away(&mut self) -> Result<()> {
        let mut result = Ok(());
        for place in self.inputs.iter_mut().chain(&mut self.outputs).filter(|place| place.held != Held::Engine) {
            // SAFETY: the number was checked when the model was opened; the slot counts as loose from now on.
            let status = unsafe { self.interpreter.set_memory(place.tensor, &self.sentinel.allocation()) };
            place.held = Held::Nothing;
            result = result.and(self.interpreter.check(status, || text!("TFLite does not let go of {}", place.slot)));
        }
        if result.is_err() {
            // the engine may still know an address that is not good any more, so it must not run again
            self.plan = None;
        }
        self.count();
        result
    }

    /// Takes a plan that worked.
    fn adopt(&mut self, shapes: Vec<Dims>, plan: Plan) {
        let places = self.inputs.iter_mut().chain(&mut self.outputs);
        for (place, planned) in places.zip(plan.inputs.iter().chain(&plan.outputs)) {
            place.bindable = planned.fixed.is_none() && planned.twin.is_none();
            place.bytes = self.interpreter.tensor(place.tensor).map_or(0, Tensor::bytes);
            // no engine object knows its address any more
            place.scratch = None;
            place.is_settled = planned.desc.dims.is_known();
            if place.slot.side == Side::Input && place.bindable {
                place.held = Held::Nothing;
            }
        }
        self.plan = Some((shapes, plan));
        self.is_unsized = has_unsized_tensors(&self.interpreter);
        self.count();
    }

    /// Puts the last plan that worked in force again.
    fn restore(&mut self) {
        if let Some((shapes, known)) = self.plan.take() {
            let restored = apply_shapes(&mut self.interpreter, &self.declared, &shapes);
            match restored.and_then(|()| self.interpreter.allocate()).and_then(|()| self.describe()) {
                Ok(plan) => self.adopt(shapes, plan),
                Err(error) if error.status == Status::OutOfMemory => self.adopt(shapes, known),
                Err(error) => log::emit(log::Level::Error, &text!("TFLite: the last plan is lost too: {error}")),
            }
        }
        self.count();
    }
}

/// What is known of a shape that only the run will tell.
fn unsettled_shape(info: &SlotInfo) -> Dims {
    let mut dims = info.desc.dims;
    if dims.is_known() {
        dims.as_mut_slice().fill(-1);
    }
    dims
}

/// The engine's idea of a size has to be ours, or a check of ours would let memory pass that is too short.
fn check_size(tensor: Tensor, desc: &Desc, slot: Slot, info: &SlotInfo) -> Result<()> {
    if desc.dtype == Dtype::String || !desc.dims.is_known() {
        return Ok(());
    }
    let (ours, theirs) = (desc.byte_size()?, tensor.bytes());
    if ours != theirs as u64 {
        return fail!(Unsupported, "{slot} '{}': TFLite wants {theirs} bytes for {desc}, not {ours}", info.name);
    }
    Ok(())
}

/// Why no memory of the host can take the place of a tensor's own.
fn why_fixed(tensor: Tensor, desc: &Desc) -> Option<&'static CStr> {
    if desc.dtype == Dtype::String {
        return Some(c"TFLite keeps strings in memory of its own");
    }
    if tensor.is_variable() {
        return Some(c"it is state that TFLite keeps from run to run");
    }
    match tensor.allocation() {
        Allocation::Constant => Some(c"its value is part of the model"),
        Allocation::Dynamic => Some(c"TFLite allocates it during the run, when its size is known"),
        Allocation::Other => Some(c"TFLite keeps it in no plain memory"),
        Allocation::Arena | Allocation::Custom if !desc.dims.is_known() => {
            Some(c"its size depends on a tensor whose size is only known during the run")
        }
        Allocation::Arena | Allocation::Custom => None,
    }
}
