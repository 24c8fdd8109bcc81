//! From what was heard to a status and a text.

use std::fmt::Write;
use std::path::Path;

use super::listen::{First, Heard};
use super::report::{End, Stage};
use super::{Limits, NO_LIMIT, build, sys};
use crate::base::{Error, Result, Status, fail, text};

pub fn of(heard: &Heard, helper: &Path, limits: &Limits) -> Result<()> {
    check_helper(heard, helper)?;
    let stage = heard.stage.unwrap_or(Stage::Start);
    match (heard.end, &heard.result) {
        (Some(End::Exit(0)), Some(Ok(()))) => Ok(()),
        (Some(End::Exit(0)), Some(Err((status, text)))) => Err(refused(stage, *status, text, limits)),
        (Some(End::Timeout), _) => Err(late(stage, limits, heard)),
        (None, _) if heard.hung => Err(late(stage, limits, heard)),
        (end, _) => Err(died(stage, end, limits, heard)),
    }
}

/// Whether it was the helper of this library that was heard.
fn check_helper(heard: &Heard, helper: &Path) -> Result<()> {
    let helper = helper.display();
    match &heard.first {
        Some(First::Build(theirs)) if *theirs == build() => Ok(()),
        Some(First::Build(theirs)) => fail!(
            RuntimeUnavailable,
            "the helper {helper} is of zerobind {theirs}, but this is zerobind {}: install the two together, or name the right one by zb_preflight_options.helper or ZEROBIND_PREFLIGHT",
            build()
        ),
        Some(First::Other(line)) => fail!(
            RuntimeUnavailable,
            "{helper} is not the helper of zerobind: it says \"{}\"",
            printable(line.as_bytes())
        ),
        None if heard.hung => fail!(RuntimeUnavailable, "the helper {helper} does not answer"),
        None => {
            let mut text =
                text!("{helper} ended without a word, so it is not the helper of zerobind, or cannot run here");
            add_words(&mut text, heard);
            Err(Error::new(Status::RuntimeUnavailable, text))
        }
    }
}

fn refused(stage: Stage, status: Status, text: &str, limits: &Limits) -> Error {
    let mut text = match stage {
        Stage::Start => text!("preflight, before the model was touched: {text}"),
        stage => text!("preflight, stage {stage}: {text}"),
    };
    if status == Status::OutOfMemory {
        add_memory(&mut text, limits);
    }
    Error::new(status, text)
}

fn late(stage: Stage, limits: &Limits, heard: &Heard) -> Error {
    let mut text = match stage {
        Stage::Start => {
            text!("preflight: the engine was not ready within {:?}, so that the model was not tried", limits.timeout)
        }
        stage => text!("preflight: the model was not done with the stage {stage} within {:?}", limits.timeout),
    };
    // engines wait for ever for threads that could not be had
    add_memory(&mut text, limits);
    add_words(&mut text, heard);
    Error::new(if stage == Stage::Start { Status::DeadlineExceeded } else { Status::ModelInvalid }, text)
}

fn died(stage: Stage, end: Option<End>, limits: &Limits, heard: &Heard) -> Error {
    let how = match end {
        Some(End::Signal(number)) => text!("by signal {number} ({})", sys::signal_name(number)),
        Some(End::Exit(code)) => text!("by exit({code}), which the engine or the model called"),
        Some(End::Timeout) | None => text!("in a way that nobody told"),
    };
    let (status, mut text) = match stage {
        Stage::Start => {
            let text = text!("preflight: the engine's library ended the process when it was loaded, {how}");
            (Status::RuntimeUnavailable, text)
        }
        stage => (Status::ModelInvalid, text!("preflight: the model ended its process in the stage {stage}, {how}")),
    };
    add_memory(&mut text, limits);
    add_words(&mut text, heard);
    Error::new(status, text)
}

fn add_memory(text: &mut String, limits: &Limits) {
    if limits.memory != NO_LIMIT {
        let _ = write!(text, "; it was allowed {} bytes of memory (max_memory_bytes)", limits.memory);
    }
}

/// What was printed last, in one line.
fn add_words(text: &mut String, heard: &Heard) {
    let words = printable(&heard.words);
    if !words.is_empty() {
        let _ = write!(text, "; its last words: {words}");
    }
}

/// Text without what could move a cursor, with one space for each gap.
fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let letters = text.split_whitespace().collect::<Vec<_>>().join(" ");
    letters.chars().filter(|letter| !letter.is_control()).collect()
}
