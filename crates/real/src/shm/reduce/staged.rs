//! Reductions of memory that other ranks cannot reach, block by block through the lanes.
#![allow(unsafe_code)]

use super::piece::{Piece, blocks, piece};
use super::{CHUNK, Current, Reductions, Stage, Step, Went};
use crate::combine::combine;
use crate::copy;
use crate::shm::lane::BLOCK;
use hotlink_port::{Rank, Share};
use std::ptr::null_mut;

impl Reductions {
    /// Goes on with a block: copies in the elements that others combine, combines this rank's piece, copies out theirs.
    /// A block's copy in comes before the combination of the block before it, so that no rank waits for one that is a
    /// step behind.
    pub(super) fn go_on_staging(&mut self, current: &Current, block: u64, step: Step) -> Went {
        let (share, of) = (current.share, (current.share, current.bytes, BLOCK));
        let (ranks, count) = (self.ranks(), blocks(of, self.ranks()));
        let number = self.blocks + block;
        let mine = piece(of, (self.rank, ranks), block);
        let ready = match step {
            _ if block >= count => true,
            // The block in its place, the one before the last, is combined.
            Step::Stage => self.have_all(|lane| &lane.combined, number.saturating_sub(1)),
            // A rank that has staged a block has taken the one before the last.
            Step::Combine => mine.bytes == 0 || self.have_all(|lane| &lane.staged, number + 1),
            Step::Take => share != Share::All || self.have_all(|lane| &lane.combined, number + 1),
        };
        if !ready {
            return Went::Waits;
        }
        let next = match step {
            Step::Stage => {
                if block < count {
                    self.stage(current, block);
                    self.tell(|lane| &lane.staged, number + 1);
                }
                if block == 0 { (1, Step::Stage) } else { (block - 1, Step::Combine) }
            }
            Step::Combine => {
                if mine.bytes > 0 {
                    self.combine_block(current, mine, number);
                }
                self.tell(|lane| &lane.combined, number + 1);
                (block, Step::Take)
            }
            Step::Take => {
                if share == Share::All {
                    self.take(current, block);
                }
                if block + 1 == count {
                    self.blocks += count;
                    return Went::Over(Ok(()));
                }
                (block + 2, Step::Stage)
            }
        };
        self.set(Stage::Staged { block: next.0, step: next.1 });
        Went::On
    }
    fn staged(&self, rank: Rank, number: u64) -> *mut u8 {
        // SAFETY: inside the lane.
        unsafe { (&raw mut (*self.lane(rank)).stage).cast::<u8>().add((number % 2 * BLOCK) as usize) }
    }
    fn result(&self, rank: Rank, number: u64) -> *mut u8 {
        // SAFETY: inside the lane.
        unsafe { (&raw mut (*self.lane(rank)).result).cast::<u8>().add((number % 2 * BLOCK) as usize) }
    }
    /// Copies the pieces of a block that others combine to this rank's lane.
    fn stage(&self, current: &Current, block: u64) {
        let (of, into) = ((current.share, current.bytes, BLOCK), self.staged(self.rank, self.blocks + block));
        for rank in (0..self.ranks()).filter(|&rank| rank != self.rank) {
            let piece = piece(of, (rank, self.ranks()), block);
            // SAFETY: inside this rank's elements, and inside a place of its lane that no rank reads now.
            unsafe { copy::row(current.from.add(piece.at as usize), into.add(piece.spot as usize), piece.bytes) };
        }
    }
    /// Combines this rank's piece of block `number`.
    fn combine_block(&self, current: &Current, mine: Piece, number: u64) {
        let source = |rank: Rank| {
            if rank == self.rank {
                return current.from.wrapping_add(mine.at as usize);
            }
            self.staged(rank, number).wrapping_add(mine.spot as usize).cast_const()
        };
        let all = current.share == Share::All;
        let into = if current.share == Share::Parts { mine.at - self.part(current) } else { mine.at };
        let target = current.to.wrapping_add(into as usize);
        let shown = if all { self.result(self.rank, number).wrapping_add(mine.spot as usize) } else { null_mut() };
        let ranks = self.ranks();
        let mut done = 0;
        while done < mine.bytes {
            let len = if ranks == 2 { mine.bytes } else { (mine.bytes - done).min(CHUNK as u64) };
            let from = |rank: Rank| source(rank).wrapping_add(done as usize);
            let place = |start: *mut u8| if start.is_null() { start } else { start.wrapping_add(done as usize) };
            let mut left = from(0);
            // SAFETY: what others staged stays until this rank reports that it has combined it. The target is this
            // rank's, and no rank reads the place in the lane any more. Each byte of a source is read before it is
            // written.
            unsafe {
                for rank in 1..ranks - 1 {
                    let chunk = self.chunk.get().cast::<u8>();
                    combine(current.operation, left, from(rank), chunk, null_mut(), len);
                    left = chunk;
                }
                combine(current.operation, left, from(ranks - 1), place(target), place(shown), len);
            }
            done += len;
        }
    }
    /// Where this rank's part begins.
    fn part(&self, current: &Current) -> u64 {
        current.bytes / u64::from(self.ranks()) * u64::from(self.rank)
    }
    /// Copies out what the others have combined of a block.
    fn take(&self, current: &Current, block: u64) {
        let of = (current.share, current.bytes, BLOCK);
        for rank in (0..self.ranks()).filter(|&rank| rank != self.rank) {
            let piece = piece(of, (rank, self.ranks()), block);
            let from = self.result(rank, self.blocks + block);
            // SAFETY: in a place of the other's lane that stays until this rank has staged the block after the next; inside
            // this rank's target.
            unsafe { copy::row(from.add(piece.spot as usize), current.to.add(piece.at as usize), piece.bytes) };
        }
    }
}
