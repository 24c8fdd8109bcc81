//! Links the engines' libraries for zerobind's feature `linked`.
//!
//! ONNX Runtime needs nothing here: `ort-sys` links it when nothing tells it not to.

/// The version of the TFLite that is linked. Whoever calls this links with it.
#[cfg(feature = "tflite")]
pub fn tflite_version() -> &'static str {
    tflitec::tf_lite_version()
}
