//! The last values of a slot, so that buffers which take turns need no new ones.

use ort_sys::ONNXTensorElementDataType as EngineDtype;

use crate::base::{Desc, Result, fail};

/// Places of an address.
const GROUP: usize = 4;

/// Values of one description, by address.
///
/// Addresses are compared and never followed: memory that is gone may come back at the same place as something else, and is
/// then described by the same value.
///
/// An address has a few places where its value can be, so it is found at once, however many there are; one more that has the
/// same places takes that of the oldest.
pub struct Cache<V> {
    groups: usize,
    entries: Vec<[Entry<V>; GROUP]>,
    described: Option<Described>,
}

/// What every value of a cache describes.
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

pub struct Entry<V> {
    address: usize,
    /// Distinguishes all values that a context ever made, also those at the same address of the engine's heap. 0: none here.
    pub serial: u64,
    pub value: Option<V>,
}

impl<V> Entry<V> {
    /// Every address can be a host's: one without bytes lies anywhere.
    #[inline]
    fn is_for(&self, address: usize) -> bool {
        self.address == address && self.serial != 0
    }
}

impl<V> Cache<V> {
    /// One with room for `room` values, and for `GROUP` at least. It takes its memory with the first.
    pub fn new(room: usize) -> Cache<V> {
        Cache { groups: room.div_ceil(GROUP).max(1), entries: Vec::new(), described: None }
    }

    #[inline]
    pub fn entry(&self, position: usize) -> &Entry<V> {
        &self.entries[position / GROUP][position % GROUP]
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

    /// The value for an address.
    #[inline]
    pub fn find(&self, address: usize) -> Option<usize> {
        let group = self.group(address);
        let places = self.entries.get(group)?;
        for (place, entry) in places.iter().enumerate() {
            if entry.is_for(address) {
                return Some(GROUP * group + place);
            }
        }
        None
    }

    /// Puts in the value for an address that has none, of the description of those that are here.
    #[inline]
    pub fn put(&mut self, address: usize, value: V, serial: u64) -> usize {
        let group = self.group(address);
        let places = &mut self.entries[group];
        let mut oldest = 0;
        for place in 1..GROUP {
            if places[place].serial < places[oldest].serial {
                oldest = place;
            }
        }
        places[oldest] = Entry { address, serial, value: Some(value) };
        GROUP * group + oldest
    }

    /// Lets all go and puts in the first value of another description. On failure nothing changes.
    #[cold]
    pub fn put_other(&mut self, address: usize, value: V, serial: u64, desc: &Desc, known: Known) -> Result<usize> {
        if self.entries.is_empty() && self.entries.try_reserve_exact(self.groups).is_err() {
            return fail!(OutOfMemory, "no memory for a list of {} values", GROUP * self.groups);
        }
        // in place: a sequence that grows comes here in every run
        self.entries.clear();
        self.entries.resize_with(self.groups, || std::array::from_fn(|_| Entry { address: 0, serial: 0, value: None }));
        self.described = Some(Described { desc: *desc, known });
        Ok(self.put(address, value, serial))
    }

    /// Spreads addresses evenly, above all those at equal distances.
    #[inline]
    fn group(&self, address: usize) -> usize {
        let mixed = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        ((mixed * self.groups as u64) >> 32) as usize
    }
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
                    assert_eq!(cache.entry(place).value, Some(address));
                }
            }
        }
        assert_eq!(cache.entries.len(), 8 / GROUP);
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
        assert_eq!(cache.find(128).map(|place| cache.entry(place).value), Some(Some(2)));
        assert_eq!(cache.desc(), Some(&other));
    }
}
