//! A lane: each rank's part in reductions, which it alone writes and the others read. All-zero memory is a lane that
//! was never used. See [`super::reduce`].

use std::sync::atomic::AtomicU64;

/// Notes of a lane, used in turn.
pub(crate) const NOTES: u64 = 64;
/// Bytes that travel inside a note.
pub(crate) const TINY: u64 = 48;
/// Most bytes that every rank gets whole from every other; a lane has room for several such blocks, used in turn.
pub(crate) const FLAT: u64 = 8 << 10;
pub(crate) const FLATS: u64 = 4;
/// Bytes that are staged at a time, in two places that are used in turn: half of a core's own cache, or less.
pub(crate) const BLOCK: u64 = 128 << 10;

/// That the rank has begun a reduction, and with what.
#[repr(C, align(64))]
pub(crate) struct Note {
    /// The reduction's number, from 1 on; written last.
    pub(crate) number: AtomicU64,
    /// Operation, share and bytes: the same on all ranks.
    pub(crate) what: u64,
    /// The elements if they fit, else where they are if that is in a segment.
    pub(crate) words: [u64; TINY as usize / 8],
}

/// A counter in a line of its own.
#[repr(C, align(64))]
pub(crate) struct Counter(pub(crate) AtomicU64);

/// A rank's lane.
#[repr(C, align(4096))]
pub(crate) struct Lane {
    pub(crate) notes: [Note; NOTES as usize],
    /// Reductions that the rank is done with; of tiny ones it reports only some.
    pub(crate) done: Counter,
    /// The last reduction of which it has combined its part straight from and to the segments of others.
    pub(crate) finished: Counter,
    /// 1 while it reads or writes those.
    pub(crate) holding: Counter,
    /// Blocks that it has staged, and those that it has combined, over all reductions.
    pub(crate) staged: Counter,
    pub(crate) combined: Counter,
    pub(crate) flat: [[u8; FLAT as usize]; FLATS as usize],
    /// Elements for others, and combined ones.
    pub(crate) stage: [[u8; BLOCK as usize]; 2],
    pub(crate) result: [[u8; BLOCK as usize]; 2],
}
