//! An engine without a library behind it: it does what a text tells it to, also what the real ones never do on demand
//! (panic, hang, fail at a chosen step), and it insists on the contract of the traits, so that it tests the core too.
//!
//! Only with the feature `mock`, never in a shipped library. A model is a text:
//!
//! ```text
//! zerobind-mock 1
//! input x f32 rows=2 4          # a dimension is a number, NAME (open), NAME=START, or -1 (open, without a name)
//! output z f32 rows 4           # an open dimension takes its size from the input dimension of that name, else the run tells
//! output y f32 8 twin=input:0   # also: fixed (cannot be bound), constant
//! alignment 64                  # or: alignment element
//! slack 16
//! rebind replan
//! unstoppable                   # runs cannot be told to stop; otherwise they look before they compute and at the end
//! trace NAME                    # note what the core asks for: see `take_trace`
//! run fail RUNTIME no luck @3   # STAGE ACTION...; @3: only the third time, @3+: from the third time on
//! ```
//!
//! Stages: `open`, `context`, `plan`, `attach`, `run`, `finish` (of a run, its outputs written), `output`, `reset`,
//! `context-drop`, `model-drop`. Actions: `panic TEXT`, `fail STATUS TEXT`, `sleep-ms N`, `log LEVEL TEXT`, `slowly` (a run gives way to
//! other threads after each element), and the gates: `wait GATE` stands there until somebody does `open GATE`;
//! `await GATE` until somebody stands there. What `mischief.rs` lists is done to the process: `do abort`. A context can be given more such lines by the option `mock.line`.
//!
//! A run adds up all inputs, element by element; shorter ones start again. An output whose shape only the run tells gets
//! the elements of the first input that are not zero.
//!
//! `planted` has bugs that the environment can ask for, to see that the checkers find them.

mod compute;
mod context;
mod gate;
mod line;
mod mischief;
mod model;
mod planted;
mod rule;
mod script;
mod shapes;
mod stop;
mod trace;

pub use trace::take as take_trace;

use std::path::Path;
use std::sync::Arc;

use super::{EngineModel, ModelSource, Runtime, RuntimeInfo};
use crate::base::Result;

/// The first line of every model.
const MAGIC: &str = "zerobind-mock 1";

/// The key of an option that holds a line of a script.
const LINE_OPTION: &str = "mock.line";

pub struct Mock;

impl Runtime for Mock {
    fn id(&self) -> i32 {
        1000
    }

    fn name(&self) -> &'static str {
        "the mock"
    }

    fn recognises(&self, model: &[u8]) -> bool {
        model.starts_with(MAGIC.as_bytes())
    }

    fn load(&self, _path: Option<&Path>) -> Result<()> {
        Ok(())
    }

    fn info(&self) -> RuntimeInfo {
        RuntimeInfo { available: true, version: Some(c"1"), path: Some(c"inside zerobind"), reason: None }
    }

    fn has_option(&self, key: &str) -> bool {
        key == LINE_OPTION
    }

    fn open(&self, source: Arc<ModelSource>, _most: u64) -> Result<Box<dyn EngineModel>> {
        Ok(Box::new(model::MockModel::open(source)?))
    }
}
