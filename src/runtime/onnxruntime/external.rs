//! Weights that a model keeps outside of itself, checked before the engine follows the reference.
//!
//! Newer versions of the engine refuse what leads out of the model's folder. Older ones read any file that the model names,
//! and take a certain name for an address in memory, which a model from elsewhere must never be able to say.

use std::path::{Component, Path};

use crate::base::room::Lossy;
use crate::base::{Result, fail};
use crate::runtime::ModelSource;
use crate::runtime::format::onnx;
use crate::runtime::format::wire::{Field, Fields, Value};

/// How the engine marks, in its own memory, a tensor whose "file" is an address.
const ADDRESS_MARKER: &[u8] = b"_ORT_MEM_ADDR_";

/// The engine's reader gives up at 100 messages inside each other.
const DEEPEST: usize = 256;

/// No system has longer paths.
const LONGEST: usize = 32 << 10;

/// Refuses references that are not to a file in the folder of the model or below it.
pub fn check(source: &ModelSource) -> Result<()> {
    if onnx::is_ort_format(source.bytes()) {
        return Ok(());
    }
    let folder = source.path.as_deref().map(|path| path.parent().unwrap_or(Path::new("")));
    visit(source.bytes(), &mut |location| check_location(location, folder))
}

fn check_location(location: &[u8], folder: Option<&Path>) -> Result<()> {
    let name = Lossy(location);
    if location.windows(ADDRESS_MARKER.len()).any(|window| window == ADDRESS_MARKER) {
        return fail!(ModelInvalid, "a tensor refers to an address in memory ('{name}') in the place of a file");
    }
    let Some(folder) = folder else {
        return fail!(
            Unsupported,
            "the weights of this model are in another file ('{name}'), which is found only when the model is opened by \
             its path and without an expected hash"
        );
    };
    let name = name.owned()?;
    if leads_out(Path::new(&name)) {
        return fail!(ModelInvalid, "a tensor refers to '{name}', which is not in the folder of the model");
    }
    if name.len() > LONGEST {
        return fail!(
            Io,
            "the weights of this model are in a file whose name has {} bytes, too long for any",
            name.len()
        );
    }
    let file = folder.join(&name);
    if !file.is_file() {
        return fail!(Io, "the weights of this model are in {}, which is missing or not a file", file.display());
    }
    Ok(())
}

fn leads_out(location: &Path) -> bool {
    let mut depth = 0i64;
    location.components().any(|component| {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir => depth -= 1,
            Component::RootDir | Component::Prefix(_) => return true,
        }
        depth < 0
    })
}

/// The messages on the way to a tensor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Message {
    Model,
    Training,
    Function,
    Graph,
    Node,
    Attribute,
    Sparse,
    Tensor,
}

/// What the field of this number in this message contains, if that is on the way.
fn inside(message: Message, number: u32) -> Option<Message> {
    match (message, number) {
        (Message::Model, 7) | (Message::Training, 1 | 2) | (Message::Attribute, 6 | 11) => Some(Message::Graph),
        (Message::Model, 20) => Some(Message::Training),
        (Message::Model, 25) => Some(Message::Function),
        (Message::Graph, 1) | (Message::Function, 7) => Some(Message::Node),
        (Message::Node, 5) | (Message::Function, 11) => Some(Message::Attribute),
        (Message::Graph, 15) | (Message::Attribute, 22 | 23) => Some(Message::Sparse),
        (Message::Graph, 5) | (Message::Attribute, 5 | 10) | (Message::Sparse, 1 | 2) => Some(Message::Tensor),
        _ => None,
    }
}

/// Calls `check` with the location of every tensor whose elements are elsewhere. Skips over elements in the model itself.
fn visit(model: &[u8], check: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut open = vec![(Message::Model, Fields::new(model))];
    while let Some((message, fields)) = open.last_mut() {
        let Some(field) = fields.next() else {
            open.pop();
            continue;
        };
        let Value::Bytes(bytes) = field.value else { continue };
        match inside(*message, field.number) {
            Some(Message::Tensor) => check_tensor(bytes, check)?,
            Some(message) if open.len() < DEEPEST => open.push((message, Fields::new(bytes))),
            _ => {}
        }
    }
    Ok(())
}

fn check_tensor(tensor: &[u8], check: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let is_elsewhere =
        |field: Field| field.number == 14 && matches!(field.value, Value::Varint(place) if place as u32 == 1);
    if !Fields::new(tensor).any(is_elsewhere) {
        return Ok(());
    }
    for field in Fields::new(tensor) {
        if let Field { number: 13, value: Value::Bytes(entry) } = field {
            locations(entry).try_for_each(&mut *check)?;
        }
    }
    Ok(())
}

/// The values of an entry that are a location. A key or value that is given twice counts each time.
fn locations(entry: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_location = Fields::new(entry).any(|field| field.number == 1 && field.value == Value::Bytes(b"location"));
    let values = Fields::new(entry).filter_map(|field| match field {
        Field { number: 2, value: Value::Bytes(value) } => Some(value),
        _ => None,
    });
    values.filter(move |_| is_location)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Status;
    use proptest::prelude::*;
    use std::path::PathBuf;

    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        let mut tag = u32::from(number) << 3 | 2;
        let mut bytes = Vec::new();
        while tag >= 0x80 {
            bytes.push(tag as u8 | 0x80);
            tag >>= 7;
        }
        [&bytes[..], &[tag as u8, content.len() as u8], content].concat()
    }

    fn tensor(location: &str) -> Vec<u8> {
        let entry = [field(1, b"location"), field(2, location.as_bytes())].concat();
        [field(13, &entry), vec![0x70, 1]].concat()
    }

    fn checked(model: &[u8], path: Option<&str>) -> Option<Status> {
        let source = ModelSource { bytes: Box::new(model.to_vec()), path: path.map(PathBuf::from) };
        check(&source).err().map(|error| error.status)
    }

    /// The same tensor in each place of a model where one can be.
    fn everywhere(tensor: &[u8]) -> Vec<Vec<u8>> {
        let sparse = field(15, &field(2, tensor));
        let constant = field(1, &field(5, &field(5, tensor)));
        let nested = field(1, &field(5, &field(6, &constant)));
        let graphs = [field(5, tensor), sparse, constant, nested].map(|graph| field(7, &graph));
        let function = field(25, &field(7, &field(5, &field(10, tensor))));
        graphs.into_iter().chain([function]).collect()
    }

    #[test]
    fn references_are_found_wherever_they_are() {
        for model in everywhere(&tensor("*/_ORT_MEM_ADDR_/*")) {
            assert_eq!(checked(&model, Some("m.onnx")), Some(Status::ModelInvalid));
            assert_eq!(checked(&model, None), Some(Status::ModelInvalid));
        }
        for model in everywhere(&tensor("weights")) {
            assert_eq!(checked(&model, None), Some(Status::Unsupported));
            assert_eq!(checked(&model, Some("/no/such/m.onnx")), Some(Status::Io));
        }
        for model in everywhere(&field(9, b"elements in the model")) {
            assert_eq!(checked(&model, None), None);
        }
    }

    #[test]
    fn only_the_folder_of_the_model_is_open() {
        for inside in ["weights", "./weights", "a/b/weights", "a/../weights"] {
            assert!(!leads_out(Path::new(inside)), "{inside}");
        }
        for outside in ["../weights", "a/../../weights", "/dev/zero", "./..", "a/../../m/weights"] {
            assert!(leads_out(Path::new(outside)), "{outside}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_the_end(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = visit(&bytes, &mut |_| Ok(()));
            let _ = visit(&field(7, &bytes[..bytes.len().min(120)]), &mut |_| Ok(()));
        }
    }
}
