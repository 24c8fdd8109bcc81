//! The library as any host sees it: its C functions and nothing else, wrapped so that the rest of the tool is safe code.

mod context;
mod log;
mod model;
mod preflight;
mod runtime;
mod tensor;

use std::ffi::{CStr, CString, OsStr, c_char};

use zerobind::ffi::api::*;

pub use context::{Context, ContextOptions, Report, Requirements};
pub use log::show_log;
pub use model::{Model, Quantization, SlotInfo};
pub use preflight::Trial;
pub use runtime::{RuntimeKind, load_runtime, runtime_info};
pub use tensor::{Desc, Tensor};
// numbers of the ABI that the rest of the tool needs
pub use zerobind::ffi::api::{
    ZB_DTYPE_BF16, ZB_DTYPE_BOOL, ZB_DTYPE_C64, ZB_DTYPE_C128, ZB_DTYPE_F8E4M3FN, ZB_DTYPE_F8E5M2, ZB_DTYPE_F16,
    ZB_DTYPE_F32, ZB_DTYPE_F64, ZB_DTYPE_I4, ZB_DTYPE_I8, ZB_DTYPE_I16, ZB_DTYPE_I32, ZB_DTYPE_I64, ZB_DTYPE_U4,
    ZB_DTYPE_U8, ZB_DTYPE_U16, ZB_DTYPE_U32, ZB_DTYPE_U64, ZB_ERROR_BUFFER_TOO_SMALL, ZB_ERROR_CANCELLED,
    ZB_ERROR_COPY_REQUIRED, ZB_ERROR_DEADLINE_EXCEEDED, ZB_ERROR_DTYPE_MISMATCH, ZB_ERROR_INVALID_ARGUMENT,
    ZB_ERROR_IO, ZB_ERROR_MISALIGNED, ZB_ERROR_MODEL_INVALID, ZB_ERROR_NOT_FOUND, ZB_ERROR_OUT_OF_MEMORY,
    ZB_ERROR_READ_ONLY, ZB_ERROR_RUNTIME, ZB_ERROR_RUNTIME_UNAVAILABLE, ZB_ERROR_SHAPE_MISMATCH, ZB_ERROR_UNBOUND,
    ZB_ERROR_UNSUPPORTED, ZB_MEMORY_HOST, ZB_MEMORY_SHARED, ZB_PATH_DIRECT, ZB_PATH_STAGED, ZB_REBIND_FREE,
    ZB_REBIND_REPLAN, ZB_REBIND_STAGED, ZB_SLOT_CONSTANT, ZB_SLOT_DUPLICATE, ZB_SLOT_DYNAMIC, ZB_SLOT_PASS_THROUGH,
};

/// A call that failed: its status and the library's text.
#[derive(Debug)]
pub struct Error {
    pub status: i32,
    pub text: String,
}

pub type Result<T> = std::result::Result<T, Error>;

/// An input or an output, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    Input(u32),
    Output(u32),
}

impl Slot {
    /// As ZB_INPUT and ZB_OUTPUT of the header make it.
    fn number(self) -> zb_slot {
        match self {
            Slot::Input(index) => index,
            Slot::Output(index) => index | 0x8000_0000,
        }
    }
}

/// Turns a status into a result; the text has to be asked for at once, by the thread that made the call.
fn check(status: zb_status) -> Result<()> {
    if status == ZB_OK { Ok(()) } else { Err(Error { status, text: last_error() }) }
}

fn last_error() -> String {
    // SAFETY: the text is written to a buffer of the size that is told, by `get_text`.
    get_text(|buffer, capacity, needed| unsafe { zb_last_error(buffer, capacity, needed) }).unwrap_or_default()
}

/// Calls a getter of a text twice, for its size and for itself.
fn get_text(getter: impl Fn(*mut c_char, usize, *mut usize) -> zb_status) -> Result<String> {
    let mut needed = 0;
    let status = getter(std::ptr::null_mut(), 0, &mut needed);
    if needed == 0 {
        return check(status).map(|()| String::new());
    }
    let mut buffer = vec![0u8; needed];
    check(getter(buffer.as_mut_ptr().cast(), buffer.len(), &mut needed))?;
    // with its NUL
    buffer.pop();
    Ok(String::from_utf8_lossy(&buffer).into_owned())
}

/// A text for a call; one with a NUL inside can name nothing that there is.
fn c_string(text: &OsStr, what: &str) -> Result<CString> {
    let bytes = text.as_encoded_bytes();
    CString::new(bytes).map_err(|_| Error {
        status: ZB_ERROR_INVALID_ARGUMENT,
        text: format!("the {what} '{}' has a NUL inside", text.to_string_lossy()),
    })
}

/// Copies a text that the library lent; `None` for NULL.
///
/// # Safety
/// `pointer` is NULL or points to a NUL-terminated string.
unsafe fn text_at(pointer: *const c_char) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    Some(unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}

pub fn version() -> String {
    // SAFETY: the library gives a string that lives as long as the process.
    unsafe { text_at(zb_version_string()) }.unwrap_or_default()
}

pub fn status_name(status: i32) -> String {
    // SAFETY: as above.
    unsafe { text_at(zb_status_name(status)) }.unwrap_or_default()
}

pub fn dtype_name(dtype: i32) -> String {
    // SAFETY: as above.
    unsafe { text_at(zb_dtype_name(dtype)) }.unwrap_or_default()
}

pub fn dtype_bits(dtype: i32) -> u32 {
    zb_dtype_bits(dtype)
}

/// The `struct_size` of a struct that is given to the library.
fn size_field<T>() -> u32 {
    size_of::<T>() as u32
}

/// An all-zero struct of the ABI with its size set, as the ..._INIT macros make it.
macro_rules! zeroed_struct {
    ($kind:ty) => {{
        // SAFETY: the structs of the ABI are numbers and pointers, for which zero is a value.
        let mut value: $kind = unsafe { std::mem::zeroed() };
        value.struct_size = $crate::abi::size_field::<$kind>();
        value
    }};
}
use zeroed_struct;
