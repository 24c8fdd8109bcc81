//! Owners of the engine's objects, and the calls on them.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

use super::report::Report;
use super::settings::{Settings, Xnnpack};
use super::symbols::{
    CANCELLED, CustomAllocation, OK, RawDelegate, RawInterpreter, RawModel, RawOptions, RawStatus, Symbols,
    UNRESOLVED_OPS,
};
use super::tensor::Tensor;
use crate::base::room::copied;
use crate::base::{Dims, Error, Result, Status, fail, log, text};
use crate::runtime::ModelSource;

/// A model that the engine has parsed.
pub struct ParsedModel {
    raw: NonNull<RawModel>,
    symbols: &'static Symbols,
    /// The engine may keep its address as long as the model.
    _report: Arc<Report>,
    /// The engine reads the bytes in place, as long as a model or an interpreter of it lives.
    _source: Arc<ModelSource>,
}

// SAFETY: a parsed model is only read, by the engine too; the engine counts its users atomically.
unsafe impl Send for ParsedModel {}
// SAFETY: as above.
unsafe impl Sync for ParsedModel {}

impl ParsedModel {
    pub fn parse(symbols: &'static Symbols, source: Arc<ModelSource>) -> Result<ParsedModel> {
        let report = Arc::new(Report::default());
        let (callback, user_data) = report.callback();
        let bytes = source.bytes();
        // SAFETY: the bytes stay as long as `source`, which the model keeps; the report is shared with us and kept as well.
        let raw = unsafe { (symbols.model_create)(bytes.as_ptr().cast(), bytes.len(), callback, user_data) };
        match NonNull::new(raw) {
            Some(raw) => Ok(ParsedModel { raw, symbols, _report: report, _source: source }),
            None => {
                let reason = report.take("it gives no reason");
                fail!(ModelInvalid, "TFLite cannot parse the model of {} bytes: {reason}", bytes.len())
            }
        }
    }
}

impl Drop for ParsedModel {
    fn drop(&mut self) {
        // SAFETY: made by `parse`, deleted once; interpreters hold this, so none is left.
        unsafe { (self.symbols.model_delete)(self.raw.as_ptr()) };
    }
}

/// Deletes the options when it goes; the interpreter has its own copy of what it needs.
struct Options(NonNull<RawOptions>, &'static Symbols);

impl Drop for Options {
    fn drop(&mut self) {
        // SAFETY: made by `Interpreter::create`, deleted once.
        unsafe { (self.1.options_delete)(self.0.as_ptr()) };
    }
}

/// A delegate, for one interpreter.
struct Delegate(NonNull<RawDelegate>, unsafe extern "C" fn(*mut RawDelegate));

impl Drop for Delegate {
    fn drop(&mut self) {
        // SAFETY: made by `new_delegate`, deleted once, after the interpreter that used it.
        unsafe { (self.1)(self.0.as_ptr()) };
    }
}

/// An interpreter with all that has to outlive it. Fields are dropped in this order, after the interpreter itself.
pub struct Interpreter {
    raw: NonNull<RawInterpreter>,
    symbols: &'static Symbols,
    delegate: Option<Delegate>,
    report: Arc<Report>,
    _model: Arc<ParsedModel>,
}

// SAFETY: the engine ties an interpreter to no thread; it asks only that one thread at a time uses it, which `&mut` gives.
unsafe impl Send for Interpreter {}

impl Interpreter {
    /// One that `can_cancel` looks between operators whether its run is to stop.
    pub fn create(
        symbols: &'static Symbols,
        model: Arc<ParsedModel>,
        settings: Settings,
        can_cancel: bool,
    ) -> Result<Interpreter> {
        let report = Arc::new(Report::default());
        let delegate = new_delegate(symbols, settings)?;
        // SAFETY: no preconditions.
        let Some(options) = NonNull::new(unsafe { (symbols.options_create)() }) else {
            return fail!(OutOfMemory, "TFLite could not make interpreter options");
        };
        let options = Options(options, symbols);
        let (callback, user_data) = report.callback();
        // SAFETY: the options live; the report outlives the interpreter; the delegate does too.
        let raw = unsafe {
            (symbols.options_set_reporter)(options.0.as_ptr(), callback, user_data);
            (symbols.options_set_threads)(options.0.as_ptr(), settings.threads);
            if let Some(enable) = symbols.options_enable_cancellation {
                enable(options.0.as_ptr(), can_cancel);
            }
            if let Some(delegate) = &delegate {
                (symbols.options_add_delegate)(options.0.as_ptr(), delegate.0.as_ptr());
            }
            (symbols.interpreter_create)(model.raw.as_ptr(), options.0.as_ptr())
        };
        match NonNull::new(raw) {
            Some(raw) => Ok(Interpreter { raw, symbols, delegate, report, _model: model }),
            None => Err(creation_error(&report.take("it gives no reason"), delegate.is_some())),
        }
    }

    /// What the engine found wrong while it made this interpreter all the same.
    pub fn complaint(&self) -> Option<String> {
        Some(self.report.take("")).filter(|text| !text.is_empty())
    }

    /// The engine's own object, to be compared and passed on.
    pub fn as_ptr(&self) -> *mut RawInterpreter {
        self.raw.as_ptr()
    }

    pub fn has_delegate(&self) -> bool {
        self.delegate.is_some()
    }

    /// The engine's numbers of the tensors that are the model's inputs.
    pub fn input_tensors(&self) -> Result<Vec<c_int>> {
        // SAFETY: the interpreter lives; the engine returns the array that belongs to the count.
        unsafe {
            let count = (self.symbols.input_count)(self.raw.as_ptr());
            copy_indices((self.symbols.input_indices)(self.raw.as_ptr()), count)
        }
    }

    pub fn output_tensors(&self) -> Result<Vec<c_int>> {
        // SAFETY: the interpreter lives; the engine returns the array that belongs to the count.
        unsafe {
            let count = (self.symbols.output_count)(self.raw.as_ptr());
            copy_indices((self.symbols.output_indices)(self.raw.as_ptr()), count)
        }
    }

    /// The tensor of this number, if there is one.
    pub fn tensor(&self, index: c_int) -> Option<Tensor<'_>> {
        // SAFETY: the engine checks the number and gives null for one that it does not have.
        let raw = unsafe { (self.symbols.tensor)(self.raw.as_ptr(), index) };
        // SAFETY: it stays where it is until the next planning, for which `&mut self` is needed.
        (!raw.is_null()).then(|| unsafe { Tensor::new(self.symbols, raw) })
    }

    /// Gives an input another shape. `ordinal` is the input's place among the inputs and is checked by the caller, since
    /// the engine does not.
    pub fn resize(&mut self, ordinal: usize, dims: &Dims) -> Result<()> {
        let mut small = [0 as c_int; crate::base::MAX_RANK];
        for (to, from) in small.iter_mut().zip(dims.as_slice()) {
            let Ok(dim) = c_int::try_from(*from) else {
                return fail!(Unsupported, "{dims}: TFLite's dimensions have 31 bits, {from} is too large");
            };
            *to = dim;
        }
        self.report.clear();
        // SAFETY: the interpreter lives, the ordinal is one of its inputs, and `small` holds `rank` numbers.
        let status = unsafe {
            (self.symbols.resize_input)(self.raw.as_ptr(), ordinal as i32, small.as_ptr(), dims.rank() as i32)
        };
        self.check(status, || text!("input {ordinal} cannot have the shape {dims}"))
    }

    /// Plans: the shapes of all tensors, and memory for those that have none of ours.
    pub fn allocate(&mut self) -> Result<()> {
        self.report.clear();
        // SAFETY: the interpreter lives and nobody else uses it.
        let status = unsafe { (self.symbols.allocate_tensors)(self.raw.as_ptr()) };
        self.check(status, || text!("TFLite cannot plan the model"))
    }

    /// Puts memory in the place of a tensor's own.
    ///
    /// # Safety
    /// `index` is a tensor of this interpreter. Until another allocation takes its place, no run happens in which the
    /// memory is not good for all that the tensor needs (an address that is never used is fine until then).
    pub unsafe fn set_memory(&mut self, index: c_int, memory: &CustomAllocation) -> RawStatus {
        const CHECK_ALIGNMENT: i64 = 0;
        // SAFETY: the engine does not check the number; the caller does. It copies the struct.
        unsafe { (self.symbols.set_custom_allocation)(self.raw.as_ptr(), index, memory, CHECK_ALIGNMENT) }
    }

    /// # Safety
    /// Every tensor that was given memory has memory now that is good for the run.
    #[inline]
    pub unsafe fn invoke(&mut self) -> RawStatus {
        self.report.clear();
        // SAFETY: the interpreter lives and nobody else uses it; the rest is the caller's promise.
        unsafe { (self.symbols.invoke)(self.raw.as_ptr()) }
    }

    /// An engine's status as a result, with what the engine said about it.
    #[inline]
    pub fn check(&self, status: RawStatus, what: impl FnOnce() -> String) -> Result<()> {
        if status == OK { Ok(()) } else { Err(self.failure(status, what())) }
    }

    #[cold]
    fn failure(&self, status: RawStatus, what: String) -> Error {
        let reason = self.report.take("it gives no reason");
        let code = match status {
            UNRESOLVED_OPS => Status::Unsupported,
            CANCELLED => Status::Cancelled,
            _ => Status::Runtime,
        };
        Error::new(code, text!("{what}: {reason} (TFLite status {status})"))
    }
}

impl Drop for Interpreter {
    fn drop(&mut self) {
        // SAFETY: made by `create`, deleted once, and before the delegate, the report and the model, which are fields.
        unsafe { (self.symbols.interpreter_delete)(self.raw.as_ptr()) };
    }
}

/// # Safety
/// `first` points to `count` numbers, or `count` is not positive.
unsafe fn copy_indices(first: *const c_int, count: i32) -> Result<Vec<c_int>> {
    match usize::try_from(count) {
        Ok(count) if count > 0 && !first.is_null() => {
            // SAFETY: the caller's promise.
            copied(unsafe { std::slice::from_raw_parts(first, count) })
        }
        _ => Ok(Vec::new()),
    }
}

fn creation_error(reason: &str, delegated: bool) -> Error {
    // the engine's word for an operator, or a version of one, that it has no code for
    let status = if reason.contains("find op for") { Status::Unsupported } else { Status::ModelInvalid };
    let hint = if delegated { " (with XNNPACK; the option tflite.xnnpack = \"false\" turns it off)" } else { "" };
    Error::new(status, text!("TFLite cannot make an interpreter for the model{hint}: {reason}"))
}

fn new_delegate(symbols: &'static Symbols, settings: Settings) -> Result<Option<Delegate>> {
    if settings.xnnpack == Xnnpack::Off {
        return Ok(None);
    }
    let (Some(defaults), Some(create), Some(delete)) =
        (symbols.xnnpack_defaults, symbols.xnnpack_create, symbols.xnnpack_delete)
    else {
        if settings.xnnpack == Xnnpack::On {
            return fail!(Unsupported, "this build of TFLite has no XNNPACK; leave out the option tflite.xnnpack");
        }
        log::emit(log::Level::Info, "TFLite: this build has no XNNPACK, so the plain kernels are used");
        return Ok(None);
    };
    // SAFETY: see XnnpackOptions for why a struct that may be larger than the engine's is safe to receive.
    let mut options = unsafe { defaults() };
    options.threads = settings.threads;
    // SAFETY: the options are the engine's own defaults, in memory at least as large as its struct.
    match NonNull::new(unsafe { create(&options) }) {
        Some(raw) => Ok(Some(Delegate(raw, delete))),
        None => fail!(
            Runtime,
            "TFLite could not make an XNNPACK delegate for {} threads; the option tflite.xnnpack = \"false\" does without",
            settings.threads
        ),
    }
}

/// The address that the engine holds for a tensor now; null where it has none.
pub fn address_of(interpreter: &Interpreter, index: c_int) -> *mut c_void {
    interpreter.tensor(index).map_or(std::ptr::null_mut(), Tensor::data)
}
