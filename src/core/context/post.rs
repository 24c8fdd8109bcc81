//! The place of a context, where calls find it: itself, or a stand-in while a queue runs it.

use std::sync::Arc;

use super::away::Away;
use super::{Attached, Context, Displaced, SlotState};
use crate::base::{Error, Result, Side, Slot, Status};
use crate::core::Tensor;
use crate::core::queue::ContextLine;

/// A context, or what stands for it.
pub struct Post {
    context: Box<Context>,
    is_away: bool,
    line: Arc<ContextLine>,
}

/// What an inference on a queue runs with: bindings and shapes of the moment when it was put there.
pub struct Captured {
    bindings: Vec<Option<Arc<Tensor>>>,
    shapes: Vec<Option<crate::base::Dims>>,
    inputs: usize,
}

impl Captured {
    pub fn tensors(&self) -> impl Iterator<Item = (Side, &Arc<Tensor>)> {
        let side = |position| if position < self.inputs { Side::Input } else { Side::Output };
        let bound = self.bindings.iter().enumerate();
        bound.filter_map(move |(position, tensor)| Some((side(position), tensor.as_ref()?)))
    }
}

impl Post {
    pub fn new(context: Context) -> Post {
        Post { context: Box::new(context), is_away: false, line: Arc::default() }
    }

    /// Who is next in line for the context.
    pub fn line(&self) -> &Arc<ContextLine> {
        &self.line
    }

    /// For calls that leave the engine alone.
    #[inline]
    pub fn front(&mut self) -> &mut Context {
        &mut self.context
    }

    /// For calls that need the engine: not while a queue has work for the context.
    #[inline]
    pub fn idle(&mut self) -> Result<&mut Context> {
        if self.line.is_queued() {
            return Err(queued());
        }
        Ok(&mut self.context)
    }

    /// Leaves a stand-in, and gives the context to be run elsewhere.
    pub fn send_away(&mut self) -> Box<Context> {
        self.is_away = true;
        let stand_in = self.context.stand_in();
        std::mem::replace(&mut self.context, Box::new(stand_in))
    }

    /// The context is back; it takes over what was changed on its stand-in. What it lets go is dropped by the caller.
    pub fn come_home(&mut self, mut context: Box<Context>) -> Vec<Displaced> {
        let displaced = context.take_over(&self.context);
        self.context = context;
        self.is_away = false;
        displaced
    }
}

#[cold]
fn queued() -> Error {
    Error::new(
        Status::Busy,
        "a queue has work for the context that is not over: wait for its events, or use zb_queue_infer",
    )
}

impl Context {
    /// What a run would use now, with `instead` in the place of some bindings.
    pub fn capture(&self, instead: &[(Slot, Arc<Tensor>)]) -> Result<Captured> {
        let mut bindings: Vec<_> = self.slots.iter().map(|slot| slot.binding.clone()).collect();
        let mut shapes = self.resized.clone();
        for (number, (slot, tensor)) in instead.iter().enumerate() {
            let position = self.position(*slot)?;
            if instead[..number].iter().any(|(other, _)| other == slot) {
                let text = format!("{} is named twice", self.label(position));
                return Err(Error::new(Status::InvalidArgument, text));
            }
            if slot.side == Side::Input && self.gives_new_shape(*slot, tensor.desc()) {
                shapes[slot.index] = Some(tensor.desc().dims);
            } else {
                self.check_fits(*slot, tensor)?;
            }
            bindings[position] = Some(tensor.clone());
        }
        if let Some(position) = bindings[..self.inputs].iter().position(Option::is_none) {
            let text = format!("{} has no tensor: bind one, or name one for this operation", self.label(position));
            return Err(Error::new(Status::Unbound, text));
        }
        Ok(Captured { bindings, shapes, inputs: self.inputs })
    }

    /// Takes over captured bindings and shapes for a run. What was there before goes with what is given back.
    pub fn install(&mut self, captured: Captured) -> Vec<Displaced> {
        self.ask_for(&captured.shapes);
        self.bind_all(captured.bindings)
    }

    fn ask_for(&mut self, shapes: &[Option<crate::base::Dims>]) {
        if self.resized != shapes {
            self.resized.clone_from_slice(shapes);
            self.shapes_changed = true;
            self.settled = false;
        }
    }

    fn bind_all(&mut self, bindings: Vec<Option<Arc<Tensor>>>) -> Vec<Displaced> {
        let is_same = |a: &Option<Arc<Tensor>>, b: &Option<Arc<Tensor>>| match (a, b) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        let mut displaced = Vec::new();
        for (position, tensor) in bindings.into_iter().enumerate() {
            if !is_same(&self.slots[position].binding, &tensor) {
                displaced.push(self.replace(position, tensor));
            }
        }
        displaced
    }

    /// A context without an engine that answers for this one: bindings and shapes can be changed on it, and it tells of the
    /// last run.
    fn stand_in(&mut self) -> Context {
        self.note_engine_addresses();
        let slot = |slot: &SlotState| SlotState {
            binding: slot.binding.clone(),
            attached: Attached::Nothing,
            fit: slot.fit,
            route: slot.route,
            last: slot.last,
            promised: slot.promised,
            ..SlotState::default()
        };
        Context {
            engine: Box::new(Away),
            _counted: None,
            facts: self.facts,
            copy_policy: self.copy_policy,
            profile: self.profile,
            slots: self.slots.iter().map(slot).collect(),
            inputs: self.inputs,
            resized: self.resized.clone(),
            good_resized: self.good_resized.clone(),
            planned_dims: self.planned_dims.clone(),
            plan: self.plan.clone(),
            has_twins: self.has_twins,
            shapes_changed: self.shapes_changed,
            settled: false,
            uses: Vec::new(),
            can_vanish: false,
            copies: false,
            viewable: false,
            remembered: false,
            has_run: self.has_run,
            stats: self.stats,
            stop: None,
            model: self.model.clone(),
        }
    }

    /// Takes over the bindings and shapes of the stand-in.
    fn take_over(&mut self, stand_in: &Context) -> Vec<Displaced> {
        self.ask_for(&stand_in.resized);
        self.bind_all(stand_in.slots.iter().map(|slot| slot.binding.clone()).collect())
    }
}
