//! How a handle is packed into a pointer-sized integer.
//!
//! From the lowest bit: a tag that is always 1 (no aligned pointer is ever a handle, NULL neither), the kind,
//! the index of the slot, the generation of the slot.

use crate::base::Kind;

const TAG: u64 = 1;
const KIND_SHIFT: u32 = 1;
const INDEX_SHIFT: u32 = 4;
const LABEL_MASK: u64 = (1 << INDEX_SHIFT) - 1;

/// The tag and the kind: what all handles of one table have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(u64);

impl Label {
    pub const fn new(kind: Kind) -> Self {
        Self((kind as u64) << KIND_SHIFT | TAG)
    }
}

/// The part of a handle that differs within one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub index: u32,
    pub generation: u64,
}

/// The split of the bits above the label.
pub trait Layout: Sized {
    const INDEX_BITS: u32;
    const GENERATION_BITS: u32;
    /// The first chunk has 2^n slots, each further one twice as many.
    const FIRST_CHUNK_BITS: u32;

    const BITS: u32 = INDEX_SHIFT + Self::INDEX_BITS + Self::GENERATION_BITS;
    const GENERATION_MASK: u64 = u64::MAX >> (u64::BITS - Self::GENERATION_BITS);
    const INDEX_MASK: u64 = (1 << Self::INDEX_BITS) - 1;
    const CHUNKS: u32 = Self::INDEX_BITS - Self::FIRST_CHUNK_BITS;

    #[inline]
    fn pack(label: Label, place: Place) -> u64 {
        let above = place.generation << Self::INDEX_BITS | u64::from(place.index);
        above << INDEX_SHIFT | label.0
    }

    /// `None` for what [`Layout::pack`] never makes with this label.
    #[inline]
    fn unpack(label: Label, raw: u64) -> Option<Place> {
        let generation = raw >> (INDEX_SHIFT + Self::INDEX_BITS);
        if raw & LABEL_MASK != label.0 || generation > Self::GENERATION_MASK {
            return None;
        }
        let index = (raw >> INDEX_SHIFT & Self::INDEX_MASK) as u32;
        Some(Place { index, generation })
    }
}

/// For 64-bit machines: 24 bits of index, 36 of generation.
#[cfg(any(all(test, not(feature = "loom")), target_pointer_width = "64"))]
#[derive(Debug)]
pub struct Wide;

#[cfg(any(all(test, not(feature = "loom")), target_pointer_width = "64"))]
impl Layout for Wide {
    const INDEX_BITS: u32 = 24;
    const GENERATION_BITS: u32 = 36;
    const FIRST_CHUNK_BITS: u32 = 6;
}

/// For 32-bit machines: 14 bits of index, 14 of generation, so a slot is reused 16,383 times before a handle returns.
#[cfg(any(all(test, not(feature = "loom")), target_pointer_width = "32"))]
#[derive(Debug)]
pub struct Narrow;

#[cfg(any(all(test, not(feature = "loom")), target_pointer_width = "32"))]
impl Layout for Narrow {
    const INDEX_BITS: u32 = 14;
    const GENERATION_BITS: u32 = 14;
    const FIRST_CHUNK_BITS: u32 = 6;
}

#[cfg(target_pointer_width = "64")]
pub type Native = Wide;
#[cfg(target_pointer_width = "32")]
pub type Native = Narrow;
