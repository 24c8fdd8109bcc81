//! Where code of this process lies on the disk, and whether the process can load more of it.
//!
//! The kernel is asked. The loader knows the program only by `argv[0]`, which is no path when the program was found through
//! PATH and is whatever its caller likes, and a library by a name that may be relative to a folder long left: engines looked
//! for beside such a name would come from folders that nobody chose.

use std::ffi::c_void;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::sync::OnceLock;

/// The folder of the file that this code is in, links followed. Never one that the current folder has a say in.
pub fn own_folder() -> Option<PathBuf> {
    let file = file_holding(own_folder as *const c_void)?;
    file.parent().filter(|folder| folder.is_absolute()).map(Path::to_owned)
}

#[cfg(unix)]
static OTHER_FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Has engines looked for next to another process's zerobind instead of next to this one. The first call counts.
#[cfg(unix)]
pub fn look_beside(folder: &Path) {
    let _ = OTHER_FOLDER.set(folder.to_owned());
}

/// Where engines may lie next to zerobind.
#[cfg(all(feature = "load-dynamic", any(feature = "tflite", feature = "onnxruntime")))]
pub fn folder_of_engines() -> Option<PathBuf> {
    #[cfg(unix)]
    if let Some(other) = OTHER_FOLDER.get() {
        return Some(other.clone());
    }
    own_folder()
}

/// The file that holds the code at an address, by its absolute path without links.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn file_holding(address: *const c_void) -> Option<PathBuf> {
    mapped_file(&std::fs::read("/proc/self/maps").ok()?, address as usize)
}

/// Elsewhere the loader's name has to do, if it is a path that does not hang on the current folder.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn file_holding(address: *const c_void) -> Option<PathBuf> {
    super::library::file_of(address).filter(|file| file.is_absolute())?.canonicalize().ok()
}

/// The file mapped at an address, from lines such as `5500-5600 r-xp 0000 08:01 77    /usr/bin/name`.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn mapped_file(maps: &[u8], address: usize) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;

    let line =
        maps.split(|byte| *byte == b'\n').find(|line| range(line).is_some_and(|range| range.contains(&address)))?;
    // five fields, then spaces, then the rest of the line
    let name = line.splitn(6, |byte| *byte == b' ').nth(5)?.trim_ascii_start();
    // the kernel writes a newline as \012, and such a name cannot be told from one that has these four letters
    let is_path = name.starts_with(b"/") && !name.windows(4).any(|letters| letters == b"\\012");
    is_path.then(|| PathBuf::from(std::ffi::OsStr::from_bytes(name)))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn range(line: &[u8]) -> Option<std::ops::Range<usize>> {
    let (start, end) = std::str::from_utf8(line.split(|byte| *byte == b' ').next()?).ok()?.split_once('-')?;
    Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
}

/// Whether the program was started by a dynamic loader. A static one can call `dlopen` too, but what it opens is not made
/// for it: engines crash in their initialisers.
///
/// Told by the program's own headers, since the kernel's account of the loader is empty where somebody calls it by name
/// (`ld.so program`).
#[cfg(all(feature = "load-dynamic", any(feature = "tflite", feature = "onnxruntime")))]
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn has_loader() -> bool {
    unsafe extern "C" fn look_at_first(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> i32 {
        // SAFETY: the C library gives a program's headers, as many as it says, for the time of the call.
        let headers = unsafe { std::slice::from_raw_parts((*info).dlpi_phdr, usize::from((*info).dlpi_phnum)) };
        // SAFETY: `found` is the variable below, which nothing else uses during the call.
        unsafe { *found.cast::<bool>() = headers.iter().any(|header| header.p_type == libc::PT_INTERP) };
        // the first is the program; no others are wanted
        1
    }
    let mut found = false;
    // SAFETY: the callback is of the type that is asked for, and `found` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(look_at_first), (&raw mut found).cast()) };
    found
}

#[cfg(all(feature = "load-dynamic", any(feature = "tflite", feature = "onnxruntime")))]
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn has_loader() -> bool {
    true
}

#[cfg(all(test, any(target_os = "linux", target_os = "android")))]
mod tests {
    use super::*;

    const MAPS: &[u8] = b"\
1000-2000 r--p 00000000 08:01 77                         /opt/a b/program
2000-3000 r-xp 00001000 08:01 77                         /opt/a b/program
3000-4000 rw-p 00000000 00:00 0 
4000-5000 r-xp 00000000 08:01 78                         (unreachable)/lib.so
5000-6000 r-xp 00000000 08:01 79                         /opt/new\\012line/lib.so
6000-7000 r-xp 00000000 00:00 0                          [vdso]
7000-8000 r-xp 00000000 08:01 80                         /opt/lib.so (deleted)
";

    #[test]
    fn the_file_is_that_of_the_range() {
        for (address, file) in [
            (0xfff, None),
            (0x1000, Some("/opt/a b/program")),
            (0x2fff, Some("/opt/a b/program")),
            (0x3000, None),
            (0x7800, Some("/opt/lib.so (deleted)")),
            (0x8000, None),
        ] {
            assert_eq!(mapped_file(MAPS, address), file.map(PathBuf::from), "{address:x}");
        }
    }

    #[test]
    fn what_is_no_path_is_none() {
        for address in [0x3800, 0x4800, 0x5800, 0x6800] {
            assert_eq!(mapped_file(MAPS, address), None, "{address:x}");
        }
        for broken in
            [&b""[..], b"1000", b"1000-", b"x-y r-xp 0 0 0 /file", b"1000-2000 r-xp", b"\xff-\xff r-xp 0 0 0 /file"]
        {
            assert_eq!(mapped_file(broken, 0x1000), None);
        }
    }

    #[test]
    fn this_program_is_where_it_is() {
        let file = file_holding(this_program_is_where_it_is as *const c_void).unwrap();
        assert_eq!(file, std::env::current_exe().unwrap().canonicalize().unwrap());
        #[cfg(all(feature = "load-dynamic", any(feature = "tflite", feature = "onnxruntime")))]
        assert!(has_loader());
        // a library: links are followed, and the loader's name for it is not asked
        let file = file_holding(libc::malloc as *const c_void).unwrap();
        assert_eq!(file, file.canonicalize().unwrap());
    }
}
