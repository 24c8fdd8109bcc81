//! Running.

use std::sync::Arc;
use std::time::Instant;

use super::Context;
use super::report::LastRun;
use super::route::Route;
use crate::base::{Result, Side, fail};
use crate::core::Tensor;
use crate::core::usage::Usage;

/// A bound tensor that a run uses, named by a slot that it is bound to.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    position: usize,
    writes: bool,
}

impl Context {
    /// Runs with what is bound. A call that is refused by a check writes nothing.
    pub fn infer(&mut self) -> Result<()> {
        if !self.settled {
            self.settle()?;
        }
        self.viewable = false;
        let held = Held::acquire(self)?;
        let result = held.context.run_engine();
        drop(held);
        result?;
        self.viewable = true;
        self.stats.runs += 1;
        Ok(())
    }

    fn run_engine(&mut self) -> Result<()> {
        self.remember_routes();
        if self.copies {
            self.copy_inputs();
        }
        if self.profile {
            let start = Instant::now();
            self.engine.run()?;
            self.stats.last_run_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        } else {
            self.engine.run()?;
        }
        if self.copies {
            self.copy_outputs()?;
        }
        Ok(())
    }

    /// From here on, this is the run that reports and views speak of.
    fn remember_routes(&mut self) {
        if self.remembered {
            return;
        }
        self.has_run = true;
        self.remembered = self.settled;
        for slot in &mut self.slots {
            slot.last = LastRun::new(slot.route);
            slot.last_lent = slot.loan.is_some();
        }
    }

    fn copy_inputs(&mut self) {
        for position in 0..self.inputs {
            if let (Route::Staged { memory, .. }, Some(staging)) =
                (self.slots[position].route, &self.slots[position].staging)
            {
                self.stats.bytes_copied += staging.range().copy_from(&memory) as u64;
            }
        }
    }

    fn copy_outputs(&mut self) -> Result<()> {
        for position in self.inputs..self.slots.len() {
            let Route::Staged { memory, desc, .. } = self.slots[position].route else { continue };
            let view = self.value_of(position)?;
            if view.desc != desc {
                return fail!(
                    ShapeMismatch,
                    "{} was given memory for {desc}, but the run computed {}: nothing was copied, and zb_context_output_view has it",
                    self.label(position),
                    view.desc
                );
            }
            self.stats.bytes_copied += memory.copy_from(&view.memory) as u64;
        }
        Ok(())
    }

    /// Lists each bound tensor of the run once, as written if any slot writes it.
    pub(super) fn collect_uses(&mut self) {
        self.uses.clear();
        for position in 0..self.slots.len() {
            let Some(tensor) = self.bound_tensor(position) else { continue };
            let writes = self.slot_at(position).side == Side::Output;
            match self.uses.iter().position(|known| self.is_bound_to(known.position, tensor)) {
                Some(known) => self.uses[known].writes |= writes,
                None => self.uses.push(Use { position, writes }),
            }
        }
    }

    fn is_bound_to(&self, position: usize, tensor: &Arc<Tensor>) -> bool {
        self.slots[position].binding.as_ref().is_some_and(|bound| Arc::ptr_eq(bound, tensor))
    }

    /// The tensor that the run takes from a binding; none where a loan shadows it.
    fn bound_tensor(&self, position: usize) -> Option<&Arc<Tensor>> {
        let state = &self.slots[position];
        if state.loan.is_some() { None } else { state.binding.as_ref() }
    }
}

/// The context while its tensors are marked as in use; they are let go on drop, so also when an engine panics.
struct Held<'a> {
    context: &'a mut Context,
    count: usize,
}

impl<'a> Held<'a> {
    fn acquire(context: &'a mut Context) -> Result<Held<'a>> {
        let mut held = Held { context, count: 0 };
        while let Some(wanted) = held.context.uses.get(held.count).copied() {
            let free = held
                .context
                .usage(wanted)
                .is_none_or(|usage| if wanted.writes { usage.try_write() } else { usage.try_read() });
            if !free {
                let label = held.context.label(wanted.position);
                return fail!(Busy, "the tensor bound to {label} is in use by a run of another context: wait for it");
            }
            held.count += 1;
        }
        Ok(held)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        for index in 0..self.count {
            let done = self.context.uses[index];
            if let Some(usage) = self.context.usage(done) {
                if done.writes { usage.end_write() } else { usage.end_read() }
            }
        }
    }
}

impl Context {
    fn usage(&self, wanted: Use) -> Option<&Usage> {
        self.slots[wanted.position].binding.as_deref().map(Tensor::usage)
    }
}
