//! Memory of a running simulation: packets and messages. Freed places are used again, so that the steady state does not
//! allocate. Their routes: [`super::routes`].

use super::Linked;
use crate::plan::{NONE, Stage};
use hotlink_fabric::units::Time;

/// A packet under way: a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Packet {
    /// When its sender could have made it at the best, in picoseconds: its age counts from there.
    pub born: u64,
    /// Its message; `NONE` on a free place.
    pub message: u32,
    pub payload: u32,
    /// Position in its message, and [`AGAIN`].
    pub index: u32,
    /// Next in the queue of a lane, or next free place.
    pub next: u32,
    /// Room that this next one needs.
    pub next_need: i32,
    /// The stage that the packet's head waits for or crosses. This stage and the two that follow are copies from the
    /// route. A step therefore waits for one line, and reads the route only ahead of time.
    pub here: Stage,
    /// The stage after it; means nothing after the last.
    pub ahead: Stage,
    /// Lane of the stage before it; means nothing at the first.
    pub came: u32,
    /// Number of the stage `here`.
    pub stage: u16,
    /// Wire bytes beyond the payload.
    pub overhead: u16,
    /// It has waited too long somewhere (ECN).
    pub marked: bool,
    /// Since when it waits for its stage, in nanoseconds (ECN).
    pub since_ns: u32,
    /// What is known of it until its acknowledgement is back (transports; `NONE` before it starts). Where paths stay
    /// open, the lot of its choices.
    pub trip: u32,
}

/// Bit of [`Packet::index`]: its source sends it a second time.
pub(crate) const AGAIN: u32 = 1 << 31;

impl Packet {
    /// Bytes on the wire.
    #[inline]
    pub fn wire(&self) -> u32 {
        self.payload + u32::from(self.overhead)
    }
}

/// What only worms need of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Worm {
    /// Next that waits in the same input buffer.
    pub behind: u32,
    /// First stage that the tail has not left.
    pub tail: u32,
    /// A broadcast's packet: which; [`NONE`] for a unicast.
    pub cast: u32,
    /// Its stage in the tree of the broadcast.
    pub at: u32,
}

impl Default for Worm {
    fn default() -> Worm {
        Worm { behind: NONE, tail: 0, cast: NONE, at: 0 }
    }
}

/// A message: what a workload posts, and what is reported to it. One cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub struct Message {
    /// Sender.
    pub from: u32,
    /// Receiver.
    pub to: u32,
    /// Payload in bytes.
    pub bytes: u64,
    /// The workload's own word.
    pub tag: u64,
    /// When it was posted, in picoseconds.
    pub posted_ps: u64,
    /// Packets that it consists of.
    pub packets: u32,
    /// Packets made so far.
    pub made: u32,
    /// Packets delivered so far.
    pub delivered: u32,
    /// The tree by which each packet goes to several nodes; [`NONE`] for a unicast.
    pub(crate) tree: u32,
    /// From adapter to adapter.
    pub(crate) inner: bool,
    /// Packets that will never arrive. A message with one of them is never reported as delivered.
    pub lost: u32,
    /// All its packets take one way, which is known.
    pub(crate) shares: bool,
    pub(crate) switches: u16,
    /// SCI: latency of a response, 0 until known. ECN: pause between packets.
    pub(crate) pause_ps: u32,
    /// Next in a node's queue, or next free place.
    pub(crate) next: u32,
}

/// What only some networks need of a message.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Aside {
    /// What all its bytes take of the sender's and of the receiver's host bus ([`Net::over_buses`]).
    ///
    /// [`Net::over_buses`]: super::Net::over_buses
    pub bus: [Time; 2],
    /// ECN: marks of packets before this one are old news.
    pub heed_from: u32,
    /// Its flow (transports).
    pub flow: u32,
}

impl Linked for Packet {
    fn link(&mut self) -> &mut u32 {
        &mut self.next
    }
}
impl Linked for Message {
    fn link(&mut self) -> &mut u32 {
        &mut self.next
    }
}
