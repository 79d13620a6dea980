//! A hash of a few small numbers.

use std::hash::{BuildHasherDefault, Hasher};

/// Multiply and rotate. Nothing ever iterates over such a map.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mix(u64);

pub(crate) type Mixed = BuildHasherDefault<Mix>;

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }
    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }
    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    #[inline]
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}
