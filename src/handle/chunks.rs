//! A list that grows without moving its elements, so that looking one up needs no lock.

use super::layout::Layout;
use crate::sync::{AtomicPtr, Ordering, const_fn, null_ptrs};
use std::marker::PhantomData;
use std::ptr::slice_from_raw_parts_mut;

/// Enough for every layout; the model checker pays for each.
const MOST_CHUNKS: usize = if cfg!(all(test, feature = "loom")) { 3 } else { 18 };

/// Chunk n holds 2^(first + n) elements. Chunks are freed with the list, and so never in a static.
pub struct Chunks<T, L: Layout> {
    heads: [AtomicPtr<T>; MOST_CHUNKS],
    owns: PhantomData<(T, fn() -> L)>,
}

const fn length<L: Layout>(chunk: u32) -> u32 {
    1 << (L::FIRST_CHUNK_BITS + chunk)
}

impl<T, L: Layout> Chunks<T, L> {
    const_fn! {
        pub fn new() -> Self {
            const { assert!(L::CHUNKS as usize <= MOST_CHUNKS) };
            Self { heads: null_ptrs(), owns: PhantomData }
        }
    }

    /// Any index may be asked for.
    #[inline]
    pub fn get(&self, index: u32) -> Option<&T> {
        // Counted on from the length of the first chunk, the top bit is the chunk and the rest the offset.
        let position = index.checked_add(length::<L>(0))?;
        let top = position.ilog2();
        let chunk = top - L::FIRST_CHUNK_BITS;
        // Acquire: the elements were made before their chunk was published.
        let head = self.heads.get(chunk as usize)?.load(Ordering::Acquire);
        if head.is_null() {
            return None;
        }
        let offset = (position - (1 << top)) as usize;
        // SAFETY: a published chunk has 2^top elements, the offset is below that, and it lives as long as self.
        Some(unsafe { &*head.add(offset) })
    }

    /// Publishes the given chunk and says how many elements it has. `None`: no room in the layout or no memory.
    ///
    /// Chunks are added in order, by one thread at a time.
    pub fn add(&self, chunk: u32, make: fn() -> T) -> Option<u32> {
        if chunk >= L::CHUNKS {
            return None;
        }
        let length = length::<L>(chunk);
        let mut elements = Vec::new();
        elements.try_reserve_exact(length as usize).ok()?;
        elements.extend((0..length).map(|_| make()));
        let head = Box::into_raw(elements.into_boxed_slice()).cast::<T>();
        self.heads[chunk as usize].store(head, Ordering::Release);
        Some(length)
    }
}

impl<T, L: Layout> Drop for Chunks<T, L> {
    fn drop(&mut self) {
        for (chunk, head) in (0..).zip(&self.heads) {
            let head = head.load(Ordering::Relaxed);
            if !head.is_null() {
                let elements = slice_from_raw_parts_mut(head, length::<L>(chunk) as usize);
                // SAFETY: made by `Box::into_raw` with this length, and nobody can look it up any more.
                drop(unsafe { Box::from_raw(elements) });
            }
        }
    }
}
