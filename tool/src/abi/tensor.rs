//! Types, shapes and memory.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::null_mut;

use zerobind::ffi::api::*;

use super::{Error, Result, check, dtype_name};

/// Element type and shape; -1 where a dimension is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Desc {
    pub dtype: i32,
    pub dims: Vec<i64>,
}

impl Desc {
    pub(super) fn from_c(desc: &zb_tensor_desc) -> Desc {
        Desc { dtype: desc.dtype, dims: desc.dims[..desc.rank as usize].to_vec() }
    }

    pub(super) fn to_c(&self) -> Result<zb_tensor_desc> {
        let mut desc = zb_tensor_desc { dtype: self.dtype, rank: self.dims.len() as u32, dims: [0; ZB_MAX_RANK] };
        let Some(places) = desc.dims.get_mut(..self.dims.len()) else {
            let text = format!("a shape of {} dimensions: at most {ZB_MAX_RANK} are supported", self.dims.len());
            return Err(Error { status: ZB_ERROR_UNSUPPORTED, text });
        };
        places.copy_from_slice(&self.dims);
        Ok(desc)
    }

    /// The bytes that a dense tensor takes.
    pub fn size(&self) -> Result<usize> {
        let (desc, mut size) = (self.to_c()?, 0);
        // SAFETY: both are places of their types.
        check(unsafe { zb_tensor_desc_size(&desc, &mut size) })?;
        Ok(size)
    }

    pub fn is_known(&self) -> bool {
        !self.dims.contains(&-1)
    }
}

impl std::fmt::Display for Desc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dims: Vec<_> =
            self.dims.iter().map(|dim| if *dim < 0 { "?".to_owned() } else { dim.to_string() }).collect();
        write!(f, "{} [{}]", dtype_name(self.dtype), dims.join(","))
    }
}

/// Memory with a type and a shape. Given to [`super::Context::bind`], which is where its bytes can be reached.
pub struct Tensor {
    pub(super) handle: *mut zb_tensor,
    /// Address and size of the bytes, if they are the library's own and nobody else's, not those of a file. They stay as
    /// long as the tensor.
    pub(super) memory: Option<(*mut u8, usize)>,
}

impl Tensor {
    /// Takes over a tensor on memory of the library's own.
    ///
    /// # Safety
    /// `handle` is of such a tensor, and nobody else's.
    pub(super) unsafe fn private(handle: *mut zb_tensor) -> Result<Tensor> {
        // dropped with the handle if the next call fails
        let mut tensor = Tensor { handle, memory: None };
        let (mut data, mut size) = (null_mut(), 0);
        // SAFETY: both are places of their types.
        check(unsafe { zb_tensor_get_data(tensor.handle, &mut data, &mut size) })?;
        tensor.memory = (size > 0).then_some((data.cast(), size));
        Ok(tensor)
    }

    /// The bytes of a file at `offset`, shared with it.
    pub fn map(desc: &Desc, file: BorrowedFd<'_>, offset: u64, read_only: bool) -> Result<Tensor> {
        let (desc, mut handle) = (desc.to_c()?, null_mut());
        let flags = if read_only { ZB_MAP_READ_ONLY } else { 0 };
        // SAFETY: both are places of their types; the descriptor is open and is duplicated by the call.
        check(unsafe { zb_tensor_map_fd(&desc, file.as_raw_fd(), offset, flags, &mut handle) })?;
        Ok(Tensor { handle, memory: None })
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        // a binding keeps the tensor itself
        zb_tensor_destroy(self.handle);
    }
}
