//! zerobind: TFLite and ONNX models on memory that the host already owns, without copies, behind one C ABI.
//!
//! `ffi` translates, `core` knows the objects and their lifetimes, `runtime` holds one folder for each engine; calls go
//! only in that direction. `docs/architecture.md` has the picture.

#[cfg(all(feature = "load-dynamic", feature = "linked"))]
compile_error!(
    "the features `load-dynamic` and `linked` exclude each other: for linked engines give --no-default-features \
     --features linked,tflite,onnxruntime"
);
#[cfg(all(any(feature = "tflite", feature = "onnxruntime"), not(any(feature = "load-dynamic", feature = "linked"))))]
compile_error!("an engine needs a way into the process: add one of the features `load-dynamic` and `linked`");
#[cfg(all(feature = "linked", not(unix)))]
compile_error!("the feature `linked` is written for ELF and Mach-O");

pub mod base;
pub mod core;
// the model checker's types cannot be in statics; it looks at the concurrency core only
#[cfg(not(all(test, feature = "loom")))]
pub mod ffi;
mod handle;
pub mod memory;
pub mod preflight;
pub mod runtime;
mod sync;
