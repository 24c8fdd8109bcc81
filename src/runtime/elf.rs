//! What can be seen of a shared library before it is opened.
//!
//! The loader maps what the file's headers tell, without a look at the file's size: one that was cut short by a download or a
//! full disk ends the process with SIGBUS. And of a library for another processor some loaders only say that it is not there.

#[cfg(any(target_os = "linux", target_os = "android"))]
pub use here::check;

/// Other systems' loaders look themselves.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn check(_path: &std::path::Path) -> crate::base::Result<()> {
    Ok(())
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod here {
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::path::Path;

    use crate::base::{Error, Result, Status, fail, text};

    const IS_64_BIT: bool = size_of::<usize>() == 8;
    const LOADED: u32 = 1;

    /// Numbers of processors in such files; not all, but those that engines are built for.
    const MACHINES: &[(u16, &str, &str)] = &[
        (3, "x86", "x86 (32 bits)"),
        (40, "arm", "ARM (32 bits)"),
        (62, "x86_64", "x86-64"),
        (183, "aarch64", "ARM64"),
        (243, "riscv64", "RISC-V"),
    ];

    /// Refuses a file that is no whole library for this processor.
    pub fn check(path: &Path) -> Result<()> {
        let unreadable =
            |error: std::io::Error| Error::new(Status::RuntimeUnavailable, text!("it cannot be read: {error}"));
        // asked before opening: to open a pipe is to wait for its other end
        let metadata = std::fs::metadata(path).map_err(unreadable)?;
        if !metadata.is_file() {
            return fail!(RuntimeUnavailable, "it is not a file");
        }
        let library = Library { file: File::open(path).map_err(unreadable)?, size: metadata.len() };
        library.check_kind()?;
        library.check_length()
    }

    struct Library {
        file: File,
        size: u64,
    }

    impl Library {
        fn check_kind(&self) -> Result<()> {
            let magic: [u8; 4] = self.bytes(0)?;
            if magic != *b"\x7fELF" {
                return fail!(
                    RuntimeUnavailable,
                    "it is no shared library, but a file of {} bytes that begins with {:02x?}",
                    self.size,
                    magic
                );
            }
            let [class, order]: [u8; 2] = self.bytes(4)?;
            let machine = self.number::<2>(18)? as u16;
            let own = MACHINES.iter().find(|(_, arch, _)| *arch == std::env::consts::ARCH);
            let is_own = own.is_none_or(|(number, ..)| *number == machine);
            let own_order = if cfg!(target_endian = "little") { 1 } else { 2 };
            if !is_own || (class == 2) != IS_64_BIT || order != own_order {
                let name = MACHINES.iter().find(|(number, ..)| *number == machine).map(|(.., name)| *name);
                return fail!(
                    RuntimeUnavailable,
                    "it is for another processor ({}, machine {machine} of ELF) than this program ({}): take the build for this one",
                    name.unwrap_or("unknown here"),
                    own.map_or(std::env::consts::ARCH, |(.., name)| *name)
                );
            }
            Ok(())
        }

        fn check_length(&self) -> Result<()> {
            let (table, entry_size, entries) = match IS_64_BIT {
                true => (self.number::<8>(0x20)?, self.number::<2>(0x36)?, self.number::<2>(0x38)?),
                false => (self.number::<4>(0x1c)?, self.number::<2>(0x2a)?, self.number::<2>(0x2c)?),
            };
            for entry in 0..entries {
                let at = table.saturating_add(entry * entry_size);
                let kind = self.number::<4>(at)? as u32;
                let (start, length) = match IS_64_BIT {
                    true => (self.number::<8>(at.saturating_add(0x08))?, self.number::<8>(at.saturating_add(0x20))?),
                    false => (self.number::<4>(at.saturating_add(0x04))?, self.number::<4>(at.saturating_add(0x10))?),
                };
                let end = start.saturating_add(length);
                if kind == LOADED && end > self.size {
                    return fail!(
                        RuntimeUnavailable,
                        "it was cut short: it has {} bytes, and should have at least {end}: get it again",
                        self.size
                    );
                }
            }
            Ok(())
        }

        fn number<const N: usize>(&self, at: u64) -> Result<u64> {
            let mut wide = [0; 8];
            let bytes: [u8; N] = self.bytes(at)?;
            let place = if cfg!(target_endian = "little") { 0 } else { 8 - N };
            wide[place..place + N].copy_from_slice(&bytes);
            Ok(u64::from_ne_bytes(wide))
        }

        fn bytes<const N: usize>(&self, at: u64) -> Result<[u8; N]> {
            let mut bytes = [0; N];
            match self.file.read_exact_at(&mut bytes, at) {
                Ok(()) => Ok(bytes),
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                    fail!(RuntimeUnavailable, "it is no whole shared library: it has {} bytes only", self.size)
                }
                Err(error) => fail!(RuntimeUnavailable, "it cannot be read: {error}"),
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn this_program_is_whole_and_no_shorter_file_is() {
            let program = std::env::current_exe().unwrap();
            check(&program).unwrap();
            let bytes = std::fs::read(&program).unwrap();
            let file = std::env::temp_dir().join(format!("zerobind-elf-{}", std::process::id()));
            for length in [0, 3, 4, 63, 64, 200, 4096, 20_000] {
                std::fs::write(&file, &bytes[..length]).unwrap();
                let error = check(&file).unwrap_err();
                assert_eq!(error.status, Status::RuntimeUnavailable, "{length}");
                assert!(error.text().contains("bytes"), "{length}: {}", error.text());
            }
            let mut foreign = bytes;
            foreign[18] ^= 1;
            std::fs::write(&file, &foreign).unwrap();
            assert!(check(&file).unwrap_err().text().contains("another processor"));
            std::fs::remove_file(&file).unwrap();
            assert!(check(Path::new("/")).unwrap_err().text().contains("not a file"));
        }
    }
}
