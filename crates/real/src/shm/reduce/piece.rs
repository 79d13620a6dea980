//! How a reduction is cut: into blocks that follow each other, and each block into pieces that the ranks combine.

use hotlink_port::{Rank, Share};

/// A rank's part of a block: where it begins in the elements, and in the block's place; its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) at: u64,
    pub(super) spot: u64,
    pub(super) bytes: u64,
}

/// Blocks of a reduction.
pub(super) fn blocks((share, bytes, block): (Share, u64, u64), ranks: u32) -> u64 {
    match share {
        Share::Parts => (bytes / u64::from(ranks)).div_ceil(per_rank(block, ranks)),
        Share::All | Share::Root(_) => bytes.div_ceil(block),
    }
}

/// Bytes of each rank's part in a block.
fn per_rank(block: u64, ranks: u32) -> u64 {
    block / u64::from(ranks) / LINE * LINE
}

/// Ranks share elements in whole lines.
const LINE: u64 = 64;

/// The piece of a block that `rank` combines.
pub(super) fn piece((share, bytes, block): (Share, u64, u64), (rank, ranks): (Rank, u32), number: u64) -> Piece {
    let (rank, ranks64) = (u64::from(rank), u64::from(ranks));
    if share == Share::Parts {
        let (part, each) = (bytes / ranks64, per_rank(block, ranks));
        let from = number * each;
        return Piece { at: rank * part + from, spot: rank * each, bytes: part.saturating_sub(from).min(each) };
    }
    let start = number * block;
    let len = bytes.saturating_sub(start).min(block);
    let (first, end) = match share {
        Share::Root(root) => (0, if rank == u64::from(root) { len } else { 0 }),
        _ => {
            let lines = len.div_ceil(LINE);
            let (each, more) = (lines / ranks64, lines % ranks64);
            let first = rank * each + rank.min(more);
            let end = first + each + u64::from(rank < more);
            ((first * LINE).min(len), (end * LINE).min(len))
        }
    };
    Piece { at: start + first, spot: first, bytes: end - first }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shm::lane::BLOCK;
    use proptest::prelude::*;

    proptest! {
        /// The pieces of all ranks and blocks are all elements, once each, and lie in their places without overlap.
        #[test]
        fn pieces_are_the_whole(words in 0u64..70_000, ranks in 2u32..17, kind in 0u8..3) {
            let share = [Share::All, Share::Root(1), Share::Parts][usize::from(kind)];
            let bytes = if share == Share::Parts { 8 * (words / 4) * u64::from(ranks) } else { 8 * words };
            for block in [BLOCK, u64::MAX] {
                let of = (share, bytes, block);
                let mut all = Vec::new();
                for number in 0..blocks(of, ranks) {
                    let mut pieces: Vec<Piece> = (0..ranks).map(|rank| piece(of, (rank, ranks), number)).collect();
                    all.extend(pieces.iter().map(|piece| (piece.at, piece.at + piece.bytes)));
                    pieces.retain(|piece| piece.bytes > 0);
                    prop_assert!(pieces.is_sorted_by(|a, b| a.spot + a.bytes <= b.spot));
                    prop_assert!(pieces.iter().all(|piece| piece.bytes % 8 == 0 && piece.spot.checked_add(piece.bytes).is_some_and(|end| end <= block)));
                }
                all.retain(|(from, to)| from < to);
                all.sort_unstable();
                let ends = all.iter().map(|piece| piece.1);
                let starts: Vec<u64> = std::iter::once(0).chain(ends).collect();
                prop_assert!(all.iter().zip(&starts).all(|(piece, &start)| piece.0 == start));
                prop_assert_eq!(starts.last().copied(), Some(bytes));
            }
        }
    }
}
