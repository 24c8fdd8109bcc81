//! The engine that is linked with zerobind, the way that `ort-sys` finds the library.

use std::ffi::c_void;
use std::path::{Path, PathBuf};

use super::load::{self, Engine};
use super::symbols::Api;
use crate::base::Result;
use crate::runtime::library::{file_of, tell_linked};
use crate::runtime::once::{Loaded, LoadedOnce, Origin};
use crate::runtime::{RuntimeInfo, format};

pub fn info(engine: &LoadedOnce<Engine>) -> RuntimeInfo {
    engine.info_of_linked(|| api().map(|(api, version)| Origin::new(&version, &file(api))))
}

/// There is one engine to be had, whatever path is given; that it is the same file is checked by the caller.
pub fn start(_path: Option<&Path>) -> Result<Loaded<Engine>> {
    let (api, version) = api()?;
    let file = file(api);
    tell_linked(format::ONNXRUNTIME.name, &file);
    load::start(api, &version, &file)
}

fn api() -> Result<(Api, String)> {
    // SAFETY: it takes nothing, and what is linked is never unloaded.
    unsafe { Api::of(ort_sys::OrtGetApiBase()) }
}

fn file(api: Api) -> PathBuf {
    file_of(api.CreateSession as *const c_void).unwrap_or_else(|| PathBuf::from("the program itself"))
}
