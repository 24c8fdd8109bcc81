//! Models.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use super::error_text::copy_text;
use super::guard::guard;
use super::handles::{self, MODELS, ModelEntry};
use super::layout::{zb_model, zb_model_options, zb_release_fn, zb_slot, zb_slot_info, zb_status};
use super::slot_text::ModelText;
use super::{fork, options, pointers, release, slots, versioned};
use crate::base::{Result, Side, SlotInfo, fail};
use crate::core::Model;
use crate::memory::HostBytes;

/// Sets `options` to the defaults; `size` is sizeof(zb_model_options). The same as ZB_MODEL_OPTIONS_INIT.
///
/// Errors: NULL_ARGUMENT, INVALID_ARGUMENT (size).
///
/// # Safety
/// `size` bytes at `options` are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zb_model_options_init(options: *mut zb_model_options, size: usize) -> zb_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { versioned::init(options, size) })
}

/// Opens the model in a file. The file is mapped, not read into memory by zerobind; external data of ONNX models is found
/// next to it. The file must neither shrink nor change until the model handle is destroyed and its last context is gone.
///
/// Reads the model without planning it: a model that cannot be planned at its declared shape opens. The handle put into
/// `*model` is the caller's to destroy; the model itself lives as long as the handle or a context made from it.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_ARGUMENT (options), IO, MODEL_INVALID (damage, SHA-256, not a model),
/// UNSUPPORTED (types or operators that the engine lacks, a tensor over the limit), RUNTIME_UNAVAILABLE, NOT_FOUND (option
/// key), OUT_OF_MEMORY. A damaged model can crash an engine: use sha256 where models come from elsewhere, or try them by
/// zb_model_preflight first.
///
/// # Safety
/// `path` is NUL-terminated; `options` is NULL or has its struct_size set; `model` is writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_model_open(
    path: *const c_char,
    options: *const zb_model_options,
    model: *mut *mut zb_model,
) -> zb_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let path = unsafe { pointers::path(path, "path") }?;
        pointers::check_out(model, "model")?;
        // SAFETY: the caller's promise.
        let options = unsafe { options::read_model(options) }?;
        // SAFETY: not NULL, writable.
        unsafe { publish(Model::open_path(path, options)?, model) }
    })
}

/// Opens the model in `length` bytes of a file at `offset`, such as an asset inside an Android package; `length` 0 means up
/// to the end of the file. The bytes are mapped, not read into memory by zerobind.
///
/// `offset` must be a multiple of 16. The descriptor is duplicated: it stays the caller's to close, and its read position is
/// not touched. The bytes must neither shrink nor change until the model handle is destroyed and its last context is gone
/// (a file cut short can end the process with SIGBUS). A model with external data is UNSUPPORTED: there is no folder for it.
///
/// Any thread. Errors: as zb_model_open, IO (not a descriptor of a file, not open for reading, the file ends before
/// `offset` + `length`), INVALID_ARGUMENT (`offset` + `length` beyond 64 bits), MISALIGNED (`offset`; zb_model_open_bytes_copy
/// takes any), UNSUPPORTED where there are no file descriptors.
///
/// # Safety
/// `options` is NULL or has its struct_size set; `model` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_model_open_fd(
    fd: c_int,
    offset: u64,
    length: u64,
    options: *const zb_model_options,
    model: *mut *mut zb_model,
) -> zb_status {
    guard(|| {
        pointers::check_out(model, "model")?;
        // SAFETY: the caller's promise.
        let options = unsafe { options::read_model(options) }?;
        // SAFETY: not NULL, writable.
        unsafe { publish(Model::open_fd(fd, offset, length, options)?, model) }
    })
}

/// Opens a model in memory of the caller, without copying it. `data` must be a multiple of 16.
///
/// With ZB_OK the bytes pass to the model: they must stay and not change until `release` is called, which happens exactly
/// once, after the model handle is destroyed and its last context is gone. With `release` NULL they must stay that long
/// too. If the call fails, the bytes stay the caller's and `release` is not called.
///
/// Any thread. Errors: as zb_model_open without IO, and MISALIGNED.
///
/// # Safety
/// `size` bytes at `data` are readable, as long as said above.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_model_open_bytes(
    data: *const c_void,
    size: usize,
    release: zb_release_fn,
    user_data: *mut c_void,
    options: *const zb_model_options,
    model: *mut *mut zb_model,
) -> zb_status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { check_bytes(data, size) }?;
        pointers::check_out(model, "model")?;
        // SAFETY: the caller's promise.
        let options = unsafe { options::read_model(options) }?;
        let (release, ownership) = release::pending(release, user_data, data.cast_mut(), size);
        // SAFETY: the caller's promise; `release` is dropped when the bytes are used no more.
        let bytes = unsafe { HostBytes::new(data.cast(), size, release) };
        let handle = insert(Model::open_bytes(bytes, options)?)?;
        // before anybody can know the handle and destroy it
        ownership.pass();
        // SAFETY: not NULL, writable.
        unsafe { model.write(handle) };
        Ok(())
    })
}

/// Opens a model from a copy of the bytes at `data`, which are the caller's again when the call returns. Any alignment.
///
/// Any thread. Errors: as zb_model_open without IO.
///
/// # Safety
/// `size` bytes at `data` are readable during the call.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_model_open_bytes_copy(
    data: *const c_void,
    size: usize,
    options: *const zb_model_options,
    model: *mut *mut zb_model,
) -> zb_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { check_bytes(data, size) }?;
        pointers::check_out(model, "model")?;
        // SAFETY: the caller's promise.
        let options = unsafe { options::read_model(options) }?;
        // SAFETY: not NULL, writable.
        unsafe { publish(Model::open_copy(bytes, options)?, model) }
    })
}

/// Destroys the handle; NULL is fine. Contexts made from the model keep the model itself, so any order is legal.
///
/// Never blocks. Any thread, any callback but the log's. Errors: INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn zb_model_destroy(model: *mut zb_model) -> zb_status {
    guard(|| handles::destroy(&MODELS, model))
}

/// Gives the engine that runs the model: ZB_RUNTIME_TFLITE or ZB_RUNTIME_ONNXRUNTIME.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE.
///
/// # Safety
/// `runtime` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_model_get_runtime(model: *mut zb_model, runtime: *mut i32) -> zb_status {
    guard(|| {
        pointers::check_out(runtime, "runtime")?;
        let id = with_model(model, |entry| Ok(entry.model.runtime().id()))?;
        // SAFETY: not NULL, writable.
        unsafe { runtime.write(id) };
        Ok(())
    })
}

/// Gives the numbers of inputs and outputs; either place may be NULL.
///
/// Any thread. Errors: NULL_ARGUMENT (model), INVALID_HANDLE.
///
/// # Safety
/// `inputs_or_null` and `outputs_or_null` are NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_model_get_slot_counts(
    model: *mut zb_model,
    inputs_or_null: *mut u32,
    outputs_or_null: *mut u32,
) -> zb_status {
    guard(|| {
        let count = |entry: &ModelEntry, side| entry.model.slots(side).len() as u32;
        let counts = with_model(model, |entry| Ok((count(entry, Side::Input), count(entry, Side::Output))))?;
        for (place, count) in [(inputs_or_null, counts.0), (outputs_or_null, counts.1)] {
            if !place.is_null() {
                // SAFETY: not NULL, writable.
                unsafe { place.write(count) };
            }
        }
        Ok(())
    })
}

/// Describes a slot as the model declares it. Set info->struct_size first (ZB_SLOT_INFO_INIT).
///
/// Strings and arrays in it live as long as the model handle. Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE,
/// INVALID_ARGUMENT (slot out of range, struct_size).
///
/// # Safety
/// `info` is NULL or points to a zb_slot_info with its struct_size set.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_model_get_slot_info(
    model: *mut zb_model,
    slot: zb_slot,
    info: *mut zb_slot_info,
) -> zb_status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { versioned::check_out(info, "info") }?;
        let slot = slots::from_c(slot);
        let value = with_model(model, |entry| {
            let mut value = declared_info(entry.model.slot(slot)?);
            entry.text.describe(slot, &mut value);
            Ok(value)
        })?;
        // SAFETY: checked above.
        unsafe { versioned::write(info, &value) };
        Ok(())
    })
}

/// Finds an input by its name: the ONNX graph's, or the TFLite tensor's.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, NOT_FOUND (the text lists the names), INVALID_ARGUMENT (not UTF-8).
///
/// # Safety
/// `name` is NULL or NUL-terminated; `slot` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_model_find_input(
    model: *mut zb_model,
    name: *const c_char,
    slot: *mut zb_slot,
) -> zb_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { find(model, Side::Input, name, slot) })
}

/// Finds an output by its name: the ONNX graph's, or the TFLite tensor's.
///
/// Any thread. Errors: as zb_model_find_input.
///
/// # Safety
/// `name` is NULL or NUL-terminated; `slot` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_model_find_output(
    model: *mut zb_model,
    name: *const c_char,
    slot: *mut zb_slot,
) -> zb_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { find(model, Side::Output, name, slot) })
}

/// Copies a text that the model says about itself into `buffer`.
///
/// Keys: ONNX has "onnx.producer_name", "onnx.graph_name", "onnx.domain", "onnx.description", "onnx.graph_description",
/// "onnx.version", and the model's own under their names; TFLite has "tflite.description", "tflite.version" (of the format),
/// and the named buffers of the model. "zerobind.keys" lists those that the model has, one in a line. `needed`, if not NULL,
/// always gets the size of the text in bytes with its NUL (0 where there is none); (NULL, 0) asks for that alone. A buffer that is too short gets
/// NUL-terminated text cut at a character.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (not UTF-8), NOT_FOUND (the text lists the keys),
/// UNSUPPORTED (bytes that are no text), BUFFER_TOO_SMALL.
///
/// # Safety
/// `key` is NULL or NUL-terminated; `capacity` bytes at `buffer` are writable; `needed` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_model_get_metadata(
    model: *mut zb_model,
    key: *const c_char,
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
) -> zb_status {
    guard(|| {
        if !needed.is_null() {
            // SAFETY: not NULL, writable.
            unsafe { needed.write(0) };
        }
        // SAFETY: the caller's promise.
        let key = unsafe { pointers::text(key, "key") }?;
        // SAFETY: as above.
        with_model(model, |entry| unsafe { copy_text(&entry.model.metadata(key)?, buffer, capacity, needed) })
    })
}

/// Gives the number of signatures: sets of names that the author of a TFLite model gave to its slots. ONNX has none.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE.
///
/// # Safety
/// `count` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_model_get_signature_count(model: *mut zb_model, count: *mut u32) -> zb_status {
    guard(|| {
        pointers::check_out(count, "count")?;
        let signatures = with_model(model, |entry| Ok(entry.text.signature_keys().len() as u32))?;
        // SAFETY: not NULL, writable.
        unsafe { count.write(signatures) };
        Ok(())
    })
}

/// Gives the key of a signature, counted from 0. It lives as long as the model handle.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (index out of range).
///
/// # Safety
/// `key` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_model_get_signature_key(
    model: *mut zb_model,
    index: u32,
    key: *mut *const c_char,
) -> zb_status {
    guard(|| {
        pointers::check_out(key, "key")?;
        let found = with_model(model, |entry| {
            let keys = entry.text.signature_keys();
            match keys.get(index as usize) {
                Some(text) => Ok(text.as_ptr()),
                None => fail!(InvalidArgument, "signature {index} is out of range: the model has {}", keys.len()),
            }
        })?;
        // SAFETY: not NULL, writable.
        unsafe { key.write(found) };
        Ok(())
    })
}

/// Finds an input by the name that a signature gives it.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (not UTF-8), NOT_FOUND (key or name; the text lists
/// what there is), UNSUPPORTED (the signature is for another graph inside the model than the one that runs).
///
/// # Safety
/// `key` and `name` are NULL or NUL-terminated; `slot` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_model_signature_find_input(
    model: *mut zb_model,
    key: *const c_char,
    name: *const c_char,
    slot: *mut zb_slot,
) -> zb_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { find_in_signature(model, key, Side::Input, name, slot) })
}

/// Finds an output by the name that a signature gives it.
///
/// Any thread. Errors: as zb_model_signature_find_input.
///
/// # Safety
/// `key` and `name` are NULL or NUL-terminated; `slot` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_model_signature_find_output(
    model: *mut zb_model,
    key: *const c_char,
    name: *const c_char,
    slot: *mut zb_slot,
) -> zb_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { find_in_signature(model, key, Side::Output, name, slot) })
}

/// # Safety
/// As for `zb_model_signature_find_input`.
unsafe fn find_in_signature(
    model: *mut zb_model,
    key: *const c_char,
    side: Side,
    name: *const c_char,
    slot: *mut zb_slot,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let (key, name) = unsafe { (pointers::text(key, "key")?, pointers::text(name, "name")?) };
    pointers::check_out(slot, "slot")?;
    let found = with_model(model, |entry| entry.model.find_in_signature(key, side, name))?;
    // SAFETY: not NULL, writable.
    unsafe { slot.write(slots::to_c(found)) };
    Ok(())
}

/// # Safety
/// `name` is NULL or NUL-terminated; `slot` is NULL or writable.
unsafe fn find(model: *mut zb_model, side: Side, name: *const c_char, slot: *mut zb_slot) -> Result<()> {
    // SAFETY: the caller's promise.
    let name = unsafe { pointers::text(name, "name") }?;
    pointers::check_out(slot, "slot")?;
    let found = with_model(model, |entry| entry.model.find(side, name))?;
    // SAFETY: not NULL, writable.
    unsafe { slot.write(slots::to_c(found)) };
    Ok(())
}

/// # Safety
/// `size` bytes at `data` are readable for the lifetime that the caller uses.
pub unsafe fn check_bytes<'a>(data: *const c_void, size: usize) -> Result<&'a [u8]> {
    // SAFETY: the caller's promise.
    unsafe { pointers::required(data.cast::<u8>(), "data") }?;
    // SAFETY: as above.
    unsafe { pointers::array(data.cast::<u8>(), size, "data") }
}

/// # Safety
/// `place` is writable.
unsafe fn publish(model: Arc<Model>, place: *mut *mut zb_model) -> Result<()> {
    let handle = insert(model)?;
    // SAFETY: the caller's promise.
    unsafe { place.write(handle) };
    Ok(())
}

fn insert(model: Arc<Model>) -> Result<*mut zb_model> {
    fork::watch();
    let text = Arc::new(ModelText::new(&model)?);
    let number = MODELS.insert(ModelEntry { model, text }, ()).map_err(|_| handles::full::<zb_model>())?;
    Ok(number as *mut zb_model)
}

fn with_model<T>(model: *mut zb_model, body: impl FnOnce(&ModelEntry) -> Result<T>) -> Result<T> {
    let entry = MODELS.pin(handles::number(model)?).map_err(handles::refused::<zb_model>)?;
    body(&entry)
}

/// The parts of a description that the model alone decides.
pub fn declared_info(declared: &SlotInfo) -> zb_slot_info {
    let mut info: zb_slot_info = versioned::zeroed();
    info.flags = slots::flags_to_c(declared.flags);
    info.desc = slots::write_desc(&declared.desc);
    info.size = declared.desc.byte_size().unwrap_or(0);
    info
}
