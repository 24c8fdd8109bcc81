//! What an operation does to a tensor, without the tensor: that is let go before the operation is over.

use std::sync::Arc;

use super::lines::{OpId, TensorLine, Written};
use super::work::Use;
use crate::base::{Error, Result, Status, text};
use crate::core::event::Outcome;
use crate::core::usage::Access;

pub struct Stake {
    line: Arc<TensorLine>,
    access: Access,
    is_read: bool,
    is_whole: bool,
}

impl Stake {
    pub fn of(used: &Use) -> Stake {
        Stake { line: used.tensor.line().clone(), access: used.access, is_read: used.is_read, is_whole: used.is_whole }
    }

    pub fn is_read_and_written(&self) -> bool {
        self.is_read && self.access == Access::Write
    }

    /// Collects the operations of other queues that a new one has to wait for, and makes room for it.
    pub(super) fn prepare(&self, id: OpId, queue: u64, before: &mut Vec<OpId>) -> Result<()> {
        self.line.prepare(id, queue, self.access, before)
    }

    /// Puts an operation last for which there is room.
    pub(super) fn join(&self, id: OpId, queue: u64) {
        self.line.join(id, queue, self.access);
    }

    /// Why an operation must not begin: it reads what was not written as it should.
    pub(super) fn refusal(&self, id: OpId) -> Option<Error> {
        if !self.is_read {
            return None;
        }
        let why = self.line.refusal(id)?;
        Some(Error::new(
            Status::Dependency,
            text!(
                "a tensor that this reads was to be written by an operation that failed ({why}): write all of it, by an \
                 operation, by a run, or in place with zb_tensor_sync afterwards"
            ),
        ))
    }

    pub(super) fn leave(&self, id: OpId, has_begun: bool, outcome: &Outcome) {
        if self.access == Access::Read {
            return self.line.leave_read(id);
        }
        let written = match &outcome.error {
            // an operation that the executor never took takes nothing away
            Some(error) if error.status == Status::Busy && !has_begun => Written::Some,
            Some(error) => Written::Failed(Arc::new(text!("{error}"))),
            None if self.is_whole => Written::Whole,
            None => Written::Some,
        };
        self.line.leave_write(id, written);
    }
}
