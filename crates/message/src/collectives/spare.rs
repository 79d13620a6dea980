//! The temporary memory of collectives, kept from call to call. It stays registered, as W01's cache of segments keeps
//! registrations (slide 10), and no call asks the system for memory.

use hotlink_port::Memory;

/// Bytes that are kept at most while no call uses them.
const KEPT_BYTES: u64 = 64 << 20;
/// Blocks that are kept at most so.
const KEPT_BLOCKS: usize = 16;
/// A block of at most this many bytes serves any call that needs less. A longer one serves calls that need half of it
/// or more.
const SLACK: u64 = 4096;

#[derive(Clone, Copy)]
struct Block {
    memory: Memory,
    bytes: u64,
    /// It has a length and no content.
    ghost: bool,
    lent: bool,
}

/// A rank's blocks of temporary memory, those in use and those kept, the longest unused first.
#[derive(Default)]
pub(crate) struct Spare {
    blocks: Vec<Block>,
}

impl Spare {
    /// The shortest block kept that holds `bytes` and is not much longer: it is lent from now on.
    pub(super) fn take(&mut self, bytes: u64, ghost: bool) -> Option<Memory> {
        let most = bytes.saturating_mul(2).max(SLACK);
        let fits = |block: &&mut Block| !block.lent && block.ghost == ghost && (bytes..=most).contains(&block.bytes);
        let block = self.blocks.iter_mut().filter(fits).min_by_key(|block| block.bytes)?;
        block.lent = true;
        Some(block.memory)
    }
    /// A block that was made for a call.
    pub(super) fn lend(&mut self, memory: Memory, bytes: u64, ghost: bool) {
        self.blocks.push(Block { memory, bytes, ghost, lent: true });
    }
    /// A call no longer uses `memory`. Returns the memory that is then too much, for the caller to free.
    pub(super) fn give_back(&mut self, memory: Memory) -> Vec<Memory> {
        if let Some(place) = self.blocks.iter().position(|block| block.memory == memory) {
            let block = self.blocks.remove(place);
            self.blocks.push(Block { lent: false, ..block });
        }
        let mut surplus = Vec::new();
        while self.is_too_much() {
            let oldest = self.blocks.iter().position(|block| !block.lent);
            surplus.extend(oldest.map(|place| self.blocks.remove(place).memory));
        }
        surplus
    }
    /// Ghosts take no room.
    fn is_too_much(&self) -> bool {
        let kept = || self.blocks.iter().filter(|block| !block.lent);
        kept().count() > KEPT_BLOCKS
            || kept().filter(|block| !block.ghost).map(|block| block.bytes).sum::<u64>() > KEPT_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_fits_comes_again_and_no_other() {
        let mut spare = Spare::default();
        spare.lend(Memory(1), 10_000, false);
        assert_eq!(spare.take(10_000, false), None, "it is lent");
        assert_eq!(spare.give_back(Memory(1)), []);
        assert_eq!(spare.take(10_000, true), None, "a ghost has no content");
        assert_eq!(spare.take(10_001, false), None, "it is too short");
        assert_eq!(spare.take(4_999, false), None, "it is much too long");
        assert_eq!(spare.take(5_000, false), Some(Memory(1)));
    }

    #[test]
    fn the_longest_unused_goes_first() {
        let mut spare = Spare::default();
        for (number, bytes) in [KEPT_BYTES / 2, KEPT_BYTES / 2, 1].into_iter().enumerate() {
            spare.lend(Memory(number as u64), bytes, false);
        }
        assert_eq!(spare.give_back(Memory(1)), []);
        assert_eq!(spare.give_back(Memory(0)), []);
        assert_eq!(spare.give_back(Memory(2)), [Memory(1)]);
        let mut spare = Spare::default();
        (0..=KEPT_BLOCKS as u64).for_each(|number| spare.lend(Memory(number), KEPT_BYTES, true));
        let surplus: Vec<Memory> =
            (0..=KEPT_BLOCKS as u64).flat_map(|number| spare.give_back(Memory(number))).collect();
        assert_eq!(surplus, [Memory(0)], "ghosts are counted, not weighed");
    }
}
