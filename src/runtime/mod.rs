//! The engines behind one set of traits, and the list of them.
//!
//! A new engine is one folder here and one line in [`ALL`]. Nothing above this module asks which engine it talks to:
//! what differs is told by [`Facts`] and [`Plan`].

#[cfg(not(all(feature = "tflite", feature = "onnxruntime")))]
mod absent;
#[cfg(all(feature = "load-dynamic", any(feature = "tflite", feature = "onnxruntime")))]
mod elf;
#[cfg(all(feature = "load-dynamic", any(feature = "tflite", feature = "onnxruntime")))]
mod find;
mod format;
#[cfg(any(
    feature = "tflite",
    feature = "onnxruntime",
    all(unix, not(any(target_os = "linux", target_os = "android")))
))]
mod library;
#[cfg(feature = "mock")]
pub mod mock;
#[cfg(any(feature = "tflite", feature = "onnxruntime"))]
mod once;
#[cfg(feature = "onnxruntime")]
mod onnxruntime;
#[cfg(any(unix, feature = "load-dynamic"))]
mod place;
#[cfg(feature = "tflite")]
mod tflite;

use std::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::room::copied;
use crate::base::{Desc, Dims, Metadata, Result, Signature, Slot, SlotFlags, SlotInfo};
use crate::memory::HostRange;

#[cfg(unix)]
pub use place::{look_beside, own_folder};

/// Every engine, in the order in which they are asked whether they know a model. One that this build was made without is
/// there too, and says so when it is asked for anything.
pub static ALL: &[&dyn Runtime] = &[
    #[cfg(feature = "tflite")]
    &tflite::Tflite,
    #[cfg(not(feature = "tflite"))]
    &absent::TFLITE,
    #[cfg(feature = "onnxruntime")]
    &onnxruntime::OnnxRuntime,
    #[cfg(not(feature = "onnxruntime"))]
    &absent::ONNXRUNTIME,
    #[cfg(feature = "mock")]
    &mock::Mock,
];

/// The engine with this number in the ABI.
pub fn by_id(id: i32) -> Option<&'static dyn Runtime> {
    ALL.iter().copied().find(|runtime| runtime.id() == id)
}

/// An engine: a library that is found once and then stays.
pub trait Runtime: Sync {
    /// Its number in the ABI.
    fn id(&self) -> i32;

    /// Its name for people.
    fn name(&self) -> &'static str;

    /// Whether these bytes look like a model of this engine. Needs no library; looks at content, never at a file name.
    fn recognises(&self, model: &[u8]) -> bool;

    /// Loads the library from `path`, or by the search order when `None`. Does nothing when it is loaded from there
    /// already; a failure leaves everything as it was, and the next call tries again.
    fn load(&self, path: Option<&Path>) -> Result<()>;

    /// What is known of the library, without loading it.
    fn info(&self) -> RuntimeInfo;

    /// Whether this engine has an option of this name (`tflite.xnnpack`). Needs no library.
    fn has_option(&self, key: &str) -> bool;

    /// Reads a model, loading the library first if need be. Damage that the engine's parser or our checks find is
    /// `MODEL_INVALID`. No tensor inside of it may need more than `most` bytes, as far as the file tells their shapes; slots
    /// are the core's to check. Plans nothing.
    fn open(&self, source: Arc<ModelSource>, most: u64) -> Result<Box<dyn EngineModel>>;
}

/// State of an engine's library. Texts live as long as the process.
#[derive(Clone, Copy, Debug, Default)]
pub struct RuntimeInfo {
    pub available: bool,
    pub version: Option<&'static CStr>,
    pub path: Option<&'static CStr>,
    /// Why it is not available.
    pub reason: Option<&'static CStr>,
}

/// Where a model is read from. The bytes neither move nor change as long as this lives.
pub struct ModelSource {
    pub bytes: Box<dyn AsRef<[u8]> + Send + Sync>,
    /// The file, when the engine may open it by itself (external data is found next to it). `None` when the engine has to
    /// use exactly `bytes`, as for a model in memory or one whose hash was checked.
    pub path: Option<PathBuf>,
}

impl ModelSource {
    pub fn bytes(&self) -> &[u8] {
        (*self.bytes).as_ref()
    }
}

/// A parsed model; immutable, shared by its contexts.
pub trait EngineModel: Send + Sync {
    /// The slots as the model declares them; -1 where a dimension is open.
    fn inputs(&self) -> &[SlotInfo];
    fn outputs(&self) -> &[SlotInfo];

    /// What the model says about itself; a key may come twice, and then the first one counts.
    fn metadata(&self) -> &[Metadata];

    /// The signatures in the order of the model; none where the format has no such thing.
    fn signatures(&self) -> &[Signature];

    /// A new execution state. Plans nothing. Unknown or bad option values are `INVALID_ARGUMENT`.
    fn new_context(&self, options: &EngineOptions) -> Result<Box<dyn EngineContext>>;
}

/// Options of a context, of the engine at hand only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineOptions {
    /// Threads that compute, the caller's included; at least 1.
    pub threads: u32,
    /// Key and value, in the order given, each key known to `has_option`.
    pub settings: Vec<(String, String)>,
}

/// What an engine asks of the memory that it is given; the same for all slots of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    pub alignment: Alignment,
    /// Bytes past the end of an input that the engine may read.
    pub input_slack: usize,
    pub rebind: Rebind,
}

/// What an address must be a multiple of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    Bytes(usize),
    /// The natural alignment of the element type.
    Element,
}

/// What a new address for a bound slot costs. The numbers are part of the ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Rebind {
    Free = 0,
    Replan = 1,
}

/// What is known once shapes are settled: one entry for each slot, in slot order.
#[derive(Debug, Default)]
pub struct Plan {
    pub inputs: Vec<PlannedSlot>,
    pub outputs: Vec<PlannedSlot>,
}

impl Plan {
    pub fn copy(&self) -> Result<Plan> {
        Ok(Plan { inputs: copied(&self.inputs)?, outputs: copied(&self.outputs)? })
    }
}

/// A slot after planning.
#[derive(Clone, Copy, Debug)]
pub struct PlannedSlot {
    /// -1 where only the run will tell (outputs).
    pub desc: Desc,
    pub flags: SlotFlags,
    /// An earlier slot, or an input, that is the same tensor inside the engine. Only that one is ever attached.
    pub twin: Option<Slot>,
    /// Why no host memory can take the place of the engine's, if so: the value can only be viewed or copied.
    pub fixed: Option<&'static CStr>,
}

/// An execution state of a model. One thread at a time uses it.
pub trait EngineContext: Send {
    fn facts(&self) -> Facts;

    /// Settles the shapes of all inputs (all dimensions known) and plans. Nothing is attached when it is called, and
    /// nothing after it. When it fails, the last plan that worked is in force again.
    fn plan(&mut self, inputs: &[Dims]) -> Result<Plan>;

    /// Puts `memory` in the place of the engine's own for a slot that is neither `fixed` nor a twin. The caller has checked
    /// type, size, alignment and slack. `desc` is known in full: for an output whose plan has a -1 it is a promise, and a
    /// run that computes another shape fails with `SHAPE_MISMATCH`, or `BUFFER_TOO_SMALL` where it is known to need more.
    ///
    /// The engine uses the memory only inside `run`, and until `detach`, another `attach` of the slot, or drop; what is to stay
    /// for one run only, until the end of that run, however it ends, as if it were detached there.
    fn attach(&mut self, slot: Slot, memory: HostRange, desc: &Desc, stay: Stay) -> Result<()>;

    /// Takes the memory of a slot away, if there is any; afterwards the engine holds no address of it that it will ever use.
    /// An output computes into the engine's own memory again; an input has to be attached before the next run.
    fn detach(&mut self, slot: Slot);

    /// How a run can be stopped from another thread; `None` when it cannot at all. Stays good after a `reset`.
    fn canceller(&self) -> Option<Arc<dyn Canceller>>;

    /// Runs on the calling thread. A run that was stopped by the canceller fails with `CANCELLED`. All inputs are attached (twins excepted). Never writes an input.
    fn run(&mut self) -> Result<()>;

    /// Runs with memory for this run only. The loans are for slots that differ, with nothing attached, and each is as the plan
    /// has it (`attach` says what is checked). What an engine touches depends on it, so the caller has to keep to it.
    fn run_lent(&mut self, loans: &[Loan]) -> Result<()>;

    /// Drops all state that the engine keeps from run to run, as if the context were new. `inputs` are the shapes of the last
    /// plan. What is attached may stay attached for the call.
    ///
    /// `None`: the engine keeps no state, and nothing changed. A plan: that one is in force now, of those shapes, and nothing
    /// is attached any more. When it fails, nothing changed.
    fn reset(&mut self, inputs: &[Dims]) -> Result<Option<Plan>>;

    /// The value of an output after a successful run: what is attached, or the engine's memory. Good until the next `plan`,
    /// `attach` or `run`, or the `detach` of that slot; other slots may be detached meanwhile.
    fn output(&mut self, slot: Slot) -> Result<OutputView>;

    /// The address that the engine itself gives for the tensor of a slot; null where there is none. Where the last run had
    /// memory for that run only, its address, until something else is attached, detached or planned.
    fn engine_address(&mut self, slot: Slot) -> *const c_void;
}

/// `EngineContext::run_lent`, one step after the other; `attach` is for one run.
pub fn run_attached<E: EngineContext>(
    engine: &mut E,
    loans: &[Loan],
    attach: impl Fn(&mut E, &Loan) -> Result<()>,
) -> Result<()> {
    for (number, loan) in loans.iter().enumerate() {
        if let Err(error) = attach(engine, loan) {
            loans[..number].iter().for_each(|given| engine.detach(given.slot));
            return Err(error);
        }
    }
    engine.run()
}

/// Stops a run of a context on another thread.
pub trait Canceller: Send + Sync {
    /// Makes the run in progress end as soon as the engine can. There is one, or one is about to start, or has just ended;
    /// no other one starts during the call, but the context may be changed or go. Called again where a first time had no effect.
    fn cancel(&self);

    /// Takes that back, before the next run calls the engine.
    fn clear(&self);
}

/// Memory for a slot for one run.
#[derive(Clone, Copy, Debug)]
pub struct Loan {
    pub slot: Slot,
    pub memory: HostRange,
}

/// How long attached memory is meant to stay, so that an engine can prepare what pays only with repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// A binding: for many runs.
    Sticky,
    /// A loan: gone after the next run.
    OneRun,
}

/// An output where the engine left it.
#[derive(Clone, Copy, Debug)]
pub struct OutputView {
    /// Read-only.
    pub memory: HostRange,
    pub desc: Desc,
}
