//! The engine's own way of running again with the same values: names are resolved once.

use std::ffi::CStr;
use std::sync::Arc;

use ort_sys::{OrtIoBinding, OrtValue};

use super::failure::{Outcome, check};
use super::owned::Owned;
use super::session::Session;
use crate::base::room::filled;

/// A binding of every input and of every output that is asked for.
///
/// Outputs are bound to values only. Bound "to a device", the engine would allocate once and then insist on that shape.
pub struct Binding {
    binding: Owned<OrtIoBinding>,
    session: Arc<Session>,
    /// The serial of the value that each slot is bound to; 0 for none. Inputs first, then the outputs asked for.
    bound: Vec<u64>,
}

/// A value to bind.
pub struct Bound<'a> {
    pub name: &'a CStr,
    pub value: *mut OrtValue,
    pub serial: u64,
}

impl Binding {
    pub fn new(session: Arc<Session>, slots: usize) -> Outcome<Binding> {
        let api = session.engine.api;
        // SAFETY: the session is alive, and stays so as long as the binding; the result is ours to release.
        let binding =
            unsafe { Owned::new(api, api.ReleaseIoBinding, |place| (api.CreateIoBinding)(session.as_ptr(), place))? };
        Ok(Binding { binding, session, bound: filled(0, slots)? })
    }

    pub fn as_ptr(&self) -> *const OrtIoBinding {
        self.binding.as_ptr()
    }

    /// Binds an input unless exactly this value is bound already. `value` must be alive.
    pub fn input(&mut self, position: usize, bound: Bound<'_>) -> Outcome<()> {
        self.bind(position, bound, self.session.engine.api.BindInput)
    }

    /// Binds an output in the same way.
    pub fn output(&mut self, position: usize, bound: Bound<'_>) -> Outcome<()> {
        self.bind(position, bound, self.session.engine.api.BindOutput)
    }

    /// Forgets everything, so that the next run binds anew.
    pub fn forget(&mut self) {
        self.bound.fill(0);
    }

    fn bind(&mut self, position: usize, bound: Bound<'_>, bind: BindFunction) -> Outcome<()> {
        if self.bound[position] == bound.serial {
            return Ok(());
        }
        self.bound[position] = 0;
        // SAFETY: the binding is alive, the name is one of the session's slots, NUL-terminated, and the value is alive;
        // the engine keeps a count of its own on what the value describes.
        check(self.session.engine.api, unsafe { bind(self.binding.as_ptr(), bound.name.as_ptr(), bound.value) })?;
        self.bound[position] = bound.serial;
        Ok(())
    }
}

type BindFunction =
    unsafe extern "system" fn(*mut OrtIoBinding, *const std::ffi::c_char, *const OrtValue) -> ort_sys::OrtStatusPtr;
