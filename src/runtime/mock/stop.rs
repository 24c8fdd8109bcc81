//! Stopping a run of the mock: it looks when it has passed its gates.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::{Result, fail};
use crate::runtime::Canceller;

#[derive(Default)]
pub struct Flag(AtomicBool);

impl Flag {
    /// Fails if the run was told to stop.
    pub fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Acquire) {
            return fail!(Cancelled, "the mock was told to stop");
        }
        Ok(())
    }
}

impl Canceller for Flag {
    fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn clear(&self) {
        self.0.store(false, Ordering::Release);
    }
}
