//! Status codes of the ABI and the error that carries one with its text.

use std::fmt;

use super::room::{boxed, text};

macro_rules! statuses {
    ($($(#[$doc:meta])* $variant:ident = $value:literal, $name:literal;)*) => {
        /// What a call ended with. The numbers are part of the ABI and are never reused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(i32)]
        pub enum Status { $($(#[$doc])* $variant = $value,)* }

        impl Status {
            /// Every status that is not success, in the order of the ABI.
            pub const ERRORS: &'static [Status] = &[$(Status::$variant,)*];

            /// The name in the C header, NUL-terminated so that C can be given it as it is.
            pub const fn c_name(self) -> &'static std::ffi::CStr {
                match self { $(Status::$variant => $name,)* }
            }

            /// The status of a number that came from C, if there is one.
            pub fn from_code(code: i32) -> Option<Status> {
                match code { $($value => Some(Status::$variant),)* _ => None }
            }
        }
    };
}

statuses! {
    NullArgument = 1, c"ZB_ERROR_NULL_ARGUMENT";
    InvalidArgument = 2, c"ZB_ERROR_INVALID_ARGUMENT";
    InvalidHandle = 3, c"ZB_ERROR_INVALID_HANDLE";
    Busy = 4, c"ZB_ERROR_BUSY";
    NotFound = 5, c"ZB_ERROR_NOT_FOUND";
    Io = 6, c"ZB_ERROR_IO";
    RuntimeUnavailable = 7, c"ZB_ERROR_RUNTIME_UNAVAILABLE";
    ModelInvalid = 8, c"ZB_ERROR_MODEL_INVALID";
    Unsupported = 9, c"ZB_ERROR_UNSUPPORTED";
    DtypeMismatch = 10, c"ZB_ERROR_DTYPE_MISMATCH";
    ShapeMismatch = 11, c"ZB_ERROR_SHAPE_MISMATCH";
    BufferTooSmall = 12, c"ZB_ERROR_BUFFER_TOO_SMALL";
    Misaligned = 13, c"ZB_ERROR_MISALIGNED";
    Aliased = 14, c"ZB_ERROR_ALIASED";
    Unbound = 15, c"ZB_ERROR_UNBOUND";
    CopyRequired = 16, c"ZB_ERROR_COPY_REQUIRED";
    Cancelled = 17, c"ZB_ERROR_CANCELLED";
    DeadlineExceeded = 18, c"ZB_ERROR_DEADLINE_EXCEEDED";
    Destroyed = 19, c"ZB_ERROR_DESTROYED";
    Runtime = 20, c"ZB_ERROR_RUNTIME";
    OutOfMemory = 21, c"ZB_ERROR_OUT_OF_MEMORY";
    Panic = 22, c"ZB_ERROR_PANIC";
    Timeout = 23, c"ZB_ERROR_TIMEOUT";
    ReadOnly = 24, c"ZB_ERROR_READ_ONLY";
    Dependency = 25, c"ZB_ERROR_DEPENDENCY";
    QueueFull = 26, c"ZB_ERROR_QUEUE_FULL";
}

impl Status {
    /// What a failure of the system's is. Address space that cannot be had is memory like any other.
    pub fn of_io(error: &std::io::Error) -> Status {
        if error.kind() == std::io::ErrorKind::OutOfMemory { Status::OutOfMemory } else { Status::Io }
    }
}

/// A failed call: its status, and a text that names the object, what was wanted, what was given and what to do.
///
/// Two words, so that the results of calls without one travel in registers.
#[derive(Clone, Debug)]
pub struct Error {
    pub status: Status,
    /// `None` where there is none, or no memory for it.
    text: Option<Box<[String; 1]>>,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    #[cold]
    pub fn new(status: Status, text: impl Into<String>) -> Error {
        Error { status, text: boxed(text.into()) }
    }

    pub fn text(&self) -> &str {
        self.text.as_ref().map_or("", |text| &text[0])
    }

    pub fn into_text(self) -> String {
        self.text.map_or_else(String::new, |text| text.into_iter().next().unwrap_or_default())
    }

    /// The same error with another text, if there is memory for that.
    #[cold]
    pub fn with_text(mut self, text: String) -> Error {
        if let Some(place) = &mut self.text {
            place[0] = text;
        }
        self
    }

    /// The same error with the place it happened at put before its text.
    #[cold]
    pub fn at(self, place: impl fmt::Display) -> Error {
        let placed = text!("{place}: {}", self.text());
        // without memory for both, what happened matters more
        if placed.len() > self.text().len() { self.with_text(placed) } else { self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.status.c_name().to_string_lossy(), self.text())
    }
}

/// What a panic said.
pub fn panic_message(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// What `fail!` stands for. It is not a part of its callers: there are hundreds.
#[cold]
#[inline(never)]
pub fn failure(status: Status, text: fmt::Arguments<'_>) -> Error {
    Error::new(status, super::room::format(text))
}

/// `fail!(Status, "text {}", value)`: an `Err` with a formatted text.
macro_rules! fail {
    ($status:ident, $($text:tt)*) => {
        Err($crate::base::error::failure($crate::base::Status::$status, format_args!($($text)*)))
    };
}
pub(crate) use fail;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_dense_and_round_trip() {
        for (position, status) in Status::ERRORS.iter().enumerate() {
            assert_eq!(*status as i32, position as i32 + 1);
            assert_eq!(Status::from_code(*status as i32), Some(*status));
            assert!(status.c_name().to_str().unwrap().starts_with("ZB_ERROR_"));
        }
        assert_eq!(Status::from_code(0), None);
        assert_eq!(Status::from_code(27), None);
    }
}
