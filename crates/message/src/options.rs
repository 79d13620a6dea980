//! Choices of a communicator, and its counts.

use crate::cache::Policy;
use crate::collectives::algorithm::{Algorithm, Collective};
use hotlink_port::{Align, Kind};
use serde::{Deserialize, Serialize};

/// Choices that a port's limits leave open. All ranks must choose alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Longest eager message.
    pub eager_bytes: u64,
    /// Longest piece of a rendezvous through buffers.
    pub piece_bytes: u64,
    /// Shortest rendezvous without buffers; [`u64::MAX`]: none.
    pub zero_copy_bytes: u64,
    /// Shortest message without buffers that both ranks move, each a half, if both wait for it; [`u64::MAX`]: none.
    pub halves_bytes: u64,
    /// Which registrations and attachments are released when resources run out.
    pub policy: Policy,
    /// Memory for eager messages that came before their receives, shared among the ranks that may send them. A rank's
    /// share is at least two of the longest eager messages, and at most 1 MiB.
    pub kept_bytes: u64,
    /// The kind of memory that [`crate::Comm::alloc`] gives by default. [`Kind::Default`] leaves it to the port; with
    /// any other kind, ghosts become real too.
    pub memory: Kind,
    /// How memory that [`crate::Comm::alloc`] gives is aligned.
    pub align: Align,
}

/// The promise of a send, after K98's two flavours of message passing (slides 8 and 27).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// Whichever is faster for the size: the send may or may not end before the receiver is there.
    #[default]
    Standard,
    /// Restricted semantics: no buffering. The send ends when the receive has begun, and the message goes straight to
    /// its place. K98 measures such messages as fast as the raw deposit.
    Restricted,
    /// Full postal semantics: the send ends at once whatever the receiver does, at the price of a copy of the message.
    /// Messages that are still on the way need later calls to go on: see [`crate::Comm::flush`].
    Postal,
}

/// Counts of the protocols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Messages sent eagerly.
    pub eager: u64,
    /// Messages sent by rendezvous through buffers.
    pub pieces: u64,
    /// Messages that this rank fetched from the sender's memory.
    pub fetched: u64,
    /// Of those, with the sender's help for one half.
    pub halved: u64,
    /// Messages that this rank deposited into the receiver's memory.
    pub deposited: u64,
    /// Of those, into receives that were announced before the message.
    pub early: u64,
    /// Messages that came before their receive.
    pub unexpected: u64,
    /// Bytes of eager messages that wait here for their receives, and the most there were.
    pub kept_bytes: u64,
    /// See `kept_bytes`.
    pub kept_bytes_max: u64,
    /// Short messages that announced themselves because the receiver had enough to keep.
    pub held_back: u64,
    /// Times that this rank reported to another what it had taken.
    pub credits: u64,
    /// Messages copied so that their send could end at once.
    pub buffered: u64,
    /// Messages of several blocks packed or unpacked through a buffer.
    pub packed: u64,
    /// The algorithm by which each collective ran last, in the order of [`crate::Collective::ALL`].
    pub algorithms: [Option<Algorithm>; Collective::ALL.len()],
}

impl Options {
    /// The options that suit a port.
    pub fn of(limits: &hotlink_port::Limits) -> Options {
        Options {
            // Between processes of one machine, control messages are read while they are written: a handshake would
            // only delay them.
            eager_bytes: if limits.whole_messages || (limits.real_time && limits.segments) {
                limits.control_bytes_max
            } else {
                limits.control_bytes_max.min(16 << 10)
            },
            piece_bytes: limits.control_bytes_max,
            zero_copy_bytes: limits.registration.zero_copy_min,
            // Two cores copy faster than one; an adapter's engine needs no help.
            halves_bytes: if limits.real_time && limits.segments && limits.fetch.is_some() && limits.deposit.is_some() {
                hotlink_port::HALVES_BYTES
            } else {
                u64::MAX
            },
            policy: Policy::default(),
            kept_bytes: 64 << 20,
            memory: Kind::Default,
            align: Align::Default,
        }
    }
}
