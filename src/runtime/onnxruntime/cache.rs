//! The last values of a slot, so that buffers which take turns need no new ones.

use ort_sys::ONNXTensorElementDataType as EngineDtype;

use crate::base::hint::unlikely;
use crate::base::{Desc, Gather, Result};

/// Places of an address.
const GROUP: usize = 4;

/// Addresses of a group that are remembered without a value.
const SEEN: usize = 8;

/// The position of the value that is not kept.
const PASSING: usize = u32::MAX as usize;

/// So many new addresses in a row, and new ones are the rule.
const RULE: u32 = 128;

/// Of so many then, one is remembered, and waited for as long.
const SPAN: u32 = 64;

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

/// What came lately.
struct Lately {
    /// One of the addresses that were new, which is waited for.
    awaited: usize,
    /// How many new ones came in a row; from `RULE` on, it goes around.
    strangers: u32,
    /// The position of a value that was given away, as `Cache::given` has it.
    given: u32,
}

/// No position.
const NOWHERE: u32 = u32::MAX - 1;

impl Lately {
    const NOTHING: Lately = Lately { awaited: 0, strangers: 0, given: NOWHERE };

    /// Whether the address is new, as far as can be said without a look at those that are known.
    #[inline]
    fn is_new(&mut self, address: usize) -> bool {
        if unlikely(self.strangers < RULE || address == self.awaited) {
            return false;
        }
        self.strangers += 1;
        if unlikely(self.strangers == RULE + SPAN) {
            self.wait_for(address);
        }
        true
    }

    fn wait_for(&mut self, address: usize) {
        (self.awaited, self.strangers) = (address, RULE);
    }

    /// One was found to be new.
    fn add(&mut self, address: usize) {
        self.strangers += 1;
        if self.strangers == RULE {
            self.wait_for(address);
        }
    }
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
        if place.is_none() && !places.has_seen(mixed as u32) && self.lately.strangers < RULE {
            self.lately.add(address);
            return Found::Nothing;
        }
        self.lately.strangers = 0;
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
        self.lately.given = position as u32;
    }

    /// The one that was remembered last.
    pub fn given(&self) -> Option<usize> {
        (self.lately.given != NOWHERE).then_some(self.lately.given as usize)
    }

    pub fn forget_given(&mut self) {
        self.lately.given = NOWHERE;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Dims, Dtype};

    const KNOWN: Known = Known { dtype: EngineDtype::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, bytes: 16 };

    fn floats(dims: &[i64]) -> Desc {
        Desc { dtype: Dtype::F32, dims: Dims::new(dims).unwrap() }
    }

    fn add<V>(cache: &mut Cache<V>, address: usize, desc: Desc, value: V, serial: u64) -> usize {
        match cache.known(&desc) {
            Some(_) => cache.put(address, value, serial),
            None => cache.put_other(address, value, serial, &desc, KNOWN).unwrap(),
        }
    }

    #[test]
    fn a_ring_of_buffers_is_kept() {
        for (room, ring) in [(4, 4), (64, 3), (64, 12), (1, 1)] {
            for distance in [64, 192, 640, 4096, 65536, 640 * 480 * 3, 1920 * 1080 * 3, 16 << 20] {
                let mut cache = Cache::new(room);
                let made = (0..10 * ring).filter(|turn| {
                    let address = 0x1234_5000 + turn % ring * distance;
                    let is_new = cache.find(address).is_none();
                    if is_new {
                        add(&mut cache, address, floats(&[4]), (), *turn as u64 + 1);
                    }
                    is_new
                });
                assert_eq!(made.count(), ring, "{ring} buffers {distance} bytes apart, room for {room}");
            }
        }
    }

    #[test]
    fn the_last_one_is_always_kept_and_what_is_found_is_right() {
        let mut cache = Cache::new(8);
        for turn in 1..1000usize {
            let address = turn.wrapping_mul(0x5678_9abd) & !63;
            assert_eq!(cache.find(address), None);
            let place = add(&mut cache, address, floats(&[4]), address, turn as u64);
            assert_eq!(cache.find(address), Some(place));
            for earlier in 1..turn {
                let address = earlier.wrapping_mul(0x5678_9abd) & !63;
                if let Some(place) = cache.find(address) {
                    assert_eq!(cache.value(place), Some(&address));
                }
            }
        }
        assert_eq!(cache.groups.len(), 8 / GROUP);
    }

    /// What a run does with an address, and whether it makes a value.
    fn lend(cache: &mut Cache<usize>, address: usize, turn: u64) -> bool {
        cache.trust(&floats(&[4]));
        let (position, is_made) = match cache.look(address) {
            Found::Value(position) => (position, false),
            Found::Again => (cache.put(address, address, turn), true),
            Found::Nothing => (cache.pass_next(|_, _| Some(address)).unwrap().0, true),
        };
        assert_eq!(cache.value(position), Some(&address));
        is_made
    }

    #[test]
    fn what_comes_again_is_kept_and_what_does_not_is_not() {
        for distance in [64, 192, 640, 4096, 65536, 640 * 480 * 3, 1920 * 1080 * 3, 16 << 20] {
            let ring = |length: usize| {
                let mut cache = Cache::new(64);
                add(&mut cache, 0, floats(&[4]), 0, 1);
                let at = |turn: usize| 0x1234_5000 + turn % length * distance;
                let mut lend = |turn: &usize| lend(&mut cache, at(*turn), *turn as u64 + 2);
                // once in passing, and then to keep
                let first = (0..2 * length).filter(&mut lend).count();
                let later = (2 * length..10 * length).filter(lend).count();
                let kept = cache.groups.iter().flat_map(|group| group.serials).filter(|serial| *serial != 0).count();
                (first, later, kept)
            };
            for length in [1, 3, 12] {
                assert_eq!(ring(length), (2 * length, 0, length + 1), "{length} buffers {distance} bytes apart");
            }
            if distance.checked_mul(20_000).is_none() {
                // no 32-bit address space has so many
                continue;
            }
            let (first, later, kept) = ring(10_000);
            assert_eq!((first, later), (20_000, 80_000), "{distance} bytes apart");
            assert!(kept < 8, "{kept} are kept of what comes again much later only");
        }
    }

    /// However long every address was new before.
    #[test]
    fn a_ring_after_a_stream_is_kept_again() {
        for stream in [0, 1, 127, 128, 129, 191, 192, 193, 1000, 1001] {
            for length in [1, 2, 3, 12] {
                let mut cache = Cache::new(64);
                add(&mut cache, 0, floats(&[4]), 0, 1);
                for turn in 0..stream {
                    assert!(lend(&mut cache, 0x4000_0000 + turn * 640, turn as u64 + 2), "new, so it has no value");
                }
                let mut made = (0..20 * length)
                    .filter(|turn| lend(&mut cache, 0x1234_5000 + turn % length * 640, (stream + turn) as u64 + 2));
                let last = made.next_back().unwrap();
                let most = RULE as usize + 2 * SPAN as usize + 4 * length;
                assert!(last < most, "the value of turn {last} is new still, after {stream} others, {length} in turn");
            }
        }
    }

    /// Which ones are new is not even asked, but the one that is waited for is recognised.
    #[test]
    fn no_address_of_a_stream_gets_the_value_of_another() {
        let mut cache = Cache::new(64);
        add(&mut cache, 0, floats(&[4]), 0, 1);
        let mut random = 7u64;
        for turn in 0..20_000u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // streams of new ones with some that came lately between them
            let known = turn.saturating_sub(random >> 33 & 127) as usize;
            let address = if random >> 40 & 63 == 0 { known * 64 } else { turn as usize * 64 };
            lend(&mut cache, address, turn + 2);
            assert!(cache.groups.len() == 64 / GROUP && cache.given().is_none());
        }
    }

    #[test]
    fn any_address_can_be_used() {
        for address in [0, 1, usize::MAX - 1, usize::MAX] {
            let mut cache = Cache::new(4);
            add(&mut cache, address ^ 64, floats(&[0]), (), 1);
            assert_eq!(cache.find(address), None);
            let place = add(&mut cache, address, floats(&[0]), (), 2);
            assert_eq!(cache.find(address), Some(place));
        }
    }

    #[test]
    fn values_are_only_for_what_they_describe() {
        let mut cache = Cache::new(4);
        assert!(cache.known(&floats(&[4, 4])).is_none() && cache.find(0).is_none());
        add(&mut cache, 64, floats(&[4, 4]), 1, 1);
        assert_eq!(cache.known(&floats(&[4, 4])).map(|known| known.bytes), Some(16));
        let other = Desc { dtype: Dtype::I32, ..floats(&[4, 4]) };
        for desc in [floats(&[4]), floats(&[2, 8]), floats(&[4, 4, 1]), other] {
            assert!(cache.known(&desc).is_none(), "{desc}");
        }
        add(&mut cache, 128, other, 2, 2);
        assert_eq!(cache.find(64), None, "it described something else");
        assert_eq!(cache.find(128).map(|place| cache.value(place)), Some(Some(&2)));
        assert_eq!(cache.desc(), Some(&other));
    }
}
