//! The words that every layer speaks: status and error, data types, shapes, slots, log lines.
//!
//! Nothing here knows C, an engine, or an object of the library.

mod desc;
mod dims;
mod dtype;
pub(crate) mod error;
pub mod hint;
mod kind;
pub mod log;
mod metadata;
pub mod room;
mod signature;
mod slot;

pub use desc::Desc;
pub use dims::{Dims, MAX_RANK};
pub use dtype::Dtype;
pub(crate) use error::fail;
pub use error::{Error, Result, Status, panic_message};
pub use kind::Kind;
pub use metadata::{Metadata, MetadataValue};
pub use room::Gather;
pub(crate) use room::text;
pub use signature::{Signature, SignatureSlots};
pub use slot::{DimNames, Quantization, Side, Slot, SlotFlags, SlotInfo};
