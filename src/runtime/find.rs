//! Finding and opening an engine's shared library.

use std::path::{Path, PathBuf};

use libloading::Library;

use super::elf;
use super::place::{folder_of_engines, has_loader};
use crate::base::{Error, Result, Status, log, text};

/// How an engine's library can be called and where the user can say where it is.
pub struct Names {
    /// The engine, for texts.
    pub engine: &'static str,
    /// The environment variable that names the file.
    pub variable: &'static str,
    /// File names, newest naming first.
    pub files: &'static [&'static str],
    /// What to do when it is nowhere.
    pub hint: &'static str,
}

/// A library that was opened, and the name by which it was found.
pub struct Found {
    pub library: Library,
    pub path: PathBuf,
}

/// Opens the library from an explicit path, or by the search order: environment, next to this library, system loader.
///
/// A place that is named (explicitly or by the environment) is the only one tried: another copy of the engine, of another
/// version, is worse than an error. Each candidate must also pass `accept`; the text of a failure tells every place tried.
pub fn open<T>(names: &Names, explicit: Option<&Path>, accept: impl Fn(&Found) -> Result<T>) -> Result<(Found, T)> {
    if !has_loader() {
        let text = text!(
            "{}'s library cannot be opened by a program without a dynamic loader (-static, -static-pie): link the program \
             without that, or take a build of zerobind with linked engines",
            names.engine
        );
        return Err(Error::new(Status::RuntimeUnavailable, text));
    }
    let mut story = Vec::new();
    for candidate in candidates(names, explicit) {
        match try_open(&candidate.path).and_then(|found| accept(&found).map(|table| (found, table))) {
            Ok(opened) => {
                log::emit(log::Level::Info, &text!("{}: using {}", names.engine, candidate.path.display()));
                return Ok(opened);
            }
            Err(error) => story.push(text!("{} ({}): {}", candidate.path.display(), candidate.origin, error.text())),
        }
    }
    let text = text!("{} cannot be used. Tried: {}. {}", names.engine, story.join("; "), names.hint);
    Err(Error::new(Status::RuntimeUnavailable, text))
}

struct Candidate {
    path: PathBuf,
    origin: String,
}

fn candidates(names: &Names, explicit: Option<&Path>) -> Vec<Candidate> {
    if let Some(path) = explicit {
        return vec![Candidate { path: path.to_owned(), origin: "the path given".to_owned() }];
    }
    if let Some(path) = std::env::var_os(names.variable).filter(|value| !value.is_empty()) {
        return vec![Candidate { path: path.into(), origin: text!("from {}", names.variable) }];
    }
    let beside = folder_of_engines().into_iter().flat_map(|folder| {
        names.files.iter().map(move |file| Candidate { path: folder.join(file), origin: "next to zerobind".to_owned() })
    });
    let system = names.files.iter().map(|file| Candidate { path: file.into(), origin: "system loader".to_owned() });
    beside.chain(system).collect()
}

fn try_open(path: &Path) -> Result<Found> {
    // the loader looks for those itself; "/" is no name
    let is_bare_name = path.parent() == Some(Path::new(""));
    if !is_bare_name && !path.exists() {
        return Err(Error::new(Status::RuntimeUnavailable, "there is no such file"));
    }
    if !is_bare_name {
        elf::check(path)?;
    }
    // SAFETY: opening a library runs its initialisers. The user named this one, or it bears the engine's name in a place
    // where the user's own linker looks.
    match unsafe { Library::new(path) } {
        Ok(library) => Ok(Found { library, path: path.to_owned() }),
        Err(error) => Err(Error::new(Status::RuntimeUnavailable, full_text(&error))),
    }
}

/// The loader's own reason is in the source of the error, not in the error itself.
fn full_text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text = text!("{text}: {source}");
        next = source.source();
    }
    text
}
