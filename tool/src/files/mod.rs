//! Files: inputs, outputs that appear whole or not at all, and whether two names are one file.

mod draft;
mod input;
mod sys;
mod target;

pub use draft::Draft;
pub use input::{InputFile, has_npy_name};
pub use target::{Identity, Target};
