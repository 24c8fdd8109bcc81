//! Whether bytes look like a model of ONNX Runtime.

use super::wire::{Field, Fields, Value};

/// Versions of the format so far are 3 to about 13; anything near is taken, so that a newer model gets the engine's own
/// answer.
const IR_VERSIONS: std::ops::RangeInclusive<u64> = 1..=1000;

/// Whether this is the protobuf message of an ONNX model: its version first, as every writer puts it, and then only fields
/// of a model, of the right kind, up to the graph or the place where the file was cut off.
pub fn is_onnx(model: &[u8]) -> bool {
    let mut fields = Fields::new(model);
    let first = fields.next();
    if !matches!(first, Some(Field { number: 1, value: Value::Varint(version) }) if IR_VERSIONS.contains(&version)) {
        return false;
    }
    let mut seen = 1;
    for field in fields.by_ref() {
        match kind(field.number) {
            Kind::Graph => return matches!(field.value, Value::Bytes(_) | Value::CutOff),
            Kind::Number if matches!(field.value, Value::Varint(_)) => {}
            Kind::Message if matches!(field.value, Value::Bytes(_) | Value::CutOff) => {}
            _ => return false,
        }
        seen += 1;
    }
    seen > 1 && !fields.is_malformed()
}

enum Kind {
    Number,
    Message,
    Graph,
    Foreign,
}

/// The kind of each field of `ModelProto`.
fn kind(number: u32) -> Kind {
    match number {
        1 | 5 => Kind::Number,
        2..=4 | 6 | 8 | 14 | 20 | 25 | 26 => Kind::Message,
        7 => Kind::Graph,
        _ => Kind::Foreign,
    }
}

/// Whether this is the engine's own format, a flatbuffer with an identifier.
pub fn is_ort_format(model: &[u8]) -> bool {
    model.get(4..8) == Some(b"ORTM")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MODEL: &[u8] = b"\x08\x0a\x12\x04test\x3a\x02\x0a\x00\x42\x02\x10\x11";

    #[test]
    fn models_are_known_whole_and_cut_off() {
        assert!(is_onnx(MODEL));
        assert!(is_onnx(&MODEL[..6]), "cut off in the name of the producer");
        assert!(is_onnx(&MODEL[..11]), "cut off in the graph");
        assert!(is_onnx(b"\x08\x07\x42\x02\x10\x11\x3a\x00"), "order of other fields is free");
        assert!(is_ort_format(b"\x18\0\0\0ORTM and more"));
    }

    #[test]
    fn other_things_are_not() {
        for other in [
            &b""[..],
            b"\x08",
            b"\x08\x0a",
            b"\x18\0\0\0TFL3",
            b"\x08\0\0\0TFL3\0\0\0\0",
            b"\x08\x80\0\0TFL3\0\0\0\0",
            b"Once upon a time",
            b"\x7fELF\x02\x01\x01",
            b"PK\x03\x04",
            b"\x08\x0a\x10\x04",
            b"\x12\x04test\x08\x0a\x3a\x00",
        ] {
            assert!(!is_onnx(other), "{other:?}");
            assert!(!is_ort_format(other), "{other:?}");
        }
    }

    proptest! {
        /// Flatbuffers are written from back to front, so their root is near the start. One with a root past 16 MB can read
        /// as an ONNX model that was cut off, and would be one.
        #[test]
        fn flatbuffers_are_not_claimed(offset in 0u32..1 << 24, rest in prop::collection::vec(any::<u8>(), 0..64)) {
            let model = [&offset.to_le_bytes()[..], b"TFL3", &rest].concat();
            prop_assert!(!is_onnx(&model));
        }

        #[test]
        fn text_is_not_claimed(text in "[ -~\n\t]{0,200}") {
            prop_assert!(!is_onnx(text.as_bytes()));
        }
    }
}
