//! The memory system of a host as a program sees it: lines read, lines fetched before their first store, lines written.
//!
//! Stores with a stride use a word of each line that they touch, and pay for the whole line: this is why packing and
//! unpacking are slow (K98 s19-23, series `local memory`). Where source and destination fit into a cache together,
//! they are taken to be there.

use super::HostError;
use super::parameters::Parameters;
use hotlink_fabric::units::Time;

/// Bytes of a word: K98's strides count these.
pub const WORD: u64 = 8;

/// One level of the memory system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Level {
    /// Bytes it holds.
    size: u64,
    /// Time to read a line.
    read: Time,
    /// Time to fetch a line before its first store.
    allocate: Time,
    /// Time to write a line or part of one.
    write: Time,
}

impl Level {
    /// Time to read `read` lines and store to `written` lines, all in this level.
    fn copy(&self, read: u64, written: u64) -> Time {
        Time(read * self.read.0 + written * (self.allocate.0 + self.write.0))
    }
}

/// The memory system: caches, then memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    line: u64,
    levels: Vec<Level>,
}

impl Memory {
    pub(super) fn from_parameters(parameters: Parameters<'_>) -> Result<Memory, HostError> {
        let mut levels = Vec::new();
        for (size, time) in [("l1_size", "l1_line_time"), ("l2_size", "l2_line_time")] {
            if parameters.has(size) {
                let (size, time) = (parameters.capacity(size)?, parameters.time(time)?);
                levels.push(Level { size, read: time, allocate: Time::ZERO, write: time });
            }
        }
        levels.push(Level {
            size: u64::MAX,
            read: parameters.time("memory_line_read")?,
            allocate: parameters.time("memory_line_allocate")?,
            write: parameters.time("memory_line_write")?,
        });
        Ok(Memory { line: parameters.piece("memory_line")?, levels })
    }

    /// Lines that `bytes` touch when stored as words `stride` words apart (1: contiguous), from the start of a line.
    pub fn lines(&self, bytes: u64, stride: u64) -> u64 {
        if stride <= 1 {
            return bytes.div_ceil(self.line);
        }
        let words = bytes.div_ceil(WORD);
        if stride * WORD >= self.line {
            return words;
        }
        // Words nearer than a line: each line of the span holds at least one.
        let span = words.saturating_sub(1) * stride * WORD + WORD.min(bytes);
        span.div_ceil(self.line).min(words)
    }

    /// Time to copy `bytes` from contiguous memory to words `stride` words apart.
    pub fn copy(&self, bytes: u64, stride: u64) -> Time {
        let (read, written) = (self.lines(bytes, 1), self.lines(bytes, stride));
        let footprint = (read + written) * self.line;
        let level = self.levels.iter().find(|level| footprint <= level.size).unwrap_or(self.memory());
        level.copy(read, written)
    }

    /// The same where no cache holds anything of it: after DMA or a deposit engine has put the block into memory.
    pub fn copy_uncached(&self, bytes: u64, stride: u64) -> Time {
        self.memory().copy(self.lines(bytes, 1), self.lines(bytes, stride))
    }

    /// Time to take `bytes` that an adapter has put into memory, whose lines no cache holds, to words `stride` words
    /// apart in a block of `held` bytes, which a cache that is twice as large holds.
    pub fn copy_arrived(&self, bytes: u64, stride: u64, held: u64) -> Time {
        let level = self.levels.iter().find(|level| held.saturating_mul(2) <= level.size).unwrap_or(self.memory());
        Time(self.lines(bytes, 1) * self.memory().read.0) + level.copy(0, self.lines(bytes, stride))
    }

    /// Time to read `bytes` of contiguous memory, from memory itself, a part of a line at its share.
    pub fn read(&self, bytes: u64) -> Time {
        Time((bytes * self.memory().read.0).div_ceil(self.line))
    }

    /// Time to read what is one line or a part of one, alone.
    pub fn read_line(&self) -> Time {
        self.memory().read
    }

    /// Time to store what is `bytes` of one line without fetching the line first (a deposit engine, a bus master).
    pub fn store_line(&self) -> Time {
        self.memory().write
    }

    /// Bytes of a line.
    pub fn line(&self) -> u64 {
        self.line
    }

    fn memory(&self) -> &Level {
        self.levels.last().expect("memory is always a level")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pentium_pro() -> Memory {
        let cache = |size, time| Level { size, read: Time(time), allocate: Time::ZERO, write: Time(time) };
        let memory = Level { size: u64::MAX, read: Time(214_000), allocate: Time(214_000), write: Time(214_000) };
        Memory { line: 32, levels: vec![cache(8 << 10, 20_000), cache(256 << 10, 50_000), memory] }
    }

    #[test]
    fn a_stride_touches_the_lines_that_it_touches() {
        let memory = pentium_pro();
        let by_hand = |bytes: u64, stride: u64| {
            let mut lines: Vec<u64> = (0..bytes / WORD).map(|word| word * stride * WORD / 32).collect();
            lines.dedup();
            lines.len() as u64
        };
        for stride in [1, 2, 3, 4, 5, 8, 64] {
            for words in [1, 2, 3, 4, 5, 7, 64] {
                assert_eq!(memory.lines(words * WORD, stride), by_hand(words * WORD, stride), "{words} by {stride}");
            }
        }
    }

    #[test]
    fn what_fits_a_cache_is_copied_faster() {
        let memory = pentium_pro();
        let rate = |bytes: u64| bytes as f64 / memory.copy(bytes, 1).s();
        assert!(rate(2 << 10) > rate(64 << 10) && rate(64 << 10) > rate(1 << 20));
    }

    proptest! {
        #[test]
        fn more_stride_is_never_faster(bytes in 1u64..1 << 20, stride in 1u64..64) {
            let memory = pentium_pro();
            prop_assert!(memory.copy(bytes, stride + 1) >= memory.copy(bytes, stride));
        }

        #[test]
        fn more_bytes_never_take_less_time(bytes in 1u64..1 << 20, more in 1u64..4096, stride in 1u64..65) {
            let memory = pentium_pro();
            prop_assert!(memory.copy(bytes + more, stride) >= memory.copy(bytes, stride));
        }
    }
}
