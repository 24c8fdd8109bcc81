//! The tables that handles lead to, and what a refused look-up means.

use std::sync::Arc;

use super::layout::{zb_context, zb_event, zb_model, zb_queue, zb_tensor};
use super::slot_text::ModelText;
use crate::base::{Error, Kind, Result, Status, text};
use crate::core::queue::ContextLine;
use crate::core::{Event, Model, Post, Queue, Stop, Tensor};
use crate::handle::{Refused, Table};

/// A model with its names as C strings.
pub struct ModelEntry {
    pub model: Arc<Model>,
    pub text: Arc<ModelText>,
}

/// What anybody may use of a context at any time.
pub struct ContextEntry {
    pub text: Arc<ModelText>,
    pub stop: Arc<Stop>,
    pub line: Arc<ContextLine>,
}

pub static MODELS: Table<ModelEntry> = Table::new(Kind::Model);
pub static CONTEXTS: Table<ContextEntry, Post> = Table::new(Kind::Context);
pub static TENSORS: Table<Arc<Tensor>> = Table::new(Kind::Tensor);
pub static QUEUES: Table<Arc<Queue>> = Table::new(Kind::Queue);
pub static EVENTS: Table<Arc<Event>> = Table::new(Kind::Event);

/// A type of handle, for texts.
pub trait Handle {
    const NAME: &'static str;
}

impl Handle for zb_model {
    const NAME: &'static str = "model";
}

impl Handle for zb_context {
    const NAME: &'static str = "context";
}

impl Handle for zb_tensor {
    const NAME: &'static str = "tensor";
}

impl Handle for zb_queue {
    const NAME: &'static str = "queue";
}

impl Handle for zb_event {
    const NAME: &'static str = "event";
}

/// The number behind a handle that may not be NULL.
#[inline]
pub fn number<T: Handle>(handle: *mut T) -> Result<usize> {
    if handle.is_null() { Err(null::<T>()) } else { Ok(handle as usize) }
}

// Errors are made in functions of their own: the room that their words take would make frames on the run path larger.

#[cold]
#[inline(never)]
fn null<T: Handle>() -> Error {
    Error::new(Status::NullArgument, text!("the {} is NULL", T::NAME))
}

/// The error for a handle that does not lead to its object.
#[cold]
#[inline(never)]
pub fn refused<T: Handle>(why: Refused) -> Error {
    let name = T::NAME;
    match why {
        Refused::Invalid => Error::new(
            Status::InvalidHandle,
            text!("this is not a live {name}: it was destroyed, is something else, or never was one"),
        ),
        Refused::Busy => Error::new(
            Status::Busy,
            text!("the {name} is running on another thread, or further up this one: wait until that call returns"),
        ),
        Refused::Poisoned => {
            Error::new(Status::Panic, text!("a bug was caught in this {name} before: it can only be destroyed"))
        }
    }
}

/// The error for a table without room.
#[cold]
pub fn full<T: Handle>() -> Error {
    Error::new(Status::OutOfMemory, text!("no room for another {}: destroy some", T::NAME))
}

/// Destroys a handle; NULL is fine.
pub fn destroy<T: Handle, S, X>(table: &'static Table<S, X>, handle: *mut T) -> Result<()> {
    if handle.is_null() {
        return Ok(());
    }
    table.destroy(handle as usize).map_err(refused::<T>)
}
