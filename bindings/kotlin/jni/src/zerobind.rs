//! The functions of zerobind.h. Pointers and handles are numbers here, as they are for the JVM: what they point to is laid out
//! by the Kotlin side, which knows the structs of 64-bit targets.

use std::ffi::c_void;

/// An address, a handle, or a size_t.
pub type Word = usize;

pub const OK: i32 = 0;

pub type Release = extern "C" fn(user_data: *mut c_void, data: *mut c_void, size: usize);
pub type Complete = extern "C" fn(user_data: *mut c_void, event: *mut c_void, result: i32);

#[link(name = "zerobind")]
unsafe extern "C" {
    pub fn zb_version() -> u32;
    pub fn zb_status_name(status: i32) -> Word;
    pub fn zb_live_objects(kind: i32) -> u64;
    pub fn zb_last_error(buffer: Word, capacity: Word, needed: Word) -> i32;
    pub fn zb_tensor_desc_size(desc: Word, size: Word) -> i32;
    pub fn zb_runtime_load(runtime: i32, path: Word) -> i32;
    pub fn zb_runtime_get_info(runtime: i32, info: Word) -> i32;
    pub fn zb_model_open(path: Word, options: Word, model: Word) -> i32;
    pub fn zb_model_open_fd(fd: i32, offset: u64, length: u64, options: Word, model: Word) -> i32;
    pub fn zb_model_open_bytes(
        data: Word,
        size: Word,
        release: Release,
        user_data: *mut c_void,
        options: Word,
        model: Word,
    ) -> i32;
    pub fn zb_model_destroy(model: Word) -> i32;
    pub fn zb_model_get_runtime(model: Word, runtime: Word) -> i32;
    pub fn zb_model_get_slot_counts(model: Word, inputs: Word, outputs: Word) -> i32;
    pub fn zb_model_get_slot_info(model: Word, slot: u32, info: Word) -> i32;
    pub fn zb_model_find_input(model: Word, name: Word, slot: Word) -> i32;
    pub fn zb_model_find_output(model: Word, name: Word, slot: Word) -> i32;
    pub fn zb_model_get_metadata(model: Word, key: Word, buffer: Word, capacity: Word, needed: Word) -> i32;
    pub fn zb_model_signature_find_input(model: Word, key: Word, name: Word, slot: Word) -> i32;
    pub fn zb_model_signature_find_output(model: Word, key: Word, name: Word, slot: Word) -> i32;
    pub fn zb_context_create(model: Word, options: Word, context: Word) -> i32;
    pub fn zb_context_destroy(context: Word) -> i32;
    pub fn zb_context_cancel(context: Word) -> i32;
    pub fn zb_context_resize_input(context: Word, slot: u32, dims: Word, rank: u32) -> i32;
    pub fn zb_context_prepare(context: Word) -> i32;
    pub fn zb_context_get_slot_info(context: Word, slot: u32, info: Word) -> i32;
    pub fn zb_context_get_requirements(context: Word, slot: u32, requirements: Word) -> i32;
    pub fn zb_context_unbind(context: Word, slot: u32) -> i32;
    pub fn zb_context_swap(context: Word, a: u32, b: u32) -> i32;
    pub fn zb_context_reset_state(context: Word) -> i32;
    pub fn zb_context_get_binding_report(context: Word, slot: u32, report: Word) -> i32;
    pub fn zb_context_get_stats(context: Word, stats: Word) -> i32;
    pub fn zb_tensor_wrap(
        desc: Word,
        data: Word,
        size: Word,
        capacity: Word,
        release: Release,
        user_data: *mut c_void,
        tensor: Word,
    ) -> i32;
    pub fn zb_tensor_wrap_const(
        desc: Word,
        data: Word,
        size: Word,
        capacity: Word,
        release: Release,
        user_data: *mut c_void,
        tensor: Word,
    ) -> i32;
    pub fn zb_tensor_destroy(tensor: Word) -> i32;
    pub fn zb_tensor_sync(tensor: Word, direction: i32, timeout_ns: u64) -> i32;
    pub fn zb_tensor_bind(tensor: Word, context: Word, slot: u32) -> i32;
    pub fn zb_infer(context: Word, options: Word) -> i32;
    pub fn zb_infer_with(context: Word, loans: Word, count: Word, options: Word) -> i32;
    pub fn zb_queue_create(options: Word, queue: Word) -> i32;
    pub fn zb_queue_destroy(queue: Word) -> i32;
    pub fn zb_queue_infer_with(
        queue: Word,
        context: Word,
        tensors: Word,
        count: Word,
        options: Word,
        event: Word,
    ) -> i32;
    pub fn zb_queue_write(queue: Word, tensor: Word, offset: Word, source: Word, size: Word, event: Word) -> i32;
    pub fn zb_queue_read(queue: Word, tensor: Word, offset: Word, destination: Word, size: Word, event: Word) -> i32;
    pub fn zb_queue_fence(queue: Word, event: Word) -> i32;
    pub fn zb_queue_finish(queue: Word, timeout_ns: u64) -> i32;
    pub fn zb_event_on_complete(event: Word, complete: Complete, user_data: *mut c_void) -> i32;
    pub fn zb_event_get_error(event: Word, buffer: Word, capacity: Word, needed: Word) -> i32;
    pub fn zb_event_cancel(event: Word) -> i32;
    pub fn zb_event_destroy(event: Word) -> i32;
}
