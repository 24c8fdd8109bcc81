//! Slots and descriptions, translated both ways.

use super::constants::{ZB_SLOT_CONSTANT, ZB_SLOT_DUPLICATE, ZB_SLOT_DYNAMIC, ZB_SLOT_PASS_THROUGH};
use super::layout::{zb_slot, zb_tensor_desc};
use crate::base::{Desc, Dims, Dtype, MAX_RANK, Result, Side, Slot, SlotFlags, fail};

/// Set in the number of an output. In the header as ZB_OUTPUT_BIT.
const OUTPUT_BIT: u32 = 0x8000_0000;

#[inline]
pub const fn from_c(slot: zb_slot) -> Slot {
    let side = if slot & OUTPUT_BIT != 0 { Side::Output } else { Side::Input };
    Slot { side, index: (slot & !OUTPUT_BIT) as usize }
}

pub const fn to_c(slot: Slot) -> zb_slot {
    match slot.side {
        Side::Input => slot.index as u32,
        Side::Output => slot.index as u32 | OUTPUT_BIT,
    }
}

/// A desc as C gives it.
#[inline]
pub fn read_desc(desc: &zb_tensor_desc) -> Result<Desc> {
    let Some(dtype) = Dtype::from_code(desc.dtype) else {
        return fail!(InvalidArgument, "desc.dtype is {}: give one of ZB_DTYPE_", desc.dtype);
    };
    if desc.rank as usize > MAX_RANK {
        return fail!(Unsupported, "desc.rank is {}: at most {MAX_RANK} dimensions are supported", desc.rank);
    }
    let dims = &desc.dims[..desc.rank as usize];
    if let Some(dim) = dims.iter().find(|dim| **dim < -1) {
        return fail!(InvalidArgument, "desc has a dimension of {dim}: give 0 or more, or -1 where it is not known");
    }
    Ok(Desc { dtype, dims: Dims::new(dims)? })
}

pub fn write_desc(desc: &Desc) -> zb_tensor_desc {
    let mut dims = [0; MAX_RANK];
    dims[..desc.dims.rank()].copy_from_slice(desc.dims.as_slice());
    zb_tensor_desc { dtype: desc.dtype as i32, rank: desc.dims.rank() as u32, dims }
}

pub fn flags_to_c(flags: SlotFlags) -> u32 {
    let bit = |set: bool, bit: u32| if set { bit } else { 0 };
    bit(flags.constant, ZB_SLOT_CONSTANT)
        | bit(flags.pass_through, ZB_SLOT_PASS_THROUGH)
        | bit(flags.dynamic, ZB_SLOT_DYNAMIC)
        | bit(flags.duplicate, ZB_SLOT_DUPLICATE)
}
