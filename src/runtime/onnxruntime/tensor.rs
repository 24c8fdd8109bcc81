//! Small tensors inside a model: scales and zero points.

use crate::base::room::Shortage;
use crate::runtime::format::wire::{Fields, Value};

/// Numbers of ONNX for element types.
const F32: u64 = 1;
const U8: u64 = 2;
const I8: u64 = 3;
const U16: u64 = 4;
const I16: u64 = 5;
const I32: u64 = 6;
const I64: u64 = 7;
const F16: u64 = 10;
const F64: u64 = 11;
const BF16: u64 = 16;
const U4: u64 = 21;
const I4: u64 = 22;

/// A tensor of the model as it is written there; its elements stay where they are.
pub struct Tensor<'a> {
    dims: Vec<u64>,
    dtype: u64,
    raw: Option<&'a [u8]>,
    /// Elements in the fields for floats, ints, doubles and ints of 64 bits, which are repeated.
    floats: Vec<Value<'a>>,
    ints: Vec<Value<'a>>,
    doubles: Vec<Value<'a>>,
    longs: Vec<Value<'a>>,
    shortage: &'a Shortage,
}

impl<'a> Tensor<'a> {
    /// `None` when it is damaged, or its elements are in another file or in another form than these.
    pub fn read(message: &'a [u8], shortage: &'a Shortage) -> Option<Tensor<'a>> {
        let mut tensor = Tensor::of_floats(Vec::new(), Vec::new(), shortage);
        tensor.dtype = 0;
        Fields::new(message).each(|number, value| {
            match (number, value) {
                (1, value) => push_varints(&mut tensor.dims, value, shortage)?,
                (2, Value::Varint(dtype)) => tensor.dtype = dtype,
                (9, Value::Bytes(raw)) => tensor.raw = Some(raw),
                (4, value) => shortage.push(&mut tensor.floats, value)?,
                (5, value) => shortage.push(&mut tensor.ints, value)?,
                (10, value) => shortage.push(&mut tensor.doubles, value)?,
                (7, value) => shortage.push(&mut tensor.longs, value)?,
                // in the model itself, as by default
                (14, Value::Varint(0)) => {}
                (2 | 3 | 9 | 13 | 14, _) => return None,
                _ => {}
            }
            Some(())
        })?;
        Some(tensor)
    }

    /// A tensor of what an attribute of floats holds.
    pub fn of_floats(dims: Vec<u64>, floats: Vec<Value<'a>>, shortage: &'a Shortage) -> Tensor<'a> {
        let (ints, doubles, longs) = Default::default();
        Tensor { dims, dtype: F32, raw: None, floats, ints, doubles, longs, shortage }
    }

    /// A tensor of what an attribute of whole numbers holds.
    pub fn of_ints(dims: Vec<u64>, longs: Vec<Value<'a>>, shortage: &'a Shortage) -> Tensor<'a> {
        Tensor { dtype: I64, longs, ..Tensor::of_floats(dims, Vec::new(), shortage) }
    }

    pub fn dims(&self) -> &[u64] {
        &self.dims
    }

    pub fn dtype(&self) -> u64 {
        self.dtype
    }

    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Elements as the dimensions have it; `None` when there are more than this machine can address.
    pub fn elements(&self) -> Option<usize> {
        let product = self.dims.iter().try_fold(1u64, |product, dim| product.checked_mul(*dim))?;
        usize::try_from(product).ok()
    }

    /// Bytes that the elements take in the model.
    pub fn data_bytes(&self) -> usize {
        let fields = [&self.floats, &self.ints, &self.doubles, &self.longs].into_iter().flatten();
        let of_field = |value: &Value<'_>| match value {
            Value::Fixed(bytes) | Value::Bytes(bytes) => bytes.len(),
            _ => 1,
        };
        self.raw.map_or(0, <[u8]>::len) + fields.map(of_field).sum::<usize>()
    }

    /// All elements as scales, where each is exactly one of our kind.
    pub fn scales(&self) -> Option<Vec<f32>> {
        let values = match (self.dtype, self.raw) {
            (F32, Some(raw)) => self.fixed(raw, |bytes| Some(f32::from_le_bytes(bytes)))?,
            (F32, None) => self.all_floats()?,
            (F64, Some(raw)) => self.fixed(raw, |bytes| exact(f64::from_le_bytes(bytes)))?,
            (F64, None) => self.spread(&self.doubles, |bytes| exact(f64::from_le_bytes(bytes)))?,
            (F16, Some(raw)) => self.fixed(raw, |bytes| Some(from_half(u16::from_le_bytes(bytes))))?,
            (F16, None) => self.ints(|bits| Some(from_half(u16::try_from(bits).ok()?)))?,
            (BF16, Some(raw)) => self.fixed(raw, |bytes| Some(from_bfloat(u16::from_le_bytes(bytes))))?,
            (BF16, None) => self.ints(|bits| Some(from_bfloat(u16::try_from(bits).ok()?)))?,
            _ => return None,
        };
        let is_good = self.elements() == Some(values.len()) && values.iter().all(|scale| scale.is_finite());
        (is_good && self.is_clear()).then_some(values)
    }

    /// The elements in the field for floats, whatever the dimensions say.
    pub fn all_floats(&self) -> Option<Vec<f32>> {
        self.spread(&self.floats, |bytes| Some(f32::from_le_bytes(bytes)))
    }

    /// All elements as zero points.
    pub fn zero_points(&self) -> Option<Vec<i32>> {
        if !self.is_clear() {
            return None;
        }
        let values = match (self.dtype, self.raw) {
            (U4 | I4, _) => return self.nibbles(),
            (U8, Some(raw)) => self.shortage.gather(raw.iter().map(|byte| i32::from(*byte)))?,
            (I8, Some(raw)) => self.shortage.gather(raw.iter().map(|byte| i32::from(*byte as i8)))?,
            (U16, Some(raw)) => self.fixed(raw, |bytes| Some(i32::from(u16::from_le_bytes(bytes))))?,
            (I16, Some(raw)) => self.fixed(raw, |bytes| Some(i32::from(i16::from_le_bytes(bytes))))?,
            (I32, Some(raw)) => self.fixed(raw, |bytes| Some(i32::from_le_bytes(bytes)))?,
            (U8, None) => self.ints(|value| Some(u8::try_from(value).ok()?.into()))?,
            (I8, None) => self.ints(|value| Some(i8::try_from(value).ok()?.into()))?,
            (U16, None) => self.ints(|value| Some(u16::try_from(value).ok()?.into()))?,
            (I16, None) => self.ints(|value| Some(i16::try_from(value).ok()?.into()))?,
            (I32, None) => self.ints(Some)?,
            _ => return None,
        };
        (self.elements() == Some(values.len())).then_some(values)
    }

    /// All elements as whole numbers of 64 bits, where they are, or such of 32 bits.
    pub fn longs(&self) -> Option<Vec<i64>> {
        if !self.is_clear() {
            return None;
        }
        let values = match (self.dtype, self.raw) {
            (I64, Some(raw)) => self.fixed(raw, |bytes| Some(i64::from_le_bytes(bytes)))?,
            (I64, None) => self.varints(&self.longs)?,
            (I32, Some(raw)) => self.fixed(raw, |bytes| Some(i32::from_le_bytes(bytes).into()))?,
            (I32, None) => self.ints(|value| Some(value.into()))?,
            _ => return None,
        };
        (self.elements() == Some(values.len())).then_some(values)
    }

    /// Two elements in a byte, the first in the low half, in both forms.
    fn nibbles(&self) -> Option<Vec<i32>> {
        let bytes = match self.raw {
            Some(raw) => self.shortage.copied(raw)?,
            None => self.ints(|value| u8::try_from(value).ok())?,
        };
        let elements = self.elements()?;
        if bytes.len() != elements.div_ceil(2) {
            return None;
        }
        let halves = bytes.iter().flat_map(|byte| [byte & 15, byte >> 4]).take(elements);
        let signed = |half: u8| i32::from((half << 4) as i8 >> 4);
        self.shortage.gather(halves.map(|half| if self.dtype == I4 { signed(half) } else { half.into() }))
    }

    /// Whether there are elements in one form only.
    fn is_clear(&self) -> bool {
        let lists = [self.floats.is_empty(), self.ints.is_empty(), self.doubles.is_empty(), self.longs.is_empty()];
        let forms = lists.into_iter().map(|is_empty| !is_empty).chain([self.raw.is_some()]);
        forms.filter(|is_used| *is_used).count() == 1
    }

    fn ints<T>(&self, convert: impl Fn(i32) -> Option<T>) -> Option<Vec<T>> {
        // as the format has it: a number of 32 bits is written with as many bits as one of 64
        self.shortage.gather_all(self.varints(&self.ints)?.into_iter().map(|number| convert(number as i32)))
    }

    fn varints(&self, values: &[Value<'_>]) -> Option<Vec<i64>> {
        let mut numbers = Vec::new();
        values.iter().try_for_each(|value| push_varints(&mut numbers, *value, self.shortage))?;
        Some(numbers)
    }

    /// Elements of a repeated field of fixed size, which come one by one or packed.
    fn spread<const N: usize, T>(
        &self,
        values: &[Value<'_>],
        convert: impl Fn([u8; N]) -> Option<T>,
    ) -> Option<Vec<T>> {
        let mut elements = Vec::new();
        for value in values {
            let (Value::Fixed(bytes) | Value::Bytes(bytes)) = value else { return None };
            for element in self.fixed(bytes, &convert)? {
                self.shortage.push(&mut elements, element)?;
            }
        }
        Some(elements)
    }

    /// Elements of `N` bytes each.
    fn fixed<const N: usize, T>(&self, bytes: &[u8], convert: impl Fn([u8; N]) -> Option<T>) -> Option<Vec<T>> {
        let (elements, rest) = bytes.as_chunks();
        if !rest.is_empty() {
            return None;
        }
        self.shortage.gather_all(elements.iter().map(|element| convert(*element)))
    }
}

/// The numbers of a repeated field, which come one by one or packed.
pub fn push_varints<T: FromBits>(numbers: &mut Vec<T>, value: Value<'_>, shortage: &Shortage) -> Option<()> {
    match value {
        Value::Varint(number) => shortage.push(numbers, T::from_bits(number))?,
        Value::Bytes(packed) => {
            for number in Fields::packed_varints(packed) {
                shortage.push(numbers, T::from_bits(number?))?;
            }
        }
        _ => return None,
    }
    Some(())
}

/// A number as it is written: by its bits.
pub trait FromBits {
    fn from_bits(bits: u64) -> Self;
}

impl FromBits for u64 {
    fn from_bits(bits: u64) -> u64 {
        bits
    }
}

impl FromBits for i64 {
    fn from_bits(bits: u64) -> i64 {
        bits as i64
    }
}

fn exact(value: f64) -> Option<f32> {
    let single = value as f32;
    (f64::from(single) == value).then_some(single)
}

fn from_bfloat(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Every half is exactly a single.
fn from_half(bits: u16) -> f32 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2f32.powi(exponent - 25),
    };
    if bits >> 15 == 0 { size } else { -size }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::onnxruntime::writer as w;

    fn scales(tensor: &[u8]) -> Option<Vec<f32>> {
        Tensor::read(tensor, &Shortage::default())?.scales()
    }

    fn zero_points(tensor: &[u8]) -> Option<Vec<i32>> {
        Tensor::read(tensor, &Shortage::default())?.zero_points()
    }

    /// A tensor whose elements are in a field of their own kind.
    fn typed(dtype: u64, dims: &[i64], elements: Vec<u8>) -> Vec<u8> {
        [w::tensor_head("t", dtype, dims), elements].concat()
    }

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn scales_of_every_type_and_form() {
        let wanted = Some(vec![0.5, 3.0]);
        let raw = |dtype, bytes: &[u8]| w::tensor("t", dtype, &[2], bytes);
        let doubles: Vec<u8> = [0.5f64, 3.0].iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(scales(&raw(F32, &floats(&[0.5, 3.0]))), wanted);
        assert_eq!(scales(&typed(F32, &[2], w::bytes(4, floats(&[0.5, 3.0])))), wanted);
        let one_by_one: Vec<u8> = [0.5f32, 3.0].iter().flat_map(|value| w::fixed32(4, *value)).collect();
        assert_eq!(scales(&typed(F32, &[2], one_by_one)), wanted);
        assert_eq!(scales(&raw(F64, &doubles)), wanted);
        assert_eq!(scales(&typed(F64, &[2], w::bytes(10, &doubles))), wanted);
        assert_eq!(scales(&raw(F16, &[0x00, 0x38, 0x00, 0x42])), wanted);
        assert_eq!(scales(&typed(F16, &[2], [w::number(5, 0x3800), w::number(5, 0x4200)].concat())), wanted);
        assert_eq!(scales(&raw(BF16, &[0x00, 0x3f, 0x40, 0x40])), wanted);
        assert_eq!(scales(&raw(F64, &[0.1f64.to_le_bytes(), 1.0f64.to_le_bytes()].concat())), None, "not exact");
        assert_eq!(scales(&raw(F32, &floats(&[f32::NAN, 1.0]))), None);
        assert_eq!(scales(&raw(I32, &[0; 8])), None);
    }

    #[test]
    fn halves_are_exact() {
        for (bits, value) in [
            (0x3c00, 1.0),
            (0xbc00, -1.0),
            (0x0001, 5.960_464_5e-8),
            (0x0400, 6.103_515_6e-5),
            (0x7bff, 65504.0),
            (0x7c00, f32::INFINITY),
            (0x2e66, 0.099_975_586),
        ] {
            assert_eq!(from_half(bits), value, "{bits:#x}");
        }
        assert!(from_half(0x7e00).is_nan());
    }

    #[test]
    fn zero_points_of_every_type_and_form() {
        for (dtype, raw, value) in [
            (U8, vec![200], 200),
            (I8, vec![200], -56),
            (U16, vec![1, 0xff], 0xff01),
            (I16, vec![1, 0xff], -255),
            (I32, vec![0xff; 4], -1),
            (U4, vec![0xfa], 10),
            (I4, vec![0x0f], -1),
        ] {
            assert_eq!(zero_points(&w::tensor("t", dtype, &[], &raw)), Some(vec![value]), "{dtype}");
            let packed = dtype == U4 || dtype == I4;
            let int = w::number(5, if packed { raw[0].into() } else { value.into() });
            assert_eq!(zero_points(&typed(dtype, &[], int)), Some(vec![value]), "{dtype}");
        }
        assert_eq!(zero_points(&w::tensor("t", I4, &[3], [0x8f, 0x07])), Some(vec![-1, -8, 7]));
        assert_eq!(zero_points(&typed(U8, &[], w::number(5, 256))), None, "too large for its type");
        assert_eq!(zero_points(&w::tensor("t", 17, &[], [0])), None, "float8");
    }

    #[test]
    fn what_is_unclear_is_nothing() {
        let good = w::tensor("t", U8, &[2], [1, 2]);
        assert_eq!(zero_points(&good), Some(vec![1, 2]));
        assert_eq!(zero_points(&w::tensor("t", U8, &[3], [1, 2])), None, "too few");
        assert_eq!(zero_points(&w::tensor("t", U8, &[i64::MAX, i64::MAX], [1])), None);
        assert_eq!(zero_points(&w::tensor_head("t", U8, &[0])), None, "none at all");
        for more in [w::number(14, 1), w::bytes(13, w::bytes(1, "location")), w::number(5, 1), w::bytes(3, "")] {
            assert_eq!(zero_points(&[good.clone(), more].concat()), None);
        }
        assert_eq!(zero_points(&good[..good.len() - 1]), None, "cut off");
    }
}
