//! What the last run did with the memory, and counters.

use std::ffi::CStr;

use super::Context;
use super::route::Route;
use crate::base::{Result, Slot};
use crate::memory::HostRange;

/// How the memory of a slot was used. The numbers are part of the ABI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(i32)]
pub enum Path {
    /// The host gave no memory, or there was no run.
    #[default]
    Unbound = 0,
    /// The engine worked on the host's memory.
    Direct = 1,
    /// Bytes were copied.
    Staged = 2,
}

/// The proof of what happened to a slot in the last run. Addresses are numbers to compare, never to be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub path: Path,
    pub bytes_copied: u64,
    pub host_address: usize,
    pub engine_address: usize,
    /// Why bytes were copied.
    pub reason: Option<&'static CStr>,
}

/// Counters of a context since it was made.
// what every run counts comes first
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Stats {
    /// Runs that succeeded.
    pub runs: u64,
    /// Times that a slot of the engine was given another address.
    pub rebinds: u64,
    /// By zerobind, on the way in and out.
    pub bytes_copied: u64,
    /// Memory that zerobind allocated for runs.
    pub allocations: u64,
    /// Time of the last run in the engine; 0 unless profiling is on.
    pub last_run_ns: u64,
}

/// A slot in the last run that the engine started.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastRun {
    pub route: Route,
    /// The memory was a loan, which is over.
    pub lent: bool,
    /// Asked of the engine when the slot is about to be given other memory, and by the report while it is not.
    engine_address: Option<usize>,
}

impl LastRun {
    pub fn new(route: Route, lent: bool) -> LastRun {
        LastRun { route, lent, engine_address: None }
    }

    /// The same way once more with other memory.
    #[inline]
    pub fn move_to(&mut self, memory: HostRange) {
        match &mut self.route {
            Route::Direct(place) => *place = memory,
            route => *route = Route::Direct(memory),
        }
        self.lent = true;
        self.engine_address = None;
    }
}

impl Context {
    /// What the last run that the engine started did with the memory of a slot.
    pub fn report(&mut self, slot: Slot) -> Result<Report> {
        let position = self.position(slot)?;
        if !self.has_run {
            return Ok(Report::default());
        }
        self.tell_relent();
        let last = self.slots[position].last;
        // kept where the engine has let go of the memory since; otherwise asked now, since a later run may move it
        let engine_address = last.engine_address.unwrap_or_else(|| self.current_engine_address(position));
        let (path, bytes_copied, reason) = match last.route {
            Route::Engine => (Path::Unbound, 0, None),
            Route::Direct(_) => (Path::Direct, 0, None),
            Route::Shared(memory) => match self.reason_of_twin(slot, &memory) {
                // the bytes are counted there
                Some(reason) => (Path::Staged, 0, Some(reason)),
                None => (Path::Direct, 0, None),
            },
            Route::Staged(memory, reason) => (Path::Staged, memory.size() as u64, Some(reason)),
        };
        Ok(Report {
            path,
            bytes_copied,
            host_address: last.route.memory().map_or(0, |memory| memory.data() as usize),
            engine_address,
            reason,
        })
    }

    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Why the memory that a slot shared with another slot of the same tensor was copied, if it was. A third slot of that
    /// tensor may have memory elsewhere, and a copy of its own.
    fn reason_of_twin(&self, slot: Slot, shared: &HostRange) -> Option<&'static CStr> {
        let owner = self.owner_of(slot);
        let reason = |position: usize| match self.slots[position].last.route {
            Route::Staged(memory, reason) if memory.data() == shared.data() => {
                (self.owner_of(self.slot_at(position)) == owner).then_some(reason)
            }
            _ => None,
        };
        (0..self.slots.len()).find_map(reason)
    }

    /// The same as below for all slots of one tensor.
    pub(super) fn note_addresses_of_twins(&mut self, owner: Slot) {
        for position in 0..self.slots.len() {
            if self.owner_of(self.slot_at(position)) == owner {
                self.note_engine_address(position);
            }
        }
    }

    /// The same as below for all slots. The next run is told of anew, also if nothing else changed.
    pub(super) fn note_engine_addresses(&mut self) {
        for position in 0..self.slots.len() {
            self.note_engine_address(position);
        }
        self.remembered = false;
    }

    /// Keeps the address that the engine has for a slot in the last run, while it still has it.
    pub(super) fn note_engine_address(&mut self, position: usize) {
        self.tell_relent();
        if self.has_run && self.slots[position].last.engine_address.is_none() {
            self.slots[position].last.engine_address = Some(self.current_engine_address(position));
        }
    }

    fn current_engine_address(&mut self, position: usize) -> usize {
        let owner = self.owner_of(self.slot_at(position));
        self.engine.engine_address(owner) as usize
    }
}
