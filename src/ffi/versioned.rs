//! Structs that carry their own size, so that old programs meet new libraries and new programs old ones.

use crate::base::{Result, fail};

/// A plain C struct whose first field is `uint32_t struct_size`.
///
/// # Safety
/// The type is `repr(C)`, begins with a `u32`, has no padding at its end, and every bit pattern is a value of it.
pub unsafe trait Versioned: Copy {
    const NAME: &'static str;
    /// The size of the first version.
    const FIRST_SIZE: usize;
}

macro_rules! versioned {
    ($($type:ident: $first:expr;)*) => {
        $(
            // SAFETY: declared `repr(C)` in layout.rs with `struct_size: u32` first, integers and raw pointers only.
            unsafe impl Versioned for super::layout::$type {
                const NAME: &'static str = stringify!($type);
                const FIRST_SIZE: usize = $first;
            }
        )*
    };
}

versioned! {
    zb_model_options: size_of::<super::layout::zb_model_options>();
    zb_context_options: size_of::<super::layout::zb_context_options>();
    zb_preflight_options: size_of::<super::layout::zb_preflight_options>();
    zb_infer_options: size_of::<super::layout::zb_infer_options>();
    zb_queue_options: size_of::<super::layout::zb_queue_options>();
    zb_runtime_info: size_of::<super::layout::zb_runtime_info>();
    zb_slot_info: size_of::<super::layout::zb_slot_info>();
    zb_requirements: size_of::<super::layout::zb_requirements>();
    zb_binding_report: size_of::<super::layout::zb_binding_report>();
    zb_context_stats: size_of::<super::layout::zb_context_stats>();
}

/// No version of a struct will ever be larger: a size beyond it is a field that nobody set.
const MOST_BYTES: usize = 4096;

fn check_size<T: Versioned>(given: usize) -> Result<()> {
    if !(T::FIRST_SIZE..=MOST_BYTES).contains(&given) {
        return fail!(
            InvalidArgument,
            "struct_size of a {} is {given}, which cannot be: set it to sizeof({}) ({} here), best by its _INIT macro",
            T::NAME,
            T::NAME,
            size_of::<T>()
        );
    }
    Ok(())
}

/// The all-zero value.
pub fn zeroed<T: Versioned>() -> T {
    // SAFETY: every bit pattern is a value, says the trait.
    unsafe { std::mem::zeroed() }
}

/// Reads an input struct; `None` for NULL. Fields that the caller's version lacks are zero.
///
/// # Safety
/// The pointer is NULL, or points to a `u32` that gives the readable bytes there.
pub unsafe fn read<T: Versioned>(pointer: *const T) -> Result<Option<T>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise; the struct may be of an older and shorter version, so only its size is read.
    let given = unsafe { pointer.cast::<u32>().read_unaligned() } as usize;
    check_size::<T>(given)?;
    let mut value = zeroed::<T>();
    let known = given.min(size_of::<T>());
    // SAFETY: `known` bytes are readable by the caller's word and writable in `value`.
    unsafe { std::ptr::copy_nonoverlapping(pointer.cast::<u8>(), (&raw mut value).cast::<u8>(), known) };
    // SAFETY: as above, for the bytes behind what is known here.
    let tail = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>().add(known), given - known) };
    if tail.iter().any(|byte| *byte != 0) {
        return fail!(
            Unsupported,
            "{} has fields set that this version of zerobind does not know: set them to zero or use a newer library",
            T::NAME
        );
    }
    Ok(Some(value))
}

/// Checks an output struct before any work is done.
///
/// # Safety
/// The pointer is NULL, or points to a `u32`.
pub unsafe fn check_out<T: Versioned>(pointer: *const T, name: &str) -> Result<()> {
    if pointer.is_null() {
        return fail!(NullArgument, "{name} is NULL");
    }
    // SAFETY: the caller's promise.
    let given = unsafe { pointer.cast::<u32>().read_unaligned() } as usize;
    check_size::<T>(given)
}

/// Writes an output struct that passed [`check_out`]: what fits, the rest of the caller's zeroed, its size kept.
///
/// # Safety
/// The pointer points to a `u32` that gives the writable bytes there.
pub unsafe fn write<T: Versioned>(pointer: *mut T, value: &T) {
    // SAFETY: the caller's promise.
    let given = unsafe { pointer.cast::<u32>().read_unaligned() };
    let size = given as usize;
    let known = size.min(size_of::<T>());
    let to = pointer.cast::<u8>();
    // SAFETY: `size` bytes are writable, `known` of them readable in `value`.
    unsafe {
        std::ptr::copy_nonoverlapping((&raw const *value).cast::<u8>(), to, known);
        std::ptr::write_bytes(to.add(known), 0, size - known);
        pointer.cast::<u32>().write_unaligned(given);
    }
}

/// Sets an input struct to its defaults for a caller whose version of it has `size` bytes.
///
/// # Safety
/// The pointer is NULL, or `size` bytes are writable there.
pub unsafe fn init<T: Versioned>(pointer: *mut T, size: usize) -> Result<()> {
    if pointer.is_null() {
        return fail!(NullArgument, "the {} to initialise is NULL", T::NAME);
    }
    check_size::<T>(size)?;
    // SAFETY: the caller's promise.
    unsafe {
        std::ptr::write_bytes(pointer.cast::<u8>(), 0, size);
        pointer.cast::<u32>().write_unaligned(size as u32);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Status;
    use crate::ffi::layout::zb_infer_options;

    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Longer {
        known: zb_infer_options,
        unknown: u64,
    }

    fn read_longer(unknown: u64) -> Result<Option<zb_infer_options>> {
        let known = zb_infer_options { struct_size: size_of::<Longer>() as u32, flags: 0, deadline_ns: 7 };
        let longer = Longer { known, unknown };
        // SAFETY: struct_size tells the size of what is behind the pointer.
        unsafe { read((&raw const longer).cast()) }
    }

    #[test]
    fn longer_structs_are_read_if_their_tail_is_zero() {
        assert_eq!(read_longer(0).unwrap().unwrap().deadline_ns, 7);
        assert_eq!(read_longer(1).err().map(|error| error.status), Some(Status::Unsupported));
    }

    #[test]
    fn shorter_than_the_first_version_is_refused() {
        let short = zb_infer_options { struct_size: 8, flags: 0, deadline_ns: 0 };
        // SAFETY: more than the 8 bytes are there.
        let error = unsafe { read(&raw const short) }.err();
        assert_eq!(error.map(|error| error.status), Some(Status::InvalidArgument));
    }

    #[test]
    fn a_size_that_nobody_set_is_refused() {
        for size in [0, 8, 4097, u32::MAX] {
            let wrong = zb_infer_options { struct_size: size, flags: 0, deadline_ns: 0 };
            // SAFETY: the size is all that is looked at.
            let read = unsafe { read(&raw const wrong) }.err();
            // SAFETY: as above.
            let out = unsafe { check_out(&raw const wrong, "wrong") }.err();
            for error in [read, out] {
                assert_eq!(error.map(|error| error.status), Some(Status::InvalidArgument), "{size}");
            }
        }
    }

    #[test]
    fn output_keeps_the_callers_size_and_zeroes_its_tail() {
        let known = zb_infer_options { struct_size: size_of::<Longer>() as u32, flags: 9, deadline_ns: 9 };
        let mut longer = Longer { known, unknown: 9 };
        let value = zb_infer_options { struct_size: 0, flags: 1, deadline_ns: 2 };
        // SAFETY: struct_size tells the size of what is behind the pointer.
        unsafe { write((&raw mut longer).cast(), &value) };
        let written = (longer.known.struct_size, longer.known.flags, longer.known.deadline_ns, longer.unknown);
        assert_eq!(written, (size_of::<Longer>() as u32, 1, 2, 0));
    }
}
