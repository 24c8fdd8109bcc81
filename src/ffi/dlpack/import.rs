//! What another library gives, checked before it is believed.

use std::ffi::c_void;
use std::ptr::null_mut;

use super::layout::{
    CPU, CUDA_HOST, DLManagedTensorVersioned, DataType, IS_COPIED, READ_ONLY, ROCM_HOST, SUBBYTE_PADDED, VERSION, View,
    compact_strides,
};
use crate::base::{Desc, Dims, Dtype, MAX_RANK, Result, fail};
use crate::ffi::pointers;
use crate::memory::{Access, HostRange};

/// A managed tensor that is ours to give back.
pub struct Managed(pub *mut DLManagedTensorVersioned);

// SAFETY: DLPack lets the deleter be called on any thread; the pointer is only passed on.
unsafe impl Send for Managed {}
// SAFETY: as above.
unsafe impl Sync for Managed {}

impl Managed {
    pub fn give_back(self) {
        // SAFETY: it passed to us and was not given back yet, so it is there, with what its maker put into it.
        if let Some(deleter) = unsafe { (*self.0).deleter } {
            // SAFETY: the maker gave this function for exactly this call.
            unsafe { deleter(self.0) };
        }
    }
}

/// Type, shape and memory.
///
/// # Safety
/// What `given` points to is as DLPack describes it; its bytes stay until its deleter is called.
pub unsafe fn read(given: &DLManagedTensorVersioned) -> Result<(Desc, HostRange)> {
    check_version(given)?;
    // SAFETY: the caller's promise.
    let desc = unsafe { read_desc(given) }?;
    let (data, size) = read_memory(&given.view, &desc)?;
    let access = if given.flags & READ_ONLY == 0 { Access::ReadWrite } else { Access::ReadOnly };
    // SAFETY: the caller's promise; nothing is known of bytes behind these.
    let range = unsafe { HostRange::new(data, size, size, access) };
    Ok((desc, range))
}

/// What is known of the layout before anything else may be looked at.
fn check_version(given: &DLManagedTensorVersioned) -> Result<()> {
    let (major, minor) = (given.version.major, given.version.minor);
    if major != VERSION.major {
        return fail!(Unsupported, "the tensor is of DLPack {major}.{minor}: ask its maker for version 1");
    }
    let unknown = given.flags & !(READ_ONLY | IS_COPIED | SUBBYTE_PADDED);
    if unknown != 0 {
        return fail!(
            Unsupported,
            "the tensor of DLPack {major}.{minor} has the flags {unknown:#x}, whose meaning is not known here"
        );
    }
    Ok(())
}

/// # Safety
/// As for [`read`].
unsafe fn read_desc(given: &DLManagedTensorVersioned) -> Result<Desc> {
    let view = &given.view;
    if ![CPU, CUDA_HOST, ROCM_HOST].contains(&view.device.kind) {
        return fail!(
            Unsupported,
            "the tensor is on a device of type {} (id {}), but only memory of the host is supported (kDLCPU {CPU}, kDLCUDAHost {CUDA_HOST}, kDLROCMHost {ROCM_HOST}): move it there",
            view.device.kind,
            view.device.id
        );
    }
    let dtype = read_dtype(view.dtype, given.flags)?;
    // SAFETY: the maker's shape and strides have `ndim` numbers each.
    let (shape, strides) = unsafe { read_shape(view) }?;
    let desc = Desc { dtype, dims: Dims::new(shape)? };
    if let Some(strides) = strides {
        check_strides(&desc, strides)?;
    }
    Ok(desc)
}

fn read_dtype(given: DataType, flags: u64) -> Result<Dtype> {
    let DataType { code, bits, lanes } = given;
    let Some(dtype) = given.to_dtype() else {
        return fail!(
            Unsupported,
            "the element type (code {code}, {bits} bits, {lanes} lanes) has no counterpart among ZB_DTYPE_: convert it"
        );
    };
    if dtype.bits() < 8 && flags & SUBBYTE_PADDED != 0 {
        return fail!(Unsupported, "the {dtype} elements are padded to a byte each: pack two into a byte");
    }
    Ok(dtype)
}

/// # Safety
/// Shape and strides are NULL, or have `ndim` numbers that nobody writes during the call.
unsafe fn read_shape(view: &View) -> Result<(&[i64], Option<&[i64]>)> {
    let Ok(rank) = usize::try_from(view.ndim) else {
        return fail!(InvalidArgument, "the tensor has {} dimensions", view.ndim);
    };
    if rank > MAX_RANK {
        return fail!(Unsupported, "the tensor has {rank} dimensions: at most {MAX_RANK} are supported");
    }
    // SAFETY: the caller's promise.
    let shape = unsafe { pointers::array(view.shape, rank, "the tensor's shape") }?;
    if let Some(dim) = shape.iter().find(|dim| **dim < 0) {
        return fail!(InvalidArgument, "the tensor has a dimension of {dim}");
    }
    if view.strides.is_null() {
        return Ok((shape, None));
    }
    // SAFETY: the caller's promise.
    let strides = unsafe { pointers::array(view.strides, rank, "the tensor's strides") }?;
    Ok((shape, Some(strides)))
}

/// Compact and row-major; a stride that is never taken can be anything.
fn check_strides(desc: &Desc, strides: &[i64]) -> Result<()> {
    let shape = desc.dims.as_slice();
    let compact = compact_strides(shape);
    let taken = shape.iter().all(|dim| *dim != 0);
    let right = |axis: usize| shape[axis] == 1 || strides[axis] == compact[axis];
    if taken && !(0..shape.len()).all(right) {
        return fail!(
            Unsupported,
            "the tensor {desc} has strides of {strides:?} elements, but only dense row-major memory is supported, {:?}: make it contiguous",
            &compact[..shape.len()]
        );
    }
    Ok(())
}

/// Address and size in bytes.
fn read_memory(view: &View, desc: &Desc) -> Result<(*mut c_void, usize)> {
    let size = desc.memory_size()?;
    if view.data.is_null() {
        pointers::check_data(view.data, size, size)?;
        return Ok((null_mut(), 0));
    }
    let offset = usize::try_from(view.byte_offset).ok().filter(|at| (view.data as usize).checked_add(*at).is_some());
    let Some(offset) = offset else {
        let (data, offset) = (view.data, view.byte_offset);
        return fail!(InvalidArgument, "byte_offset {offset} from {data:p} goes past the end of the address space");
    };
    let data = view.data.wrapping_byte_add(offset);
    pointers::check_data(data, size, size)?;
    Ok((data, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_that_are_never_taken_do_not_count() {
        let check = |shape: &[i64], strides: &[i64]| {
            check_strides(&Desc { dtype: Dtype::F32, dims: Dims::new(shape).unwrap() }, strides).is_ok()
        };
        assert!(check(&[2, 3, 4], &[12, 4, 1]));
        assert!(!check(&[2, 3, 4], &[12, 4, 2]));
        assert!(!check(&[4, 4], &[1, 4]));
        assert!(!check(&[4], &[0]));
        assert!(!check(&[4], &[-1]));
        assert!(check(&[1, 3, 1, 4], &[7, 4, -9, 1]));
        assert!(check(&[0, 4], &[99, 99]));
        assert!(check(&[], &[]));
    }
}
