//! Contexts.

use std::ffi::{CStr, c_void};
use std::ptr::null;

use super::constants::{ZB_MEMORY_HOST, ZB_MEMORY_SHARED, ZB_REBIND_STAGED};
use super::guard::guard;
use super::handles::{self, CONTEXTS, ContextEntry, MODELS};
use super::layout::{
    zb_binding_report, zb_context, zb_context_options, zb_context_stats, zb_model, zb_requirements, zb_slot,
    zb_slot_info, zb_status, zb_tensor_desc,
};
use super::model::declared_info;
use super::{options, pointers, slots, versioned};
use crate::base::{Dims, MAX_RANK, Result, fail};
use crate::core::{Context, Post, Report, Requirements, queue, watchdog};

/// Sets `options` to the defaults; `size` is sizeof(zb_context_options). The same as ZB_CONTEXT_OPTIONS_INIT.
///
/// Errors: NULL_ARGUMENT, INVALID_ARGUMENT (size).
///
/// # Safety
/// `size` bytes at `options` are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zb_context_options_init(options: *mut zb_context_options, size: usize) -> zb_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { versioned::init(options, size) })
}

/// Makes a context of a model; plans nothing and allocates no tensors.
///
/// The context keeps the model: destroying the model's handle does not end it. Contexts with equal options share what the
/// engine can share (ONNX Runtime: the session; TFLite: the model's bytes).
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (options), NOT_FOUND (option key), MODEL_INVALID,
/// RUNTIME (the engine's text), OUT_OF_MEMORY.
///
/// # Safety
/// `options` is NULL or has its struct_size set; `context` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_context_create(
    model: *mut zb_model,
    options: *const zb_context_options,
    context: *mut *mut zb_context,
) -> zb_status {
    guard(|| {
        let number = handles::number(model)?;
        pointers::check_out(context, "context")?;
        // SAFETY: the caller's promise.
        let options = unsafe { options::read_context(options) }?;
        let (model, text) = {
            let entry = MODELS.pin(number).map_err(handles::refused::<zb_model>)?;
            (entry.model.clone(), entry.text.clone())
        };
        let (state, stop) = Context::new(model, &options)?;
        let post = Post::new(state);
        let handle = CONTEXTS
            .insert(ContextEntry { text, stop, line: post.line().clone() }, post)
            .map_err(|_| handles::full::<zb_context>())?;
        // SAFETY: not NULL, writable.
        unsafe { context.write(handle as *mut zb_context) };
        Ok(())
    })
}

/// Destroys the handle; NULL is fine. Operations of queues that have not started are settled with DESTROYED. A run in
/// progress on another thread is asked to stop, as by zb_context_cancel, and
/// its call returns when it has; then, or now if there is none, bound tensors are let go, which may call their release.
///
/// Never blocks. Any thread, any callback but the log's. Errors: INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn zb_context_destroy(context: *mut zb_context) -> zb_status {
    guard(|| {
        if context.is_null() {
            return Ok(());
        }
        let entry = CONTEXTS.retire(context as usize).map_err(handles::refused::<zb_context>)?;
        queue::context_destroyed(&entry.line);
        // a run that cannot be stopped just goes on
        let _ = watchdog::cancel(&entry.stop);
        Ok(())
    })
}

/// Asks the run in progress to stop; without one nothing happens, and later runs are not affected.
///
/// ZB_OK means that it was asked; whether it stopped is told by the status of the run: CANCELLED, or ZB_OK if it ran to its
/// end all the same. The engines look between two operators of the model: TFLite counts all that XNNPACK has taken over as
/// one operator, so a model that is XNNPACK's as a whole does not stop. After CANCELLED the bound outputs of that run and the
/// state inside the engine are unspecified (zb_context_reset_state), and the next run is none the worse for it.
///
/// Any thread, also during a run. May start one thread in the process. Errors: NULL_ARGUMENT, INVALID_HANDLE, UNSUPPORTED
/// (the engine cannot stop it: a TFLite model of a single operator, or a build without cancellation), OUT_OF_MEMORY (the thread).
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn zb_context_cancel(context: *mut zb_context) -> zb_status {
    guard(|| {
        let entry = CONTEXTS.pin(handles::number(context)?).map_err(handles::refused::<zb_context>)?;
        watchdog::cancel(&entry.stop)
    })
}

/// Records a new shape for an input, `rank` dimensions of 0 or more. Only dimensions that are -1 in the model may change.
///
/// Takes effect with the next zb_context_prepare or run, and lasts until the next resize (a loan with another shape is one).
/// Bindings stay: one whose shape no longer matches is SHAPE_MISMATCH
/// there. State that the engine holds may be reset. Ends views of outputs.
///
/// Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (slot, negative dimension), BUSY, SHAPE_MISMATCH, UNSUPPORTED
/// (rank above 16, over the model's max_tensor_bytes).
///
/// # Safety
/// `rank` numbers at `dims` are readable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_context_resize_input(
    context: *mut zb_context,
    slot: zb_slot,
    dims: *const i64,
    rank: u32,
) -> zb_status {
    guard(|| {
        if rank as usize > MAX_RANK {
            return fail!(Unsupported, "rank {rank}: at most {MAX_RANK} dimensions are supported");
        }
        // SAFETY: the caller's promise.
        let dims = Dims::new(unsafe { pointers::array(dims, rank as usize, "dims") }?)?;
        with_idle(context, |state| state.resize_input(slots::from_c(slot), dims))
    })
}

/// Applies all recorded shapes at once and plans; does nothing when that is done. A run does it by itself, so this is for
/// doing it early, and for learning early that it fails.
///
/// If it fails, the last shapes that worked are in force again. Errors: NULL_ARGUMENT, INVALID_HANDLE, BUSY, SHAPE_MISMATCH
/// (an input's dimension is not known yet; the engine cannot compute with these shapes), UNSUPPORTED, OUT_OF_MEMORY, RUNTIME
/// (the engine's text).
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn zb_context_prepare(context: *mut zb_context) -> zb_status {
    guard(|| with_running(context, Context::prepare))
}

/// Describes a slot as it is in this context now. Set info->struct_size first (ZB_SLOT_INFO_INIT). Plans nothing.
///
/// Strings and arrays in it live as long as the context handle. Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT
/// (slot, struct_size), BUSY.
///
/// # Safety
/// `info` is NULL or points to a zb_slot_info with its struct_size set.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_context_get_slot_info(
    context: *mut zb_context,
    slot: zb_slot,
    info: *mut zb_slot_info,
) -> zb_status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { versioned::check_out(info, "info") }?;
        let slot = slots::from_c(slot);
        let mut entered = CONTEXTS.enter_short(handles::number(context)?).map_err(handles::refused::<zb_context>)?;
        let front = entered.front();
        let facts = front.slot_facts(slot)?;
        let mut value = declared_info(front.model().slot(slot)?);
        value.flags = slots::flags_to_c(facts.flags);
        value.desc = slots::write_desc(&facts.desc);
        value.size = facts.size;
        entered.shared().text.describe(slot, &mut value);
        // SAFETY: checked above.
        unsafe { versioned::write(info, &value) };
        Ok(())
    })
}

/// Gives type and shape of a slot as they are in this context now, and the size in bytes (0 while a dimension is -1). After
/// a run, an output has the shape that was computed. Cheap; plans nothing; `size_or_null` may be NULL.
///
/// Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (slot), BUSY.
///
/// # Safety
/// `desc` is NULL or writable, `size_or_null` too.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_context_get_slot_desc(
    context: *mut zb_context,
    slot: zb_slot,
    desc: *mut zb_tensor_desc,
    size_or_null: *mut usize,
) -> zb_status {
    guard(|| {
        pointers::check_out(desc, "desc")?;
        let facts = with_state(context, |state| state.slot_facts(slots::from_c(slot)))?;
        // SAFETY: not NULL, writable.
        unsafe { desc.write(slots::write_desc(&facts.desc)) };
        if !size_or_null.is_null() {
            // SAFETY: not NULL, writable.
            unsafe { size_or_null.write(usize::try_from(facts.size).unwrap_or(0)) };
        }
        Ok(())
    })
}

/// Tells what memory for a slot has to be like. Set requirements->struct_size first (ZB_REQUIREMENTS_INIT). Plans the
/// context if that is not done.
///
/// Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (slot, struct_size), BUSY, and those of zb_context_prepare.
///
/// # Safety
/// `requirements` is NULL or points to a zb_requirements with its struct_size set.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_context_get_requirements(
    context: *mut zb_context,
    slot: zb_slot,
    requirements: *mut zb_requirements,
) -> zb_status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { versioned::check_out(requirements, "requirements") }?;
        let needs = with_planning(context, |state| state.requirements(slots::from_c(slot)))?;
        // SAFETY: checked above.
        unsafe { versioned::write(requirements, &requirements_to_c(&needs)) };
        Ok(())
    })
}

/// Ends the binding of a slot; without one nothing happens. May call the tensor's release, after the context is free again.
/// Ends views of outputs.
///
/// Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (slot), BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn zb_context_unbind(context: *mut zb_context, slot: zb_slot) -> zb_status {
    guard(|| {
        // the tensor is dropped when the context is free again: the host's release may use it
        let displaced = with_state(context, |state| state.unbind(slots::from_c(slot)))?;
        drop(displaced);
        Ok(())
    })
}

/// Exchanges the tensors bound to two slots: with an output and the input of the next run, state goes round without a copy.
///
/// Both tensors need the same type and shape, and each has to fit the other's slot. If it fails, nothing changes. Ends views
/// of outputs.
///
/// Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (slot), BUSY, UNBOUND (a slot has no binding), DTYPE_MISMATCH,
/// SHAPE_MISMATCH, READ_ONLY, MISALIGNED, BUFFER_TOO_SMALL (slack), IO (a shared file was cut short).
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn zb_context_swap(context: *mut zb_context, a: zb_slot, b: zb_slot) -> zb_status {
    guard(|| with_state(context, |state| state.swap(slots::from_c(a), slots::from_c(b))))
}

/// Makes the engine forget what it keeps from run to run, as if the context were new. Bindings, shapes and counters stay;
/// views of outputs end. State in tensors of the host is the host's own to clear.
///
/// TFLite has no call for that which reaches all state, so a new interpreter takes the old one's place: as dear as
/// creating and planning a context. ONNX Runtime keeps no state, and nothing is done. If it fails, nothing changed.
///
/// Errors: NULL_ARGUMENT, INVALID_HANDLE, BUSY, OUT_OF_MEMORY, RUNTIME (the engine's text).
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn zb_context_reset_state(context: *mut zb_context) -> zb_status {
    guard(|| with_running(context, Context::reset_state))
}

/// Tells what the last run did with the memory of a slot. Set report->struct_size first (ZB_BINDING_REPORT_INIT).
///
/// Addresses are numbers to compare: memory that was lent for that run may be gone. Errors: NULL_ARGUMENT, INVALID_HANDLE,
/// INVALID_ARGUMENT (slot, struct_size), BUSY.
///
/// # Safety
/// `report` is NULL or points to a zb_binding_report with its struct_size set.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_context_get_binding_report(
    context: *mut zb_context,
    slot: zb_slot,
    report: *mut zb_binding_report,
) -> zb_status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { versioned::check_out(report, "report") }?;
        let told = with_state(context, |state| state.report(slots::from_c(slot)))?;
        // SAFETY: checked above.
        unsafe { versioned::write(report, &report_to_c(&told)) };
        Ok(())
    })
}

/// Gives the counters of a context. Set stats->struct_size first (ZB_CONTEXT_STATS_INIT).
///
/// Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (struct_size), BUSY.
///
/// # Safety
/// `stats` is NULL or points to a zb_context_stats with its struct_size set.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_context_get_stats(context: *mut zb_context, stats: *mut zb_context_stats) -> zb_status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { versioned::check_out(stats, "stats") }?;
        let counted = with_state(context, |state| Ok(state.stats()))?;
        let mut value: zb_context_stats = versioned::zeroed();
        value.runs = counted.runs;
        value.bytes_copied = counted.bytes_copied;
        value.rebinds = counted.rebinds;
        value.allocations = counted.allocations;
        value.last_run_ns = counted.last_run_ns;
        // SAFETY: checked above.
        unsafe { versioned::write(stats, &value) };
        Ok(())
    })
}

/// Gives an output of the last successful run where it lies: in the tensor bound to it, or in the engine's memory. Read
/// only. `size_or_null` (bytes) and `desc_or_null` (with the shape that was computed) may be NULL. Of an output without
/// elements the size is 0, and the address is that of the tensor bound to it, else any, NULL too.
///
/// The view ends at the next run, bind, unbind, swap, resize, reset or destroy of the context. An output that was lent for the run is
/// UNBOUND here: read it in the memory that was lent.
///
/// Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (slot), BUSY, UNBOUND (no value), UNSUPPORTED (strings).
///
/// # Safety
/// `data` is NULL or writable, `size_or_null` and `desc_or_null` too.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_context_output_view(
    context: *mut zb_context,
    slot: zb_slot,
    data: *mut *const c_void,
    size_or_null: *mut usize,
    desc_or_null: *mut zb_tensor_desc,
) -> zb_status {
    guard(|| {
        pointers::check_out(data, "data")?;
        let view = with_state(context, |state| state.output_view(slots::from_c(slot)))?;
        // SAFETY: not NULL, writable.
        unsafe { data.write(view.memory.data()) };
        if !size_or_null.is_null() {
            // SAFETY: not NULL, writable.
            unsafe { size_or_null.write(view.memory.size()) };
        }
        if !desc_or_null.is_null() {
            // SAFETY: not NULL, writable.
            unsafe { desc_or_null.write(slots::write_desc(&view.desc)) };
        }
        Ok(())
    })
}

/// For calls that are short and run no engine code that takes long: two threads wait for each other.
pub fn with_state<T>(context: *mut zb_context, body: impl FnOnce(&mut Context) -> Result<T>) -> Result<T> {
    let mut entered = CONTEXTS.enter_short(handles::number(context)?).map_err(handles::refused::<zb_context>)?;
    body(entered.front())
}

/// The same for those that have no place while a queue has work for the context.
pub fn with_idle<T>(context: *mut zb_context, body: impl FnOnce(&mut Context) -> Result<T>) -> Result<T> {
    let mut entered = CONTEXTS.enter_short(handles::number(context)?).map_err(handles::refused::<zb_context>)?;
    body(entered.idle()?)
}

/// For questions that may have to plan.
pub fn with_planning<T>(context: *mut zb_context, body: impl FnOnce(&mut Context) -> Result<T>) -> Result<T> {
    let mut entered = CONTEXTS.enter_run(handles::number(context)?).map_err(handles::refused::<zb_context>)?;
    body(entered.planner()?)
}

/// For calls that may take as long as a run: a second one is refused at once.
#[inline]
pub fn with_running<T>(context: *mut zb_context, body: impl FnOnce(&mut Context) -> Result<T>) -> Result<T> {
    let number = handles::number(context)?;
    CONTEXTS.run(number, |post| body(post.idle()?)).map_err(handles::refused::<zb_context>)?
}

fn requirements_to_c(needs: &Requirements) -> zb_requirements {
    let mut value: zb_requirements = versioned::zeroed();
    value.memory_kinds = match needs.holdable {
        false => 0,
        true if cfg!(unix) => ZB_MEMORY_HOST | ZB_MEMORY_SHARED,
        true => ZB_MEMORY_HOST,
    };
    value.size = needs.size;
    value.alignment = needs.alignment as u64;
    value.slack = needs.slack as u64;
    value.rebind = if needs.staged { ZB_REBIND_STAGED } else { needs.rebind as i32 };
    value
}

fn report_to_c(told: &Report) -> zb_binding_report {
    let mut value: zb_binding_report = versioned::zeroed();
    value.path = told.path as i32;
    value.bytes_copied = told.bytes_copied;
    value.host_address = told.host_address as *const c_void;
    value.engine_address = told.engine_address as *const c_void;
    value.reason = told.reason.map_or(null(), CStr::as_ptr);
    value
}
