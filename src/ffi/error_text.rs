//! The text of the last error of each thread, and texts copied into buffers of the host.

use std::cell::RefCell;
use std::ffi::c_char;

use crate::base::{Result, fail};

thread_local! {
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps a text as this thread's last error.
pub fn keep(text: &str) {
    // while a thread ends its slot may be gone already: then there is nobody to ask for the text
    let _ = LAST.try_with(|last| {
        if let Ok(mut last) = last.try_borrow_mut() {
            last.clear();
            // without memory for all of it, as much as there is room for
            let fits = if last.try_reserve(text.len()).is_ok() { text.len() } else { last.capacity() };
            last.push_str(&text[..text.floor_char_boundary(fits)]);
        }
    });
}

/// This thread's last error, into a buffer of the host.
///
/// # Safety
/// As for [`copy_text`].
pub unsafe fn copy_last(buffer: *mut c_char, capacity: usize, needed: *mut usize) -> Result<()> {
    // SAFETY: the caller's promise; nothing in there keeps a text.
    let copied = LAST.try_with(|last| unsafe { copy_text(&last.borrow(), buffer, capacity, needed) });
    // SAFETY: as above.
    copied.unwrap_or_else(|_| unsafe { copy_text("", buffer, capacity, needed) })
}

/// Copies a text with its NUL; C would stop at one inside, which can come from a model's names, so it becomes a space. A buffer that is too short gets what fits, cut at a character; (NULL, 0) asks for the size.
///
/// # Safety
/// `buffer` is NULL or has `capacity` writable bytes; `needed` is NULL or writable.
pub unsafe fn copy_text(text: &str, buffer: *mut c_char, capacity: usize, needed: *mut usize) -> Result<()> {
    let whole = text.len() + 1;
    if !needed.is_null() {
        // SAFETY: the caller's promise.
        unsafe { needed.write(whole) };
    }
    if buffer.is_null() {
        return if capacity == 0 { Ok(()) } else { fail!(NullArgument, "buffer is NULL, but capacity is {capacity}") };
    }
    if capacity > 0 {
        let fits = text.floor_char_boundary(capacity - 1);
        // SAFETY: `fits + 1 <= capacity` bytes are writable at `buffer`.
        unsafe {
            for (place, byte) in text.bytes().take(fits).enumerate() {
                buffer.cast::<u8>().add(place).write(if byte == 0 { b' ' } else { byte });
            }
            buffer.add(fits).write(0);
        }
    }
    if capacity < whole {
        return fail!(BufferTooSmall, "the text needs {whole} bytes with its NUL, but the buffer has {capacity}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Status;

    fn copy(text: &str, capacity: usize) -> (Option<Status>, Vec<u8>, usize) {
        let mut buffer = vec![0x55u8; capacity + 4];
        let mut needed = 0;
        // SAFETY: the buffer has more than `capacity` bytes.
        let result = unsafe { copy_text(text, buffer.as_mut_ptr().cast(), capacity, &mut needed) };
        assert_eq!(&buffer[capacity..], [0x55; 4], "wrote past the end");
        buffer.truncate(capacity);
        (result.err().map(|error| error.status), buffer, needed)
    }

    #[test]
    fn a_text_for_c_has_no_nul_inside() {
        keep("tensor 'no\0such' is missing");
        let mut buffer = [0x55u8; 64];
        let mut needed = 0;
        // SAFETY: the buffer has as many bytes as said.
        unsafe { copy_last(buffer.as_mut_ptr().cast(), buffer.len(), &mut needed) }.unwrap();
        assert_eq!(buffer[..needed].iter().position(|byte| *byte == 0), Some(needed - 1));
    }

    #[test]
    fn whole_cut_and_queried() {
        assert_eq!(copy("abc", 4), (None, b"abc\0".to_vec(), 4));
        assert_eq!(copy("abc", 3), (Some(Status::BufferTooSmall), b"ab\0".to_vec(), 4));
        // "é" takes two bytes and is not cut in half
        assert_eq!(copy("aé", 3), (Some(Status::BufferTooSmall), b"a\0\x55".to_vec(), 4));
        assert_eq!(copy("abc", 0).0, Some(Status::BufferTooSmall));
        let mut needed = 0;
        // SAFETY: (NULL, 0) is a question.
        unsafe { copy_text("abc", std::ptr::null_mut(), 0, &mut needed) }.unwrap();
        assert_eq!(needed, 4);
    }
}
