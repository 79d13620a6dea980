//! What is under way between two ranks: a control message, a deposit, a fetch, or news.
//!
//! Flights between two ranks complete in the order in which they were posted, in any order of their packets. One that
//! lands before its predecessor is held back.

use super::pace::Pace;
use crate::net::Linked;
use crate::plan::NONE;
use hotlink_port::{Head, Key, Rank, Refusal, Span, Token};

/// Kinds of flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Control,
    Deposit,
    Fetch,
    /// The end of a hardware operation.
    Signal,
    /// An export of `from` that `to` had imported is gone.
    Revoked(Key),
}

/// What a flight does when its timer fires or its last byte arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its data are fed into the network and cross it, from `from` to `to`.
    There,
    /// A fetch's request crosses the network.
    Request,
    /// A fetch's data return.
    Back,
    /// It reaches its rank by a timer, without the network.
    Local,
    /// Only the report to its poster is left.
    Ack,
}

/// A transfer's own part.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    pub token: Token,
    /// Memory of the poster.
    pub local: Span,
    /// Exported memory of the peer: which export, and where in it.
    pub key: Key,
    pub offset: u64,
    pub layout: hotlink_port::Layout,
    pub by_dma: bool,
    pub result: Result<(), Refusal>,
}

/// Something under way.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub what: What,
    pub phase: Phase,
    /// The rank that posted it, and the rank that receives it.
    pub from: Rank,
    pub to: Rank,
    pub head: Head,
    /// Payload, and its bytes unless it is a ghost.
    pub bytes: u64,
    pub data: Vec<u8>,
    pub ghost: bool,
    pub pace: Pace,
    /// Bytes fed into the network so far, and network messages of it under way.
    pub fed: u64,
    pub crossing: u32,
    /// Its next chunk waits until one that crosses the network has arrived.
    pub held: bool,
    pub transfer: Option<Box<Transfer>>,
    /// Next in an inbox, or next free place.
    pub next: u32,
    /// Its poster's other flights not yet settled, the younger and the older one.
    pub younger: u32,
    pub older: u32,
    /// The next flight between the same ranks, which must not be settled before this one.
    pub behind: u32,
    /// A flight before it is not settled yet.
    pub waits: bool,
    /// It has landed.
    pub landed: bool,
}

impl Flight {
    pub fn new(what: What, from: Rank, to: Rank) -> Flight {
        Flight {
            what,
            phase: Phase::There,
            from,
            to,
            head: [0; 4],
            bytes: 0,
            data: Vec::new(),
            ghost: false,
            pace: Pace::AT_ONCE,
            fed: 0,
            crossing: 0,
            held: false,
            transfer: None,
            next: NONE,
            younger: NONE,
            older: NONE,
            behind: NONE,
            waits: false,
            landed: false,
        }
    }
    /// From which node to which its data cross the network now.
    pub fn ends(&self) -> (Rank, Rank) {
        if self.phase == Phase::Back { (self.to, self.from) } else { (self.from, self.to) }
    }
    /// The payload's bytes; `None` for a ghost.
    pub fn payload(&self) -> Option<&[u8]> {
        (!self.ghost).then_some(&self.data[..])
    }
}

impl Linked for Flight {
    fn link(&mut self) -> &mut u32 {
        &mut self.next
    }
}
