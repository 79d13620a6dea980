//! The tags of the collectives' own messages, and which call a message belongs to.

use crate::Tag;
use crate::wire::Context;
use hotlink_port::Call;

/// Bits of a tag that name the collective. Above them is the number of the call, where several may be under way: messages
/// between two ranks keep their order, so neither rounds nor calls one after the other need numbers.
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

/// The call that a message of a context and tag belongs to: `own`, if it is one of the program's.
pub(crate) fn call(own: Call, context: Context, tag: Option<Tag>) -> Call {
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
    match tag {
        Some(tag) if context.is_collective() => CALLS.get(tag as usize % (1 << BITS)).copied().unwrap_or(Call::Region),
        _ => own,
    }
}
