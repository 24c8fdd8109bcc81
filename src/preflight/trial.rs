//! The trial itself, in the process that may die of it.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use super::report::{Line, Stage};
use super::request::Request;
use super::{NO_LIMIT, sys};
use crate::base::{Dims, Error, Result, Side, Slot, Status, fail, panic_message, text};
use crate::core::{Context, Model, choose_runtime};
use crate::memory::{Buffer, HostBytes, map_bytes};
use crate::runtime;

/// Slots ask for no more than this.
const ALIGNMENT: usize = 64;

/// The process of the trial: it tells how far it is, and how it ended if it comes to an end by itself.
pub fn process(request: &Request, file: &File, model_at: u64, mut out: File) -> ! {
    sys::end_with_parent();
    sys::lead_group(0);
    let mut tell = |line: Line| {
        if out.write_all(&line.to_bytes()).is_err() {
            // nobody listens any more
            sys::end(1);
        }
    };
    tell(Line::Stage(Stage::Start));
    let trial = Trial { request, file, model_at };
    let result = catch_unwind(AssertUnwindSafe(|| trial.run(&mut |stage| tell(Line::Stage(stage)))));
    let result = result.unwrap_or_else(|payload| Err(Error::new(Status::Panic, panic_text(payload.as_ref()))));
    match result {
        Ok(()) => tell(Line::Passed),
        Err(error) => tell(Line::Refused(error.status, error.into_text())),
    }
    sys::end(0)
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    text!("a bug in zerobind was caught ({}): please report it", panic_message(payload))
}

struct Trial<'a> {
    request: &'a Request,
    file: &'a File,
    model_at: u64,
}

impl Trial<'_> {
    fn run(&self, stage: &mut dyn FnMut(Stage)) -> Result<()> {
        self.set_limits()?;
        if let Some(folder) = &self.request.engine_folder {
            runtime::look_beside(folder);
        }
        self.start_engine()?;
        stage(Stage::Load);
        let model = self.load()?;
        stage(Stage::Plan);
        let mut context = self.plan(&model)?;
        stage(Stage::Run);
        run_on_zeros(&model, &mut context)?;
        stage(Stage::Close);
        drop(context);
        drop(model);
        Ok(())
    }

    fn set_limits(&self) -> Result<()> {
        let failed = |error: std::io::Error| Error::new(Status::Io, text!("a limit cannot be set: {error}"));
        sys::write_no_core().map_err(failed)?;
        if self.request.max_memory != NO_LIMIT {
            sys::limit_memory(self.request.max_memory).map_err(failed)?;
        }
        // only what outlives the watch over its time meets this
        let seconds = (self.request.timeout_ns / 1_000_000_000).saturating_add(2);
        sys::limit_processor_time(seconds.saturating_mul(self.request.threads)).map_err(failed)
    }

    /// Has the library of the model's engine loaded, from where the host has it: a failure here says nothing of the model.
    fn start_engine(&self) -> Result<()> {
        let options = self.request.model_options();
        let Some(runtime) = self.peek().and_then(|bytes| choose_runtime(bytes.as_ref(), options.runtime).ok()) else {
            // what is wrong with the model is told when it is opened
            return Ok(());
        };
        let known = self.request.engines.iter().find(|(id, _)| *id == u64::from(runtime.id().cast_unsigned()));
        runtime.load(known.map(|(_, path)| path.as_path()))
    }

    /// The model's bytes, if they can be had at all.
    fn peek(&self) -> Option<HostBytes> {
        match &self.request.path {
            None => map_bytes(self.file.as_raw_fd(), self.model_at, 0).ok(),
            Some(path) => {
                // to open a pipe is to wait for its other end
                let file = path.is_file().then(|| File::open(path).ok()).flatten()?;
                map_bytes(file.as_raw_fd(), 0, 0).ok()
            }
        }
    }

    fn load(&self) -> Result<Arc<Model>> {
        let options = self.request.model_options();
        match &self.request.path {
            Some(path) => Model::open_path(path, options).map_err(|error| without_path(error, path)),
            None if self.has_no_bytes() => Model::open_copy(&[], options),
            None => Model::open_fd(self.file.as_raw_fd(), self.model_at, 0, options),
        }
    }

    fn has_no_bytes(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.len() <= self.model_at)
    }

    fn plan(&self, model: &Arc<Model>) -> Result<Context> {
        let (mut context, _stop) = Context::new(model.clone(), &self.request.context_options())?;
        for index in 0..model.slots(Side::Input).len() {
            self.shape(&mut context, index)?;
        }
        if let Some((index, _)) = self.request.shapes.iter().find(|(index, _)| is_no_input(model, *index)) {
            let count = model.slots(Side::Input).len();
            return fail!(InvalidArgument, "a shape is given for input {index}, but the model has {count} inputs");
        }
        context.prepare()?;
        Ok(context)
    }

    /// The shape that was asked for; else the one that the model starts with, with 1 for what it leaves open.
    fn shape(&self, context: &mut Context, index: usize) -> Result<()> {
        let slot = Slot::input(index);
        if let Some((_, dims)) = self.request.shapes.iter().find(|(input, _)| *input == index as u64) {
            return context.resize_input(slot, *dims);
        }
        let dims = context.slot_facts(slot)?.desc.dims;
        if dims.is_known() {
            return Ok(());
        }
        context.resize_input(slot, ones_for_open(dims))
    }
}

fn is_no_input(model: &Model, index: u64) -> bool {
    index >= model.slots(Side::Input).len() as u64
}

fn ones_for_open(mut dims: Dims) -> Dims {
    for dim in dims.as_mut_slice().iter_mut().filter(|dim| **dim < 0) {
        *dim = 1;
    }
    dims
}

/// The host puts the path before every text.
fn without_path(error: Error, path: &Path) -> Error {
    let start = text!("{}: ", path.display());
    let text = error.text().strip_prefix(&start).map(|text| text.strip_prefix(&start).unwrap_or(text).to_owned());
    match text {
        Some(text) => error.with_text(text),
        None => error,
    }
}

/// One run with every input lent and every output where the engine puts it; then each output is looked up.
fn run_on_zeros(model: &Model, context: &mut Context) -> Result<()> {
    let mut zeros = Vec::new();
    for index in 0..model.slots(Side::Input).len() {
        let slot = Slot::input(index);
        let size = context.slot_facts(slot)?.desc.memory_size().map_err(|error| error.at(model.label(slot)))?;
        zeros.push((slot, Buffer::zeroed(size, ALIGNMENT)?));
    }
    context.infer_with(None, |lending| {
        zeros.iter().try_for_each(|(slot, buffer)| lending.lend(*slot, buffer.range(), None))
    })?;
    for index in 0..model.slots(Side::Output).len() {
        look_at(model, context, Slot::output(index))?;
    }
    Ok(())
}

/// What cannot be viewed in principle (texts, an input passed through, whose memory was lent) is no fault.
fn look_at(model: &Model, context: &mut Context, slot: Slot) -> Result<()> {
    match context.output_view(slot) {
        Err(error) if ![Status::Unsupported, Status::Unbound].contains(&error.status) => {
            Err(error.at(model.label(slot)))
        }
        _ => Ok(()),
    }
}
