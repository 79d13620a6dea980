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

    /// Lines that `bytes` touch when stored as words `stride` words apart (1: contiguous), `offset` bytes after the start
    /// of a line.
    pub fn lines(&self, bytes: u64, stride: u64, offset: u64) -> u64 {
        let past = offset % self.line;
        if stride <= 1 {
            return (past + bytes).div_ceil(self.line);
        }
        let (words, step) = (bytes.div_ceil(WORD), stride * WORD);
        if step > self.line {
            return words + self.crossings(words, step, past);
        }
        // Words no farther than a line: each line of the span holds part of one.
        let span = words.saturating_sub(1) * step + WORD.min(bytes);
        let most = if past.is_multiple_of(WORD) { words } else { 2 * words };
        (past + span).div_ceil(self.line).min(most)
    }

    /// Of `words` that begin `step` bytes apart, the first `past` bytes after a line's start, those that end in the next.
    fn crossings(&self, words: u64, step: u64, past: u64) -> u64 {
        let crosses = |word: &u64| (past + word * step) % self.line > self.line.saturating_sub(WORD);
        // Both are multiples of a word, so that the pattern repeats after a line's words.
        let period = (self.line / WORD).max(1);
        let in_one = (0..period).filter(crosses).count() as u64;
        words / period * in_one + (0..words % period).filter(crosses).count() as u64
    }

    /// Time to copy `bytes` from contiguous memory to words `stride` words apart, from the start of a line.
    pub fn copy(&self, bytes: u64, stride: u64) -> Time {
        self.copy_at(bytes, stride, 0)
    }

    /// The same to words that begin `offset` bytes after the start of a line.
    pub fn copy_at(&self, bytes: u64, stride: u64, offset: u64) -> Time {
        let (read, written) = (self.lines(bytes, 1, 0), self.lines(bytes, stride, offset));
        let footprint = (read + written) * self.line;
        let level = self.levels.iter().find(|level| footprint <= level.size).unwrap_or(self.memory());
        level.copy(read, written)
    }

    /// The same where no cache holds anything of it: after DMA or a deposit engine has put the block into memory.
    pub fn copy_uncached(&self, bytes: u64, stride: u64, offset: u64) -> Time {
        self.memory().copy(self.lines(bytes, 1, 0), self.lines(bytes, stride, offset))
    }

    /// Time to take `bytes` that an adapter has put into memory, whose lines no cache holds, to words `stride` words
    /// apart in a block of `held` bytes, which a cache that is twice as large holds.
    pub fn copy_arrived(&self, bytes: u64, stride: u64, held: u64) -> Time {
        let level = self.levels.iter().find(|level| held.saturating_mul(2) <= level.size).unwrap_or(self.memory());
        Time(self.lines(bytes, 1, 0) * self.memory().read.0) + level.copy(0, self.lines(bytes, stride, 0))
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
        let by_hand = |words: u64, stride: u64, offset: u64| {
            let ends = |word| [offset + word * stride * WORD, offset + word * stride * WORD + WORD - 1];
            (0..words).flat_map(ends).map(|byte| byte / 32).collect::<std::collections::BTreeSet<u64>>().len() as u64
        };
        for (stride, offset) in [1, 2, 3, 4, 5, 8, 64].into_iter().flat_map(|s| [0, 4, 8, 20, 28, 31].map(|o| (s, o))) {
            for words in [1, 2, 3, 4, 5, 7, 64] {
                let (lines, by_hand) = (memory.lines(words * WORD, stride, offset), by_hand(words, stride, offset));
                assert_eq!(lines, by_hand, "{words} by {stride} at {offset}");
            }
        }
    }

    #[test]
    fn a_copy_off_a_line_touches_one_more() {
        let memory = pentium_pro();
        let line = |size: u64| memory.copy_at(size, 1, 8) - memory.copy(size, 1);
        assert_eq!([line(1 << 20), line(1 << 10)], [Time(2 * 214_000), Time(20_000)], "from memory, from the cache");
        // Every fourth word of a stride that is odd in words lies across a boundary; of one that is not, all or none.
        let strided =
            |stride, offset| memory.copy_at(1 << 20, stride, offset).0 as f64 / memory.copy(1 << 20, stride).0 as f64;
        assert!(strided(8, 28) > 1.6 && strided(8, 8) == 1.0 && (1.1..1.3).contains(&strided(5, 28)));
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
