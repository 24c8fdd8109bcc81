//! From handles to values, safe for every integer that a host may pass.
//!
//! A handle is an index and a generation, never an address: it is looked up and compared, not dereferenced.
//! A value has two parts. The shared one is for [`Table::pin`]: any number of users at any time. The state is for
//! [`Table::enter_run`] and [`Table::enter_short`]: one user at a time. Pins and entries never wait for or refuse
//! each other, because they reach different parts.
//!
//! Slots are reused but their memory is never given back, so looking at the state of a slot is always safe,
//! and one atomic step on it decides everything.

mod chunks;
mod free;
mod guard;
mod layout;
mod slot;
mod table;
mod word;

#[cfg(all(test, not(feature = "loom")))]
mod bench;
#[cfg(all(test, feature = "loom"))]
mod models;
#[cfg(all(test, not(feature = "loom")))]
mod properties;
#[cfg(all(test, not(feature = "loom")))]
mod stress;
#[cfg(all(test, not(feature = "loom")))]
mod tests;

pub use table::Table;

/// Why a handle does not lead to its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Destroyed, forged or of another kind.
    Invalid,
    /// Someone else is using it, and not only for a moment.
    Busy,
    /// Someone panicked while using it.
    Poisoned,
}

/// No slot is left, or no memory for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;
