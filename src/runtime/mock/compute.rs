//! The arithmetic of the mock, on the memory that it was given.

use crate::base::Dtype;
use crate::memory::{Access, HostRange};

/// Reads element by element, so that it touches exactly what it says.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    memory: HostRange,
    /// Bytes of one element; types under a byte are treated as bytes.
    width: usize,
    is_f32: bool,
}

impl Elements {
    pub fn new(memory: HostRange, dtype: Dtype) -> Elements {
        Elements { memory, width: (dtype.bits() as usize / 8).max(1), is_f32: dtype == Dtype::F32 }
    }

    pub fn count(&self) -> usize {
        self.memory.size() / self.width
    }

    pub fn start(&self) -> *mut u8 {
        self.memory.data().cast()
    }

    /// The place behind the last byte.
    pub fn end(&self) -> *mut u8 {
        self.start().wrapping_add(self.memory.size())
    }

    /// The bytes as they are now.
    pub fn copy(&self) -> Vec<u8> {
        let bytes = self.memory.data().cast::<u8>();
        // SAFETY: inside the range, which is readable during a run.
        (0..self.memory.size()).map(|index| unsafe { bytes.wrapping_add(index).read() }).collect()
    }

    pub fn get(&self, index: usize) -> f32 {
        assert!(index < self.count());
        let place = self.memory.data().cast::<u8>().wrapping_add(index * self.width);
        if self.is_f32 {
            // SAFETY: inside the range, which is readable during a run.
            unsafe { place.cast::<f32>().read_unaligned() }
        } else {
            // SAFETY: as above; of other types the first byte stands for the whole.
            f32::from(unsafe { place.read() })
        }
    }

    pub fn set(&self, index: usize, value: f32) {
        assert!(index < self.count() && self.memory.access() == Access::ReadWrite);
        let place = self.memory.data().cast::<u8>().wrapping_add(index * self.width);
        if self.is_f32 {
            // SAFETY: inside the range, which is writable during a run.
            unsafe { place.cast::<f32>().write_unaligned(value) };
        } else {
            let mut bytes = [0u8; 16];
            bytes[0] = value as u8;
            // SAFETY: as above; no element is wider than 16 bytes.
            unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), self.width) };
        }
    }
}

/// Every element of `output` becomes the sum of those of the inputs; shorter ones start again.
pub fn sum(inputs: &[Elements], output: Elements, mut after_each: impl FnMut()) {
    for index in 0..output.count() {
        let terms = inputs.iter().filter(|input| input.count() > 0).map(|input| input.get(index % input.count()));
        output.set(index, terms.sum());
        after_each();
    }
}

/// The elements that are not zero.
pub fn hits(input: Elements) -> Vec<f32> {
    (0..input.count()).map(|index| input.get(index)).filter(|value| *value != 0.0).collect()
}
