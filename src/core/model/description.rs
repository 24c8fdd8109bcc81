//! What a model says about itself: texts by key, and signatures.

use std::borrow::Cow;

use super::{Model, Quoted};
use crate::base::room::{self, joined, push};
use crate::base::{MetadataValue, Result, Side, Signature, Slot, fail, text};

/// The key under which all keys are listed, one in a line.
pub const METADATA_KEYS: &str = "zerobind.keys";

impl Model {
    /// A text that the model's author or the tool that made it put into the model.
    pub fn metadata(&self, key: &str) -> Result<Cow<'_, str>> {
        if key == METADATA_KEYS {
            return Ok(Cow::Owned(lines(&self.metadata_keys()?)?));
        }
        let Some(entry) = self.engine.metadata().iter().find(|entry| entry.key == key) else {
            let known = list(self.metadata_keys()?.into_iter());
            return fail!(NotFound, "the model has no metadata '{key}'; it has {known}");
        };
        match &entry.value {
            MetadataValue::Text(text) => Ok(Cow::Borrowed(text)),
            MetadataValue::Binary(size) => {
                fail!(
                    Unsupported,
                    "the metadata '{key}' is {size} bytes that are no text: read it from the model's file"
                )
            }
        }
    }

    fn metadata_keys(&self) -> Result<Vec<&str>> {
        let mut keys = Vec::new();
        for entry in self.engine.metadata() {
            if !keys.contains(&entry.key.as_str()) {
                push(&mut keys, entry.key.as_str())?;
            }
        }
        Ok(keys)
    }

    pub fn signatures(&self) -> &[Signature] {
        self.engine.signatures()
    }

    /// The slot that a signature gives a name to.
    pub fn find_in_signature(&self, key: &str, side: Side, name: &str) -> Result<Slot> {
        let Some(signature) = self.signatures().iter().find(|signature| signature.key == key) else {
            let keys = list(self.signatures().iter().map(|signature| signature.key.as_str()));
            return fail!(NotFound, "the model has no signature '{key}'; it has {keys}");
        };
        let Some(names) = signature.slots.names(side) else {
            return fail!(
                Unsupported,
                "the signature '{key}' is for another graph inside the model than the main one, which is the one that runs"
            );
        };
        if let Some((_, index)) = names.iter().find(|(known, _)| known == name) {
            return Ok(Slot { side, index: *index });
        }
        let side = if side == Side::Input { "input" } else { "output" };
        let names = list(names.iter().map(|(name, _)| name.as_str()));
        fail!(NotFound, "the signature '{key}' has no {side} named '{name}'; it has {names}")
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let quoted = joined(names.map(Quoted), ", ");
    if quoted.is_empty() { text!("none") } else { quoted }
}

/// One text in each line. Not a word of it may be missing, as it may in the text of an error.
fn lines(texts: &[&str]) -> Result<String> {
    let mut letters = room::list(texts.iter().map(|text| text.len() + 1).sum())?;
    for (number, text) in texts.iter().enumerate() {
        letters.extend_from_slice(if number == 0 { b"" } else { b"\n" });
        letters.extend_from_slice(text.as_bytes());
    }
    // made of whole texts, so none of it is lost
    Ok(String::from_utf8(letters).unwrap_or_default())
}
