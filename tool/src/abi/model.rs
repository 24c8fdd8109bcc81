//! Models and what they say about their slots.

use std::ffi::{CStr, OsStr, c_char};
use std::path::Path;
use std::ptr::{null, null_mut};

use zerobind::ffi::api::*;

use super::{Desc, Result, RuntimeKind, Slot, c_string, check, get_text, text_at, zeroed_struct};

pub struct Model {
    pub(super) handle: *mut zb_model,
}

/// Description of a slot.
#[derive(Clone, Debug)]
pub struct SlotInfo {
    pub name: String,
    pub desc: Desc,
    /// In bytes; 0 while a dimension is open.
    pub size: u64,
    /// Bits of ZB_SLOT_.
    pub flags: u32,
    /// One for each dimension, "" where it has none; empty if none has.
    pub dim_names: Vec<String>,
    pub quantization: Quantization,
}

/// Real value = scale * (stored value - zero point); one pair, or one for each index of an axis.
#[derive(Clone, Debug, Default)]
pub struct Quantization {
    pub scales: Vec<f32>,
    pub zero_points: Vec<i32>,
    pub axis: Option<i32>,
}

impl Model {
    /// `max_tensor_bytes` of 0 is the library's own limit.
    pub fn open(path: &Path, runtime: Option<RuntimeKind>, max_tensor_bytes: u64) -> Result<Model> {
        let mut options = zeroed_struct!(zb_model_options);
        options.runtime = runtime.map_or(ZB_RUNTIME_AUTO, RuntimeKind::number);
        options.max_tensor_bytes = max_tensor_bytes;
        let (path, mut handle) = (c_string(path.as_os_str(), "path")?, null_mut());
        // SAFETY: a NUL-terminated path, options with their size set, and a place for the handle.
        check(unsafe { zb_model_open(path.as_ptr(), &options, &mut handle) })?;
        Ok(Model { handle })
    }

    pub fn runtime(&self) -> Result<RuntimeKind> {
        let mut number = 0;
        // SAFETY: a place for the number.
        check(unsafe { zb_model_get_runtime(self.handle, &mut number) })?;
        Ok(RuntimeKind::from_number(number))
    }

    /// The slots in the order of the model, inputs first.
    pub fn slots(&self) -> Result<Vec<Slot>> {
        let (mut inputs, mut outputs) = (0, 0);
        // SAFETY: places for both numbers.
        check(unsafe { zb_model_get_slot_counts(self.handle, &mut inputs, &mut outputs) })?;
        Ok((0..inputs).map(Slot::Input).chain((0..outputs).map(Slot::Output)).collect())
    }

    pub fn slot_info(&self, slot: Slot) -> Result<SlotInfo> {
        let mut info = zeroed_struct!(zb_slot_info);
        // SAFETY: a struct with its size set.
        check(unsafe { zb_model_get_slot_info(self.handle, slot.number(), &mut info) })?;
        // SAFETY: what was given lives as long as the handle.
        Ok(unsafe { SlotInfo::from_c(&info) })
    }

    pub fn find_input(&self, name: &OsStr) -> Result<Slot> {
        let (name, mut slot) = (c_string(name, "name")?, 0);
        // SAFETY: a NUL-terminated name and a place for the slot.
        check(unsafe { zb_model_find_input(self.handle, name.as_ptr(), &mut slot) })?;
        Ok(Slot::Input(slot))
    }

    pub fn find_output(&self, name: &OsStr) -> Result<Slot> {
        let (name, mut slot) = (c_string(name, "name")?, 0);
        // SAFETY: as above.
        check(unsafe { zb_model_find_output(self.handle, name.as_ptr(), &mut slot) })?;
        Ok(Slot::Output(slot & !Slot::Output(0).number()))
    }

    pub fn metadata_keys(&self) -> Result<Vec<String>> {
        Ok(self.metadata(c"zerobind.keys")?.lines().map(str::to_owned).collect())
    }

    pub fn metadata_of(&self, key: &str) -> Result<String> {
        self.metadata(&c_string(OsStr::new(key), "metadata key")?)
    }

    fn metadata(&self, key: &CStr) -> Result<String> {
        get_text(|buffer, capacity, needed| {
            // SAFETY: a NUL-terminated key, and a buffer of the size that is told.
            unsafe { zb_model_get_metadata(self.handle, key.as_ptr(), buffer, capacity, needed) }
        })
    }

    pub fn signatures(&self) -> Result<Vec<String>> {
        let mut count = 0;
        // SAFETY: a place for the number.
        check(unsafe { zb_model_get_signature_count(self.handle, &mut count) })?;
        (0..count).map(|index| self.signature(index)).collect()
    }

    fn signature(&self, index: u32) -> Result<String> {
        let mut key: *const c_char = null();
        // SAFETY: a place for the pointer.
        check(unsafe { zb_model_get_signature_key(self.handle, index, &mut key) })?;
        // SAFETY: the key lives as long as the handle.
        Ok(unsafe { text_at(key) }.unwrap_or_default())
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        zb_model_destroy(self.handle);
    }
}

impl SlotInfo {
    /// # Safety
    /// What the library put into `info` is still alive.
    pub(super) unsafe fn from_c(info: &zb_slot_info) -> SlotInfo {
        let rank = info.desc.rank as usize;
        // SAFETY: the header says how many there are of each.
        let (name, names, scales, zero_points) = unsafe {
            let count = info.quantization_count as usize;
            (
                text_at(info.name),
                copied(info.dim_names, rank),
                copied(info.scales, count),
                copied(info.zero_points, count),
            )
        };
        // SAFETY: each is a string of the model.
        let dim_names = names.into_iter().map(|name| unsafe { text_at(name) }.unwrap_or_default()).collect();
        let axis = (info.quantization == ZB_QUANTIZATION_PER_AXIS).then_some(info.quantization_axis);
        SlotInfo {
            name: name.unwrap_or_default(),
            desc: Desc::from_c(&info.desc),
            size: info.size,
            flags: info.flags,
            dim_names,
            quantization: Quantization { scales, zero_points, axis },
        }
    }
}

/// # Safety
/// `pointer` is NULL or points to `count` values.
unsafe fn copied<T: Copy>(pointer: *const T, count: usize) -> Vec<T> {
    if pointer.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(pointer, count) }.to_vec()
}
