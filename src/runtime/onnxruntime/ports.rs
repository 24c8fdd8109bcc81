//! What is attached to the slots of one side, as values that a run takes.

use ort_sys::OrtValue;

use super::cache::{self, Cache, Entry};
use super::load::Engine;
use super::owned::Owned;
use super::value;
use crate::base::{Desc, Result};
use crate::memory::{Access, HostRange};
use crate::runtime::{OutputView, Stay};

/// The slots of one side that the engine is told of.
pub struct Ports {
    ports: Vec<Port>,
    /// The values in the order of the slots; null where nothing is attached, unless a run puts one of the engine's there.
    values: Vec<*mut OrtValue>,
    attached: usize,
    sticky: usize,
}

struct Port {
    cache: Cache<Owned<OrtValue>>,
    attached: Option<Attached>,
    /// When it was attached or detached last.
    changed: u64,
}

#[derive(Clone, Copy)]
struct Attached {
    memory: HostRange,
    stay: Stay,
    /// Where in the cache its value is.
    position: usize,
}

impl Port {
    /// Makes a value and gives its place in the cache.
    #[inline(never)]
    fn make(&mut self, engine: &Engine, new: New<'_>, now: u64, check: impl FnOnce() -> Result<()>) -> Result<usize> {
        let New { memory, desc, .. } = new;
        let place = self.cache.place(self.attached.map(|attached| attached.position));
        let bytes = match self.cache.known_bytes(place, desc) {
            Some(bytes) => bytes,
            None => {
                check()?;
                desc.memory_size()?
            }
        };
        let value = value::over(engine, memory, desc, bytes)?;
        self.cache.put(place, &memory, cache::New { desc, bytes, value, serial: now });
        Ok(place)
    }
}

impl Ports {
    pub fn new(count: usize) -> Ports {
        let port = || Port { cache: Cache::new(), attached: None, changed: 0 };
        let ports = (0..count).map(|_| port()).collect();
        Ports { ports, values: vec![std::ptr::null_mut(); count], attached: 0, sticky: 0 }
    }

    pub fn len(&self) -> usize {
        self.ports.len()
    }

    /// Attaches memory at time `now`, in the place of what was attached before; on failure all is as it was.
    ///
    /// `check` looks at the description against the model. It is skipped for one that passed a moment ago.
    #[inline]
    pub fn attach(
        &mut self,
        engine: &Engine,
        index: usize,
        new: New<'_>,
        now: u64,
        check: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let port = &mut self.ports[index];
        let position = match port.cache.find(&new.memory, new.desc) {
            Some(position) => position,
            None => port.make(engine, new, now, check)?,
        };
        let value = port.cache.entry(position).value.as_ptr();
        self.detach(index, now);
        self.ports[index].attached = Some(Attached { memory: new.memory, stay: new.stay, position });
        self.values[index] = value;
        self.attached += 1;
        self.sticky += usize::from(new.stay == Stay::Sticky);
        Ok(())
    }

    /// Takes away what is attached, if anything. The value stays in the cache, where nothing uses it.
    pub fn detach(&mut self, index: usize, now: u64) {
        let port = &mut self.ports[index];
        port.changed = now;
        if let Some(attached) = port.attached.take() {
            self.values[index] = std::ptr::null_mut();
            self.attached -= 1;
            self.sticky -= usize::from(attached.stay == Stay::Sticky);
        }
    }

    pub fn is_attached(&self, index: usize) -> bool {
        self.ports[index].attached.is_some()
    }

    /// The memory that is attached to a slot.
    pub fn memory(&self, index: usize) -> Option<HostRange> {
        Some(self.ports[index].attached?.memory)
    }

    /// What the attached memory was said to hold.
    pub fn desc(&self, index: usize) -> Option<Desc> {
        Some(self.entry(index)?.desc)
    }

    /// The number of the attached value among all of its context.
    pub fn serial(&self, index: usize) -> Option<u64> {
        Some(self.entry(index)?.serial)
    }

    fn entry(&self, index: usize) -> Option<&Entry<Owned<OrtValue>>> {
        let port = &self.ports[index];
        Some(port.cache.entry(port.attached?.position))
    }

    /// The elements of attached memory, where the host has them.
    pub fn view(&self, index: usize) -> Result<Option<OutputView>> {
        let (Some(memory), Some(desc)) = (self.memory(index), self.desc(index)) else { return Ok(None) };
        let size = desc.memory_size()?.min(memory.size());
        // SAFETY: a part of memory that was promised for as long as it is attached, for reading only.
        let memory = unsafe { HostRange::new(memory.data(), size, memory.capacity(), Access::ReadOnly) };
        Ok(Some(OutputView { memory, desc }))
    }

    /// The value in force for a slot; null for none.
    pub fn value(&self, index: usize) -> *mut OrtValue {
        self.values[index]
    }

    /// All of them, for the engine to read or, where they are null, to fill in.
    pub fn values(&mut self) -> *mut *mut OrtValue {
        self.values.as_mut_ptr()
    }

    pub fn changed(&self, index: usize) -> u64 {
        self.ports[index].changed
    }

    pub fn are_all_attached(&self) -> bool {
        self.attached == self.ports.len()
    }

    pub fn are_all_sticky(&self) -> bool {
        self.sticky == self.ports.len()
    }

    pub fn first_without(&self) -> Option<usize> {
        if self.are_all_attached() {
            return None;
        }
        self.ports.iter().position(|port| port.attached.is_none())
    }

    /// Takes out a value of the engine's from the place of a slot where nothing is attached.
    pub fn take_made(&mut self, index: usize) -> Option<*mut OrtValue> {
        let is_made = !self.is_attached(index) && !self.values[index].is_null();
        is_made.then(|| std::mem::replace(&mut self.values[index], std::ptr::null_mut()))
    }
}

/// Memory to attach.
#[derive(Clone, Copy)]
pub struct New<'a> {
    pub memory: HostRange,
    pub desc: &'a Desc,
    pub stay: Stay,
}
