//! The place of a context, where calls find it: itself, or a stand-in while a queue runs it.

use std::sync::Arc;

use super::away::Away;
use super::relend::Relending;
use super::{Captured, Context, Displaced, SlotState};
use crate::base::room::{copied, list, reserve};
use crate::base::{Dims, Error, Gather, Result, Status};
use crate::core::queue::ContextLine;

/// A context, or what stands for it.
// what a run looks at comes first
#[repr(C)]
pub struct Post {
    line: Arc<ContextLine>,
    context: Box<Context>,
    is_away: bool,
    /// The stand-in of the last time, without tensors.
    spare: Option<Box<Context>>,
    /// For what the context lets go when it comes home, where nothing can be refused any more.
    displaced: Vec<Displaced>,
}

impl Post {
    pub fn new(context: Context) -> Post {
        Post { context: Box::new(context), is_away: false, spare: None, displaced: Vec::new(), line: Arc::default() }
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

    /// For questions that may have to plan, which cannot be done while the engine is at work elsewhere.
    pub fn planner(&mut self) -> Result<&mut Context> {
        if self.is_away && self.context.needs_plan() {
            return Err(queued());
        }
        Ok(&mut self.context)
    }

    /// Leaves a stand-in, and gives the context to be run elsewhere with what was captured.
    pub fn send_away(&mut self, captured: &Captured) -> Result<Box<Context>> {
        if self.displaced.capacity() < self.context.slots.len() {
            reserve(&mut self.displaced, self.context.slots.len())?;
        }
        let mut other = match self.spare.take() {
            Some(spare) => spare,
            None => Box::new(self.context.stand_in()?),
        };
        self.context.hand_over_to(&mut other);
        // the stand-in gets what is bound here now
        other.captured.clone_from(&self.context.captured);
        self.context.install(captured, &mut other);
        self.is_away = true;
        Ok(std::mem::replace(&mut self.context, other))
    }

    /// The context is back; it takes over what was changed on its stand-in. What it lets go is dropped by the caller.
    pub fn come_home(&mut self, context: Box<Context>) -> Vec<Displaced> {
        let mut stand_in = std::mem::replace(&mut self.context, context);
        self.is_away = false;
        self.context.take_over(&mut stand_in, &mut self.displaced);
        self.spare = Some(stand_in);
        // mostly nothing is let go, and the room stays
        if self.displaced.is_empty() { Vec::new() } else { std::mem::take(&mut self.displaced) }
    }
}

#[cold]
#[inline(never)]
fn queued() -> Error {
    Error::new(
        Status::Busy,
        "a queue has work for the context that is not over: wait for its events, or use zb_queue_infer",
    )
}

impl Context {
    /// Takes captured bindings and shapes for a run; the ones from before stay with the stand-in.
    fn install(&mut self, captured: &Captured, stand_in: &mut Context) {
        self.ask_for(&captured.shapes);
        for (position, tensor) in captured.bindings.iter().enumerate() {
            let before = match is_same(&self.slots[position].binding, tensor) {
                true => tensor.clone(),
                false => self.replace(position, tensor.clone()).into_tensor(),
            };
            stand_in.slots[position].binding = before;
        }
    }

    fn ask_for(&mut self, shapes: &[Option<Dims>]) {
        if self.resized != shapes {
            self.resized.clone_from_slice(shapes);
            self.shapes_changed = true;
            self.unsettle();
        }
    }

    /// A context without an engine, to answer for this one: bindings and shapes can be changed on it, and it tells of the last
    /// run.
    fn stand_in(&self) -> Result<Context> {
        Ok(Context {
            engine: Box::new(Away),
            _counted: None,
            facts: self.facts,
            copy_policy: self.copy_policy,
            profile: self.profile,
            slots: self.slots.iter().map(|_| SlotState::default()).gather()?,
            inputs: self.inputs,
            resized: copied(&self.resized)?,
            good_resized: copied(&self.good_resized)?,
            planned_dims: list(self.inputs)?,
            plan: None,
            has_twins: false,
            shapes_changed: false,
            settled: false,
            lent: Vec::new(),
            call: 0,
            is_relent: false,
            relending: Relending::default(),
            uses: Vec::new(),
            alone: false,
            can_vanish: false,
            copies: false,
            captured: None,
            viewable: false,
            remembered: false,
            has_run: false,
            stats: self.stats,
            stop: None,
            model: self.model.clone(),
        })
    }

    /// Makes the stand-in answer as this context would now, bindings excepted.
    fn hand_over_to(&mut self, stand_in: &mut Context) {
        self.note_engine_addresses();
        for (to, from) in stand_in.slots.iter_mut().zip(&self.slots) {
            to.route = from.route;
            to.last = from.last;
            to.promised = from.promised;
        }
        if !is_same(&stand_in.plan, &self.plan) {
            for (to, from) in stand_in.slots.iter_mut().zip(&self.slots) {
                to.fit = from.fit;
            }
            stand_in.plan.clone_from(&self.plan);
            stand_in.planned_dims.clone_from(&self.planned_dims);
            stand_in.has_twins = self.has_twins;
            stand_in.facts = self.facts;
        }
        stand_in.resized.clone_from_slice(&self.resized);
        stand_in.good_resized.clone_from_slice(&self.good_resized);
        stand_in.shapes_changed = self.shapes_changed;
        stand_in.has_run = self.has_run;
        stand_in.stats = self.stats;
    }

    /// Takes over bindings and shapes of the stand-in, which is left without.
    fn take_over(&mut self, stand_in: &mut Context, displaced: &mut Vec<Displaced>) {
        self.tell_relent();
        let viewable = self.viewable;
        self.ask_for(&stand_in.resized);
        for position in 0..self.slots.len() {
            let wanted = stand_in.slots[position].binding.take();
            if is_same(&self.slots[position].binding, &wanted) {
                // never the last of its kind: this context has the same
                drop(wanted);
            } else {
                // what the operation had here instead goes now, as a loan does
                let slot = &mut self.slots[position];
                slot.last.lent |= slot.binding.is_some();
                displaced.push(self.replace(position, wanted));
            }
        }
        // what was captured of the stand-in is of the same tensors
        match stand_in.captured.take() {
            Some(captured) if self.captured.is_none() => self.captured = Some(captured),
            other => drop(other),
        }
        // and what is in the engine still can be viewed there
        self.viewable = viewable;
    }
}

fn is_same<T>(a: &Option<Arc<T>>, b: &Option<Arc<T>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}
