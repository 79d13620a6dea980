//! Collectives as GPU clusters run them, written as schedules from a description of the machine.
//!
//! Data is cut into concurrent channels, each on a processor of its own (a block of a GPU's kernel). Each channel's
//! part is cut into chunks that follow one another. A receive, its reduction or copy and the next send form a chain, as
//! the kernels of NCCL and RCCL run them. A message to another domain waits for the proxy that hands it to the adapter.
//!
//! - **ring**: channel c enters each domain at its GPU c, passes all GPUs of it over the scale-up network and leaves on
//!   rail c again. Where rails are joined and in a mesh, it leaves on the rail of the last GPU; in a mesh, rings use every link.
//! - **tree**: chains within the hosts, two complementary binary trees between them; reduction up and broadcast down
//!   run at the same time. Hosts may have different numbers of the GPUs.
//! - **hierarchical**: reduce-scatter within the domain, a ring a rail between the domains, allgather within the
//!   domain.
//! - **nvls**: the same, but the scale-up switch reduces and replicates: a rank beyond the GPUs for each domain. Between
//!   domains the rails' switches do so, as in collnet.
//! - **nvls-tree**: as nvls within the domain; between domains two binary trees on each rail, each for every second
//!   channel.
//! - **collnet**: as hierarchical, but between the domains the rails' switches reduce and replicate: ranks beyond the
//!   GPUs.
//! - all-to-all: **pairwise**, and **hierarchical** (to the domain's GPU on the right rail first). Gather and scatter:
//!   pairwise.
//! - broadcast and reduce: a chain along each channel's ring, from the first GPU or to it.

mod exchange;
mod extent;
mod groups;
mod kernels;
mod lane;
mod member;
mod network;
mod part;
mod rails;
mod ring;
mod step;
mod team;
mod tree;
mod way;

pub use groups::Groups;
pub use kernels::{ByDomains, CollNet, Kernel, Kernels, Steps};
pub use lane::{Costs, processor};
pub use member::{Cut, Domains};
pub(crate) use member::{Group, Kind, member};
pub use network::RailSwitches;
pub(crate) use part::Part;
pub use part::{Run, Written};
pub use step::{Gradients, Step, processor_of_step};
pub use team::{Combining, Home, Team, by_host};
pub use tree::halves;
pub use way::{Wanted, Way};

use crate::draft::Draft;
use crate::form::{MOST_RANKS, Schedule};
use crate::protocol::Protocol;

/// What a collective does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Which {
    /// Combined at all ranks.
    Allreduce,
    /// Every rank's part to all; the size is what all get.
    Allgather,
    /// Combined, a part at each rank; the size is that of each rank's input.
    ReduceScatter,
    /// A part from every rank to every rank; the size is that of each rank's input.
    Alltoall,
    /// From the first rank to all.
    Bcast,
    /// Combined at the first rank.
    Reduce,
    /// Every rank's part to the first; the size is what that gets.
    Gather,
    /// A part from the first rank to each; the size is what that gives.
    Scatter,
}

impl Which {
    /// All of them.
    pub const ALL: [Which; 8] = [
        Which::Allreduce,
        Which::Allgather,
        Which::ReduceScatter,
        Which::Alltoall,
        Which::Bcast,
        Which::Reduce,
        Which::Gather,
        Which::Scatter,
    ];
}

/// How it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Rings through all GPUs.
    Ring,
    /// Two binary trees.
    Tree,
    /// Within the domains, then between them.
    Hierarchical,
    /// The same, reduced and replicated by the scale-up switches, and by the rails' between domains.
    Nvls,
    /// By the scale-up switches within the domains, two binary trees between them.
    NvlsTree,
    /// Within the domains by the GPUs, between them reduced and replicated by the rails' switches.
    CollNet,
    /// Each pair by itself.
    Pairwise,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Algorithm; 7] = [
        Algorithm::Ring,
        Algorithm::Tree,
        Algorithm::Hierarchical,
        Algorithm::Nvls,
        Algorithm::NvlsTree,
        Algorithm::CollNet,
        Algorithm::Pairwise,
    ];
    /// Its name, in the command and in records.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Ring => "ring",
            Algorithm::Tree => "tree",
            Algorithm::Hierarchical => "hierarchical",
            Algorithm::Nvls => "nvls",
            Algorithm::NvlsTree => "nvls-tree",
            Algorithm::CollNet => "collnet",
            Algorithm::Pairwise => "pairwise",
        }
    }
    /// By name.
    pub fn named(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }
    /// Those by which a collective can be done.
    pub fn of(which: Which) -> &'static [Algorithm] {
        match which {
            Which::Allreduce => &[
                Algorithm::Ring,
                Algorithm::Tree,
                Algorithm::Hierarchical,
                Algorithm::Nvls,
                Algorithm::NvlsTree,
                Algorithm::CollNet,
            ],
            Which::Allgather | Which::ReduceScatter => {
                &[Algorithm::Ring, Algorithm::Hierarchical, Algorithm::Nvls, Algorithm::CollNet]
            }
            Which::Alltoall => &[Algorithm::Pairwise, Algorithm::Hierarchical],
            Which::Bcast | Which::Reduce => &[Algorithm::Ring],
            Which::Gather | Which::Scatter => &[Algorithm::Pairwise],
        }
    }
    /// Protocols of which it has kernels. Those where switches combine data have Simple alone, exchanges no LL128.
    pub fn protocols(self) -> &'static [Protocol] {
        match self {
            Algorithm::Ring | Algorithm::Tree | Algorithm::Hierarchical => &Protocol::ALL,
            Algorithm::Pairwise => &[Protocol::Simple, Protocol::Ll],
            Algorithm::Nvls | Algorithm::NvlsTree | Algorithm::CollNet => &[Protocol::Simple],
        }
    }
    /// Whether the scale-up switches take part: ranks beyond the GPUs, one for each domain.
    pub fn is_by_switch(self) -> bool {
        matches!(self, Algorithm::Nvls | Algorithm::NvlsTree)
    }
}

impl std::str::FromStr for Algorithm {
    type Err = String;
    fn from_str(word: &str) -> Result<Algorithm, String> {
        let names = || Algorithm::ALL.map(Algorithm::name).join(", ");
        Algorithm::named(word).ok_or_else(|| format!("is {word:?}: must be one of {}", names()))
    }
}

/// The machine: GPUs in scale-up domains of one size, GPU i of each on rail i.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// GPUs.
    pub ranks: u32,
    /// GPUs of a domain; the last may have fewer only if it is the only one.
    pub domain: u32,
    /// Concurrent channels.
    pub channels: u32,
    /// Channels that a message from one GPU to another may take.
    pub peer: PeerChannels,
    /// Largest chunk of a channel that goes from rank to rank at once, in bytes.
    pub chunk: u64,
    /// Pieces of a ring's block, so that one is combined while the next is under way (NCCL: SLICESTEPS).
    pub slices: u64,
    /// What the GPUs' own work takes.
    pub costs: Costs,
    /// How they are wired.
    pub wiring: Wiring,
    /// Whether the scale-up switches combine and copy data.
    pub switch: bool,
    /// The switches of the rails; `None`: they do not combine data.
    pub rails: Option<RailSwitches>,
    /// Where hosts have different numbers of the GPUs, so that each GPU is a domain: what of hosts counts all the same.
    pub uneven: Option<Uneven>,
}

/// Hosts that have different numbers of GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uneven {
    /// Hosts.
    pub hosts: u32,
    /// GPUs of the one that has fewest.
    pub least: u32,
}

/// The most channels among which a message from one GPU to another is split. One number is for messages within a domain,
/// the other for exchanges with any GPU of another domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerChannels {
    /// Where all are in one domain.
    pub near: u32,
    /// Where they are not.
    pub far: u32,
}

impl Default for PeerChannels {
    /// A message is not split.
    fn default() -> PeerChannels {
        PeerChannels { near: 1, far: 1 }
    }
}

/// How GPUs and domains are wired, as far as rings go by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wiring {
    /// Each GPU of a domain has a link to each other, in place of a switch.
    pub mesh: bool,
    /// Rails meet in switches: a message to another rail need not go to that rail's GPU first.
    pub joined: bool,
}

impl Machine {
    /// Hosts: domains, but where each GPU of a host is one.
    fn hosts(&self) -> u32 {
        self.uneven.map_or(self.ranks / self.domain, |uneven| uneven.hosts)
    }

    /// Channels on which pairs exchange data: those of a collective, or of one pair where that may take more.
    fn exchanging(&self) -> u32 {
        self.channels.max(self.peer.near).min(MOST_CHANNELS)
    }

    /// Channels of each pair of so many GPUs that exchange data: halved until pairs of one GPU share no channel, as NCCL
    /// does. It takes more again where messages are large, and fewer for short ones.
    pub fn of_a_pair(&self, ranks: u32, is_near: bool) -> u32 {
        let PeerChannels { near, far } = self.peer;
        let all = self.exchanging();
        let mut each = if is_near { near } else { near.min(far) }.clamp(1, all);
        while each > 1 && each * (ranks - 1) > all {
            each /= 2;
        }
        each
    }

    /// A smaller block of a ring stays in one piece (NCCL's `src/device/prims_simple.h`).
    fn least_slice(&self) -> u64 {
        (self.chunk / 32).max(1)
    }

    /// Lines of a piece that follow one another within a domain, where no finer ones than of `all` bytes are worth it.
    fn lines(&self, piece: u64, all: u64) -> u64 {
        match self.costs.line {
            0 => 1,
            line => piece.div_ceil(ring::line(line.into(), all)).max(1),
        }
    }

    /// Operations of an exchange among so many GPUs, of each and at most about.
    fn exchange_operations(&self, ranks: u64, bytes: u64) -> u64 {
        5 * (ranks + u64::from(2 * MOST_CHANNELS) + bytes / self.chunk)
    }

    /// Whether collectives can be written for it.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self) -> Result<(), String> {
        let Machine { ranks, domain, channels, chunk, .. } = *self;
        if !(2..=MOST_RANKS).contains(&ranks) || !(1..=ranks).contains(&domain) || !ranks.is_multiple_of(domain) {
            let what = format!("must be whole domains, a multiple of {domain}, and 2 GPUs or more");
            return Err(format!("{ranks} GPUs in domains of {domain}: {what}"));
        }
        if !(1..=MOST_CHANNELS).contains(&channels) || chunk == 0 {
            let what = format!("{channels} channels of chunks of {chunk} B");
            return Err(format!("{what}: must be 1 to {MOST_CHANNELS}, of 1 B or more"));
        }
        Ok(())
    }
}

/// A collective of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// What.
    pub which: Which,
    /// How.
    pub algorithm: Algorithm,
    /// Bytes of the collective.
    pub bytes: u64,
    /// Where.
    pub machine: Machine,
}

/// Processors are counted by bytes: a channel takes one, a tree's second half, its path down and a proxy take others.
const MOST_CHANNELS: u32 = 32;
/// Processors of a stage of every channel: one each, so that chunks follow one another through the stages.
const STAGE: u8 = MOST_CHANNELS as u8;
/// Most operations that are written: some gigabytes of memory.
pub(crate) const MOST_OPERATIONS: u64 = 100_000_000;

impl Job {
    /// Ranks of its schedule: the GPUs, and the switches where they take part.
    pub fn ranks(&self) -> u32 {
        self.first_of_network() + self.network().map_or(0, |switches| switches.count(self.machine.domain))
    }

    /// The first rank of the rails' switches: those of the scale-up switches stand before it.
    fn first_of_network(&self) -> u32 {
        let Machine { ranks, domain, .. } = self.machine;
        ranks + if self.algorithm.is_by_switch() { ranks.div_ceil(domain) } else { 0 }
    }

    /// The rails' switches, where they take part.
    pub fn network(&self) -> Option<RailSwitches> {
        let Machine { ranks, domain, rails, .. } = self.machine;
        rails.filter(|_| match self.algorithm {
            Algorithm::CollNet => true,
            Algorithm::Nvls => ranks > domain,
            _ => false,
        })
    }

    /// Whether its algorithm runs on these domains.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self) -> Result<(), String> {
        let Job { which, algorithm, machine, .. } = *self;
        machine.check()?;
        let (name, ranks) = (algorithm.name(), machine.ranks);
        let (is_one, combine) = (ranks == machine.domain, machine.rails.is_some());
        match algorithm {
            _ if algorithm.is_by_switch() && !machine.switch => {
                Err(format!("{name}: its scale-up switches do not combine data"))
            }
            _ if algorithm.is_by_switch() && machine.domain == 1 => Err(format!(
                "{name}: no two of its {ranks} GPUs share a scale-up switch: must be two or more of each domain"
            )),
            Algorithm::CollNet if !combine => {
                Err(format!("{name}: the switches between its domains do not combine data"))
            }
            Algorithm::CollNet | Algorithm::NvlsTree if is_one => {
                Err(format!("{name}: {ranks} GPUs are one domain: must be two domains or more"))
            }
            Algorithm::Nvls if !is_one && !combine => {
                let other = if which == Which::Allreduce { Algorithm::NvlsTree } else { Algorithm::Ring };
                let why = "the switches between its domains do not combine data, and NCCL takes another there";
                Err(format!("{name}: {why}: {}", other.name()))
            }
            _ => Ok(()),
        }
    }

    /// Operations of its schedule, at most about.
    pub fn operations(&self) -> u64 {
        let Machine { ranks, domain, channels, slices, .. } = self.machine;
        let [ranks, domain, channels] = [ranks, domain, channels].map(u64::from);
        let (part, domains) = (self.bytes.div_ceil(channels), ranks / domain);
        let chunk = self.chunk();
        // A piece is received, worked on, posted and sent; where kernels write, its flag is, too.
        let passing = if self.machine.costs.writes() && domain > 1 { 7 } else { 4 };
        let of_each_rank = match self.algorithm {
            Algorithm::Ring if matches!(self.which, Which::Bcast | Which::Reduce) => {
                let lines = self.machine.lines(chunk.min(part), part / ranks);
                (1 + passing) * channels * part.div_ceil(chunk) * lines
            }
            Algorithm::Ring => {
                let whole = (slices * chunk).saturating_mul(ranks);
                let block = part.min(whole).div_ceil(ranks);
                let slices = slices.min(block.div_ceil(self.machine.least_slice())).max(1);
                let both = if self.which == Which::Allreduce { 2 } else { 1 };
                let of_block = slices * self.machine.lines(block.div_ceil(slices), block);
                passing * both * (1 + ranks) * channels * part.div_ceil(whole) * of_block
            }
            Algorithm::Tree => (2 + 2 * passing) * channels * part.div_ceil(pipelined(part, chunk, domain + domains)),
            Algorithm::Pairwise => self.machine.exchange_operations(ranks, self.bytes),
            Algorithm::Hierarchical if self.which == Which::Alltoall => {
                channels * 5 * (domain + domains + self.bytes / channels / chunk)
            }
            Algorithm::Hierarchical | Algorithm::Nvls | Algorithm::NvlsTree | Algorithm::CollNet => {
                let piece = domain.saturating_mul(pipelined(part / domain, chunk, self.stages()));
                let between = if self.algorithm == Algorithm::Hierarchical { 16 * domains } else { 20 };
                channels * (6 * domain + between) * part.div_ceil(piece)
            }
        };
        of_each_rank.saturating_mul(ranks)
    }

    /// Stages of a piece's path between the domains.
    fn stages(&self) -> u64 {
        let domains = self.machine.ranks / self.machine.domain;
        match self.network() {
            Some(switches) => switches.stages(),
            None if self.algorithm == Algorithm::NvlsTree => u64::from(domains.ilog2()) + 1,
            None => domains.into(),
        }
    }

    /// The largest piece that a channel passes on.
    fn chunk(&self) -> u64 {
        let Machine { chunk, costs, .. } = self.machine;
        if self.algorithm.is_by_switch() && costs.switch_chunk > 0 {
            chunk.min(costs.switch_chunk.into())
        } else {
            chunk
        }
    }

    /// The schedule, in picoseconds.
    ///
    /// # Errors
    /// The algorithm is none of the collective's, or the machine cannot run it.
    pub fn schedule(&self) -> Result<Schedule, String> {
        let places: Vec<u32> = (0..self.machine.ranks / self.machine.domain.max(1)).collect();
        self.schedule_at(&places)
    }

    /// The same where the domains stand at these places of a larger cluster: the leaves of its rails hold domains by
    /// their places.
    ///
    /// # Errors
    /// As [`Job::schedule`].
    pub fn schedule_at(&self, places: &[u32]) -> Result<Schedule, String> {
        self.machine.check()?;
        Ok(self.draft(&self.homes(places), 0)?.builder(crate::form::NONE).build())
    }

    /// Where its GPUs are if their domains stand at these places.
    fn homes(&self, places: &[u32]) -> Vec<Home> {
        let domain = self.machine.domain;
        let home = |rank: u32| Home { host: places[(rank / domain) as usize], gpu: rank % domain };
        (0..self.machine.ranks).map(home).collect()
    }

    /// The same in the making, where the GPUs are at `homes`, domain by domain. The data of some collectives goes to GPU
    /// `root`, or comes from it.
    pub(crate) fn draft(&self, homes: &[Home], root: u32) -> Result<Draft, String> {
        let Job { which, algorithm, bytes, machine } = *self;
        let allowed = Algorithm::of(which);
        if !allowed.contains(&algorithm) {
            let names: Vec<&str> = allowed.iter().map(|algorithm| algorithm.name()).collect();
            return Err(format!("{}: must be one of {}", algorithm.name(), names.join(", ")));
        }
        self.check()?;
        if self.operations() > MOST_OPERATIONS {
            let ranks = machine.ranks;
            return Err(format!("{bytes} B on {ranks} GPUs need more than {MOST_OPERATIONS} operations: give fewer"));
        }
        let mut draft = Draft::new(self.ranks());
        self.write(&mut draft, homes, root);
        Ok(draft)
    }

    fn write(&self, draft: &mut Draft, homes: &[Home], root: u32) {
        let Job { which, algorithm, bytes, ref machine } = *self;
        match (which, algorithm) {
            (Which::Alltoall, Algorithm::Pairwise) => exchange::pairwise(draft, machine, homes, bytes),
            (Which::Alltoall, _) => exchange::by_rail(draft, machine, bytes),
            (Which::Gather | Which::Scatter, _) => exchange::rooted(draft, machine, homes, (which, root), bytes),
            (Which::Bcast | Which::Reduce, _) => ring::chains(draft, machine, homes, (which, root), bytes),
            (_, Algorithm::Ring) => ring::all(draft, machine, homes, which, bytes),
            (_, Algorithm::Tree) => tree::all(draft, machine, homes, bytes),
            _ => {
                let places: Vec<u32> = homes.iter().step_by(machine.domain as usize).map(|home| home.host).collect();
                rails::all(draft, self, &places);
            }
        }
    }
}

/// Part `index` of `parts` of `bytes`, as even as whole bytes allow.
pub(crate) fn share(bytes: u64, index: u64, parts: u64) -> u64 {
    let upto = |parts_before: u64| (u128::from(bytes) * u128::from(parts_before) / u128::from(parts)) as u64;
    upto(index + 1) - upto(index)
}

/// The chunk of a pipeline of `depth` stages. It is halved until the pipeline fills, but not below sizes at which a
/// smaller chunk takes as long (NCCL does so for trees).
pub(crate) fn pipelined(bytes: u64, mut chunk: u64, depth: u64) -> u64 {
    for (fill, least) in [(8 * depth, 128 << 10), (4 * depth, 64 << 10), (depth, 32 << 10)] {
        while bytes / chunk < fill && chunk > least {
            chunk /= 2;
        }
    }
    chunk
}

/// The chunks of a channel: as many whole ones as its part holds, then the rest (as NCCL cuts).
pub(crate) fn chunks(bytes: u64, chunk: u64) -> impl Iterator<Item = u64> {
    (0..bytes.div_ceil(chunk)).map(move |index| chunk.min(bytes - index * chunk))
}
