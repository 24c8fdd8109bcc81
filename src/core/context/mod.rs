//! Contexts: one execution state of a model, with what is bound to it.
//!
//! Each file holds one step of a run: `shapes` settles dimensions and plans, `fit` says at once what fits a slot, `route`
//! decides how the memory of a slot meets the engine's, `settle` checks the whole set and hands it to the engine (`relend`: the
//! same set at other addresses), `run` runs it, `report` tells about it.

mod away;
mod binding;
mod captured;
mod fit;
mod loan;
mod post;
mod relend;
mod report;
mod reset;
mod route;
mod run;
mod settle;
mod shapes;
mod swap;
mod view;

use std::sync::Arc;

use super::count::Counted;
use super::model::Model;
use super::options::Setting;
use super::stop::Stop;
use super::tensor::Tensor;
use crate::base::room::{filled, list};
use crate::base::{Desc, Dims, Gather, Kind, Result, Side, Slot};
use crate::memory::{Buffer, HostRange};
use crate::runtime::{EngineContext, Facts, Loan, Plan};

pub use binding::Displaced;
pub use captured::Captured;
pub use loan::Lending;
pub use post::Post;
pub use report::{Path, Report, Stats};
pub use run::{Deadline, Limits};
pub use shapes::{Requirements, SlotFacts};

use fit::Fit;
use relend::Relending;
use report::LastRun;
use route::Route;
use run::Use;

/// Whether a run may copy where it cannot do without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyPolicy {
    #[default]
    Never,
    Allow,
}

/// How to make a context.
#[derive(Clone, Debug, Default)]
pub struct ContextOptions {
    /// At least 1.
    pub threads: u32,
    pub copy_policy: CopyPolicy,
    /// Fill `last_run_ns`.
    pub profile: bool,
    pub settings: Vec<Setting>,
}

/// One execution state of a model. Used by one thread at a time.
// What runs look at comes first, in few lines of the processor's cache. What is dropped first may hold addresses of what follows.
#[repr(C, align(64))]
pub struct Context {
    engine: Box<dyn EngineContext>,
    /// `None` during a run.
    stop: Option<Arc<Stop>>,
    /// Everything below is checked, attached and unchanged: a run needs nothing but the engine.
    settled: bool,
    /// The run differs from the last one in the addresses of its loans only.
    is_relent: bool,
    /// When `uses` were listed, nobody else used one of them.
    alone: bool,
    /// Some route of the run copies.
    copies: bool,
    profile: bool,
    /// The outputs of the last run can be viewed.
    viewable: bool,
    /// `SlotState::last` tells of this run already, but for what `Relending` has to tell it.
    remembered: bool,
    /// The shapes that a run would have may be others than the planned ones.
    shapes_changed: bool,
    stats: Stats,
    relending: Relending,

    // before the tensors, whose release may look at the count
    _counted: Option<Counted>,
    /// The number of the call that lends slot by slot, to tell its loans.
    call: u64,
    /// The loans of this call.
    lent: Vec<Loan>,
    inputs: usize,
    facts: Facts,
    copy_policy: CopyPolicy,
    /// Inputs, then outputs.
    slots: Vec<SlotState>,
    /// The shape that the host asked for, for each input.
    resized: Vec<Option<Dims>>,
    /// `resized` when planning last worked.
    good_resized: Vec<Option<Dims>>,
    /// Input shapes of `plan`.
    planned_dims: Vec<Dims>,
    plan: Option<Arc<Plan>>,
    /// Some slots are one tensor of the engine.
    has_twins: bool,
    /// Tensors that a settled run uses.
    uses: Vec<Use>,
    /// One of them lies in a file that can be cut short.
    can_vanish: bool,
    /// The engine was started at least once.
    has_run: bool,
    /// What is bound now, as queues take it; never the last to hold a tensor.
    captured: Option<Arc<Captured>>,
    model: Arc<Model>,
}

/// A slot: what the host wants there and what the engine has.
#[derive(Default)]
struct SlotState {
    binding: Option<Arc<Tensor>>,
    /// Memory and desc of a loan; only inside a call.
    loan: Option<HostRange>,
    loan_desc: Option<Desc>,
    /// The last call that lent memory to the slot one by one, and whether with the desc that the slot has.
    lent_in: u64,
    lent_with_desc: bool,
    /// What the host had asked for before the loan gave the input another shape.
    resized_before_loan: Option<Option<Dims>>,
    attached: Attached,
    fit: Fit,
    /// Memory of our own where the host's cannot be used directly.
    staging: Option<Buffer>,
    /// How the coming run meets the memory.
    route: Route,
    last: LastRun,
    /// The shape in the last run, where planning did not know it: promised before, or computed by the run.
    promised: Option<Desc>,
}

impl SlotState {
    /// The desc that the host gave with the memory of a slot.
    #[inline]
    fn given_desc(&self) -> Option<&Desc> {
        match (&self.loan, &self.binding) {
            (Some(_), _) => self.loan_desc.as_ref(),
            (None, Some(tensor)) => Some(tensor.desc()),
            (None, None) => None,
        }
    }
}

/// What the engine was given for a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Attached {
    #[default]
    Nothing,
    Binding,
    Loan,
    Staging,
}

impl Context {
    /// A context of `model`, and what stops its runs; plans nothing.
    pub fn new(model: Arc<Model>, options: &ContextOptions) -> Result<(Context, Arc<Stop>)> {
        let engine = model.new_engine_context(options)?;
        let inputs = model.slots(Side::Input).len();
        let outputs = model.slots(Side::Output).len();
        let stop = Arc::new(Stop::new(engine.canceller()));
        let context = Context {
            facts: engine.facts(),
            stop: Some(stop.clone()),
            engine,
            copy_policy: options.copy_policy,
            profile: options.profile,
            slots: (0..inputs + outputs).map(|_| SlotState::default()).gather()?,
            inputs,
            resized: filled(None, inputs)?,
            good_resized: filled(None, inputs)?,
            planned_dims: list(inputs)?,
            plan: None,
            has_twins: false,
            shapes_changed: true,
            settled: false,
            lent: list(inputs + outputs)?,
            call: 0,
            is_relent: false,
            relending: Relending::new(inputs + outputs)?,
            uses: list(inputs + outputs)?,
            alone: false,
            can_vanish: false,
            captured: None,
            copies: false,
            viewable: false,
            remembered: false,
            has_run: false,
            stats: Stats::default(),
            model,
            _counted: Some(Counted::new(Kind::Context)),
        };
        Ok((context, stop))
    }

    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// Position of a slot in `slots`; an index out of range is `INVALID_ARGUMENT`.
    #[inline]
    fn position(&self, slot: Slot) -> Result<usize> {
        let outputs = self.slots.len() - self.inputs;
        let count = if slot.side == Side::Input { self.inputs } else { outputs };
        if slot.index < count {
            return Ok(self.position_of(slot));
        }
        self.no_such_slot(slot)
    }

    #[cold]
    fn no_such_slot(&self, slot: Slot) -> Result<usize> {
        self.model.slot(slot).map(|_| self.position_of(slot))
    }

    /// The same for a slot that is known to exist.
    #[inline]
    fn position_of(&self, slot: Slot) -> usize {
        match slot.side {
            Side::Input => slot.index,
            Side::Output => self.inputs + slot.index,
        }
    }

    fn slot_at(&self, position: usize) -> Slot {
        if position < self.inputs { Slot::input(position) } else { Slot::output(position - self.inputs) }
    }

    fn label(&self, position: usize) -> String {
        self.model.label(self.slot_at(position))
    }
}
