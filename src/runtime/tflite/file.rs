//! What a model's file says about the model beside its graph: words and signatures.
//!
//! The C API of the engine tells neither, so they are read from the file (version 3 of TFLite's schema). The engine has
//! checked the file before, but nothing here counts on it: what is damaged is left out.

use std::collections::HashMap;
use std::ffi::c_int;

use super::flatbuffer::{Table, Tables};
use crate::base::room::{Lossy, no_room, owned, push};
use crate::base::{Metadata, MetadataValue, Result, Signature, SignatureSlots, text};

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
pub fn metadata(file: &[u8]) -> Result<Vec<Metadata>> {
    let Some(model) = Table::root(file) else { return Ok(Vec::new()) };
    let mut budget = Budget(MOST);
    let description = model.bytes(field::model::DESCRIPTION).map(|text| value(text, &mut budget));
    let version = model.u32(field::model::VERSION, 0).map(|version| MetadataValue::Text(text!("{version}")));
    let mut all = Vec::new();
    for (key, value) in [("tflite.description", description.transpose()?.flatten()), ("tflite.version", version)] {
        if let Some(value) = value {
            push(&mut all, Metadata { key: owned(key)?, value })?;
        }
    }
    let buffers = model.tables(field::model::BUFFERS);
    let entries = model.tables(field::model::METADATA);
    read_each(entries, &mut budget, &mut all, |entry, budget| read_metadata(file, buffers, entry, budget))?;
    Ok(all)
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
pub fn signatures(file: &[u8], inputs: &[c_int], outputs: &[c_int]) -> Result<Vec<Signature>> {
    let Some(model) = Table::root(file) else { return Ok(Vec::new()) };
    let (inputs, outputs) = (slots_by_tensor(inputs)?, slots_by_tensor(outputs)?);
    let list = model.tables(field::model::SIGNATURES);
    let mut all = Vec::new();
    read_each(list, &mut Budget(MOST), &mut all, |entry, budget| read_signature(entry, &inputs, &outputs, budget))?;
    Ok(all)
}

/// What can be read: nothing of what is damaged. An error is one of memory.
type Readable<T> = Result<Option<T>>;

/// Adds to `all` what can be read of a list before the budget is used up.
fn read_each<'a, T>(
    list: Tables<'a>,
    budget: &mut Budget,
    all: &mut Vec<T>,
    mut read: impl FnMut(Table<'a>, &mut Budget) -> Readable<T>,
) -> Result<()> {
    for entry in list.iter() {
        if budget.spend(ENTRY).is_none() {
            break;
        }
        if let Some(entry) = entry
            && let Some(read) = read(entry, budget)?
        {
            push(all, read)?;
        }
    }
    Ok(())
}

fn read_metadata(file: &[u8], buffers: Tables, entry: Table, budget: &mut Budget) -> Readable<Metadata> {
    let Some(key) = entry.bytes(field::metadata::NAME) else { return Ok(None) };
    let Some(key) = name(key, budget)? else { return Ok(None) };
    let number = entry.u32(field::metadata::BUFFER, 0).and_then(|number| usize::try_from(number).ok());
    let buffer = number.and_then(|number| buffers.get(number));
    let Some(content) = buffer.and_then(|buffer| content(file, buffer)) else { return Ok(None) };
    Ok(value(content, budget)?.map(|value| Metadata { key, value }))
}

/// The bytes of a buffer, in the flatbuffer or, in files that are too large for its offsets, behind it.
pub fn content<'a>(file: &'a [u8], buffer: Table<'a>) -> Option<&'a [u8]> {
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

fn value(bytes: &[u8], budget: &mut Budget) -> Readable<MetadataValue> {
    if bytes.len() > LONGEST_TEXT {
        return Ok(Some(MetadataValue::Binary(bytes.len())));
    }
    if budget.spend(bytes.len()).is_none() {
        return Ok(None);
    }
    Ok(Some(match as_text(bytes) {
        Some(text) => MetadataValue::Text(owned(text)?),
        None => MetadataValue::Binary(bytes.len()),
    }))
}

/// The bytes as text that can be shown, without the zeros by which writers fill up.
fn as_text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?.trim_end_matches('\0');
    let is_shown = |letter: char| !letter.is_control() || matches!(letter, '\n' | '\t' | '\r');
    text.chars().all(is_shown).then_some(text)
}

/// A name as the engine's C API would give it.
fn name(bytes: &[u8], budget: &mut Budget) -> Readable<String> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    budget.spend(bytes.len()).map(|()| Lossy(&bytes[..end]).owned()).transpose()
}

type SlotsByTensor = HashMap<u32, usize>;

/// Of slots that are one tensor the first counts.
fn slots_by_tensor(tensors: &[c_int]) -> Result<SlotsByTensor> {
    let mut known = SlotsByTensor::new();
    known.try_reserve(tensors.len()).map_err(|_| no_room(tensors.len() * size_of::<(u32, usize)>()))?;
    let numbered = tensors.iter().enumerate().filter_map(|(slot, tensor)| Some((u32::try_from(*tensor).ok()?, slot)));
    known.extend(numbered.rev());
    Ok(known)
}

fn read_signature(
    entry: Table,
    inputs: &SlotsByTensor,
    outputs: &SlotsByTensor,
    budget: &mut Budget,
) -> Readable<Signature> {
    let Some(key) = entry.bytes(field::signature::KEY) else { return Ok(None) };
    let Some(key) = name(key, budget)? else { return Ok(None) };
    match entry.u32(field::signature::SUBGRAPH, 0) {
        None => return Ok(None),
        Some(0) => {}
        Some(_) => return Ok(Some(Signature { key, slots: SignatureSlots::Elsewhere })),
    }
    let mut side = |id, slots: &SlotsByTensor| {
        let mut names = Vec::new();
        read_each(entry.tables(id), budget, &mut names, |entry, budget| read_name(entry, slots, budget)).map(|()| names)
    };
    let inputs = side(field::signature::INPUTS, inputs)?;
    let outputs = side(field::signature::OUTPUTS, outputs)?;
    Ok(Some(Signature { key, slots: SignatureSlots::Main { inputs, outputs } }))
}

fn read_name(entry: Table, slots: &SlotsByTensor, budget: &mut Budget) -> Readable<(String, usize)> {
    let slot = entry.u32(field::name::TENSOR, 0).and_then(|tensor| slots.get(&tensor));
    let (Some(slot), Some(bytes)) = (slot, entry.bytes(field::name::NAME)) else { return Ok(None) };
    Ok(name(bytes, budget)?.map(|name| (name, *slot)))
}
