//! Who is next in line for a tensor or a context.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::core::stop::Stop;

/// The number of an operation; never used again.
pub type OpId = u64;

/// The unsettled operations that a new one on the same tensor has to wait for. Touched only under the timeline's lock; its
/// own is there because a tensor is shared.
#[derive(Default)]
pub struct TensorLine(Mutex<TensorState>);

#[derive(Default)]
pub(super) struct TensorState {
    pub writer: Option<OpId>,
    pub readers: Vec<OpId>,
    /// Why what the tensor holds is not what it should.
    pub invalid: Option<Arc<str>>,
}

impl TensorLine {
    pub(super) fn lock(&self) -> MutexGuard<'_, TensorState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same for a context, which runs one operation at a time.
#[derive(Default)]
pub struct ContextLine {
    /// Operations that are not over.
    queued: AtomicUsize,
    last: Mutex<Option<OpId>>,
}

impl ContextLine {
    /// Whether some operation of the context is not over.
    #[inline]
    pub fn is_queued(&self) -> bool {
        self.queued.load(Ordering::Acquire) != 0
    }

    /// Puts an operation last and gives the one before it.
    pub(super) fn join(&self, id: OpId) -> Option<OpId> {
        self.lock().replace(id)
    }

    pub(super) fn leave(&self, id: OpId) {
        let mut last = self.lock();
        if *last == Some(id) {
            *last = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<OpId>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of an operation in the line of its context: as long as there is one, only queues run the context.
pub struct Place {
    line: Arc<ContextLine>,
    stop: Arc<Stop>,
}

impl Place {
    pub fn new(line: Arc<ContextLine>, stop: Arc<Stop>) -> Place {
        line.queued.fetch_add(1, Ordering::AcqRel);
        Place { line, stop }
    }

    pub(super) fn line(&self) -> &Arc<ContextLine> {
        &self.line
    }

    /// What stops a run of the context.
    pub(super) fn stop(&self) -> &Arc<Stop> {
        &self.stop
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.line.queued.fetch_sub(1, Ordering::AcqRel);
    }
}
