//! Values of the engine over host memory, and the ones that it allocates itself.

use std::ffi::c_void;

use ort_sys::{ONNXTensorElementDataType, OrtMemoryInfo, OrtStatusPtr, OrtValue};

use super::cache::Known;
use super::describe::desc_of;
use super::dtype;
use super::failure::{Failure, Outcome, check};
use super::load::Engine;
use super::owned::Owned;
use super::symbols::Api;
use crate::base::{Desc, Dtype, Error, Result, Status, fail, text};
use crate::memory::{Access, HostRange};
use crate::runtime::OutputView;

/// What a description takes.
pub fn known(desc: &Desc) -> Result<Known> {
    Ok(Known { dtype: dtype::to_engine(desc.dtype)?, bytes: desc.memory_size()? })
}

/// What makes values over host memory, looked up once.
#[derive(Clone, Copy)]
pub struct ValueMaker {
    create: Create,
    release: unsafe extern "system" fn(*mut OrtValue),
    /// The engine's, which is there for good.
    info: *const OrtMemoryInfo,
    api: Api,
}

type Create = unsafe extern "system" fn(
    *const OrtMemoryInfo,
    *mut c_void,
    usize,
    *const i64,
    usize,
    ONNXTensorElementDataType,
    *mut *mut OrtValue,
) -> OrtStatusPtr;

impl ValueMaker {
    pub fn new(engine: &'static Engine) -> ValueMaker {
        let api = engine.api;
        let (create, release) = (api.CreateTensorWithDataAsOrtValue, api.ReleaseValue);
        ValueMaker { create, release, info: engine.host_memory.as_ptr(), api }
    }

    /// A value where it is known that the bytes are there.
    ///
    /// # Safety
    /// `known.bytes` bytes at `data` are a part of a promised range; the value is used in no run after the promise has ended.
    #[inline]
    pub unsafe fn create(&self, data: *mut c_void, dims: &[i64], known: Known) -> Outcome<Owned<OrtValue>> {
        // SAFETY: the engine looks at no byte of the data, compares the size with the dimensions, and copies these. The result
        // is ours to release.
        unsafe {
            Owned::new(self.api, self.release, |place| {
                (self.create)(self.info, data, known.bytes, dims.as_ptr(), dims.len(), known.dtype, place)
            })
        }
    }
}

/// A value over host memory: a description of so many bytes, which reads and writes nothing by itself.
///
/// The engine checks neither the address nor what the bytes are, so that is done here.
#[inline]
pub fn over(maker: &ValueMaker, memory: &HostRange, desc: &Desc, known: Known) -> Result<Owned<OrtValue>> {
    let size = known.bytes;
    if memory.size() < size || memory.data().is_null() && size > 0 {
        return Err(unfit(memory, desc, size));
    }
    let data = if memory.data().is_null() { nowhere() } else { memory.data() };
    // SAFETY: `size` bytes at `data` are host memory (the promise of the range, just compared with it). A value is used where it
    // is attached or passed only, and is not there any more when the range is taken away, or before anything looks there.
    unsafe { maker.create(data, desc.dims.as_slice(), known) }.map_err(|failure| refused(failure, desc))
}

#[cold]
fn unfit(memory: &HostRange, desc: &Desc, size: usize) -> Error {
    if memory.data().is_null() {
        return Error::new(Status::NullArgument, text!("{desc} takes {size} bytes and the address is NULL"));
    }
    Error::new(Status::BufferTooSmall, text!("{desc} takes {size} bytes and {} were given", memory.size()))
}

#[cold]
fn refused(failure: Failure, desc: &Desc) -> Error {
    failure.or(Status::Unsupported).at(text!("a value of {desc}"))
}

/// An address for no bytes at all: never null, which the engine takes for a tensor without memory, and aligned for every
/// type.
fn nowhere() -> *mut c_void {
    std::ptr::without_provenance_mut(64)
}

/// Where the engine has the elements of a tensor.
///
/// # Safety
/// `value` is an alive tensor whose elements are not strings.
pub unsafe fn address(engine: &Engine, value: *mut OrtValue) -> Outcome<*mut c_void> {
    let mut data = std::ptr::null_mut();
    // SAFETY: the value is an alive tensor (the caller's promise); the address has a place.
    check(engine.api, unsafe { (engine.api.GetTensorMutableData)(value, &mut data) })?;
    Ok(data)
}

/// The elements of a value that the engine allocated, with the shape that it really has.
///
/// # Safety
/// `value` is alive; the view is not used after its release.
pub unsafe fn view(engine: &Engine, value: *mut OrtValue) -> Result<OutputView> {
    let api = engine.api;
    let mut is_tensor = 0;
    // SAFETY: the value is alive and the number has a place.
    check(api, unsafe { (api.IsTensor)(value, &mut is_tensor) })?;
    if is_tensor == 0 {
        return fail!(Unsupported, "the model computed a value that is not a tensor; zerobind handles only those");
    }
    // SAFETY: the value is an alive tensor; the info is ours to release.
    let info = unsafe {
        Owned::new(api, api.ReleaseTensorTypeAndShapeInfo, |place| (api.GetTensorTypeAndShape)(value, place))?
    };
    // SAFETY: the info is alive.
    let desc = unsafe { desc_of(api, info.as_ptr())? };
    if desc.dtype == Dtype::String {
        return fail!(Unsupported, "string tensors cannot be viewed in this version");
    }
    let size = desc.memory_size()?;
    // SAFETY: an alive tensor of numbers.
    let data = unsafe { address(engine, value)? };
    // SAFETY: the engine allocated a tensor of this type and shape there, and keeps it until the value is released.
    let memory = unsafe { HostRange::new(data, size, size, Access::ReadOnly) };
    Ok(OutputView { memory, desc })
}
