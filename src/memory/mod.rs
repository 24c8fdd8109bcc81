//! Memory that tensors lie in: ranges that the host promised, and buffers of our own.

mod buffer;
mod host_bytes;
mod host_range;
mod page;

pub use buffer::Buffer;
pub use host_bytes::HostBytes;
pub use host_range::{Access, HostRange};
pub use page::page_size;
