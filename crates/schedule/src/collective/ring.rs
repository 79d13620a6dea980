//! Rings: reduce-scatter, then allgather, each of as many steps as there are other ranks.

use super::lane::Lane;
use super::{Machine, Which, chunks, share};
use crate::draft::Draft;

/// Where a rank stands in a ring: itself, its neighbours, and whether the way to the next leaves the domain.
pub(super) struct Seat {
    pub position: u64,
    pub ranks: u64,
    pub before: u32,
    pub next: u32,
    pub far: bool,
    /// Pieces of a block.
    pub slices: u64,
}

/// Channel `channel`'s ring: enters each domain at its GPU of that rail, passes the domain's GPUs, goes on.
pub(super) fn seat(machine: &Machine, channel: u32, rank: u32) -> Seat {
    let Machine { ranks, domain, slices, .. } = *machine;
    let entry = channel % domain;
    let at = |position: u32| {
        let position = position % ranks;
        position / domain * domain + (entry + position % domain) % domain
    };
    let position = rank / domain * domain + (rank % domain + domain - entry) % domain;
    let next = at(position + 1);
    Seat {
        position: position.into(),
        ranks: ranks.into(),
        before: at(position + ranks - 1),
        next,
        far: next / domain != rank / domain,
        slices,
    }
}

pub(super) fn all(draft: &mut Draft, machine: &Machine, which: Which, bytes: u64) {
    let Machine { ranks, channels, chunk, slices, costs, .. } = *machine;
    // An allgather's size is what all get, as the others' is what each has: each rank's block is a part of it.
    let loop_bytes = (slices * chunk).saturating_mul(ranks.into());
    for rank in 0..ranks {
        for channel in 0..channels {
            let part = share(bytes, channel.into(), channels.into());
            let seat = seat(machine, channel, rank);
            let mut lane = Lane::new(draft, rank, channel, costs);
            lane.launch();
            for bytes in chunks(part, loop_bytes) {
                round(&mut lane, &seat, bytes, which != Which::Allgather, which != Which::ReduceScatter);
            }
        }
    }
}

/// One time round for `bytes`, in as many blocks as there are ranks: combining, then passing on.
pub(super) fn round(lane: &mut Lane<'_>, seat: &Seat, bytes: u64, combines: bool, gathers: bool) {
    let &Seat { position, ranks, .. } = seat;
    let block = |index: u64| share(bytes, index % ranks, ranks);
    let (first, steps) = (position + ranks, ranks - 1);
    if combines {
        start(lane, seat, block(first));
        (1..=steps).for_each(|step| pass(lane, seat, block(first - step), step < steps, Lane::reduce));
    }
    if gathers {
        // After combining, the block after its own is whole here; else its own is.
        let first = first + u64::from(combines);
        start(lane, seat, block(first));
        (1..=steps).for_each(|step| pass(lane, seat, block(first - step), step < steps, Lane::copy));
    }
}

fn slices(seat: &Seat, block: u64) -> impl Iterator<Item = u64> {
    let count = seat.slices.min(block.max(1));
    (0..count).map(move |index| share(block, index, count))
}

fn start(lane: &mut Lane<'_>, seat: &Seat, block: u64) {
    slices(seat, block).for_each(|bytes| lane.send_by(seat.next, bytes, seat.far));
}

/// Takes a block, works on it, and hands it on unless it is the last.
fn pass<'a>(lane: &mut Lane<'a>, seat: &Seat, block: u64, goes_on: bool, work: fn(&mut Lane<'a>, u64)) {
    for bytes in slices(seat, block) {
        lane.recv(seat.before, bytes);
        work(lane, bytes);
        if goes_on {
            lane.send_by(seat.next, bytes, seat.far);
        }
    }
}
