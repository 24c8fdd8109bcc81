//! Contexts, with what is bound to them.

use std::ffi::{CString, OsStr};
use std::ptr::{null, null_mut};

use zerobind::ffi::api::*;

use super::{Desc, Model, Result, Slot, SlotInfo, Tensor, c_string, check, text_at, zeroed_struct};

/// A context and the tensors bound to it. Their bytes are reached through it alone, so that nobody looks at them in a run.
pub struct Context {
    handle: *mut zb_context,
    /// By number, inputs first and then outputs; `None` for slots without memory.
    bound: [Vec<Option<Tensor>>; 2],
}

#[derive(Clone, Debug, Default)]
pub struct ContextOptions {
    pub threads: i32,
    pub allow_copies: bool,
    pub profile: bool,
    pub settings: Vec<(String, String)>,
}

pub struct Requirements {
    /// In bytes; 0 when only the run tells.
    pub size: u64,
    pub alignment: u64,
    pub slack: u64,
    /// One of ZB_REBIND_.
    pub rebind: i32,
    /// Bits of ZB_MEMORY_.
    pub memory_kinds: u32,
}

/// What the last run did with the memory of a slot.
pub struct Report {
    /// One of ZB_PATH_.
    pub path: i32,
    pub bytes_copied: u64,
    pub reason: Option<String>,
}

pub struct Stats {
    /// Runs that succeeded.
    pub runs: u64,
    pub bytes_copied: u64,
    pub allocations: u64,
    /// In ns; 0 without `profile`.
    pub last_run_ns: u64,
}

/// Options as the library reads them, with the texts that they point to.
pub(super) struct GivenOptions {
    threads: i32,
    copy_policy: i32,
    flags: u32,
    list: Vec<zb_option>,
    _texts: Vec<(CString, CString)>,
}

impl GivenOptions {
    pub(super) fn new(options: &ContextOptions) -> Result<GivenOptions> {
        let texts = (options.settings.iter())
            .map(|(key, value)| Ok((c_string(OsStr::new(key), "option")?, c_string(OsStr::new(value), "value")?)))
            .collect::<Result<Vec<_>>>()?;
        Ok(GivenOptions {
            threads: options.threads,
            copy_policy: if options.allow_copies { ZB_COPY_ALLOW } else { ZB_COPY_NEVER },
            flags: if options.profile { ZB_CONTEXT_PROFILE } else { 0 },
            list: texts.iter().map(|(key, value)| zb_option { key: key.as_ptr(), value: value.as_ptr() }).collect(),
            _texts: texts,
        })
    }

    /// Good as long as `self` is.
    pub(super) fn get(&self) -> zb_context_options {
        let mut given = zeroed_struct!(zb_context_options);
        given.threads = self.threads;
        given.copy_policy = self.copy_policy;
        given.flags = self.flags;
        given.options = self.list.as_ptr();
        given.option_count = self.list.len();
        given
    }
}

impl Context {
    pub fn new(model: &Model, options: &ContextOptions) -> Result<Context> {
        let given = GivenOptions::new(options)?;
        let mut handle = null_mut();
        // SAFETY: options with their size set, which live until the call returns, and a place for the handle.
        check(unsafe { zb_context_create(model.handle, &given.get(), &mut handle) })?;
        Ok(Context { handle, bound: [Vec::new(), Vec::new()] })
    }

    pub fn resize(&mut self, slot: Slot, dims: &[i64]) -> Result<()> {
        // SAFETY: `dims` are as many as told.
        check(unsafe { zb_context_resize_input(self.handle, slot.number(), dims.as_ptr(), dims.len() as u32) })
    }

    pub fn prepare(&mut self) -> Result<()> {
        check(zb_context_prepare(self.handle))
    }

    pub fn slot_info(&self, slot: Slot) -> Result<SlotInfo> {
        let mut info = zeroed_struct!(zb_slot_info);
        // SAFETY: a struct with its size set.
        check(unsafe { zb_context_get_slot_info(self.handle, slot.number(), &mut info) })?;
        // SAFETY: what was given lives as long as the handle.
        Ok(unsafe { SlotInfo::from_c(&info) })
    }

    /// Type and shape now; after a run, those that were computed.
    pub fn slot_desc(&self, slot: Slot) -> Result<Desc> {
        let mut desc = zb_tensor_desc { dtype: 0, rank: 0, dims: [0; ZB_MAX_RANK] };
        // SAFETY: a place for the desc.
        check(unsafe { zb_context_get_slot_desc(self.handle, slot.number(), &mut desc, null_mut()) })?;
        Ok(Desc::from_c(&desc))
    }

    /// Plans if that is not done.
    pub fn requirements(&mut self, slot: Slot) -> Result<Requirements> {
        let mut given = zeroed_struct!(zb_requirements);
        // SAFETY: a struct with its size set.
        check(unsafe { zb_context_get_requirements(self.handle, slot.number(), &mut given) })?;
        let zb_requirements { size, alignment, slack, rebind, memory_kinds, .. } = given;
        Ok(Requirements { size, alignment, slack, rebind, memory_kinds })
    }

    /// Binds a tensor until the context goes or another takes its place.
    pub fn bind(&mut self, slot: Slot, tensor: Tensor) -> Result<()> {
        check(zb_tensor_bind(tensor.handle, self.handle, slot.number()))?;
        let (side, index) = place(slot);
        let tensors = &mut self.bound[side];
        if tensors.len() <= index {
            tensors.resize_with(index + 1, || None);
        }
        tensors[index] = Some(tensor);
        Ok(())
    }

    /// Binds zeroed memory that is right for the slot.
    pub fn bind_new(&mut self, slot: Slot) -> Result<()> {
        let mut handle = null_mut();
        // SAFETY: a place for the handle.
        check(unsafe { zb_tensor_alloc_for(self.handle, slot.number(), &mut handle) })?;
        // SAFETY: made just now by zb_tensor_alloc_for.
        let tensor = unsafe { Tensor::private(handle) }?;
        self.bind(slot, tensor)
    }

    /// The bytes that [`Context::bind_new`] bound; none for other slots.
    pub fn memory(&self, slot: Slot) -> &[u8] {
        match self.private_memory(slot) {
            // SAFETY: the library's memory, which was zeroed at first and stays as long as the tensor. Nobody else has it,
            // and a run, which writes it, needs this context for itself.
            Some((data, size)) => unsafe { std::slice::from_raw_parts(data, size) },
            None => &[],
        }
    }

    /// The same, to be written.
    pub fn memory_mut(&mut self, slot: Slot) -> &mut [u8] {
        match self.private_memory(slot) {
            // SAFETY: as above, and this borrow excludes every other; no two slots have the same tensor.
            Some((data, size)) => unsafe { std::slice::from_raw_parts_mut(data, size) },
            None => &mut [],
        }
    }

    fn private_memory(&self, slot: Slot) -> Option<(*mut u8, usize)> {
        let (side, index) = place(slot);
        self.bound[side].get(index)?.as_ref()?.memory
    }

    /// Runs once, on this thread.
    pub fn infer(&mut self) -> Result<()> {
        // SAFETY: NULL stands for the defaults; what is bound are tensors of the library's own making.
        check(unsafe { zb_infer(self.handle, null()) })
    }

    /// The bytes of an output of the last run where they lie. Their shape is told by [`Context::slot_desc`].
    pub fn view(&self, slot: Slot) -> Result<&[u8]> {
        let (mut data, mut size) = (null(), 0);
        // SAFETY: places for both; the desc may be left out.
        check(unsafe { zb_context_output_view(self.handle, slot.number(), &mut data, &mut size, null_mut()) })?;
        if size == 0 {
            return Ok(&[]);
        }
        // SAFETY: the view lasts until the next call that takes this context mutably. It is the engine's memory, or that of
        // an input which is passed through; that nobody changes a file in the meantime is the user's word.
        Ok(unsafe { std::slice::from_raw_parts(data.cast(), size) })
    }

    pub fn report(&self, slot: Slot) -> Result<Report> {
        let mut report = zeroed_struct!(zb_binding_report);
        // SAFETY: a struct with its size set.
        check(unsafe { zb_context_get_binding_report(self.handle, slot.number(), &mut report) })?;
        // SAFETY: NULL, or a string that lives as long as the process.
        let reason = unsafe { text_at(report.reason) };
        Ok(Report { path: report.path, bytes_copied: report.bytes_copied, reason })
    }

    pub fn stats(&self) -> Result<Stats> {
        let mut stats = zeroed_struct!(zb_context_stats);
        // SAFETY: a struct with its size set.
        check(unsafe { zb_context_get_stats(self.handle, &mut stats) })?;
        let zb_context_stats { runs, bytes_copied, allocations, last_run_ns, .. } = stats;
        Ok(Stats { runs, bytes_copied, allocations, last_run_ns })
    }
}

fn place(slot: Slot) -> (usize, usize) {
    match slot {
        Slot::Input(index) => (0, index as usize),
        Slot::Output(index) => (1, index as usize),
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        zb_context_destroy(self.handle);
    }
}
