//! Memory that tensors lie in: ranges that the host promised, and buffers of our own.

mod buffer;
mod host_range;

pub use buffer::Buffer;
pub use host_range::{Access, HostRange};
