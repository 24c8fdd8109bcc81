//! The options of runs, and in them the flag that stops one from another thread.

use ort_sys::OrtRunOptions;

use super::failure::{Outcome, check};
use super::owned::Owned;
use super::symbols::Api;
use crate::runtime::Canceller;

/// The options of all runs of a context. The engine looks at the flag in them between two nodes.
pub struct RunOptions {
    raw: Owned<OrtRunOptions>,
    api: Api,
}

// SAFETY: the engine ties options to no thread.
unsafe impl Send for RunOptions {}
// SAFETY: the engine documents the flag as one to be set from another thread while a run uses the options, and it is all that
// is ever changed here.
unsafe impl Sync for RunOptions {}

impl RunOptions {
    pub fn new(api: Api) -> Outcome<RunOptions> {
        // SAFETY: the function puts new options, ours to release, in the place.
        let raw = unsafe { Owned::new(api, api.ReleaseRunOptions, |place| (api.CreateRunOptions)(place))? };
        Ok(RunOptions { raw, api })
    }

    pub fn as_ptr(&self) -> *mut OrtRunOptions {
        self.raw.as_ptr()
    }
}

impl Canceller for RunOptions {
    fn cancel(&self) {
        // SAFETY: the options are alive. The engine only sets a flag, which cannot fail.
        let _ = check(self.api, unsafe { (self.api.RunOptionsSetTerminate)(self.raw.as_ptr()) });
    }

    /// The engine would end every later run as well.
    fn clear(&self) {
        // SAFETY: as above.
        let _ = check(self.api, unsafe { (self.api.RunOptionsUnsetTerminate)(self.raw.as_ptr()) });
    }
}
