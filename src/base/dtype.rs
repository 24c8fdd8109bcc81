//! Element types.

use std::ffi::CStr;
use std::fmt;

macro_rules! dtypes {
    ($($variant:ident = $value:literal, $name:literal, $bits:literal;)*) => {
        /// An element type. The numbers are part of the ABI.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(i32)]
        pub enum Dtype { $($variant = $value,)* }

        impl Dtype {
            pub const ALL: &'static [Dtype] = &[$(Dtype::$variant,)*];

            /// The type of a number that came from C, if there is one.
            pub fn from_code(code: i32) -> Option<Dtype> {
                match code { $($value => Some(Dtype::$variant),)* _ => None }
            }

            /// Short lower-case name, NUL-terminated so that C can be given it as it is.
            pub const fn c_name(self) -> &'static CStr {
                match self { $(Dtype::$variant => $name,)* }
            }

            /// Bits of one element; 0 for strings, which have no fixed size.
            pub const fn bits(self) -> u32 {
                match self { $(Dtype::$variant => $bits,)* }
            }
        }
    };
}

dtypes! {
    F32 = 1, c"f32", 32;
    F64 = 2, c"f64", 64;
    F16 = 3, c"f16", 16;
    BF16 = 4, c"bf16", 16;
    I8 = 5, c"i8", 8;
    U8 = 6, c"u8", 8;
    I16 = 7, c"i16", 16;
    U16 = 8, c"u16", 16;
    I32 = 9, c"i32", 32;
    U32 = 10, c"u32", 32;
    I64 = 11, c"i64", 64;
    U64 = 12, c"u64", 64;
    Bool = 13, c"bool", 8;
    I4 = 14, c"i4", 4;
    U4 = 15, c"u4", 4;
    C64 = 16, c"c64", 64;
    String = 17, c"string", 0;
    F8E4M3FN = 18, c"f8e4m3fn", 8;
    F8E5M2 = 19, c"f8e5m2", 8;
    C128 = 20, c"c128", 128;
}

impl Dtype {
    /// Bytes that the address of an element must be a multiple of: its size, or that of its half for complex numbers.
    pub const fn natural_alignment(self) -> usize {
        match self {
            Dtype::C64 => 4,
            Dtype::C128 => 8,
            other => {
                let bytes = other.bits() as usize / 8;
                if bytes == 0 { 1 } else { bytes }
            }
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.c_name().to_str().unwrap_or("?"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_dense_and_round_trip() {
        for (position, dtype) in Dtype::ALL.iter().enumerate() {
            assert_eq!(*dtype as i32, position as i32 + 1);
            assert_eq!(Dtype::from_code(*dtype as i32), Some(*dtype));
            assert!(dtype.natural_alignment().is_power_of_two());
        }
        assert_eq!(Dtype::from_code(0), None);
        assert_eq!(Dtype::from_code(21), None);
    }
}
