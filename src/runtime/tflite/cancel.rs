//! Stopping a run from another thread.

use std::sync::atomic::{AtomicPtr, Ordering};

use super::symbols::{RawInterpreter, RawStatus};
use crate::runtime::Canceller;

/// Leads to the interpreter of a context, as long as it has one.
///
/// The engine looks at its flag between two operators, so what a delegate has taken over as one runs to its end.
pub struct CancelSwitch {
    interpreter: AtomicPtr<RawInterpreter>,
    cancel: unsafe extern "C" fn(*const RawInterpreter) -> RawStatus,
}

impl CancelSwitch {
    pub fn new(cancel: unsafe extern "C" fn(*const RawInterpreter) -> RawStatus) -> CancelSwitch {
        CancelSwitch { interpreter: AtomicPtr::default(), cancel }
    }

    /// Leads to this interpreter from now on; null for none.
    pub fn connect(&self, interpreter: *mut RawInterpreter) {
        self.interpreter.store(interpreter, Ordering::Release);
    }
}

impl Canceller for CancelSwitch {
    fn cancel(&self) {
        let interpreter = self.interpreter.load(Ordering::Acquire);
        if !interpreter.is_null() {
            // SAFETY: the trait says that the context, and with it its interpreter, stays during the call. The engine
            // documents this function as safe to be called from any thread during a run.
            unsafe { (self.cancel)(interpreter) };
        }
    }

    fn clear(&self) {
        // the engine forgets a request when the next run starts
    }
}
