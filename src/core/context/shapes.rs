//! Shapes: what the host asked for, what is planned, and planning itself.

use std::sync::Arc;

use super::{Attached, Context};
use crate::base::room::list;
use crate::base::{Desc, Dims, Result, Side, Slot, SlotFlags, fail};
use crate::core::Tensor;
use crate::runtime::{Alignment, Plan, PlannedSlot, Rebind};

/// What memory for a slot has to be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requirements {
    /// In bytes; 0 when only the run tells.
    pub size: u64,
    pub alignment: usize,
    /// Readable bytes past the end that should exist.
    pub slack: usize,
    pub rebind: Rebind,
    /// The engine's memory is always used, and the host's gets a copy.
    pub staged: bool,
    /// Memory of the host can be given.
    pub holdable: bool,
}

/// A slot of a context: the shape at the moment, and what planning found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotFacts {
    pub desc: Desc,
    pub flags: SlotFlags,
    /// In bytes; 0 while a dimension is not known.
    pub size: u64,
}

impl Context {
    /// Records a new shape of an input; planning is left to `prepare`.
    pub fn resize_input(&mut self, slot: Slot, dims: Dims) -> Result<()> {
        let info = self.model.slot(slot)?;
        let label = || self.model.label(slot);
        if slot.side == Side::Output {
            return fail!(InvalidArgument, "{} cannot be resized: outputs follow from the inputs", label());
        }
        if !dims.is_known() {
            return fail!(InvalidArgument, "{}: {dims} still has an open dimension", label());
        }
        if !dims.matches(&info.desc.dims) {
            let declared = info.desc.dims;
            return fail!(
                ShapeMismatch,
                "{} is declared {declared}, so {dims} is not one of its shapes: only dimensions of -1 may change, and the rank stays",
                label()
            );
        }
        self.model.check_limit(slot, &Desc { dtype: info.desc.dtype, dims })?;
        self.resized[slot.index] = Some(dims);
        self.shapes_changed = true;
        self.unsettle();
        self.viewable = false;
        Ok(())
    }

    /// Plans for the shapes at hand, unless that is done already. When it fails, the last good shapes return.
    #[inline]
    pub fn prepare(&mut self) -> Result<()> {
        if !self.shapes_changed {
            return Ok(());
        }
        self.plan_if_needed()
    }

    fn plan_if_needed(&mut self) -> Result<()> {
        let result = if self.is_planned() { Ok(()) } else { self.plan_now() };
        match &result {
            Ok(()) => {
                self.good_resized.clone_from_slice(&self.resized);
                self.shapes_changed = false;
            }
            Err(_) => self.resized.clone_from_slice(&self.good_resized),
        }
        result
    }

    pub(super) fn needs_plan(&self) -> bool {
        self.shapes_changed && !self.is_planned()
    }

    fn is_planned(&self) -> bool {
        self.plan.is_some()
            && self.planned_dims.iter().enumerate().all(|(index, planned)| self.current_input_dims(index) == planned)
    }

    fn plan_now(&mut self) -> Result<()> {
        let mut dims = list(self.inputs)?;
        for index in 0..self.inputs {
            dims.push(self.known_input_dims(index)?);
        }
        self.unsettle();
        self.viewable = false;
        // also of outputs in the engine's memory, which may be elsewhere afterwards
        self.note_engine_addresses();
        self.detach_all();
        let plan = self.engine.plan(&dims)?;
        for (index, planned) in plan.outputs.iter().enumerate() {
            if let Err(error) = self.model.check_limit(Slot::output(index), &planned.desc) {
                // the engine must not be left with a plan that nobody knows of
                if self.plan.is_some() {
                    self.engine.plan(&self.planned_dims)?;
                }
                return Err(error);
            }
        }
        self.planned_dims = dims;
        self.adopt(plan);
        Ok(())
    }

    /// Takes a plan of `planned_dims` that is in force in the engine, where nothing is attached.
    pub(super) fn adopt(&mut self, plan: Plan) {
        self.has_twins = plan.inputs.iter().chain(&plan.outputs).any(|planned| planned.twin.is_some());
        self.plan = Some(Arc::new(plan));
        // what a new address costs is only found out by planning
        self.facts = self.engine.facts();
        self.fit_all();
        for slot in &mut self.slots {
            slot.staging = None;
        }
    }

    fn known_input_dims(&self, index: usize) -> Result<Dims> {
        let dims = *self.current_input_dims(index);
        let slot = Slot::input(index);
        if !dims.is_known() {
            return fail!(
                ShapeMismatch,
                "{} is {dims}: give its open dimensions by zb_context_resize_input, by a bound tensor, or by a loan with a desc",
                self.model.label(slot)
            );
        }
        self.model.check_limit(slot, &Desc { dtype: self.model.slot(slot)?.desc.dtype, dims })?;
        Ok(dims)
    }

    /// The shape that a run would give an input now: asked for, else that of the bound tensor, else the model's.
    pub(super) fn current_input_dims(&self, index: usize) -> &Dims {
        if let Some(dims) = &self.resized[index] {
            return dims;
        }
        let declared = &self.model.slots(Side::Input)[index];
        if declared.desc.dims.is_known() {
            return &declared.desc.dims;
        }
        let bound = self.slots[index].binding.as_deref().map(Tensor::desc);
        bound.map_or(&declared.initial, |desc| &desc.dims)
    }

    /// What a shape given for a slot has to match.
    pub(super) fn pattern(&self, slot: Slot) -> Dims {
        let declared = &self.model.slots(slot.side)[slot.index];
        match slot.side {
            Side::Input => self.resized[slot.index].unwrap_or(declared.desc.dims),
            Side::Output if self.is_planned() => {
                self.planned(slot).map_or(declared.desc.dims, |planned| planned.desc.dims)
            }
            // the model's word on outputs only holds while no input can have another shape
            Side::Output if self.has_open_inputs() => Dims::ANY,
            Side::Output => declared.desc.dims,
        }
    }

    /// The declared rank, with nothing known of the dimensions.
    fn open_dims(&self, slot: Slot) -> Dims {
        let mut dims = self.model.slots(slot.side)[slot.index].desc.dims;
        dims.as_mut_slice().fill(-1);
        dims
    }

    fn has_open_inputs(&self) -> bool {
        self.model.slots(Side::Input).iter().any(|info| !info.desc.dims.is_known())
    }

    /// The desc of a slot for texts: the most that is known of it.
    pub(super) fn wanted_desc(&self, slot: Slot) -> Desc {
        let dtype = self.model.slots(slot.side)[slot.index].desc.dtype;
        let dims = match slot.side {
            Side::Input => *self.current_input_dims(slot.index),
            // what stands for "anything" is a pattern, no shape to tell anyone
            Side::Output => {
                Some(self.pattern(slot)).filter(|dims| *dims != Dims::ANY).unwrap_or_else(|| self.open_dims(slot))
            }
        };
        Desc { dtype, dims }
    }

    pub(super) fn planned(&self, slot: Slot) -> Option<&PlannedSlot> {
        let plan = self.plan.as_ref()?;
        match slot.side {
            Side::Input => plan.inputs.get(slot.index),
            Side::Output => plan.outputs.get(slot.index),
        }
    }

    pub(super) fn alignment_of(&self, slot: Slot) -> usize {
        match self.facts.alignment {
            Alignment::Bytes(bytes) => bytes,
            Alignment::Element => self.model.slots(slot.side)[slot.index].desc.dtype.natural_alignment(),
        }
    }

    /// What memory for the slot has to be like; plans.
    pub fn requirements(&mut self, slot: Slot) -> Result<Requirements> {
        self.position(slot)?;
        self.prepare()?;
        let planned = self.planned(slot);
        let desc = planned.map(|planned| planned.desc);
        Ok(Requirements {
            size: desc.and_then(|desc| desc.byte_size().ok()).unwrap_or(0),
            alignment: self.alignment_of(slot),
            slack: if slot.side == Side::Input { self.facts.input_slack } else { 0 },
            rebind: self.facts.rebind,
            staged: planned.is_some_and(|planned| planned.fixed.is_some()),
            holdable: self.check_holdable(slot).is_ok(),
        })
    }

    /// A tensor that fits the slot as it is planned now.
    pub fn alloc_for(&mut self, slot: Slot) -> Result<Arc<Tensor>> {
        let requirements = self.requirements(slot)?;
        self.check_holdable(slot)?;
        let desc = self.planned(slot).map_or_else(|| self.wanted_desc(slot), |planned| planned.desc);
        if !desc.dims.is_known() {
            return fail!(
                ShapeMismatch,
                "{} is {desc}: its size is not known before the run; {}leave it unbound and use zb_context_output_view, or wrap room for it with -1 and allow copies",
                self.model.label(slot),
                if self.has_open_inputs() { "resize the inputs first, " } else { "" }
            );
        }
        Tensor::alloc(desc, requirements.alignment.max(64))
    }

    /// Shape and flags of a slot as they are now. Never plans; after a run, outputs have the shape that it computed.
    pub fn slot_facts(&mut self, slot: Slot) -> Result<SlotFacts> {
        self.position(slot)?;
        let declared = self.model.slot(slot)?.flags;
        let flags = self.planned(slot).map_or(declared, |planned| planned.flags);
        let desc = self.computed_desc(slot).unwrap_or_else(|| self.wanted_desc(slot));
        Ok(SlotFacts { desc, flags, size: desc.byte_size().unwrap_or(0) })
    }

    fn detach_all(&mut self) {
        for position in 0..self.slots.len() {
            if self.slots[position].attached != Attached::Nothing {
                self.detach(position);
            }
        }
    }

    /// Takes a slot's memory from the engine, after noting for the report which address it had.
    pub(super) fn detach(&mut self, position: usize) {
        let slot = self.owner_of(self.slot_at(position));
        self.note_before_change(position, slot);
        self.engine.detach(slot);
        self.slots[position].attached = Attached::Nothing;
    }

    /// For the report of the last run, whose slots may share the tensor `owner`.
    pub(super) fn note_before_change(&mut self, position: usize, owner: Slot) {
        self.note_engine_address(position);
        if self.has_twins {
            self.note_addresses_of_twins(owner);
        }
    }
}
