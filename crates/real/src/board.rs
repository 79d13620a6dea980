//! Which of the ranks that one process forked have ended, well or not: a word each in memory that all of them share.
#![allow(unsafe_code)]

use crate::sys::SharedMemory;
use hotlink_port::Rank;
use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

const DEAD: u32 = 1;
const LEFT: u32 = 2;

/// Made before ranks are forked.
pub(crate) struct Board {
    /// A count of ends, then a word for each rank.
    words: SharedMemory,
    ranks: u32,
}

impl Board {
    pub(crate) fn new(ranks: u32) -> io::Result<Board> {
        Ok(Board { words: SharedMemory::new(4 * (ranks as usize + 1))?, ranks })
    }
    fn word(&self, index: u32) -> &AtomicU32 {
        assert!(index <= self.ranks);
        // SAFETY: inside the block, which lives as long as this; zeros are valid, and only atomics are shared.
        unsafe { &*self.words.start().cast::<AtomicU32>().add(index as usize) }
    }
    pub(crate) fn bury(&self, rank: Rank) {
        self.end(rank, DEAD);
    }
    /// `rank` needs no messages any more.
    pub(crate) fn leave(&self, rank: Rank) {
        self.end(rank, LEFT);
    }
    fn end(&self, rank: Rank, how: u32) {
        // A rank that left may go.
        if self.word(rank + 1).compare_exchange(0, how, AcqRel, Acquire).is_ok() {
            self.word(0).fetch_add(1, Release);
        }
    }
    /// Changes whenever a rank ends.
    pub(crate) fn ends(&self) -> u32 {
        self.word(0).load(Acquire)
    }
    pub(crate) fn is_dead(&self, rank: Rank) -> bool {
        self.word(rank + 1).load(Acquire) == DEAD
    }
    pub(crate) fn has_left(&self, rank: Rank) -> bool {
        self.word(rank + 1).load(Acquire) == LEFT
    }
}
