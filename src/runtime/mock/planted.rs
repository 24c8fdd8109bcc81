//! Bugs on purpose, one at a time, that show whether a checker sees such bugs at all. Only in the mock, which is never part
//! of a shipped library, and only where the environment names one: ZEROBIND_PLANTED_BUG.

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::compute::Elements;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Reads the input that the run before this had, which may have been lent for that run alone.
    StaleInput,
    /// Reads a byte behind the input.
    PastEnd,
    /// Writes a byte behind the output.
    PastOutput,
    /// Loses a block of memory.
    Leak,
    /// Counts runs without an atomic.
    Race,
    /// Reads a number where none can be.
    Misaligned,
    /// Computes something else.
    WrongSum,
}

const NAMES: [(&str, Bug); 7] = [
    ("stale-input", Bug::StaleInput),
    ("past-end", Bug::PastEnd),
    ("past-output", Bug::PastOutput),
    ("leak", Bug::Leak),
    ("race", Bug::Race),
    ("misaligned", Bug::Misaligned),
    ("wrong-sum", Bug::WrongSum),
];

/// Counts of `Bug::Race`.
struct Unguarded(std::cell::UnsafeCell<u64>);
// SAFETY: not sound, and not meant to be: this is the planted race.
unsafe impl Sync for Unguarded {}
static RUNS: Unguarded = Unguarded(std::cell::UnsafeCell::new(0));

/// The one that the environment names.
fn planted() -> Option<Bug> {
    static PLANTED: OnceLock<Option<Bug>> = OnceLock::new();
    *PLANTED.get_or_init(|| {
        let name = std::env::var("ZEROBIND_PLANTED_BUG").ok()?;
        let found = NAMES.iter().find(|(known, _)| *known == name);
        Some(found.unwrap_or_else(|| panic!("there is no bug '{name}' to plant")).1)
    })
}

/// Does the planted bug, if there is one, as part of a run.
pub fn act(first_input: Option<Elements>, first_output: Option<Elements>) {
    let Some(bug) = planted() else { return };
    let input = first_input.filter(|input| input.count() > 0);
    let output = first_output.filter(|output| output.count() > 0);
    match bug {
        Bug::StaleInput => stale_input(input),
        Bug::PastEnd => input.iter().for_each(|input| read(input.end())),
        Bug::PastOutput => output.iter().for_each(|output| write(output.end())),
        Bug::Leak => std::mem::forget(std::hint::black_box(Box::new([0u8; 100]))),
        Bug::Race => {
            // SAFETY: not sound, and not meant to be: this is the planted race. Volatile, so that it is not left out.
            unsafe { RUNS.0.get().write_volatile(RUNS.0.get().read_volatile() + 1) };
        }
        Bug::Misaligned => misaligned(),
        Bug::WrongSum => output.iter().for_each(|output| output.set(0, output.get(0) + 1.0)),
    }
}

fn stale_input(input: Option<Elements>) {
    static BEFORE: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
    let now = input.map_or(std::ptr::null_mut(), |input| input.start());
    let before = BEFORE.swap(now, Ordering::Relaxed);
    if !before.is_null() {
        read(before);
    }
}

fn read(place: *mut u8) {
    // SAFETY: not sound, and not meant to be: a planted bug.
    std::hint::black_box(unsafe { place.read_volatile() });
}

fn write(place: *mut u8) {
    // SAFETY: not sound, and not meant to be: a planted bug.
    unsafe { place.write_volatile(0) };
}

/// The compiler's own check of pointers, in builds with debug assertions, ends the process.
fn misaligned() {
    let numbers = std::hint::black_box([0u64; 2]);
    let place = (&raw const numbers).cast::<u8>().wrapping_add(1).cast::<u64>().cast::<c_void>();
    // SAFETY: not sound, and not meant to be: a planted bug.
    std::hint::black_box(unsafe { *place.cast::<u64>() });
}
