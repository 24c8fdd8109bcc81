//! Shapes.

use std::fmt;

use super::error::{Result, fail};

/// The most dimensions that a shape of the ABI can have.
pub const MAX_RANK: usize = 16;

/// A shape of up to 16 dimensions, kept in place so that the run path never allocates for one.
///
/// A dimension of -1 is not known yet.
// in this order the rank and the first dimensions, often all, are in one line of the processor's cache
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Dims {
    rank: u8,
    dims: [i64; MAX_RANK],
}

impl Dims {
    pub const SCALAR: Dims = Dims { rank: 0, dims: [0; MAX_RANK] };

    /// A pattern that every shape matches.
    pub const ANY: Dims = Dims { rank: u8::MAX, dims: [-1; MAX_RANK] };

    /// A shape; every negative dimension becomes -1.
    pub fn new(dims: &[i64]) -> Result<Dims> {
        if dims.len() > MAX_RANK {
            return fail!(Unsupported, "a shape of {} dimensions: zerobind handles up to {MAX_RANK}", dims.len());
        }
        let mut shape = Dims { rank: dims.len() as u8, dims: [0; MAX_RANK] };
        for (to, from) in shape.dims.iter_mut().zip(dims) {
            *to = (*from).max(-1);
        }
        Ok(shape)
    }

    #[inline]
    pub fn as_slice(&self) -> &[i64] {
        &self.dims[..self.rank()]
    }

    pub fn as_mut_slice(&mut self) -> &mut [i64] {
        let rank = self.rank();
        &mut self.dims[..rank]
    }

    #[inline]
    pub fn rank(&self) -> usize {
        (self.rank as usize).min(MAX_RANK)
    }

    /// Whether every dimension is known.
    pub fn is_known(&self) -> bool {
        self.as_slice().iter().all(|dim| *dim >= 0)
    }

    /// Number of elements (1 for a scalar), or `None` if it is unknown or does not fit in 64 bits.
    ///
    /// A zero dimension makes it 0 whatever the others are, so `[0, 2^63 - 1, 2^63 - 1]` is empty and not an overflow.
    pub fn elements(&self) -> Option<u64> {
        if !self.is_known() {
            return None;
        }
        if self.as_slice().contains(&0) {
            return Some(0);
        }
        self.as_slice().iter().try_fold(1u64, |product, dim| product.checked_mul(*dim as u64))
    }

    /// Whether `self` is this pattern with its unknown dimensions filled in.
    pub fn matches(&self, pattern: &Dims) -> bool {
        if *pattern == Dims::ANY {
            return true;
        }
        self.rank == pattern.rank
            && self.as_slice().iter().zip(pattern.as_slice()).all(|(dim, wanted)| *wanted < 0 || dim == wanted)
    }

    /// Whether one shape could be both: the ranks are equal, and dimensions that both know are.
    pub fn agrees_with(&self, other: &Dims) -> bool {
        let agree = |(a, b): (&i64, &i64)| *a < 0 || *b < 0 || a == b;
        *self == Dims::ANY
            || *other == Dims::ANY
            || (self.rank == other.rank && self.as_slice().iter().zip(other.as_slice()).all(agree))
    }
}

/// Only the dimensions that there are count, and only they are looked at: this is on the run path.
impl PartialEq for Dims {
    #[inline]
    fn eq(&self, other: &Dims) -> bool {
        self.rank == other.rank && self.as_slice() == other.as_slice()
    }
}

impl Eq for Dims {}

impl fmt::Display for Dims {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("[")?;
        for (axis, dim) in self.as_slice().iter().enumerate() {
            let comma = if axis == 0 { "" } else { "," };
            write!(out, "{comma}{dim}")?;
        }
        out.write_str("]")
    }
}

impl fmt::Debug for Dims {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dims(values: &[i64]) -> Dims {
        Dims::new(values).unwrap()
    }

    #[test]
    fn empty_shapes_are_not_overflows() {
        assert_eq!(dims(&[]).elements(), Some(1));
        assert_eq!(dims(&[i64::MAX, i64::MAX, 0]).elements(), Some(0));
        assert_eq!(dims(&[i64::MAX, 3]).elements(), None);
        assert_eq!(dims(&[-1, 4]).elements(), None);
        assert_eq!(dims(&[-7, 4]), dims(&[-1, 4]));
        assert!(Dims::new(&[1; 17]).is_err());
    }

    #[test]
    fn patterns_fill_only_unknown_dimensions() {
        assert!(dims(&[3, 4]).matches(&dims(&[-1, 4])));
        assert!(!dims(&[3, 5]).matches(&dims(&[-1, 4])));
        assert!(!dims(&[3]).matches(&dims(&[-1, 4])));
        assert!(dims(&[]).matches(&dims(&[])));
    }

    proptest! {
        #[test]
        fn elements_agree_with_wide_arithmetic(values in prop::collection::vec(0i64..=i64::MAX, 0..=16)) {
            let wide = values.iter().try_fold(1u128, |product, dim| product.checked_mul(*dim as u128));
            let expected = if values.contains(&0) { Some(0) } else { wide.and_then(|value| u64::try_from(value).ok()) };
            prop_assert_eq!(dims(&values).elements(), expected);
        }
    }
}
