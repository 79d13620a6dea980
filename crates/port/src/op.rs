//! What can be posted to a port, and what comes back.

use crate::{Attachment, Key, Layout, Operation, Rank, Share, Span, Task};
use hotlink_fabric::units::Time;
use serde::{Deserialize, Serialize};

/// A control message's head: four words that the layer above fills as it likes.
pub type Head = [u64; 4];

/// Chosen by the poster, returned by [`Event::Done`] and [`Event::Failed`].
pub type Token = u64;

/// What a control message carries.
#[derive(Clone, Copy, Debug)]
pub enum Payload<'a> {
    /// Nothing but its head.
    None,
    /// These bytes, copied before `post` returns.
    Bytes(&'a [u8]),
    /// These bytes of this rank's memory, packed, copied before `post` returns (ghosts: only their length).
    Span(Span),
}

impl Payload<'_> {
    /// A span's bytes, or nothing where it has none.
    #[inline]
    pub fn of(span: Span) -> Self {
        if span.bytes() > 0 { Payload::Span(span) } else { Payload::None }
    }
    /// Bytes carried.
    #[inline]
    pub fn bytes(&self) -> u64 {
        match self {
            Payload::None => 0,
            Payload::Bytes(bytes) => bytes.len() as u64,
            Payload::Span(span) => span.bytes(),
        }
    }
}

/// What moves the data of a deposit or fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Engine {
    /// The processor, by stores through a mapping: done on this side when `post` returns.
    Pio,
    /// The port's DMA engine, or what plays its part: it progresses while the processor computes.
    Dma,
}

impl std::fmt::Display for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Engine::Pio => "PIO",
            Engine::Dma => "DMA",
        })
    }
}

/// Some bytes of imported memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteSpan {
    /// The import.
    pub attachment: Attachment,
    /// Byte at which the layout starts.
    pub offset: u64,
    /// Which bytes from there.
    pub layout: Layout,
}

/// An operation to post.
#[derive(Clone, Copy, Debug)]
pub enum Op<'a> {
    /// A short message to `to`. No event at the sender: the payload is copied at once.
    Control {
        /// Receiver.
        to: Rank,
        /// Four words.
        head: Head,
        /// At most [`crate::Limits::control_bytes_max`].
        payload: Payload<'a>,
    },
    /// A remote store. [`Event::Done`] when the data is visible at the target and the source may be reused. If the
    /// limits are `ordered`, a control message posted later to the same rank always arrives after the data.
    Deposit {
        /// Source.
        from: Span,
        /// Target; as many bytes as the source.
        to: RemoteSpan,
        /// PIO needs a mapping, DMA a mapping or a connection.
        engine: Engine,
        /// Returned with the end.
        token: Token,
    },
    /// A remote load; [`Event::Done`] when the data is here.
    Fetch {
        /// Source; as many bytes as the target.
        from: RemoteSpan,
        /// Target.
        to: Span,
        /// As for deposits.
        engine: Engine,
        /// Returned with the end.
        token: Token,
    },
    /// Enter the hardware barrier; [`Event::Done`] when all ranks have.
    Barrier {
        /// Returned with the end.
        token: Token,
    },
    /// The fabric combines every rank's `from` element by element, into the `to` of the ranks that `share` names.
    /// Elements lie in a row, as many on each rank. `to` may be `from`, except for [`Share::Parts`]. [`Event::Done`]
    /// when the result is there; until then the memory is the port's. All ranks post the same reductions in the same
    /// order.
    Reduce {
        /// How, and of what.
        operation: Operation,
        /// Which rank gets which part of the result; other than [`Share::All`] where the limits say so.
        share: Share,
        /// This rank's elements.
        from: Span,
        /// Where the result goes; ignored on ranks that get nothing.
        to: Span,
        /// Returned with the end.
        token: Token,
    },
    /// Hardware broadcast of a short message to all other ranks, which get [`Event::Control`]. [`Event::Done`] here
    /// when all have it.
    Broadcast {
        /// Four words.
        head: Head,
        /// At most [`crate::Limits::control_bytes_max`].
        payload: Payload<'a>,
        /// Returned with the end.
        token: Token,
    },
}

/// The answer to a post.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    /// Taken.
    Accepted,
    /// No room now (back-pressure): poll or wait, and post again. Nothing was taken. A wait that follows ends at the
    /// latest when there may be room, without an event if need be.
    Busy,
    /// Never possible as asked.
    Refused(Refusal),
}

/// Why something is not possible. Release something and try again after `NoMemory`, `NoEntries` and `PinLimit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error, Serialize, Deserialize)]
pub enum Refusal {
    /// No memory of that kind is left.
    #[error("no memory of this kind is left")]
    NoMemory,
    /// The adapter's address translation table is full.
    #[error("no address translation entry is left")]
    NoEntries,
    /// No more memory may be pinned.
    #[error("the limit of registered memory is reached")]
    PinLimit,
    /// More bytes than the limits allow.
    #[error("longer than the {0} B that the port takes")]
    TooLong(u64),
    /// Address or length off the port's alignment.
    #[error("not aligned to {0} B")]
    Misaligned(u64),
    /// Source and target differ in bytes, or a layout leaves its memory.
    #[error("outside the memory named, or lengths or elements differ")]
    OutOfBounds,
    /// No such memory, key or attachment (any more).
    #[error("memory, key or attachment is gone")]
    Gone,
    /// The memory is not registered (DMA) or not mapped (PIO).
    #[error("memory is not registered or not mapped as this needs")]
    NotReady,
    /// No such rank.
    #[error("no such rank")]
    NoRank,
    /// The peer has died or left.
    #[error("rank {0} is gone")]
    PeerGone(Rank),
    /// The port does not do this at all: see its limits.
    #[error("this port does not do that")]
    Unsupported,
    /// The operating system forbids it.
    #[error("the operating system forbids it")]
    Forbidden,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A control message or hardware broadcast. Its payload can be taken ([`crate::Port::deliver`],
    /// [`crate::Port::peek`]) until the next `poll`.
    Control {
        /// Sender.
        from: Rank,
        /// Its four words.
        head: Head,
        /// Payload bytes.
        bytes: u64,
    },
    /// An operation is over.
    Done(Token),
    /// An operation was accepted but could not be completed.
    Failed(Token, Refusal),
    /// Exported memory of another rank went away; attachments to it are dead (W01's callback).
    /// May also come when this rank has detached already.
    Revoked(Key),
    /// A rank has died or left without being asked to.
    PeerGone(Rank),
    /// A rank has closed its port, and all that it sent was given before. Ports of real time report this; a simulation
    /// knows by itself when nobody can go on.
    PeerLeft(Rank),
}

/// Local computation, as W01's overlap experiment has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// FIXED: the processor is busy for this long, memory is not.
    Fixed(Time),
    /// As [`Work::Fixed`], and nothing is computed: a benchmark waits for its ranks' common start.
    Rest(Time),
    /// No time passes: what a benchmark counts begins or ends on this rank. Ports in virtual time account for it apart
    /// ([`crate::Counting`]).
    Mark {
        /// Which of the two.
        edge: Edge,
        /// Ranks that mark it.
        members: u32,
    },
    /// DAXPY: this many multiply-adds over two vectors of `elements` doubles, from their start again and again.
    Daxpy {
        /// Length of a vector.
        elements: u64,
        /// Multiply-adds of each thread.
        turns: u64,
        /// Threads at once, each on vectors of its own; the caller's is one of them. 0 counts as 1.
        threads: u32,
    },
    /// STRESS: so many bytes are copied within a block that no cache holds.
    Stress {
        /// Bytes read, and as many written.
        bytes: u64,
    },
    /// OWN: the program has just computed by itself, on memory of its own. A real port does nothing, because its clock
    /// saw the time pass. A simulated port lets that much time pass.
    Own {
        /// Bytes read or written in order.
        streamed: u64,
        /// Updates of single words in no order.
        scattered: u64,
    },
}

/// An end of what a benchmark counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// Its warm-up is over.
    Begins,
    /// Its last sample is.
    Ends,
}

impl Work {
    /// What it keeps the processor busy with.
    pub fn task(self) -> Task {
        match self {
            Work::Fixed(_) | Work::Daxpy { .. } | Work::Stress { .. } => Task::Compute,
            Work::Rest(_) | Work::Mark { .. } => Task::Rest,
            Work::Own { .. } => Task::Work,
        }
    }
}
