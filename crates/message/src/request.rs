//! A communication under way, and its result.

use crate::Tag;
use hotlink_port::Rank;
use serde::{Deserialize, Serialize};

/// The request of a send that was over at once.
pub(crate) const SENT: u64 = u64::MAX;

/// The result of a completed receive; a send's is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Status {
    /// The other rank.
    pub from: Rank,
    /// The message's tag.
    pub tag: Tag,
    /// Its bytes.
    pub bytes: u64,
}

/// A communication under way. It must be waited for, or it holds its place forever.
#[must_use]
#[derive(Debug)]
pub struct Request(pub(crate) u64);

impl Request {
    /// One that was over at once.
    pub(crate) fn over() -> Request {
        Request(SENT)
    }
    pub(crate) fn is_sent(&self) -> bool {
        self.0 == SENT
    }
}
