//! What operators ask of their tensors, by families.

pub mod control;
pub mod dense;
pub mod elementwise;
pub mod images;
pub mod joins;
pub mod reduce;
pub mod shapes;
pub mod slices;
pub mod windows;
