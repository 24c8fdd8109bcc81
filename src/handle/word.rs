//! The state of a slot, all in one word, so that every decision about it is one atomic step.
//!
//! ```text
//! 63              28   27   26   25    24       23    22         0
//! | generation      | LIVE DEAD RUN SHORT POISONED | count of pins |
//! ```
//!
//! LIVE: the slot holds a value. DEAD: its handle was destroyed, the value stays for those still inside.
//! RUN, SHORT: someone has exclusive use. POISONED: someone left by a panic.
//!
//! Nobody enters or pins a DEAD slot, so of all who leave it exactly one takes the word to "dead and unused".
//! That one owns the slot.

use super::Refused;
use super::layout::Layout;

pub const PIN: u64 = 1;
const PINS: u64 = (1 << 23) - 1;
pub const POISONED: u64 = 1 << 23;
pub const SHORT: u64 = 1 << 24;
pub const RUN: u64 = 1 << 25;
pub const DEAD: u64 = 1 << 26;
const LIVE: u64 = 1 << 27;
const GENERATION_SHIFT: u32 = 28;
pub const GENERATION_BITS: u32 = u64::BITS - GENERATION_SHIFT;

/// One pin fewer than the count can hold: the destroyer's own must always fit.
const MOST_PINS: u64 = PINS - 1;

#[inline]
pub const fn live(generation: u64) -> u64 {
    generation << GENERATION_SHIFT | LIVE
}

/// A slot without a value; it keeps the generation that its next handle will carry.
pub const fn vacant(generation: u64) -> u64 {
    generation << GENERATION_SHIFT
}

#[inline]
pub const fn generation(word: u64) -> u64 {
    word >> GENERATION_SHIFT
}

pub const fn next_generation<L: Layout>(word: u64) -> u64 {
    (generation(word) + 1) & L::GENERATION_MASK
}

pub const fn is_live(word: u64) -> bool {
    word & LIVE != 0
}

/// The handle is good for nothing but being refused.
#[inline]
pub const fn is_stale(word: u64, generation: u64) -> bool {
    const FLAGS: u64 = LIVE | DEAD;
    word >> GENERATION_SHIFT != generation || word & FLAGS != LIVE
}

#[inline]
pub fn admit(word: u64, generation: u64) -> Result<(), Refused> {
    if is_stale(word, generation) {
        Err(Refused::Invalid)
    } else if word & POISONED != 0 {
        Err(Refused::Poisoned)
    } else {
        Ok(())
    }
}

#[inline]
pub const fn has_room_for_pin(word: u64) -> bool {
    word & PINS < MOST_PINS
}

#[inline]
pub const fn is_dead_and_unused(word: u64) -> bool {
    word & (DEAD | RUN | SHORT | PINS) == DEAD
}
