//! Where the helper is.

use std::path::{Path, PathBuf};

use crate::base::{Result, fail};
use crate::runtime;

const VARIABLE: &str = "ZEROBIND_PREFLIGHT";
const NAME: &str = "zerobind-preflight";

/// Where an installed helper lies, seen from the folder of the library (lib, or lib/x86_64-linux-gnu), or of a program
/// with the library in itself (bin). Next to it: as build trees and bundles have it.
const PLACES: [&str; 3] = ["", "../libexec/zerobind", "../../libexec/zerobind"];

/// The helper: the one that was given, or that the environment names; else the one that belongs to this library's files.
/// Never one that the current folder or PATH has a say in.
pub fn helper(given: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = given {
        return named(path, "zb_preflight_options.helper");
    }
    if let Some(path) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        return named(Path::new(&path), VARIABLE);
    }
    let Some(folder) = runtime::own_folder() else {
        return fail!(
            Io,
            "the helper {NAME} is needed, and zerobind does not know where it lies itself: name the helper by zb_preflight_options.helper or {VARIABLE}"
        );
    };
    let places = PLACES.map(|place| folder.join(place).join(NAME));
    if let Some(found) = places.iter().find(|place| place.is_file()) {
        return Ok(found.clone());
    }
    let tried = places.map(|place| place.display().to_string()).join(", ");
    fail!(
        Io,
        "the helper {NAME}, in which models are tried, was not found. Tried: {tried}. It is installed with zerobind as libexec/zerobind/{NAME}: name it by zb_preflight_options.helper or {VARIABLE}"
    )
}

fn named(path: &Path, by: &str) -> Result<PathBuf> {
    match path.is_file() {
        // a bare name would be looked for in PATH
        true if path.components().count() == 1 => Ok(Path::new(".").join(path)),
        true => Ok(path.to_owned()),
        false => fail!(Io, "the helper {} (named by {by}) is not a file: name that of {NAME}", path.display()),
    }
}
