//! Memory that may be refused.
//!
//! What grows with dimensions, counts or the size of a model is allocated by what is here, so that too little memory is an
//! error of the call and not the end of the process. Things of a small and fixed size are allocated as everywhere in Rust.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};
use std::fmt::{self, Write};
use std::hash::Hash;

use super::error::{Error, Result, Status};

/// How its text begins.
pub const NO_MEMORY: &str = "no memory for ";

/// The error of a call for which there is not enough memory.
#[cold]
pub fn no_room(bytes: usize) -> Error {
    Error::new(Status::OutOfMemory, text!("{NO_MEMORY}{bytes} bytes: free some, or ask for less"))
}

/// Makes room for so many more.
pub fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<()> {
    list.try_reserve(more).map_err(|_| no_room(more.saturating_mul(size_of::<T>())))
}

/// Room for one more. It is needed seldom, and would be many times in the library if it was part of its callers.
#[cold]
#[inline(never)]
fn grow<T>(list: &mut Vec<T>) -> Result<()> {
    reserve(list, 1)
}

/// As `Vec::push`.
#[inline]
pub fn push<T>(list: &mut Vec<T>, value: T) -> Result<()> {
    if list.len() == list.capacity() {
        grow(list)?;
    }
    list.push(value);
    Ok(())
}

/// A list with room for exactly so many.
pub fn list<T>(count: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(count).map_err(|_| no_room(count.saturating_mul(size_of::<T>())))?;
    Ok(list)
}

/// As `vec![value; count]`.
pub fn filled<T: Copy>(value: T, count: usize) -> Result<Vec<T>> {
    let mut all = list(count)?;
    all.resize(count, value);
    Ok(all)
}

/// As `to_vec`.
pub fn copied<T: Copy>(from: &[T]) -> Result<Vec<T>> {
    let mut all = list(from.len())?;
    all.extend_from_slice(from);
    Ok(all)
}

/// As `to_owned`.
pub fn owned(text: &str) -> Result<String> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len()).map_err(|_| no_room(text.len()))?;
    copy.push_str(text);
    Ok(copy)
}

/// As `Box::new`, for what can be done without.
pub fn boxed<T>(value: T) -> Option<Box<[T; 1]>> {
    let mut one = Vec::new();
    // without an error for its failure: errors need this
    one.try_reserve_exact(1).ok()?;
    one.push(value);
    one.into_boxed_slice().try_into().ok()
}

/// As `collect`.
pub trait Gather: Iterator + Sized {
    /// All items.
    fn gather(self) -> Result<Vec<Self::Item>> {
        self.map(Ok).gather_all()
    }

    /// All items, or the first error.
    fn gather_all<T>(mut self) -> Result<Vec<T>>
    where
        Self: Iterator<Item = Result<T>>,
    {
        let mut all = list(self.size_hint().0)?;
        self.try_for_each(|item| push(&mut all, item?))?;
        Ok(all)
    }
}

impl<I: Iterator> Gather for I {}

/// For readers that give nothing where they cannot read on: notes that this was for want of memory.
#[derive(Default)]
pub struct Shortage(Cell<bool>);

impl Shortage {
    fn note<T>(&self, result: Result<T>) -> Option<T> {
        result.inspect_err(|_| self.0.set(true)).ok()
    }

    pub fn push<T>(&self, list: &mut Vec<T>, value: T) -> Option<()> {
        self.note(push(list, value))
    }

    pub fn copied<T: Copy>(&self, from: &[T]) -> Option<Vec<T>> {
        self.note(copied(from))
    }

    /// All items.
    pub fn gather<T>(&self, items: impl Iterator<Item = T>) -> Option<Vec<T>> {
        self.note(items.gather())
    }

    /// All items; nothing if one of them is nothing.
    pub fn gather_all<T>(&self, items: impl Iterator<Item = Option<T>>) -> Option<Vec<T>> {
        let mut all = self.note(list(items.size_hint().0))?;
        for item in items {
            self.push(&mut all, item?)?;
        }
        Some(all)
    }

    /// A map with room for so many.
    pub fn map<K: Eq + Hash, V>(&self, count: usize) -> Option<HashMap<K, V>> {
        let mut map = HashMap::new();
        self.note(map.try_reserve(count).map_err(|_| no_room(count.saturating_mul(size_of::<(K, V)>()))))?;
        Some(map)
    }

    pub fn insert<T: Eq + Hash>(&self, set: &mut HashSet<T>, value: T) -> Option<()> {
        self.note(set.try_reserve(1).map_err(|_| no_room(size_of::<T>())))?;
        set.insert(value);
        Some(())
    }

    /// As `HashMap::insert`.
    pub fn put<K: Eq + Hash, V>(&self, map: &mut HashMap<K, V>, key: K, value: V) -> Option<()> {
        self.note(map.try_reserve(1).map_err(|_| no_room(size_of::<(K, V)>())))?;
        map.insert(key, value);
        Some(())
    }

    /// What was read, unless memory was short.
    pub fn check<T>(&self, read: T) -> Result<T> {
        if self.0.get() {
            Err(Error::new(Status::OutOfMemory, "no memory for what is read of the model: free some"))
        } else {
            Ok(read)
        }
    }
}

/// Bytes that should be UTF-8, as they can be shown.
pub struct Lossy<'a>(pub &'a [u8]);

impl fmt::Display for Lossy<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.utf8_chunks().try_for_each(|chunk| {
            out.write_str(chunk.valid())?;
            if chunk.invalid().is_empty() { Ok(()) } else { out.write_char(char::REPLACEMENT_CHARACTER) }
        })
    }
}

impl Lossy<'_> {
    pub fn owned(&self) -> Result<String> {
        let mut text = Text::default();
        let _ = write!(text, "{self}");
        if text.is_cut { Err(no_room(self.0.len())) } else { Ok(text.letters) }
    }
}

/// A text for C; a NUL inside becomes a space.
pub fn c_text(text: &str) -> Result<CString> {
    let mut bytes = list(text.len() + 1)?;
    bytes.extend(text.bytes().map(|byte| if byte == 0 { b' ' } else { byte }));
    // with its NUL it fills its room exactly, so nothing is allocated any more
    Ok(CString::new(bytes).unwrap_or_default())
}

/// As `to_owned`.
pub fn c_copy(text: &CStr) -> Result<CString> {
    let mut bytes = list(text.count_bytes() + 1)?;
    bytes.extend_from_slice(text.to_bytes_with_nul());
    Ok(CString::from_vec_with_nul(bytes).unwrap_or_default())
}

/// A text that ends early where there is no memory for the rest: half an explanation is better than none.
#[derive(Default)]
pub struct Text {
    letters: String,
    is_cut: bool,
}

impl Text {
    pub fn finish(self) -> String {
        self.letters
    }
}

impl Write for Text {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        self.is_cut |= self.letters.try_reserve(more.len()).is_err();
        if !self.is_cut {
            self.letters.push_str(more);
        }
        Ok(())
    }
}

/// What `text!` stands for.
pub fn format(pieces: fmt::Arguments<'_>) -> String {
    let mut text = Text::default();
    let _ = text.write_fmt(pieces);
    text.letters
}

/// Several texts with something between them.
pub fn joined<T: fmt::Display>(parts: impl IntoIterator<Item = T>, between: &str) -> String {
    let mut text = Text::default();
    for (number, part) in parts.into_iter().enumerate() {
        let _ = write!(text, "{}{part}", if number == 0 { "" } else { between });
    }
    text.letters
}

/// As `format!`, but a text that there is no memory for ends early.
macro_rules! text {
    ($($text:tt)*) => {
        $crate::base::room::format(format_args!($($text)*))
    };
}
pub(crate) use text;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_an_error() {
        for error in [
            list::<u64>(usize::MAX / 4).unwrap_err(),
            filled(0u16, usize::MAX / 2).unwrap_err(),
            reserve(&mut Vec::<u8>::new(), usize::MAX).unwrap_err(),
            refused_by_the_system(),
        ] {
            assert_eq!(error.status, Status::OutOfMemory);
            assert!(error.text().contains("no memory for"), "{}", error.text());
        }
    }

    /// Of two lists that are half the address space each: with 32 bits one may be had, never both, since the program is in it too.
    /// They are not filled, so none of it has to be there as memory.
    fn refused_by_the_system() -> Error {
        let halves = [(); 2].map(|()| list::<u8>(isize::MAX as usize));
        halves.into_iter().find_map(Result::err).unwrap()
    }

    #[test]
    fn the_same_as_the_standard_library_gives() {
        assert_eq!((0..9).gather().unwrap(), (0..9).collect::<Vec<_>>());
        let parity = |number: u32| if number < 9 { Ok(number) } else { Err(no_room(1)) };
        assert_eq!((0..9).map(parity).gather_all().unwrap().len(), 9);
        assert!((0..10).map(parity).gather_all().is_err());
        assert_eq!((copied(&[1, 2]).unwrap(), filled(7, 2).unwrap()), (vec![1, 2], vec![7, 7]));
        for bytes in [&b"plain"[..], b"", b"\xff", b"a\xe2\x82", "größer\0".as_bytes(), b"\xf0\x9f\xffx"] {
            assert_eq!(Lossy(bytes).owned().unwrap(), String::from_utf8_lossy(bytes));
        }
        assert_eq!(c_text("a\0b").unwrap().as_c_str(), c"a b");
        assert_eq!(c_copy(c"ab").unwrap().as_c_str(), c"ab");
        assert_eq!(text!("{}-{:02x}", "a", 7), "a-07");
        assert_eq!(joined(["a", "b"], ", "), "a, b");
        assert_eq!(owned("abc").unwrap(), "abc");
    }
}
