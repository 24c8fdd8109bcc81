//! Whatever is done to a file, looking at it ends, and quickly.

use proptest::prelude::*;

use super::*;
use crate::runtime::tflite::tests::written::{Operator, constant, kind, tensor};

fn whole() -> Vec<u8> {
    Written {
        tensors: vec![
            tensor("x", kind::F32, &[1, 9, 8, 4]),
            constant("filter", kind::F32, &[6, 3, 2, 4], 1),
            tensor("seen", kind::F32, &[1, 7, 7, 6]),
            constant("shape", kind::I32, &[2], 2),
            tensor("y", kind::F32, &[49, 6]),
        ],
        inputs: vec![0],
        outputs: vec![4],
        operators: vec![Operator::conv_2d(&[0, 1], &[2]), Operator::reshape(&[2, 3], &[4])],
        buffers: vec![vec![0; 6 * 3 * 2 * 4 * 4], words(&[49, 6])],
    }
    .bytes()
}

#[test]
fn the_whole_one_passes() {
    check(&whole(), MOST).unwrap();
}

proptest! {
    #[test]
    fn damage_is_read_to_the_end(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = whole();
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        let _ = check(&bytes[..end.index(bytes.len()) + 1], MOST);
    }

    #[test]
    fn words_are_read_to_the_end(
        place in any::<prop::sample::Index>(),
        word in prop::sample::select(vec![0u32, 1, u32::MAX, i32::MAX as u32, 1 << 31, 65535, 1 << 24]),
    ) {
        let mut bytes = whole();
        let place = place.index(bytes.len() / 4) * 4;
        bytes[place..place + 4].copy_from_slice(&word.to_le_bytes());
        let _ = check(&bytes, MOST);
    }

    #[test]
    fn any_bytes_are_read_to_the_end(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        let _ = check(&bytes, MOST);
    }
}
