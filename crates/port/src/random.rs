//! Pseudo-random numbers that are the same on every machine: for schedules, faults and tests.

use hotlink_fabric::rng::SplitMix64;

/// A generator of pseudo-random numbers (SplitMix64): the same on every machine.
#[derive(Clone, Debug)]
pub struct Random(SplitMix64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Random {
        Random(SplitMix64::new(seed))
    }
    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0.next_u64()
    }
    /// Below `n`, which is not zero.
    pub fn below(&mut self, n: u64) -> u64 {
        self.draw() % n
    }
    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
