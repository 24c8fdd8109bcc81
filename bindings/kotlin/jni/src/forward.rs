//! Calls that go through as they are: numbers in, a number out.
//!
//! They touch no Java object and run no code of ours that could fail, so that an inference costs the JVM's own way into native
//! code and nothing besides.

#![allow(non_snake_case)] // the names are those of the Kotlin side

use jni::sys::{jint, jlong};
use jni::{EnvUnowned, NativeMethod, objects::JObject};

use crate::zerobind::*;

/// Defines native methods that call functions of zerobind, and lists them with their signatures for the JVM.
macro_rules! forward {
    ($($name:ident($($argument:ident: $type:ident),*) -> $result:ident = $function:ident;)*) => {
        $(
            extern "system" fn $name(_: EnvUnowned, _: JObject $(, $argument: $type)*) -> $result {
                // SAFETY: the Kotlin side passes handles, and addresses of memory that it keeps during the call
                unsafe { $function($($argument as _),*) as $result }
            }
        )*

        /// Each method with its name and signature.
        pub fn methods() -> Vec<NativeMethod<'static>> {
            vec![$(crate::native_method!(
                stringify!($name),
                concat!("(", $(forward!(@letter $type),)* ")", forward!(@letter $result)),
                $name
            )),*]
        }
    };
    (@letter jint) => { "I" };
    (@letter jlong) => { "J" };
}

forward! {
    version() -> jint = zb_version;
    statusName(status: jint) -> jlong = zb_status_name;
    liveObjects(kind: jint) -> jlong = zb_live_objects;
    lastError(buffer: jlong, capacity: jlong, needed: jlong) -> jint = zb_last_error;
    tensorDescSize(desc: jlong, size: jlong) -> jint = zb_tensor_desc_size;
    runtimeLoad(runtime: jint, path: jlong) -> jint = zb_runtime_load;
    runtimeGetInfo(runtime: jint, info: jlong) -> jint = zb_runtime_get_info;

    modelOpen(path: jlong, options: jlong, model: jlong) -> jint = zb_model_open;
    modelOpenFd(fd: jint, offset: jlong, length: jlong, options: jlong, model: jlong) -> jint = zb_model_open_fd;
    modelDestroy(model: jlong) -> jint = zb_model_destroy;
    modelGetRuntime(model: jlong, runtime: jlong) -> jint = zb_model_get_runtime;
    modelGetSlotCounts(model: jlong, inputs: jlong, outputs: jlong) -> jint = zb_model_get_slot_counts;
    modelGetSlotInfo(model: jlong, slot: jint, info: jlong) -> jint = zb_model_get_slot_info;
    modelFindInput(model: jlong, name: jlong, slot: jlong) -> jint = zb_model_find_input;
    modelFindOutput(model: jlong, name: jlong, slot: jlong) -> jint = zb_model_find_output;
    modelGetMetadata(model: jlong, key: jlong, buffer: jlong, capacity: jlong, needed: jlong) -> jint
        = zb_model_get_metadata;
    modelSignatureFindInput(model: jlong, key: jlong, name: jlong, slot: jlong) -> jint = zb_model_signature_find_input;
    modelSignatureFindOutput(model: jlong, key: jlong, name: jlong, slot: jlong) -> jint = zb_model_signature_find_output;

    contextCreate(model: jlong, options: jlong, context: jlong) -> jint = zb_context_create;
    contextDestroy(context: jlong) -> jint = zb_context_destroy;
    contextCancel(context: jlong) -> jint = zb_context_cancel;
    contextResizeInput(context: jlong, slot: jint, dims: jlong, rank: jint) -> jint = zb_context_resize_input;
    contextPrepare(context: jlong) -> jint = zb_context_prepare;
    contextGetSlotInfo(context: jlong, slot: jint, info: jlong) -> jint = zb_context_get_slot_info;
    contextGetRequirements(context: jlong, slot: jint, requirements: jlong) -> jint = zb_context_get_requirements;
    contextUnbind(context: jlong, slot: jint) -> jint = zb_context_unbind;
    contextSwap(context: jlong, a: jint, b: jint) -> jint = zb_context_swap;
    contextResetState(context: jlong) -> jint = zb_context_reset_state;
    contextGetBindingReport(context: jlong, slot: jint, report: jlong) -> jint = zb_context_get_binding_report;
    contextGetStats(context: jlong, stats: jlong) -> jint = zb_context_get_stats;

    tensorDestroy(tensor: jlong) -> jint = zb_tensor_destroy;
    tensorSync(tensor: jlong, direction: jint, timeout: jlong) -> jint = zb_tensor_sync;
    tensorBind(tensor: jlong, context: jlong, slot: jint) -> jint = zb_tensor_bind;

    infer(context: jlong, options: jlong) -> jint = zb_infer;
    inferWith(context: jlong, loans: jlong, count: jlong, options: jlong) -> jint = zb_infer_with;

    queueCreate(options: jlong, queue: jlong) -> jint = zb_queue_create;
    queueDestroy(queue: jlong) -> jint = zb_queue_destroy;
    queueInferWith(queue: jlong, context: jlong, tensors: jlong, count: jlong, options: jlong, event: jlong) -> jint
        = zb_queue_infer_with;
    queueWrite(queue: jlong, tensor: jlong, offset: jlong, source: jlong, size: jlong, event: jlong) -> jint
        = zb_queue_write;
    queueRead(queue: jlong, tensor: jlong, offset: jlong, destination: jlong, size: jlong, event: jlong) -> jint
        = zb_queue_read;
    queueFence(queue: jlong, event: jlong) -> jint = zb_queue_fence;
    queueFinish(queue: jlong, timeout: jlong) -> jint = zb_queue_finish;

    eventGetError(event: jlong, buffer: jlong, capacity: jlong, needed: jlong) -> jint = zb_event_get_error;
    eventCancel(event: jlong) -> jint = zb_event_cancel;
    eventDestroy(event: jlong) -> jint = zb_event_destroy;
}
