//! The last few values of a slot, so that buffers which take turns need no new ones.

use crate::base::Desc;
use crate::memory::HostRange;

/// Enough for double and triple buffering, few enough to be searched faster than a value is made.
const ROOM: usize = 4;

/// What a value describes. The address is compared and never followed: memory that is gone may come back at the same place
/// as something else, and is then described by the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    address: usize,
    desc: Desc,
}

impl Key {
    pub fn new(memory: &HostRange, desc: &Desc) -> Key {
        Key { address: memory.data() as usize, desc: *desc }
    }
}

/// Values by what they describe. A value stays at its position until it is replaced.
pub struct Cache<V> {
    entries: Vec<Entry<V>>,
    oldest: usize,
}

pub struct Entry<V> {
    key: Key,
    pub value: V,
    /// Distinguishes all values that a context ever made, also those at the same address of the engine's heap.
    pub serial: u64,
}

impl<V> Cache<V> {
    pub fn new() -> Cache<V> {
        Cache { entries: Vec::with_capacity(ROOM), oldest: 0 }
    }

    pub fn entry(&self, position: usize) -> &Entry<V> {
        &self.entries[position]
    }

    pub fn find(&self, key: &Key) -> Option<usize> {
        self.entries.iter().position(|entry| entry.key == *key)
    }

    /// Adds a value and gives its position. Once there is no room, it takes the place of the oldest, except of the one in use.
    pub fn add(&mut self, key: Key, value: V, serial: u64, in_use: Option<usize>) -> usize {
        let entry = Entry { key, value, serial };
        if self.entries.len() < ROOM {
            self.entries.push(entry);
            return self.entries.len() - 1;
        }
        if in_use == Some(self.oldest) {
            self.oldest = (self.oldest + 1) % ROOM;
        }
        let position = self.oldest;
        self.oldest = (position + 1) % ROOM;
        self.entries[position] = entry;
        position
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Dims, Dtype};
    use crate::memory::Access;

    fn key(address: usize, dim: i64) -> Key {
        // SAFETY: the range is only an address here; nothing is read or written.
        let memory = unsafe { HostRange::new(address as *mut _, 64, 64, Access::ReadOnly) };
        Key::new(&memory, &Desc { dtype: Dtype::F32, dims: Dims::new(&[dim]).unwrap() })
    }

    #[test]
    fn the_last_few_are_kept_and_the_one_in_use_always() {
        let mut cache = Cache::new();
        let first = cache.add(key(64, 4), "first", 1, None);
        for turn in 2..20 {
            assert_eq!(cache.find(&key(64 * turn, 4)), None);
            let position = cache.add(key(64 * turn, 4), "other", turn as u64, Some(first));
            assert_eq!(cache.find(&key(64 * turn, 4)), Some(position));
            assert_eq!(cache.find(&key(64, 4)), Some(first));
            assert_eq!(cache.entry(first).value, "first");
        }
        for recent in 17..20 {
            assert!(cache.find(&key(64 * recent, 4)).is_some(), "{recent}");
        }
        assert_eq!(cache.find(&key(64, 5)), None, "another shape is another value");
    }
}
