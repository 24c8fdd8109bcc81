//! The engine of a context whose engine is at work elsewhere.

use std::ffi::c_void;
use std::ptr::null;
use std::sync::Arc;

use crate::base::{Desc, Dims, Result, Slot, fail};
use crate::memory::HostRange;
use crate::runtime::{Alignment, Canceller, EngineContext, Facts, Loan, OutputView, Plan, Rebind, Stay};

/// Does nothing, and says why.
pub struct Away;

fn refuse<T>() -> Result<T> {
    fail!(Busy, "a queue is running the context: wait for the event of that operation")
}

impl EngineContext for Away {
    fn facts(&self) -> Facts {
        Facts { alignment: Alignment::Element, input_slack: 0, rebind: Rebind::Free }
    }

    fn plan(&mut self, _inputs: &[Dims]) -> Result<Plan> {
        refuse()
    }

    fn attach(&mut self, _slot: Slot, _memory: HostRange, _desc: &Desc, _stay: Stay) -> Result<()> {
        refuse()
    }

    fn detach(&mut self, _slot: Slot) {}

    fn canceller(&self) -> Option<Arc<dyn Canceller>> {
        None
    }

    fn run(&mut self) -> Result<()> {
        refuse()
    }

    fn run_lent(&mut self, _loans: &[Loan]) -> Result<()> {
        refuse()
    }

    fn reset(&mut self, _inputs: &[Dims]) -> Result<Option<Plan>> {
        refuse()
    }

    fn output(&mut self, _slot: Slot) -> Result<OutputView> {
        refuse()
    }

    fn engine_address(&mut self, _slot: Slot) -> *const c_void {
        null()
    }
}
