//! The tags of the collectives' own messages, and which call a message belongs to.

use crate::Tag;
use crate::wire::Context;
use hotlink_port::{Call, Note, Rank};

/// Bits of a tag that name the collective. Above them is the number of the call, where several may be under way.
/// Messages between two ranks keep their order, so neither rounds nor successive calls need numbers.
pub(crate) const BITS: u32 = 8;

pub(super) const BARRIER: Tag = 0;
pub(super) const BCAST: Tag = 1;
pub(super) const REDUCE: Tag = 2;
pub(super) const GATHER: Tag = 3;
pub(super) const SCATTER: Tag = 4;
pub(super) const ALLGATHER: Tag = 5;
pub(super) const ALLTOALL: Tag = 6;
pub(super) const SCAN: Tag = 7;
pub(super) const NEIGHBOR: Tag = 8;

/// A wait for a message of a context and tag, from or to `peer`: in the call `own`, if the message is the program's.
pub(crate) fn wait(own: Call, peer: Option<Rank>, context: Context, tag: Option<Tag>) -> Note {
    const CALLS: [Call; 9] = [
        Call::Barrier,
        Call::Bcast,
        Call::Reduce,
        Call::Gather,
        Call::Scatter,
        Call::Allgather,
        Call::Alltoall,
        Call::Reduce,
        Call::Alltoall,
    ];
    let call = match tag {
        Some(tag) if context.is_collective() => CALLS.get(tag as usize % (1 << BITS)).copied().unwrap_or(Call::Region),
        _ if context.is_internal() => Call::Internal,
        _ => own,
    };
    Note::Waits { call, peer, tag: tag.filter(|_| call == own) }
}
