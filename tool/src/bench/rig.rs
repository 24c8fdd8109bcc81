//! A context with memory at its slots, and the two ways of running it that are compared.

use std::time::Instant;

use super::data::Source;
use crate::abi::*;
use crate::failure::{Failure, Result};
use crate::session::Session;

pub struct Rig {
    pub context: Context,
    pub slots: Vec<RigSlot>,
    /// What was given, for people.
    pub inputs: &'static str,
}

pub struct RigSlot {
    pub slot: Slot,
    pub name: String,
    /// As of the first run.
    pub desc: Desc,
    /// Whether it has memory of its own; else it is read where the engine put it.
    pub is_bound: bool,
    /// The memory of a program that copies: of an input what it gives, of an output what it gets.
    outside: Vec<u8>,
}

/// How long a run took, in ns.
#[derive(Clone, Copy)]
pub struct Timed {
    pub total: u64,
    /// The engine's part, as the context tells it.
    pub engine: u64,
}

/// How long the steps of a run took that copies, in ns.
#[derive(Clone, Copy)]
pub struct Steps {
    pub copy_in: u64,
    pub run: u64,
    pub copy_out: u64,
}

impl Rig {
    pub fn new(session: &Session, mut context: Context, source: &Source) -> Result<Rig> {
        for (slot, _) in session.inputs() {
            source.shape_by_file(&mut context, *slot)?;
        }
        context.prepare().map_err(|error| {
            let is_open = error.status == ZB_ERROR_SHAPE_MISMATCH;
            let failure = Failure::from(error);
            if is_open { failure.hint("give the shape by --shape NAME=D,D,...") } else { failure }
        })?;
        for (slot, _) in session.inputs() {
            context.bind_new(*slot)?;
            source.fill(&mut context, *slot)?;
        }
        let mut slots = Vec::new();
        for (slot, info) in &session.slots {
            let is_bound = matches!(slot, Slot::Input(_)) || bind_output(&mut context, *slot)?;
            let outside = context.memory(*slot).to_vec();
            let desc = info.desc.clone();
            slots.push(RigSlot { slot: *slot, name: info.name.clone(), desc, is_bound, outside });
        }
        let mut rig = Rig { context, slots, inputs: source.title() };
        rig.first_run()?;
        Ok(rig)
    }

    /// Sizes that only the run tells are known after it.
    fn first_run(&mut self) -> Result<()> {
        self.context.infer()?;
        for entry in &mut self.slots {
            entry.desc = self.context.slot_desc(entry.slot)?;
            if !entry.is_bound {
                entry.outside = self.context.view(entry.slot)?.to_vec();
            }
        }
        Ok(())
    }

    /// One run on memory that is bound; an output that cannot be is looked at where it lies.
    pub fn run_in_place(&mut self) -> Result<Timed> {
        let start = Instant::now();
        self.context.infer()?;
        for entry in self.slots.iter().filter(|entry| !entry.is_bound) {
            std::hint::black_box(self.context.view(entry.slot)?);
        }
        self.timed(start)
    }

    /// One run as with an engine's own buffers: every input is copied in, every output is copied out.
    pub fn run_copying(&mut self) -> Result<Timed> {
        let start = Instant::now();
        self.copy_in();
        self.context.infer()?;
        self.copy_out()?;
        self.timed(start)
    }

    /// The same, with a look at the clock after each step.
    pub fn run_copying_in_steps(&mut self) -> Result<Steps> {
        let start = Instant::now();
        self.copy_in();
        let copied_in = Instant::now();
        self.context.infer()?;
        let ran = Instant::now();
        self.copy_out()?;
        let copied_out = Instant::now();
        Ok(Steps {
            copy_in: ns_between(start, copied_in),
            run: ns_between(copied_in, ran),
            copy_out: ns_between(ran, copied_out),
        })
    }

    fn copy_in(&mut self) {
        for entry in self.slots.iter().filter(|entry| matches!(entry.slot, Slot::Input(_))) {
            self.context.memory_mut(entry.slot).copy_from_slice(&entry.outside);
        }
    }

    fn copy_out(&mut self) -> Result<()> {
        for entry in self.slots.iter_mut().filter(|entry| matches!(entry.slot, Slot::Output(_))) {
            let result =
                if entry.is_bound { self.context.memory(entry.slot) } else { self.context.view(entry.slot)? };
            entry.outside.resize(result.len(), 0);
            entry.outside.copy_from_slice(result);
        }
        std::hint::black_box(&self.slots);
        Ok(())
    }

    fn timed(&self, start: Instant) -> Result<Timed> {
        let total = ns_between(start, Instant::now());
        Ok(Timed { total, engine: self.context.stats()?.last_run_ns })
    }

    /// Bytes that the copying way moves in one run.
    pub fn copied_bytes(&self) -> u64 {
        self.slots.iter().map(|entry| entry.outside.len() as u64).sum()
    }
}

impl RigSlot {
    pub fn bytes(&self) -> u64 {
        self.outside.len() as u64
    }
}

/// Whether the output got memory of its own.
fn bind_output(context: &mut Context, slot: Slot) -> Result<bool> {
    let is_another = context.slot_info(slot)?.flags & (ZB_SLOT_PASS_THROUGH | ZB_SLOT_DUPLICATE) != 0;
    let is_staged = context.requirements(slot)?.rebind == ZB_REBIND_STAGED;
    let can_be_bound = !is_another && !is_staged && context.slot_desc(slot)?.is_known();
    if can_be_bound {
        context.bind_new(slot)?;
    }
    Ok(can_be_bound)
}

pub fn ns_between(start: Instant, end: Instant) -> u64 {
    end.duration_since(start).as_nanos() as u64
}
