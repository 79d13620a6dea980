//! Reductions straight from and to the segments of all ranks.
#![allow(unsafe_code)]

use super::piece::piece;
use super::{CHUNK, Current, Reductions, Stage, Went};
use crate::combine::combine;
use crate::copy;
use hotlink_port::{Operation, Refusal, Share};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{Acquire, SeqCst};
use std::sync::atomic::fence;

/// Bytes that a rank combines from one poll to the next.
const SLICE: u64 = 256 << 10;

impl Reductions {
    /// Whether all elements and results are in segments: the same answer on all ranks.
    pub(super) fn is_direct(&self, share: Share) -> bool {
        (0..self.ranks()).all(|rank| {
            let places = self.places(rank);
            let gets = share == Share::All || share == Share::Root(rank);
            places[0] > 0 && (!gets || places[3] > 0)
        })
    }
    /// Where `bytes` are that another rank has at a place.
    fn start(&self, place: &[u64], bytes: u64) -> Result<*mut u8, Refusal> {
        let (piece, piece_bytes, at) = (place[0], place[1], place[2]);
        let inside =
            at.checked_sub(piece).and_then(|from| from.checked_add(bytes)).is_some_and(|end| end <= piece_bytes);
        if !inside {
            return Err(Refusal::OutOfBounds);
        }
        let start = self.world.block().piece(piece, piece_bytes).map_err(|_| Refusal::NoMemory)?;
        Ok(start.wrapping_add((at - piece) as usize))
    }
    /// Finds every rank's elements, and the places where this rank's part of the result goes.
    fn find_spans(&mut self, current: &Current) -> Result<(), Refusal> {
        let (mut sources, mut targets) = (std::mem::take(&mut self.sources), std::mem::take(&mut self.targets));
        sources.clear();
        targets.clear();
        for rank in 0..self.ranks() {
            let places = self.places(rank);
            let own = rank == self.rank;
            sources.push(if own { current.from } else { self.start(&places[..3], current.bytes)?.cast_const() });
            match current.share {
                Share::All | Share::Parts if own => targets.push(current.to),
                Share::Root(root) if own && root == rank => targets.push(current.to),
                Share::All => targets.push(self.start(&places[3..], current.bytes)?),
                Share::Root(root) if root == rank => targets.push(self.start(&places[3..], current.bytes)?),
                _ => {}
            }
        }
        (self.sources, self.targets) = (sources, targets);
        Ok(())
    }
    /// Combines a slice of this rank's part.
    pub(super) fn go_on_directly(&mut self, current: &Current, done: u64, deaths: u32) -> Went {
        if done == 0
            && let Err(refusal) = self.find_spans(current)
        {
            return Went::Over(Err(refusal));
        }
        let share = if current.share == Share::Parts { Share::Parts } else { Share::All };
        let part = piece((share, current.bytes, u64::MAX), (self.rank, self.ranks()), 0);
        let bytes = (part.bytes - done).min(SLICE);
        if bytes > 0 {
            // A rank that learns of a death gives up, and may use its memory again once no rank holds it. So a rank
            // that holds some checks for deaths after it has said so, and goes on only if it knows them all.
            self.tell(|lane| &lane.holding, 1);
            fence(SeqCst);
            let alive = self.world.deaths().load(Acquire) == deaths;
            if alive {
                let into = if share == Share::Parts { done } else { part.at + done };
                self.combine_slice(current.operation, part.at + done, into, bytes);
            }
            self.tell(|lane| &lane.holding, 0);
            if !alive {
                return Went::Waits;
            }
        }
        if done + bytes < part.bytes {
            self.set(Stage::Direct(done + bytes));
        } else {
            self.tell(|lane| &lane.finished, self.begun);
            self.set(Stage::Finish);
        }
        Went::On
    }
    /// Combines all ranks' bytes from `at` on into every target, from `into` on.
    fn combine_slice(&mut self, operation: Operation, at: u64, into: u64, bytes: u64) {
        let (sources, targets, ranks) = (&self.sources, &self.targets, self.sources.len());
        let second = targets.get(1).copied().unwrap_or(null_mut());
        let mut done = 0;
        while done < bytes {
            let len = if ranks == 2 { bytes } else { (bytes - done).min(CHUNK as u64) };
            let source = |rank: usize| sources[rank].wrapping_add((at + done) as usize);
            let target =
                |start: *mut u8| if start.is_null() { start } else { start.wrapping_add((into + done) as usize) };
            let mut left = source(0);
            // SAFETY: inside every rank's elements and results, which stay in place while this rank holds them. Of this
            // part of them this rank alone writes anything, and each byte of a source is read before it is written.
            unsafe {
                for rank in 1..ranks - 1 {
                    let chunk = self.chunk.get().cast::<u8>();
                    combine(operation, left, source(rank), chunk, null_mut(), len);
                    left = chunk;
                }
                combine(operation, left, source(ranks - 1), target(targets[0]), target(second), len);
                for &more in targets.iter().skip(2) {
                    copy::row(target(targets[0]), target(more), len);
                }
            }
            done += len;
        }
    }
}
