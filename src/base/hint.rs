//! Which way a run goes.
//!
//! After a run of the engine little of our code is left in the processor's cache, and has to come back line by line. What is
//! not the rule is moved out of the way of what is, so that there are fewer lines.

use std::hint::cold_path;

/// The condition, which mostly holds.
#[inline(always)]
pub fn likely(condition: bool) -> bool {
    if !condition {
        cold_path();
    }
    condition
}

/// The condition, which seldom holds.
#[inline(always)]
pub fn unlikely(condition: bool) -> bool {
    if condition {
        cold_path();
    }
    condition
}
