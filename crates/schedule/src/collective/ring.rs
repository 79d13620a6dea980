//! Rings: reduce-scatter, then allgather, each of as many steps as there are other ranks.

use super::lane::Lane;
use super::{Home, Machine, Which, chunks, share};
use crate::draft::Draft;

/// Where a rank stands in a ring: itself, and its neighbours.
pub(super) struct Seat {
    pub position: u64,
    pub ranks: u64,
    pub before: u32,
    pub next: u32,
    /// Whether the message to the next leaves the domain, and whether that of the one before comes from another.
    pub far: bool,
    /// See above.
    pub from_far: bool,
    /// Pieces of a block, and the least bytes of one.
    pub slices: u64,
    pub least: u64,
    /// Bytes that it passes on at once within the domain; 0: whole pieces.
    pub line: u64,
}

/// The place, counted from the channel's entry, of the GPU that is number `at` of its domain. In a mesh the rings of as
/// many channels as there are GPUs zigzag, so that together they use every link once (Walecki's paths).
pub(super) fn step(machine: &Machine, at: u32) -> u32 {
    match machine.wiring.mesh {
        true if at % 2 == 1 => at.div_ceil(2),
        true => (machine.domain - at / 2) % machine.domain,
        false => at,
    }
}

/// Rings of a domain that is a mesh and stands alone, of an even number of GPUs. So many together use every link twice
/// each way. `None` for other domains.
fn closed(machine: &Machine) -> Option<u32> {
    let Machine { ranks, domain, wiring, .. } = *machine;
    (wiring.mesh && ranks == domain && domain >= 4 && domain.is_multiple_of(2)).then_some(2 * (domain - 1))
}

/// The GPU at a place of the closed ring of a channel: the last GPU, then the others in a zigzag. Each ring has another
/// start, and every second ring runs backwards. (RCCL's rings of eight GPUs, `src/graph/rome_models.cc`, cover the
/// links alike.)
fn around(machine: &Machine, channel: u32, place: u32) -> u32 {
    let others = machine.domain - 1;
    let place = if channel.is_multiple_of(2) { place } else { (machine.domain - place) % machine.domain };
    let zigzag = |at: u32| if at % 2 == 1 { at.div_ceil(2) } else { others - at / 2 };
    if place == 0 { others } else { (channel / 2 + zigzag(place - 1)) % others }
}

/// Channels of a ring collective: whole sets where only a set uses all links alike.
pub(super) fn rings(machine: &Machine) -> u32 {
    match closed(machine) {
        Some(set) if machine.channels >= set => machine.channels - machine.channels % set,
        _ => machine.channels,
    }
}

/// A GPU of a mesh by a number that is turned for the last two of an odd number of domains. A zigzag from GPU x ends at its
/// opposite, x plus half. So an odd number of domains would end a ring opposite to where it began. Numbers turned in these two
/// ways make other pairs opposite, and by all three kinds of pairs, one after the other, a ring comes back.
fn turned(domain: u32, turn: u32, number: u32) -> u32 {
    let half = domain / 2;
    let (pair, side) = (number % half, number / half);
    match turn {
        0 => number,
        1 => ((pair & !1) | side) + half * (pair & 1),
        _ => ((pair & !1) | side) + half * ((pair & 1) ^ side),
    }
}

/// Which way numbers are turned in a domain. Of meshes of 6 or 10 GPUs, no pairs do.
fn turn(machine: &Machine, home: u32) -> u32 {
    let domains = machine.ranks / machine.domain;
    let is_odd = machine.wiring.mesh && domains >= 3 && domains % 2 == 1 && machine.domain.is_multiple_of(4);
    if is_odd { (home + 3).saturating_sub(domains) } else { 0 }
}

/// Channel `channel`'s ring: enters each domain at its GPU of that rail, passes the domain's GPUs, goes on. Where rails
/// are joined, it enters the next domain on the rail on which it leaves this one. So it does in a mesh: the way back to
/// the rail on which it came would load a link twice.
fn seat(machine: &Machine, channel: u32, rank: u32) -> Seat {
    let Machine { ranks, domain, slices, wiring, .. } = *machine;
    let least = machine.least_slice();
    let shift = if wiring.joined || wiring.mesh { step(machine, domain - 1) } else { 0 };
    let straight = |home: u32| ((u64::from(channel) + u64::from(home) * u64::from(shift)) % u64::from(domain)) as u32;
    // The number, as the domain turns them, of the GPU at which the ring enters it.
    let entry = |home: u32| {
        let unturned =
            |turn: u32, gpu: u32| (0..domain).find(|&number| turned(domain, turn, number) == gpu).unwrap_or(gpu);
        match turn(machine, home) {
            0 => straight(home),
            1 => unturned(1, straight(home)),
            _ => unturned(2, turned(domain, 1, (unturned(1, straight(home - 1)) + shift) % domain)),
        }
    };
    let at = |position: u32| {
        let position = position % ranks;
        if closed(machine).is_some() {
            return around(machine, channel, position);
        }
        let home = position / domain;
        let number = (entry(home) + step(machine, position % domain)) % domain;
        home * domain + if domain > 1 { turned(domain, turn(machine, home), number) } else { number }
    };
    let home = rank / domain;
    let own = (0..domain).find(|&place| at(home * domain + place) == rank).unwrap_or(0);
    let position = home * domain + own;
    let [before, next] = [ranks - 1, 1].map(|by| at(position + by));
    Seat {
        position: position.into(),
        ranks: ranks.into(),
        before,
        next,
        far: next / domain != home,
        from_far: before / domain != home,
        slices,
        least,
        line: machine.costs.line.into(),
    }
}

/// The rings of all channels; the GPUs are at `homes`, domain by domain.
pub(super) fn all(draft: &mut Draft, machine: &Machine, homes: &[Home], which: Which, bytes: u64) {
    of_channels(draft, machine, bytes, |lane, channel, rank, part| {
        turns(lane, machine, &seat_at(machine, homes, channel, rank), which, part);
    });
}

/// A chain along the ring of every channel, from a GPU, or to it where data are combined.
pub(super) fn chains(draft: &mut Draft, machine: &Machine, homes: &[Home], (which, root): (Which, u32), bytes: u64) {
    of_channels(draft, machine, bytes, |lane, channel, rank, part| {
        let [own, root] = [rank, root].map(|rank| seat_at(machine, homes, channel, rank));
        chain(lane, machine, [&own, &root], which, part);
    });
}

/// Every GPU's work on each channel of its rings, which has a part of the bytes.
fn of_channels(draft: &mut Draft, machine: &Machine, bytes: u64, work: impl Fn(&mut Lane<'_>, u32, u32, u64)) {
    let channels = rings(machine);
    for rank in 0..machine.ranks {
        for channel in 0..channels {
            let mut lane = Lane::new(draft, rank, channel, machine.costs);
            lane.launch();
            work(&mut lane, channel, rank, share(bytes, channel.into(), channels.into()));
        }
    }
}

/// What a GPU does in a chain from another or, where data are combined, to it.
fn chain(lane: &mut Lane<'_>, machine: &Machine, [own, root]: [&Seat; 2], which: Which, bytes: u64) {
    let (many, combines) = (own.ranks, which == Which::Reduce);
    let first = root.position + u64::from(combines);
    let place = (own.position + many - first % many) % many;
    let (takes, gives) = (place > 0, place + 1 < many);
    let work = if combines { Lane::reduce } else { Lane::copy };
    // Finer lines would shorten a chain's fill by less than an eighth of the time that the bytes take.
    let seat = Seat { line: line(own.line, bytes / many), ..*own };
    chunks(bytes, machine.chunk).for_each(|bytes| hand_on(lane, &seat, bytes, [takes, gives], work));
}

/// Finer pieces than so many of what passes would gain little.
pub(super) const FINE: u64 = 8;

/// The lines in which a piece is passed on: no finer than worth it of `all` bytes. 0: pieces stay whole.
pub(super) fn line(line: u64, all: u64) -> u64 {
    if line > 0 { line.max(all.div_ceil(FINE)) } else { 0 }
}

/// Takes a piece, works on it, and hands it on. Within the domain lines follow one another where they have flags of
/// their own; a proxy hands over whole pieces.
fn hand_on<'a>(lane: &mut Lane<'a>, seat: &Seat, bytes: u64, [takes, gives]: [bool; 2], work: fn(&mut Lane<'a>, u64)) {
    let &Seat { before, next, far, from_far, line, .. } = seat;
    let line = if line > 0 { line } else { bytes.max(1) };
    if takes && from_far {
        lane.take(before, bytes, true);
    }
    for bytes in lines(bytes, line) {
        if takes && !from_far {
            lane.take(before, bytes, false);
        }
        if takes {
            work(lane, bytes);
        }
        if gives && !far {
            lane.give(next, bytes, false);
        }
    }
    if gives && far {
        lane.give(next, bytes, true);
    }
}

/// The lines of a piece; one, of no bytes, of an empty one.
fn lines(bytes: u64, line: u64) -> impl Iterator<Item = u64> {
    let count = bytes.div_ceil(line).max(1);
    (0..count).map(move |index| line.min(bytes - index * line))
}

/// A GPU's seat in a channel's ring. GPUs of one host may each be a domain of their own.
fn seat_at(machine: &Machine, homes: &[Home], channel: u32, rank: u32) -> Seat {
    let seat = seat(machine, channel, rank);
    let host = |rank: u32| homes[rank as usize].host;
    let [from_far, far] = [seat.before, seat.next].map(|other| host(other) != host(rank));
    Seat { far, from_far, ..seat }
}

/// As many times round as a channel's part of the bytes needs.
fn turns(lane: &mut Lane<'_>, group: &Machine, seat: &Seat, which: Which, bytes: u64) {
    // An allgather's size is what all get, as the others' is what each has: each rank's block is a part of it.
    let loop_bytes = (group.slices * group.chunk).saturating_mul(group.ranks.into());
    for bytes in chunks(bytes, loop_bytes) {
        round(lane, seat, bytes, which != Which::Allgather, which != Which::ReduceScatter);
    }
}

/// One time round for `bytes`, in as many blocks as there are ranks: combining, then passing on.
pub(super) fn round(lane: &mut Lane<'_>, seat: &Seat, bytes: u64, combines: bool, gathers: bool) {
    let &Seat { position, ranks, .. } = seat;
    let block = |index: u64| share(bytes, index % ranks, ranks);
    let (first, steps) = (position + ranks, ranks - 1);
    if combines {
        start(lane, seat, block(first));
        // The last block is whole here, and goes on at once (NCCL's `src/device/all_reduce.h`, `recvReduceCopySend`).
        let goes_on = |step: u64| step < steps || gathers;
        (1..=steps).for_each(|step| pass(lane, seat, block(first - step), goes_on(step), Lane::reduce));
    }
    if gathers {
        // After combining, the block after its own is whole here; else its own is.
        let first = first + u64::from(combines);
        if !combines {
            start(lane, seat, block(first));
        }
        (1..=steps).for_each(|step| pass(lane, seat, block(first - step), step < steps, Lane::copy));
    }
}

fn slices(seat: &Seat, block: u64) -> impl Iterator<Item = u64> {
    let count = seat.slices.min(block.div_ceil(seat.least)).max(1);
    (0..count).map(move |index| share(block, index, count))
}

fn start(lane: &mut Lane<'_>, seat: &Seat, block: u64) {
    along(lane, seat, block, [false, true], Lane::copy);
}

/// Takes a block, works on it, and hands it on unless it is the last.
fn pass<'a>(lane: &mut Lane<'a>, seat: &Seat, block: u64, goes_on: bool, work: fn(&mut Lane<'a>, u64)) {
    along(lane, seat, block, [true, goes_on], work);
}

fn along<'a>(lane: &mut Lane<'a>, seat: &Seat, block: u64, ends: [bool; 2], work: fn(&mut Lane<'a>, u64)) {
    let seat = Seat { line: line(seat.line, block), ..*seat };
    slices(&seat, block).for_each(|bytes| hand_on(lane, &seat, bytes, ends, work));
}

#[cfg(test)]
mod tests {
    use super::super::{Costs, PeerChannels, Wiring};
    use super::*;

    fn machine(wiring: Wiring) -> Machine {
        let (peer, costs) = (PeerChannels::default(), Costs::default());
        Machine {
            ranks: 24,
            domain: 8,
            channels: 8,
            peer,
            chunk: 1,
            slices: 1,
            costs,
            wiring,
            switch: false,
            rails: None,
            uneven: None,
        }
    }

    /// Which GPU sends to which, over all channels.
    fn arcs(machine: &Machine) -> Vec<(u32, u32)> {
        let of = |channel| (0..machine.ranks).map(move |rank| (rank, seat(machine, channel, rank).next));
        (0..machine.channels).flat_map(of).collect()
    }

    #[test]
    fn rings_pass_every_gpu_and_know_who_is_before_them() {
        for (ranks, mesh, joined) in
            [(24, false, false), (24, false, true), (24, true, false), (24, true, true), (8, true, false)]
        {
            let wiring = (mesh, joined);
            let machine = Machine { ranks, ..machine(Wiring { mesh, joined }) };
            for channel in 0..16 {
                let seats: Vec<Seat> = (0..ranks).map(|rank| seat(&machine, channel, rank)).collect();
                let mut seen = [false; 24];
                let mut rank = 0;
                for _ in 0..ranks {
                    assert!(!std::mem::replace(&mut seen[rank], true), "{wiring:?}");
                    let next = seats[rank].next as usize;
                    assert_eq!(seats[next].before as usize, rank);
                    rank = next;
                }
            }
        }
    }

    #[test]
    fn rings_of_a_mesh_use_every_link_of_a_domain_once() {
        let machine = machine(Wiring { mesh: true, joined: false });
        let inside = |from: u32, to: u32| arcs(&machine).iter().filter(|arc| **arc == (from, to)).count();
        for from in 0..8 {
            let uses: Vec<usize> = (0..8).filter(|&to| to != from).map(|to| inside(from, to)).collect();
            assert_eq!(uses, [1; 7], "{from}");
        }
    }

    #[test]
    fn rings_of_meshes_load_no_link_twice() {
        for domains in 2..=9 {
            let machine = Machine { ranks: 8 * domains, ..machine(Wiring { mesh: true, joined: false }) };
            let mut arcs = arcs(&machine);
            assert!(arcs.iter().all(|(from, to)| from / 8 == to / 8 || from % 8 == to % 8), "{domains}");
            arcs.sort_unstable();
            let all = arcs.len();
            arcs.dedup();
            assert_eq!(arcs.len(), all, "{domains}");
        }
    }

    #[test]
    fn closed_rings_of_a_mesh_use_every_link_alike() {
        for (domain, channels) in [(4, 6), (6, 10), (8, 28), (16, 30)] {
            let machine = Machine { ranks: domain, domain, channels, ..machine(Wiring { mesh: true, joined: false }) };
            assert_eq!(rings(&machine), channels);
            let arcs = arcs(&machine);
            for (from, to) in (0..domain).flat_map(|from| (0..domain).map(move |to| (from, to))) {
                let uses = arcs.iter().filter(|arc| **arc == (from, to)).count() as u32;
                assert_eq!(uses, if from == to { 0 } else { channels / (domain - 1) }, "{domain}: {from} to {to}");
            }
        }
        let some = |channels| Machine { ranks: 8, channels, ..machine(Wiring { mesh: true, joined: false }) };
        assert_eq!([5, 16, 32].map(|channels| rings(&some(channels))), [5, 14, 28]);
    }

    #[test]
    fn rings_over_joined_rails_leave_a_domain_on_the_rail_on_which_they_enter_the_next() {
        let machine = machine(Wiring { mesh: false, joined: true });
        let arcs = arcs(&machine);
        let far: Vec<_> = arcs.iter().filter(|(from, to)| from / 8 != to / 8).collect();
        // Three domains: two crossings on the rail, and one that closes the ring.
        assert_eq!(far.len(), 24);
        assert_eq!(far.iter().filter(|(from, to)| from % 8 == to % 8).count(), 16);
    }
}
