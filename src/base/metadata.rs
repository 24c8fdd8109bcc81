//! What a model says about itself beside its slots.

/// A named text, or something else of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Names that the format itself defines begin with the engine's ("onnx.producer_name"); the model's own stay as they are.
    pub key: String,
    pub value: MetadataValue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetadataValue {
    Text(String),
    /// Bytes that are no text, so many of them.
    Binary(usize),
}
