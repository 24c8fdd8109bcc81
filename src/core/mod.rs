//! The objects of the library and the rules of their lifetimes. Knows neither C nor an engine.

mod context;
mod count;
mod model;
mod options;
mod release;
mod stop;
mod tensor;
mod usage;
pub mod watchdog;

pub use context::{
    Context, ContextOptions, CopyPolicy, Deadline, Lending, Path, Report, Requirements, SlotFacts, Stats,
};
pub use count::live;
pub use model::{Model, ModelOptions};
pub use release::Release;
pub use stop::Stop;
pub use tensor::Tensor;
