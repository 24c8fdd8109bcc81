//! Events.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;
use std::time::Duration;

use super::constants::ZB_OK;
use super::error_text::copy_text;
use super::guard::guard;
use super::handles::{self, EVENTS};
use super::layout::{zb_complete_fn, zb_event, zb_slot, zb_status, zb_tensor_desc};
use super::{pointers, slots};
use crate::base::{Result, Status, fail};
use crate::core::{Event, queue};

/// Waits until the event is settled. What this returns is about the wait alone; how the operation ended is put into `*result`.
/// `timeout_ns` 0 only asks, UINT64_MAX waits for good.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, TIMEOUT (the operation goes on, `*result` is not written), BUSY (inside an
/// operation or a callback of the same queue, and not settled).
///
/// # Safety
/// `result` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_event_wait(event: *mut zb_event, timeout_ns: u64, result: *mut zb_status) -> zb_status {
    guard(|| {
        let event = shared(event)?;
        pointers::check_out(result, "result")?;
        if timeout_ns != 0 {
            queue::prepare_to_wait(&event)?;
        }
        let Some(outcome) = event.wait(timeout(timeout_ns)) else {
            return fail!(Timeout, "the operation is not over: it goes on");
        };
        // SAFETY: not NULL, writable.
        unsafe { result.write(to_c(outcome.status())) };
        Ok(())
    })
}

/// Has `complete` called once when the event is settled, or now if it is. One for each event.
///
/// The event is settled before the call: those who wait for it, for the queue or for a tensor may return while the callback is
/// still running, and it comes also after the queue was destroyed. What it uses may be freed when it has said itself that it
/// is done.
///
/// Destroying the event's handle does not take the callback back. Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE,
/// INVALID_ARGUMENT (there is a callback already).
///
/// # Safety
/// `complete` may be called once with `user_data` on any thread.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_event_on_complete(
    event: *mut zb_event,
    complete: zb_complete_fn,
    user_data: *mut c_void,
) -> zb_status {
    guard(|| {
        let shared = shared(event)?;
        let Some(function) = complete else { return fail!(NullArgument, "complete is NULL") };
        let call = Completion { function, user_data, event };
        shared.on_complete(Box::new(move |status| call.make(to_c(status))))
    })
}

/// Copies the text of the error that the operation ended with; "" if it succeeded. As zb_last_error otherwise.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, BUSY (not settled yet), BUFFER_TOO_SMALL.
///
/// # Safety
/// `capacity` bytes at `buffer` are writable; `needed` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_event_get_error(
    event: *mut zb_event,
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
) -> zb_status {
    guard(|| {
        if !needed.is_null() {
            // SAFETY: not NULL, writable.
            unsafe { needed.write(0) };
        }
        let Some(outcome) = shared(event)?.outcome() else {
            return fail!(Busy, "the operation is not over: wait for the event first");
        };
        let text = outcome.error.as_ref().map_or("", |error| error.text());
        // SAFETY: the caller's promise.
        unsafe { copy_text(text, buffer, capacity, needed) }
    })
}

/// Gives type and shape of a slot as the inference of this event left them, and the size in bytes; `size_or_null` may be NULL.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, INVALID_ARGUMENT (slot), BUSY (not settled yet), UNBOUND (no inference, or
/// one that failed).
///
/// # Safety
/// `desc` is NULL or writable, `size_or_null` too.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_event_get_slot_desc(
    event: *mut zb_event,
    slot: zb_slot,
    desc: *mut zb_tensor_desc,
    size_or_null: *mut usize,
) -> zb_status {
    guard(|| {
        pointers::check_out(desc, "desc")?;
        let found = shared(event)?.slot_desc(slots::from_c(slot))?;
        // SAFETY: not NULL, writable.
        unsafe { desc.write(slots::write_desc(&found)) };
        if !size_or_null.is_null() {
            let size = found.byte_size().ok().and_then(|size| usize::try_from(size).ok());
            // SAFETY: not NULL, writable.
            unsafe { size_or_null.write(size.unwrap_or(0)) };
        }
        Ok(())
    })
}

/// Gives a descriptor that becomes readable when the event is settled, for poll and its like. It is the caller's to close, and
/// independent of the event's handle; what can be read from it means nothing. Each call makes a new one.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, IO (no more descriptors), UNSUPPORTED (systems without them).
///
/// # Safety
/// `fd` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_event_get_fd(event: *mut zb_event, fd: *mut c_int) -> zb_status {
    guard(|| {
        pointers::check_out(fd, "fd")?;
        let made = descriptor(&*shared(event)?)?;
        // SAFETY: not NULL, writable.
        unsafe { fd.write(made) };
        Ok(())
    })
}

#[cfg(unix)]
fn descriptor(event: &Event) -> Result<c_int> {
    use std::os::fd::IntoRawFd;
    Ok(event.descriptor()?.into_raw_fd())
}

#[cfg(not(unix))]
fn descriptor(_event: &Event) -> Result<c_int> {
    fail!(Unsupported, "this system has no descriptors: use zb_event_on_complete")
}

/// Asks for the operation not to happen. One that has not started is settled with CANCELLED at once; one that runs is asked to
/// stop as by zb_context_cancel; one that is over stays as it is.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, UNSUPPORTED (it runs, and this engine cannot stop).
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn zb_event_cancel(event: *mut zb_event) -> zb_status {
    guard(|| queue::cancel(&shared(event)?))
}

/// Destroys the handle; NULL is fine. The operation goes on, a callback is still called, and threads that wait get the result.
///
/// Never blocks. Any thread, any callback but the log's. Errors: INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn zb_event_destroy(event: *mut zb_event) -> zb_status {
    guard(|| handles::destroy(&EVENTS, event))
}

/// A callback with what it is called with.
struct Completion {
    function: unsafe extern "C" fn(*mut c_void, *mut zb_event, zb_status),
    user_data: *mut c_void,
    event: *mut zb_event,
}

// SAFETY: the header says that the callback comes on any thread; the pointers are only passed on.
unsafe impl Send for Completion {}

impl Completion {
    fn make(self, result: zb_status) {
        // SAFETY: the host gave this function for exactly this call.
        unsafe { (self.function)(self.user_data, self.event, result) };
    }
}

/// Makes a handle if there is a place for one.
///
/// # Safety
/// `place` is NULL or writable.
pub unsafe fn publish(event: Arc<Event>, place: *mut *mut zb_event) -> Result<()> {
    if place.is_null() {
        return Ok(());
    }
    let Ok(number) = EVENTS.insert(event.clone(), ()) else {
        take_back(&event);
        return Err(handles::full::<zb_event>());
    };
    // SAFETY: not NULL, so writable.
    unsafe { place.write(number as *mut zb_event) };
    Ok(())
}

/// Ends an operation that nobody can get a handle for: the caller takes its memory to be free.
fn take_back(event: &Arc<Event>) {
    let _ = queue::cancel(event);
    if queue::prepare_to_wait(event).is_ok() {
        event.wait(None);
    }
}

pub fn shared(event: *mut zb_event) -> Result<Arc<Event>> {
    let pinned = EVENTS.pin(handles::number(event)?).map_err(handles::refused::<zb_event>)?;
    Ok(Arc::clone(&pinned))
}

/// A time of the ABI; `None` is for good.
pub fn timeout(time_ns: u64) -> Option<Duration> {
    (time_ns != u64::MAX).then(|| Duration::from_nanos(time_ns))
}

fn to_c(status: Option<Status>) -> zb_status {
    status.map_or(ZB_OK, |status| status as zb_status)
}
