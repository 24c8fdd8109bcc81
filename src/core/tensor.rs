//! Tensors: typed, shaped memory that outlives its handle as long as a binding needs it.

use std::sync::Arc;

use super::count::Counted;
use super::queue::TensorLine;
use super::release::Release;
use super::usage::Usage;
use crate::base::{Desc, Dtype, Kind, Result, fail};
use crate::memory::{Access, Buffer, HostRange, SharedMap};

/// The largest alignment that an allocation may ask for: a huge page.
const MAX_ALIGNMENT: usize = 1 << 21;

/// Enough for every engine and for a cache line.
const DEFAULT_ALIGNMENT: usize = 64;

/// A typed view of memory. Immutable but for the memory's bytes and the state of who uses it.
pub struct Tensor {
    desc: Desc,
    range: HostRange,
    line: Arc<TensorLine>,
    // in this order: the object is gone from the count before the host is told that its memory is free
    _counted: Counted,
    memory: Memory,
}

/// What is dropped with the tensor.
enum Memory {
    Host { _release: Release },
    Owned { _buffer: Buffer },
    Shared(SharedMap),
}

impl Tensor {
    /// Checks that `size` bytes are what `desc` needs. Apart from [`Tensor::wrap`] so that a caller can check before
    /// ownership of the memory passes.
    ///
    /// A shape with -1 is one that only a run will tell; then `size` is the room that there is for it.
    pub fn check(desc: &Desc, size: usize, access: Access) -> Result<()> {
        if desc.dtype != Dtype::String && !desc.dims.is_known() && access == Access::ReadWrite {
            return Ok(());
        }
        let needed = desc.memory_size()?;
        if needed != size {
            return fail!(
                ShapeMismatch,
                "a tensor of {desc} is {needed} bytes, but size is {size}: give the exact size, and put what lies behind it into capacity"
            );
        }
        Ok(())
    }

    /// A tensor on memory of the host that passed [`Tensor::check`]. `release` is dropped with the tensor.
    pub fn wrap(desc: Desc, range: HostRange, release: Release) -> Arc<Tensor> {
        Arc::new(Tensor {
            desc,
            range,
            line: Arc::default(),
            _counted: Counted::new(Kind::Tensor),
            memory: Memory::Host { _release: release },
        })
    }

    /// A tensor on zeroed memory of our own; `alignment` 0 means 64.
    pub fn alloc(desc: Desc, alignment: usize) -> Result<Arc<Tensor>> {
        let alignment = if alignment == 0 { DEFAULT_ALIGNMENT } else { alignment };
        if !alignment.is_power_of_two() || alignment > MAX_ALIGNMENT {
            return fail!(
                InvalidArgument,
                "alignment {alignment}: give 0 (for {DEFAULT_ALIGNMENT}) or a power of two up to {MAX_ALIGNMENT}"
            );
        }
        let buffer = Buffer::zeroed(known_size(&desc)?, alignment)?;
        Ok(Arc::new(Tensor {
            desc,
            range: buffer.range(),
            line: Arc::default(),
            _counted: Counted::new(Kind::Tensor),
            memory: Memory::Owned { _buffer: buffer },
        }))
    }

    /// A tensor on the bytes of a file at `offset`, shared with everybody who maps it.
    pub fn map_fd(desc: Desc, fd: i32, offset: u64, access: Access) -> Result<Arc<Tensor>> {
        let map = SharedMap::new(fd, offset, known_size(&desc)?, access)?;
        Ok(Arc::new(Tensor {
            desc,
            range: map.range(),
            line: Arc::default(),
            _counted: Counted::new(Kind::Tensor),
            memory: Memory::Shared(map),
        }))
    }

    pub fn desc(&self) -> &Desc {
        &self.desc
    }

    pub fn range(&self) -> HostRange {
        self.range
    }

    /// Whether the memory can go while the tensor lives: it is that of a file that somebody can cut short.
    #[inline]
    pub(super) fn can_vanish(&self) -> bool {
        matches!(&self.memory, Memory::Shared(map) if map.can_shrink())
    }

    /// Whether the memory is there, as far as that can be known before it is touched.
    #[inline]
    pub(super) fn still_there(&self) -> Result<()> {
        match &self.memory {
            Memory::Shared(map) => map.still_there(),
            Memory::Host { .. } | Memory::Owned { .. } => Ok(()),
        }
    }

    /// The operations of queues that use it.
    pub(super) fn line(&self) -> &Arc<TensorLine> {
        &self.line
    }

    pub(super) fn usage(&self) -> &Usage {
        self.line.usage()
    }
}

/// Bytes of a tensor whose shape has to be known.
fn known_size(desc: &Desc) -> Result<usize> {
    if !desc.dims.is_known() {
        return fail!(
            ShapeMismatch,
            "{desc}: memory of a shape that is not known cannot be allocated; give all dimensions, or wrap memory of your own as room for it"
        );
    }
    desc.memory_size()
}
