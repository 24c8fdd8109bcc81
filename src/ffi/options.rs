//! Option structs, translated for the core.

use std::time::Duration;

use super::constants::{ZB_CONTEXT_PROFILE, ZB_COPY_ALLOW, ZB_COPY_NEVER};
use super::layout::{
    zb_context_options, zb_infer_options, zb_model_options, zb_option, zb_preflight_options, zb_slot_shape,
};
use super::{pointers, slots, versioned};
use crate::base::room::{list, owned};
use crate::base::{Dims, Gather, MAX_RANK, Result, Side, fail};
use crate::core::{ContextOptions, CopyPolicy, Deadline, ModelOptions};
use crate::preflight::Settings;

/// More threads than this are a mistake.
const MAX_THREADS: i32 = 1024;

/// # Safety
/// As the header says of `zb_model_options`.
pub unsafe fn read_model(options: *const zb_model_options) -> Result<ModelOptions> {
    // SAFETY: the caller's promise.
    let Some(given) = unsafe { versioned::read(options) }? else {
        return Ok(ModelOptions::default());
    };
    Ok(ModelOptions {
        runtime: given.runtime,
        sha256: Some(given.sha256).filter(|hash| *hash != [0; 32]),
        max_tensor_bytes: given.max_tensor_bytes,
        // SAFETY: the caller's promise.
        settings: unsafe { read_settings(given.options, given.option_count) }?,
    })
}

/// # Safety
/// As the header says of `zb_context_options`.
pub unsafe fn read_context(options: *const zb_context_options) -> Result<ContextOptions> {
    // SAFETY: the caller's promise.
    let given: zb_context_options = unsafe { versioned::read(options) }?.unwrap_or_else(versioned::zeroed);
    if !(0..=MAX_THREADS).contains(&given.threads) {
        return fail!(InvalidArgument, "threads is {}: give 0 (for 1) to {MAX_THREADS}", given.threads);
    }
    if given.flags & !ZB_CONTEXT_PROFILE != 0 {
        return fail!(InvalidArgument, "context flags {:#x}: only ZB_CONTEXT_PROFILE (1) is known", given.flags);
    }
    let copy_policy = match given.copy_policy {
        ZB_COPY_NEVER => CopyPolicy::Never,
        ZB_COPY_ALLOW => CopyPolicy::Allow,
        other => return fail!(InvalidArgument, "copy_policy {other}: give ZB_COPY_NEVER (0) or ZB_COPY_ALLOW (1)"),
    };
    Ok(ContextOptions {
        threads: given.threads.max(1) as u32,
        copy_policy,
        profile: given.flags & ZB_CONTEXT_PROFILE != 0,
        // SAFETY: the caller's promise.
        settings: unsafe { read_settings(given.options, given.option_count) }?,
    })
}

/// # Safety
/// As the header says of `zb_model_options` and `zb_preflight_options`.
pub unsafe fn read_preflight(
    model: *const zb_model_options,
    preflight: *const zb_preflight_options,
) -> Result<Settings> {
    // SAFETY: the caller's promise.
    let given: zb_preflight_options = unsafe { versioned::read(preflight) }?.unwrap_or_else(versioned::zeroed);
    if given.flags != 0 {
        return fail!(InvalidArgument, "preflight flags {:#x}: no flags are known", given.flags);
    }
    let helper = match given.helper.is_null() {
        true => None,
        // SAFETY: the caller's promise.
        false => Some(unsafe { pointers::path(given.helper, "helper") }?.to_owned()),
    };
    Ok(Settings {
        // SAFETY: the caller's promise.
        model: unsafe { read_model(model) }?,
        // SAFETY: the caller's promise.
        context: unsafe { read_context(given.context) }?,
        // SAFETY: the caller's promise.
        shapes: unsafe { read_shapes(given.shapes, given.shape_count) }?,
        timeout: (given.timeout_ns > 0).then(|| Duration::from_nanos(given.timeout_ns)),
        max_memory: (given.max_memory_bytes > 0).then_some(given.max_memory_bytes),
        helper,
    })
}

/// # Safety
/// `shapes` points to `count` shapes whose dimensions are readable.
unsafe fn read_shapes(shapes: *const zb_slot_shape, count: usize) -> Result<Vec<(usize, Dims)>> {
    // SAFETY: the caller's promise.
    let shapes = unsafe { pointers::array(shapes, count, "shapes") }?;
    let mut read: Vec<(usize, Dims)> = list(count)?;
    for shape in shapes {
        let slot = slots::from_c(shape.slot);
        if slot.side == Side::Output {
            return fail!(InvalidArgument, "{slot} is given a shape: outputs follow from the inputs");
        }
        if shape.rank as usize > MAX_RANK {
            return fail!(Unsupported, "{slot} of rank {}: at most {MAX_RANK} dimensions are supported", shape.rank);
        }
        if read.iter().any(|(index, _)| *index == slot.index) {
            return fail!(InvalidArgument, "{slot} is named twice among the shapes");
        }
        // SAFETY: the caller's promise.
        let dims = Dims::new(unsafe { pointers::array(shape.dims, shape.rank as usize, "dims") }?)?;
        read.push((slot.index, dims));
    }
    Ok(read)
}

/// The deadline of a run, counted from now.
///
/// # Safety
/// As the header says of `zb_infer_options`.
#[inline(never)]
pub unsafe fn read_infer(options: *const zb_infer_options) -> Result<Option<Deadline>> {
    // SAFETY: the caller's promise.
    let Some(given) = unsafe { versioned::read(options) }? else {
        return Ok(None);
    };
    if given.flags != 0 {
        return fail!(InvalidArgument, "infer flags {:#x}: no flags are known", given.flags);
    }
    match given.deadline_ns {
        0 => Ok(None),
        time => Ok(Deadline::after(Duration::from_nanos(time))),
    }
}

/// # Safety
/// `options` points to `count` options whose strings are NUL-terminated.
unsafe fn read_settings(options: *const zb_option, count: usize) -> Result<Vec<(String, String)>> {
    // SAFETY: the caller's promise.
    let options = unsafe { pointers::array(options, count, "options") }?;
    let read = |option: &zb_option| {
        // SAFETY: the caller's promise.
        let key = unsafe { pointers::text(option.key, "option key") }?;
        // SAFETY: the caller's promise.
        let value = unsafe { pointers::text(option.value, "option value") }?;
        Ok((owned(key)?, owned(value)?))
    };
    options.iter().map(read).gather_all()
}
