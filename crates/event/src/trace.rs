//! A fingerprint of everything that happened, in order.

use super::Event;

/// An order-sensitive hash of (time, event): two runs with the same value took the same course.
#[derive(Clone, Copy, Debug)]
pub struct TraceHash(u64);

impl Default for TraceHash {
    fn default() -> TraceHash {
        TraceHash(0x9e37_79b9_7f4a_7c15)
    }
}

impl TraceHash {
    /// Adds one event.
    #[inline]
    pub fn add(&mut self, at: u64, event: Event) {
        // Odd multipliers and a rotation keep every earlier bit in play: one dependent multiply an event.
        let word = at.wrapping_mul(0xa076_1d64_78bd_642f) ^ event.0.wrapping_mul(0xe703_7ed1_a0b4_28db);
        self.0 = (self.0 ^ word).wrapping_mul(0x2127_599b_f432_5c37).rotate_left(29);
    }
    /// The hash so far.
    pub fn value(self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}
