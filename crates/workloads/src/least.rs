//! The least time of a collective of GPUs, without a run: what simulated and imported results are held to.
//!
//! Three things set it: the longest chain of operations and messages, the work of the busiest processor, and
//! the bytes over the hottest resource. The chain is counted of one channel or three: the others are alike. Of
//! many bytes all three grow evenly with them, so they are counted twice, of few pieces, and grow from there.

use crate::gpu::{self, Gpus};
use crate::replay::{self, CHAIN, Network};
use hotlink_bound::RoleBound;
use hotlink_fabric::Fabric;
use hotlink_fabric::spec::Role;
use hotlink_fabric::traffic::Demand;
use hotlink_fabric::units::{Rate, Time};
use hotlink_schedule::collective::{Algorithm, Job, Machine, Way, Which};
use hotlink_schedule::{Protocol, Sums, longest};
use hotlink_sim::plan::{RouteBuffer, UNLIMITED};
use hotlink_sim::{Plan, Settings};
use hotlink_study::Source;
use hotlink_study::bound::pattern::Pattern;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

/// Operations of a schedule whose chain is counted: tens of milliseconds.
const MOST_CHAINED: u64 = 1 << 17;
/// The same where all other sizes grow from it.
const MOST_GROWING: u64 = 1 << 21;
/// Operations whose bytes are summed: tens of milliseconds, too.
const MOST_SUMMED: u64 = 1 << 21;
/// Pairs of GPUs, on each channel, whose bytes are summed. Of more, levels of the cluster bound the bytes alone.
const MOST_PLACES: u64 = 1 << 26;
/// Vertices that searches for ways may pass where a chain grows: each GPU's takes one through the network. A second.
const MOST_SEARCHED: u64 = 1 << 28;

/// The machine on which collectives run, and what is known of its routes.
pub(crate) struct Ground {
    /// With the switches that take part as nodes.
    pub fabric: Fabric,
    settings: Settings,
    network: Network,
    /// The least latency and the rate from node to node.
    ways: HashMap<(u32, u32), (u64, Rate)>,
    known: HashMap<Asked, Option<Counted>>,
}

/// Collective, algorithm, protocol, channels and what these take for a byte; bytes, and whether sums are asked for.
type Asked = (Which, Algorithm, Protocol, (u32, [u64; 3]), u64, bool);

/// What was counted: picoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
struct Counted {
    chain: u64,
    /// The rank, the processor and the work of the one that works most.
    work: Option<(u32, u32, u64)>,
    carried: Option<replay::Least>,
}

impl Counted {
    /// What it grows to if it grows on from itself to `next` so many times.
    fn grown(self, next: Counted, times: f64) -> Counted {
        let grow = |one: u64, two: u64| one + (two.saturating_sub(one) as f64 * times) as u64;
        let before = self.work.map_or(0, |(.., work)| work);
        let carried = self.carried.map_or(0, |carried| carried.time.0);
        Counted {
            chain: grow(self.chain, next.chain),
            work: next.work.map(|(rank, cpu, work)| (rank, cpu, grow(before, work))),
            carried: next.carried.map(|next| replay::Least { time: Time(grow(carried, next.time.0)), ..next }),
        }
    }
}

/// What a collective needs at least.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Needs {
    /// The longest chain, or the work of the busiest processor.
    pub chain: replay::Least,
    /// The hottest resource; `None` where too many operations would have to be summed.
    pub carried: Option<replay::Least>,
    /// Bytes of the collective whose chain was counted: all of them, or fewer, which take no longer.
    pub bytes: u64,
}

impl Needs {
    /// The least time, where a level of the cluster needs `level` in all.
    pub fn least(&self, level: Option<(Time, String)>) -> replay::Least {
        let mut least = self.chain.clone();
        if let Some(carried) = self.carried.as_ref().filter(|carried| carried.time > least.time) {
            least = carried.clone();
        }
        // Pieces of the counted work are whole bytes and picoseconds each.
        match level.filter(|(time, _)| time.0 > least.time.0 + least.time.0 / 10_000) {
            Some((time, resource)) => replay::Least { time, resource, processor: None, hot_link: None },
            None => least,
        }
    }
}

/// Counts a collective of at most `most` operations, else one of fewer pieces from which it grows, of at most `growing`.
/// Else it is one of so few bytes that `most` hold it. Gives the bytes for which it holds.
fn counted(
    job: &Job,
    [most, growing]: [u64; 2],
    mut count: impl FnMut(&Job) -> Option<Counted>,
) -> Option<(Counted, u64)> {
    let of = |bytes: u64| Job { bytes, ..*job };
    if job.operations() <= most {
        return Some((count(job)?, job.bytes));
    }
    let [from, each] = job.steady();
    let next = of(from.saturating_add(each));
    if next.bytes < job.bytes && next.operations() <= growing {
        return Some((count(&of(from))?.grown(count(&next)?, job.growth()), job.bytes));
    }
    // Fewer bytes by the same kernels take no longer.
    let halves = std::iter::successors(Some(job.bytes), |bytes| (*bytes > 0).then_some(bytes / 2));
    let few = halves.map(of).find(|few| few.operations() <= most)?;
    Some((count(&few)?, few.bytes))
}

impl Ground {
    /// The machine of a collective.
    ///
    /// # Errors
    /// It cannot be built, or what fails on it cannot be read.
    pub fn of(source: &Source, network: &Network, job: &Job) -> Result<Ground, String> {
        let fabric = built(source, job)?;
        let settings = network.settings(source.spec(), &fabric)?;
        Ok(Ground { fabric, settings, network: network.clone(), ways: HashMap::new(), known: HashMap::new() })
    }

    /// What a collective needs at least; `None` where even few bytes take too many operations.
    pub fn needs(&mut self, job: &Job) -> Option<Needs> {
        let one = job.of_few_channels();
        let Machine { ranks, channels, .. } = job.machine;
        let searched = u64::from(ranks) * self.fabric.network.vertices() as u64;
        let growing = if searched <= MOST_SEARCHED { MOST_GROWING } else { MOST_CHAINED };
        let (chained, of_one) = counted(&one, [MOST_CHAINED, growing], |one| self.known(one, false))?;
        let is_small = u64::from(ranks).pow(2) * u64::from(channels) <= MOST_PLACES;
        let summed = if is_small { counted(job, [MOST_SUMMED; 2], |job| self.known(job, true)) } else { None };
        let (mut summed, of_some) = summed.unwrap_or_default();
        // Bytes on links are as many times more as the collective's are.
        if let Some(carried) = summed.carried.as_mut().filter(|_| (1..job.bytes).contains(&of_some)) {
            carried.time = Time((carried.time.0 as f64 * (job.bytes as f64 / of_some as f64)) as u64);
        }
        let named = gpu::processors(&self.fabric, job.machine.ranks, job);
        let places = places(&self.fabric, job);
        let work = [chained.work, summed.work].into_iter().flatten().max_by_key(|(.., work)| *work);
        let chain = match work.filter(|&(.., work)| work > chained.chain) {
            Some((rank, cpu, work)) => replay::Least {
                time: Time(work),
                resource: named(places[rank as usize], cpu),
                processor: Some((rank, cpu)),
                hot_link: None,
            },
            None => {
                replay::Least { time: Time(chained.chain), resource: CHAIN.to_owned(), processor: None, hot_link: None }
            }
        };
        let share = of_one as f64 / one.bytes.max(1) as f64;
        let bytes = if of_one == one.bytes { job.bytes } else { (job.bytes as f64 * share) as u64 };
        Some(Needs { chain, carried: summed.carried, bytes })
    }

    fn known(&mut self, job: &Job, sums: bool) -> Option<Counted> {
        let Machine { channels, costs, .. } = job.machine;
        let rates = [costs.reduce_ps_per_byte, costs.copy_ps_per_byte, costs.post_ps_per_byte.into()];
        let kernels = (channels, rates.map(f64::to_bits));
        let asked = (job.which, job.algorithm, costs.protocol, kernels, job.bytes, sums);
        if let Some(known) = self.known.get(&asked) {
            return known.clone();
        }
        let found = if sums { self.sums(job) } else { self.chain(job) };
        self.known.insert(asked, found.clone());
        found
    }

    /// What it puts on links and processors.
    fn sums(&self, job: &Job) -> Option<Counted> {
        let Sums { sent, largest, work } = job.sums().ok()?;
        let places = places(&self.fabric, job);
        let at = |rank: u32| places[rank as usize];
        let pairs = sent.into_iter().map(|((from, to), bytes)| ((at(from), at(to)), bytes));
        let demand = replay::demand_of(pairs, largest, self.fabric.nodes());
        let carried = if demand.flows.is_empty() { None } else { self.carried(&demand, largest)? };
        let work = work.into_iter().map(|((rank, cpu), work)| (rank, u32::from(cpu), work));
        let work = work.reduce(|most, one| if one.2 > most.2 { one } else { most });
        Some(Counted { work: work.filter(|(.., work)| *work > 0), carried, ..Counted::default() })
    }

    /// The time of the hottest resource. Packets of scale-up links are not the network's: no header of these bounds them.
    fn carried(&self, demand: &Demand, largest: u64) -> Option<Option<replay::Least>> {
        let (fabric, capacities) = (&self.fabric, self.network.capacities);
        let routes = (self.settings.paths, self.settings.seed);
        let bounds = Pattern::of_paths(fabric, demand, capacities, largest, routes).ok()?.bounds;
        let rate = |role: &RoleBound, efficiency: f64| {
            fabric.spec.resource(role.role)?.payload_rate(capacities.into(), efficiency)
        };
        let without = |role: &RoleBound| match role.role {
            Role::LocalLink => Some(rate(role, 1.0)? / rate(role, bounds.efficiency)?),
            _ => Some(1.0),
        };
        let rated = bounds.roles.iter().filter_map(|role| Some((role, role.bandwidth_per_node_mbps? * without(role)?)));
        let least = rated.reduce(|least, one| if one.1 < least.1 { one } else { least });
        Some(least.map(|(role, mbps)| replay::Least {
            time: Time::from_us(bounds.flow_per_node * largest as f64 / mbps),
            resource: role.name.clone(),
            processor: None,
            hot_link: Some(fabric.resource_name(role.hottest)),
        }))
    }

    /// Its longest chain.
    fn chain(&mut self, job: &Job) -> Option<Counted> {
        let schedule = job.schedule().ok()?;
        let places = places(&self.fabric, job);
        let (fabric, settings, ways) = (&self.fabric, &self.settings, &mut self.ways);
        let mut plan = None;
        let mut is_sound = true;
        let found = longest(&schedule, |send| {
            let [from, to] = [send.rank, send.peer].map(|rank| places[rank as usize]);
            let way = ways.get(&(from, to)).copied().or_else(|| {
                if plan.is_none() {
                    plan = Some(Plan::new(fabric, settings).ok()?);
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
        is_sound.then_some(Counted { chain: found.chain, work: found.computing, ..Counted::default() })
    }
}

/// The GPUs of a fabric, with the grounds that are known.
pub(crate) struct Leasts {
    gpus: Gpus,
    network: Network,
    grounds: BTreeMap<(u32, [bool; 2]), Ground>,
}

impl Leasts {
    /// Those of a fabric whose file describes its GPUs.
    pub fn of(source: &Source, network: Network) -> Option<Leasts> {
        let gpus = gpu::is(source.spec()).then(|| Gpus::of(source.spec()).ok()).flatten()?;
        Some(Leasts { gpus, network, grounds: BTreeMap::new() })
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

    /// The algorithm that NCCL's model chooses.
    pub fn chosen(&self, machine: &Machine, which: Which, protocol: Option<Protocol>, bytes: u64) -> Option<Algorithm> {
        let way = Way::of(&self.gpus.kernels, machine, which, (None, protocol), bytes);
        way.ok().map(|way| way.algorithm)
    }

    /// What a collective needs by an algorithm and protocol. `None` where the machine does not have both, or where even few
    /// bytes take too many operations.
    pub fn needs(
        &mut self,
        source: &Source,
        machine: &Machine,
        which: Which,
        (algorithm, protocol): (Algorithm, Protocol),
        bytes: u64,
    ) -> Option<Needs> {
        if !self.gpus.kernels.has(algorithm, protocol) {
            return None;
        }
        let machine = self.gpus.kernels.on(machine, which, (algorithm, protocol), bytes);
        let job = Job { which, algorithm, bytes, machine };
        job.check().ok()?;
        let ground = match self.grounds.entry((machine.ranks, switches_of(&job))) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => free.insert(Ground::of(source, &self.network, &job).ok()?),
        };
        ground.needs(&job)
    }
}

/// Whether the scale-up switches and those of the rails take part as ranks.
fn switches_of(job: &Job) -> [bool; 2] {
    [job.algorithm.is_by_switch(), job.network().is_some()]
}

/// The fabric of a collective, with the switches that take part as nodes.
fn built(source: &Source, job: &Job) -> Result<Fabric, String> {
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
