//! Constants of the ABI. Plain literals, so that every language's importer sees them.

/// Success.
pub const ZB_OK: i32 = 0;
/// NULL where none may be, or NULL data with a size above 0.
pub const ZB_ERROR_NULL_ARGUMENT: i32 = 1;
/// A bad flag, enum value, struct or size; a slot index that is out of range or of the wrong side; a slot named twice.
pub const ZB_ERROR_INVALID_ARGUMENT: i32 = 2;
/// The handle was destroyed, is of another kind, or never existed.
pub const ZB_ERROR_INVALID_HANDLE: i32 = 3;
/// The object is in use in a way that excludes this call; try again when that use has ended.
pub const ZB_ERROR_BUSY: i32 = 4;
/// A name or an option key is not known.
pub const ZB_ERROR_NOT_FOUND: i32 = 5;
/// A file is missing or cannot be read.
pub const ZB_ERROR_IO: i32 = 6;
/// The engine's library is missing, wrong or too old; the text tells what was looked for, where, and what was found.
pub const ZB_ERROR_RUNTIME_UNAVAILABLE: i32 = 7;
/// The model cannot be parsed, or does not have the expected SHA-256.
pub const ZB_ERROR_MODEL_INVALID: i32 = 8;
/// The engine or zerobind cannot do this.
pub const ZB_ERROR_UNSUPPORTED: i32 = 9;
/// The element type is not that of the slot.
pub const ZB_ERROR_DTYPE_MISMATCH: i32 = 10;
/// The shape is not that of the slot, or the size in bytes is not that of the shape.
pub const ZB_ERROR_SHAPE_MISMATCH: i32 = 11;
/// Too few bytes, or too few readable bytes behind them; the text gives both numbers.
pub const ZB_ERROR_BUFFER_TOO_SMALL: i32 = 12;
/// The address is not a multiple of what the engine needs.
pub const ZB_ERROR_MISALIGNED: i32 = 13;
/// An output shares bytes with another slot.
pub const ZB_ERROR_ALIASED: i32 = 14;
/// An input has no memory or its loan has ended; an output has no value to view.
pub const ZB_ERROR_UNBOUND: i32 = 15;
/// No host buffer could serve this slot without a copy, and copying is not allowed.
pub const ZB_ERROR_COPY_REQUIRED: i32 = 16;
/// The operation was cancelled.
pub const ZB_ERROR_CANCELLED: i32 = 17;
/// The deadline passed.
pub const ZB_ERROR_DEADLINE_EXCEEDED: i32 = 18;
/// Accepted, but then an object that it needs was destroyed.
pub const ZB_ERROR_DESTROYED: i32 = 19;
/// The engine failed; the text is the engine's.
pub const ZB_ERROR_RUNTIME: i32 = 20;
/// An allocation failed.
pub const ZB_ERROR_OUT_OF_MEMORY: i32 = 21;
/// A bug in zerobind was caught; the object that it happened in can only be destroyed.
pub const ZB_ERROR_PANIC: i32 = 22;
/// A wait ended before what it waited for.
pub const ZB_ERROR_TIMEOUT: i32 = 23;
/// Read-only memory was given to an output.
pub const ZB_ERROR_READ_ONLY: i32 = 24;
/// What the operation reads was invalidated by one that failed.
pub const ZB_ERROR_DEPENDENCY: i32 = 25;
/// The queue holds as many operations as it can.
pub const ZB_ERROR_QUEUE_FULL: i32 = 26;

/// Most dimensions of a shape.
pub const ZB_MAX_RANK: usize = 16;

/// Engine: chosen by the content of the model.
pub const ZB_RUNTIME_AUTO: i32 = 0;
/// Engine: TensorFlow Lite.
pub const ZB_RUNTIME_TFLITE: i32 = 1;
/// Engine: ONNX Runtime.
pub const ZB_RUNTIME_ONNXRUNTIME: i32 = 2;

/// Kind of object, for zb_live_objects.
pub const ZB_KIND_MODEL: i32 = 1;
/// Kind of object, for zb_live_objects.
pub const ZB_KIND_CONTEXT: i32 = 2;
/// Kind of object, for zb_live_objects.
pub const ZB_KIND_TENSOR: i32 = 3;
/// Kind of object, for zb_live_objects.
pub const ZB_KIND_QUEUE: i32 = 4;
/// Kind of object, for zb_live_objects.
pub const ZB_KIND_EVENT: i32 = 5;

/// No element type.
pub const ZB_DTYPE_INVALID: i32 = 0;
pub const ZB_DTYPE_F32: i32 = 1;
pub const ZB_DTYPE_F64: i32 = 2;
pub const ZB_DTYPE_F16: i32 = 3;
pub const ZB_DTYPE_BF16: i32 = 4;
pub const ZB_DTYPE_I8: i32 = 5;
pub const ZB_DTYPE_U8: i32 = 6;
pub const ZB_DTYPE_I16: i32 = 7;
pub const ZB_DTYPE_U16: i32 = 8;
pub const ZB_DTYPE_I32: i32 = 9;
pub const ZB_DTYPE_U32: i32 = 10;
pub const ZB_DTYPE_I64: i32 = 11;
pub const ZB_DTYPE_U64: i32 = 12;
/// One byte per element, 0 or 1; the engines do not normalise other values.
pub const ZB_DTYPE_BOOL: i32 = 13;
/// Two elements in a byte, low nibble first; the byte count is rounded up.
pub const ZB_DTYPE_I4: i32 = 14;
/// Two elements in a byte, low nibble first; the byte count is rounded up.
pub const ZB_DTYPE_U4: i32 = 15;
/// Two f32, real part first.
pub const ZB_DTYPE_C64: i32 = 16;
/// Reported for slots of this type; they cannot be bound in this version.
pub const ZB_DTYPE_STRING: i32 = 17;
pub const ZB_DTYPE_F8E4M3FN: i32 = 18;
pub const ZB_DTYPE_F8E5M2: i32 = 19;
/// Two f64, real part first.
pub const ZB_DTYPE_C128: i32 = 20;

/// Copy policy: where a copy would be needed, the call fails and says why.
pub const ZB_COPY_NEVER: i32 = 0;
/// Copy policy: where a copy is needed, zerobind makes it, and the binding report says so.
pub const ZB_COPY_ALLOW: i32 = 1;

/// Loan flag: the memory is only read; naming an output is ZB_ERROR_READ_ONLY. Set by zb_loan_input.
pub const ZB_LOAN_INPUT: u32 = 0x10000;
/// Loan flag: the memory is meant to be written; naming an input is ZB_ERROR_INVALID_ARGUMENT. Set by zb_loan_output.
pub const ZB_LOAN_OUTPUT: u32 = 0x20000;

/// Context flag: fill last_run_ns of the statistics (costs two clock reads a run).
pub const ZB_CONTEXT_PROFILE: u32 = 1;

/// Slot flag: the value is part of the model.
pub const ZB_SLOT_CONSTANT: u32 = 1;
/// Slot flag: this output is an input of the model.
pub const ZB_SLOT_PASS_THROUGH: u32 = 2;
/// Slot flag: a dimension is not known before the resize or the run.
pub const ZB_SLOT_DYNAMIC: u32 = 4;
/// Slot flag: this output is the same engine tensor as an earlier one.
pub const ZB_SLOT_DUPLICATE: u32 = 8;

/// Quantization: the values are what they are.
pub const ZB_QUANTIZATION_NONE: i32 = 0;
/// Quantization: one scale and zero point.
pub const ZB_QUANTIZATION_PER_TENSOR: i32 = 1;
/// Quantization: a scale and zero point for each index of one axis.
pub const ZB_QUANTIZATION_PER_AXIS: i32 = 2;

/// Rebinding costs nothing but the call.
pub const ZB_REBIND_FREE: i32 = 0;
/// Rebinding makes the engine plan again.
pub const ZB_REBIND_REPLAN: i32 = 1;
/// The engine's memory is always used; the host's gets a copy (copying must be allowed).
pub const ZB_REBIND_STAGED: i32 = 2;

/// Memory kind (a bit): ordinary memory of the process.
pub const ZB_MEMORY_HOST: u32 = 1;
/// Memory kind (a bit): memory that other processes map too, see zb_tensor_map_fd.
pub const ZB_MEMORY_SHARED: u32 = 2;

/// Flag of zb_tensor_map_fd: the memory is only read, so the tensor can be bound to inputs only.
pub const ZB_MAP_READ_ONLY: u32 = 1;

/// Direction of zb_tensor_sync: the host is about to read what queues wrote.
pub const ZB_SYNC_TO_HOST: i32 = 0;
/// Direction of zb_tensor_sync: the host has written, and queues are about to read.
pub const ZB_SYNC_TO_DEVICE: i32 = 1;

/// Path: the host gave no memory for the slot, or there was no run.
pub const ZB_PATH_UNBOUND: i32 = 0;
/// Path: the engine worked on the host's memory itself.
pub const ZB_PATH_DIRECT: i32 = 1;
/// Path: bytes were copied; the report says how many, and why.
pub const ZB_PATH_STAGED: i32 = 2;

/// Log level: something failed.
pub const ZB_LOG_ERROR: i32 = 1;
/// Log level: something is odd.
pub const ZB_LOG_WARN: i32 = 2;
/// Log level: what happened.
pub const ZB_LOG_INFO: i32 = 3;
/// Log level: how it happened.
pub const ZB_LOG_DEBUG: i32 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Dtype, MAX_RANK, Status};

    /// The constants are written out for the header; the core's enums are the truth.
    #[test]
    fn the_header_agrees_with_the_core() {
        let source = include_str!("constants.rs");
        for status in Status::ERRORS {
            let name = status.c_name().to_str().unwrap();
            assert!(source.contains(&format!("pub const {name}: i32 = {};", *status as i32)), "{name}");
        }
        for dtype in Dtype::ALL {
            let name = format!("ZB_DTYPE_{}", dtype.to_string().to_uppercase());
            assert!(source.contains(&format!("pub const {name}: i32 = {};", *dtype as i32)), "{name}");
        }
        assert_eq!(ZB_MAX_RANK, MAX_RANK);
    }
}
