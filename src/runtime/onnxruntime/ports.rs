//! What is attached to the slots of one side, as values that a run takes.

use ort_sys::OrtValue;

use super::cache::{Cache, Key};
use super::load::Engine;
use super::owned::Owned;
use super::value;
use crate::base::{Desc, Result};
use crate::memory::{Access, HostRange};
use crate::runtime::{OutputView, Stay};

/// The slots of one side that the engine is told of.
pub struct Ports {
    ports: Vec<Port>,
    /// The values in the order of the slots; null where nothing is attached, unless somebody puts one there.
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

pub struct Attached {
    pub memory: HostRange,
    pub desc: Desc,
    /// The value's own number.
    pub serial: u64,
    stay: Stay,
    position: usize,
}

impl Attached {
    pub fn is_empty(&self) -> bool {
        self.desc.byte_size().is_ok_and(|size| size == 0)
    }

    /// The elements, where the host has them.
    pub fn view(&self) -> Result<OutputView> {
        let size = usize::try_from(self.desc.byte_size()?).unwrap_or(usize::MAX).min(self.memory.size());
        // SAFETY: a part of memory that was promised for as long as it is attached, for reading only.
        let memory = unsafe { HostRange::new(self.memory.data(), size, self.memory.capacity(), Access::ReadOnly) };
        Ok(OutputView { memory, desc: self.desc })
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

    /// Attaches memory at time `now`; on failure the port is as it was. What was attached before is gone.
    pub fn attach(
        &mut self,
        engine: &Engine,
        index: usize,
        memory: HostRange,
        desc: &Desc,
        stay: Stay,
        now: u64,
    ) -> Result<()> {
        let port = &mut self.ports[index];
        let key = Key::new(&memory, desc);
        let position = match port.cache.find(&key) {
            Some(position) => position,
            None => {
                let in_use = port.attached.as_ref().map(|attached| attached.position);
                port.cache.add(key, value::over(engine, memory, desc)?, now, in_use)
            }
        };
        self.detach(index, now);
        let port = &mut self.ports[index];
        let entry = port.cache.entry(position);
        self.values[index] = entry.value.as_ptr();
        port.attached = Some(Attached { memory, desc: *desc, serial: entry.serial, stay, position });
        self.attached += 1;
        self.sticky += usize::from(stay == Stay::Sticky);
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

    pub fn get(&self, index: usize) -> Option<&Attached> {
        self.ports[index].attached.as_ref()
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

    pub fn first_without(&self) -> Option<usize> {
        if self.are_all_attached() {
            return None;
        }
        self.ports.iter().position(|port| port.attached.is_none())
    }

    pub fn are_all_sticky(&self) -> bool {
        self.sticky == self.ports.len()
    }

    /// Takes out a value that somebody else put in the place of a slot where nothing is attached.
    pub fn take_foreign(&mut self, index: usize) -> Option<*mut OrtValue> {
        let is_foreign = self.ports[index].attached.is_none() && !self.values[index].is_null();
        is_foreign.then(|| std::mem::replace(&mut self.values[index], std::ptr::null_mut()))
    }
}
