//! From a program's addresses to the memory's: pages lie where the system had room.

use crate::machine::Translation as Values;
use hotlink_fabric::rng::SplitMix64;

/// Pages that the processor knows, the youngest first, each with its frame.
#[derive(Clone, Debug)]
pub(crate) struct Translation {
    values: Option<Values>,
    known: Vec<(u64, u64)>,
    /// Pages looked up.
    pub missed: u64,
}

/// Frames of a memory of 2^36 pages: no two pages of a program share one but by rare chance.
const FRAMES: u64 = 1 << 36;

impl Translation {
    pub fn new(values: Option<Values>) -> Translation {
        Translation { values, known: Vec::new(), missed: 0 }
    }

    /// The memory's address, and how long looking it up took.
    pub fn find(&mut self, address: u64) -> (u64, u64) {
        let Some(Values { entries, page, miss }) = self.values else { return (address, 0) };
        let number = address / page;
        if let Some(at) = self.known.iter().position(|&(known, _)| known == number) {
            self.known[..=at].rotate_right(1);
            return (self.known[0].1 * page + address % page, 0);
        }
        self.missed += 1;
        self.known.truncate(entries as usize - 1);
        self.known.insert(0, (number, frame(number)));
        (self.known[0].1 * page + address % page, miss.0)
    }
}

/// Where a page lies: anywhere, and always in the same place.
pub(crate) fn frame(page: u64) -> u64 {
    SplitMix64::new(page).next_u64() % FRAMES
}
