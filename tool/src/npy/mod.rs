//! .npy files: numpy's header, in front of the bare bytes of an array.
//!
//! Only what lies in a file as an engine takes it: little-endian, C order. The header is parsed here, since the bytes
//! behind it are mapped and never read; crates for this format read them.

mod literal;
mod types;

use std::fs::File;
use std::os::unix::fs::FileExt;

use literal::Fields;
pub use types::{descr_for, dtype_for};

const MAGIC: &[u8] = b"\x93NUMPY";
/// Longer ones have no place in files of tensors; numpy itself stops at 10,000 bytes.
const LONGEST_HEADER: usize = 1 << 20;
/// numpy pads so that the data lies at a multiple of it.
const PADDING: usize = 64;

/// What the file says about the array.
#[derive(Debug, PartialEq, Eq)]
pub struct Header {
    /// The element type as numpy writes it, "<f4".
    pub descr: String,
    pub dims: Vec<i64>,
    /// Where the data begins.
    pub offset: u64,
}

/// Reads the header; `None` if the file is of another kind, a text if it is broken or not for engines.
pub fn read(file: &File, length: u64) -> std::io::Result<Option<Result<Header, String>>> {
    let mut start = [0; 12];
    let there = start.len().min(usize::try_from(length).unwrap_or(usize::MAX));
    file.read_exact_at(&mut start[..there], 0)?;
    let prefix = match prefix(&start[..there], length) {
        None => return Ok(None),
        Some(Err(text)) => return Ok(Some(Err(text))),
        Some(Ok(prefix)) => prefix,
    };
    let mut text = vec![0; prefix.header_length];
    file.read_exact_at(&mut text, prefix.size as u64)?;
    Ok(Some(header(&text, prefix.size)))
}

struct Prefix {
    /// Bytes before the header's text.
    size: usize,
    header_length: usize,
}

/// Magic, version and length of the header.
fn prefix(start: &[u8], length: u64) -> Option<Result<Prefix, String>> {
    let rest = start.strip_prefix(MAGIC)?;
    let (size, header_length) = match rest {
        [1, _, a, b, ..] => (10, u16::from_le_bytes([*a, *b]) as usize),
        [2 | 3, _, a, b, c, d] => (12, u32::from_le_bytes([*a, *b, *c, *d]) as usize),
        [1..=3, ..] | [] => return Some(Err(cut(length, "inside its header"))),
        [version, ..] => return Some(Err(format!("its .npy version is {version}: 1, 2 and 3 are known"))),
    };
    if header_length > LONGEST_HEADER {
        let text = format!("its .npy header claims {header_length} bytes: at most {LONGEST_HEADER} are taken");
        return Some(Err(text));
    }
    if (size + header_length) as u64 > length {
        return Some(Err(cut(length, &format!("inside its header of {header_length} bytes"))));
    }
    Some(Ok(Prefix { size, header_length }))
}

fn cut(length: u64, place: &str) -> String {
    format!("the .npy file ends {place}, after {length} bytes")
}

fn header(text: &[u8], before: usize) -> Result<Header, String> {
    let Fields { descr, fortran_order, shape } =
        literal::parse(text).map_err(|error| format!("its .npy header is broken: {error}"))?;
    if fortran_order {
        let text = "its array is in Fortran order, engines take C order: save numpy.ascontiguousarray(array)";
        return Err(text.to_owned());
    }
    Ok(Header { descr, dims: shape, offset: (before + text.len()) as u64 })
}

/// The header for an array, padded so that the data lies at a multiple of 64 bytes.
pub fn header_bytes(descr: &str, dims: &[i64]) -> Vec<u8> {
    let shape = match dims {
        [one] => format!("({one},)"),
        _ => format!("({})", dims.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")),
    };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    // magic, version 1.0, length; the text ends with a newline
    let before = MAGIC.len() + 4;
    let padded = (before + text.len() + 1).next_multiple_of(PADDING);
    text += &" ".repeat(padded - before - text.len() - 1);
    text.push('\n');
    let length = u16::try_from(text.len()).expect("16 dimensions of 20 digits take less than 64 kB");
    [MAGIC, &[1, 0], &length.to_le_bytes(), text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As `read`, on bytes.
    fn read_bytes(bytes: &[u8]) -> Option<Result<Header, String>> {
        let prefix = match prefix(&bytes[..bytes.len().min(12)], bytes.len() as u64)? {
            Err(text) => return Some(Err(text)),
            Ok(prefix) => prefix,
        };
        Some(header(&bytes[prefix.size..prefix.size + prefix.header_length], prefix.size))
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(dims in prop::collection::vec(0..=i64::MAX, 0..=16)) {
            let bytes = header_bytes("<f4", &dims);
            prop_assert_eq!(bytes.len() % PADDING, 0);
            let expected = Header { descr: "<f4".to_owned(), dims, offset: bytes.len() as u64 };
            prop_assert_eq!(read_bytes(&bytes), Some(Ok(expected)));
        }

        #[test]
        fn every_cut_is_noticed(dims in prop::collection::vec(0..1000i64, 0..=16), at in 0.0..1.0) {
            let bytes = header_bytes("<i8", &dims);
            let cut = &bytes[..(at * bytes.len() as f64) as usize];
            prop_assert!(!matches!(read_bytes(cut), Some(Ok(_))));
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read_bytes(&bytes);
            let _ = read_bytes(&[MAGIC, &bytes].concat());
        }

        #[test]
        fn damage_is_survived(place in 6..128usize, value in any::<u8>()) {
            let mut bytes = header_bytes("<f4", &[1, 224, 224, 3]);
            let at = place % bytes.len();
            bytes[at] = value;
            if let Some(Ok(header)) = read_bytes(&bytes) {
                prop_assert!(header.offset <= bytes.len() as u64);
                prop_assert!(header.dims.iter().all(|dim| *dim >= 0));
            }
        }
    }

    #[test]
    fn versions() {
        let text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
        let length = text.len() as u8;
        let second = [MAGIC, &[2, 0, length, 0, 0, 0], text].concat();
        assert_eq!(read_bytes(&second).unwrap().unwrap().offset, 12 + u64::from(length));
        let third = [MAGIC, &[3, 0, length, 0, 0, 0], text].concat();
        assert_eq!(read_bytes(&third).unwrap().unwrap().dims, [2]);
        let fourth = [MAGIC, &[4, 0, length, 0, 0, 0], text].concat();
        assert!(read_bytes(&fourth).unwrap().unwrap_err().contains("version is 4"));
        let lying = [MAGIC, &[2, 0, 255, 255, 255, 255], text].concat();
        assert!(read_bytes(&lying).unwrap().unwrap_err().contains("claims 4294967295"));
        assert!(read_bytes(b"\x93NUMP").is_none());
    }
}
