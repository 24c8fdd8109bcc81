//! The objects of the library and the rules of their lifetimes. Knows neither C nor an engine.

mod context;
mod count;
mod model;
mod options;
mod release;
mod tensor;
mod usage;

pub use context::{Context, ContextOptions, CopyPolicy, Lending, Path, Report, Requirements, SlotFacts, Stats};
pub use count::live;
pub use model::{Model, ModelOptions};
pub use release::Release;
pub use tensor::Tensor;
