//! Between the domains the network's switches combine the data (NCCL's CollNet, by InfiniBand's SHARP). Each GPU sends
//! its block to the leaf of its rail, spines combine what leaves combined, and every GPU receives the result.

use super::{Machine, Which, share};
use crate::draft::{Draft, Local};
use std::collections::BTreeMap;

/// Switches of rails that combine data: ranks beyond the GPUs, the leaves of each rail, then the spines, then the
/// cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RailSwitches {
    /// Domains on a leaf.
    pub held: u32,
    /// Leaves of a rail.
    pub leaves: u32,
    /// Groups of a rail's leaves, each under spines of its own.
    pub groups: u32,
    /// Spines of a group; of all rails where they share them.
    pub spines: u32,
    /// Cores above each spine of a group; 0: spines are the highest.
    pub cores: u32,
    /// Whether rails share the highest of them.
    pub joined: bool,
    /// From a piece's being whole in a switch to its being combined, in picoseconds.
    pub gate_ps: u64,
    /// Time between the pieces that a switch combines, by their bytes, in picoseconds.
    pub ps_per_byte: f64,
}

impl RailSwitches {
    /// Their number, on this many rails.
    pub fn count(&self, rails: u32) -> u32 {
        let tops = if self.joined { 1 } else { rails };
        self.first_core(rails) + tops * self.spines * self.cores
    }

    /// One of them, on this many rails, in words.
    pub fn name(&self, rails: u32, index: u32) -> String {
        let [spines, cores] = [rails * self.leaves, self.first_core(rails)];
        let (what, at, of_rail, shared) = match index {
            leaf if leaf < spines => ("leaf", leaf, self.leaves, false),
            spine if spine < cores => ("spine", spine - spines, self.groups * self.spines, self.shares_spines()),
            core => ("core", core - cores, self.spines * self.cores, self.joined),
        };
        if shared { format!("{what} {at}") } else { format!("{what} {} of rail {}", at % of_rail, at / of_rail) }
    }

    /// Switches that a piece passes up its tree and down again, and the domains that it comes from and goes to.
    pub(super) fn stages(&self) -> u64 {
        if self.groups > 1 { 7 } else { 5 }
    }

    fn shares_spines(&self) -> bool {
        self.joined && self.cores == 0
    }

    fn first_core(&self, rails: u32) -> u32 {
        let groups = if self.shares_spines() { 1 } else { rails * self.groups };
        rails * self.leaves + groups * self.spines
    }

    /// Those of some rails among those of this many, in their order.
    pub fn of_rails(&self, own: &[u32], rails: u32) -> Vec<u32> {
        let each = |first: u32, of_rail: u32, shared: bool| {
            let firsts = if shared { vec![first] } else { own.iter().map(|rail| first + rail * of_rail).collect() };
            firsts.into_iter().flat_map(move |first| first..first + of_rail)
        };
        let in_rail = if self.shares_spines() { self.spines } else { self.groups * self.spines };
        each(0, self.leaves, false)
            .chain(each(rails * self.leaves, in_rail, self.shares_spines()))
            .chain(each(self.first_core(rails), self.spines * self.cores, self.joined))
            .collect()
    }

    /// The leaf of a GPU, counted from the first switch on: of its rail, and of the place of its domain.
    pub(super) fn leaf(&self, rail: u32, place: u32) -> u32 {
        rail * self.leaves + place / self.held
    }

    /// Which spine of a group combines a channel of a rail.
    fn spine(&self, rails: u32, rail: u32, channel: u32, group: u32) -> u32 {
        rails * self.leaves
            + if self.shares_spines() {
                (channel * rails + rail) % self.spines
            } else {
                (rail * self.groups + group) * self.spines + channel % self.spines
            }
    }

    /// Which core combines what the spines of a rail's groups combined of a channel: one above these.
    fn core(&self, rails: u32, rail: u32, channel: u32) -> u32 {
        let (plane, turn) = (channel % self.spines, channel / self.spines);
        let (above, at) = if self.joined { (0, turn * rails + rail) } else { (rail * self.spines, turn) };
        self.first_core(rails) + (above + plane) * self.cores + at % self.cores
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
        self.whole(self.combines, block, &[home])
    }
    pub(super) fn got(&self, block: u64, home: u32) -> u64 {
        self.whole(self.gathers, block, &[home])
    }

    /// The block, or the shares of these domains.
    fn whole(&self, whole: bool, block: u64, homes: &[u32]) -> u64 {
        let share = |home: &u32| share(block, (*home).into(), self.domains.into());
        if whole { block } else { homes.iter().map(share).sum() }
    }
}

/// A switch or GPU below another switch: its rank, and what it sends up and gets back.
#[derive(Clone, Copy)]
struct Below {
    rank: u32,
    up: u64,
    down: u64,
}

/// The switches' side of a piece of a channel. `block` is the part of each rail, `first` the rank of the first switch,
/// `places` those of the domains. Pieces do not wait for one another, but for the rate at which a switch combines.
pub(super) fn combine(
    draft: &mut Draft,
    machine: &Machine,
    (switches, first, places): (&RailSwitches, u32, &[u32]),
    channel: u32,
    which: Which,
    block: impl Fn(u32) -> u64,
) {
    let rails = machine.domain;
    let parts = Parts::of(machine, which);
    let in_group = switches.leaves.div_ceil(switches.groups);
    // Domains by their leaf, and leaves by their group: those that the collective has.
    let mut groups: BTreeMap<u32, BTreeMap<u32, Vec<u32>>> = BTreeMap::new();
    for (home, place) in (0..).zip(places) {
        let leaf = switches.leaf(0, *place);
        groups.entry(leaf / in_group).or_default().entry(leaf).or_default().push(home);
    }
    for rail in 0..rails {
        let block = block(rail);
        let below = |rank: u32, homes: &[u32]| {
            let [up, down] = [parts.combines, parts.gathers].map(|whole| parts.whole(whole, block, homes));
            Below { rank, up, down }
        };
        let core = (switches.groups > 1).then(|| first + switches.core(rails, rail, channel));
        let mut spines = Vec::new();
        for (group, leaves) in &groups {
            let spine = (switches.leaves > 1).then(|| first + switches.spine(rails, rail, channel, *group));
            let mut own = Vec::new();
            for (index, homes) in leaves {
                let leaf = below(first + rail * switches.leaves + index, homes);
                let gpus = homes.iter().map(|&home| Below {
                    rank: home * rails + rail,
                    up: parts.sent(block, home),
                    down: parts.got(block, home),
                });
                switch(draft, switches, channel, leaf, &gpus.collect::<Vec<_>>(), spine);
                own.push(leaf);
            }
            if let Some(spine) = spine {
                let spine = below(spine, &leaves.values().flatten().copied().collect::<Vec<_>>());
                switch(draft, switches, channel, spine, &own, core);
                spines.push(spine);
            }
        }
        if let Some(core) = core {
            let all: Vec<u32> = (0..parts.domains).collect();
            switch(draft, switches, channel, below(core, &all), &spines, None);
        }
    }
}

/// A switch combines what comes from below; where another stands above, it passes that on and waits for the answer.
/// What it then has goes to all below.
fn switch(draft: &mut Draft, switches: &RailSwitches, channel: u32, of: Below, below: &[Below], above: Option<u32>) {
    let at = of.rank;
    let came: Vec<Local> = below.iter().map(|from| draft.recv(at, from.rank, from.up, channel, 0)).collect();
    let taken = draft.calc(at, 0, (switches.ps_per_byte * of.up as f64).round() as u64);
    came.into_iter().for_each(|part| draft.requires(at, taken, part));
    let mut done = draft.calc(at, 1 + channel as u8, switches.gate_ps);
    draft.requires(at, done, taken);
    if let Some(above) = above {
        let sent = draft.send(at, above, of.up, channel, 0);
        draft.requires(at, sent, done);
        done = draft.recv(at, above, of.down, channel, 0);
    }
    for to in below {
        let copy = draft.send(at, to.rank, to.down, channel, 0);
        draft.requires(at, copy, done);
    }
}
