//! Names of files that are to be written, and whether two names are one file.

use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::failure::{Exit, Failure, Result};

/// Which file it is, by whatever name.
#[derive(Debug, PartialEq, Eq)]
pub enum Identity {
    Existing { device: u64, inode: u64 },
    New(PathBuf),
}

impl Identity {
    /// Of a file that is there; `None` if it is not.
    pub fn of(path: &Path) -> Option<Identity> {
        fs::metadata(path).ok().map(|metadata| Identity::from(&metadata))
    }
}

impl From<&Metadata> for Identity {
    fn from(metadata: &Metadata) -> Identity {
        Identity::Existing { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// The place of a file that is to be written, or replaced.
#[derive(Debug)]
pub struct Target {
    /// As it was given.
    pub shown: PathBuf,
    /// An existing folder and a name; not a link.
    pub path: PathBuf,
    pub identity: Identity,
}

impl Target {
    pub fn new(shown: &Path) -> Result<Target> {
        let refused = |what: &str| Failure::new(Exit::Files, format!("{}: {what}", shown.display()));
        let name = shown.file_name().ok_or_else(|| refused("names no file to write"))?;
        // a path drops the last '/' when it is asked for its name
        if shown.as_os_str().as_bytes().ends_with(b"/") {
            return Err(refused("names a folder, not a file to write"));
        }
        let folder = shown.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder
            .canonicalize()
            .map_err(|error| Failure::file(shown, "cannot be written, there is no such folder", &error))?;
        let path = folder.join(name);
        match fs::metadata(shown) {
            Ok(metadata) if metadata.is_file() => {
                // of a link, what it leads to is replaced
                let path = path.canonicalize().unwrap_or(path);
                Ok(Target { shown: shown.to_owned(), identity: Identity::from(&metadata), path })
            }
            Ok(_) => Err(refused("is there and is not an ordinary file, so it cannot be replaced by one")),
            Err(_) => Ok(Target { shown: shown.to_owned(), identity: Identity::New(path.clone()), path }),
        }
    }

    /// Refuses a file that something else is read from or written to; `others` are told by name.
    pub fn check_alone<'a>(&self, others: impl IntoIterator<Item = (&'a str, &'a Identity)>) -> Result<()> {
        for (name, identity) in others {
            if *identity == self.identity {
                let text = format!("{}: is also {name}: write to another file", self.shown.display());
                return Err(Failure::usage(text));
            }
        }
        Ok(())
    }
}
