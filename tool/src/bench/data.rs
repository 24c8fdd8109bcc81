//! What inputs hold: files, zeros, or numbers that look random and are the same for the same seed.

use std::path::PathBuf;

use crate::abi::*;
use crate::failure::{Exit, Failure, Result};
use crate::files::InputFile;

pub struct Source {
    pub files: Vec<(Slot, PathBuf)>,
    pub seed: Option<u64>,
}

impl Source {
    /// The file for a slot, whose shape the context takes over.
    pub fn shape_by_file(&self, context: &mut Context, slot: Slot) -> Result<()> {
        let Some((file, info)) = self.file(context, slot)? else { return Ok(()) };
        let about = |failure: Failure| failure.about(format!("input '{}' from {}", info.name, file.path().display()));
        let desc = file.place(&info).map_err(about)?.desc;
        if desc.dtype != info.desc.dtype {
            let text = format!("the file has {desc}, but the slot takes {}", info.desc);
            return Err(about(Failure::new(Exit::Data, text)));
        }
        if desc.dims != info.desc.dims {
            context.resize(slot, &desc.dims).map_err(|error| about(error.into()))?;
        }
        Ok(())
    }

    /// Fills the memory of an input.
    pub fn fill(&self, context: &mut Context, slot: Slot) -> Result<()> {
        if let Some((file, info)) = self.file(context, slot)? {
            let placed = file.place(&info)?;
            return file.read_into(&placed, context.memory_mut(slot));
        }
        if let Some(seed) = self.seed {
            let dtype = context.slot_desc(slot)?.dtype;
            let (Slot::Input(index) | Slot::Output(index)) = slot;
            fill_random(context.memory_mut(slot), dtype, &mut Random(seed ^ u64::from(index) << 32));
        }
        Ok(())
    }

    fn file(&self, context: &Context, slot: Slot) -> Result<Option<(InputFile, SlotInfo)>> {
        let Some((_, path)) = self.files.iter().find(|(named, _)| *named == slot) else { return Ok(None) };
        Ok(Some((InputFile::open(path)?, context.slot_info(slot)?)))
    }

    /// For people and for JSON.
    pub fn title(&self) -> &'static str {
        match (self.files.is_empty(), self.seed) {
            (true, None) => "zeros",
            (true, Some(_)) => "random",
            (false, None) => "files, else zeros",
            (false, Some(_)) => "files, else random",
        }
    }
}

/// SplitMix64: the same numbers for the same seed in every version.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// 0 or more, less than 1.
    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u32 << 24) as f32
    }
}

/// Floats of 0 to 1, bytes of all values. Larger integers are 0 or 1: they are mostly indices, and these exist everywhere.
fn fill_random(memory: &mut [u8], dtype: i32, random: &mut Random) {
    match dtype {
        ZB_DTYPE_F32 | ZB_DTYPE_C64 => each(memory, || random.unit().to_le_bytes()),
        ZB_DTYPE_F64 | ZB_DTYPE_C128 => each(memory, || f64::from(random.unit()).to_le_bytes()),
        // the upper half of an f32
        ZB_DTYPE_BF16 => each(memory, || ((random.unit().to_bits() >> 16) as u16).to_le_bytes()),
        // 1 + a fraction of 10 bits, less 1 would need arithmetic: between 1 and 2 is as good
        ZB_DTYPE_F16 => each(memory, || (0x3c00 | (random.next() >> 54) as u16).to_le_bytes()),
        // likewise: exponent of 1, any fraction
        ZB_DTYPE_F8E4M3FN => each(memory, || [0x38 | (random.next() >> 61) as u8]),
        ZB_DTYPE_F8E5M2 => each(memory, || [0x3c | (random.next() >> 62) as u8]),
        ZB_DTYPE_I8 | ZB_DTYPE_U8 | ZB_DTYPE_I4 | ZB_DTYPE_U4 => each(memory, || [(random.next() >> 56) as u8]),
        ZB_DTYPE_BOOL => each(memory, || [(random.next() >> 63) as u8]),
        ZB_DTYPE_I16 | ZB_DTYPE_U16 => each(memory, || ((random.next() >> 63) as u16).to_le_bytes()),
        ZB_DTYPE_I32 | ZB_DTYPE_U32 => each(memory, || ((random.next() >> 63) as u32).to_le_bytes()),
        ZB_DTYPE_I64 | ZB_DTYPE_U64 => each(memory, || (random.next() >> 63).to_le_bytes()),
        // of a type that this version does not know, zeros are the safest value
        _ => {}
    }
}

fn each<const N: usize>(memory: &mut [u8], mut next: impl FnMut() -> [u8; N]) {
    memory.chunks_exact_mut(N).for_each(|element| element.copy_from_slice(&next()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(dtype: i32, seed: u64) -> Vec<u8> {
        let mut memory = vec![0; 1600];
        fill_random(&mut memory, dtype, &mut Random(seed));
        memory
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        for dtype in ZB_DTYPE_F32..=ZB_DTYPE_C128 {
            assert_eq!(filled(dtype, 7), filled(dtype, 7));
            assert!(filled(dtype, 7) != filled(dtype, 8) || dtype_bits(dtype) == 0, "{dtype}");
        }
    }

    #[test]
    fn values_are_of_the_kind_that_was_promised() {
        let floats: Vec<_> =
            filled(ZB_DTYPE_F32, 1).chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        assert!(floats.iter().all(|value| (0.0..1.0).contains(value)) && floats.iter().any(|value| *value > 0.9));
        let bf16 = filled(ZB_DTYPE_BF16, 1);
        assert!(bf16.chunks(2).all(|b| (0.0..1.0).contains(&f32::from_le_bytes([0, 0, b[0], b[1]]))));
        let halves = filled(ZB_DTYPE_F16, 1);
        assert!(halves.chunks(2).all(|b| (0x3c00..0x4000).contains(&u16::from_le_bytes([b[0], b[1]]))));
        for (dtype, size) in [(ZB_DTYPE_I64, 8), (ZB_DTYPE_U32, 4), (ZB_DTYPE_I16, 2), (ZB_DTYPE_BOOL, 1)] {
            let integers = filled(dtype, 1);
            assert!(integers.chunks(size).all(|b| b[0] <= 1 && b[1..].iter().all(|byte| *byte == 0)));
            assert!(integers.chunks(size).any(|b| b[0] == 1) && integers.chunks(size).any(|b| b[0] == 0));
        }
        assert!(filled(ZB_DTYPE_U8, 1).iter().any(|byte| *byte > 250));
    }
}
