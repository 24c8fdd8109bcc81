//! The sizes that a model gives its constants, before the engine makes room for them.

use std::fmt;

use super::walk::{Found, Part};
use crate::base::room::Lossy;
use crate::base::{Result, fail, text};
use crate::runtime::format::wire::{Fields, Value};

/// Refuses a constant that needs more than `most` bytes, whatever the model has of it: the engine makes room first.
pub fn check(found: &Found, most: u64) -> Result<()> {
    let message = found.message;
    let (dims, bits) = match found.part {
        Part::Tensor | Part::Constant => (1, bits(kind_of(message))),
        // 1 byte for each element, at the least
        Part::Sparse => (3, 8),
        Part::Node | Part::Input => return Ok(()),
    };
    let shape = Shape { message, dims };
    let mut size = Size::of_one(bits);
    shape.each(|dim| size.times(dim.into()));
    match size.verdict(most) {
        Verdict::Fits => Ok(()),
        Verdict::TooLarge(bytes) => fail!(
            Unsupported,
            "{} of shape {shape} needs {bytes} bytes, over the limit of {most}: {RAISE}",
            label(message)
        ),
        Verdict::Absurd(why) => fail!(ModelInvalid, "{} has the shape {shape}: {why}", label(message)),
    }
}

/// What to do about a limit.
pub const RAISE: &str = "raise max_tensor_bytes in zb_model_options if that is meant";

/// The size of a tensor, from dimension to dimension.
pub struct Size {
    elements: Option<u64>,
    bits: u64,
    is_negative: bool,
}

pub enum Verdict {
    Fits,
    /// So many bytes.
    TooLarge(u64),
    Absurd(&'static str),
}

impl Size {
    /// Of one element with so many bits.
    pub fn of_one(bits: u64) -> Size {
        Size { elements: Some(1), bits, is_negative: false }
    }

    pub fn times(&mut self, dim: i128) {
        self.is_negative |= dim < 0;
        self.elements = self.elements.and_then(|elements| elements.checked_mul(u64::try_from(dim).ok()?));
    }

    pub fn verdict(&self, most: u64) -> Verdict {
        let bits = self.elements.and_then(|elements| elements.checked_mul(self.bits));
        match bits.map(|bits| bits.div_ceil(8)) {
            Some(bytes) if bytes <= most => Verdict::Fits,
            Some(bytes) => Verdict::TooLarge(bytes),
            None if self.is_negative => Verdict::Absurd("a dimension is below 0"),
            None => Verdict::Absurd("too many elements for 64 bits"),
        }
    }
}

/// The dimensions of a tensor, which stay where they are.
pub struct Shape<'a> {
    pub message: &'a [u8],
    /// The number of their field.
    pub dims: u32,
}

impl Shape<'_> {
    pub fn each(&self, mut see: impl FnMut(i64)) {
        for field in Fields::new(self.message).filter(|field| field.number == self.dims) {
            match field.value {
                Value::Varint(dim) => see(dim as i64),
                Value::Bytes(packed) => Fields::packed_varints(packed).flatten().for_each(|dim| see(dim as i64)),
                _ => {}
            }
        }
    }
}

impl fmt::Display for Shape<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 16;
        let (mut count, mut result) = (0, write!(out, "["));
        self.each(|dim| {
            if result.is_ok() && count < MOST {
                result = write!(out, "{}{dim}", if count == 0 { "" } else { ", " });
            }
            count += 1;
        });
        result.and_then(|()| write!(out, "{}", if count > MOST { ", ...]" } else { "]" }))
    }
}

pub fn kind_of(tensor: &[u8]) -> Option<u64> {
    let kind = Fields::new(tensor).filter(|field| field.number == 2).last()?;
    match kind.value {
        Value::Varint(kind) => Some(kind),
        _ => None,
    }
}

/// Bits of an element, at the least.
pub fn bits(kind: Option<u64>) -> u64 {
    match kind {
        Some(15) => 128,
        Some(7 | 11 | 13 | 14) => 64,
        Some(1 | 6 | 12) => 32,
        Some(4 | 5 | 10 | 16) => 16,
        Some(21..) => 2,
        _ => 8,
    }
}

fn label(tensor: &[u8]) -> String {
    let name = Fields::new(tensor).filter_map(|field| match field.value {
        Value::Bytes(name) if field.number == 8 => Some(name),
        _ => None,
    });
    match name.last() {
        Some(name) => text!("the constant '{}'", Lossy(&name[..name.len().min(80)])),
        None => text!("a constant"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Status;

    /// A tensor of floats; each dimension has a tag of its own.
    fn tensor(dims: &[i64]) -> Vec<u8> {
        let mut bytes = vec![0x10, 1, 0x42, 1, b'w'];
        for dim in dims {
            bytes.push(0x08);
            let mut rest = *dim as u64;
            while rest >= 0x80 {
                bytes.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            bytes.push(rest as u8);
        }
        bytes
    }

    fn found(part: Part, message: &[u8]) -> Found<'_> {
        Found { part, message, graph: 0 }
    }

    fn checked(dims: &[i64], most: u64) -> Option<Status> {
        check(&found(Part::Tensor, &tensor(dims)), most).err().map(|error| error.status)
    }

    #[test]
    fn sizes_are_those_of_the_shape() {
        assert_eq!(checked(&[2, 3], 24), None);
        assert_eq!(checked(&[2, 3], 23), Some(Status::Unsupported));
        assert_eq!(checked(&[], 4), None);
        assert_eq!(checked(&[1 << 34], 1 << 32), Some(Status::Unsupported));
        assert_eq!(checked(&[1 << 40, 0], 1), None);
        for absurd in [&[-1][..], &[i64::MIN], &[1 << 40, 1 << 40], &[i64::MAX]] {
            assert_eq!(checked(absurd, u64::MAX), Some(Status::ModelInvalid), "{absurd:?}");
        }
        for kind in 21..29 {
            let packed = [0x10, kind, 0x08, 64];
            assert!(check(&found(Part::Constant, &packed), 16).is_ok(), "types of less than a byte, {kind}");
        }
        let error = check(&found(Part::Constant, &tensor(&[9])), 1).unwrap_err();
        assert!(error.text().contains("'w'") && error.text().contains("[9]") && error.text().contains("36"), "{error}");
    }

    #[test]
    fn a_sparse_one_is_as_large_as_it_will_be() {
        let dims = |packed: &[u8]| [&[0x1a, packed.len() as u8], packed].concat();
        assert!(check(&found(Part::Sparse, &dims(&[2, 3])), 6).is_ok());
        let error = check(&found(Part::Sparse, &dims(&[0xff, 0xff, 0xff, 0xff, 0x7f])), 1 << 32).unwrap_err();
        assert_eq!(error.status, Status::Unsupported);
    }
}
