//! What another library is given.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::Arc;

use super::layout::{CPU, DLManagedTensorVersioned, DataType, Device, READ_ONLY, VERSION, View, compact_strides};
use crate::base::{MAX_RANK, Result, fail};
use crate::core::Tensor;
use crate::memory::Access;

/// A tensor in the hands of another library, with all that `managed` points to.
struct Exported {
    managed: DLManagedTensorVersioned,
    shape: [i64; MAX_RANK],
    strides: [i64; MAX_RANK],
    _tensor: Arc<Tensor>,
}

/// A managed tensor that holds `tensor` until its deleter is called.
pub fn export(tensor: Arc<Tensor>) -> Result<*mut DLManagedTensorVersioned> {
    let (desc, range) = (*tensor.desc(), tensor.range());
    let Some(dtype) = DataType::from_dtype(desc.dtype) else {
        return fail!(Unsupported, "DLPack has no element type for {}", desc.dtype);
    };
    if !desc.dims.is_known() {
        return fail!(
            ShapeMismatch,
            "{desc}: DLPack has no dimensions that are not known; make a tensor of a known shape"
        );
    }
    let mut shape = [0; MAX_RANK];
    let rank = desc.dims.rank();
    shape[..rank].copy_from_slice(desc.dims.as_slice());
    let view = View {
        // an empty tensor has no address there
        data: if range.size() == 0 { null_mut() } else { range.data() },
        device: Device { kind: CPU, id: 0 },
        ndim: rank as i32,
        dtype,
        shape: null_mut(),
        strides: null_mut(),
        byte_offset: 0,
    };
    let flags = if range.access() == Access::ReadOnly { READ_ONLY } else { 0 };
    let managed =
        DLManagedTensorVersioned { version: VERSION, manager: null_mut(), deleter: Some(delete), flags, view };
    let strides = compact_strides(desc.dims.as_slice());
    let exported = Box::into_raw(Box::new(Exported { managed, shape, strides, _tensor: tensor }));
    // SAFETY: made just now; it stays at its place until `delete`.
    unsafe {
        (*exported).managed.manager = exported.cast();
        (*exported).managed.view.shape = (&raw mut (*exported).shape).cast();
        (*exported).managed.view.strides = (&raw mut (*exported).strides).cast();
        Ok(&raw mut (*exported).managed)
    }
}

/// The deleter of what `export` made.
///
/// # Safety
/// `managed` came from `export` and is given back for the first time.
unsafe extern "C" fn delete(managed: *mut DLManagedTensorVersioned) {
    if managed.is_null() {
        return;
    }
    // SAFETY: the caller's promise; `manager` is what `export` put there.
    let exported = unsafe { Box::from_raw((*managed).manager.cast::<Exported>()) };
    // there is no status to return, and nothing may unwind into the caller
    let _ = catch_unwind(AssertUnwindSafe(|| drop(exported)));
}
