//! What the engine says about its failures.

use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use super::symbols::{Reporter, VaList};
use crate::base::log::{self, Level};
use crate::base::text;

/// As much as is worth putting into an error; older text gives way to newer.
const KEPT: usize = 2048;
/// One message; the engine's are a line or two.
const LINE: usize = 1024;

/// Collects the engine's messages. Its address is given to the engine, so it lies behind an `Arc` and outlives
/// everything that reports to it.
#[derive(Default)]
pub struct Report {
    text: Mutex<String>,
    /// Whether there is a text, to be asked before each run without a lock.
    spoken: AtomicBool,
}

impl Report {
    /// The function and the argument by which the engine reaches this.
    pub fn callback(&self) -> (Reporter, *mut c_void) {
        (report, (self as *const Report).cast_mut().cast())
    }

    /// Forgets what was said so far.
    #[inline]
    pub fn clear(&self) {
        if self.spoken.load(Ordering::Relaxed) {
            self.take("");
        }
    }

    /// What was said since the last look, or `silence` when it was nothing.
    pub fn take(&self, silence: &str) -> String {
        self.spoken.store(false, Ordering::Relaxed);
        let text = std::mem::take(&mut *self.lock());
        if text.is_empty() { silence.to_owned() } else { text }
    }

    fn add(&self, line: &str) {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if line.is_empty() {
            return;
        }
        self.spoken.store(true, Ordering::Relaxed);
        let mut text = self.lock();
        if !text.is_empty() {
            text.push_str(" / ");
        }
        text.push_str(&line);
        let excess = text.len().saturating_sub(KEPT);
        let cut = (excess..text.len()).find(|place| text.is_char_boundary(*place)).unwrap_or(0);
        text.drain(..cut);
    }

    fn lock(&self) -> MutexGuard<'_, String> {
        self.text.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Called by the engine, on whatever thread failed.
unsafe extern "C" fn report(user_data: *mut c_void, format: *const c_char, arguments: VaList) {
    // no panic may reach the engine's frames
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the engine passes its format and arguments on, both good until we return.
        let line = unsafe { format_line(format, arguments) };
        log::emit(Level::Warn, &text!("TFLite: {}", line.trim()));
        // SAFETY: `callback` gave the address of a Report, and whoever owns it keeps it until the engine's objects are gone.
        unsafe { &*user_data.cast::<Report>() }.add(&line);
    }));
}

/// The message with its arguments put in.
///
/// Rust has no stable `va_list`. On the targets named here a `va_list` parameter arrives as one pointer (an array that
/// decays, a char pointer, or the address of a copy), and a callee that expects a `va_list` takes that same pointer, so it
/// can be handed on unseen. Elsewhere the format itself is the message.
///
/// # Safety
/// `format` is a C string, and `arguments` the arguments that belong to it, not used before.
#[cfg(all(
    unix,
    any(
        target_arch = "x86_64",
        target_arch = "x86",
        target_arch = "aarch64",
        target_arch = "arm",
        target_arch = "riscv64"
    )
))]
unsafe fn format_line(format: *const c_char, arguments: VaList) -> String {
    unsafe extern "C" {
        fn vsnprintf(buffer: *mut c_char, size: usize, format: *const c_char, arguments: VaList) -> std::ffi::c_int;
    }
    let mut line = [0u8; LINE];
    // SAFETY: the buffer has the size that is told, the rest is the caller's promise; see above for the last argument.
    let length = unsafe { vsnprintf(line.as_mut_ptr().cast(), LINE, format, arguments) };
    if length < 0 {
        return "a message that could not be formatted".to_owned();
    }
    CStr::from_bytes_until_nul(&line).unwrap_or_default().to_string_lossy().into_owned()
}

/// # Safety
/// `format` is a C string.
#[cfg(not(all(
    unix,
    any(
        target_arch = "x86_64",
        target_arch = "x86",
        target_arch = "aarch64",
        target_arch = "arm",
        target_arch = "riscv64"
    )
)))]
unsafe fn format_line(format: *const c_char, _arguments: VaList) -> String {
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(format) }.to_string_lossy();
    text.chars().take(LINE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_and_the_newest_are_kept() {
        let report = Report::default();
        assert_eq!(report.take("nothing"), "nothing");
        report.add("one\n");
        report.add("  ");
        report.add("two,\n  broken");
        assert_eq!(report.take(""), "one / two, broken");
        for _ in 0..1000 {
            report.add("größer");
        }
        let text = report.take("");
        assert!(text.len() <= KEPT && text.ends_with("größer"));
    }
}
