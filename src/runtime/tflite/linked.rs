//! The engine that is linked with zerobind, by way of the crate `tflitec`, whose build script finds the library.
//!
//! `tflitec` keeps its interpreter to itself, so all that is used of it beside the linking is the version.

use std::ffi::c_void;
use std::path::{Path, PathBuf};

use super::load::{Engine, check_version};
use super::symbols::Symbols;
use crate::base::Result;
use crate::runtime::library::{file_of, tell_linked};
use crate::runtime::once::{Loaded, LoadedOnce, Origin};
use crate::runtime::{RuntimeInfo, format};

pub fn info(engine: &LoadedOnce<Engine>) -> RuntimeInfo {
    engine.info_of_linked(|| origin(&Symbols::linked()))
}

/// There is one engine to be had, whatever path is given; that it is the same file is checked by the caller.
pub fn start(_path: Option<&Path>) -> Result<Loaded<Engine>> {
    let symbols = Symbols::linked();
    let origin = origin(&symbols)?;
    tell_linked(format::TFLITE.name, &file(&symbols));
    Ok(Loaded { origin, engine: Engine { symbols } })
}

fn origin(symbols: &Symbols) -> Result<Origin> {
    let version = zerobind_linked::tflite_version();
    check_version(version)?;
    Ok(Origin::new(version, &file(symbols)))
}

fn file(symbols: &Symbols) -> PathBuf {
    file_of(symbols.invoke as *const c_void).unwrap_or_else(|| PathBuf::from("the program itself"))
}
