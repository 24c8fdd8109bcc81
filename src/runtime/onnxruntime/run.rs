//! The two ways to run: with values given anew, or with a binding that was made once.

use std::ffi::c_char;
use std::sync::Arc;

use ort_sys::{OrtIoBinding, OrtRunOptions, OrtSession, OrtStatusPtr, OrtValue};

use super::binding::{Binding, Bound};
use super::failure::{Failure, Outcome, check};
use super::model::Slots;
use super::ports::Ports;
use super::session::Session;
use super::terminate::RunOptions;

/// What a run needs besides values, prepared so that a run allocates nothing of ours.
#[repr(C)]
pub struct Runner {
    call: Call,
    /// Keeps what is given to the engine.
    owners: Owners,
    /// If the binding has exactly the values in force.
    bound: Option<BoundRun>,
    /// Whether the last run was with the same values.
    repeats: bool,
    binding: Option<Binding>,
    /// Keeps the texts of the names.
    slots: Arc<Slots>,
}

/// What is given to the engine with values, looked up: one line of the processor's cache.
#[repr(C, align(64))]
struct Call {
    run: Run,
    session: *mut OrtSession,
    options: *const OrtRunOptions,
    input_names: *const *const c_char,
    inputs: usize,
    output_names: *const *const c_char,
    outputs: usize,
}

type Run = unsafe extern "system" fn(
    *mut OrtSession,
    *const OrtRunOptions,
    *const *const c_char,
    *const *const OrtValue,
    usize,
    *const *const c_char,
    usize,
    *mut *mut OrtValue,
) -> OrtStatusPtr;

struct Owners {
    /// Cheaper than none: for NULL the engine makes options of its own in each run.
    options: Arc<RunOptions>,
    session: Arc<Session>,
    input_names: Vec<*const c_char>,
    output_names: Vec<*const c_char>,
}

impl Owners {
    /// The objects are those of the owners.
    fn call(&self) -> Call {
        Call {
            run: self.session.engine.api.Run,
            session: self.session.as_ptr(),
            options: self.options.as_ptr(),
            input_names: self.input_names.as_ptr(),
            inputs: self.input_names.len(),
            output_names: self.output_names.as_ptr(),
            outputs: self.output_names.len(),
        }
    }
}

/// A run with the binding, looked up: the objects are those of the runner.
#[derive(Clone, Copy)]
struct BoundRun {
    call: unsafe extern "system" fn(*mut OrtSession, *const OrtRunOptions, *const OrtIoBinding) -> OrtStatusPtr,
    session: *mut OrtSession,
    options: *const OrtRunOptions,
    binding: *const OrtIoBinding,
}

impl Runner {
    pub fn new(session: Arc<Session>, slots: Arc<Slots>) -> Outcome<Runner> {
        let owners = Owners {
            options: Arc::new(RunOptions::new(session.engine.api)?),
            session,
            input_names: slots.names.input_pointers()?,
            output_names: slots.names.output_pointers()?,
        };
        Ok(Runner { call: owners.call(), owners, bound: None, repeats: false, binding: None, slots })
    }

    /// What stops a run of this context.
    pub fn options(&self) -> Arc<RunOptions> {
        self.owners.options.clone()
    }

    /// To be told of every change of values.
    pub fn changed(&mut self) {
        self.repeats = false;
        self.bound = None;
    }

    #[cfg(test)]
    pub fn is_bound(&self) -> bool {
        self.bound.is_some()
    }

    /// Runs with that binding; `None`: there is none.
    #[inline]
    pub fn run_bound(&mut self) -> Option<Outcome<()>> {
        let BoundRun { call, session, options, binding } = self.bound?;
        // SAFETY: session, options and binding are alive as long as the runner, and the binding has the values in force only,
        // whose memory is promised for the run.
        let status = unsafe { call(session, options, binding) };
        // nothing else is looked at while all is well
        if status.0.is_null() { Some(Ok(())) } else { Some(self.bound_run_failed(status)) }
    }

    #[cold]
    fn bound_run_failed(&mut self, status: OrtStatusPtr) -> Outcome<()> {
        self.forget();
        check(self.owners.session.engine.api, status)
    }

    /// Runs. Every input has a value; an output without one gets a value of the engine's, ours to release.
    ///
    /// A binding saves a tenth of the cost of a tiny model, and making it costs as much, so it is made when values that are
    /// meant to stay are used for the second time.
    pub fn run(&mut self, inputs: &mut Ports, outputs: &mut Ports) -> Outcome<()> {
        if !self.repeats {
            self.repeats = inputs.are_all_sticky() && outputs.are_all_sticky();
            return self.run_once(inputs, outputs);
        }
        self.bind(inputs, outputs)?;
        self.run_bound().unwrap_or_else(|| Err(Failure::ours("no binding was made")))
    }

    /// The same, and the next run is with other values.
    #[inline]
    pub fn run_once(&self, inputs: &mut Ports, outputs: &mut Ports) -> Outcome<()> {
        let Call { run, session, options, input_names, inputs: given, output_names, outputs: wanted } = self.call;
        // SAFETY: session, options and names are alive as long as the runner, and there are as many values as said. Each was
        // put there for what is attached, or for a loan of this call (those of a call that lends every slot are for slots that
        // differ, so none is left of an earlier one), so it is alive and its memory is promised for the run; where the value of
        // an output is null, the engine puts one of its own.
        let status = unsafe {
            let (inputs, outputs) = (inputs.values().cast_const().cast(), outputs.values());
            run(session, options, input_names, inputs, given, output_names, wanted, outputs)
        };
        if status.0.is_null() { Ok(()) } else { self.run_failed(status) }
    }

    #[cold]
    fn run_failed(&self, status: OrtStatusPtr) -> Outcome<()> {
        check(self.owners.session.engine.api, status)
    }

    fn bind(&mut self, inputs: &Ports, outputs: &Ports) -> Outcome<()> {
        if self.bound.is_some() {
            return Ok(());
        }
        if self.binding.is_none() {
            self.binding = Some(Binding::new(self.owners.session.clone(), inputs.len() + outputs.len())?);
        }
        let Some(binding) = &mut self.binding else { return Ok(()) };
        let names = &self.slots.names;
        for index in 0..inputs.len() {
            let Some(serial) = inputs.serial(index) else { continue };
            let bound = Bound { name: names.input(index), value: inputs.value(index), serial };
            binding.input(index, bound)?;
        }
        for (place, output) in names.requested().iter().enumerate() {
            let Some(serial) = outputs.serial(place) else { continue };
            let bound = Bound { name: names.output(*output), value: outputs.value(place), serial };
            binding.output(inputs.len() + place, bound)?;
        }
        self.bound = Some(BoundRun {
            call: self.owners.session.engine.api.RunWithBinding,
            session: self.owners.session.as_ptr(),
            options: self.owners.options.as_ptr(),
            binding: binding.as_ptr(),
        });
        Ok(())
    }

    /// After a failure the binding is not trusted any more.
    fn forget(&mut self) {
        self.changed();
        if let Some(binding) = &mut self.binding {
            binding.forget();
        }
    }
}
