//! Element types: numpy's names for them and the library's.

use std::result::Result;

use crate::abi::*;

/// Types that have the same name in both directions.
const NAMES: &[(&str, i32)] = &[
    ("<f4", ZB_DTYPE_F32),
    ("<f8", ZB_DTYPE_F64),
    ("<f2", ZB_DTYPE_F16),
    ("|i1", ZB_DTYPE_I8),
    ("|u1", ZB_DTYPE_U8),
    ("<i2", ZB_DTYPE_I16),
    ("<u2", ZB_DTYPE_U16),
    ("<i4", ZB_DTYPE_I32),
    ("<u4", ZB_DTYPE_U32),
    ("<i8", ZB_DTYPE_I64),
    ("<u8", ZB_DTYPE_U64),
    ("|b1", ZB_DTYPE_BOOL),
    ("<c8", ZB_DTYPE_C64),
    ("<c16", ZB_DTYPE_C128),
    // numpy has no such types of its own; these are the names under which the package ml_dtypes saves them
    ("<V2", ZB_DTYPE_BF16),
    ("<V1", ZB_DTYPE_F8E4M3FN),
    ("<f1", ZB_DTYPE_F8E5M2),
];

/// The type of the elements of a file that is meant for a slot of type `wanted`.
///
/// V1 and V2 are bytes of no type: they are taken for the slot's, where that has no other name in numpy.
pub fn dtype_for(descr: &str, wanted: i32) -> Result<i32, String> {
    let untyped: &[i32] = match descr {
        "|V1" | "<V1" => &[ZB_DTYPE_F8E4M3FN, ZB_DTYPE_F8E5M2],
        "|V2" | "<V2" => &[ZB_DTYPE_BF16],
        _ => &[],
    };
    if untyped.contains(&wanted) {
        return Ok(wanted);
    }
    if [ZB_DTYPE_I4, ZB_DTYPE_U4].contains(&wanted) {
        let name = dtype_name(wanted);
        return Err(format!(
            "numpy does not pack elements of 4 bits, as the slot's {name} are: give the bare bytes in a file that is not .npy"
        ));
    }
    if let Some((_, dtype)) = NAMES.iter().find(|(name, _)| *name == descr && !name.contains('V')) {
        return Ok(*dtype);
    }
    Err(refused(descr, wanted))
}

fn refused(descr: &str, wanted: i32) -> String {
    let (name, wanted_descr) = (dtype_name(wanted), descr_for(wanted).unwrap_or("none"));
    let why = match descr.as_bytes() {
        [b'>', b'i' | b'u' | b'f' | b'c', ..] => "is big-endian",
        [_, b'O', ..] => "is for Python objects, which are not in the file as an engine could use them",
        [_, b'U' | b'S' | b'a', ..] => "is text",
        [_, b'M' | b'm', ..] => "is a time",
        [b'=', ..] => "does not say which byte comes first",
        _ => "is no type that engines know",
    };
    format!("its element type '{descr}' {why}: the slot takes {name}, saved by array.astype('{wanted_descr}')")
}

/// numpy's name for a type; `None` for those that it has none for.
pub fn descr_for(dtype: i32) -> Option<&'static str> {
    NAMES.iter().find(|(_, known)| *known == dtype).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_goes_round() {
        for (name, dtype) in NAMES {
            assert_eq!(descr_for(*dtype), Some(*name));
            assert_eq!(dtype_for(name, *dtype), Ok(*dtype), "{name}");
        }
    }

    #[test]
    fn a_known_type_stays_itself_whatever_is_wanted() {
        assert_eq!(dtype_for("<f8", ZB_DTYPE_F32), Ok(ZB_DTYPE_F64));
        assert_eq!(dtype_for("<u2", ZB_DTYPE_BF16), Ok(ZB_DTYPE_U16));
    }

    #[test]
    fn bytes_without_a_type_are_for_types_without_a_name() {
        assert_eq!(dtype_for("|V2", ZB_DTYPE_BF16), Ok(ZB_DTYPE_BF16));
        for (descr, wanted) in [("<V2", ZB_DTYPE_F16), ("<V1", ZB_DTYPE_U8), ("<V1", ZB_DTYPE_I4), ("|u1", ZB_DTYPE_U4)]
        {
            assert!(dtype_for(descr, wanted).is_err(), "{descr}");
        }
    }
}
