//! A model with a context, as the options that all commands share ask for it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::abi::{self, Context, ContextOptions, Model, RuntimeKind, Slot, SlotInfo};
use crate::cli::Common;
use crate::failure::{Failure, Result};

pub struct Session {
    pub model: Model,
    pub engine: RuntimeKind,
    pub engine_version: String,
    pub context: Context,
    /// Inputs, then outputs, as the model declares them.
    pub slots: Vec<(Slot, SlotInfo)>,
}

impl Session {
    pub fn open(common: &Common, allow_copies: bool) -> Result<Session> {
        if common.verbose {
            abi::show_log()?;
        }
        let model = Model::open(&common.model, common.engine.runtime.kind(), common.engine.max_tensor_bytes)?;
        let engine = model.runtime()?;
        let context = new_context(&model, common, allow_copies, false)?;
        let slots =
            (model.slots()?.into_iter()).map(|slot| Ok((slot, model.slot_info(slot)?))).collect::<Result<Vec<_>>>()?;
        let engine_version = abi::runtime_info(engine)?.version.unwrap_or_default();
        Ok(Session { model, engine, engine_version, context, slots })
    }

    pub fn inputs(&self) -> impl Iterator<Item = &(Slot, SlotInfo)> {
        self.slots.iter().filter(|(slot, _)| matches!(slot, Slot::Input(_)))
    }

    /// The slots and files that NAME=FILE arguments name. Each slot at most once.
    pub fn assignments(&self, side: Side, arguments: &[impl AsRef<OsStr>]) -> Result<Vec<(Slot, PathBuf)>> {
        let mut found: Vec<(Slot, PathBuf)> = Vec::new();
        for argument in arguments.iter().map(AsRef::as_ref) {
            let (slot, file) = self.assignment(side, argument)?;
            if found.iter().any(|(known, _)| *known == slot) {
                let text = format!("--{} {}: this slot has a file already", side.word(), argument.to_string_lossy());
                return Err(Failure::usage(text));
            }
            found.push((slot, file));
        }
        Ok(found)
    }

    /// Names and files may both have '=' in them: the longest beginning that is the name of a slot counts.
    fn assignment(&self, side: Side, argument: &OsStr) -> Result<(Slot, PathBuf)> {
        let bytes = argument.as_bytes();
        let places = || (0..bytes.len()).filter(|place| bytes[*place] == b'=');
        let about = format!("--{} {}", side.word(), argument.to_string_lossy());
        let Some(first) = places().next() else {
            return Err(Failure::usage(format!("{about}: give NAME=FILE")));
        };
        let is_name = |place: &usize| {
            self.slots.iter().any(|(slot, info)| side.has(*slot) && info.name.as_bytes() == &bytes[..*place])
        };
        let place = places().rfind(is_name).unwrap_or(first);
        let name = OsStr::from_bytes(&bytes[..place]);
        let found = match side {
            Side::Input => self.model.find_input(name),
            Side::Output => self.model.find_output(name),
        };
        let slot = found.map_err(|error| Failure::from(error).about(&about))?;
        if place + 1 == bytes.len() {
            return Err(Failure::usage(format!("{about}: the file has no name")));
        }
        Ok((slot, PathBuf::from(OsStr::from_bytes(&bytes[place + 1..]))))
    }

    /// "onnxruntime 1.32.0" for people.
    pub fn engine_title(&self) -> String {
        format!("{} {}", self.engine.title(), self.engine_version)
    }
}

/// A context with the shapes that were asked for.
pub fn new_context(model: &Model, common: &Common, allow_copies: bool, profile: bool) -> Result<Context> {
    let options = ContextOptions {
        threads: common.engine.threads,
        allow_copies,
        profile,
        settings: common.engine.settings.clone(),
    };
    let mut context = Context::new(model, &options)?;
    let mut shaped = Vec::new();
    for (name, dims) in &common.shapes {
        let about = |error| Failure::from(error).about(format!("--shape {name}"));
        let slot = model.find_input(OsStr::new(name)).map_err(about)?;
        if shaped.contains(&slot) {
            return Err(Failure::usage(format!("--shape {name}: this input has a shape already")));
        }
        context.resize(slot, &dims.0).map_err(about)?;
        shaped.push(slot);
    }
    Ok(context)
}

#[derive(Clone, Copy)]
pub enum Side {
    Input,
    Output,
}

impl Side {
    pub fn word(self) -> &'static str {
        match self {
            Side::Input => "input",
            Side::Output => "output",
        }
    }

    fn has(self, slot: Slot) -> bool {
        matches!((self, slot), (Side::Input, Slot::Input(_)) | (Side::Output, Slot::Output(_)))
    }
}
