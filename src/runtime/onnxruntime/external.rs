//! Weights that a model keeps outside of itself, checked before the engine follows the reference.
//!
//! Newer versions of the engine refuse what leads out of the model's folder. Older ones read any file that the model names,
//! and take a certain name for an address in memory, which a model from elsewhere must never be able to say.

use std::path::{Component, Path};

use crate::base::room::Lossy;
use crate::base::{Result, fail};
use crate::runtime::ModelSource;
use crate::runtime::format::wire::{Field, Fields, Value};

/// Part of how the engine marks, in its own memory, a tensor whose "file" is an address: `*/_ORT_MEM_ADDR_/*`, and in newer ones
/// `*/_ORT_NATIVE_ENDIAN_MEM_ADDR_/*` too.
const ADDRESS_MARKER: &[u8] = b"_MEM_ADDR_";

/// No system has longer paths.
const LONGEST: usize = 32 << 10;

/// Refuses references that are not to a file in the folder of the model or below it.
pub fn check(tensor: &[u8], source: &ModelSource) -> Result<()> {
    check_tensor(tensor, &mut |location| check_location(location, source.path.as_deref()))
}

fn check_location(location: &[u8], model: Option<&Path>) -> Result<()> {
    let name = Lossy(location);
    if location.windows(ADDRESS_MARKER.len()).any(|window| window == ADDRESS_MARKER) {
        return fail!(ModelInvalid, "a tensor refers to an address in memory ('{name}') in the place of a file");
    }
    let Some(model) = model else {
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
    let file = model.parent().unwrap_or(Path::new("")).join(&name);
    if !file.is_file() {
        return fail!(Io, "the weights of this model are in {}, which is missing or not a file", file.display());
    }
    if !lies_with(&file, model) {
        return fail!(
            ModelInvalid,
            "a tensor refers to '{name}', which is a link to a file that is not in the folder of the model"
        );
    }
    Ok(())
}

/// Whether a file, wherever links lead, is in the folder of the model, or in that of the file that the model's path is a link
/// to: stores that keep files under their hashes link to both from a folder with their names.
fn lies_with(file: &Path, model: &Path) -> bool {
    let folder = match model.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let Ok(file) = file.canonicalize() else { return false };
    let folders =
        [folder.canonicalize().ok(), model.canonicalize().ok().and_then(|model| Some(model.parent()?.to_owned()))];
    folders.into_iter().flatten().any(|folder| file.starts_with(folder))
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
    use super::super::walk::{self, Part};
    use super::*;
    use crate::base::Status;
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
        walk::visit(model, &mut |found| match found.part {
            Part::Tensor | Part::Constant => check(found.message, &source),
            _ => Ok(()),
        })
        .err()
        .map(|error| error.status)
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
        for marker in ["*/_ORT_MEM_ADDR_/*", "*/_ORT_NATIVE_ENDIAN_MEM_ADDR_/*"] {
            for model in everywhere(&tensor(marker)) {
                assert_eq!(checked(&model, Some("m.onnx")), Some(Status::ModelInvalid));
                assert_eq!(checked(&model, None), Some(Status::ModelInvalid));
            }
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
}
