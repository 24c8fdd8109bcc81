//! Forgetting the state that an engine keeps from run to run.

use super::{Attached, Context};
use crate::base::Result;

impl Context {
    /// Makes the engine forget its state, as if this context had never run. Bindings, shapes and counters stay; views end.
    /// When it fails, nothing changed.
    pub fn reset_state(&mut self) -> Result<()> {
        if !self.has_run {
            return Ok(());
        }
        // the report of the last run stays what it was
        self.note_engine_addresses();
        let plan = self.engine.reset(&self.planned_dims)?;
        self.viewable = false;
        if let Some(plan) = plan {
            for slot in &mut self.slots {
                slot.attached = Attached::Nothing;
            }
            self.unsettle();
            self.adopt(plan);
        }
        Ok(())
    }
}
