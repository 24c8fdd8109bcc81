//! What a model's file says about the model beside its graph: words and signatures.
//!
//! The C API of the engine tells neither, so they are read from the file (version 3 of TFLite's schema). The engine has
//! checked the file before, but nothing here counts on it: what is damaged is left out.

use std::collections::HashMap;
use std::ffi::c_int;

use super::flatbuffer::{Table, Tables};
use crate::base::{Metadata, MetadataValue, Signature, SignatureSlots};

/// Numbers of fields in the schema.
mod field {
    pub mod model {
        pub const VERSION: usize = 0;
        pub const SUBGRAPHS: usize = 2;
        pub const DESCRIPTION: usize = 3;
        pub const BUFFERS: usize = 4;
        pub const METADATA: usize = 6;
        pub const SIGNATURES: usize = 7;
    }
    pub mod subgraph {
        pub const OPERATORS: usize = 3;
    }
    pub mod metadata {
        pub const NAME: usize = 0;
        pub const BUFFER: usize = 1;
    }
    pub mod buffer {
        pub const DATA: usize = 0;
        pub const OFFSET: usize = 1;
        pub const SIZE: usize = 2;
    }
    pub mod signature {
        pub const INPUTS: usize = 0;
        pub const OUTPUTS: usize = 1;
        pub const KEY: usize = 2;
        /// Field 3 is the key of an older schema.
        pub const SUBGRAPH: usize = 4;
    }
    pub mod name {
        pub const NAME: usize = 0;
        pub const TENSOR: usize = 1;
    }
}

/// Longer values count as binary, without a look at them.
const LONGEST_TEXT: usize = 1 << 20;
/// Bytes that are looked at in all. Tables may share what they point to, so the size of the file is no limit.
const MOST: usize = 16 << 20;
/// What an entry costs beside its bytes.
const ENTRY: usize = 32;

/// What may still be looked at.
struct Budget(usize);

impl Budget {
    /// `None` when it is used up: whoever reads stops there.
    fn spend(&mut self, bytes: usize) -> Option<()> {
        self.0 = self.0.checked_sub(bytes)?;
        Some(())
    }
}

/// What the format itself defines, under names of its own, and the entries of the model's author.
pub fn metadata(file: &[u8]) -> Vec<Metadata> {
    let Some(model) = Table::root(file) else { return Vec::new() };
    let mut budget = Budget(MOST);
    let description = model.bytes(field::model::DESCRIPTION).and_then(|text| value(text, &mut budget));
    let version = model.u32(field::model::VERSION, 0).map(|version| MetadataValue::Text(version.to_string()));
    let own = [("tflite.description", description), ("tflite.version", version)];
    let own = own.into_iter().filter_map(|(key, value)| Some(Metadata { key: key.to_owned(), value: value? }));
    let buffers = model.tables(field::model::BUFFERS);
    let entries = model.tables(field::model::METADATA);
    own.chain(read_each(entries, &mut budget, |entry, budget| read_metadata(file, buffers, entry, budget))).collect()
}

/// Whether a run has a point between two operators, where the engine looks if it is to stop. Looking costs a tiny model a
/// tenth of its time, so one without such a point does not pay for it.
pub fn can_be_interrupted(file: &[u8]) -> bool {
    let Some(model) = Table::root(file) else { return true };
    let mut graphs = model.tables(field::model::SUBGRAPHS).iter();
    let (Some(Some(main)), None) = (graphs.next(), graphs.next()) else { return true };
    main.tables(field::subgraph::OPERATORS).iter().nth(1).is_some()
}

/// The signatures with the slots whose tensors they name. A name of a tensor that is no slot is left out.
pub fn signatures(file: &[u8], inputs: &[c_int], outputs: &[c_int]) -> Vec<Signature> {
    let Some(model) = Table::root(file) else { return Vec::new() };
    let (inputs, outputs) = (slots_by_tensor(inputs), slots_by_tensor(outputs));
    let list = model.tables(field::model::SIGNATURES);
    read_each(list, &mut Budget(MOST), |entry, budget| read_signature(entry, &inputs, &outputs, budget))
}

/// What can be read of a list before the budget is used up.
fn read_each<'a, T>(
    list: Tables<'a>,
    budget: &mut Budget,
    mut read: impl FnMut(Table<'a>, &mut Budget) -> Option<T>,
) -> Vec<T> {
    let affordable =
        list.iter().map_while(|entry| budget.spend(ENTRY).map(|()| entry.and_then(|entry| read(entry, budget))));
    affordable.flatten().collect()
}

fn read_metadata(file: &[u8], buffers: Tables, entry: Table, budget: &mut Budget) -> Option<Metadata> {
    let key = name(entry.bytes(field::metadata::NAME)?, budget)?;
    let number = usize::try_from(entry.u32(field::metadata::BUFFER, 0)?).ok()?;
    let content = content(file, buffers.get(number)?)?;
    Some(Metadata { key, value: value(content, budget)? })
}

/// The bytes of a buffer, in the flatbuffer or, in files that are too large for its offsets, behind it.
fn content<'a>(file: &'a [u8], buffer: Table<'a>) -> Option<&'a [u8]> {
    if let Some(data) = buffer.bytes(field::buffer::DATA) {
        return Some(data);
    }
    let (offset, size) = (buffer.u64(field::buffer::OFFSET, 0)?, buffer.u64(field::buffer::SIZE, 0)?);
    // the schema's way to say that the bytes are not behind it
    if offset <= 1 || size <= 1 {
        return Some(&[]);
    }
    file.get(usize::try_from(offset).ok()?..)?.get(..usize::try_from(size).ok()?)
}

fn value(bytes: &[u8], budget: &mut Budget) -> Option<MetadataValue> {
    if bytes.len() > LONGEST_TEXT {
        return Some(MetadataValue::Binary(bytes.len()));
    }
    budget.spend(bytes.len())?;
    Some(as_text(bytes).map_or(MetadataValue::Binary(bytes.len()), |text| MetadataValue::Text(text.to_owned())))
}

/// The bytes as text that can be shown, without the zeros by which writers fill up.
fn as_text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?.trim_end_matches('\0');
    let is_shown = |letter: char| !letter.is_control() || matches!(letter, '\n' | '\t' | '\r');
    text.chars().all(is_shown).then_some(text)
}

/// A name as the engine's C API would give it.
fn name(bytes: &[u8], budget: &mut Budget) -> Option<String> {
    budget.spend(bytes.len())?;
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

type SlotsByTensor = HashMap<u32, usize>;

/// Of slots that are one tensor the first counts.
fn slots_by_tensor(tensors: &[c_int]) -> SlotsByTensor {
    let known = tensors.iter().enumerate().filter_map(|(slot, tensor)| Some((u32::try_from(*tensor).ok()?, slot)));
    known.rev().collect()
}

fn read_signature(
    entry: Table,
    inputs: &SlotsByTensor,
    outputs: &SlotsByTensor,
    budget: &mut Budget,
) -> Option<Signature> {
    let key = name(entry.bytes(field::signature::KEY)?, budget)?;
    if entry.u32(field::signature::SUBGRAPH, 0)? != 0 {
        return Some(Signature { key, slots: SignatureSlots::Elsewhere });
    }
    let mut side = |id, slots: &SlotsByTensor| {
        read_each(entry.tables(id), budget, |entry, budget| read_name(entry, slots, budget))
    };
    let inputs = side(field::signature::INPUTS, inputs);
    let outputs = side(field::signature::OUTPUTS, outputs);
    Some(Signature { key, slots: SignatureSlots::Main { inputs, outputs } })
}

fn read_name(entry: Table, slots: &SlotsByTensor, budget: &mut Budget) -> Option<(String, usize)> {
    let slot = *slots.get(&entry.u32(field::name::TENSOR, 0)?)?;
    Some((name(entry.bytes(field::name::NAME)?, budget)?, slot))
}
