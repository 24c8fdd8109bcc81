//! Files that pass, and files that do not.

mod control;
mod operators;
mod properties;
mod real;
mod tensors;

use super::check;
use crate::base::{Error, Status};
use crate::runtime::tflite::tests::written::Written;

const MOST: u64 = 1 << 20;

#[track_caller]
fn passes(model: &Written) {
    check(&model.bytes(), MOST).expect("it is whole");
}

/// Refused as damaged, with these words.
#[track_caller]
fn is_refused(model: &Written, words: &[&str]) {
    let error: Error = check(&model.bytes(), MOST).expect_err("it is damaged");
    assert_eq!(error.status, Status::ModelInvalid, "{error}");
    for word in words {
        assert!(error.text().contains(word), "no {word:?} in: {error}");
    }
}

/// The bytes of whole numbers.
fn words(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}
