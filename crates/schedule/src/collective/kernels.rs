//! What a library's kernels take, by algorithm and protocol: a machine for each of them, and which one is chosen.
//!
//! The model is NCCL's own (`src/graph/tuning.cc`). A collective takes the time of its steps, and its bytes at the
//! algorithm's bandwidth. NCCL runs the algorithm and protocol of the least such time; so does this. All numbers of the
//! model are the machine's ([`Kernels`]). [`Kernels::on`] makes of them what is simulated: the model's steps less what
//! the network itself takes of them.

use super::{Algorithm, Costs, Machine, Which};
use crate::protocol::Protocol;

/// Times of steps of few bytes, in picoseconds: from a piece's being in a GPU to its being in the next.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Steps {
    /// From the call to the first step.
    pub launch_ps: u64,
    /// A step within a domain.
    pub near_ps: u64,
    /// A step between domains.
    pub far_ps: u64,
}

/// Numbers where one domain takes part, where two do, and where more do.
pub type ByDomains = [f64; 3];

/// A protocol of the kernels. Rates are of all channels together, in bytes a second of *bus bandwidth*.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Steps of rings, and of exchanges.
    pub ring: Steps,
    /// Steps of trees.
    pub tree: Steps,
    /// Largest piece that a channel passes on, in bytes of data: of rings, trees and exchanges, and of chains.
    pub chunk: [u64; 2],
    /// Bytes that rings and chains within a domain pass on at once; 0: whole pieces.
    pub line: u32,
    /// Pieces of a ring's block.
    pub slices: u64,
    /// Bytes from which on another channel takes part.
    pub per_channel: u64,
    /// Posts of a proxy for each piece.
    pub posts: u64,
    /// What the model gives rings of the links' bandwidth, and the most that it gives them.
    pub ring_share: f64,
    /// See above.
    pub ring_most: ByDomains,
    /// The most that one channel carries, of data.
    pub channel_most: f64,
    /// The same of trees: of the links' bandwidth with Simple, of Simple's with the others.
    pub tree_share: ByDomains,
    /// See above.
    pub tree_most: ByDomains,
    /// What the model leaves trees of that, from so many bytes on: ascending, 1 below the first.
    pub tree_sizes: Vec<(u64, f64)>,
}

/// Where the rails' switches combine data: NCCL's CollNet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CollNet {
    /// A step within a domain, and one through the network's switches and back, in picoseconds.
    pub near_ps: u64,
    /// See above.
    pub far_ps: u64,
    /// What a step within a domain takes besides for each of the other GPUs there, in picoseconds.
    pub peer_ps: u64,
    /// What the model gives of the links' bandwidth: for allreduce, and for the others.
    pub share: [f64; 2],
}

/// The kernels of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernels {
    /// The protocols that it has, Simple among them.
    pub protocols: Vec<(Protocol, Kernel)>,
    /// With the rails' switches.
    pub collnet: CollNet,
    /// A step between domains where the scale-up switches combine: by the rails' switches, and by trees.
    pub switch_far_ps: [u64; 2],
    /// The share of the scale-up links' rate at which their switches combine; 0: they do not.
    pub switch_share: f64,
    /// A message between two GPUs of at most so many bytes a channel goes by LL.
    pub pair_ll_max: u64,
    /// By how much steps of a ring between domains take longer with Simple, once they carry data (allreduce).
    pub plateau: f64,
    /// From so many bytes of each channel and rank on they do.
    pub plateau_block: u64,
    /// What a proxy works for a post, in picoseconds.
    pub post_ps: u64,
    /// Least latency of the network within a domain, and to the next one, in picoseconds.
    pub wire_ps: [u64; 2],
    /// Rates of a GPU's links into its domain, and of its adapter, in bytes a second.
    pub scale_up: f64,
    /// See above.
    pub adapter: f64,
}

/// Picoseconds of a second.
const PER_SECOND: f64 = 1e12;

impl Kernels {
    /// A protocol's kernel; `None`: the machine has none.
    pub fn of(&self, protocol: Protocol) -> Option<&Kernel> {
        self.protocols.iter().find(|(own, _)| *own == protocol).map(|(_, kernel)| kernel)
    }

    /// Whether the machine has an algorithm's kernels of a protocol.
    pub fn has(&self, algorithm: Algorithm, protocol: Protocol) -> bool {
        algorithm.protocols().contains(&protocol) && self.of(protocol).is_some()
    }

    /// The machine as it runs a collective of `bytes` by an algorithm and protocol that it has.
    pub fn on(
        &self,
        machine: &Machine,
        which: Which,
        (algorithm, protocol): (Algorithm, Protocol),
        bytes: u64,
    ) -> Machine {
        let Some(kernel) = self.of(protocol) else { return *machine };
        let costs = machine.costs;
        let steps = self.steps(kernel, algorithm, machine.domain);
        let [inside, most] = [kernel.ring_most[0], kernel.ring_most[domains_at(machine)]];
        let is_chain = matches!(which, Which::Bcast | Which::Reduce);
        let channels = match algorithm {
            Algorithm::Ring | Algorithm::Tree => {
                // A ring's flags are of each rank's block.
                let is_by_rank = protocol == Protocol::Ll && algorithm == Algorithm::Ring;
                let each = kernel.per_channel * if is_by_rank { u64::from(machine.ranks) } else { 1 };
                (bytes / each.max(1)).clamp(1, machine.channels.into()) as u32
            }
            _ => machine.channels,
        };
        // Channels that run share what all of them carry. Within a domain each one's own work is limited, too; what is
        // less between domains limits the proxies.
        let each = kernel.channel_most.min(inside / f64::from(channels));
        // Where rings and trees leave a domain, the proxies of a GPU are one thread. The model counts its work for a post
        // once for all channels, and a tree's channel may have a lane for each of both trees.
        let leaving = match (algorithm, machine.uneven) {
            (Algorithm::Ring, Some(_)) => Some(1),
            (Algorithm::Tree, Some(hosts)) => Some(hosts.least),
            (Algorithm::Ring | Algorithm::Tree, None) => Some(machine.domain),
            _ => None,
        };
        let threads = leaving.map_or(channels, |gpus| gpus.min(channels));
        let lanes = match leaving {
            Some(gpus) if algorithm == Algorithm::Tree && channels < 2 * gpus => 2 * channels,
            _ => channels,
        };
        let post_ps = kernel.posts * self.post_ps * u64::from(threads) / u64::from(lanes);
        let slowest = |ps: f64| ps.max(PER_SECOND / each);
        let [near, far] = self.wire_ps;
        let proxy_ps = steps.far_ps.saturating_sub(far);
        let costs = Costs {
            protocol,
            launch_ps: steps.launch_ps,
            near_ps: steps.near_ps.saturating_sub(near),
            proxy_ps,
            post_ps: post_ps.min(proxy_ps),
            post_ps_per_byte: if most < inside { (f64::from(threads) * PER_SECOND / most) as f32 } else { 0.0 },
            one_thread: leaving.is_some(),
            reduce_ps_per_byte: slowest(costs.reduce_ps_per_byte),
            copy_ps_per_byte: slowest(costs.copy_ps_per_byte),
            line: kernel.line,
            ..costs
        };
        Machine { costs, channels, chunk: kernel.chunk[usize::from(is_chain)], slices: kernel.slices, ..*machine }
    }

    fn steps(&self, kernel: &Kernel, algorithm: Algorithm, domain: u32) -> Steps {
        let CollNet { near_ps, far_ps, peer_ps, .. } = self.collnet;
        match algorithm {
            Algorithm::Tree => kernel.tree,
            Algorithm::CollNet => {
                let others = u64::from(domain.saturating_sub(1));
                Steps { launch_ps: 0, near_ps: near_ps + others * peer_ps, far_ps }
            }
            Algorithm::Nvls | Algorithm::NvlsTree => {
                let far_ps = self.switch_far_ps[usize::from(algorithm == Algorithm::NvlsTree)];
                Steps { launch_ps: 0, near_ps: 0, far_ps }
            }
            Algorithm::Ring | Algorithm::Hierarchical | Algorithm::Pairwise => kernel.ring,
        }
    }

    /// The protocol of messages of so many bytes between GPUs of a machine that exchange data.
    pub fn of_pairs(&self, machine: &Machine, bytes: u64) -> Protocol {
        let channels = machine.of_a_pair(machine.ranks, machine.ranks == machine.domain);
        let is_short = bytes <= self.pair_ll_max.saturating_mul(channels.into());
        if is_short && self.of(Protocol::Ll).is_some() { Protocol::Ll } else { Protocol::Simple }
    }

    /// That of the least predicted time; the first of equals.
    pub fn choose(
        &self,
        machine: &Machine,
        which: Which,
        all: impl IntoIterator<Item = (Algorithm, Protocol)>,
        bytes: u64,
    ) -> Option<(Algorithm, Protocol)> {
        let timed = all.into_iter().filter_map(|way| Some((self.predicted_ps(machine, which, way, bytes)?, way)));
        let least = timed.reduce(|least, one| if one.0 < least.0 { one } else { least });
        least.map(|(_, way)| way)
    }

    /// What the model predicts, in picoseconds; `None` where it has no formula. That of [`Algorithm::Hierarchical`] is
    /// hotlink's, of the same numbers.
    pub fn predicted_ps(
        &self,
        machine: &Machine,
        which: Which,
        (algorithm, protocol): (Algorithm, Protocol),
        bytes: u64,
    ) -> Option<f64> {
        let kernel = self.of(protocol).filter(|_| self.has(algorithm, protocol))?;
        let rate = self.bandwidth(machine, which, (algorithm, protocol), kernel, bytes)?;
        let mut latency = self.latency_ps(machine, which, (algorithm, protocol), kernel);
        let block = bytes / u64::from(machine.channels) / u64::from(machine.ranks);
        let is_ring = algorithm == Algorithm::Ring && which == Which::Allreduce;
        if is_ring && protocol == Protocol::Simple && machine.hosts() > 1 && block >= self.plateau_block {
            latency *= self.plateau;
        }
        (rate > 0.0).then(|| latency + bytes as f64 / rate * PER_SECOND)
    }

    /// Bytes a second.
    fn bandwidth(
        &self,
        machine: &Machine,
        which: Which,
        (algorithm, protocol): (Algorithm, Protocol),
        kernel: &Kernel,
        bytes: u64,
    ) -> Option<f64> {
        let Machine { ranks, domain, channels, .. } = *machine;
        let [n, d, channels] = [ranks, domain, channels].map(f64::from);
        let (at, domains) = (domains_at(machine), machine.hosts());
        // Rings over hosts of different numbers of GPUs leave each by one of them, trees by as many as all have.
        let leaving = machine.uneven.filter(|_| algorithm == Algorithm::Tree).map_or(d, |hosts| hosts.least.into());
        let out = if domains > 1 { leaving * self.adapter } else { f64::INFINITY };
        let links = if domain > 1 || machine.uneven.is_some() { self.scale_up.min(out) } else { out };
        let of_steps = n / f64::from(steps_of(which, ranks));
        let is_gather = matches!(which, Which::Allgather | Which::ReduceScatter);
        Some(match algorithm {
            // One stage after the other: to the GPU on the right rail, then between the domains.
            Algorithm::Hierarchical if which == Which::Alltoall => {
                let [near, far] = [(self.scale_up, 0), (self.adapter, at)]
                    .map(|(links, at): (f64, usize)| (links * kernel.ring_share).min(kernel.ring_most[at]));
                let others = |of: f64| (of - 1.0) / of;
                1.0 / (others(d) / near + others(f64::from(domains)) / far)
            }
            Algorithm::Ring | Algorithm::Hierarchical => {
                (links * kernel.ring_share).min(kernel.ring_most[at]) * of_steps
            }
            Algorithm::Tree => {
                let simple = self.of(Protocol::Simple)?;
                let whole = (links * simple.tree_share[at]).min(simple.tree_most[at]);
                let bus = match protocol {
                    Protocol::Simple => whole,
                    _ => (whole * kernel.tree_share[at]).min(kernel.tree_most[at]),
                };
                let sizes = &kernel.tree_sizes;
                let left = sizes.iter().rev().find(|(from, _)| bytes >= *from).map_or(1.0, |(_, share)| *share);
                bus * left / 2.0
            }
            Algorithm::Nvls | Algorithm::NvlsTree => {
                let inside = self.scale_up * self.switch_share * (channels - 1.0) / channels;
                let inside = if is_gather { inside * (d - 1.0) / d } else { 2.0 * inside };
                let both = if algorithm == Algorithm::NvlsTree && domains == 2 { 2.0 } else { 1.0 };
                inside.min(out * both) * if is_gather { 1.0 } else { of_steps }
            }
            Algorithm::CollNet if is_gather => links * self.collnet.share[1],
            Algorithm::CollNet => {
                // GPUs of a domain for each channel, of which half counts beyond one.
                let each = (1.0 + d / channels) / 2.0;
                links / each * self.collnet.share[0] / 2.0
            }
            Algorithm::Pairwise => return None,
        })
    }

    /// Of all steps of few bytes, in picoseconds.
    fn latency_ps(
        &self,
        machine: &Machine,
        which: Which,
        (algorithm, protocol): (Algorithm, Protocol),
        kernel: &Kernel,
    ) -> f64 {
        let Machine { ranks, .. } = *machine;
        // The whole quotient, as in NCCL's own sums (`nRanks/nNodes` in `src/graph/tuning.cc`).
        let (hosts, domain) = (machine.hosts(), ranks / machine.hosts());
        let (domains, others) = (u64::from(hosts), u64::from(domain - 1));
        let levels = u64::from(hosts.ilog2());
        let Steps { launch_ps, near_ps, far_ps } = self.steps(kernel, algorithm, 1);
        let ps = match algorithm {
            Algorithm::Ring if matches!(which, Which::Bcast | Which::Reduce) => {
                let steps = if protocol == Protocol::Simple { kernel.tree } else { kernel.ring };
                let step = if domains > 1 { steps.far_ps } else { steps.near_ps };
                launch_ps + u64::from(ranks) * step
            }
            Algorithm::Ring => {
                let far_steps = (domains - 1) * if which == Which::Allreduce { 2 } else { 1 };
                // Every step between domains is posted, while the others go on.
                let near_ps = if domains > 1 { near_ps.max(kernel.posts * self.post_ps) } else { near_ps };
                // NCCL takes a tree's step where each host has one GPU: there the quotient is no whole number.
                let far_ps = if ranks == hosts { kernel.tree.far_ps } else { far_ps };
                launch_ps + (u64::from(steps_of(which, ranks)) - far_steps) * near_ps + far_steps * far_ps
            }
            Algorithm::Tree => launch_ps + 2 * (others * near_ps + levels * far_ps),
            Algorithm::CollNet => 2 * (others.min(1) * near_ps + others * self.collnet.peer_ps) + far_ps,
            Algorithm::Nvls => machine.costs.switch_launch_ps + if domains > 1 { far_ps } else { 0 },
            Algorithm::NvlsTree => machine.costs.switch_launch_ps + 2 * levels * far_ps,
            // None of NCCL's: the same sum. What GPUs of a domain exchange is one step.
            Algorithm::Hierarchical => {
                let both = if which == Which::Allreduce { 2 } else { 1 };
                let far_steps = if which == Which::Alltoall { (domains - 1).min(1) } else { both * (domains - 1) };
                launch_ps + both * others.min(1) * near_ps + far_steps * far_ps
            }
            Algorithm::Pairwise => 0,
        };
        ps as f64
    }
}

/// Which of [`ByDomains`].
fn domains_at(machine: &Machine) -> usize {
    machine.hosts().clamp(1, 3) as usize - 1
}

/// Steps of a ring among so many.
fn steps_of(which: Which, ranks: u32) -> u32 {
    match which {
        Which::Allreduce => 2 * (ranks - 1),
        Which::Allgather | Which::ReduceScatter => ranks - 1,
        _ => ranks,
    }
}
