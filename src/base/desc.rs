//! A shape with its element type.

use std::fmt;

use super::dims::Dims;
use super::dtype::Dtype;
use super::error::{Result, fail};

/// What a tensor holds: element type and shape, dense and row-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Desc {
    pub dtype: Dtype,
    pub dims: Dims,
}

impl Desc {
    /// Bytes of the elements; types under 8 bits are packed and rounded up to whole bytes.
    pub fn byte_size(&self) -> Result<u64> {
        if self.dtype == Dtype::String {
            return fail!(Unsupported, "string tensors have no fixed size and are not supported in this version");
        }
        let Some(elements) = self.dims.elements() else {
            if self.dims.is_known() {
                return fail!(ShapeMismatch, "{self}: the number of elements does not fit in 64 bits");
            }
            return fail!(
                ShapeMismatch,
                "{self}: a dimension of -1 is not known yet, so the size in bytes is not either"
            );
        };
        let bits = u128::from(elements) * u128::from(self.dtype.bits());
        match u64::try_from(bits.div_ceil(8)) {
            Ok(bytes) => Ok(bytes),
            Err(_) => fail!(ShapeMismatch, "{self}: the size in bytes does not fit in 64 bits"),
        }
    }

    /// The same for memory of this process, which cannot have more bytes than half its address space.
    pub fn memory_size(&self) -> Result<usize> {
        let size = self.byte_size()?;
        match usize::try_from(size) {
            Ok(bytes) if bytes <= isize::MAX as usize => Ok(bytes),
            _ => fail!(ShapeMismatch, "{self} is {size} bytes, more than this machine can address"),
        }
    }
}

impl fmt::Display for Desc {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", self.dtype, self.dims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(dtype: Dtype, dims: &[i64]) -> Result<u64> {
        Desc { dtype, dims: Dims::new(dims).unwrap() }.byte_size()
    }

    #[test]
    fn sizes_in_bytes() {
        assert_eq!(size(Dtype::F32, &[1, 224, 224, 3]).unwrap(), 602_112);
        assert_eq!(size(Dtype::U8, &[1, 224, 224, 3]).unwrap(), 150_528);
        assert_eq!(size(Dtype::I4, &[9]).unwrap(), 5);
        assert_eq!(size(Dtype::F64, &[]).unwrap(), 8);
        assert_eq!(size(Dtype::F32, &[0, i64::MAX]).unwrap(), 0);
        assert!(size(Dtype::F32, &[1 << 62]).is_err());
        assert!(size(Dtype::String, &[1]).is_err());
        assert!(size(Dtype::F32, &[-1]).is_err());
    }
}
