//! The longest chains of GPU collectives, without a run: what the kernels, their messages and their steps take at least.

use crate::collective::name;
use crate::gpu::{self, Gpus};
use crate::replay::{self, Network};
use hotlink_fabric::Fabric;
use hotlink_fabric::units::Rate;
use hotlink_schedule::collective::{Algorithm, Job, Machine, Which};
use hotlink_schedule::{Protocol, longest};
use hotlink_sim::Plan;
use hotlink_sim::plan::{RouteBuffer, UNLIMITED};
use hotlink_study::Source;
use hotlink_study::options::Rates;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

/// Operations of a schedule whose chain is counted: tens of milliseconds. Of longer ones that of fewer bytes is.
const MOST_OPERATIONS: u64 = 1 << 17;

/// The longest chain of a collective, or the work of its busiest processor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chain {
    /// Microseconds.
    pub us: f64,
    /// What it is.
    pub resource: String,
    /// Bytes of the collective that was counted: all of them, or fewer, which take no longer.
    pub bytes: u64,
}

/// The GPUs of a fabric, with the chains that are known.
pub(crate) struct Chains {
    gpus: Gpus,
    network: Network,
    built: BTreeMap<(u32, [bool; 2]), (Fabric, Ways)>,
    known: HashMap<Asked, Option<Chain>>,
}

/// GPUs, collective, algorithm, protocol and bytes.
type Asked = (u32, &'static str, &'static str, &'static str, u64);
/// The least latency and the rate from node to node.
type Ways = HashMap<(u32, u32), (u64, Rate)>;

impl Chains {
    /// Those of a fabric whose file describes its GPUs.
    pub fn of(source: &Source, capacities: Rates) -> Option<Chains> {
        let gpus = gpu::is(source.spec()).then(|| Gpus::of(source.spec()).ok()).flatten()?;
        let network = Network { capacities, ..Network::default() };
        Some(Chains { gpus, network, built: BTreeMap::new(), known: HashMap::new() })
    }

    /// The protocols that its GPUs have.
    pub fn protocols(&self) -> Vec<Protocol> {
        self.gpus.kernels.protocols.iter().map(|(protocol, _)| *protocol).collect()
    }

    /// So many of its GPUs in whole domains; `None` where kernels run on no such machine.
    pub fn machine(&self, source: &Source, gpus: u32) -> Option<Machine> {
        let rails = gpu::rail_switches(source.spec(), gpus).ok()?;
        Some(Machine { rails, ..self.gpus.machine(gpus) }).filter(|machine| machine.check().is_ok())
    }

    /// The chain of a collective by an algorithm and protocol. `None` where the machine does not have both, or where even
    /// few bytes take too many operations.
    pub fn chain(
        &mut self,
        source: &Source,
        machine: &Machine,
        which: Which,
        (algorithm, protocol): (Algorithm, Protocol),
        bytes: u64,
    ) -> Option<Chain> {
        let asked = (machine.ranks, name(which), algorithm.name(), protocol.name(), bytes);
        if let Some(known) = self.known.get(&asked) {
            return known.clone();
        }
        let has = self.gpus.kernels.has(algorithm, protocol);
        let job = has.then(|| {
            let machine = self.gpus.kernels.on(machine, which, (algorithm, protocol), bytes);
            Job { which, algorithm, bytes, machine }
        });
        let chain = job.and_then(|job| self.counted(source, &job));
        self.known.insert(asked, chain.clone());
        chain
    }

    fn counted(&mut self, source: &Source, job: &Job) -> Option<Chain> {
        let (mut one, mut whole) = (of_few_channels(job), job.bytes);
        while one.operations() > MOST_OPERATIONS && whole > 0 {
            // Fewer bytes by the same kernels take no longer.
            (one.bytes, whole) = (one.bytes / 2, whole / 2);
        }
        if one.operations() > MOST_OPERATIONS {
            return None;
        }
        let schedule = one.schedule().ok()?;
        let switches = switches_of(job);
        let (gpus, network) = (job.machine.ranks, &self.network);
        let (fabric, ways) = match self.built.entry((gpus, switches)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => free.insert((built(source, job).ok()?, Ways::new())),
        };
        let places = places(fabric, job);
        let mut plan = None;
        let mut is_sound = true;
        let found = longest(&schedule, |send| {
            let [from, to] = [send.rank, send.peer].map(|rank| places[rank as usize]);
            let way = ways.get(&(from, to)).copied().or_else(|| {
                if plan.is_none() {
                    let settings = network.settings(source.spec(), fabric).ok()?;
                    plan = Some(Plan::new(fabric, &settings).ok()?);
                }
                plan.as_ref()?.quickest(from, to, &mut RouteBuffer::default()).ok()
            });
            let Some((latency, rate)) = way.filter(|_| from != to) else {
                is_sound &= from == to;
                return 0;
            };
            ways.insert((from, to), (latency, rate));
            latency + if rate == UNLIMITED { 0 } else { rate.time_for(send.size).0 }
        })?;
        let named = gpu::processors(fabric, gpus, job);
        let us = |ps: u64| ps as f64 / 1e6;
        let chain = Chain { us: us(found.chain), resource: replay::CHAIN.to_owned(), bytes: whole };
        let busiest = found.computing.filter(|&(_, _, work)| work > found.chain).map(|(rank, cpu, work)| Chain {
            us: us(work),
            resource: named(places[rank as usize], cpu),
            bytes: whole,
        });
        is_sound.then(|| busiest.unwrap_or(chain))
    }
}

/// The same by one channel or two, with the bytes that the fullest has: channels are alike and wait for none of the others. Pairs
/// share theirs, all channels the rails' switches, and in a mesh each turns in its own way.
fn of_few_channels(job: &Job) -> Job {
    let Machine { channels, domain, .. } = job.machine;
    let is_alike = job.algorithm != Algorithm::Pairwise && job.which != Which::Alltoall && job.network().is_none();
    let is_alike = is_alike && !job.machine.wiring.mesh;
    // A chain that begins amid a host comes back to it: that of the second channel is longer than that of the first.
    let some = if matches!(job.which, Which::Bcast | Which::Reduce) { 2 } else { 1 };
    if channels <= some || !is_alike {
        return *job;
    }
    // A channel alone carries both halves of a tree, of two that have one each.
    let halves = if job.algorithm == Algorithm::Tree && channels >= 2 * domain { 2 } else { 1 };
    let machine = Machine { channels: some, ..job.machine };
    Job { bytes: halves * u64::from(some) * job.bytes.div_ceil(channels.into()), machine, ..*job }
}

/// Whether the scale-up switches and those of the rails take part as ranks.
fn switches_of(job: &Job) -> [bool; 2] {
    [job.algorithm.is_by_switch(), job.network().is_some()]
}

/// The fabric of a collective, with the switches that take part as nodes.
pub(crate) fn built(source: &Source, job: &Job) -> Result<Fabric, String> {
    let gpus = job.machine.ranks;
    let spec = gpu::with_switches(source.spec(), switches_of(job));
    spec.map_or_else(|| source.build(gpus), |spec| source.varied(spec).build(gpus))
}

/// The nodes of its ranks. Switches stand after the GPUs of whole domains; a job may use fewer of these.
pub(crate) fn places(built: &Fabric, job: &Job) -> Vec<u32> {
    let gpus = job.machine.ranks;
    let switches = job.ranks() - gpus;
    (0..gpus).chain(built.nodes() - switches..built.nodes()).collect()
}
