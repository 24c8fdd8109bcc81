//! Who is in line for a tensor or a context.
//!
//! A new operation waits for each one before it that it must not overtake, not just for the last of them: so one that is
//! taken out of the middle (cancelled, say) changes nothing for the others.

use std::sync::Arc;

use crate::core::stop::Stop;
use crate::core::usage::Access;
use crate::sync::{AtomicUsize, Mutex, MutexGuard, Ordering, lock};

/// The number of an operation; never used again, and larger than that of each one before it.
pub type OpId = u64;

/// An operation that is not over.
struct Entry {
    id: OpId,
    queue: u64,
    access: Access,
}

/// The operations on a tensor that are not over. Changed only under the timeline's lock; its own is there because a tensor is
/// shared.
pub struct TensorLine(Mutex<TensorState>);

#[derive(Default)]
struct TensorState {
    /// In the order in which they were put into queues.
    entries: Vec<Entry>,
    /// Writes that failed, in the same order, and why: from there on, what the tensor holds is not what it should.
    failed: Vec<(OpId, Arc<str>)>,
}

/// What the end of a write means for the tensor.
pub enum Written {
    /// All that the tensor holds is new.
    Whole,
    /// Some of it, or nothing.
    Some,
    Failed(Arc<str>),
}

impl Default for TensorLine {
    fn default() -> TensorLine {
        TensorLine(Mutex::new(TensorState::default()))
    }
}

impl TensorLine {
    /// Puts an operation last, and collects those of other queues that it has to wait for. Those of its own come first anyway.
    pub(super) fn join(&self, id: OpId, queue: u64, access: Access, before: &mut Vec<OpId>) {
        let mut state = self.lock();
        let conflicts = |other: &&Entry| access == Access::Write || other.access == Access::Write;
        let others = state.entries.iter().filter(|other| other.queue != queue).filter(conflicts);
        before.extend(others.map(|other| other.id));
        state.entries.push(Entry { id, queue, access });
    }

    pub(super) fn leave_read(&self, id: OpId) {
        self.lock().remove(id);
    }

    pub(super) fn leave_write(&self, id: OpId, written: Written) {
        let mut state = self.lock();
        state.remove(id);
        match written {
            Written::Whole => state.failed.retain(|(failed, _)| *failed > id),
            Written::Some => {}
            Written::Failed(why) => {
                let place = state.failed.partition_point(|(failed, _)| *failed < id);
                state.failed.insert(place, (id, why));
            }
        }
        state.forget_needless();
    }

    /// Why an operation that reads must not begin, now that all before it that write are over.
    pub(super) fn refusal(&self, id: OpId) -> Option<Arc<str>> {
        let state = self.lock();
        state.failed.first().filter(|(failed, _)| *failed < id).map(|(_, why)| why.clone())
    }

    pub(super) fn ids(&self) -> Vec<OpId> {
        self.lock().entries.iter().map(|entry| entry.id).collect()
    }

    pub(super) fn has_readers(&self) -> bool {
        self.lock().entries.iter().any(|entry| entry.access == Access::Read)
    }

    fn lock(&self) -> MutexGuard<'_, TensorState> {
        lock(&self.0)
    }
}

impl TensorState {
    fn remove(&mut self, id: OpId) {
        if let Ok(place) = self.entries.binary_search_by_key(&id, |entry| entry.id) {
            self.entries.remove(place);
        }
    }

    /// A failure tells nothing new if no write is left that could end the one before it and not this.
    fn forget_needless(&mut self) {
        let entries = &self.entries;
        let is_write_between = |earlier: OpId, later: OpId| {
            let mut writes = entries.iter().filter(|entry| entry.access == Access::Write);
            writes.any(|write| (earlier..later).contains(&write.id))
        };
        self.failed.dedup_by(|later, earlier| !is_write_between(earlier.0, later.0));
    }
}

/// The same for a context, which runs one operation at a time.
pub struct ContextLine {
    /// Operations that are not over.
    queued: AtomicUsize,
    /// The same with number and queue, in order.
    entries: Mutex<Vec<(OpId, u64)>>,
}

impl Default for ContextLine {
    fn default() -> ContextLine {
        ContextLine { queued: AtomicUsize::new(0), entries: Mutex::new(Vec::new()) }
    }
}

impl ContextLine {
    /// Whether some operation of the context is not over.
    #[inline]
    pub fn is_queued(&self) -> bool {
        self.queued.load(Ordering::Acquire) != 0
    }

    /// Puts an operation last, and collects those of other queues before it.
    pub(super) fn join(&self, id: OpId, queue: u64, before: &mut Vec<OpId>) {
        let mut entries = lock(&self.entries);
        before.extend(entries.iter().filter(|(_, other)| *other != queue).map(|(other, _)| *other));
        entries.push((id, queue));
    }
}

/// The place of an operation in the line of its context: as long as there is one, only queues run the context.
pub struct Place {
    line: Arc<ContextLine>,
    stop: Arc<Stop>,
    is_left: bool,
}

impl Place {
    pub fn new(line: Arc<ContextLine>, stop: Arc<Stop>) -> Place {
        line.queued.fetch_add(1, Ordering::AcqRel);
        Place { line, stop, is_left: false }
    }

    pub(super) fn line(&self) -> &Arc<ContextLine> {
        &self.line
    }

    /// What stops a run of the context.
    pub(super) fn stop(&self) -> &Arc<Stop> {
        &self.stop
    }

    /// The operation is over.
    pub(super) fn leave(&mut self, id: OpId) {
        lock(&self.line.entries).retain(|(other, _)| *other != id);
        self.end();
    }

    fn end(&mut self) {
        if !std::mem::replace(&mut self.is_left, true) {
            self.line.queued.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.end();
    }
}
