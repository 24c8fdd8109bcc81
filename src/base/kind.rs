//! Kinds of objects.

/// What a handle stands for. The numbers are part of the ABI, and of every handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Model = 1,
    Context = 2,
    Tensor = 3,
    Queue = 4,
    Event = 5,
}
