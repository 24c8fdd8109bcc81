//! Stopping a run from another thread.

use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::symbols::{RawInterpreter, RawStatus};
use crate::runtime::Canceller;

/// Leads to the interpreter of a context, as long as it has one.
///
/// The engine looks at its flag between two operators, so what a delegate has taken over as one runs to its end.
pub struct CancelSwitch {
    /// Locked while the engine is told, so that the interpreter does not go meanwhile.
    interpreter: Mutex<Target>,
    cancel: unsafe extern "C" fn(*const RawInterpreter) -> RawStatus,
}

struct Target(*mut RawInterpreter);

// SAFETY: the pointer is only used for a function that the engine documents as safe to be called from any thread.
unsafe impl Send for Target {}

impl CancelSwitch {
    pub fn new(cancel: unsafe extern "C" fn(*const RawInterpreter) -> RawStatus) -> CancelSwitch {
        CancelSwitch { interpreter: Mutex::new(Target(null_mut())), cancel }
    }

    /// Leads to this interpreter from now on; null for none. Whoever is just telling the one before has done so afterwards.
    pub fn connect(&self, interpreter: *mut RawInterpreter) {
        *self.target() = Target(interpreter);
    }

    fn target(&self) -> MutexGuard<'_, Target> {
        self.interpreter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Canceller for CancelSwitch {
    fn cancel(&self) {
        let target = self.target();
        if !target.0.is_null() {
            // SAFETY: whoever is about to drop the interpreter disconnects it first, which waits for this lock. The engine
            // documents this function as safe to be called from any thread.
            unsafe { (self.cancel)(target.0) };
        }
    }

    fn clear(&self) {
        // the engine forgets a request when the next run starts
    }
}
