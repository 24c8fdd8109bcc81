//! What is attached to the slots of one side, as values that a run takes.

use ort_sys::OrtValue;

use super::cache::{Cache, Found};
use super::owned::Owned;
use super::value::{self, ValueMaker};
use crate::base::room::filled;
use crate::base::{Desc, Gather, Result};
use crate::memory::{Access, HostRange};
use crate::runtime::{OutputView, Stay};

/// The slots of one side that the engine is told of: one line of the processor's cache.
#[repr(align(64))]
pub struct Ports {
    ports: Vec<Port>,
    /// The values in the order of the slots; null where nothing is attached, unless a run puts one of the engine's there.
    values: Vec<*mut OrtValue>,
    attached: u32,
    sticky: u32,
    /// With memory for one run.
    lent: u32,
    /// With memory for the run that begins or is in progress, and nothing attached. A run that is lent every slot counts none.
    passing: u32,
}

struct Port {
    cache: Cache<Owned<OrtValue>>,
    attached: Option<Attached>,
    /// What was there for the last run only, unless the cache has a position that was given.
    ended: Option<Attached>,
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
    fn new(room: usize) -> Port {
        Port { cache: Cache::new(room), attached: None, ended: None, changed: 0 }
    }

    /// The place in the cache of a value over memory, which is made if there is none, and kept.
    ///
    /// `check` looks at the description against the model. It is skipped for one that passed before.
    fn value_over(
        &mut self,
        maker: &ValueMaker,
        memory: &HostRange,
        desc: &Desc,
        now: u64,
        check: impl FnOnce() -> Result<()>,
    ) -> Result<usize> {
        let address = memory.data() as usize;
        if let Some(known) = self.cache.known(desc) {
            return match self.cache.find(address) {
                Some(position) if memory.size() >= known.bytes => Ok(position),
                // of too small memory as well, which is refused there
                _ => Ok(self.cache.put(address, value::over(maker, memory, desc, known)?, now)),
            };
        }
        check()?;
        self.make_other(maker, memory, desc, now)
    }

    /// The same for one run, with a description that changes with the plan only.
    fn value_for_a_run(
        &mut self,
        maker: &ValueMaker,
        memory: &HostRange,
        desc: &Desc,
        now: u64,
        check: impl FnOnce() -> Result<()>,
    ) -> Result<usize> {
        let Some(known) = self.cache.trusted() else {
            let position = self.value_over(maker, memory, desc, now, check)?;
            self.cache.trust(desc);
            return Ok(position);
        };
        let address = memory.data() as usize;
        match self.cache.look(address) {
            Found::Value(position) if memory.size() >= known.bytes => Ok(position),
            // of too small memory as well, which is refused there
            _ => Ok(self.cache.put(address, value::over(maker, memory, desc, known)?, now)),
        }
    }

    /// The same with the value, where there is nothing to be said about it. It is not to be kept, unless one for this address
    /// was made lately: then the other way does that.
    #[inline]
    fn value_at_once(&mut self, maker: &ValueMaker, memory: &HostRange) -> Option<(usize, *mut OrtValue)> {
        let data = memory.data();
        if data.is_null() || memory.size() < self.cache.trusted()?.bytes {
            return None;
        }
        match self.cache.look(data as usize) {
            Found::Nothing => {
                // SAFETY: of the range, which is large enough (compared above); the value is for the run of this loan.
                let make = |desc: &Desc, known| unsafe { maker.create(data, desc.dims.as_slice(), known) }.ok();
                let (position, value) = self.cache.pass_next(make)?;
                Some((position, value.as_ptr()))
            }
            Found::Value(position) => Some((position, self.value_at(position))),
            Found::Again => None,
        }
    }

    /// The first value of another description.
    #[cold]
    fn make_other(&mut self, maker: &ValueMaker, memory: &HostRange, desc: &Desc, now: u64) -> Result<usize> {
        let known = value::known(desc)?;
        let value = value::over(maker, memory, desc, known)?;
        self.cache.put_other(memory.data() as usize, value, now, desc, known)
    }

    fn set_ended(&mut self, ended: Option<Attached>) {
        self.cache.forget_given();
        self.ended = ended;
    }

    /// The value at a place in the cache; null where none is.
    #[inline]
    fn value_at(&self, position: usize) -> *mut OrtValue {
        self.cache.value(position).map_or(std::ptr::null_mut(), Owned::as_ptr)
    }
}

/// Values that the slots of a side keep in all, a hundred bytes or a few each, and the most of one slot: a ring of buffers in
/// use has seldom more.
const ROOM: usize = 256;
const ROOM_OF_ONE: usize = 64;

impl Ports {
    pub fn new(count: usize) -> Result<Ports> {
        let room = (ROOM / count.max(1)).clamp(4, ROOM_OF_ONE);
        let ports = (0..count).map(|_| Port::new(room)).gather()?;
        Ok(Ports { ports, values: filled(std::ptr::null_mut(), count)?, attached: 0, sticky: 0, lent: 0, passing: 0 })
    }

    pub fn len(&self) -> usize {
        self.ports.len()
    }

    /// Attaches memory at time `now`, in the place of what was attached before; on failure all is as it was. `check` looks at
    /// the description against the model.
    #[inline]
    pub fn attach(
        &mut self,
        maker: &ValueMaker,
        index: usize,
        new: New<'_>,
        now: u64,
        check: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let port = &mut self.ports[index];
        let position = port.value_over(maker, &new.memory, new.desc, now, check)?;
        port.changed = now;
        port.cache.doubt();
        port.set_ended(None);
        self.values[index] = port.value_at(position);
        let before = port.attached.replace(Attached { memory: new.memory, stay: new.stay, position });
        self.count_out(before);
        self.attached += 1;
        self.sticky += u32::from(new.stay == Stay::Sticky);
        self.lent += u32::from(new.stay == Stay::OneRun);
        Ok(())
    }

    /// Has the next run use memory for a slot where nothing is attached.
    pub fn pass(
        &mut self,
        maker: &ValueMaker,
        index: usize,
        new: New<'_>,
        now: u64,
        check: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let port = &mut self.ports[index];
        let position = port.value_for_a_run(maker, &new.memory, new.desc, now, check)?;
        let value = port.value_at(position);
        port.set_ended(Some(Attached { memory: new.memory, stay: new.stay, position }));
        self.values[index] = value;
        Ok(())
    }

    /// The same where nothing is to be looked at but the memory; else it does nothing.
    #[inline]
    pub fn pass_at_once(&mut self, maker: &ValueMaker, index: usize, memory: &HostRange) -> bool {
        let (Some(port), Some(place)) = (self.ports.get_mut(index), self.values.get_mut(index)) else { return false };
        let Some((position, value)) = port.value_at_once(maker, memory) else { return false };
        port.cache.give(position);
        *place = value;
        true
    }

    /// One more slot was passed memory, for a run in which others are not.
    pub fn count_pass(&mut self) {
        self.passing += 1;
    }

    /// That run is over, or does not happen.
    pub fn end_pass(&mut self, index: usize) {
        self.values[index] = std::ptr::null_mut();
        self.passing -= 1;
    }

    /// A run is over to which memory was passed for every slot, or it does not happen.
    pub fn forget_passed(&mut self) {
        self.values.fill(std::ptr::null_mut());
    }

    #[inline]
    fn count_out(&mut self, before: Option<Attached>) {
        if let Some(before) = before {
            self.attached -= 1;
            self.sticky -= u32::from(before.stay == Stay::Sticky);
            self.lent -= u32::from(before.stay == Stay::OneRun);
        }
    }

    /// Takes away what is attached, if anything. The value stays in the cache, where nothing uses it.
    pub fn detach(&mut self, index: usize, now: u64) {
        let port = &mut self.ports[index];
        port.set_ended(None);
        port.changed = now;
        port.cache.doubt();
        if let Some(attached) = port.attached.take() {
            self.values[index] = std::ptr::null_mut();
            self.count_out(Some(attached));
        }
    }

    #[inline]
    pub fn has_loans(&self) -> bool {
        self.lent != 0
    }

    /// Takes away what was attached for the run that is over. It is still told where that was.
    pub fn end_loans(&mut self, now: u64) {
        for (port, value) in self.ports.iter_mut().zip(&mut self.values) {
            if port.attached.is_some_and(|attached| attached.stay == Stay::OneRun) {
                let ended = port.attached.take();
                port.set_ended(ended);
                port.changed = now;
                *value = std::ptr::null_mut();
            }
        }
        self.attached -= self.lent;
        self.lent = 0;
    }

    /// A run begins: loans of the one before are not what it is about, those of its own are.
    pub fn forget_ended(&mut self) {
        let unused = self.ports.iter_mut().zip(&self.values).filter(|(_, value)| value.is_null());
        unused.for_each(|(port, _)| port.set_ended(None));
    }

    /// The value that a slot was lent for the last run, and whether there is anything behind it.
    pub fn ended(&self, index: usize) -> Option<(*mut OrtValue, bool)> {
        let port = &self.ports[index];
        if let Some(position) = port.cache.given() {
            return Some((port.value_at(position), true));
        }
        let ended = port.ended?;
        Some((port.value_at(ended.position), !ended.memory.data().is_null()))
    }

    /// After a run that failed: the memory that a slot was passed for it.
    #[cold]
    pub fn note_passed(&mut self, index: usize, memory: HostRange) {
        let port = &mut self.ports[index];
        if let Some(position) = port.cache.given() {
            port.set_ended(Some(Attached { memory, stay: Stay::OneRun, position }));
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
    fn desc(&self, index: usize) -> Option<Desc> {
        let port = &self.ports[index];
        port.attached.and_then(|_| port.cache.desc().copied())
    }

    /// What the memory of a slot in the run that ended just now was said to hold.
    pub fn promised(&self, index: usize) -> Option<(Desc, HostRange)> {
        let port = &self.ports[index];
        let given = port.attached.or(port.ended)?;
        Some((*port.cache.desc()?, given.memory))
    }

    /// The number of the attached value among all of its context.
    pub fn serial(&self, index: usize) -> Option<u64> {
        let port = &self.ports[index];
        Some(port.cache.serial(port.attached?.position))
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

    /// For the next run.
    pub fn are_all_attached(&self) -> bool {
        (self.attached + self.passing) as usize == self.ports.len()
    }

    pub fn is_any_attached(&self) -> bool {
        self.attached != 0
    }

    pub fn are_all_sticky(&self) -> bool {
        self.sticky as usize == self.ports.len()
    }

    pub fn first_without(&self) -> Option<usize> {
        if self.are_all_attached() {
            return None;
        }
        self.values.iter().position(|value| value.is_null())
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
