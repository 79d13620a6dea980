//! All-to-all: each pair by itself, or by rail (a message to another domain goes to the GPU of the right rail first).

use super::lane::Lane;
use super::{Home, Machine, STAGE, Which, chunks, share};
use crate::draft::Draft;

/// What a rank has for another, of `bytes` for all.
fn part(machine: &Machine, bytes: u64, to: u32) -> u64 {
    share(bytes, to.into(), machine.ranks.into())
}

/// Each pair by itself.
pub(super) fn pairwise(draft: &mut Draft, machine: &Machine, homes: &[Home], bytes: u64) {
    for me in 0..machine.ranks {
        of_one(draft, (machine, homes), me, |_, to| part(machine, bytes, to));
    }
}

/// Parts of the others to a GPU, or from it.
pub(super) fn rooted(draft: &mut Draft, machine: &Machine, homes: &[Home], (which, root): (Which, u32), bytes: u64) {
    let part = |from: u32, to: u32| {
        let (at, other) = if which == Which::Gather { (to, from) } else { (from, to) };
        if at == root { part(machine, bytes, other) } else { 0 }
    };
    for me in 0..machine.ranks {
        of_one(draft, (machine, homes), me, part);
    }
}

/// What one GPU sends and takes where `part` is what one has for another.
fn of_one(draft: &mut Draft, (machine, homes): (&Machine, &[Home]), me: u32, part: impl Fn(u32, u32) -> u64) {
    let Machine { ranks, chunk, costs, .. } = *machine;
    let host = |rank: u32| homes[rank as usize].host;
    let is_near = (0..ranks).all(|rank| host(rank) == host(me));
    let (channels, pieces) = (machine.exchanging(), machine.of_a_pair(ranks, is_near));
    let (stride, pieces, many) = (channels as usize, pieces as usize, ranks as usize);
    // The pieces of all messages, those of the nearest rank first, go round the channels. Both ends of a pair are as far
    // from each other, so that they find the same channel.
    let slots = pieces * (many - 1);
    let piece = |slot: usize, bytes: u64| share(bytes, (slot % pieces) as u64, pieces as u64);
    for channel in 0..stride.min(slots) {
        let mut lane = Lane::new(draft, me, channel as u32, costs);
        lane.launch();
        let begun = lane.last;
        let own = || (channel..slots).step_by(stride).map(|slot| (slot, (1 + slot / pieces) as u32));
        for (slot, to) in own().map(|(slot, step)| (slot, (me + step) % ranks)) {
            let far = host(to) != host(me);
            chunks(piece(slot, part(me, to)), chunk).for_each(|bytes| lane.send_by(to, bytes, far));
        }
        let mut receiving = lane.beside_to_receive(begun);
        for (slot, from) in own().map(|(slot, step)| (slot, (me + ranks - step) % ranks)) {
            for bytes in chunks(piece(slot, part(from, me)), chunk) {
                receiving.recv(from, bytes);
                receiving.copy(bytes);
            }
        }
    }
}

pub(super) fn by_rail(draft: &mut Draft, machine: &Machine, bytes: u64) {
    let Machine { ranks, domain, channels, chunk, costs, .. } = *machine;
    let domains = ranks / domain;
    let stages = [0, STAGE, 2 * STAGE, 3 * STAGE];
    for rank in 0..ranks {
        let (own, base, home) = (rank % domain, rank / domain * domain, rank / domain);
        for channel in 0..channels {
            // A channel takes its share of each message.
            let of = |bytes: u64| share(bytes, channel.into(), channels.into());
            // All that a GPU of this domain has for a rail: a part for each domain.
            let for_rail = |rail: u32| (0..domains).map(|to| of(part(machine, bytes, to * domain + rail))).sum::<u64>();
            // From every GPU of this domain to this rail's GPU of another.
            let bundle = |to: u32| u64::from(domain) * of(part(machine, bytes, to));
            let [_, gathers, leaves, arrives] = stages.map(|stage| stage | channel as u8);
            let mut lane = Lane::new(draft, rank, channel, costs);
            lane.launch();
            let begun = lane.last;
            for rail in (1..domain).map(|step| (own + step) % domain) {
                chunks(for_rail(rail), chunk).for_each(|bytes| lane.send(base + rail, bytes));
            }
            let mut gathered = lane.beside(gathers, begun);
            for from in (1..domain).map(|step| base + (own + domain - step) % domain) {
                for bytes in chunks(for_rail(own), chunk) {
                    gathered.recv(from, bytes);
                    gathered.copy(bytes);
                }
            }
            let last = gathered.last;
            let mut between = lane.beside(leaves, last);
            between.tag = channel + u32::from(STAGE);
            for to in (1..domains).map(|step| (rank + step * domain) % ranks) {
                chunks(bundle(to), chunk).for_each(|bytes| between.send_far(to, bytes));
            }
            let mut arriving = lane.beside(arrives, begun);
            arriving.tag = channel + u32::from(STAGE);
            for from in (1..domains).map(|step| (home + domains - step) % domains * domain + own) {
                for bytes in chunks(bundle(rank), chunk) {
                    arriving.recv(from, bytes);
                    arriving.copy(bytes);
                }
            }
        }
    }
}
