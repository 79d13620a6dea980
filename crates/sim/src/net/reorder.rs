//! Packets that arrive before an earlier one of their message: how many, and what holding them takes at a receiver.
//!
//! Receivers take packets in any order, as RDMA with an address in each packet does. A limit may say how many bytes a node
//! can hold. What exceeds it is dropped, and the sender hears of that and sends it again. With no room at all that is
//! go-back-N: what follows a gap is sent again.

use super::pool::{AGAIN, Message};

/// A message with gaps.
#[derive(Clone, Debug, Default)]
struct Gaps {
    /// The first packet that is missing.
    next: u32,
    /// Which have arrived from there on.
    arrived: Vec<bool>,
}

/// What receivers hold.
#[derive(Debug, Default)]
pub(super) struct Reorder {
    /// One for each place of messages, as far as any had gaps.
    messages: Vec<Option<Gaps>>,
    /// Bytes at each node, as far as any held some.
    held: Vec<u64>,
    /// Bytes that a node can hold; none: any.
    limit: Option<u64>,
    /// The most that a node held at a time.
    most: u64,
}

/// How a packet comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comes {
    /// All before it are there.
    InOrder,
    /// An earlier one is missing; it is held.
    Early,
    /// The same, and there is no room.
    Refused,
}

/// Payload of a packet of a message whose full packets have `full` bytes.
fn payload(m: &Message, index: u32, full: u32) -> u64 {
    (m.bytes - u64::from(index) * u64::from(full)).min(u64::from(full))
}

impl Reorder {
    pub(super) fn new(limit: Option<u64>) -> Reorder {
        Reorder { limit, ..Reorder::default() }
    }

    /// The most bytes that a node held.
    pub(super) fn most(&self) -> u64 {
        self.most
    }

    /// A place of messages gets another one.
    pub(super) fn forget(&mut self, message: u32) {
        if let Some(place) = self.messages.get_mut(message as usize) {
            *place = None;
        }
    }

    /// A packet of a message arrives, before it counts as delivered; its full packets have `full` bytes.
    #[inline]
    pub(super) fn arrives(&mut self, message: u32, index: u32, m: &Message, full: u32) -> Comes {
        let index = index & !AGAIN;
        match self.messages.get_mut(message as usize) {
            Some(Some(gaps)) if index == gaps.next => self.fills(message, m, full),
            Some(Some(_)) => self.early(message, index, m, full),
            // Without gaps as many have arrived as come before it.
            _ if index == m.delivered => Comes::InOrder,
            _ => self.early(message, index, m, full),
        }
    }

    #[inline(never)]
    fn early(&mut self, message: u32, index: u32, m: &Message, full: u32) -> Comes {
        let (node, bytes) = (m.to as usize, payload(m, index, full));
        if self.held.len() <= node {
            self.held.resize(node + 1, 0);
        }
        let holds = self.held[node] + bytes;
        if self.limit.is_some_and(|limit| holds > limit) {
            return Comes::Refused;
        }
        self.held[node] = holds;
        self.most = self.most.max(holds);
        if self.messages.len() <= message as usize {
            self.messages.resize(message as usize + 1, None);
        }
        let gaps =
            self.messages[message as usize].get_or_insert_with(|| Gaps { next: m.delivered, arrived: Vec::new() });
        let place = (index - gaps.next) as usize;
        if gaps.arrived.len() <= place {
            gaps.arrived.resize(place + 1, false);
        }
        gaps.arrived[place] = true;
        Comes::Early
    }

    /// The missing packet is there: those behind it are passed on, up to the next gap.
    #[inline(never)]
    fn fills(&mut self, message: u32, m: &Message, full: u32) -> Comes {
        let Some(gaps) = &mut self.messages[message as usize] else { return Comes::InOrder };
        let passed = 1 + gaps.arrived.iter().skip(1).take_while(|arrived| **arrived).count();
        let freed: u64 = (gaps.next + 1..gaps.next + passed as u32).map(|index| payload(m, index, full)).sum();
        self.held[m.to as usize] -= freed;
        gaps.next += passed as u32;
        gaps.arrived.drain(..passed.min(gaps.arrived.len()));
        if gaps.arrived.is_empty() {
            self.messages[message as usize] = None;
        }
        Comes::InOrder
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::NONE;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn message(to: u32, bytes: u64) -> Message {
        let packets = bytes.div_ceil(100) as u32;
        let of = Message {
            from: 0,
            to,
            bytes,
            tag: 0,
            posted_ps: 0,
            packets,
            made: packets,
            delivered: 0,
            tree: NONE,
            inner: false,
            lost: 0,
            shares: false,
            switches: 0,
            pause_ps: 0,
            next: NONE,
        };
        of
    }

    proptest! {
        /// Against sets: a packet is early while one before it is missing, and is held until all of these are there.
        #[test]
        fn what_is_held_is_what_came_before_its_turn(
            order in Just((0..40usize).map(|at| (at % 2, at / 2)).collect::<Vec<_>>()).prop_shuffle(),
            rest in 1u64..=100,
        ) {
            let mut reorder = Reorder::new(None);
            let mut messages = [message(5, 1900 + rest), message(5, 2000)];
            let (mut seen, mut most) = ([BTreeSet::new(), BTreeSet::new()], 0);
            for (which, index) in order {
                let m = messages[which];
                let early = (0..index).any(|before| !seen[which].contains(&before));
                let comes = reorder.arrives(which as u32, index as u32, &m, 100);
                prop_assert_eq!(comes, if early { Comes::Early } else { Comes::InOrder });
                messages[which].delivered += 1;
                seen[which].insert(index);
                let held = |which: usize| {
                    let first = (0..).find(|at| !seen[which].contains(at)).unwrap_or(0);
                    let bytes = |at: &usize| if (which, *at) == (0, 19) { rest } else { 100 };
                    seen[which].iter().filter(|at| **at > first).map(bytes).sum::<u64>()
                };
                most = most.max(held(0) + held(1));
                prop_assert_eq!(reorder.held.get(5).copied().unwrap_or(0), held(0) + held(1));
            }
            prop_assert_eq!(reorder.most(), most);
            prop_assert!(reorder.messages.iter().all(Option::is_none));
        }
    }
}
