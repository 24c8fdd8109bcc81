//! A session of the engine: a model that it has read and prepared.

use std::sync::Arc;

use ort_sys::OrtSession;

use super::failure::{Failure, Outcome};
use super::load::Engine;
use super::options::Settings;
use super::owned::Owned;
use crate::base::Gather;
use crate::runtime::ModelSource;

/// A session. The engine lets any number of threads run one at a time, each with values of its own.
pub struct Session {
    pub engine: &'static Engine,
    session: Owned<OrtSession>,
    /// Some settings make the engine use the bytes of the model in place, so they stay as long as it.
    _source: Arc<ModelSource>,
}

// SAFETY: the engine documents that a session can be run from several threads at once; nothing else changes it.
unsafe impl Sync for Session {}

impl Session {
    /// Reads the model from its file when the engine may (weights in other files are found next to it), else from its bytes.
    pub fn open(engine: &'static Engine, source: &Arc<ModelSource>, settings: &Settings) -> Outcome<Session> {
        let (api, env) = (engine.api, engine.env());
        let options = settings.to_engine(api)?;
        let path = source.path.as_deref().map(c_path).transpose()?;
        let bytes = source.bytes();
        // SAFETY: environment and options are alive; the path is NUL-terminated, and the bytes are as long as said and
        // stay with the session. The result is ours to release.
        let session = unsafe {
            Owned::new(api, api.ReleaseSession, |place| match &path {
                Some(path) => (api.CreateSession)(env, path.as_ptr(), options.as_ptr(), place),
                None => {
                    let (data, size) = (bytes.as_ptr().cast(), bytes.len());
                    (api.CreateSessionFromArray)(env, data, size, options.as_ptr(), place)
                }
            })?
        };
        Ok(Session { engine, session, _source: source.clone() })
    }

    pub fn as_ptr(&self) -> *mut OrtSession {
        self.session.as_ptr()
    }
}

/// The path in the characters of the platform, NUL-terminated.
fn c_path(path: &std::path::Path) -> Outcome<Vec<ort_sys::os_char>> {
    #[cfg(windows)]
    let letters = std::os::windows::ffi::OsStrExt::encode_wide(path.as_os_str());
    #[cfg(not(windows))]
    let letters = path.as_os_str().as_encoded_bytes().iter().map(|byte| *byte as ort_sys::os_char);
    let letters = letters.chain([0]).gather()?;
    if letters.iter().position(|letter| *letter == 0) != Some(letters.len() - 1) {
        return Err(Failure::ours("the path of the model contains a NUL"));
    }
    Ok(letters)
}
