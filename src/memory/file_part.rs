//! A part of a file, and the pages around it.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

use memmap2::MmapRaw;

use super::fd;
use super::host_range::Access;
use super::page::page_size;
use crate::base::{Result, fail, text};

/// Engines read up to 16 bytes past the end of an input; more than this is never claimed.
const SLACK: u64 = 64;

/// Bytes of a file, from `offset` to before `end`.
pub struct FilePart {
    offset: u64,
    end: u64,
}

impl FilePart {
    pub fn new(offset: u64, size: u64) -> Result<FilePart> {
        let Some(end) = offset.checked_add(size) else {
            return fail!(InvalidArgument, "{size} bytes at offset {offset}: the end does not fit in 64 bits");
        };
        Ok(FilePart { offset, end })
    }

    pub fn end(&self) -> u64 {
        self.end
    }

    /// What to say of a file that is too short.
    pub fn missing(&self, fd: i32, length: u64) -> String {
        text!(
            "the file of descriptor {fd} has {length} bytes, but {} bytes at offset {} need {}: make it longer (ftruncate), or ask for less",
            self.end - self.offset,
            self.offset,
            self.end
        )
    }

    /// Where in a file of that length the bytes end that may be read: some behind the part, as far as the last page goes.
    pub fn readable(&self, length: Option<u64>) -> u64 {
        // of what is no ordinary file nothing is known but the bytes asked for
        let Some(length) = length else { return self.end };
        let last_page_ends = length.checked_next_multiple_of(page_size() as u64).unwrap_or(length);
        self.end.saturating_add(SLACK).min(last_page_ends)
    }

    /// The shortest file that has all of the part, and a byte in every page up to `readable`.
    pub fn least_length(&self, readable: u64) -> u64 {
        let last = readable.saturating_sub(1);
        self.end.max(last - last % page_size() as u64 + 1)
    }

    /// Maps whole blocks of the file around the part; gives the address of the part too.
    pub fn map(&self, file: &File, readable: u64, access: Access) -> io::Result<(MmapRaw, *mut u8)> {
        // huge pages can only be mapped whole, and are the blocks of their files
        let block = file.metadata()?.blksize().max(page_size() as u64);
        let start = self.offset - self.offset % block;
        let end = readable.checked_next_multiple_of(block).unwrap_or(readable);
        let too_long = |_| io::Error::from_raw_os_error(libc::EOVERFLOW);
        let map = fd::map(file, start, usize::try_from(end - start).map_err(too_long)?, access)?;
        let data = map.as_mut_ptr().wrapping_add((self.offset - start) as usize);
        Ok((map, data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(offset: u64, size: u64) -> FilePart {
        FilePart::new(offset, size).unwrap()
    }

    #[test]
    fn slack_ends_with_the_last_page_of_the_file() {
        let page = page_size() as u64;
        assert_eq!(part(0, 16).readable(Some(16)), 16 + SLACK);
        assert_eq!(part(0, page).readable(Some(page)), page);
        assert_eq!(part(0, page - 8).readable(Some(page - 8)), page);
        assert_eq!(part(0, page).readable(Some(page + 1)), page + SLACK);
        assert_eq!(part(64, 16).readable(None), 80);
    }

    #[test]
    fn the_least_length_keeps_a_byte_in_every_page() {
        let page = page_size() as u64;
        assert_eq!(part(64, 16).least_length(144), 80);
        assert_eq!(part(0, page).least_length(page), page);
        // the slack reaches into a page that the tensor does not
        assert_eq!(part(0, page).least_length(page + SLACK), page + 1);
    }

    #[test]
    fn the_end_fits_in_64_bits() {
        assert!(FilePart::new(u64::MAX, 1).is_err());
        assert_eq!(part(u64::MAX, 0).end(), u64::MAX);
    }
}
