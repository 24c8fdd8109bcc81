//! The last few values of a slot, so that buffers which take turns need no new ones.

use crate::base::Desc;
use crate::memory::HostRange;

/// Enough for double and triple buffering, few enough to be searched in a fraction of the time that a new value takes.
const ROOM: usize = 4;

/// Values by what they describe. A value stays at its position until it is replaced.
///
/// Addresses are compared and never followed: memory that is gone may come back at the same place as something else, and is
/// then described by the same value. They lie side by side, since after a run little of this is in the processor's cache.
pub struct Cache<V> {
    addresses: [usize; ROOM],
    sizes: [usize; ROOM],
    entries: Vec<Entry<V>>,
    oldest: usize,
}

pub struct Entry<V> {
    pub desc: Desc,
    /// Bytes that the description takes.
    bytes: usize,
    pub value: V,
    /// Distinguishes all values that a context ever made, also those at the same address of the engine's heap.
    pub serial: u64,
}

impl<V> Cache<V> {
    pub fn new() -> Cache<V> {
        Cache { addresses: [0; ROOM], sizes: [0; ROOM], entries: Vec::with_capacity(ROOM), oldest: 0 }
    }

    pub fn entry(&self, position: usize) -> &Entry<V> {
        &self.entries[position]
    }

    pub fn find(&self, memory: &HostRange, desc: &Desc) -> Option<usize> {
        let (address, size) = (memory.data() as usize, memory.size());
        self.entries.iter().enumerate().position(|(position, entry)| {
            self.addresses[position] == address && self.sizes[position] == size && is_same(&entry.desc, desc)
        })
    }

    /// Where the next value goes: once there is no room, in the place of the oldest, except of the one in use.
    pub fn place(&self, in_use: Option<usize>) -> usize {
        match self.entries.len() {
            ROOM if in_use == Some(self.oldest) => (self.oldest + 1) % ROOM,
            ROOM => self.oldest,
            free => free,
        }
    }

    /// The bytes that a description takes, if what is or was at a place is described the same way.
    pub fn known_bytes(&self, place: usize, desc: &Desc) -> Option<usize> {
        let entry = self.entries.get(place)?;
        is_same(&entry.desc, desc).then_some(entry.bytes)
    }

    /// Puts a value where `place` says.
    pub fn put(&mut self, place: usize, memory: &HostRange, entry: New<'_, V>) {
        let New { desc, bytes, value, serial } = entry;
        self.addresses[place] = memory.data() as usize;
        self.sizes[place] = memory.size();
        let Some(entry) = self.entries.get_mut(place) else {
            self.entries.push(Entry { desc: *desc, bytes, value, serial });
            return;
        };
        if !is_same(&entry.desc, desc) {
            entry.desc = *desc;
            entry.bytes = bytes;
        }
        entry.value = value;
        entry.serial = serial;
        self.oldest = (place + 1) % ROOM;
    }
}

/// An entry to be put somewhere; the description is copied only where it differs from what is there.
pub struct New<'a, V> {
    pub desc: &'a Desc,
    pub bytes: usize,
    pub value: V,
    pub serial: u64,
}

/// Dimensions one by one: there are few, and comparing or copying all 16 costs more than everything else here.
fn is_same(a: &Desc, b: &Desc) -> bool {
    a.dtype == b.dtype && a.dims.as_slice().iter().eq(b.dims.as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Dims, Dtype};
    use crate::memory::Access;

    fn at(address: usize, size: usize) -> HostRange {
        // SAFETY: the range is only numbers here; nothing is read or written.
        unsafe { HostRange::new(address as *mut _, size, size, Access::ReadOnly) }
    }

    fn floats(dims: &[i64]) -> Desc {
        Desc { dtype: Dtype::F32, dims: Dims::new(dims).unwrap() }
    }

    fn add<V>(cache: &mut Cache<V>, memory: HostRange, desc: Desc, value: V, in_use: Option<usize>) -> usize {
        let place = cache.place(in_use);
        let bytes = desc.memory_size().unwrap();
        cache.put(place, &memory, New { desc: &desc, bytes, value, serial: 1 });
        place
    }

    #[test]
    fn the_last_few_are_kept_and_the_one_in_use_always() {
        let desc = floats(&[4]);
        let mut cache = Cache::new();
        let first = add(&mut cache, at(64, 16), desc, "first", None);
        for turn in 2..20 {
            let memory = at(64 * turn, 16);
            assert_eq!(cache.find(&memory, &desc), None);
            let position = add(&mut cache, memory, desc, "other", Some(first));
            assert_eq!(cache.find(&memory, &desc), Some(position));
            assert_eq!(cache.find(&at(64, 16), &desc), Some(first));
            assert_eq!(cache.entry(first).value, "first");
        }
        for recent in 17..20 {
            assert!(cache.find(&at(64 * recent, 16), &desc).is_some(), "{recent}");
        }
    }

    #[test]
    fn a_value_is_only_for_what_it_describes() {
        let mut cache = Cache::new();
        let place = add(&mut cache, at(64, 64), floats(&[4, 4]), (), None);
        assert!(cache.find(&at(64, 64), &floats(&[4, 4])).is_some());
        assert_eq!(cache.known_bytes(place, &floats(&[4, 4])), Some(64));
        assert_eq!(cache.known_bytes(place + 1, &floats(&[4, 4])), None);
        assert_eq!(cache.known_bytes(place, &floats(&[4])), None);
        for (memory, desc) in [
            (at(128, 64), floats(&[4, 4])),
            (at(64, 60), floats(&[4, 4])),
            (at(64, 64), floats(&[2, 8])),
            (at(64, 64), floats(&[4, 4, 1])),
            (at(64, 64), Desc { dtype: Dtype::I32, ..floats(&[4, 4]) }),
        ] {
            assert!(cache.find(&memory, &desc).is_none(), "{memory:?} {desc}");
        }
    }

    #[test]
    fn a_replaced_value_leaves_nothing_behind() {
        let mut cache = Cache::new();
        for turn in 1..=8 {
            add(&mut cache, at(64 * turn, 64), floats(&[turn as i64]), turn, None);
        }
        for turn in 5..=8 {
            let place = cache.find(&at(64 * turn, 64), &floats(&[turn as i64])).unwrap();
            assert_eq!(cache.entry(place).value, turn);
        }
        assert_eq!(cache.find(&at(64, 64), &floats(&[1])), None);
    }
}
