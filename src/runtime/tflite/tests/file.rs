//! What models say about themselves, from real files and from written ones.

use proptest::prelude::*;

use super::writer::{Field, Fields, finish};
use super::*;
use crate::base::{Metadata, MetadataValue, Signature, SignatureSlots};
use crate::runtime::tflite::file;

fn text(key: &str, value: &str) -> Metadata {
    Metadata { key: key.to_owned(), value: MetadataValue::Text(value.to_owned()) }
}

fn binary(key: &str, size: usize) -> Metadata {
    Metadata { key: key.to_owned(), value: MetadataValue::Binary(size) }
}

/// A signature of the main graph.
fn main(key: &str, inputs: &[(&str, usize)], outputs: &[(&str, usize)]) -> Signature {
    let owned = |list: &[(&str, usize)]| list.iter().map(|(name, slot)| (name.to_string(), *slot)).collect();
    Signature { key: key.to_owned(), slots: SignatureSlots::Main { inputs: owned(inputs), outputs: owned(outputs) } }
}

#[test]
fn real_models_tell_their_words() {
    let nabu = open("okay_nabu.tflite");
    let words = [
        text("tflite.description", "MLIR Converted."),
        text("tflite.version", "3"),
        text("min_runtime_version", "2.6.0"),
        binary("CONVERSION_METADATA", 88),
    ];
    assert_eq!(nabu.metadata(), words);
    assert!(open("embedding.tflite").metadata().contains(&text("min_runtime_version", "1.14.0")));
    assert!(open("melspectrogram.tflite").metadata().contains(&text("min_runtime_version", "2.3.0")));
    let ours = [text("tflite.description", "zerobind test model"), text("tflite.version", "3")];
    assert_eq!(open("add4.tflite").metadata(), ours);
}

#[test]
fn real_models_tell_their_signatures() {
    let key = "serving_default";
    assert_eq!(open("okay_nabu.tflite").signatures(), [main(key, &[("input_audio", 0)], &[("dense_1", 0)])]);
    assert_eq!(open("embedding.tflite").signatures(), [main(key, &[("input_1", 0)], &[("conv2d_19", 0)])]);
    assert_eq!(open("melspectrogram.tflite").signatures(), [main(key, &[("input", 0)], &[("output", 0)])]);
    // the order of the signature is not that of the slots
    let outputs = [("contour", 2), ("note", 1), ("onset", 0)];
    assert_eq!(open("basic_pitch.tflite").signatures(), [main(key, &[("input_2", 0)], &outputs)]);
    // made from okay_nabu with another tensor as its output, which the signature does not know
    assert_eq!(open("okay_nabu_features.tflite").signatures(), [main(key, &[("input_audio", 0)], &[])]);
    assert_eq!(open("add4.tflite").signatures(), []);
}

fn names(list: &[(&str, u32)]) -> Field {
    let entry = |(name, tensor): &(&str, u32)| vec![(0, Field::text(name)), (1, Field::U32(*tensor))];
    Field::Tables(list.iter().map(entry).collect())
}

fn with_signatures(list: Vec<Fields>) -> Vec<u8> {
    finish(&vec![(7, Field::Tables(list))])
}

#[test]
fn names_lead_to_slots_and_other_graphs_are_elsewhere() {
    let file = with_signatures(vec![
        vec![(0, names(&[("b", 7), ("none", 9), ("a", 5)])), (1, names(&[("y", 5)])), (2, Field::text("first"))],
        vec![(0, names(&[("x", 1)])), (2, Field::text("other")), (4, Field::U32(1))],
        vec![(0, names(&[("x", 1)]))],
        vec![(2, Field::text("empty"))],
    ]);
    let wanted = [
        main("first", &[("b", 1), ("a", 0)], &[("y", 2)]),
        Signature { key: "other".to_owned(), slots: SignatureSlots::Elsewhere },
        main("empty", &[], &[]),
    ];
    assert_eq!(file::signatures(&file, &[5, 7, 5], &[-1, 3, 5]).unwrap(), wanted);
}

/// Metadata entries whose buffers are those of the same number.
fn with_metadata(buffers: Vec<Fields>) -> Vec<u8> {
    let entry = |number: usize| vec![(0, Field::text(&format!("m{number}"))), (1, Field::U32(number as u32))];
    let entries = (0..buffers.len() + 1).map(entry).collect();
    finish(&vec![(4, Field::Tables(buffers)), (6, Field::Tables(entries))])
}

fn data(bytes: &[u8]) -> Fields {
    vec![(0, Field::Bytes(bytes.to_vec()))]
}

fn outside(offset: u64, size: u64) -> Fields {
    vec![(1, Field::U64(offset)), (2, Field::U64(size))]
}

#[test]
fn values_are_text_when_they_can_be_shown() {
    let values: [&[u8]; 6] = [b"", b"a\tb\r\n\0\0", "größer".as_bytes(), b"a\0b", b"\x1b[2J", b"\xff\xfe"];
    let file = with_metadata(values.iter().map(|value| data(value)).collect());
    let wanted = [
        text("tflite.version", "0"),
        text("m0", ""),
        text("m1", "a\tb\r\n"),
        text("m2", "größer"),
        binary("m3", 3),
        binary("m4", 4),
        binary("m5", 2),
    ];
    // the seventh entry has no buffer
    assert_eq!(file::metadata(&file).unwrap(), wanted);
}

#[test]
fn values_behind_the_flatbuffer_are_found_where_they_are() {
    let bad = [outside(u64::MAX, 9), outside(9, u64::MAX), outside(1 << 20, 2)];
    let mut buffers = vec![outside(1, 1), outside(0, 0), outside(4, 4)];
    buffers.extend(bad);
    let file = with_metadata(buffers);
    // "TFL3" lies at 4
    let wanted = [text("tflite.version", "0"), text("m0", ""), text("m1", ""), text("m2", "TFL3")];
    assert_eq!(file::metadata(&file).unwrap(), wanted);
}

#[test]
fn a_long_value_is_not_looked_at() {
    let long = vec![b'a'; (1 << 20) + 1];
    let file = with_metadata(vec![data(&long), data(&long[1..])]);
    let list = file::metadata(&file).unwrap();
    assert_eq!(list[1], binary("m0", long.len()));
    assert_eq!(list[2].value, MetadataValue::Text("a".repeat(1 << 20)));
}

#[test]
fn what_is_shared_by_many_entries_is_read_so_often_only() {
    // a million signatures, all of them one table with a million names, all of them one
    let name = vec![(0, Field::text("x")), (1, Field::U32(0))];
    let signature = vec![(0, Field::Repeated(name, 1 << 20)), (2, Field::text("k"))];
    let file = finish(&vec![(7, Field::Repeated(signature, 1 << 20))]);
    let start = std::time::Instant::now();
    let signatures = file::signatures(&file, &[0], &[]).unwrap();
    assert!(!signatures.is_empty() && start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

fn with_all() -> Vec<u8> {
    let entry = |number| vec![(0, Field::text("m")), (1, Field::U32(number))];
    finish(&vec![
        (0, Field::U32(3)),
        (3, Field::text("all")),
        (4, Field::Tables(vec![data(b"text"), outside(4, 4)])),
        (6, Field::Tables(vec![entry(0), entry(1)])),
        (7, Field::Tables(vec![vec![(0, names(&[("x", 0)])), (1, names(&[("y", 1)])), (2, Field::text("k"))]])),
    ])
}

proptest! {
    #[test]
    fn damage_is_left_out(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..16),
        end in any::<prop::sample::Index>(),
    ) {
        let mut file = with_all();
        for (place, value) in changes {
            let place = place.index(file.len());
            file[place] = value;
        }
        let file = &file[..end.index(file.len()) + 1];
        file::metadata(file).unwrap();
        file::signatures(file, &[0], &[0]).unwrap();
    }
}
