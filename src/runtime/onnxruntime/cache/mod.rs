//! The last values of a slot, so that buffers which take turns need no new ones.

mod lately;
#[cfg(test)]
mod tests;

use ort_sys::ONNXTensorElementDataType as EngineDtype;

use crate::base::{Desc, Gather, Result};
use lately::Lately;

/// Places of an address.
const GROUP: usize = 4;

/// Addresses of a group that are remembered without a value.
const SEEN: usize = 8;

/// The position of the value that is not kept.
const PASSING: usize = u32::MAX as usize;

/// Values of one description, by address.
///
/// Addresses are compared and never followed: memory that is gone may come back at the same place as something else, and is
/// then described by the same value.
///
/// An address has a few places where its value can be, so it is found at once, however many there are; one more that has the
/// same places takes that of the oldest.
///
/// Where every address is new, values that are kept would only push memory out of the processor's cache, and be given back
/// when they are in none any more. So the first value for an address may be one that only lasts until the next such one. And
/// once new addresses are the rule, even asking which ones are known is too much, so only one of them is waited for: if
/// it comes again soon, others will.
#[repr(C, align(64))]
pub struct Cache<V> {
    // one line of the processor's cache: all that the rule looks at, but for the beginning of the description, in the next
    passing: Option<V>,
    trusted: Option<Known>,
    lately: Lately,
    groups: Box<[Group<V>]>,
    described: Option<Described>,
    room: usize,
}

/// What every value of a cache describes.
#[repr(C)]
struct Described {
    desc: Desc,
    known: Known,
}

/// What follows from a description.
#[derive(Clone, Copy)]
pub struct Known {
    pub dtype: EngineDtype,
    pub bytes: usize,
}

/// Addresses that have the same places. What a look-up looks at comes first, and is one line of the processor's cache.
#[repr(C, align(64))]
struct Group<V> {
    addresses: [usize; GROUP],
    /// What tells addresses of a group apart, of the last ones that had a passing value.
    seen: [u32; SEEN],
    /// They distinguish all values that a context ever made, also those at the same address of the engine's heap. 0: none here.
    serials: [u64; GROUP],
    values: [Option<V>; GROUP],
}

impl<V> Group<V> {
    fn new() -> Group<V> {
        Group { addresses: [0; GROUP], seen: [0; SEEN], serials: [0; GROUP], values: std::array::from_fn(|_| None) }
    }

    /// Every address can be a host's: one without bytes lies anywhere.
    #[inline]
    fn find(&self, address: usize) -> Option<usize> {
        (0..GROUP).find(|place| self.addresses[*place] == address && self.serials[*place] != 0)
    }

    /// Whether this is among those seen lately. From now on it is.
    #[inline]
    fn has_seen(&mut self, tag: u32) -> bool {
        if self.seen.iter().fold(false, |found, seen| found | (*seen == tag)) {
            return true;
        }
        let [a, b, c, d, e, f, g, _] = self.seen;
        self.seen = [tag, a, b, c, d, e, f, g];
        false
    }

    fn oldest(&self) -> usize {
        (1..GROUP).fold(0, |oldest, place| if self.serials[place] < self.serials[oldest] { place } else { oldest })
    }
}

/// What there is for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A value at this position.
    Value(usize),
    /// A passing value lately.
    Again,
    Nothing,
}

impl<V> Cache<V> {
    /// One with room for `room` values, and for `GROUP` at least. It takes its memory with the first.
    pub fn new(room: usize) -> Cache<V> {
        Cache {
            passing: None,
            trusted: None,
            lately: Lately::NOTHING,
            groups: Box::default(),
            described: None,
            room: room.div_ceil(GROUP).max(1),
        }
    }

    /// From now on values are of this description only, if it is that of the values here.
    pub fn trust(&mut self, desc: &Desc) {
        self.trusted = self.known(desc);
    }

    /// From now on the description can be any.
    #[inline]
    pub fn doubt(&mut self) {
        self.trusted = None;
    }

    /// Bytes and the engine's type of all values that come, if that can be said.
    #[inline]
    pub fn trusted(&self) -> Option<Known> {
        self.trusted
    }

    /// The value at a position that was given out, as long as nothing else is there.
    #[inline]
    pub fn value(&self, position: usize) -> Option<&V> {
        if position == PASSING {
            return self.passing.as_ref();
        }
        self.groups[position / GROUP].values[position % GROUP].as_ref()
    }

    /// The serial of the value at a position that was given out by `find` or `put`.
    #[inline]
    pub fn serial(&self, position: usize) -> u64 {
        self.groups[position / GROUP].serials[position % GROUP]
    }

    /// What the values describe, if there are any.
    pub fn desc(&self) -> Option<&Desc> {
        self.described.as_ref().map(|described| &described.desc)
    }

    /// Bytes and the engine's type of a description, if it is that of the values here.
    #[inline]
    pub fn known(&self, desc: &Desc) -> Option<Known> {
        let described = self.described.as_ref()?;
        is_same(&described.desc, desc).then_some(described.known)
    }

    /// The position of the value for an address.
    pub fn find(&self, address: usize) -> Option<usize> {
        let group = group_of(mixed(address), self.groups.len());
        let place = self.groups.get(group)?.find(address)?;
        Some(GROUP * group + place)
    }

    /// The same for a value that is to be kept only if one for this address was made lately. From now on it was.
    ///
    /// Where new addresses are the rule, it takes one that is known for new, at first.
    #[inline]
    pub fn look(&mut self, address: usize) -> Found {
        if self.lately.is_new(address) { Found::Nothing } else { self.look_closely(address) }
    }

    #[inline(never)]
    fn look_closely(&mut self, address: usize) -> Found {
        let mixed = mixed(address);
        let group = group_of(mixed, self.groups.len());
        let Some(places) = self.groups.get_mut(group) else { return Found::Again };
        let place = places.find(address);
        // the lower half differs for all addresses that differ in their lower 32 bits
        if place.is_none() && !places.has_seen(mixed as u32) && !self.lately.are_new() {
            self.lately.add(address);
            return Found::Nothing;
        }
        self.lately.end();
        place.map_or(Found::Again, |place| Found::Value(GROUP * group + place))
    }

    /// Puts in the value for an address that has none, of the description of those that are here.
    pub fn put(&mut self, address: usize, value: V, serial: u64) -> usize {
        let group = group_of(mixed(address), self.groups.len());
        let places = &mut self.groups[group];
        let place = places.oldest();
        places.addresses[place] = address;
        places.serials[place] = serial;
        places.values[place] = Some(value);
        GROUP * group + place
    }

    /// Remembers a position that was given out.
    #[inline]
    pub fn give(&mut self, position: usize) {
        self.lately.give(position);
    }

    /// The one that was remembered last.
    pub fn given(&self) -> Option<usize> {
        self.lately.given()
    }

    pub fn forget_given(&mut self) {
        self.lately.forget_given();
    }

    /// Has a value here that lasts until the next one of its kind, and says where. The one before goes first, so that the new
    /// one may lie where it was; only then `make` is told what values describe, which would have to be kept meanwhile.
    #[inline]
    pub fn pass_next(&mut self, make: impl FnOnce(&Desc, Known) -> Option<V>) -> Option<(usize, &V)> {
        self.passing = None;
        let value = make(&self.described.as_ref()?.desc, self.trusted?)?;
        // nothing is there that would have to be dropped
        std::mem::forget(self.passing.replace(value));
        self.passing.as_ref().map(|value| (PASSING, value))
    }

    /// Lets all go and puts in the first value of another description. On failure nothing changes.
    #[cold]
    pub fn put_other(&mut self, address: usize, value: V, serial: u64, desc: &Desc, known: Known) -> Result<usize> {
        if self.groups.is_empty() {
            self.groups = (0..self.room).map(|_| Group::new()).gather()?.into_boxed_slice();
        } else {
            // in place: a sequence that grows comes here in every run
            self.groups.iter_mut().for_each(|group| *group = Group::new());
        }
        self.passing = None;
        self.trusted = None;
        self.described = Some(Described { desc: *desc, known });
        Ok(self.put(address, value, serial))
    }
}

/// Spreads addresses evenly, above all those at equal distances: by the upper half.
#[inline]
fn mixed(address: usize) -> u64 {
    (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[inline]
fn group_of(mixed: u64, groups: usize) -> usize {
    (((mixed >> 32) * groups as u64) >> 32) as usize
}

/// Dimensions one by one: there are few, and comparing or copying all 16 costs more than everything else here.
fn is_same(a: &Desc, b: &Desc) -> bool {
    a.dtype == b.dtype && a.dims.as_slice().iter().eq(b.dims.as_slice())
}
