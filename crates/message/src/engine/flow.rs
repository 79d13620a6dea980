//! Flow control: the bytes that a rank may send eagerly before the receiver has taken them.
//!
//! An eager message that no receive waits for is kept by the receiver. The kept bytes are bounded: the ranks share
//! [`Options::kept_bytes`] of a receiver for eager messages that have not met their receives. Beyond its share, a
//! rank's messages announce themselves and wait at the sender. The receiver reports what it has taken (`Credit`) in
//! steps of half that share.

use super::Engine;
use super::speech::{Carried, NOBODY, Saying};
use crate::options::Options;
use crate::wire::{Context, Kind, Words};
use hotlink_port::{Port, Rank};
use std::collections::BTreeMap;

/// The cost of a kept message besides its bytes.
const ENVELOPE: u64 = 64;
/// A peer's share of [`Options::kept_bytes`] is never more than this...
const SHARE_MAX: u64 = 1 << 20;

/// Counts of the messages between this rank and another.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub(crate) struct Flow {
    /// Messages sent to and seen from it. Whether any is on the way decides whether an early receive holds.
    pub(super) sent: u64,
    pub(super) seen: u64,
    /// Eager bytes sent to it, envelopes included, and up to where that may go.
    charged: u64,
    allowed: u64,
    /// Eager bytes from it that met their receives, and how many of them were reported to it.
    taken: u64,
    told: u64,
}

/// The flows. A few ranks have theirs in an array. Among more, only ranks with which this one exchanged messages have
/// one, so that memory grows with partners and not with peers.
#[derive(Clone, Debug)]
pub(crate) struct Flows {
    near: Vec<Flow>,
    far: BTreeMap<Rank, Flow>,
    share: u64,
}

impl Flows {
    const NEAR: u32 = 256;
    pub(super) fn new(ranks: u32, options: &Options) -> Flows {
        // ... and never less than two of the longest eager messages, lest every message wait.
        let least = 2 * (options.eager_bytes + ENVELOPE);
        let share = (options.kept_bytes / u64::from(ranks.max(1))).min(SHARE_MAX).max(least);
        let near = if ranks <= Flows::NEAR { ranks as usize } else { 0 };
        Flows { near: vec![Flow::new(share); near], far: BTreeMap::new(), share }
    }
    #[inline(always)]
    pub(super) fn of(&mut self, rank: Rank) -> &mut Flow {
        // Not `get_mut`: its borrow would last in the other case too.
        if (rank as usize) < self.near.len() { &mut self.near[rank as usize] } else { self.of_far(rank) }
    }
    /// What distinguishes two states: see [`Engine::fingerprint`].
    #[cfg(any(test, feature = "prove"))]
    pub(super) fn fingerprint(&self, hasher: &mut impl std::hash::Hasher) {
        std::hash::Hash::hash(&(&self.near, &self.far), hasher);
    }
    /// Messages sent to a near rank, and seen from it.
    #[cfg(any(test, feature = "prove"))]
    pub(super) fn counts(&self, rank: usize) -> (u64, u64) {
        (self.near[rank].sent, self.near[rank].seen)
    }
    #[cold]
    #[inline(never)]
    fn of_far(&mut self, rank: Rank) -> &mut Flow {
        self.far.entry(rank).or_insert(Flow::new(self.share))
    }
}

impl Flow {
    fn new(allowed: u64) -> Flow {
        Flow { allowed, ..Flow::default() }
    }
    /// Whether a message of `total` bytes may go eagerly.
    #[inline]
    pub(super) fn admits(&self, total: u64) -> bool {
        self.charged + total + ENVELOPE <= self.allowed
    }
    /// It went eagerly.
    #[inline]
    pub(super) fn charge(&mut self, total: u64) {
        self.charged += total + ENVELOPE;
    }
}

impl<P: Port> Engine<P> {
    /// An eager message of `total` bytes from a rank has met its receive at once.
    #[inline(always)]
    pub(super) fn seen_and_taken(&mut self, from: Rank, total: u64) {
        self.met(from, total, 1);
    }
    /// One that was kept has met its receive.
    pub(super) fn taken(&mut self, from: Rank, total: u64) {
        self.met(from, total, 0);
    }
    #[inline(always)]
    fn met(&mut self, from: Rank, total: u64, seen: u64) {
        let step = self.flows.share / 2;
        let flow = self.flows.of(from);
        flow.seen += seen;
        flow.taken += total + ENVELOPE;
        if flow.taken - flow.told >= step {
            self.tell_taken(from);
        }
    }
    #[cold]
    fn tell_taken(&mut self, to: Rank) {
        let flow = self.flows.of(to);
        flow.told = flow.taken;
        let words =
            Words { kind: Kind::Credit, context: Context::USER, tag: 0, total: 0, id: u64::MAX, at: flow.taken };
        self.counters.credits += 1;
        // A rank that cannot be reached is gone, and sends no more.
        let _ = self.say(Saying { to, words, payload: Carried::Nothing, request: NOBODY, ends: false });
    }
    /// Whether every other rank has room for a broadcast of `total` bytes.
    pub(crate) fn admits_broadcast(&mut self, total: u64) -> bool {
        let me = self.port.rank();
        (0..self.port.ranks()).all(|to| to == me || self.flows.of(to).admits(total))
    }
    /// A rank has taken eager messages of this one up to `taken`.
    pub(super) fn on_credit(&mut self, from: Rank, taken: u64) {
        let share = self.flows.share;
        let flow = self.flows.of(from);
        flow.allowed = flow.allowed.max(taken + share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A share of two of the longest eager messages holds those, envelopes and all, and not a byte more.
    #[test]
    fn a_share_holds_messages_with_their_envelopes() {
        let limits = hotlink_port::Limits::messages("x");
        let options = Options { eager_bytes: 256, kept_bytes: 0, ..Options::of(&limits) };
        let mut flows = Flows::new(2, &options);
        assert!(flows.of(1).admits(256));
        flows.of(1).charge(256);
        assert!(flows.of(1).admits(256) && !flows.of(1).admits(257));
        flows.of(1).charge(256);
        assert!(!flows.of(1).admits(0));
    }

    /// The ranks share the room for kept messages, within its bounds, and a row ends at its limit.
    #[test]
    fn shares_and_rows_have_bounds() {
        let limits = hotlink_port::Limits::messages("x");
        let of =
            |ranks, kept_bytes| Flows::new(ranks, &Options { eager_bytes: 16, kept_bytes, ..Options::of(&limits) });
        let share = |ranks, kept_bytes| of(ranks, kept_bytes).share;
        assert_eq!([share(4, 4000), share(0, 4000), share(4, 4), share(2, 4 << 20)], [1000, 4000, 160, 1 << 20]);
        let rows = [1, 256, 257].map(|ranks| of(ranks, 4000).near.len());
        assert_eq!(rows, [1, 256, 0]);
        let mut far = of(300, 300_000);
        far.of(299).sent = 7;
        assert_eq!((far.of(299).sent, far.of(298).sent, far.far.len()), (7, 0, 2));
        assert!(far.of(0).admits(1000 - ENVELOPE) && !far.of(0).admits(1001 - ENVELOPE));
        let mut near = of(2, 4000);
        (near.of(0).sent, near.of(1).sent) = (1, 2);
        assert_eq!((near.counts(0).0, near.counts(1).0, near.far.len()), (1, 2, 0));
    }
}
