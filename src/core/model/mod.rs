//! Models: bytes read once, shared by their contexts.

mod description;

use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::base::room::joined;
use crate::base::{Desc, Dtype, Error, Kind, Result, Side, Slot, SlotInfo, Status, fail, text};
use crate::core::context::ContextOptions;
use crate::core::count::Counted;
use crate::core::options::{self, Setting};
use crate::memory::{Buffer, HostBytes, map_bytes};
use crate::runtime::{self, EngineContext, EngineModel, EngineOptions, ModelSource, Runtime};

/// The largest tensor that a model may have when the host sets no limit.
const DEFAULT_MAX_TENSOR_BYTES: u64 = 4 << 30;

/// Where model bytes of the host must start: what the flatbuffers of TFLite need.
pub const MODEL_ALIGNMENT: usize = 16;

/// How to open a model.
#[derive(Clone, Debug, Default)]
pub struct ModelOptions {
    /// The engine's number in the ABI; 0 looks at the content.
    pub runtime: i32,
    /// What the bytes must hash to.
    pub sha256: Option<[u8; 32]>,
    /// The largest tensor in bytes; 0 for the default of 4 GiB.
    pub max_tensor_bytes: u64,
    pub settings: Vec<Setting>,
}

/// A parsed model.
pub struct Model {
    // dropped first: an engine may look at the bytes until then
    engine: Box<dyn EngineModel>,
    runtime: &'static dyn Runtime,
    max_tensor_bytes: u64,
    _counted: Counted,
    _source: Arc<ModelSource>,
}

impl Model {
    /// Opens the model in a file, which is mapped and must not shrink as long as the model lives.
    pub fn open_path(path: &Path, options: ModelOptions) -> Result<Arc<Model>> {
        let map = map_file(path)?;
        // with a hash the engine gets exactly the bytes that were hashed, not a file that may be another by now
        let path_for_engine = options.sha256.is_none().then(|| path.to_owned());
        let opened = Model::open(ModelSource { bytes: Box::new(map), path: path_for_engine }, options);
        opened.map_err(|error| error.at(path.display()))
    }

    /// Opens a model in memory of the host, which it keeps in use until it and its last context are gone.
    pub fn open_bytes(bytes: HostBytes, options: ModelOptions) -> Result<Arc<Model>> {
        let address = bytes.address();
        if !address.is_multiple_of(MODEL_ALIGNMENT) {
            return fail!(
                Misaligned,
                "the model's bytes are at {address:#x}, but must be at a multiple of {MODEL_ALIGNMENT}: move them, or use zb_model_open_bytes_copy"
            );
        }
        Model::open(ModelSource { bytes: Box::new(bytes), path: None }, options)
    }

    /// Opens the model in `length` bytes of a file at `offset` (0: to the end), which must stay as they are as long as the
    /// model lives.
    pub fn open_fd(fd: i32, offset: u64, length: u64, options: ModelOptions) -> Result<Arc<Model>> {
        let bytes = Model::bytes_of_fd(fd, offset, length)?;
        Model::open(ModelSource { bytes: Box::new(bytes), path: None }, options)
    }

    /// What `open_fd` reads.
    pub fn bytes_of_fd(fd: i32, offset: u64, length: u64) -> Result<HostBytes> {
        let bytes = map_bytes(fd, offset, length)?;
        if !bytes.address().is_multiple_of(MODEL_ALIGNMENT) {
            return fail!(
                Misaligned,
                "the model begins at offset {offset} of its file, but must begin at a multiple of {MODEL_ALIGNMENT}: align it there (zipalign for an Android package), or read it and use zb_model_open_bytes_copy"
            );
        }
        Ok(bytes)
    }

    /// Opens a model from a copy of `bytes`.
    pub fn open_copy(bytes: &[u8], options: ModelOptions) -> Result<Arc<Model>> {
        let copy = Buffer::copy_of(bytes, 64)?;
        Model::open(ModelSource { bytes: Box::new(copy), path: None }, options)
    }

    fn open(source: ModelSource, options: ModelOptions) -> Result<Arc<Model>> {
        if source.bytes().is_empty() {
            return fail!(ModelInvalid, "the model has no bytes");
        }
        if let Some(expected) = &options.sha256 {
            check_hash(source.bytes(), expected)?;
        }
        let runtime = choose_runtime(source.bytes(), options.runtime)?;
        if let Some((key, _)) = options.settings.first() {
            return fail!(
                NotFound,
                "option '{key}': models have no options by name; those of zb_context_create go there"
            );
        }
        let source = Arc::new(source);
        let max_tensor_bytes = match options.max_tensor_bytes {
            0 => DEFAULT_MAX_TENSOR_BYTES,
            limit => limit,
        };
        let engine = runtime.open(source.clone(), max_tensor_bytes)?;
        let model = Model { engine, runtime, max_tensor_bytes, _counted: Counted::new(Kind::Model), _source: source };
        model.check_declared_sizes()?;
        Ok(Arc::new(model))
    }

    pub fn runtime(&self) -> &'static dyn Runtime {
        self.runtime
    }

    pub fn slots(&self, side: Side) -> &[SlotInfo] {
        match side {
            Side::Input => self.engine.inputs(),
            Side::Output => self.engine.outputs(),
        }
    }

    /// The declared slot; an index out of range is `INVALID_ARGUMENT`.
    pub fn slot(&self, slot: Slot) -> Result<&SlotInfo> {
        let slots = self.slots(slot.side);
        let Some(info) = slots.get(slot.index) else {
            let count = slots.len();
            return fail!(
                InvalidArgument,
                "{slot} is out of range: the model has {count} on that side, counted from 0"
            );
        };
        Ok(info)
    }

    /// The slot of a name; the first one when the model uses a name twice.
    pub fn find(&self, side: Side, name: &str) -> Result<Slot> {
        let slots = self.slots(side);
        if let Some(index) = slots.iter().position(|info| info.name == name) {
            return Ok(Slot { side, index });
        }
        let known = joined(slots.iter().map(|info| Quoted(&info.name)), ", ");
        let side = if side == Side::Input { "input" } else { "output" };
        fail!(NotFound, "the model has no {side} named '{name}'; it has {known}")
    }

    /// "input 0 'name'", for texts.
    pub fn label(&self, slot: Slot) -> String {
        let name = self.slots(slot.side).get(slot.index).map_or("?", |info| info.name.as_str());
        text!("{slot} '{name}'")
    }

    /// Refuses a tensor over the host's limit, before an engine allocates it.
    pub fn check_limit(&self, slot: Slot, desc: &Desc) -> Result<()> {
        if desc.dtype == Dtype::String || !desc.dims.is_known() {
            return Ok(());
        }
        let size = desc.byte_size().map_err(|error| error.at(self.label(slot)))?;
        let limit = self.max_tensor_bytes;
        if size > limit {
            return fail!(
                Unsupported,
                "{} of {desc} needs {size} bytes, over the limit of {limit}: raise max_tensor_bytes in zb_model_options if that is meant",
                self.label(slot)
            );
        }
        Ok(())
    }

    pub(in crate::core) fn new_engine_context(&self, options: &ContextOptions) -> Result<Box<dyn EngineContext>> {
        let settings = options::for_engine(self.runtime, &options.settings)?;
        self.engine.new_context(&EngineOptions { threads: options.threads, settings })
    }

    fn check_declared_sizes(&self) -> Result<()> {
        for side in [Side::Input, Side::Output] {
            for (index, info) in self.slots(side).iter().enumerate() {
                self.check_limit(Slot { side, index }, &info.desc).map_err(as_damage)?;
            }
        }
        Ok(())
    }
}

/// A declared shape whose size cannot be computed is the model's fault.
fn as_damage(mut error: Error) -> Error {
    if error.status == Status::ShapeMismatch {
        error.status = Status::ModelInvalid;
    }
    error
}

fn map_file(path: &Path) -> Result<memmap2::Mmap> {
    let io = |error: std::io::Error| Error::new(Status::of_io(&error), text!("{}: {error}", path.display()));
    // asked before opening: to open a pipe is to wait for its other end
    let metadata = std::fs::metadata(path).map_err(io)?;
    if !metadata.is_file() {
        return fail!(Io, "{}: not a file", path.display());
    }
    if metadata.len() == 0 {
        return fail!(ModelInvalid, "{}: the file is empty", path.display());
    }
    HostBytes::map(&File::open(path).map_err(io)?).map_err(io)
}

fn check_hash(bytes: &[u8], expected: &[u8; 32]) -> Result<()> {
    let actual: [u8; 32] = Sha256::digest(bytes).into();
    if actual != *expected {
        return fail!(ModelInvalid, "the model's SHA-256 is {}, but {} was asked for", hex(&actual), hex(expected));
    }
    Ok(())
}

struct Hex(u8);

impl fmt::Display for Hex {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:02x}", self.0)
    }
}

/// A name for texts.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "'{}'", self.0)
    }
}

fn hex(bytes: &[u8]) -> String {
    joined(bytes.iter().map(|byte| Hex(*byte)), "")
}

/// The engine for a model: by its number, or with 0 by the content.
pub fn choose_runtime(bytes: &[u8], id: i32) -> Result<&'static dyn Runtime> {
    if id != 0 {
        let Some(runtime) = runtime::by_id(id) else {
            return fail!(InvalidArgument, "runtime {id} is not one of this build: use a ZB_RUNTIME_ constant");
        };
        if let Some(other) = runtime::ALL.iter().find(|other| other.recognises(bytes) && other.id() != id)
            && !runtime.recognises(bytes)
        {
            return fail!(
                ModelInvalid,
                "this is a model of {}, but the options ask for {}",
                other.name(),
                runtime.name()
            );
        }
        return Ok(runtime);
    }
    if let Some(runtime) = runtime::ALL.iter().find(|runtime| runtime.recognises(bytes)) {
        return Ok(*runtime);
    }
    let names = joined(runtime::ALL.iter().map(|runtime| runtime.name()), " or ");
    let head = &bytes[..bytes.len().min(8)];
    fail!(ModelInvalid, "not a model of {names}: {} bytes that begin with {}", bytes.len(), hex(head))
}
