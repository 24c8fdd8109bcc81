//! Tensors.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use super::constants::ZB_MAP_READ_ONLY;
use super::constants::{ZB_SYNC_TO_DEVICE, ZB_SYNC_TO_HOST};
use super::event::timeout;
use super::guard::guard;
use super::handles::{self, TENSORS};
use super::layout::{zb_context, zb_release_fn, zb_slot, zb_status, zb_tensor, zb_tensor_desc};
use super::{context, fork, pointers, release, slots};
use crate::base::{Result, fail};
use crate::core::{Tensor, queue};
use crate::memory::{Access, HostRange};

/// Makes a tensor of memory that the caller owns, without copying it.
///
/// `size` is exactly the bytes of `desc` (zb_tensor_desc_size); `capacity` is how many bytes at `data` are readable in all
/// (0: `size`): TFLite may read up to 16 bytes past the end of an input. NULL is legal for `data` with size 0.
///
/// A `desc` with dimensions of -1 makes room for an output of which only the run tells the shape: `size` is then all that
/// there is. Such a tensor binds to outputs only. Where planning knows the shape the output is in place all the same; else
/// the engine makes the result and, if copies are allowed, it is copied here (COPY_REQUIRED from the run if not, BUFFER_TOO_SMALL if the
/// room is too small; the bytes behind the result stay as they are). The shape is told by zb_context_get_slot_desc.
///
/// With ZB_OK the memory passes to the tensor: it must stay until `release` is called, exactly once, after the tensor
/// handle is destroyed and no binding, operation of a queue or export uses the tensor; with `release` NULL it must stay that
/// long too. If the call
/// fails, the memory stays the caller's and `release` is not called. Between runs the bytes are the host's to read and
/// write; during a run that uses the tensor they are the engine's. An input is read during the run, never at bind.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_ARGUMENT (dtype, capacity), SHAPE_MISMATCH (size against desc), UNSUPPORTED
/// (rank, strings), OUT_OF_MEMORY.
///
/// # Safety
/// `capacity` bytes at `data` are readable and `size` of them writable, as long as said above.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_tensor_wrap(
    desc: *const zb_tensor_desc,
    data: *mut c_void,
    size: usize,
    capacity: usize,
    release: zb_release_fn,
    user_data: *mut c_void,
    tensor: *mut *mut zb_tensor,
) -> zb_status {
    let memory = Wrapped { data, size, capacity, access: Access::ReadWrite };
    // SAFETY: the caller's promise.
    guard(|| unsafe { wrap(desc, memory, release, user_data, tensor) })
}

/// As zb_tensor_wrap, for memory that is never written: such a tensor can be bound to inputs only (else READ_ONLY), so every
/// dimension has to be known.
///
/// # Safety
/// `capacity` bytes at `data` are readable, as long as zb_tensor_wrap says.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_tensor_wrap_const(
    desc: *const zb_tensor_desc,
    data: *const c_void,
    size: usize,
    capacity: usize,
    release: zb_release_fn,
    user_data: *mut c_void,
    tensor: *mut *mut zb_tensor,
) -> zb_status {
    let memory = Wrapped { data: data.cast_mut(), size, capacity, access: Access::ReadOnly };
    // SAFETY: the caller's promise.
    guard(|| unsafe { wrap(desc, memory, release, user_data, tensor) })
}

/// Makes a tensor on zeroed memory of zerobind's own, with room behind it for what engines read past an input.
///
/// `alignment` is 0 (for 64) or a power of two up to 2 MiB, in bytes. The memory lives until the handle is destroyed and no
/// context has the tensor bound.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_ARGUMENT (dtype, alignment), SHAPE_MISMATCH, UNSUPPORTED, OUT_OF_MEMORY.
///
/// # Safety
/// `desc` is NULL or readable; `tensor` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_tensor_alloc(
    desc: *const zb_tensor_desc,
    alignment: usize,
    tensor: *mut *mut zb_tensor,
) -> zb_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let desc = slots::read_desc(unsafe { pointers::required(desc, "desc") }?)?;
        pointers::check_out(tensor, "tensor")?;
        // SAFETY: not NULL, writable.
        unsafe { publish(Tensor::alloc(desc, alignment)?, tensor) }
    })
}

/// Makes a tensor as zb_tensor_alloc, with type, shape and alignment as the slot needs them now. Plans the context if that
/// is not done.
///
/// It does not bind the tensor. Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (slot), BUSY, SHAPE_MISMATCH (a
/// dimension that is not known: resize first, or leave the slot unbound), OUT_OF_MEMORY, and those of zb_context_prepare.
///
/// # Safety
/// `tensor` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_tensor_alloc_for(
    context: *mut zb_context,
    slot: zb_slot,
    tensor: *mut *mut zb_tensor,
) -> zb_status {
    guard(|| {
        pointers::check_out(tensor, "tensor")?;
        let made = context::with_planning(context, |state| state.alloc_for(slots::from_c(slot)))?;
        // SAFETY: not NULL, writable.
        unsafe { publish(made, tensor) }
    })
}

/// Makes a tensor of the bytes of a file at `offset`: memory that other processes may map too, such as that of memfd_create,
/// shm_open or a frame buffer that was sent here. Nothing is copied: what is written on one side is seen on the other.
///
/// The bytes are those of `desc` (zb_tensor_desc_size), at any offset; a slot may ask for an aligned one, as for every
/// memory (64 suits every engine). What the file has behind them serves as slack. `flags` is 0 or ZB_MAP_READ_ONLY: the
/// memory is then only read, and the tensor can be bound to inputs only (else READ_ONLY).
///
/// The descriptor is duplicated: it stays the caller's to close. The map lives until the handle is destroyed and no context
/// has the tensor bound. Who may touch the bytes when is between the processes: during a run nobody else writes what it
/// reads, or touches what it writes.
///
/// A file that is cut short takes memory away. zerobind asks for its size when the tensor is bound and before each run that
/// uses it (a system call): IO then, and nothing was touched. A cut during the run, or before the host touches the bytes
/// itself, cannot be detected and ends the process with SIGBUS. Seal a memfd with F_SEAL_SHRINK before it is mapped, and
/// neither can happen nor is anything asked.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_ARGUMENT (dtype, flags, offset + size beyond 64 bits), SHAPE_MISMATCH (a
/// dimension of -1), UNSUPPORTED (rank, strings, systems without file descriptors), IO (not a descriptor, or of what cannot be
/// mapped or read), BUFFER_TOO_SMALL (the file is too short), READ_ONLY (without the flag, and the descriptor is open for
/// reading only, or the file is sealed against writing).
///
/// # Safety
/// `desc` is NULL or readable; `tensor` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_tensor_map_fd(
    desc: *const zb_tensor_desc,
    fd: c_int,
    offset: u64,
    flags: u32,
    tensor: *mut *mut zb_tensor,
) -> zb_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let desc = slots::read_desc(unsafe { pointers::required(desc, "desc") }?)?;
        pointers::check_out(tensor, "tensor")?;
        let access = read_map_flags(flags)?;
        // SAFETY: not NULL, writable.
        unsafe { publish(Tensor::map_fd(desc, fd, offset, access)?, tensor) }
    })
}

/// Gives the address and the size in bytes of the tensor's memory; either place may be NULL.
///
/// The address is valid as long as the tensor handle, or a binding, an operation of a queue or an export of the tensor, exists. The bytes are the host's to use
/// between runs only; that cannot be enforced. Read-only memory (zb_tensor_wrap_const,
/// ZB_MAP_READ_ONLY) must not be written.
///
/// Any thread. Errors: NULL_ARGUMENT (tensor), INVALID_HANDLE.
///
/// # Safety
/// `data_or_null` and `size_or_null` are NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_tensor_get_data(
    tensor: *mut zb_tensor,
    data_or_null: *mut *mut c_void,
    size_or_null: *mut usize,
) -> zb_status {
    guard(|| {
        let range = shared(tensor)?.range();
        if !data_or_null.is_null() {
            // SAFETY: not NULL, writable.
            unsafe { data_or_null.write(range.data()) };
        }
        if !size_or_null.is_null() {
            // SAFETY: not NULL, writable.
            unsafe { size_or_null.write(range.size()) };
        }
        Ok(())
    })
}

/// Gives type and shape. Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE.
///
/// # Safety
/// `desc` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_tensor_get_desc(tensor: *mut zb_tensor, desc: *mut zb_tensor_desc) -> zb_status {
    guard(|| {
        pointers::check_out(desc, "desc")?;
        let value = slots::write_desc(shared(tensor)?.desc());
        // SAFETY: not NULL, writable.
        unsafe { desc.write(value) };
        Ok(())
    })
}

/// Destroys the handle; NULL is fine. Bindings of the tensor stay and keep its memory, and so do writes and inferences in
/// queues; reads in queues that have not started are settled with DESTROYED. `release` is called when the last use is gone, on
/// the thread that ends it, maybe inside this call.
///
/// Never blocks. Any thread, any callback but the log's. Errors: INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn zb_tensor_destroy(tensor: *mut zb_tensor) -> zb_status {
    guard(|| {
        if tensor.is_null() {
            return Ok(());
        }
        let pinned = TENSORS.retire(tensor as usize).map_err(handles::refused::<zb_tensor>)?;
        queue::tensor_destroyed(&pinned);
        Ok(())
    })
}

/// Waits until every operation on the tensor that is in a queue now is settled: then the host may use its memory. `direction`
/// is ZB_SYNC_TO_HOST before the host reads. ZB_SYNC_TO_DEVICE is for after the host has written all of it by itself: then
/// what a failed operation had left there counts no more (DEPENDENCY). A callback of an event that is waited for may still
/// be running when this returns. `timeout_ns` 0 only asks, UINT64_MAX waits for good.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (direction), TIMEOUT (the operations go on), BUSY (inside
/// an operation or a callback of a queue that would have to be waited for).
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn zb_tensor_sync(tensor: *mut zb_tensor, direction: i32, timeout_ns: u64) -> zb_status {
    guard(|| {
        let tensor = shared(tensor)?;
        if ![ZB_SYNC_TO_HOST, ZB_SYNC_TO_DEVICE].contains(&direction) {
            return fail!(InvalidArgument, "direction {direction}: give ZB_SYNC_TO_HOST (0) or ZB_SYNC_TO_DEVICE (1)");
        }
        queue::sync(&tensor, timeout(timeout_ns))?;
        if direction == ZB_SYNC_TO_DEVICE {
            queue::written_by_host(&tensor);
        }
        Ok(())
    })
}

/// Binds the tensor to a slot of the context until it is unbound, replaced, or the context goes.
///
/// The binding holds the tensor: destroying the tensor's handle does not end it. Checked here: type, shape as far as it is
/// known, writability, and unless copies are allowed, alignment and slack; overlap with other slots is judged by the run.
/// Replacing a binding may call the old tensor's release, after the context is free again. Ends views of outputs.
///
/// One tensor may be bound to any number of contexts; a run whose output is in use by another run is BUSY.
///
/// Errors: NULL_ARGUMENT, INVALID_HANDLE (either), INVALID_ARGUMENT (slot), BUSY (the context runs), DTYPE_MISMATCH,
/// SHAPE_MISMATCH, READ_ONLY, MISALIGNED, BUFFER_TOO_SMALL (slack), IO (the file behind the tensor was cut short).
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn zb_tensor_bind(tensor: *mut zb_tensor, context: *mut zb_context, slot: zb_slot) -> zb_status {
    guard(|| {
        let tensor = shared(tensor)?;
        // a replaced or refused tensor is dropped when the context is free again: the host's release may use it
        let displaced = context::with_state(context, |state| state.bind(slots::from_c(slot), &tensor))?;
        drop(displaced);
        Ok(())
    })
}

fn read_map_flags(flags: u32) -> Result<Access> {
    match flags {
        0 => Ok(Access::ReadWrite),
        ZB_MAP_READ_ONLY => Ok(Access::ReadOnly),
        _ => fail!(InvalidArgument, "flags is {flags:#x}: give 0 or ZB_MAP_READ_ONLY"),
    }
}

struct Wrapped {
    data: *mut c_void,
    size: usize,
    capacity: usize,
    access: Access,
}

/// # Safety
/// As for `zb_tensor_wrap`.
unsafe fn wrap(
    desc: *const zb_tensor_desc,
    memory: Wrapped,
    release: zb_release_fn,
    user_data: *mut c_void,
    place: *mut *mut zb_tensor,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let desc = slots::read_desc(unsafe { pointers::required(desc, "desc") }?)?;
    pointers::check_out(place, "tensor")?;
    let Wrapped { data, size, capacity, access } = memory;
    let capacity = pointers::check_data(data, size, capacity)?;
    Tensor::check(&desc, size, access)?;
    let (release, ownership) = release::pending(release, user_data, data, size);
    // SAFETY: the caller's promise, which lasts until `release` is dropped with the tensor.
    let range = unsafe { HostRange::new(data, size, capacity, access) };
    let handle = insert(Tensor::wrap(desc, range, release))?;
    // before anybody can know the handle and destroy it
    ownership.pass();
    // SAFETY: not NULL, writable.
    unsafe { place.write(handle) };
    Ok(())
}

/// # Safety
/// `place` is writable.
unsafe fn publish(tensor: Arc<Tensor>, place: *mut *mut zb_tensor) -> Result<()> {
    let handle = insert(tensor)?;
    // SAFETY: the caller's promise.
    unsafe { place.write(handle) };
    Ok(())
}

pub fn insert(tensor: Arc<Tensor>) -> Result<*mut zb_tensor> {
    fork::watch();
    let number = TENSORS.insert(tensor, ()).map_err(|_| handles::full::<zb_tensor>())?;
    Ok(number as *mut zb_tensor)
}

pub fn shared(tensor: *mut zb_tensor) -> Result<Arc<Tensor>> {
    let pinned = TENSORS.pin(handles::number(tensor)?).map_err(handles::refused::<zb_tensor>)?;
    Ok(Arc::clone(&pinned))
}
