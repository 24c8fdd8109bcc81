//! Signatures: names that a model's author gave to its slots for one purpose.

use super::slot::Side;

/// A set of names for slots, known by a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub key: String,
    pub slots: SignatureSlots,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignatureSlots {
    /// Names with the index of the slot on that side.
    Main { inputs: Vec<(String, usize)>, outputs: Vec<(String, usize)> },
    /// The signature is for another graph in the model than the one whose slots are known.
    Elsewhere,
}

impl SignatureSlots {
    /// The names of one side; `None` where the signature is for another graph.
    pub fn names(&self, side: Side) -> Option<&[(String, usize)]> {
        match self {
            SignatureSlots::Main { inputs, .. } if side == Side::Input => Some(inputs),
            SignatureSlots::Main { outputs, .. } => Some(outputs),
            SignatureSlots::Elsewhere => None,
        }
    }
}
