//! The objects of the library and the rules of their lifetimes. Knows neither C nor an engine.

mod context;
mod count;
mod event;
mod model;
mod options;
pub mod queue;
mod release;
mod stop;
mod tensor;
mod usage;
pub mod watchdog;

pub use context::{
    Captured, Context, ContextOptions, CopyPolicy, Deadline, Lending, Path, Post, Report, Requirements, SlotFacts,
    Stats,
};
pub use count::live;
pub use event::{Callback, Event, Outcome};
pub use model::{Model, ModelOptions, choose_runtime};
pub use queue::Queue;
pub use release::Release;
pub use stop::Stop;
pub use tensor::Tensor;
