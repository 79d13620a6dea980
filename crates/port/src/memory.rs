//! Names for memory: a rank's own ([`Memory`], [`Span`]), and remote memory as W01 distinguishes it. That is exported
//! ([`Key`]) and imported ([`Attachment`], mapped for PIO or only connected for DMA).

use crate::Rank;
use serde::{Deserialize, Serialize};

/// A block of this rank's memory, allocated through [`crate::Host::alloc`]. Never reused after it is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Memory(pub u64);

/// What memory is good for (W01's allocation attribute `type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The kind that the port moves fastest without special care: shared if it has it, else private.
    #[default]
    Default,
    /// A regular segment: other ranks may map it.
    Shared,
    /// Ordinary user memory: must be registered before another rank may reach it, where the limits say so.
    Private,
    /// A length without bytes (simulation only): it can be sent, received and charged for, never read.
    Ghost,
}

/// W01's allocation attribute `alignment`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Align {
    /// What the port moves best (a page for private memory).
    #[default]
    Default,
    /// Any address.
    None,
    /// This many bytes, a power of two.
    Bytes(u64),
}

/// Which bytes, relative to a starting offset: `count` blocks of `block` bytes, their starts `stride` bytes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Layout {
    /// Bytes of a block.
    pub block: u64,
    /// Blocks.
    pub count: u64,
    /// Bytes from one block's start to the next's; at least `block` when there are several.
    pub stride: u64,
}

impl Layout {
    /// `bytes` in a row.
    #[inline]
    pub fn contiguous(bytes: u64) -> Layout {
        Layout { block: bytes, count: 1, stride: bytes }
    }
    /// `count` blocks of `block` bytes every `stride` bytes; contiguous if they touch.
    ///
    /// # Panics
    /// If blocks overlap (`stride < block` with several blocks).
    pub fn strided(block: u64, count: u64, stride: u64) -> Layout {
        assert!(count <= 1 || stride >= block, "blocks of {block} B every {stride} B overlap");
        if count == 0 || block == 0 {
            return Layout::contiguous(0);
        }
        if stride == block || count == 1 {
            return Layout::contiguous(block * count);
        }
        Layout { block, count, stride }
    }
    /// Payload bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.block * self.count
    }
    /// Bytes from the first byte to one past the last.
    #[inline]
    pub fn extent(&self) -> u64 {
        if self.bytes() == 0 { 0 } else { (self.count - 1) * self.stride + self.block }
    }
    /// Whether the bytes lie in a row.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.count <= 1 || self.stride == self.block
    }
    /// Maps `len` bytes of the packed stream from byte `at` to runs `(offset in memory, length)`, in order.
    pub fn runs(&self, at: u64, len: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
        let layout = *self;
        let end = (at + len).min(layout.bytes());
        let mut at = at;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let (block, within) = (at / layout.block, at % layout.block);
            let run = (layout.block - within).min(end - at);
            at += run;
            Some((block * layout.stride + within, run))
        })
    }
}

/// Some bytes of this rank's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// Whose bytes.
    pub memory: Memory,
    /// Byte at which the layout starts.
    pub offset: u64,
    /// Which bytes from there.
    pub layout: Layout,
}

impl Span {
    /// `bytes` in a row from `offset`.
    #[inline]
    pub fn new(memory: Memory, offset: u64, bytes: u64) -> Span {
        Span { memory, offset, layout: Layout::contiguous(bytes) }
    }
    /// Payload bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.layout.bytes()
    }
    /// The part of the packed stream from byte `at`, `len` bytes. `None` unless it starts and ends on whole blocks; any
    /// part of a contiguous span does.
    pub fn part(&self, at: u64, len: u64) -> Option<Span> {
        let l = self.layout;
        if l.is_contiguous() {
            return Some(Span::new(self.memory, self.offset + at, len));
        }
        let whole = at.is_multiple_of(l.block) && len.is_multiple_of(l.block);
        let offset = self.offset + at / l.block * l.stride;
        whole.then(|| Span { memory: self.memory, offset, layout: Layout::strided(l.block, len / l.block, l.stride) })
    }
}

/// Names exported memory to other ranks: what registering gives, and what travels in control messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// Whose memory.
    pub rank: Rank,
    /// Which export of that rank. Never reused, so a stale key is refused and not mistaken.
    pub id: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// Imported remote memory: a mapping (PIO and DMA) or a connection (DMA only).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attachment(pub u64);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The runs of any part of a layout are disjoint, rising, inside the extent, and add up to the part.
        #[test]
        fn runs_cover_the_part(block in 1u64..40, count in 0u64..20, gap in 0u64..30, at in 0u64..900, len in 0u64..900) {
            let layout = Layout::strided(block, count, block + gap);
            let mut next = 0;
            let mut total = 0;
            for (offset, run) in layout.runs(at, len) {
                prop_assert!(run > 0 && offset >= next);
                next = offset + run;
                total += run;
            }
            prop_assert!(next <= layout.extent());
            prop_assert_eq!(total, layout.bytes().min(at + len).saturating_sub(at));
        }
    }

    #[test]
    fn touching_blocks_are_contiguous() {
        assert_eq!(Layout::strided(8, 4, 8), Layout::contiguous(32));
        assert_eq!(Layout::strided(8, 0, 16).extent(), 0);
        assert_eq!(Layout::strided(8, 4, 16).extent(), 56);
    }
}
