//! A model and the sessions that its contexts share.

use std::sync::{Arc, Mutex, MutexGuard, Weak};

use super::computed::Computed;
use super::context::OnnxContext;
use super::describe;
use super::failure::{Failure, NO_SUCH_FILE};
use super::load::Engine;
use super::names::Names;
use super::options::Settings;
use super::quantization;
use super::session::Session;
use super::walk::{self, Part};
use super::{external, limits, metadata};
use crate::base::room::push;
use crate::base::{Error, Gather, Metadata, Result, Side, Signature, Slot, SlotInfo, Status, fail, text};
use crate::runtime::format::onnx;
use crate::runtime::{EngineContext, EngineModel, EngineOptions, ModelSource};

/// What contexts need to know of their model.
pub struct Slots {
    pub inputs: Vec<SlotInfo>,
    pub outputs: Vec<SlotInfo>,
    pub names: Names,
}

pub struct OnnxModel {
    engine: &'static Engine,
    source: Arc<ModelSource>,
    slots: Arc<Slots>,
    metadata: Vec<Metadata>,
    sessions: Mutex<Sessions>,
}

/// The sessions that exist. A session can cost as much memory as the model, so only the one that was asked for last is
/// kept when no context uses it: at first the one that read the model, which a context with default options then gets.
struct Sessions {
    kept: Option<Arc<Session>>,
    all: Vec<(Settings, Weak<Session>)>,
}

/// What the engine is not to see of a model.
fn check(source: &ModelSource, most: u64) -> Result<()> {
    if onnx::is_ort_format(source.bytes()) {
        return Ok(());
    }
    let mut computed = Computed::default();
    let graphs = walk::visit(source.bytes(), &mut |found| {
        limits::check(&found, most)?;
        match found.part {
            Part::Tensor | Part::Constant => external::check(found.message, source),
            Part::Node => computed.see(&found),
            Part::Sparse | Part::Input => Ok(()),
        }
    })?;
    computed.check(source.bytes(), &graphs, most)
}

impl OnnxModel {
    pub fn open(engine: &'static Engine, source: Arc<ModelSource>, most: u64) -> Result<OnnxModel> {
        let settings = Settings::default();
        check(&source, most)?;
        let session = Arc::new(Session::open(engine, &source, &settings).map_err(unreadable)?);
        let mut slots = Slots::read(&session)?;
        quantization::note(source.bytes(), &mut slots)?;
        let slots = Arc::new(slots);
        let metadata = metadata::read(&session)?;
        let sessions = Sessions { all: vec![(settings, Arc::downgrade(&session))], kept: Some(session) };
        Ok(OnnxModel { engine, source, slots, metadata, sessions: Mutex::new(sessions) })
    }

    /// The session with these settings, shared with every context that has the same.
    pub(super) fn session(&self, settings: Settings) -> Result<Arc<Session>> {
        let mut sessions = self.sessions();
        if let Some(session) = sessions.find(&settings) {
            sessions.kept = Some(session.clone());
            return Ok(session);
        }
        // the idle one goes first, so that a large model is not in memory once more than needed
        sessions.kept = None;
        sessions.all.retain(|(_, session)| session.strong_count() > 0);
        let opened = Session::open(self.engine, &self.source, &settings);
        let session = Arc::new(opened.map_err(|failure| unacceptable(failure, &settings))?);
        self.slots.check_same(&Slots::read(&session)?)?;
        push(&mut sessions.all, (settings, Arc::downgrade(&session)))?;
        sessions.kept = Some(session.clone());
        Ok(session)
    }

    /// How many sessions are alive.
    #[cfg(test)]
    pub(super) fn session_count(&self) -> usize {
        self.sessions().all.iter().filter(|(_, session)| session.strong_count() > 0).count()
    }

    #[cfg(test)]
    pub(super) fn slots(&self) -> Arc<Slots> {
        self.slots.clone()
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Sessions {
    fn find(&self, settings: &Settings) -> Option<Arc<Session>> {
        let (_, session) = self.all.iter().find(|(known, session)| known == settings && session.strong_count() > 0)?;
        session.upgrade()
    }
}

impl Slots {
    fn read(session: &Session) -> Result<Slots> {
        let inputs = describe::slots(session, Side::Input)?;
        let outputs = describe::slots(session, Side::Output)?;
        let names = Names::new(&inputs, &outputs)?;
        let mut outputs = outputs.into_iter().map(|slot| slot.info).gather()?;
        names.flag(&mut outputs);
        Ok(Slots { inputs: inputs.into_iter().map(|slot| slot.info).gather()?, outputs, names })
    }

    /// The file is read again for other settings, and nobody can stop it from being another one by then.
    fn check_same(&self, other: &Slots) -> Result<()> {
        let same = |a: &[SlotInfo], b: &[SlotInfo]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.name == b.name && a.desc == b.desc)
        };
        if same(&self.inputs, &other.inputs) && same(&self.outputs, &other.outputs) {
            return Ok(());
        }
        fail!(ModelInvalid, "the model's file has changed since it was opened: it has other slots now; open it anew")
    }

    /// A slot for texts.
    pub fn label(&self, slot: Slot) -> String {
        self.info(slot).map_or_else(|_| text!("{slot}"), |info| text!("{slot} '{}'", info.name))
    }

    pub fn info(&self, slot: Slot) -> Result<&SlotInfo> {
        let slots = match slot.side {
            Side::Input => &self.inputs,
            Side::Output => &self.outputs,
        };
        match slots.get(slot.index) {
            Some(info) => Ok(info),
            None => fail!(InvalidArgument, "there is no {slot}: the model has {}", slots.len()),
        }
    }
}

impl EngineModel for OnnxModel {
    fn inputs(&self) -> &[SlotInfo] {
        &self.slots.inputs
    }

    fn outputs(&self) -> &[SlotInfo] {
        &self.slots.outputs
    }

    fn metadata(&self) -> &[Metadata] {
        &self.metadata
    }

    /// ONNX has no such thing.
    fn signatures(&self) -> &[Signature] {
        &[]
    }

    fn new_context(&self, options: &EngineOptions) -> Result<Box<dyn EngineContext>> {
        let session = self.session(Settings::parse(options)?)?;
        Ok(Box::new(OnnxContext::new(session, self.slots.clone())?))
    }
}

/// Why a model could not be read.
fn unreadable(failure: Failure) -> Error {
    if failure.code() == NO_SUCH_FILE {
        return failure.or(Status::Io);
    }
    // models that are well but for another engine, or for a later version of this one
    let foreign = [
        "Unsupported model IR version",
        "is under development and support",
        "is not a registered function/op",
        "is not currently registered or supported",
    ];
    let is_foreign = foreign.iter().any(|phrase| failure.text().contains(phrase));
    failure.or(if is_foreign { Status::Unsupported } else { Status::ModelInvalid })
}

/// Why a model that could be read cannot be opened with other settings.
fn unacceptable(failure: Failure, settings: &Settings) -> Error {
    if failure.code() == NO_SUCH_FILE {
        return failure.or(Status::Io);
    }
    if settings.are_special() {
        return failure.or(Status::InvalidArgument).at("the model cannot be prepared with these options");
    }
    failure.into()
}
