//! Between the domains by the network's switches: each GPU sends its block to the leaf of its rail, leaves have spines
//! combine what theirs combined, and every GPU gets the result back (NCCL's CollNet, by InfiniBand's SHARP).

use super::{Machine, Which, share};
use crate::draft::{Draft, Local};

/// Switches of rails that combine data: ranks beyond the GPUs, the leaves of each rail, then the spines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RailSwitches {
    /// Domains on a leaf.
    pub held: u32,
    /// Leaves of a rail.
    pub leaves: u32,
    /// Spines of a rail; of all rails where they share them.
    pub spines: u32,
    /// Whether rails share the spines.
    pub shared: bool,
    /// From a piece's being whole in a switch to its being combined, in picoseconds.
    pub gate_ps: u64,
    /// Time between the pieces that a switch combines, by their bytes, in picoseconds.
    pub ps_per_byte: f64,
}

impl RailSwitches {
    /// How many, of so many rails.
    pub fn count(&self, rails: u32) -> u32 {
        rails * self.leaves + if self.shared { self.spines } else { rails * self.spines }
    }

    /// One of them, of so many rails, in words.
    pub fn name(&self, rails: u32, index: u32) -> String {
        match index.checked_sub(rails * self.leaves) {
            None => format!("leaf {} of rail {}", index % self.leaves, index / self.leaves),
            Some(spine) if self.shared => format!("spine {spine}"),
            Some(spine) => format!("spine {} of rail {}", spine % self.spines, spine / self.spines),
        }
    }

    /// The leaf of a GPU, counted from the first switch on.
    fn leaf(&self, rail: u32, home: u32) -> u32 {
        rail * self.leaves + home / self.held
    }

    /// Which spine combines a channel of a rail; `None` where a rail has one leaf.
    fn spine(&self, rails: u32, rail: u32, channel: u32) -> Option<u32> {
        (self.leaves > 1).then(|| {
            rails * self.leaves
                + if self.shared {
                    (channel * rails + rail) % self.spines
                } else {
                    rail * self.spines + channel % self.spines
                }
        })
    }
}

/// What a GPU of a domain sends of its rail's block, and what it gets of it.
pub(super) struct Parts {
    domains: u32,
    combines: bool,
    gathers: bool,
}

impl Parts {
    pub(super) fn of(machine: &Machine, which: Which) -> Parts {
        Parts {
            domains: machine.ranks / machine.domain,
            combines: which != Which::Allgather,
            gathers: which != Which::ReduceScatter,
        }
    }

    /// Of a domain.
    pub(super) fn sent(&self, block: u64, home: u32) -> u64 {
        self.whole(self.combines, block, home..home + 1)
    }
    pub(super) fn got(&self, block: u64, home: u32) -> u64 {
        self.whole(self.gathers, block, home..home + 1)
    }

    /// The block, or the shares of these domains.
    fn whole(&self, whole: bool, block: u64, homes: std::ops::Range<u32>) -> u64 {
        let share = |home: u32| share(block, home.into(), self.domains.into());
        if whole { block } else { homes.map(share).sum() }
    }
}

/// The rank of the leaf to which a GPU sends.
pub(super) fn leaf_of(machine: &Machine, switches: &RailSwitches, rank: u32) -> u32 {
    machine.ranks + switches.leaf(rank % machine.domain, rank / machine.domain)
}

/// The switches' side of a piece of a channel: `block` is the part of each rail. Pieces do not wait for one another, but
/// for the rate at which a switch combines.
pub(super) fn combine(
    draft: &mut Draft,
    machine: &Machine,
    switches: &RailSwitches,
    channel: u32,
    which: Which,
    block: impl Fn(u32) -> u64,
) {
    let Machine { ranks, domain: rails, .. } = *machine;
    let parts = Parts::of(machine, which);
    let work = |draft: &mut Draft, at: u32, bytes: u64, parts: Vec<Local>| {
        let taken = draft.calc(at, 0, (switches.ps_per_byte * bytes as f64).round() as u64);
        parts.into_iter().for_each(|part| draft.requires(at, taken, part));
        let combined = draft.calc(at, 1 + channel as u8, switches.gate_ps);
        draft.requires(at, combined, taken);
        combined
    };
    for rail in 0..rails {
        let block = block(rail);
        let spine = switches.spine(rails, rail, channel).map(|spine| ranks + spine);
        let mut leaves = Vec::new();
        for index in 0..switches.leaves {
            let homes = index * switches.held..((index + 1) * switches.held).min(parts.domains);
            let leaf = ranks + rail * switches.leaves + index;
            let gpus = homes.clone().map(|home| (home, home * rails + rail));
            let came = |(home, gpu)| draft.recv(leaf, gpu, parts.sent(block, home), channel, 0);
            let came: Vec<Local> = gpus.clone().map(came).collect();
            let up = parts.whole(parts.combines, block, homes.clone());
            let mut done = work(draft, leaf, up, came);
            if let Some(spine) = spine {
                let sent = draft.send(leaf, spine, up, channel, 0);
                draft.requires(leaf, sent, done);
                let down = parts.whole(parts.gathers, block, homes);
                done = draft.recv(leaf, spine, down, channel, 0);
                leaves.push((leaf, up, down));
            }
            for (home, gpu) in gpus {
                let copy = draft.send(leaf, gpu, parts.got(block, home), channel, 0);
                draft.requires(leaf, copy, done);
            }
        }
        if let Some(spine) = spine {
            let came: Vec<Local> =
                leaves.iter().map(|&(leaf, up, _)| draft.recv(spine, leaf, up, channel, 0)).collect();
            let done = work(draft, spine, block, came);
            for (leaf, _, down) in leaves {
                let copy = draft.send(spine, leaf, down, channel, 0);
                draft.requires(spine, copy, done);
            }
        }
    }
}
