//! Memory that tensors lie in: ranges that the host promised, buffers of our own, maps of files.

mod buffer;
#[cfg(unix)]
mod fd;
#[cfg(unix)]
mod file_bytes;
#[cfg(unix)]
mod file_part;
mod host_bytes;
mod host_range;
#[cfg(not(unix))]
mod no_fd;
mod page;
#[cfg(unix)]
mod shared_map;
#[cfg(unix)]
mod signal;

pub use buffer::Buffer;
#[cfg(unix)]
pub use file_bytes::map_bytes;
pub use host_bytes::HostBytes;
pub use host_range::{Access, HostRange};
#[cfg(not(unix))]
pub use no_fd::{SharedMap, map_bytes};
pub use page::page_size;
#[cfg(unix)]
pub use shared_map::SharedMap;
#[cfg(unix)]
pub use signal::Signal;
