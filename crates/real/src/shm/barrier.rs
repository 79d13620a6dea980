//! The barrier by flags, as the header of the plug-in has it: every rank counts the barriers that it has entered in a
//! line of its own, and has left one when every other count has reached its own. For two ranks that is one line each
//! way at the same time: the least that a barrier over shared memory takes. Each barrier takes the next of several
//! lines: one that the others do not poll any more from the last time is got by its writer in four fifths of the time.
#![allow(unsafe_code)]

use super::world::{GATES, Gate, World};
use hotlink_port::{Rank, Token};
use std::collections::VecDeque;
use std::sync::atomic::Ordering::{Acquire, Release};

/// More ranks than this tell each other in rounds of messages instead: every rank reads every other's line.
pub(crate) const RANKS_MAX: u32 = 16;

/// This rank's part in barriers.
pub(crate) struct Barriers {
    gates: *const Gate,
    rank: Rank,
    ranks: u32,
    entered: u64,
    left: u64,
    /// The first rank that is not known to have entered the barrier after `left`.
    awaited: Rank,
    /// Of barriers that were entered and not left.
    tokens: VecDeque<Token>,
}

impl Barriers {
    /// Those of `rank`; `world` lives longer.
    pub(crate) fn new(world: &World, rank: Rank) -> Barriers {
        let (gates, ranks) = (world.gates(), world.ranks());
        Barriers { gates, rank, ranks, entered: 0, left: 0, awaited: 0, tokens: VecDeque::with_capacity(1) }
    }
    #[inline]
    fn gate(&self, rank: Rank, number: u64) -> &Gate {
        debug_assert!(rank < self.ranks);
        let index = u64::from(rank) * GATES + number % GATES;
        // SAFETY: so many for each rank, in the shared block; a line of atomics.
        unsafe { &*self.gates.add(index as usize) }
    }
    /// Enters the next barrier.
    #[inline]
    pub(crate) fn enter(&mut self, token: Token) {
        self.entered += 1;
        self.gate(self.rank, self.entered).entered.store(self.entered, Release);
        self.tokens.push_back(token);
    }
    /// Whether a barrier was entered and not left.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        self.entered != self.left
    }
    /// Leaves the next barrier if every rank has entered it.
    #[inline]
    pub(crate) fn leave(&mut self) -> Option<Token> {
        let next = self.left + 1;
        while self.awaited < self.ranks {
            // A rank that is ahead has written a higher count over this one's line, or has not come round to it.
            if self.gate(self.awaited, next).entered.load(Acquire) < next {
                return None;
            }
            self.awaited += 1;
        }
        (self.awaited, self.left) = (0, next);
        self.tokens.pop_front()
    }
    /// The barriers that will never be left, since a rank has died; they are forgotten.
    pub(crate) fn give_up(&mut self) -> impl Iterator<Item = Token> {
        self.left = self.entered;
        self.tokens.drain(..)
    }
}
