//! What a communicator may choose, and what it counts.

use crate::cache::Policy;
use serde::{Deserialize, Serialize};

/// Choices that a port's limits leave open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Longest eager message.
    pub eager_bytes: u64,
    /// Longest piece of a rendezvous through buffers.
    pub piece_bytes: u64,
    /// Shortest rendezvous without buffers; [`u64::MAX`]: none.
    pub zero_copy_bytes: u64,
    /// Which set-ups are released when resources run out.
    pub policy: Policy,
}

/// What the protocols did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Messages sent eagerly.
    pub eager: u64,
    /// Messages sent by rendezvous through buffers.
    pub pieces: u64,
    /// Messages that this rank fetched from the sender's memory.
    pub fetched: u64,
    /// Messages that this rank deposited into the receiver's memory.
    pub deposited: u64,
    /// Of those, into receives that were announced before the message.
    pub early: u64,
    /// Messages that came before their receive.
    pub unexpected: u64,
}

impl Options {
    /// What suits a port.
    pub fn of(limits: &hotlink_port::Limits) -> Options {
        Options {
            eager_bytes: limits.control_bytes_max.min(16 << 10),
            piece_bytes: limits.control_bytes_max,
            zero_copy_bytes: limits.registration.zero_copy_min,
            policy: Policy::default(),
        }
    }
}
