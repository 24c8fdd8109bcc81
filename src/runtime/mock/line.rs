//! One line of a mock model. `None` is a line that makes no sense.

use std::time::Duration;

use super::mischief::Mischief;
use super::rule::{Action, Rule, Stage};
use super::shapes::{Dim, SlotSpec};
use crate::base::{Dtype, MAX_RANK, Side, Slot, Status, log};

/// The words of a line, without its comment.
pub fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().take_while(|word| !word.starts_with('#')).collect()
}

/// A rule from a whole line, as an option gives it.
pub fn rule_line(line: &str) -> Option<Rule> {
    rule(&words(line))
}

/// STAGE ACTION ARGUMENTS... [@N | @N+]
pub fn rule(words: &[&str]) -> Option<Rule> {
    let (words, first, last) = match words.split_last() {
        Some((time, rest)) if time.starts_with('@') => {
            let (first, last) = times(&time[1..])?;
            (rest, first, last)
        }
        _ => (words, 1, u32::MAX),
    };
    let (stage, words) = words.split_first()?;
    let (_, stage) = *Stage::ALL.iter().find(|(name, _)| name == stage)?;
    Some(Rule { stage, action: action(words)?, first, last })
}

fn times(text: &str) -> Option<(u32, u32)> {
    match text.strip_suffix('+') {
        Some(first) => Some((first.parse().ok()?, u32::MAX)),
        None => text.parse().ok().map(|time| (time, time)),
    }
}

fn action(words: &[&str]) -> Option<Action> {
    Some(match words {
        ["panic", text @ ..] => Action::Panic(text.join(" ")),
        ["fail", status, text @ ..] => Action::Fail(self::status(status)?, text.join(" ")),
        ["sleep-ms", time] => Action::Sleep(Duration::from_millis(time.parse().ok()?)),
        ["log", level, text @ ..] => Action::Log(self::level(level)?, text.join(" ")),
        ["slowly"] => Action::Slowly,
        ["wait", gate] => Action::Wait((*gate).to_owned()),
        ["await", gate] => Action::Await((*gate).to_owned()),
        ["open", gate] => Action::Open((*gate).to_owned()),
        ["do", mischief @ ..] => Action::Do(Mischief::parse(mischief)?),
        _ => return None,
    })
}

fn status(name: &str) -> Option<Status> {
    let is_it = |status: &&Status| status.c_name().to_str().ok() == Some(&format!("ZB_ERROR_{name}"));
    Status::ERRORS.iter().find(is_it).copied()
}

fn level(name: &str) -> Option<log::Level> {
    match name {
        "error" => Some(log::Level::Error),
        "warn" => Some(log::Level::Warn),
        "info" => Some(log::Level::Info),
        "debug" => Some(log::Level::Debug),
        _ => None,
    }
}

pub fn power_of_two(text: &str) -> Option<usize> {
    text.parse().ok().filter(|bytes: &usize| bytes.is_power_of_two())
}

/// NAME DTYPE DIM... [fixed] [constant] [twin=SIDE:INDEX]
pub fn slot(side: Side, words: &[&str]) -> Option<SlotSpec> {
    let [name, dtype, rest @ ..] = words else { return None };
    let dtype = *Dtype::ALL.iter().find(|known| known.c_name().to_str().ok() == Some(dtype))?;
    let mut spec =
        SlotSpec { name: (*name).to_owned(), dtype, dims: Vec::new(), twin: None, fixed: false, constant: false };
    for word in rest {
        match *word {
            "fixed" => spec.fixed = true,
            "constant" => spec.constant = true,
            word => match word.strip_prefix("twin=") {
                Some(twin) => spec.twin = Some(twin_slot(twin)?),
                None => spec.dims.push(dim(side, word)?),
            },
        }
    }
    let is_plain = spec.twin.is_none() && !spec.constant;
    (spec.dims.len() <= MAX_RANK && (side == Side::Output || is_plain)).then_some(spec)
}

fn twin_slot(text: &str) -> Option<Slot> {
    let (side, index) = text.split_once(':')?;
    let side = match side {
        "input" => Side::Input,
        "output" => Side::Output,
        _ => return None,
    };
    Some(Slot { side, index: index.parse().ok()? })
}

fn dim(side: Side, word: &str) -> Option<Dim> {
    if let Ok(size) = word.parse::<i64>() {
        return match size {
            -1 => Some(Dim::Open { name: String::new(), start: -1 }),
            0.. => Some(Dim::Fixed(size)),
            _ => None,
        };
    }
    let (name, start) = match word.split_once('=') {
        Some((name, start)) => (name, start.parse().ok().filter(|start: &i64| *start >= 0)?),
        None => (word, -1),
    };
    let is_name = name.starts_with(char::is_alphabetic) && (side == Side::Input || start == -1);
    is_name.then(|| Dim::Open { name: name.to_owned(), start })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_make_no_sense_are_refused() {
        for line in
            ["run", "run fly", "run fail NOTHING x", "walk panic", "run wait", "run panic @x", "plan sleep-ms -1"]
        {
            assert!(rule_line(line).is_none(), "{line}");
        }
        for line in ["x", "x f33", "x f32 -2", "x f32 4 twin=input", "x f32 a=-1", "x f32 4 constant"] {
            assert!(slot(Side::Input, &words(line)).is_none(), "{line}");
        }
    }

    #[test]
    fn times_are_counted() {
        let rule = rule_line("run panic oh no @3+   # the end").unwrap();
        assert_eq!((rule.first, rule.last), (3, u32::MAX));
        assert!(matches!(rule.action, Action::Panic(text) if text == "oh no"));
        let rule = rule_line("plan fail OUT_OF_MEMORY none @2").unwrap();
        assert_eq!((rule.first, rule.last), (2, 2));
    }
}
