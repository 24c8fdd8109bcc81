//! Queues.

use std::ffi::c_void;
use std::ops::Deref;
use std::sync::Arc;

use super::event::{self, timeout};
use super::guard::guard;
use super::handles::{self, CONTEXTS, QUEUES};
use super::layout::{
    zb_context, zb_event, zb_infer_options, zb_queue, zb_queue_options, zb_slot_tensor, zb_status, zb_tensor,
};
use super::{fork, options, pointers, slots, tensor, versioned};
use crate::base::{Gather, Result, Slot, fail};
use crate::core::queue::{self, Executor, Gate, GateClosed, Inference, Place};
use crate::core::{Post, Queue, Tensor};
use crate::handle::Refused;
use crate::memory::{Access, HostRange};
use crate::sync::Backoff;

/// Sets `options` to the defaults; `size` is sizeof(zb_queue_options). The same as ZB_QUEUE_OPTIONS_INIT.
///
/// Errors: NULL_ARGUMENT, INVALID_ARGUMENT (size).
///
/// # Safety
/// `size` bytes at `options` are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn zb_queue_options_init(options: *mut zb_queue_options, size: usize) -> zb_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { versioned::init(options, size) })
}

/// Makes a queue: an ordered timeline on which writes, inferences and reads happen one after the other.
///
/// With a thread of its own, or on an executor of the host's: then no thread is made, at most one task of the queue is with the
/// executor at a time, and each task does one operation. Operations of different queues that use one tensor, one of them writing,
/// or one context, happen in the order in which they were put there; others in any.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_ARGUMENT (options), OUT_OF_MEMORY.
///
/// # Safety
/// `options` is NULL or has its struct_size set; `queue` is NULL or writable; `submit` may be called as its type says until
/// the queue is destroyed and its last operation is settled.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_queue_create(options: *const zb_queue_options, queue: *mut *mut zb_queue) -> zb_status {
    guard(|| {
        pointers::check_out(queue, "queue")?;
        // SAFETY: the caller's promise.
        let given: zb_queue_options = unsafe { versioned::read(options) }?.unwrap_or_else(versioned::zeroed);
        let executor = given.submit.map(|submit| {
            let host = HostExecutor { submit, user_data: given.user_data };
            Box::new(host) as Box<dyn Executor>
        });
        fork::watch();
        let made = Queue::create(given.capacity as usize, executor)?;
        let number = match QUEUES.insert(made.clone(), ()) {
            Ok(number) => number,
            Err(_) => {
                made.destroy();
                return Err(handles::full::<zb_queue>());
            }
        };
        // SAFETY: not NULL, writable.
        unsafe { queue.write(number as *mut zb_queue) };
        Ok(())
    })
}

/// Destroys the handle; NULL is fine. Operations that have not started are settled with DESTROYED; one that runs is asked to
/// stop, and settled as it ends.
///
/// Never blocks. Any thread, any callback but the log's. Errors: INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn zb_queue_destroy(queue: *mut zb_queue) -> zb_status {
    guard(|| {
        if queue.is_null() {
            return Ok(());
        }
        let pinned = QUEUES.retire(queue as usize).map_err(handles::refused::<zb_queue>)?;
        pinned.destroy();
        Ok(())
    })
}

/// Puts a run of the context into the queue, with the tensors and shapes that it has now: binding, unbinding and swapping later
/// does not change it. The tensors are held until the event is settled; their memory is the operation's until then.
///
/// Every input needs a tensor; an output without one stays in the engine (zb_context_output_view, once settled). While a
/// context has operations that are not settled, zb_infer, zb_infer_with, zb_context_resize_input, zb_context_prepare and
/// zb_context_reset_state are BUSY on it. A deadline counts from this call. `event_or_null` may be NULL.
///
/// An operation that fails, is cancelled or is destroyed invalidates what it would have written: operations that read it are
/// settled with DEPENDENCY until something has written all of it.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE (either), INVALID_ARGUMENT (options), UNBOUND (an input has no tensor),
/// QUEUE_FULL, BUSY (a run of the context is in progress outside of queues; the executor takes no task), OUT_OF_MEMORY. All
/// that zb_infer can give besides is what the event is settled with.
///
/// # Safety
/// `options` is NULL or has its struct_size set; `event_or_null` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_queue_infer(
    queue: *mut zb_queue,
    context: *mut zb_context,
    options: *const zb_infer_options,
    event_or_null: *mut *mut zb_event,
) -> zb_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { infer(queue, context, &[], options, event_or_null) })
}

/// Puts a run of the context into the queue as zb_queue_infer, with other tensors than the bound ones for some slots, for this
/// operation only. A tensor of an input may differ from the slot in open dimensions: this run has that shape.
///
/// Any thread. Errors: those of zb_queue_infer; INVALID_ARGUMENT (a slot named twice or out of range, flags), DTYPE_MISMATCH,
/// SHAPE_MISMATCH, READ_ONLY, MISALIGNED, BUFFER_TOO_SMALL (slack).
///
/// # Safety
/// `count` entries are readable at `tensors`; else as zb_queue_infer.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_queue_infer_with(
    queue: *mut zb_queue,
    context: *mut zb_context,
    tensors: *const zb_slot_tensor,
    count: usize,
    options: *const zb_infer_options,
    event_or_null: *mut *mut zb_event,
) -> zb_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let tensors = unsafe { pointers::array(tensors, count, "tensors") }?;
        // SAFETY: as above.
        unsafe { infer(queue, context, tensors, options, event_or_null) }
    })
}

/// Puts a write into the queue: `size` bytes from `source`, to byte `offset` of the tensor. The bytes are copied before this
/// returns, and `source` is the caller's again. The tensor is held until the event is settled. `event_or_null` may be NULL.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE (either), INVALID_ARGUMENT (offset and size), READ_ONLY, QUEUE_FULL, BUSY
/// (the executor takes no task), OUT_OF_MEMORY.
///
/// # Safety
/// `size` bytes at `source` are readable during the call; `event_or_null` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_queue_write(
    queue: *mut zb_queue,
    tensor: *mut zb_tensor,
    offset: usize,
    source: *const c_void,
    size: usize,
    event_or_null: *mut *mut zb_event,
) -> zb_status {
    guard(|| {
        let (queue, tensor) = (shared(queue)?, tensor::shared(tensor)?);
        pointers::check_data(source, size, size)?;
        // SAFETY: the caller's promise, for the time of this call.
        let source = unsafe { HostRange::new(source.cast_mut(), size, size, Access::ReadOnly) };
        let event = queue.write(tensor, offset, &source)?;
        // SAFETY: the caller's promise.
        unsafe { event::publish(event, event_or_null) }
    })
}

/// Puts a read into the queue: `size` bytes from byte `offset` of the tensor, to `destination`. It lands whole or not at all,
/// right before the event is settled; until then `destination` is the operation's, and not after. A read does not keep the
/// tensor: destroying its handle settles reads that have not started with DESTROYED.
///
/// Any thread. Errors: NULL_ARGUMENT (`event` included), INVALID_HANDLE (either), INVALID_ARGUMENT (offset and size),
/// QUEUE_FULL, BUSY (the executor takes no task), OUT_OF_MEMORY.
///
/// # Safety
/// `size` bytes at `destination` are writable, and used by nobody else, until the event is settled; `event` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_queue_read(
    queue: *mut zb_queue,
    tensor: *mut zb_tensor,
    offset: usize,
    destination: *mut c_void,
    size: usize,
    event: *mut *mut zb_event,
) -> zb_status {
    guard(|| {
        let (queue, tensor) = (shared(queue)?, tensor::shared(tensor)?);
        pointers::check_out(event, "event")?;
        pointers::check_data(destination, size, size)?;
        // SAFETY: the caller's promise, until the event is settled.
        let destination = unsafe { HostRange::new(destination, size, size, Access::ReadWrite) };
        let made = queue.read(tensor, offset, destination)?;
        // SAFETY: not NULL, writable.
        unsafe { event::publish(made, event) }
    })
}

/// Puts an event into the queue that is settled when all before it is: then what the queue wrote can be read in place.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, QUEUE_FULL, BUSY (the executor takes no task).
///
/// # Safety
/// `event` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_queue_fence(queue: *mut zb_queue, event: *mut *mut zb_event) -> zb_status {
    guard(|| {
        let queue = shared(queue)?;
        pointers::check_out(event, "event")?;
        // SAFETY: not NULL, writable.
        unsafe { event::publish(queue.fence()?, event) }
    })
}

/// Lets nothing that is put into the queue later start before `event` is settled, however its operation ends. Takes a place in
/// the queue. The event may be of any queue.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE (either), QUEUE_FULL, BUSY (the executor takes no task).
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn zb_queue_wait_event(queue: *mut zb_queue, event: *mut zb_event) -> zb_status {
    guard(|| shared(queue)?.wait_event(&*event::shared(event)?))
}

/// Waits until everything that is in the queue now is settled; the last callbacks may still be running. `timeout_ns` 0 only asks, UINT64_MAX waits for good.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, TIMEOUT (the operations go on), BUSY (inside an operation or a callback of
/// this queue; the executor takes no task).
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn zb_queue_finish(queue: *mut zb_queue, timeout_ns: u64) -> zb_status {
    guard(|| shared(queue)?.finish(timeout(timeout_ns)))
}

/// # Safety
/// As for `zb_queue_infer`.
unsafe fn infer(
    queue: *mut zb_queue,
    context: *mut zb_context,
    tensors: &[zb_slot_tensor],
    options: *const zb_infer_options,
    event_or_null: *mut *mut zb_event,
) -> Result<()> {
    let pinned = pinned(queue)?;
    // SAFETY: the caller's promise.
    let deadline = unsafe { options::read_infer(options) }?;
    let instead = tensors.iter().map(slot_tensor).gather_all()?;
    let handle = handles::number(context)?;
    let mut entered = CONTEXTS.enter_short(handle).map_err(handles::refused::<zb_context>)?;
    let front = entered.front();
    if instead.is_empty()
        && deadline.is_none()
        && event_or_null.is_null()
        && front.captured().is_some_and(|captured| pinned.infer_again(captured))
    {
        return Ok(());
    }
    let captured = if instead.is_empty() { front.capture()? } else { Arc::new(front.capture_with(&instead)?) };
    // from here on nobody else can run it
    let place = Place::new(entered.shared().line.clone(), entered.shared().stop.clone());
    // and it is left before the queue may call the host's executor
    drop(entered);
    let queue = Arc::clone(&pinned);
    drop(pinned);
    let inference = Inference { gate: Gate { handle, enter }, captured, deadline };
    let event = queue.infer(inference, place, !event_or_null.is_null())?;
    // SAFETY: the caller's promise.
    unsafe { event::publish(event, event_or_null) }
}

fn slot_tensor(given: &zb_slot_tensor) -> Result<(Slot, Arc<Tensor>)> {
    if given.flags != 0 {
        return fail!(InvalidArgument, "flags {:#x} of a zb_slot_tensor: none are known", given.flags);
    }
    Ok((slots::from_c(given.slot), tensor::shared(given.tensor)?))
}

/// A queue enters a context for a moment; a call that finds out that the context is queued may be inside just then.
fn enter(handle: usize, body: &mut dyn FnMut(&mut Post)) -> std::result::Result<(), GateClosed> {
    let mut backoff = Backoff::default();
    loop {
        match CONTEXTS.enter_short(handle) {
            Ok(mut entered) => {
                body(&mut entered);
                return Ok(());
            }
            Err(Refused::Busy) => backoff.wait(),
            Err(Refused::Invalid) => return Err(GateClosed::Gone),
            Err(Refused::Poisoned) => return Err(GateClosed::Poisoned),
        }
    }
}

/// The host's executor.
struct HostExecutor {
    submit: unsafe extern "C" fn(*mut c_void, super::layout::zb_task_fn, *mut c_void) -> i32,
    user_data: *mut c_void,
}

// SAFETY: the header says that the function is called on any thread; the pointer is only passed on.
unsafe impl Send for HostExecutor {}
// SAFETY: as above, and side by side.
unsafe impl Sync for HostExecutor {}

impl Executor for HostExecutor {
    fn submit(&self, task: usize) -> bool {
        // SAFETY: the host gave this function for such calls as long as the queue lives.
        unsafe { (self.submit)(self.user_data, Some(run_task), task as *mut c_void) == 0 }
    }
}

/// What an executor calls. A task is a number that is looked up, so any value is safe.
unsafe extern "C" fn run_task(task: *mut c_void) {
    let _ = guard(|| {
        queue::run_task(task as usize);
        Ok(())
    });
}

fn shared(queue: *mut zb_queue) -> Result<Arc<Queue>> {
    Ok(Arc::clone(&*pinned(queue)?))
}

/// For as long as no code of the host is called.
fn pinned(queue: *mut zb_queue) -> Result<impl Deref<Target = Arc<Queue>>> {
    QUEUES.pin(handles::number(queue)?).map_err(handles::refused::<zb_queue>)
}
