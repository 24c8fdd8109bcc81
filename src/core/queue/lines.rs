//! Who is in line for a tensor or a context.
//!
//! A new operation waits for each one before it that it must not overtake, not just for the last of them: so one that is
//! taken out of the middle (cancelled, say) changes nothing for the others.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::base::room::{no_room, push, reserve};
use crate::base::{Gather, Result};
use crate::core::stop::Stop;
use crate::core::usage::{Access, Usage};
use crate::sync::{AtomicBool, AtomicUsize, Mutex, MutexGuard, Ordering, lock};

/// The number of an operation; never used again, and larger than that of each one before it.
pub type OpId = u64;

/// An operation that is not over.
struct Entry {
    id: OpId,
    queue: u64,
    access: Access,
}

/// Operations in the order in which they were put into queues, which is that of their numbers. Mostly the first is the next to
/// go, and all are of one queue: neither is to take longer the more there are.
#[derive(Default)]
struct Line {
    entries: VecDeque<Entry>,
    /// They may be of several queues.
    is_mixed: bool,
}

impl Line {
    /// Collects the operations of other queues that a new one must not overtake, and makes room for it.
    fn prepare(&mut self, new: &Entry, before: &mut Vec<OpId>) -> Result<()> {
        self.entries.try_reserve(1).map_err(|_| no_room(size_of::<Entry>()))?;
        if self.would_be_mixed(new) {
            let conflicts = |other: &&Entry| new.access == Access::Write || other.access == Access::Write;
            let mut others = self.entries.iter().filter(|other| other.queue != new.queue).filter(conflicts);
            others.try_for_each(|other| push(before, other.id))?;
        }
        Ok(())
    }

    /// Puts an operation last for which there is room.
    fn join(&mut self, new: Entry) {
        self.is_mixed = self.would_be_mixed(&new);
        self.entries.push_back(new);
    }

    fn would_be_mixed(&self, new: &Entry) -> bool {
        self.entries.back().is_some_and(|last| self.is_mixed || last.queue != new.queue)
    }

    fn remove(&mut self, id: OpId) {
        if let Ok(place) = self.entries.binary_search_by_key(&id, |entry| entry.id) {
            self.entries.remove(place);
        }
    }
}

/// The operations on a tensor that are not over. Changed under the timeline's lock, but for what a run outside of
/// queues cures; its own lock is there for that, and because a tensor is shared.
pub struct TensorLine {
    usage: Usage,
    state: Mutex<TensorState>,
    /// Something in `failed`, for a look without a lock.
    is_invalid: AtomicBool,
}

#[derive(Default)]
struct TensorState {
    line: Line,
    /// Writes that failed, in the same order, and why: from there on, what the tensor holds is not what it should.
    failed: Vec<(OpId, Arc<String>)>,
}

/// What the end of a write means for the tensor.
pub enum Written {
    /// All that the tensor holds is new.
    Whole,
    /// Some of it, or nothing.
    Some,
    Failed(Arc<String>),
}

impl Default for TensorLine {
    fn default() -> TensorLine {
        TensorLine {
            usage: Usage::new(),
            state: Mutex::new(TensorState::default()),
            is_invalid: AtomicBool::new(false),
        }
    }
}

impl TensorLine {
    /// Who uses the tensor right now.
    #[inline]
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Collects the operations of other queues that a new one has to wait for, and makes room for it and for its failure. Those
    /// of its own come first anyway.
    pub(super) fn prepare(&self, id: OpId, queue: u64, access: Access, before: &mut Vec<OpId>) -> Result<()> {
        let mut state = self.lock();
        if access == Access::Write {
            let writes = state.line.entries.len() + 1;
            reserve(&mut state.failed, writes)?;
        }
        state.line.prepare(&Entry { id, queue, access }, before)
    }

    /// Puts an operation last for which there is room.
    pub(super) fn join(&self, id: OpId, queue: u64, access: Access) {
        self.lock().line.join(Entry { id, queue, access });
    }

    pub(super) fn leave_read(&self, id: OpId) {
        self.lock().line.remove(id);
    }

    pub(super) fn leave_write(&self, id: OpId, written: Written) {
        let mut state = self.lock();
        state.line.remove(id);
        match written {
            Written::Whole => state.failed.retain(|(failed, _)| *failed > id),
            Written::Some => {}
            Written::Failed(why) => {
                // a context that is alone with its tensors does not look whether they are what they should be
                self.usage.share();
                let place = state.failed.partition_point(|(failed, _)| *failed < id);
                state.failed.insert(place, (id, why));
            }
        }
        state.forget_needless();
        self.is_invalid.store(!state.failed.is_empty(), Ordering::Relaxed);
    }

    /// A run outside of queues has written all that the tensor holds.
    #[inline]
    pub fn written_directly(&self) {
        if self.is_invalid.load(Ordering::Relaxed) {
            let mut state = self.lock();
            state.failed.clear();
            self.is_invalid.store(false, Ordering::Relaxed);
        }
    }

    /// Why an operation that reads must not begin, now that all before it that write are over.
    pub(super) fn refusal(&self, id: OpId) -> Option<Arc<String>> {
        let state = self.lock();
        state.failed.first().filter(|(failed, _)| *failed < id).map(|(_, why)| why.clone())
    }

    pub(super) fn ids(&self) -> Result<Vec<OpId>> {
        self.lock().line.entries.iter().map(|entry| entry.id).gather()
    }

    pub(super) fn has_readers(&self) -> bool {
        self.lock().line.entries.iter().any(|entry| entry.access == Access::Read)
    }

    fn lock(&self) -> MutexGuard<'_, TensorState> {
        lock(&self.state)
    }
}

impl TensorState {
    /// A failure tells nothing new if no write is left that could end the one before it and not this.
    fn forget_needless(&mut self) {
        let entries = &self.line.entries;
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
    /// The same, in order.
    line: Mutex<Line>,
}

impl Default for ContextLine {
    fn default() -> ContextLine {
        ContextLine { queued: AtomicUsize::new(0), line: Mutex::new(Line::default()) }
    }
}

impl ContextLine {
    /// Whether some operation of the context is not over.
    #[inline]
    pub fn is_queued(&self) -> bool {
        self.queued.load(Ordering::Acquire) != 0
    }

    /// Collects the operations of other queues that are before a new one, and makes room for it.
    pub(super) fn prepare(&self, id: OpId, queue: u64, before: &mut Vec<OpId>) -> Result<()> {
        // it runs one operation at a time
        lock(&self.line).prepare(&Entry { id, queue, access: Access::Write }, before)
    }

    /// Puts an operation last for which there is room.
    pub(super) fn join(&self, id: OpId, queue: u64) {
        lock(&self.line).join(Entry { id, queue, access: Access::Write });
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
        lock(&self.line.line).remove(id);
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

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    fn entry(id: OpId, queue: u64, access: Access) -> Entry {
        Entry { id, queue, access }
    }

    fn joined(line: &mut Line, new: Entry) -> Vec<OpId> {
        let mut before = Vec::new();
        line.prepare(&new, &mut before).unwrap();
        line.join(new);
        before
    }

    #[test]
    fn those_of_other_queues_are_waited_for() {
        let mut line = Line::default();
        assert!(joined(&mut line, entry(1, 10, Access::Read)).is_empty());
        assert!(joined(&mut line, entry(2, 10, Access::Write)).is_empty());
        assert_eq!(joined(&mut line, entry(3, 11, Access::Read)), [2]);
        assert_eq!(joined(&mut line, entry(4, 10, Access::Write)), [3]);
        // the last is of the same queue, one before it is not
        assert_eq!(joined(&mut line, entry(5, 10, Access::Write)), [3]);
        assert_eq!(joined(&mut line, entry(6, 11, Access::Write)), [1, 2, 4, 5]);
    }

    #[test]
    fn one_that_leaves_from_the_middle_leaves_the_others() {
        let mut line = Line::default();
        for id in [2, 5, 7, 11] {
            joined(&mut line, entry(id, 10, Access::Write));
        }
        for id in [7, 6, 2] {
            line.remove(id);
        }
        assert_eq!(joined(&mut line, entry(12, 11, Access::Read)), [5, 11]);
    }

    #[test]
    fn an_empty_line_forgets_who_was_in_it() {
        let mut line = Line::default();
        joined(&mut line, entry(1, 10, Access::Write));
        joined(&mut line, entry(2, 11, Access::Write));
        line.remove(1);
        line.remove(2);
        assert!(joined(&mut line, entry(3, 12, Access::Write)).is_empty() && !line.is_mixed);
        assert!(joined(&mut line, entry(4, 12, Access::Write)).is_empty() && !line.is_mixed);
    }
}
