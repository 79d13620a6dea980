//! Packets that arrive before an earlier one of their message: how many, and what holding them takes at a receiver.
//!
//! Receivers take packets in any order, as RDMA with an address in each packet does. A limit may say how many bytes a node
//! can hold. What exceeds it is dropped, and the sender hears of that and sends it again. With no room at all that is
//! go-back-N: what follows a gap is sent again.

/// A message with gaps.
#[derive(Clone, Debug, Default)]
struct Gaps {
    /// The first packet that is missing.
    next: u32,
    /// Which have arrived from there on.
    arrived: Vec<bool>,
}

/// A message that packets arrive of.
#[derive(Clone, Copy, Debug)]
pub struct Arriving {
    /// Its receiver.
    pub to: u32,
    /// Its bytes.
    pub bytes: u64,
    /// Bytes of a full packet.
    pub full: u32,
    /// Packets of it that have arrived.
    pub delivered: u32,
}

/// What receivers hold.
#[derive(Debug, Default)]
pub struct Reorder {
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
pub enum Comes {
    /// All before it are there.
    InOrder,
    /// An earlier one is missing; it is held.
    Early,
    /// The same, and there is no room.
    Refused,
}

impl Arriving {
    /// Payload of one of its packets.
    fn payload(&self, index: u32) -> u64 {
        let full = u64::from(self.full);
        (self.bytes - u64::from(index) * full).min(full)
    }
}

impl Reorder {
    /// Of nodes that can hold so many bytes; `None`: any.
    pub fn new(limit: Option<u64>) -> Reorder {
        Reorder { limit, ..Reorder::default() }
    }

    /// The most bytes that a node held.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// A place of messages gets another one.
    pub fn forget(&mut self, message: u32) {
        if let Some(place) = self.messages.get_mut(message as usize) {
            *place = None;
        }
    }

    /// A packet of the message at a place arrives, before it counts as delivered.
    #[inline]
    pub fn arrives(&mut self, message: u32, index: u32, m: Arriving) -> Comes {
        match self.messages.get_mut(message as usize) {
            Some(Some(gaps)) if index == gaps.next => self.fills(message, m),
            Some(Some(_)) => self.early(message, index, m),
            // Without gaps as many have arrived as come before it.
            _ if index == m.delivered => Comes::InOrder,
            _ => self.early(message, index, m),
        }
    }

    #[inline(never)]
    fn early(&mut self, message: u32, index: u32, m: Arriving) -> Comes {
        let (node, bytes) = (m.to as usize, m.payload(index));
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
    fn fills(&mut self, message: u32, m: Arriving) -> Comes {
        let Some(gaps) = &mut self.messages[message as usize] else { return Comes::InOrder };
        let passed = 1 + gaps.arrived.iter().skip(1).take_while(|arrived| **arrived).count();
        let freed: u64 = (gaps.next + 1..gaps.next + passed as u32).map(|index| m.payload(index)).sum();
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
    use std::collections::BTreeSet;

    /// Against sets: a packet is early while one before it is missing, and is held until all of these are there.
    #[test]
    fn what_is_held_is_what_came_before_its_turn() {
        let mut lot = 1u64;
        let mut draw = |below: usize| {
            lot = lot.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (lot >> 33) as usize % below
        };
        for rest in 1..=100 {
            // Two messages of 20 packets to one node, in any order.
            let mut order: Vec<(usize, u32)> = (0..40).map(|at| (at % 2, at as u32 / 2)).collect();
            (1..40).for_each(|at| order.swap(at, draw(at + 1)));
            let mut reorder = Reorder::new(None);
            let of = |bytes| Arriving { to: 5, bytes, full: 100, delivered: 0 };
            let mut messages = [of(1900 + rest), of(2000)];
            let (mut seen, mut most) = ([BTreeSet::new(), BTreeSet::new()], 0);
            for (which, index) in order {
                let early = (0..index).any(|before| !seen[which].contains(&before));
                let comes = reorder.arrives(which as u32, index, messages[which]);
                assert_eq!(comes, if early { Comes::Early } else { Comes::InOrder });
                messages[which].delivered += 1;
                seen[which].insert(index);
                let held = |which: usize| {
                    let first = (0..).find(|at| !seen[which].contains(at)).unwrap_or(0);
                    let bytes = |at: &u32| if (which, *at) == (0, 19) { rest } else { 100 };
                    seen[which].iter().filter(|at| **at > first).map(bytes).sum::<u64>()
                };
                most = most.max(held(0) + held(1));
                assert_eq!(reorder.held.get(5).copied().unwrap_or(0), held(0) + held(1));
            }
            assert_eq!(reorder.most(), most);
            assert!(reorder.messages.iter().all(Option::is_none));
        }
    }
}
