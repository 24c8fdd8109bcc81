//! zerobind: TFLite and ONNX models on memory that the host already owns, without copies, behind one C ABI.
//!
//! `ffi` translates, `core` knows the objects and their lifetimes, `runtime` holds one folder for each engine; calls go
//! only in that direction. `docs/architecture.md` has the picture.

pub mod base;
pub mod core;
// the model checker's types cannot be in statics; it looks at the concurrency core only
#[cfg(not(all(test, feature = "loom")))]
pub mod ffi;
mod handle;
pub mod memory;
pub mod runtime;
mod sync;
