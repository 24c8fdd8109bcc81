//! The C ABI: translation only. One file for each kind of object; the header is generated from here.
//!
//! Every function checks its arguments, looks handles up, calls the core, and turns the result into a status and a text.

pub mod api;
pub mod constants;
mod context;
mod dlpack;
mod error_text;
mod event;
mod fork;
mod guard;
mod handles;
mod infer;
mod layout;
mod library;
mod log_callback;
mod model;
mod options;
mod pointers;
mod preflight;
mod queue;
mod release;
mod runtime;
mod slot_text;
mod slots;
mod tensor;
mod versioned;
