//! Running a context on a queue, while the context itself stays open to other calls.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use crate::base::room::list;
use crate::base::{Desc, Error, Result, Side, Slot, Status};
use crate::core::context::{Captured, Context, Deadline, Limits, Post};
use crate::core::event::{Event, Outcome, SlotDescs};

/// The way to a context whose handle may be destroyed at any time.
#[derive(Clone, Copy)]
pub struct Gate {
    pub handle: usize,
    /// Calls the function with the context, to itself for a moment.
    pub enter: Enter,
}

pub type Enter = fn(usize, &mut dyn FnMut(&mut Post)) -> std::result::Result<(), GateClosed>;

/// Why a context cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateClosed {
    Gone,
    Poisoned,
}

/// One run of a context with the bindings and shapes that it had when this was made.
pub struct Inference {
    pub gate: Gate,
    pub captured: Arc<Captured>,
    pub deadline: Option<Deadline>,
}

impl Inference {
    /// Runs. The context is taken out for that, and brings back what the host changed meanwhile.
    pub fn run(&self, event: &Event) -> Outcome {
        self.run_up_to(event, 1).0
    }

    /// Runs up to so many times, until one fails or is not to happen. Tells of the last one, and how many there were: at least one.
    pub fn run_up_to(&self, event: &Event, times: usize) -> (Outcome, usize) {
        let gate = self.gate;
        let mut taken = None;
        let mut take = |post: &mut Post| taken = Some(post.send_away(&self.captured));
        if let Err(closed) = (gate.enter)(gate.handle, &mut take) {
            return (closed.outcome(), 1);
        }
        let mut context = match taken {
            Some(Ok(context)) => context,
            Some(Err(error)) => return (Outcome::failed(error), 1),
            None => return (GateClosed::Gone.outcome(), 1),
        };
        let limits = Limits { deadline: self.deadline, cancelled: Some(event.cancelled()), is_patient: true };
        let mut done = 1;
        let run = || {
            let slots = event.wants_slots().then(|| room_for_slots(&context)).transpose()?;
            let mut result = context.infer_within(&limits);
            while done < times && result.is_ok() && !event.cancelled().seems_raised() {
                done += 1;
                result = context.infer_within(&limits);
            }
            result.map(|()| slots.map(|slots| Box::new(slots_of(&mut context, slots))))
        };
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(result) => {
                bring_back(gate, context);
                let outcome = match result {
                    Ok(slots) => Outcome { error: None, slots },
                    Err(error) => Outcome::failed(error),
                };
                (outcome, done)
            }
            Err(payload) => {
                // nobody is to use it again
                drop(context);
                poison(gate);
                resume_unwind(payload)
            }
        }
    }
}

fn bring_back(gate: Gate, context: Box<Context>) {
    let (mut context, mut displaced) = (Some(context), Vec::new());
    let entered = (gate.enter)(gate.handle, &mut |post| {
        if let Some(context) = context.take() {
            displaced = post.come_home(context);
        }
    });
    // a context that was destroyed meanwhile goes here, where no lock is held; so do tensors that it let go
    drop((entered, context, displaced));
}

fn poison(gate: Gate) {
    let panic = || (gate.enter)(gate.handle, &mut |_| panic!("a run of this context panicked"));
    let _ = catch_unwind(AssertUnwindSafe(panic));
}

/// To be had before the run: one that has succeeded is not to fail for the want of this.
fn room_for_slots(context: &Context) -> Result<SlotDescs> {
    let [inputs, outputs] = [Side::Input, Side::Output].map(|side| list(context.model().slots(side).len()));
    Ok(SlotDescs { inputs: inputs?, outputs: outputs? })
}

fn slots_of(context: &mut Context, mut room: SlotDescs) -> SlotDescs {
    let mut fill = |side, descs: &mut Vec<Desc>| {
        let slots = (0..descs.capacity()).map(|index| Slot { side, index });
        descs.extend(slots.map_while(|slot| context.slot_facts(slot).ok()).map(|facts| facts.desc));
    };
    fill(Side::Input, &mut room.inputs);
    fill(Side::Output, &mut room.outputs);
    room
}

impl GateClosed {
    fn outcome(self) -> Outcome {
        Outcome::failed(match self {
            GateClosed::Gone => Error::new(Status::Destroyed, "the context was destroyed before the operation started"),
            GateClosed::Poisoned => Error::new(Status::Panic, "a bug was caught in this context before"),
        })
    }
}
