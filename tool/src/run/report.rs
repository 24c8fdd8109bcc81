//! What a run did with each slot.

use std::path::PathBuf;
use std::result::Result;
use std::time::Duration;

use serde::Serialize;

use crate::abi::*;
use crate::cli::Run;
use crate::session::Session;
use crate::text;

#[derive(Serialize)]
pub struct Outcome {
    model: String,
    engine: &'static str,
    engine_version: String,
    threads: i32,
    runs: u64,
    /// All runs together.
    seconds: f64,
    slots: Vec<SlotReport>,
}

#[derive(Serialize)]
pub struct SlotReport {
    name: String,
    dtype: String,
    shape: Vec<i64>,
    #[serde(serialize_with = "as_text")]
    pub file: Option<PathBuf>,
    pub way: Way,
    /// In one run.
    bytes_copied: u64,
    reason: Option<String>,
    #[serde(skip)]
    desc: Desc,
}

/// How the bytes of a slot and of its file came together.
#[derive(Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// The engine worked on the file's own bytes.
    InPlace,
    /// zerobind copied, as was allowed.
    CopiedByZerobind,
    /// The output was written into the file when the run was over.
    CopiedByTool,
    /// No file was named.
    Unused,
}

impl Way {
    fn title(self) -> &'static str {
        match self {
            Way::InPlace => "in place",
            Way::CopiedByZerobind => "copied",
            Way::CopiedByTool => "written after the run",
            Way::Unused => "no file",
        }
    }
}

impl SlotReport {
    pub fn new(info: &SlotInfo, desc: &Desc, report: Report) -> SlotReport {
        SlotReport {
            name: info.name.clone(),
            dtype: dtype_name(desc.dtype),
            shape: desc.dims.clone(),
            file: None,
            way: match report.path {
                ZB_PATH_DIRECT => Way::InPlace,
                ZB_PATH_STAGED => Way::CopiedByZerobind,
                _ => Way::Unused,
            },
            bytes_copied: report.bytes_copied,
            reason: report.reason,
            desc: desc.clone(),
        }
    }

    pub fn copied_by_tool(&mut self, bytes: usize, reason: &str) {
        self.way = Way::CopiedByTool;
        self.bytes_copied = bytes as u64;
        self.reason = Some(reason.to_owned());
    }

    fn row(&self) -> Vec<String> {
        let file = self.file.as_ref().map_or_else(String::new, |path| path.to_string_lossy().into_owned());
        vec![
            text::plain(&self.name),
            self.desc.to_string(),
            self.way.title().to_owned(),
            text::count(self.bytes_copied),
            text::plain(&file),
            self.reason.clone().unwrap_or_default(),
        ]
    }
}

impl Outcome {
    pub fn new(session: &Session, options: &Run, elapsed: Duration, slots: Vec<SlotReport>) -> Outcome {
        Outcome {
            model: options.common.model.to_string_lossy().into_owned(),
            engine: session.engine.key(),
            engine_version: session.engine_version.clone(),
            threads: options.common.engine.threads,
            runs: options.repeat,
            seconds: elapsed.as_secs_f64(),
            slots,
        }
    }

    pub fn prose(&self, session: &Session) -> String {
        let each = self.seconds * 1e9 / self.runs as f64;
        let runs = if self.runs == 1 { "1 run".to_owned() } else { format!("{} runs, each", text::count(self.runs)) };
        let threads = if self.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", self.threads) };
        let head = format!("{}, {threads}: {runs} in {}\n\n", session.engine_title(), text::time(each));
        let mut rows = vec![["slot", "tensor", "memory", "bytes copied", "file", "why"].map(str::to_owned).to_vec()];
        rows.extend(self.slots.iter().map(SlotReport::row));
        head + &text::table(&rows)
    }
}

/// Paths need not be UTF-8, JSON must.
fn as_text<S: serde::Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => serializer.serialize_some(&path.to_string_lossy()),
        None => serializer.serialize_none(),
    }
}
