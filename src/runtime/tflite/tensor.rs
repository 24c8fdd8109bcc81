//! Reading what the engine knows about a tensor.

use std::ffi::{CStr, c_int, c_void};

use super::symbols::{OK, RawAffine, RawArray, RawTensor, Symbols};
use crate::base::room::{Lossy, copied};
use crate::base::{Desc, Dims, Dtype, Gather, MAX_RANK, Quantization, Result, SlotFlags, SlotInfo, fail, text};

/// Where a tensor's memory comes from (`TfLiteAllocationType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// Part of the model, or computed once while planning.
    Constant,
    /// In the engine's arena; ours can take its place.
    Arena,
    /// Ours already.
    Custom,
    /// Made by the engine during the run.
    Dynamic,
    /// None, or nothing that is plain memory.
    Other,
}

/// A tensor of an interpreter, looked at for a moment: planning may move it, so no place keeps one.
#[derive(Clone, Copy)]
pub struct Tensor<'a> {
    symbols: &'a Symbols,
    raw: *const RawTensor,
}

impl<'a> Tensor<'a> {
    /// # Safety
    /// `raw` is a tensor of an interpreter that neither goes nor plans as long as `'a`.
    pub unsafe fn new(symbols: &'a Symbols, raw: *const RawTensor) -> Tensor<'a> {
        Tensor { symbols, raw }
    }

    pub fn name(self) -> Lossy<'a> {
        // SAFETY: `new` promised a live tensor; its name is a C string or null.
        let name = unsafe { (self.symbols.tensor_name)(self.raw) };
        if name.is_null() {
            return Lossy(b"");
        }
        // SAFETY: not null, and it lives as long as the model.
        Lossy(unsafe { CStr::from_ptr(name) }.to_bytes())
    }

    pub fn data(self) -> *mut c_void {
        // SAFETY: `new` promised a live tensor.
        unsafe { (self.symbols.tensor_data)(self.raw) }
    }

    pub fn bytes(self) -> usize {
        // SAFETY: `new` promised a live tensor.
        unsafe { (self.symbols.tensor_bytes)(self.raw) }
    }

    pub fn allocation(self) -> Allocation {
        // SAFETY: `new` promised a live tensor.
        match unsafe { (self.symbols.tensor_allocation)(self.raw) } {
            1 | 5 => Allocation::Constant,
            2 | 3 => Allocation::Arena,
            4 => Allocation::Dynamic,
            6 => Allocation::Custom,
            _ => Allocation::Other,
        }
    }

    /// State that the engine keeps from run to run.
    pub fn is_variable(self) -> bool {
        // SAFETY: `new` promised a live tensor.
        unsafe { (self.symbols.tensor_is_variable)(self.raw) != 0 }
    }

    /// Element type and the shape of now.
    pub fn desc(self) -> Result<Desc> {
        Ok(Desc { dtype: self.dtype()?, dims: self.dims()? })
    }

    pub fn dims(self) -> Result<Dims> {
        // SAFETY: `new` promised a live tensor.
        let rank = unsafe { (self.symbols.tensor_rank)(self.raw) };
        let mut dims = [0i64; MAX_RANK];
        let Some(dims) = usize::try_from(rank).ok().and_then(|rank| dims.get_mut(..rank)) else {
            return fail!(Unsupported, "{}: {rank} dimensions, zerobind handles 0 to {MAX_RANK}", self.name());
        };
        for (axis, dim) in (0..rank).zip(dims.iter_mut()) {
            // SAFETY: as above, and the axis is below the rank.
            *dim = i64::from(unsafe { (self.symbols.tensor_dim)(self.raw, axis) });
        }
        Dims::new(dims)
    }

    /// The shape with -1 where the model leaves a dimension open.
    pub fn open_dims(self) -> Result<Dims> {
        let mut dims = self.dims()?;
        let mut rank = 0;
        // SAFETY: `new` promised a live tensor; `rank` is a place to write to.
        let status = unsafe { (self.symbols.tensor_open_rank)(self.raw, &mut rank) };
        // a model without such a signature leaves nothing open
        if status != OK || usize::try_from(rank) != Ok(dims.rank()) {
            return Ok(dims);
        }
        for (axis, dim) in (0..rank).zip(dims.as_mut_slice()) {
            let mut declared = 0;
            // SAFETY: as above, and the axis is below the rank of the signature.
            let status = unsafe { (self.symbols.tensor_open_dim)(self.raw, axis, &mut declared) };
            if status == OK && declared < 0 {
                *dim = -1;
            }
        }
        Ok(dims)
    }

    /// The slot as the model declares it, without the flags that depend on other slots.
    pub fn slot_info(self) -> Result<SlotInfo> {
        let desc = Desc { dtype: self.dtype()?, dims: self.open_dims()? };
        let flags = SlotFlags {
            constant: self.allocation() == Allocation::Constant,
            dynamic: !desc.dims.is_known(),
            ..SlotFlags::default()
        };
        let initial = self.dims()?;
        Ok(SlotInfo {
            name: self.name().owned()?,
            desc,
            initial,
            flags,
            dim_names: Vec::new(),
            quantization: self.quantization()?,
        })
    }

    fn dtype(self) -> Result<Dtype> {
        // SAFETY: `new` promised a live tensor.
        let code = unsafe { (self.symbols.tensor_type)(self.raw) };
        match dtype_of(code) {
            Some(dtype) => Ok(dtype),
            None => {
                fail!(Unsupported, "{}: element type {} has no counterpart here", self.name(), self.type_name(code))
            }
        }
    }

    fn type_name(self, code: c_int) -> String {
        match self.symbols.type_name {
            // SAFETY: the function returns a string literal for every number.
            Some(name) => text!("{} ({code})", unsafe { CStr::from_ptr(name(code)) }.to_string_lossy()),
            None => text!("{code}"),
        }
    }

    fn quantization(self) -> Result<Quantization> {
        const AFFINE: c_int = 1;
        // SAFETY: `new` promised a live tensor.
        let raw = unsafe { (self.symbols.tensor_quantization)(self.raw) };
        if raw.kind != AFFINE || raw.parameters.is_null() {
            return Ok(Quantization::None);
        }
        // SAFETY: for this kind the parameters are a TfLiteAffineQuantization that lives with the tensor.
        let affine = unsafe { &*raw.parameters.cast::<RawAffine>() };
        // SAFETY: its arrays are null or live as long as it does.
        let (scales, zero_points) = unsafe { (values(affine.scales), values(affine.zero_points)) };
        let zero_point = |axis: usize| zero_points.get(axis).or(zero_points.first()).copied().unwrap_or(0);
        Ok(match scales {
            [] => Quantization::None,
            [scale] => Quantization::PerTensor { scale: *scale, zero_point: zero_point(0) },
            _ => Quantization::PerAxis {
                axis: affine.axis,
                scales: copied(scales)?,
                zero_points: (0..scales.len()).map(zero_point).gather()?,
            },
        })
    }
}

/// The values of one of the engine's arrays.
///
/// # Safety
/// `array` is null or an array that lives as long as `'a`.
unsafe fn values<'a, T>(array: *const RawArray<T>) -> &'a [T] {
    if array.is_null() {
        return &[];
    }
    // SAFETY: the caller promised an array.
    let size = usize::try_from(unsafe { (*array).size }).unwrap_or(0);
    // SAFETY: `size` values follow its head; the address is taken from the array's pointer, so it reaches them.
    unsafe { std::slice::from_raw_parts((&raw const (*array).first).cast(), size) }
}

/// `TfLiteType` in our numbers; resources, variants and types that came later have none.
fn dtype_of(code: c_int) -> Option<Dtype> {
    Some(match code {
        1 => Dtype::F32,
        2 => Dtype::I32,
        3 => Dtype::U8,
        4 => Dtype::I64,
        5 => Dtype::String,
        6 => Dtype::Bool,
        7 => Dtype::I16,
        8 => Dtype::C64,
        9 => Dtype::I8,
        10 => Dtype::F16,
        11 => Dtype::F64,
        12 => Dtype::C128,
        13 => Dtype::U64,
        16 => Dtype::U32,
        17 => Dtype::U16,
        18 => Dtype::I4,
        19 => Dtype::BF16,
        _ => return None,
    })
}
