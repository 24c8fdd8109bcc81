//! DLPack as its header lays it out (version 1); field order is its ABI. Not part of our header: hosts that use DLPack have
//! the definitions from dlpack.h.

use std::ffi::c_void;

use crate::base::{Dtype, MAX_RANK};

/// The version that is written and read; a higher minor number only adds values.
pub const VERSION: Version = Version { major: 1, minor: 1 };

pub const READ_ONLY: u64 = 1;
pub const IS_COPIED: u64 = 2;
pub const SUBBYTE_PADDED: u64 = 4;

/// Memory of the process.
pub const CPU: i32 = 1;
/// Memory of the process that a GPU can reach as well.
pub const CUDA_HOST: i32 = 3;
pub const ROCM_HOST: i32 = 11;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Device {
    pub kind: i32,
    pub id: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

#[repr(C)]
pub struct View {
    pub data: *mut c_void,
    pub device: Device,
    pub ndim: i32,
    pub dtype: DataType,
    pub shape: *mut i64,
    /// In elements; NULL for compact and row-major.
    pub strides: *mut i64,
    pub byte_offset: u64,
}

/// What passes between libraries. Everything before `view` is the same in every version.
#[repr(C)]
pub struct DLManagedTensorVersioned {
    pub version: Version,
    pub manager: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    pub flags: u64,
    pub view: View,
}

/// Our element types: kind and bits; strings have no counterpart.
const TYPES: &[(Dtype, u8, u8)] = &[
    (Dtype::I8, 0, 8),
    (Dtype::I16, 0, 16),
    (Dtype::I32, 0, 32),
    (Dtype::I64, 0, 64),
    (Dtype::I4, 0, 4),
    (Dtype::U8, 1, 8),
    (Dtype::U16, 1, 16),
    (Dtype::U32, 1, 32),
    (Dtype::U64, 1, 64),
    (Dtype::U4, 1, 4),
    (Dtype::F16, 2, 16),
    (Dtype::F32, 2, 32),
    (Dtype::F64, 2, 64),
    (Dtype::BF16, 4, 16),
    (Dtype::C64, 5, 64),
    (Dtype::C128, 5, 128),
    (Dtype::Bool, 6, 8),
    (Dtype::F8E4M3FN, 10, 8),
    (Dtype::F8E5M2, 12, 8),
];

impl DataType {
    pub fn from_dtype(dtype: Dtype) -> Option<DataType> {
        let (_, code, bits) = TYPES.iter().find(|(known, ..)| *known == dtype)?;
        Some(DataType { code: *code, bits: *bits, lanes: 1 })
    }

    pub fn to_dtype(self) -> Option<Dtype> {
        let known = TYPES.iter().find(|(_, code, bits)| (*code, *bits) == (self.code, self.bits));
        known.filter(|_| self.lanes == 1).map(|(dtype, ..)| *dtype)
    }
}

/// The strides, in elements, of dense row-major memory.
pub fn compact_strides(shape: &[i64]) -> [i64; MAX_RANK] {
    let mut strides = [1i64; MAX_RANK];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(shape[axis]);
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_translate_both_ways() {
        for dtype in Dtype::ALL.iter().filter(|dtype| **dtype != Dtype::String) {
            let there = DataType::from_dtype(*dtype).unwrap();
            assert_eq!(u32::from(there.bits), dtype.bits());
            assert_eq!(there.to_dtype(), Some(*dtype));
            assert_eq!(DataType { lanes: 2, ..there }.to_dtype(), None);
        }
        assert_eq!(DataType::from_dtype(Dtype::String), None);
    }

    #[cfg(target_pointer_width = "64")]
    #[test]
    fn the_layout_is_that_of_dlpack_h() {
        use std::mem::offset_of;
        assert_eq!(offset_of!(DLManagedTensorVersioned, deleter), 16);
        assert_eq!(offset_of!(DLManagedTensorVersioned, view), 32);
        assert_eq!(offset_of!(View, dtype), 20);
        assert_eq!(offset_of!(View, byte_offset), 40);
        assert_eq!(size_of::<DLManagedTensorVersioned>(), 80);
    }
}
