//! Tensors from and to other libraries, by DLPack.

mod export;
mod import;
mod layout;

use self::layout::DLManagedTensorVersioned;
use super::guard::guard;
use super::layout::{zb_status, zb_tensor};
use super::{pointers, release, tensor};
use crate::core::Tensor;

/// Makes a tensor of the memory of another library's, which is shared, not copied: what is written on one side is seen on the
/// other. `source` is a DLManagedTensorVersioned of DLPack 1 (struct of dlpack.h).
///
/// Its memory has to be the host's (kDLCPU, kDLCUDAHost, kDLROCMHost), dense and row-major: strides NULL or compact, where
/// those of dimensions of 1, and of empty tensors, do not count. Types under 8 bits are packed. With the flag READ_ONLY the
/// tensor can be bound to inputs only. Nothing is known of bytes behind it, so it has no slack (see zb_requirements).
///
/// With ZB_OK `source` passes to the tensor, which calls its deleter (unless that is NULL) exactly once, when the tensor
/// handle is destroyed and no binding, operation of a queue or export uses it, on the thread that ends the last use. If the call
/// fails, `source` stays the caller's, deleter not called. Between runs everybody who shares the bytes may use them by an
/// order that they agree on; during a run nobody else writes what it reads, or touches what it writes.
///
/// Any thread. Errors: NULL_ARGUMENT (source, tensor, shape, data of a tensor with elements), UNSUPPORTED (major version,
/// flags, device, type, lanes, strides, padded types under 8 bits, rank above 16), INVALID_ARGUMENT (negative rank or dimension,
/// offset beyond the address space), SHAPE_MISMATCH (size beyond 64 bits), OUT_OF_MEMORY.
///
/// # Safety
/// `source` is NULL or a DLManagedTensorVersioned as DLPack describes it; `tensor` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_tensor_from_dlpack(
    source: *mut DLManagedTensorVersioned,
    tensor: *mut *mut zb_tensor,
) -> zb_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let given = unsafe { pointers::required(source, "source") }?;
        pointers::check_out(tensor, "tensor")?;
        // SAFETY: the caller's promise; the bytes are there until the deleter is called, which `release` does when dropped.
        let (desc, range) = unsafe { import::read(given) }?;
        let imported = import::Managed(source);
        let (release, ownership) = release::when_passed(move || imported.give_back());
        let handle = tensor::insert(Tensor::wrap(desc, range, release))?;
        // before anybody can know the handle and destroy it
        ownership.pass();
        // SAFETY: not NULL, writable.
        unsafe { tensor.write(handle) };
        Ok(())
    })
}

/// Gives the tensor to another library as a DLManagedTensorVersioned (DLPack 1, struct of dlpack.h), without a copy: what is
/// written on one side is seen on the other.
///
/// It holds the tensor's memory as a binding does, until its deleter is called, exactly once, on any thread, any callback
/// included; the tensor handle may be destroyed before. Each call makes another one. Shape and compact strides are given,
/// device kDLCPU, flag READ_ONLY if the tensor's memory must not be written; the address is aligned as the tensor is, which
/// may be less than the 256 bytes that DLPack speaks of. During a run of zerobind nobody else writes what it reads, or touches
/// what it writes; that cannot be enforced.
///
/// Any thread. Errors: NULL_ARGUMENT, INVALID_HANDLE, SHAPE_MISMATCH (a dimension of -1).
///
/// # Safety
/// `managed` is NULL or writable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn zb_tensor_to_dlpack(
    tensor: *mut zb_tensor,
    managed: *mut *mut DLManagedTensorVersioned,
) -> zb_status {
    guard(|| {
        pointers::check_out(managed, "managed")?;
        let exported = export::export(tensor::shared(tensor)?)?;
        // SAFETY: not NULL, writable.
        unsafe { managed.write(exported) };
        Ok(())
    })
}
