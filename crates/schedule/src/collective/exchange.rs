//! All-to-all: each pair by itself, or by rail (a message to another domain goes to the GPU of the right rail first).

use super::lane::Lane;
use super::{Machine, chunks, share};
use crate::draft::Draft;

/// What a rank has for another, of `bytes` for all.
fn part(machine: &Machine, bytes: u64, to: u32) -> u64 {
    share(bytes, to.into(), machine.ranks.into())
}

pub(super) fn pairwise(draft: &mut Draft, machine: &Machine, bytes: u64) {
    let ranks: Vec<u32> = (0..machine.ranks).collect();
    among(draft, machine, &ranks, bytes);
}

/// Each pair of some GPUs by itself.
pub(super) fn among(draft: &mut Draft, machine: &Machine, ranks: &[u32], bytes: u64) {
    let Machine { domain, channels, chunk, costs, .. } = *machine;
    let many = ranks.len();
    let part = |to: usize| share(bytes, to as u64, many as u64);
    for me in 0..many {
        // A channel serves every so many of the other ranks, as their distance has it.
        for channel in 0..channels.min(many as u32 - 1) {
            let mut lane = Lane::new(draft, ranks[me], channel, costs);
            lane.launch();
            let begun = lane.last;
            let steps = || (1 + channel as usize..many).step_by(channels as usize);
            for to in steps().map(|step| (me + step) % many) {
                let far = ranks[to] / domain != ranks[me] / domain;
                chunks(part(to), chunk).for_each(|bytes| lane.send_by(ranks[to], bytes, far));
            }
            let mut receiving = lane.beside(64 | channel as u8, begun);
            for from in steps().map(|step| (me + many - step) % many) {
                for bytes in chunks(part(me), chunk) {
                    receiving.recv(ranks[from], bytes);
                    receiving.copy(bytes);
                }
            }
        }
    }
}

pub(super) fn by_rail(draft: &mut Draft, machine: &Machine, bytes: u64) {
    let Machine { ranks, domain, chunk, costs, .. } = *machine;
    let domains = ranks / domain;
    for rank in 0..ranks {
        let (own, base, home) = (rank % domain, rank / domain * domain, rank / domain);
        // All that a GPU of this domain has for a rail: a part for each domain.
        let for_rail = |rail: u32| (0..domains).map(|to| part(machine, bytes, to * domain + rail)).sum::<u64>();
        let mut lane = Lane::new(draft, rank, 0, costs);
        lane.launch();
        let begun = lane.last;
        for step in 1..domain {
            let rail = (own + step) % domain;
            chunks(for_rail(rail), chunk).for_each(|bytes| lane.send(base + rail, bytes));
        }
        let mut gathered = lane.beside(64, begun);
        for step in 1..domain {
            let from = base + (own + domain - step) % domain;
            for bytes in chunks(for_rail(own), chunk) {
                gathered.recv(from, bytes);
                gathered.copy(bytes);
            }
        }
        let last = gathered.last;
        let mut between = lane.beside(32, last);
        between.tag = 1;
        // From every GPU of this domain to this rail's GPU of another.
        let bundle = |to: u32| u64::from(domain) * part(machine, bytes, to);
        for step in 1..domains {
            let to = (rank + step * domain) % ranks;
            chunks(bundle(to), chunk).for_each(|bytes| between.send_far(to, bytes));
        }
        let mut arriving = lane.beside(96, begun);
        arriving.tag = 1;
        for step in 1..domains {
            let from = (home + domains - step) % domains * domain + own;
            for bytes in chunks(bundle(rank), chunk) {
                arriving.recv(from, bytes);
                arriving.copy(bytes);
            }
        }
    }
}
