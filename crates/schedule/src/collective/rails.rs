//! Within the domain, between the domains by rail, within the domain again: by the GPUs, the scale-up switch, or the
//! switches of the rails.

use super::lane::Lane;
use super::network::{Parts, combine};
use super::ring::{Seat, round};
use super::tree;
use super::{Algorithm, Job, Machine, STAGE, Which, chunks, pipelined, share};
use crate::draft::Draft;

/// `places` are those of the domains, by which the rails' switches know their leaves.
pub(super) fn all(draft: &mut Draft, job: &Job, places: &[u32]) {
    let Job { which, algorithm, bytes, machine } = job;
    let (which, bytes) = (*which, *bytes);
    let Machine { ranks, domain, channels, slices, costs, .. } = *machine;
    let by_switch = algorithm.is_by_switch();
    let (network, first, chunk) = (job.network(), job.first_of_network(), job.chunk());
    let (domains, stages) = (ranks / domain, job.stages());
    let (combines, gathers) = (which != Which::Allgather, which != Which::ReduceScatter);
    let channels = channels.min(u32::from(STAGE));
    let pieces = move |channel: u32| {
        let part = share(bytes, channel.into(), channels.into());
        let each = pipelined(part / u64::from(domain), chunk, stages);
        chunks(part, each.saturating_mul(domain.into()))
    };
    for rank in 0..ranks {
        let (own, base) = (rank % domain, rank / domain * domain);
        let switch = ranks + rank / domain;
        let others = move || (1..domain).map(move |step| base + (own + step) % domain);
        let seat = Seat {
            position: (rank / domain).into(),
            ranks: domains.into(),
            before: (rank + ranks - domain) % ranks,
            next: (rank + domain) % ranks,
            far: true,
            from_far: true,
            slices,
            least: machine.least_slice(),
            line: 0,
        };
        for channel in 0..channels {
            let mut lane = Lane::new(draft, rank, channel, costs);
            if by_switch {
                lane.launch_by_switch()
            } else {
                lane.launch()
            }
            // The second has two where a piece is sent before the one before it is back.
            let mut stages = [lane.last; 4];
            for piece in pieces(channel) {
                let block = |index: u32| share(piece, (index % domain).into(), domain.into());
                let mut done = None;
                if combines && domain > 1 {
                    let mut inner = lane.beside(channel as u8, stages[0]);
                    if by_switch {
                        for step in 0..domain {
                            inner.tag = tag_of(0, channel, (own + step) % domain);
                            inner.send_at_once(switch, costs.by_switch(block(own + step)));
                        }
                        inner.tag = tag_of(0, channel, own);
                        inner.recv(switch, costs.by_switch(block(own)));
                    } else {
                        others().for_each(|other| inner.send(other, block(other - base)));
                        for other in others() {
                            inner.recv(other, block(own));
                            inner.reduce(block(own));
                        }
                    }
                    stages[0] = inner.last;
                    done = inner.last;
                }
                if let Some(switches) = &network {
                    let (parts, home) = (Parts::of(machine, which), rank / domain);
                    let leaf = first + switches.leaf(own, places[home as usize]);
                    let mut up = lane.beside(STAGE | channel as u8, stages[3]);
                    done.into_iter().for_each(|op| up.also_after(op));
                    up.send_far(leaf, parts.sent(block(own), home));
                    stages[3] = up.last;
                    let mut down = lane.beside(STAGE | channel as u8, stages[1]);
                    down.recv(leaf, parts.got(block(own), home));
                    stages[1] = down.last;
                    done = down.last;
                } else if *algorithm == Algorithm::NvlsTree {
                    let place = tree::place(domains, channel % 2, rank / domain);
                    let head = |home: u32| home * domain + own;
                    let mut up = lane.beside(STAGE | channel as u8, stages[3]);
                    done.into_iter().for_each(|op| up.also_after(op));
                    for &child in &place.children {
                        up.recv(head(child), block(own));
                        up.reduce(block(own));
                    }
                    place.parent.into_iter().for_each(|above| up.send_far(head(above), block(own)));
                    stages[3] = up.last;
                    let mut down = lane.beside(STAGE | channel as u8, stages[1]);
                    match place.parent {
                        Some(above) => {
                            down.recv(head(above), block(own));
                            down.copy(block(own));
                        }
                        None => stages[3].into_iter().for_each(|op| down.also_after(op)),
                    }
                    place.children.iter().for_each(|&child| down.send_far(head(child), block(own)));
                    stages[1] = down.last;
                    done = down.last;
                } else if domains > 1 {
                    let mut between = lane.beside(STAGE | channel as u8, stages[1]);
                    done.into_iter().for_each(|op| between.also_after(op));
                    round(&mut between, &seat, block(own), combines, gathers);
                    stages[1] = between.last;
                    done = between.last;
                }
                if gathers && domain > 1 {
                    let mut inner = lane.beside((2 * STAGE) | channel as u8, stages[2]);
                    done.into_iter().for_each(|op| inner.also_after(op));
                    // Both stages within the domain use the same pairs.
                    inner.tag = channel + u32::from(STAGE);
                    if by_switch {
                        inner.tag = tag_of(1, channel, own);
                        inner.send_at_once(switch, costs.by_switch(block(own)));
                        for step in 0..domain {
                            let owner = (own + domain - step) % domain;
                            inner.tag = tag_of(1, channel, owner);
                            inner.recv(switch, costs.by_switch(block(owner)));
                        }
                    } else {
                        others().for_each(|other| inner.send(other, block(own)));
                        for other in others() {
                            inner.recv(other, block(other - base));
                            inner.copy(block(other - base));
                        }
                    }
                    stages[2] = inner.last;
                }
            }
        }
    }
    if let Some(switches) = network {
        for channel in 0..channels {
            for piece in pieces(channel) {
                let block = |rail: u32| share(piece, rail.into(), domain.into());
                combine(draft, machine, (&switches, first, places), channel, which, block);
            }
        }
    }
    if by_switch && domain > 1 {
        for index in 0..domains {
            for channel in 0..channels {
                switch(draft, machine, index, channel, pieces(channel), [combines, gathers]);
            }
        }
    }
}

/// Which message of a block it is: to be combined, or to be copied.
fn tag_of(phase: u32, channel: u32, owner: u32) -> u32 {
    owner << 8 | phase << 7 | channel
}

/// A scale-up switch: it combines what its GPUs hold of a block as that comes through, and copies a block to all of them.
/// Blocks do not wait for one another.
fn switch(
    draft: &mut Draft,
    machine: &Machine,
    index: u32,
    channel: u32,
    pieces: impl Iterator<Item = u64>,
    [combines, gathers]: [bool; 2],
) {
    let Machine { ranks, domain, costs, .. } = *machine;
    let (rank, base) = (ranks + index, index * domain);
    for piece in pieces {
        let block = |index: u32| costs.by_switch(share(piece, index.into(), domain.into()));
        for owner in 0..domain {
            let bytes = block(owner);
            if combines {
                let up = tag_of(0, channel, owner);
                let parts: Vec<_> = (0..domain).map(|from| draft.recv(rank, base + from, bytes, up, 0)).collect();
                let result = draft.send(rank, base + owner, bytes, up, 0);
                parts.into_iter().for_each(|part| draft.requires(rank, result, part));
            }
        }
        for owner in 0..domain {
            if gathers {
                let (bytes, down) = (block(owner), tag_of(1, channel, owner));
                let whole = draft.recv(rank, base + owner, bytes, down, 0);
                for step in 0..domain {
                    let copy = draft.send(rank, base + (owner + step) % domain, bytes, down, 0);
                    draft.requires(rank, copy, whole);
                }
            }
        }
    }
}
