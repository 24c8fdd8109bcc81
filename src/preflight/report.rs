//! What the helper tells, a line for each thing. The two processes of the helper write into one pipe, so each line is
//! written at once and short enough not to be torn.

use std::fmt;

use crate::base::Status;

/// A step of a trial, in the order in which they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Before the model is touched: the process, and the engine's library.
    Start,
    Load,
    Plan,
    Run,
    /// Everything is let go of: damage of the heap often shows only there.
    Close,
}

impl Stage {
    const ALL: [(Stage, &'static str); 5] = [
        (Stage::Start, "start"),
        (Stage::Load, "load"),
        (Stage::Plan, "plan"),
        (Stage::Run, "run"),
        (Stage::Close, "close"),
    ];
}

impl fmt::Display for Stage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name) = Stage::ALL[*self as usize];
        out.write_str(name)
    }
}

/// How the process of a trial ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Exit(i32),
    Signal(i32),
    /// Its time was over, so it was ended.
    Timeout,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The first: which build of zerobind the helper is of.
    Hello(String),
    /// The process that tries the model, which leads a group of its own.
    Worker(i32),
    Stage(Stage),
    Passed,
    Refused(Status, String),
    /// The last.
    Ended(End),
}

/// The bytes of a line, at most: what Linux takes at once for a pipe. (POSIX promises 512; where it is no more, a line that is
/// torn by the other process's is not understood, and the trial counts as one that told no result.)
const LONGEST: usize = 4096;
const HELLO: &str = "zerobind-preflight ";

impl Line {
    /// With its newline; a text that is too long loses its end.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut text = match self {
            Line::Hello(build) => format!("{HELLO}{build}"),
            Line::Worker(pid) => format!("worker {pid}"),
            Line::Stage(stage) => format!("stage {stage}"),
            Line::Passed => "passed".to_owned(),
            Line::Refused(status, text) => format!("refused {} {}", *status as i32, escaped(text)),
            Line::Ended(End::Exit(code)) => format!("ended exit {code}"),
            Line::Ended(End::Signal(number)) => format!("ended signal {number}"),
            Line::Ended(End::Timeout) => "ended timeout".to_owned(),
        };
        if text.len() >= LONGEST {
            let mark = "...";
            text.truncate(text.floor_char_boundary(LONGEST - mark.len() - 1));
            text.push_str(mark);
        }
        text.push('\n');
        text.into_bytes()
    }

    /// From a line without its newline; `None` for what is no such line.
    pub fn parse(line: &[u8]) -> Option<Line> {
        let line = std::str::from_utf8(line).ok()?;
        if let Some(build) = line.strip_prefix(HELLO) {
            return Some(Line::Hello(build.to_owned()));
        }
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        Some(match (word, rest) {
            ("worker", pid) => Line::Worker(pid.parse().ok().filter(|pid| *pid > 1)?),
            ("stage", name) => Line::Stage(Stage::ALL.iter().find(|(_, known)| *known == name)?.0),
            ("passed", "") => Line::Passed,
            ("refused", rest) => {
                let (code, text) = rest.split_once(' ')?;
                Line::Refused(Status::from_code(code.parse().ok()?)?, unescaped(text))
            }
            ("ended", "timeout") => Line::Ended(End::Timeout),
            ("ended", rest) => match rest.split_once(' ')? {
                ("exit", code) => Line::Ended(End::Exit(code.parse().ok()?)),
                ("signal", number) => Line::Ended(End::Signal(number.parse().ok()?)),
                _ => return None,
            },
            _ => return None,
        })
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => out.push('\n'),
                Some(other) => out.push(other),
                None => {}
            },
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_as_they_were() {
        let texts = ["", "plain", "two\nlines \\n and a \\", "größe"];
        let refusals = texts.map(|text| Line::Refused(Status::Runtime, text.to_owned()));
        let ends = [End::Exit(0), End::Exit(255), End::Signal(11), End::Timeout].map(Line::Ended);
        let stages = Stage::ALL.map(|(stage, _)| Line::Stage(stage));
        let others = [Line::Hello("0.1.0 (a b)".to_owned()), Line::Worker(77), Line::Passed];
        for line in others.into_iter().chain(refusals).chain(ends).chain(stages) {
            let bytes = line.to_bytes();
            let (newline, content) = bytes.split_last().unwrap();
            assert_eq!(*newline, b'\n');
            assert!(!content.contains(&b'\n'));
            assert_eq!(Line::parse(content), Some(line));
        }
    }

    #[test]
    fn long_texts_are_cut_at_a_letter() {
        let line = Line::Refused(Status::Runtime, "ü".repeat(5000));
        let bytes = line.to_bytes();
        assert!(bytes.len() <= LONGEST);
        let Some(Line::Refused(_, text)) = Line::parse(&bytes[..bytes.len() - 1]) else { panic!("it is no refusal") };
        assert!(text.ends_with("ü...") && text.len() > 4000);
    }

    #[test]
    fn what_is_no_line_is_none() {
        for line in [
            &b""[..],
            b"stage",
            b"stage fly",
            b"passed by",
            b"refused",
            b"refused 8",
            b"refused 0 ok",
            b"refused 99 x",
            b"ended",
            b"ended exit",
            b"ended signal x",
            b"worker 1",
            b"worker -5",
            b"\xff\xfe",
            b"hello",
        ] {
            assert_eq!(Line::parse(line), None, "{}", String::from_utf8_lossy(line));
        }
    }
}
