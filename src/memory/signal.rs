//! Descriptors that become readable once, for poll and its like.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

/// The end that is kept; what is given away may be closed at any time, which takes nothing from it.
pub struct Signal {
    end: File,
    /// Where the ends are those of a pipe: as long as somebody could read, a write does not raise SIGPIPE.
    _reader: Option<OwnedFd>,
}

impl Signal {
    /// Both ends.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn new() -> io::Result<(Signal, OwnedFd)> {
        use std::os::fd::FromRawFd;
        // a counter; unlike a pipe it does not become readable again when the end that wrote is closed
        // SAFETY: takes numbers only.
        let number = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: made just now, and nobody else knows it.
        let given = unsafe { OwnedFd::from_raw_fd(number) };
        Ok((Signal { end: File::from(given.try_clone()?), _reader: None }, given))
    }

    /// Both ends.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub fn new() -> io::Result<(Signal, OwnedFd)> {
        let (reader, writer) = io::pipe()?;
        let given = OwnedFd::from(reader);
        let reader = given.try_clone()?;
        Ok((Signal { end: File::from(OwnedFd::from(writer)), _reader: Some(reader) }, given))
    }

    /// Makes the other end readable.
    pub fn give(mut self) {
        // it takes as much as this, always
        let _ = self.end.write_all(&1u64.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn it_can_be_read_when_it_was_given() {
        let (signal, other) = Signal::new().unwrap();
        signal.give();
        let mut bytes = [0; 8];
        assert_eq!(File::from(other).read(&mut bytes).unwrap(), 8);
        assert_eq!(u64::from_ne_bytes(bytes), 1);
    }

    #[test]
    fn nobody_has_to_listen() {
        let (signal, other) = Signal::new().unwrap();
        drop(other);
        signal.give();
    }
}
