//! What a session says about its inputs and outputs.

use std::ffi::{CStr, CString, c_char};

use ort_sys::{ONNXType, OrtStatusPtr, OrtTensorTypeAndShapeInfo, OrtTypeInfo};

use super::allocated::Allocator;
use super::dtype;
use super::failure::check;
use super::owned::Owned;
use super::session::Session;
use super::symbols::Api;
use crate::base::room::{Lossy, filled};
use crate::base::{Desc, Dims, Gather, Quantization, Result, Side, Slot, SlotFlags, SlotInfo, fail};

/// A slot with its name as the engine wants it.
pub struct Declared {
    pub name: CString,
    pub info: SlotInfo,
}

/// All slots of one side. Initializers that a caller could override are not inputs.
pub fn slots(session: &Session, side: Side) -> Result<Vec<Declared>> {
    let api = session.engine.api;
    let count_of = match side {
        Side::Input => api.SessionGetInputCount,
        Side::Output => api.SessionGetOutputCount,
    };
    let mut count = 0;
    // SAFETY: the session is alive and the number has a place.
    check(api, unsafe { count_of(session.as_ptr(), &mut count) })?;
    (0..count).map(|index| slot(session, Slot { side, index })).gather_all()
}

fn slot(session: &Session, slot: Slot) -> Result<Declared> {
    let name = name(session, slot)?;
    let readable = Lossy(name.to_bytes()).owned()?;
    let (desc, dim_names) = shape(session, slot).map_err(|error| error.at(format_args!("{slot} '{readable}'")))?;
    let flags = SlotFlags { dynamic: !desc.dims.is_known(), ..SlotFlags::default() };
    let info =
        SlotInfo { name: readable, initial: desc.dims, desc, flags, dim_names, quantization: Quantization::None };
    Ok(Declared { name, info })
}

fn name(session: &Session, slot: Slot) -> Result<CString> {
    let api = session.engine.api;
    let name_of = match slot.side {
        Side::Input => api.SessionGetInputName,
        Side::Output => api.SessionGetOutputName,
    };
    // SAFETY: the session is alive and the index is below its count; the name comes from the allocator.
    let name = unsafe {
        Allocator::of(api)?.text(|allocator, place| name_of(session.as_ptr(), slot.index, allocator, place))?
    };
    match name {
        Some(name) => Ok(name),
        None => fail!(Runtime, "{slot}: ONNX Runtime gives no name"),
    }
}

fn shape(session: &Session, slot: Slot) -> Result<(Desc, Vec<String>)> {
    let api = session.engine.api;
    let type_of = match slot.side {
        Side::Input => api.SessionGetInputTypeInfo,
        Side::Output => api.SessionGetOutputTypeInfo,
    };
    // SAFETY: the session is alive and the index is below its count; the result is ours to release.
    let info = unsafe { Owned::new(api, api.ReleaseTypeInfo, |out| type_of(session.as_ptr(), slot.index, out))? };
    require_tensor(api, &info)?;
    let mut tensor = std::ptr::null();
    // SAFETY: the type info is alive; what comes is a part of it and is used only while it lives.
    check(api, unsafe { (api.CastTypeInfoToTensorInfo)(info.as_ptr(), &mut tensor) })?;
    if tensor.is_null() {
        return fail!(Unsupported, "not a dense tensor; zerobind handles only those");
    }
    // SAFETY: not null, and part of `info`, which lives to the end of this function.
    unsafe { Ok((desc_of(api, tensor)?, dim_names(api, tensor)?)) }
}

fn require_tensor(api: Api, info: &Owned<OrtTypeInfo>) -> Result<()> {
    // SAFETY: the type info is alive, and an enum of C is an i32, received as such because the Rust enum is closed.
    let kind = unsafe { number(api, |out| (api.GetOnnxTypeFromTypeInfo)(info.as_ptr(), out.cast::<ONNXType>()))? };
    let name = match kind {
        1 => return Ok(()),
        2 => "a sequence",
        3 => "a map",
        4 => "an opaque value",
        5 => "a sparse tensor",
        6 => "an optional value",
        _ => "of an unknown kind",
    };
    fail!(Unsupported, "the value is {name} (kind {kind} of ONNX); zerobind handles only dense tensors")
}

/// Element type and shape of a type info, with -1 for what is open.
///
/// # Safety
/// `tensor` is alive.
pub unsafe fn desc_of(api: Api, tensor: *const OrtTensorTypeAndShapeInfo) -> Result<Desc> {
    // SAFETY: the info is alive (the caller's promise); an enum of C is an i32, received as such.
    let code = unsafe { number(api, |out| (api.GetTensorElementType)(tensor, out.cast()))? };
    let mut rank = 0;
    // SAFETY: the info is alive and the number has a place.
    check(api, unsafe { (api.GetDimensionsCount)(tensor, &mut rank) })?;
    let mut dims = filled(0, rank)?;
    // SAFETY: the info is alive and there is room for `rank` numbers.
    check(api, unsafe { (api.GetDimensions)(tensor, dims.as_mut_ptr(), rank) })?;
    Ok(Desc { dtype: dtype::from_engine(code)?, dims: Dims::new(&dims)? })
}

/// # Safety
/// `tensor` is alive.
unsafe fn dim_names(api: Api, tensor: *const OrtTensorTypeAndShapeInfo) -> Result<Vec<String>> {
    let mut rank = 0;
    // SAFETY: the info is alive (the caller's promise) and the number has a place.
    check(api, unsafe { (api.GetDimensionsCount)(tensor, &mut rank) })?;
    let mut names: Vec<*const c_char> = filled(std::ptr::null(), rank)?;
    // SAFETY: as above, and there is room for `rank` pointers.
    check(api, unsafe { (api.GetSymbolicDimensions)(tensor, names.as_mut_ptr(), rank) })?;
    // SAFETY: each is null or a text that belongs to the info.
    names.into_iter().map(|name| unsafe { owned_text(name) }).gather_all()
}

/// # Safety
/// `name` is null or NUL-terminated.
unsafe fn owned_text(name: *const c_char) -> Result<String> {
    if name.is_null() {
        return Ok(String::new());
    }
    // SAFETY: the caller's promise.
    Lossy(unsafe { CStr::from_ptr(name) }.to_bytes()).owned()
}

/// # Safety
/// `get` writes at most an i32 to the place that it is given.
unsafe fn number(api: Api, get: impl FnOnce(*mut i32) -> OrtStatusPtr) -> Result<i32> {
    let mut number = 0;
    check(api, get(&mut number))?;
    Ok(number)
}
