//! From a program's addresses to the memory's: pages lie where the system had room.

use crate::cache::Cache;
use crate::machine::{Level, Translation as Values};
use hotlink_fabric::rng::SplitMix64;
use hotlink_fabric::units::Time;

/// Pages that the processor knows.
#[derive(Clone, Debug)]
pub(crate) struct Translation {
    values: Option<(Values, Cache)>,
    /// Pages looked up.
    pub missed: u64,
}

/// Frames of a memory of 2^36 pages: no two pages of a program share one but by rare chance.
const FRAMES: u64 = 1 << 36;

impl Translation {
    pub fn new(values: Option<Values>) -> Translation {
        let known =
            |values: Values| Cache::new(&Level { size: values.entries, ways: values.ways, line_time: Time::ZERO }, 1);
        Translation { values: values.map(|values| (values, known(values))), missed: 0 }
    }

    /// The memory's address, and how long looking it up took.
    pub fn find(&mut self, address: u64) -> (u64, u64) {
        let Some((Values { page, miss, .. }, known)) = &mut self.values else { return (address, 0) };
        let number = address / *page;
        let physical = frame(number) * *page + address % *page;
        if known.touch(number, false) {
            return (physical, 0);
        }
        self.missed += 1;
        known.insert(number, false);
        (physical, miss.0)
    }
}

/// Where a page lies: anywhere, and always in the same place.
pub(crate) fn frame(page: u64) -> u64 {
    SplitMix64::new(page).next_u64() % FRAMES
}
