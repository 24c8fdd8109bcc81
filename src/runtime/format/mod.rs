//! What is known of an engine without it: its name, its number, and how its models begin.
//!
//! Part of every build, also of one without the engine, which can then say what is missing.

pub mod onnx;
// the engine reads more of a model than it takes to know one
#[cfg_attr(not(feature = "onnxruntime"), allow(dead_code))]
pub mod wire;

/// An engine by name.
pub struct Identity {
    /// Its number in the ABI.
    pub id: i32,
    /// Its name for people.
    pub name: &'static str,
    /// Whether these bytes look like a model of it.
    pub recognises: fn(&[u8]) -> bool,
}

pub const TFLITE: Identity = Identity { id: 1, name: "TFLite", recognises: is_tflite };

pub const ONNXRUNTIME: Identity =
    Identity { id: 2, name: "ONNX Runtime", recognises: |model| onnx::is_onnx(model) || onnx::is_ort_format(model) };

/// Whether the bytes bear the mark of TFLite's model format.
fn is_tflite(model: &[u8]) -> bool {
    model.get(4..8) == Some(b"TFL3")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_of_tflite_is_at_offset_four() {
        assert!(is_tflite(b"\x1c\0\0\0TFL3rest"));
        assert!(!is_tflite(b"TFL3"));
        assert!(!is_tflite(b"\x08\x07\x12\x04onnx"));
    }
}
