//! The barrier by flags, as in the header of the plug-in. Every rank counts the barriers that it has entered in a line
//! of its own. It leaves one when every other count has reached its own. For two ranks that is one line each way at the
//! same time: no barrier over shared memory takes less. Each barrier takes the next of several lines. The others no
//! longer poll that line, so its writer gets it in four fifths of the time.
//!
//! Where a device joins the nodes that this machine plays, flags are within a node. Its first rank waits for the
//! others' flags, then enters at the device, and shows the release to the node in its own line.
#![allow(unsafe_code)]

use super::world::{GATES, Gate, World};
use crate::doors::BarrierDevice;
use hotlink_port::{Rank, Token};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};

/// More ranks than this use rounds of messages instead, because every rank reads every other's line.
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
    across: Option<Across>,
}

/// This rank's node, and the device between nodes.
struct Across {
    device: Arc<BarrierDevice>,
    node: u32,
    /// Its ranks: the first, and the one after the last.
    first: Rank,
    end: Rank,
    /// Barriers that the node has entered at the device.
    entered: u64,
    looks: u32,
}

/// Polls of a barrier between checks that the device's daemon lives.
const LOOKS: u32 = 1024;

impl Across {
    fn of(device: &Arc<BarrierDevice>, rank: Rank, ranks: u32) -> Across {
        let each = device.ranks_per_node();
        let (node, device) = (rank / each, device.clone());
        Across { device, node, first: node * each, end: ((node + 1) * each).min(ranks), entered: 0, looks: 0 }
    }
}

impl Barriers {
    /// Those of `rank`; `world` lives longer.
    pub(crate) fn new(world: &World, rank: Rank) -> Barriers {
        let (gates, ranks) = (world.gates(), world.ranks());
        let across = world.device.as_ref().map(|device| Across::of(device, rank, ranks));
        let awaited = across.as_ref().map_or(0, |across| across.first);
        Barriers { gates, rank, ranks, entered: 0, left: 0, awaited, tokens: VecDeque::with_capacity(1), across }
    }
    #[inline]
    fn gate(&self, rank: Rank, number: u64) -> &Gate {
        debug_assert!(rank < self.ranks);
        let index = u64::from(rank) * GATES + number % GATES;
        // SAFETY: one for each rank, in the shared block; a line of atomics.
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
        if self.across.is_some() {
            if !self.is_released(next) {
                return None;
            }
        } else {
            if !self.have_entered(next, self.ranks) {
                return None;
            }
            self.awaited = 0;
        }
        self.left = next;
        self.tokens.pop_front()
    }
    /// Leaves the next barrier if every rank's flag says that it has entered. It serves jobs that a rank has left. The
    /// device, or the first rank of this node, may never poll it again, and no later barrier can complete.
    pub(crate) fn leave_by_flags(&mut self) -> Option<Token> {
        let next = self.left + 1;
        let Some(first) = self.across.as_ref().map(|across| across.first) else { return self.leave() };
        if (0..self.ranks).any(|rank| self.gate(rank, next).entered.load(Acquire) < next) {
            return None;
        }
        if self.rank == first {
            self.gate(first, next).released.store(next, Release);
        }
        (self.awaited, self.left) = (first, next);
        self.tokens.pop_front()
    }
    /// Whether the ranks from `awaited` to `end` have entered barrier `next`.
    #[inline]
    fn have_entered(&mut self, next: u64, end: Rank) -> bool {
        while self.awaited < end {
            // A rank that is ahead has written a higher count over this one's line, or has not reached it yet.
            if self.gate(self.awaited, next).entered.load(Acquire) < next {
                return false;
            }
            self.awaited += 1;
        }
        true
    }
    /// Whether the device has released barrier `next`. A node's first rank drives it on there.
    fn is_released(&mut self, next: u64) -> bool {
        let Some(Across { first, end, node, entered, .. }) = self.across else { return true };
        if self.rank != first {
            return self.gate(first, next).released.load(Acquire) >= next;
        }
        let is_new = entered < next;
        if is_new && !self.have_entered(next, end) {
            return false;
        }
        let Some(across) = &mut self.across else { return true };
        if is_new {
            across.device.enter(node);
            across.entered = next;
        }
        if !across.device.is_released(node) {
            return false;
        }
        self.awaited = first;
        self.gate(first, next).released.store(next, Release);
        true
    }
    /// Whether the device that this rank waits for is gone: looked at now and then.
    pub(crate) fn is_cut_off(&mut self) -> bool {
        let Some(across) = self.across.as_mut().filter(|across| across.entered > self.left) else { return false };
        across.looks += 1;
        across.looks % LOOKS == 0 && across.device.is_lost(across.node)
    }
    /// The barriers that will never be left, since a rank has died; they are forgotten.
    pub(crate) fn give_up(&mut self) -> impl Iterator<Item = Token> {
        self.left = self.entered;
        self.tokens.drain(..)
    }
}
