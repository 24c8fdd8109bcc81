//! `zerobind run`: a model on files, in place.

mod report;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::abi::*;
use crate::cli::Run;
use crate::failure::{Exit, Failure, Result};
use crate::files::{Draft, Identity, InputFile, Target, has_npy_name};
use crate::npy;
use crate::print;
use crate::session::{Session, Side};
use report::{Outcome, SlotReport, Way};

/// An output on its way into a file.
struct Writing {
    draft: Draft,
    /// Why the engine does not write into the file itself, if so.
    copied_because: Option<&'static str>,
}

pub fn run(options: &Run) -> Result<()> {
    let mut session = Session::open(&options.common, options.allow_copies)?;
    let inputs = session.assignments(Side::Input, &options.inputs)?;
    let outputs = session.assignments(Side::Output, &options.outputs)?;
    let targets = targets(&options.common.model, &inputs, outputs)?;
    for (slot, path) in &inputs {
        bind_input(&mut session, *slot, path)?;
    }
    session.context.prepare()?;
    let mut writing = HashMap::new();
    for (slot, target) in targets {
        writing.insert(slot, bind_output(&mut session, slot, target)?);
    }
    let start = Instant::now();
    for _ in 0..options.repeat {
        session.context.infer().map_err(with_hint)?;
    }
    let elapsed = start.elapsed();
    let slots = finish(&session, &inputs, writing)?;
    let outcome = Outcome::new(&session, options, elapsed, slots);
    if options.common.json { print::json(&outcome) } else { print::text(&outcome.prose(&session)) }
}

/// The files to write; none may be read from or written twice.
fn targets(model: &Path, inputs: &[(Slot, PathBuf)], outputs: Vec<(Slot, PathBuf)>) -> Result<Vec<(Slot, Target)>> {
    let read: Vec<_> = (inputs.iter().map(|(_, path)| ("read as an input", path.as_path())))
        .chain([("the model", model)])
        .filter_map(|(name, path)| Some((name, Identity::of(path)?)))
        .collect();
    let mut targets: Vec<(Slot, Target)> = Vec::new();
    for (slot, path) in outputs {
        let target = Target::new(&path)?;
        let written = targets.iter().map(|(_, other)| ("written as another output", &other.identity));
        target.check_alone(read.iter().map(|(name, identity)| (*name, identity)).chain(written))?;
        targets.push((slot, target));
    }
    Ok(targets)
}

fn bind_input(session: &mut Session, slot: Slot, path: &Path) -> Result<()> {
    let info = session.context.slot_info(slot)?;
    let file = InputFile::open(path)?;
    let about = |failure: Failure| failure.about(format!("input '{}' from {}", info.name, path.display()));
    let placed = file.place(&info).map_err(about)?;
    let tensor = file.map(&placed).map_err(about)?;
    session.context.bind(slot, tensor).map_err(|error| about(with_hint(error)))
}

/// Binds the file's own bytes to the output where the engine can write there.
fn bind_output(session: &mut Session, slot: Slot, target: Target) -> Result<Writing> {
    let desc = session.context.slot_desc(slot)?;
    let is_staged = session.context.requirements(slot)?.rebind == ZB_REBIND_STAGED;
    let flags = session.context.slot_info(slot)?.flags;
    let is_another = flags & (ZB_SLOT_PASS_THROUGH | ZB_SLOT_DUPLICATE) != 0;
    let mut draft = Draft::new(target)?;
    if is_staged || is_another || !desc.is_known() {
        return Ok(Writing { draft, copied_because: Some(why_copied(&desc, flags)) });
    }
    let head = head(draft.shown(), &desc)?;
    draft.write(&head)?;
    draft.reserve((head.len() + desc.size()?) as u64)?;
    let tensor = Tensor::map(&desc, draft.descriptor(), head.len() as u64, false)?;
    let about = |error: Error| Failure::from(error).about(format!("output to {}", draft.shown().display()));
    session.context.bind(slot, tensor).map_err(about)?;
    Ok(Writing { draft, copied_because: None })
}

fn why_copied(desc: &Desc, flags: u32) -> &'static str {
    match flags {
        _ if !desc.is_known() => "only the run tells its size: it was written from the engine's memory",
        _ if flags & ZB_SLOT_CONSTANT != 0 => "it is a part of the model: it was written from there",
        _ if flags & ZB_SLOT_PASS_THROUGH != 0 => "it is an input passed through: it was written from there",
        _ if flags & ZB_SLOT_DUPLICATE != 0 => "it is the same tensor as an earlier output: it was written from there",
        _ => "the engine takes no memory for it: it was written from the engine's",
    }
}

/// What comes before the data in a file of this name.
fn head(path: &Path, desc: &Desc) -> Result<Vec<u8>> {
    if !has_npy_name(path) {
        return Ok(Vec::new());
    }
    let descr = npy::descr_for(desc.dtype).ok_or_else(|| {
        let text = format!(
            "output to {}: .npy files have no type for {}: give the file another ending for the bare bytes",
            path.display(),
            dtype_name(desc.dtype)
        );
        Failure::new(Exit::Unsupported, text)
    })?;
    Ok(npy::header_bytes(descr, &desc.dims))
}

/// The library's text, and what it means for somebody who gives files.
fn with_hint(error: Error) -> Failure {
    let hint = match error.status {
        ZB_ERROR_UNBOUND => "give each input by --input NAME=FILE",
        ZB_ERROR_BUFFER_TOO_SMALL => {
            "as a .npy file it would not end with a page; or let zerobind copy it: --allow-copies"
        }
        ZB_ERROR_MISALIGNED => "numpy.save aligns what it writes today; or let zerobind copy it: --allow-copies",
        ZB_ERROR_COPY_REQUIRED => "let zerobind copy it: --allow-copies",
        _ => return error.into(),
    };
    Failure::from(error).hint(hint)
}

/// Writes what the engine did not, gives the files their names, and tells what was done for each slot.
fn finish(
    session: &Session,
    inputs: &[(Slot, PathBuf)],
    mut writing: HashMap<Slot, Writing>,
) -> Result<Vec<SlotReport>> {
    let mut reports = Vec::new();
    let mut drafts = Vec::new();
    for (slot, info) in &session.slots {
        let done = session.context.report(*slot)?;
        let desc = session.context.slot_desc(*slot)?;
        let mut report = SlotReport::new(info, &desc, done);
        if let Some((_, path)) = inputs.iter().find(|(input, _)| input == slot) {
            report.file = Some(path.clone());
        }
        if let Some(Writing { mut draft, copied_because }) = writing.remove(slot) {
            report.file = Some(draft.shown().to_owned());
            if let Some(reason) = copied_because {
                let bytes = session.context.view(*slot)?;
                draft.write(&head(draft.shown(), &desc)?)?;
                draft.write(bytes)?;
                report.copied_by_tool(bytes.len(), reason);
            }
            drafts.push(draft);
        }
        report.way = report.way.or_unused(report.file.is_some());
        reports.push(report);
    }
    drafts.into_iter().try_for_each(Draft::publish)?;
    Ok(reports)
}

impl Way {
    /// A slot without a file is neither read nor written by the user.
    fn or_unused(self, has_file: bool) -> Way {
        if has_file { self } else { Way::Unused }
    }
}
