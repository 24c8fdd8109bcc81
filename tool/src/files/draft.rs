//! A file in the making: nobody sees it before it is whole, and nothing of it stays if the program ends before.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::{Target, sys};
use crate::failure::{Failure, Result};

pub struct Draft {
    file: File,
    target: Target,
    /// Its name until it is published, where the file system has no files without one.
    name: Option<PathBuf>,
}

impl Draft {
    /// An empty file.
    pub fn new(target: Target) -> Result<Draft> {
        let folder = folder(&target.path);
        match sys::unnamed_file(folder) {
            Ok(file) => Ok(Draft { file, target, name: None }),
            Err(_) => Draft::named(target),
        }
    }

    /// Where there are no files without a name, it has one that is removed with it. That does not outlive a crash.
    fn named(target: Target) -> Result<Draft> {
        let name = temporary_name(&target.path);
        match OpenOptions::new().read(true).write(true).create_new(true).mode(0o666).open(&name) {
            Ok(file) => Ok(Draft { file, target, name: Some(name) }),
            Err(error) => Err(Failure::file(&target.shown, "cannot be written", &error)),
        }
    }

    pub fn shown(&self) -> &Path {
        &self.target.shown
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.write_all(bytes);
        written.map_err(|error| Failure::file(&self.target.shown, "cannot be written", &error))
    }

    /// Makes it `length` bytes long, all of them on the disk's account: a map of bytes that the disk has no room for ends
    /// the program when they are written.
    pub fn reserve(&mut self, length: u64) -> Result<()> {
        let reserved = sys::reserve(&self.file, length);
        reserved.map_err(|error| Failure::file(&self.target.shown, "there is no room for it", &error))
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Gives it its name, in place of any file that has it, and whose rights it takes over.
    pub fn publish(mut self) -> Result<()> {
        let published = self.take_rights().and_then(|()| self.name_it());
        published.map_err(|error| Failure::file(&self.target.shown, "cannot be put in its place", &error))
    }

    /// Whoever could not read the old file cannot read the new one. (Set-uid and the like are not for data.)
    fn take_rights(&self) -> std::io::Result<()> {
        match fs::metadata(&self.target.path) {
            Ok(old) => self.file.set_permissions(Permissions::from_mode(old.mode() & 0o777)),
            Err(_) => Ok(()),
        }
    }

    fn name_it(&mut self) -> std::io::Result<()> {
        if self.name.is_none() {
            match sys::give_name(&self.file, &self.target.path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                done => return done,
            }
            // a name can be moved onto another, and only then is it replaced in one step
            let name = temporary_name(&self.target.path);
            sys::give_name(&self.file, &name)?;
            self.name = Some(name);
        }
        if let Some(name) = &self.name {
            fs::rename(name, &self.target.path)?;
        }
        self.name = None;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // nothing more can be done
            let _ = fs::remove_file(name);
        }
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// A name next to the target that nothing else has: it is short, since the target's may be as long as names can be.
fn temporary_name(target: &Path) -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    folder(target).join(format!(".zerobind-{}-{number}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("zerobind-draft-{name}-{}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Folder(path)
        }

        fn target(&self) -> Target {
            Target::new(&self.0.join("result")).unwrap()
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    type Make = fn(Target) -> Result<Draft>;

    #[test]
    fn it_appears_whole() {
        for (name, make) in [("unnamed", Draft::new as Make), ("named", Draft::named as Make)] {
            let folder = Folder::new(&format!("whole-{name}"));
            let mut draft = make(folder.target()).unwrap();
            draft.write(b"abc").unwrap();
            assert!(!folder.names().contains(&"result".to_owned()));
            draft.publish().unwrap();
            assert_eq!(folder.names(), ["result"], "{name}");
            assert_eq!(fs::read(folder.0.join("result")).unwrap(), b"abc");
        }
    }

    #[test]
    fn it_takes_the_place_of_another() {
        for (name, make) in [("unnamed", Draft::new as Make), ("named", Draft::named as Make)] {
            let folder = Folder::new(&format!("place-{name}"));
            fs::write(folder.0.join("result"), b"old and longer").unwrap();
            let mut draft = make(folder.target()).unwrap();
            draft.write(b"new").unwrap();
            assert_eq!(fs::read(folder.0.join("result")).unwrap(), b"old and longer");
            draft.publish().unwrap();
            assert_eq!(fs::read(folder.0.join("result")).unwrap(), b"new", "{name}");
            assert_eq!(folder.names(), ["result"]);
        }
    }

    #[test]
    fn it_takes_over_the_rights() {
        for (name, make) in [("unnamed", Draft::new as Make), ("named", Draft::named as Make)] {
            for mode in [0o600, 0o640, 0o666, 0o444] {
                let folder = Folder::new(&format!("rights-{name}-{mode:o}"));
                let path = folder.0.join("result");
                fs::write(&path, b"old").unwrap();
                fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
                make(folder.target()).unwrap().publish().unwrap();
                assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode, "{name}");
            }
        }
    }

    #[test]
    fn nothing_stays_of_one_that_is_given_up() {
        for (name, make) in [("unnamed", Draft::new as Make), ("named", Draft::named as Make)] {
            let folder = Folder::new(&format!("nothing-{name}"));
            let mut draft = make(folder.target()).unwrap();
            draft.reserve(4096).unwrap();
            drop(draft);
            assert!(folder.names().is_empty(), "{name}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn room_is_taken_before_it_is_written() {
        let folder = Folder::new("room");
        let mut draft = Draft::new(folder.target()).unwrap();
        draft.reserve(1 << 20).unwrap();
        let metadata = draft.file.metadata().unwrap();
        assert_eq!(metadata.len(), 1 << 20);
        assert!(metadata.blocks() * 512 >= 1 << 20, "only {} blocks", metadata.blocks());
    }

    #[test]
    fn a_name_that_cannot_be_taken_leaves_nothing() {
        for (name, make) in [("unnamed", Draft::new as Make), ("named", Draft::named as Make)] {
            let folder = Folder::new(&format!("taken-{name}"));
            let draft = make(folder.target()).unwrap();
            fs::create_dir(folder.0.join("result")).unwrap();
            assert!(draft.publish().is_err());
            assert_eq!(folder.names(), ["result"], "{name}");
        }
    }
}
