//! Types of the ABI. The order of fields is the ABI; new fields go at the end of versioned structs only.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_void};

use super::constants::ZB_MAX_RANK;

/// How a call ended: ZB_OK or one of ZB_ERROR_.
pub type zb_status = i32;

/// An input or an output of a model: ZB_INPUT(i) or ZB_OUTPUT(i), counted from 0.
pub type zb_slot = u32;

/// A loaded model: immutable, to be used from any thread.
pub struct zb_model {
    _private: [u8; 0],
}

/// One execution state of a model, with its bindings: one run at a time.
pub struct zb_context {
    _private: [u8; 0],
}

/// Typed, shaped memory: to be used from any thread.
pub struct zb_tensor {
    _private: [u8; 0],
}

/// An ordered timeline of writes, inferences and reads: to be used from any thread.
pub struct zb_queue {
    _private: [u8; 0],
}

/// How one operation of a queue ended, or will end: to be used from any thread.
pub struct zb_event {
    _private: [u8; 0],
}

/// Tells the host that zerobind uses its memory no more: called exactly once for each successful call that was given it.
///
/// `data` and `size` are those given when the memory was handed over. Called on whichever thread ends the last use, with no
/// lock held: any function of zerobind may be called inside, any destroy included. No exception may leave it.
pub type zb_release_fn = Option<unsafe extern "C" fn(user_data: *mut c_void, data: *mut c_void, size: usize)>;

/// Gets a line of the log: UTF-8, valid during the call only.
///
/// Called on any thread, maybe while an engine holds a lock of its own. Inside, only functions that return no zb_status may
/// be called; all others return ZB_ERROR_BUSY. No exception may leave it.
pub type zb_log_fn = Option<unsafe extern "C" fn(user_data: *mut c_void, level: i32, text: *const c_char)>;

/// Told once that an event is settled: `result` is how its operation ended, ZB_OK or an error.
///
/// Called on the thread that settles the event, or inside zb_event_on_complete if it is settled already, with no lock held.
/// Any function may be called inside, any destroy included; waiting for something of the same queue that is not settled is
/// ZB_ERROR_BUSY. `event` is the handle that the callback was set with, which may have been destroyed since. No exception may
/// leave it.
pub type zb_complete_fn = Option<unsafe extern "C" fn(user_data: *mut c_void, event: *mut zb_event, result: zb_status)>;

/// Runs one task of a queue. Given to an executor; a second call with the same task, or a late one, does nothing.
pub type zb_task_fn = Option<unsafe extern "C" fn(task: *mut c_void)>;

/// Has `run(task)` called once, now or later, on any thread; an executor of the host's.
///
/// Called with no lock held, on threads that put operations into queues or run tasks. Returns 0, or another number if it takes
/// no task: then the operation is refused with ZB_ERROR_BUSY, or, where it had been accepted, all that waits in the queue is
/// settled with ZB_ERROR_CANCELLED. No exception may leave it.
pub type zb_submit_fn = Option<unsafe extern "C" fn(user_data: *mut c_void, run: zb_task_fn, task: *mut c_void) -> i32>;

/// Element type and shape of dense, row-major memory. Frozen.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zb_tensor_desc {
    /// One of ZB_DTYPE_.
    pub dtype: i32,
    /// Number of dimensions; 0 is a scalar with one element.
    pub rank: u32,
    /// The first `rank` count. -1 is a dimension that is not known yet.
    pub dims: [i64; ZB_MAX_RANK],
}

/// Memory lent to a slot for one call of zb_infer_with. Frozen.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zb_loan {
    /// The slot; each at most once.
    pub slot: zb_slot,
    /// ZB_LOAN_INPUT or ZB_LOAN_OUTPUT, to be told when the slot is on the other side; 0 to leave it open.
    pub flags: u32,
    /// The memory; an input is only read. NULL is allowed with size 0.
    pub data: *mut c_void,
    /// Bytes of tensor: of an input exactly what its shape needs, of an output at least that.
    pub size: usize,
    /// Readable bytes at `data` in all, at least `size`; 0 means `size`. Matters for inputs that end close to the end of a
    /// page, see `slack` in zb_requirements.
    pub capacity: usize,
    /// Type and shape of the memory; NULL takes those of the slot at the moment. An output may have -1 for what only the run
    /// tells, see zb_tensor_wrap.
    pub desc: *const zb_tensor_desc,
}

/// An option by name; both strings are copied. Frozen.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zb_option {
    pub key: *const c_char,
    pub value: *const c_char,
}

/// A tensor for a slot of one queued inference. Frozen.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zb_slot_tensor {
    /// The slot; each at most once.
    pub slot: zb_slot,
    /// 0.
    pub flags: u32,
    pub tensor: *mut zb_tensor,
}

/// How to open a model. Start from ZB_MODEL_OPTIONS_INIT or zb_model_options_init.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zb_model_options {
    /// sizeof(zb_model_options).
    pub struct_size: u32,
    /// One of ZB_RUNTIME_. AUTO looks at the content, never at the file's name.
    pub runtime: i32,
    /// The SHA-256 that the bytes must have; all zero: none. With one, the engine is given exactly the bytes that were
    /// hashed, so a model with external data is ZB_ERROR_UNSUPPORTED.
    pub sha256: [u8; 32],
    /// The largest tensor, in bytes; a larger input or output, and one inside the model as far as its file tells the shape, is
    /// refused before an engine allocates. 0: 4 GiB.
    pub max_tensor_bytes: u64,
    /// `option_count` options; no keys are defined for models in this version.
    pub options: *const zb_option,
    pub option_count: usize,
}

/// How to make a context. Start from ZB_CONTEXT_OPTIONS_INIT or zb_context_options_init.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zb_context_options {
    /// sizeof(zb_context_options).
    pub struct_size: u32,
    /// Threads that compute, the caller's included; 0 means 1. With 1 no thread is started.
    pub threads: i32,
    /// One of ZB_COPY_.
    pub copy_policy: i32,
    /// ZB_CONTEXT_PROFILE or 0.
    pub flags: u32,
    /// `option_count` options. Keys: "tflite.xnnpack" ("true", the default, or "false"), "ort.session.KEY" (any session
    /// configuration entry of ONNX Runtime, passed on as it is: a value that the engine does not expect can crash it), "optimization" ("none", "basic", "extended", "all": ONNX Runtime's graph
    /// optimization; on TFLite "none" leaves the plain kernels). Keys of the other engine are passed over, so that one list
    /// serves models of both; a key that no engine has is ZB_ERROR_NOT_FOUND.
    pub options: *const zb_option,
    pub option_count: usize,
}

/// The shape of an input. Frozen.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zb_slot_shape {
    /// The input; each at most once.
    pub slot: zb_slot,
    pub rank: u32,
    /// `rank` dimensions of 0 or more.
    pub dims: *const i64,
}

/// How to try a model in another process. NULL or ZB_PREFLIGHT_OPTIONS_INIT for the defaults.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zb_preflight_options {
    /// sizeof(zb_preflight_options).
    pub struct_size: u32,
    /// 0.
    pub flags: u32,
    /// How long the trial may take, in ns; 0: 30 s.
    pub timeout_ns: u64,
    /// The most private memory that the trial's process may have, in bytes (on systems other than Linux and Android: address
    /// space, if the system counts it); 0: half of the machine's memory, UINT64_MAX: no limit.
    pub max_memory_bytes: u64,
    /// Path of the helper executable; NULL: the environment variable ZEROBIND_PREFLIGHT, else where it is installed, seen
    /// from the file that zerobind is in (next to it, ../libexec/zerobind and ../../libexec/zerobind).
    pub helper: *const c_char,
    /// The options of the context that the model is meant for; NULL: the defaults.
    pub context: *const zb_context_options,
    /// `shape_count` shapes of inputs with open dimensions. An input that is not named has the shape that the model starts
    /// with, and 1 for each dimension that it leaves open.
    pub shapes: *const zb_slot_shape,
    pub shape_count: usize,
}

/// How to run. NULL or ZB_INFER_OPTIONS_INIT for the defaults.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zb_infer_options {
    /// sizeof(zb_infer_options).
    pub struct_size: u32,
    /// 0.
    pub flags: u32,
    /// When the run has to be over, in ns from the call; 0: whenever it is. If it passes before the engine starts, nothing
    /// runs and nothing is written; during the run the engine is asked to stop, as by zb_context_cancel and with the same
    /// limits. Either way the call gives ZB_ERROR_DEADLINE_EXCEEDED; a run that completes is ZB_OK, however late.
    pub deadline_ns: u64,
}

/// How to make a queue. NULL or ZB_QUEUE_OPTIONS_INIT for the defaults.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zb_queue_options {
    /// sizeof(zb_queue_options).
    pub struct_size: u32,
    /// Most operations that are not settled; 0: 64.
    pub capacity: u32,
    /// The host's executor; NULL: the queue makes a thread of its own.
    pub submit: zb_submit_fn,
    pub user_data: *mut c_void,
}

/// State of an engine's library. Strings live as long as the process; NULL for what is not known.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zb_runtime_info {
    /// sizeof(zb_runtime_info), set by the caller.
    pub struct_size: u32,
    /// 1 if it is loaded, else 0.
    pub available: i32,
    pub version: *const c_char,
    pub path: *const c_char,
    /// Why it is not loaded: the whole story of the last attempt.
    pub reason: *const c_char,
}

/// Description of a slot.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zb_slot_info {
    /// sizeof(zb_slot_info), set by the caller.
    pub struct_size: u32,
    /// Bits of ZB_SLOT_. CONSTANT, DYNAMIC, PASS_THROUGH and DUPLICATE are final only from a context that has planned.
    pub flags: u32,
    /// Type and shape; -1 where a dimension is open.
    pub desc: zb_tensor_desc,
    /// In bytes; 0 while a dimension is open.
    pub size: u64,
    /// UTF-8; lives as long as the handle that was asked.
    pub name: *const c_char,
    /// `desc.rank` strings, "" where a dimension has no name; NULL if none has. Lives as long as the handle.
    pub dim_names: *const *const c_char,
    /// `quantization_count` numbers, or NULL. Lives as long as the handle.
    pub scales: *const f32,
    /// `quantization_count` numbers, or NULL. Lives as long as the handle.
    pub zero_points: *const i32,
    pub quantization_count: u32,
    /// One of ZB_QUANTIZATION_: real value = scale * (stored value - zero point).
    pub quantization: i32,
    /// The axis of per-axis quantization, else 0.
    pub quantization_axis: i32,
    pub reserved: u32,
}

/// What memory for a slot has to be like.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zb_requirements {
    /// sizeof(zb_requirements), set by the caller.
    pub struct_size: u32,
    /// Bits of ZB_MEMORY_: kinds that can be bound.
    pub memory_kinds: u32,
    /// In bytes; 0 when only the run tells.
    pub size: u64,
    /// The address must be a multiple of it, in bytes. 64 suits every engine.
    pub alignment: u64,
    /// Bytes behind an input that the engine may read, without using what they hold. They must be readable (capacity) only
    /// where they could lie in another page: for an input that ends within `slack` bytes of the end of a page. Without them
    /// such an input is ZB_ERROR_BUFFER_TOO_SMALL, or a copy if copies are allowed. Never claim bytes that are not yours.
    pub slack: u64,
    /// One of ZB_REBIND_: what a new address costs.
    pub rebind: i32,
    pub reserved: u32,
}

/// What the last run did with the memory of a slot: the proof of zero copy.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zb_binding_report {
    /// sizeof(zb_binding_report), set by the caller.
    pub struct_size: u32,
    /// One of ZB_PATH_.
    pub path: i32,
    /// By zerobind, in that run, for this slot.
    pub bytes_copied: u64,
    /// The host's memory in that run, bound or lent. A number to compare: memory that was lent may be gone.
    pub host_address: *const c_void,
    /// What the engine itself gave as the address of its tensor.
    pub engine_address: *const c_void,
    /// Why bytes were copied, or NULL. Lives as long as the process.
    pub reason: *const c_char,
    pub reserved: *const c_void,
}

/// Counters of a context since it was created.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct zb_context_stats {
    /// sizeof(zb_context_stats), set by the caller.
    pub struct_size: u32,
    pub reserved: u32,
    /// Runs that succeeded.
    pub runs: u64,
    /// By zerobind, on the way in and out.
    pub bytes_copied: u64,
    /// Times that a slot of the engine was given another address.
    pub rebinds: u64,
    /// Blocks of memory that zerobind allocated for runs.
    pub allocations: u64,
    /// Time in the engine during the last run, in ns; 0 without ZB_CONTEXT_PROFILE.
    pub last_run_ns: u64,
}
