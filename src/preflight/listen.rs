//! Hearing what the helper and its engines say.

use std::fs::File;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use super::report::{End, Line, Stage};
use super::sys;
use crate::base::Status;

/// More than this of a line that has no end is nothing of the helper's.
const LONGEST_LINE: usize = 8192;
/// What is kept of the engine's words.
const TAIL: usize = 1024;

/// All that was heard of a trial.
#[derive(Debug, Default)]
pub struct Heard {
    /// The first line, if it came: the helper's build, or what else was said.
    pub first: Option<First>,
    /// The leader of the group of processes that tries the model.
    pub worker: Option<i32>,
    pub stage: Option<Stage>,
    pub result: Option<Result<(), (Status, String)>>,
    pub end: Option<End>,
    /// It was listened to until the last moment.
    pub hung: bool,
    /// The last of what was printed.
    pub words: Vec<u8>,
    unfinished: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum First {
    Build(String),
    Other(String),
}

/// How long to listen.
pub struct Patience {
    /// For the first line, which needs no model.
    pub greeting: Duration,
    pub all: Duration,
}

/// Listens until the helper has told the end, is gone, is no helper, or time is over.
pub fn listen(mut lines: File, mut words: File, patience: &Patience) -> io::Result<Heard> {
    let start = Instant::now();
    let mut heard = Heard::default();
    loop {
        let allowed = if heard.first.is_none() { patience.greeting.min(patience.all) } else { patience.all };
        let left = allowed.saturating_sub(start.elapsed());
        let [has_line, has_word] = sys::wait_readable([&lines, &words], left)?;
        // first, so that the last words of a process are had before its end
        if has_word && !heard.take_words(&mut words)? {
            // closed early: from now on the lines alone are waited for
            return listen_to_lines(lines, heard, patience, start);
        }
        if has_line && (!heard.take_lines(&mut lines)? || heard.is_over()) {
            heard.take_last_words(&mut words)?;
            return Ok(heard);
        }
        if !has_line && left.is_zero() {
            heard.hung = true;
            return Ok(heard);
        }
    }
}

fn listen_to_lines(mut lines: File, mut heard: Heard, patience: &Patience, start: Instant) -> io::Result<Heard> {
    loop {
        let left = patience.all.saturating_sub(start.elapsed());
        let [has_line] = sys::wait_readable([&lines], left)?;
        if has_line && (!heard.take_lines(&mut lines)? || heard.is_over()) {
            return Ok(heard);
        }
        if !has_line && left.is_zero() {
            heard.hung = true;
            return Ok(heard);
        }
    }
}

impl Heard {
    fn is_over(&self) -> bool {
        self.end.is_some() || matches!(self.first, Some(First::Other(_)))
    }

    /// False at the end of the pipe.
    fn take_lines(&mut self, from: &mut File) -> io::Result<bool> {
        let mut buffer = [0; 4096];
        let count = read(from, &mut buffer)?;
        for byte in &buffer[..count] {
            match byte {
                b'\n' => {
                    let line = std::mem::take(&mut self.unfinished);
                    self.note(&line);
                }
                byte if self.unfinished.len() < LONGEST_LINE => self.unfinished.push(*byte),
                _ => {}
            }
        }
        if count == 0 && self.first.is_none() && !self.unfinished.is_empty() {
            let line = std::mem::take(&mut self.unfinished);
            self.note(&line);
        }
        Ok(count > 0)
    }

    /// What is no line of the helper's was written by somebody else in that process, and means nothing.
    fn note(&mut self, line: &[u8]) {
        let parsed = Line::parse(line);
        if self.first.is_none() {
            self.first = Some(match parsed {
                Some(Line::Hello(build)) => First::Build(build),
                _ => First::Other(String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned()),
            });
            return;
        }
        match parsed {
            Some(Line::Worker(pid)) if self.worker.is_none() => self.worker = Some(pid),
            // stages only go on
            Some(Line::Stage(stage)) => self.stage = self.stage.max(Some(stage)),
            Some(Line::Passed) => self.result = Some(Ok(())),
            Some(Line::Refused(status, text)) => self.result = Some(Err((status, text))),
            Some(Line::Ended(end)) => self.end = Some(end),
            _ => {}
        }
    }

    /// False at the end of the pipe.
    fn take_words(&mut self, from: &mut File) -> io::Result<bool> {
        let mut buffer = [0; 4096];
        let count = read(from, &mut buffer)?;
        self.words.extend(&buffer[..count]);
        let excess = self.words.len().saturating_sub(TAIL);
        self.words.drain(..excess);
        Ok(count > 0)
    }

    /// What is in the pipe now; whoever may still hold its other end is not waited for.
    fn take_last_words(&mut self, from: &mut File) -> io::Result<()> {
        // more than a pipe holds
        for _ in 0..64 {
            let [has_word] = sys::wait_readable([from], Duration::ZERO)?;
            if !has_word || !self.take_words(from)? {
                break;
            }
        }
        Ok(())
    }
}

fn read(from: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
