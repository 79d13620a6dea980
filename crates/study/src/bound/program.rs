//! The least time of a program on simulated ranks: the bound of its time.

use crate::bound::message;
use crate::bound::pattern::{self, Pattern};
use crate::cell::{Cell, Program};
use crate::options::{Memory, Rates};
use hotlink_bench::{Direction, Stream, Which};
use hotlink_bound::flows::of_pairs;
use hotlink_bound::network::Ends;
use hotlink_bound::{Bound, DEVICES, Peak, network};
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Node, Resource};
use hotlink_fabric::spec::Role;
use hotlink_fabric::traffic::Traffic;
use hotlink_port::{Engine, Layout, Limits, RegistrationLimits};
use hotlink_sim::port::{Adapter, Family, VirtualTime};
use hotlink_sim::qsnet::Elan;
use hotlink_sim::{Plan as NetPlan, Settings};

/// Why packets say nothing of messages to oneself.
pub const NO_WAY_TO_ITSELF: &str = "--direction self: a simulated network has no way from a node to itself; `hotlink \
                                    measure stream` and machines calibrated as LogGP know such messages";

/// An empty message between two idle nodes, in the mean of both directions: overheads and the path's latency. On a ring
/// of one direction the path back is another.
pub fn idle_us(driver: &VirtualTime<'_>, plan: &NetPlan<'_>, [from, to]: [u32; 2]) -> Result<f64, String> {
    let limits = &driver.adapter().limits;
    Ok(limits.post_overhead.us()
        + (message::way_us(plan, from, to)? + message::way_us(plan, to, from)?) / 2.0
        + limits.poll_overhead.us())
}

impl Program {
    /// One message between two idle nodes: overheads, the network's latency, and its bytes at the slowest resource.
    pub fn pair(
        &self,
        cell: &Cell,
        driver: &VirtualTime<'_>,
        plan: &NetPlan<'_>,
        [from, to]: [u32; 2],
    ) -> Result<Bound, String> {
        let slowest = self.slowest(cell, driver, plan, [from, to])?;
        Ok(network::pair(idle_us(driver, plan, [from, to])?, cell.size as f64, slowest))
    }

    /// The rate of one message's bytes, and what sets it: network, adapter or host.
    fn slowest(
        &self,
        cell: &Cell,
        driver: &VirtualTime<'_>,
        plan: &NetPlan<'_>,
        between: [u32; 2],
    ) -> Result<Peak, String> {
        let way = message::rate(plan, cell.capacities, between, cell.size)?;
        let limits = &driver.adapter().limits;
        let registered = self.memory == Memory::Private;
        let RegistrationLimits { zero_copy_min, private_zero_copy_min, .. } = limits.registration;
        // Data that goes through buffers is stored there, or is no faster than if it were.
        let without_buffers = self.zero_copy && (!registered || cell.size >= private_zero_copy_min);
        let claim = limits.deposit.filter(|_| without_buffers);
        let engine = claim.map_or(Engine::Pio, |claim| claim.mover(!registered));
        // Shorter ones may come from a cache: the processor's stores are then faster than from memory, or than DMA.
        let sockets = driver.adapter().family == Family::Tcp;
        let long = sockets || (cell.size >= zero_copy_min && limits.deposit.is_some());
        // A kernel's work is of this size; what moves data by itself has its pace in long transfers.
        let bytes = if sockets { cell.size } else { 1 << 20 };
        let ends = driver.adapter().peak(engine, &Layout::contiguous(bytes), registered).filter(|_| long);
        Ok(ends.map(peak).into_iter().fold(way, Peak::at_most))
    }

    /// Streams: the load of the pairs on the network, that of their hosts and adapters, and the processor time of a
    /// message at its ends.
    pub fn streams(
        &self,
        cell: &Cell,
        driver: &VirtualTime<'_>,
        plan: &NetPlan<'_>,
        bench: &Stream,
    ) -> Result<Bound, String> {
        let (limits, size, pairs) = (&driver.adapter().limits, cell.size as f64, f64::from(bench.pairs));
        let directions = if bench.direction == Direction::Bi { 2.0 } else { 1.0 };
        let cost_us = match bench.direction {
            Direction::Uni => limits.post_overhead.us().max(limits.poll_overhead.us()),
            Direction::Bi => limits.post_overhead.us() + limits.poll_overhead.us(),
            Direction::Own => return Err(NO_WAY_TO_ITSELF.to_owned()),
        };
        let flows = bench.flows(cell.nodes);
        let ends = self.slowest(cell, driver, plan, flows[0].into())?;
        let demand = pattern::flows(plan.fabric.nodes(), flows);
        let fair = Pattern::of(plan.fabric, &demand, cell.capacities, cell.size)?.bounds;
        let hottest = of_pairs(plan.fabric, &demand, &fair, cell.capacities.into())?.per_node();
        let both = driver.adapter().exchange_peak().filter(|_| bench.direction == Direction::Bi).map(peak);
        let each = [network::by_overhead(size, cost_us), ends, hottest].into_iter().chain(both);
        Ok(network::stream(size, directions * pairs, each))
    }

    /// Of a collective of all ranks, a node each.
    pub fn least(
        &self,
        cell: &Cell,
        driver: &VirtualTime<'_>,
        plan: &NetPlan<'_>,
        which: Which,
    ) -> Result<Bound, String> {
        let bytes = match which {
            // Rank 0 sends no less than the average rank.
            Which::Alltoallv => (1..cell.nodes).map(|to| hotlink_bench::part(cell.size, 0, to) as f64).sum(),
            _ => which.moved(cell.size as f64, f64::from(cell.nodes)),
        };
        let nodes: Vec<u32> = (0..cell.nodes.min(plan.fabric.nodes())).collect();
        let Cell { size, capacities, seed, .. } = *cell;
        Moved { which, nodes: &nodes, root: 0, size, bytes, capacities, seed }.least(driver.adapter(), plan)
    }
}

/// Of a collective of all nodes of a fabric by any means: messages of hosts or of adapters, a barrier network, a
/// reduction, a broadcast. No row says which, so the smallest of their bounds counts.
///
/// # Errors
/// The fabric cannot be simulated.
pub fn by_any_means(fabric: &Fabric, which: Which, size: u64, capacities: Rates) -> Result<Bound, String> {
    let (spec, nodes) = (&fabric.spec, fabric.asked);
    let barrier = spec.barrier().filter(|_| which == Which::Barrier);
    let mut own = Vec::from_iter(barrier.map(network::barrier_port));
    let reduction = spec.reduction().zip(which.combined(size, nodes));
    own.extend(reduction.and_then(|(own, bytes)| network::reduced(own, nodes, bytes).ok()));
    match by_messages(fabric, which, size, capacities) {
        // Some networks have nothing else.
        Err(error) if own.is_empty() => return Err(error),
        messages => own.extend(messages.unwrap_or_default()),
    }
    network::least(own).ok_or_else(|| "no bound is known".to_owned())
}

/// Of a collective by messages of the hosts, of their adapters, and by QsNet's broadcast, each where it is.
fn by_messages(fabric: &Fabric, which: Which, size: u64, capacities: Rates) -> Result<Vec<Bound>, String> {
    let settings = Settings { capacities: capacities.into(), ..Settings::of(&fabric.spec) };
    let plan = NetPlan::new(fabric, &settings).map_err(|error| error.to_string())?;
    let nodes: Vec<u32> = (0..fabric.asked).collect();
    let bytes = which.moved(size as f64, f64::from(fabric.asked));
    let moved = Moved { which, nodes: &nodes, root: 0, size, bytes, capacities, seed: 1 };
    let hosts = Adapter::new(&plan).ok();
    // Of a real machine: its software may be quicker than the catalog's.
    let mut all = vec![moved.by(None, &plan)?];
    if let (Some(hosts), Ok(adapters)) = (&hosts, Adapter::offloaded(&plan))
        && which.is_carried_by_adapters()
        && size <= hosts.limits.control_bytes_max
    {
        all.push(moved.least(&adapters, &plan)?.after(hosts.around_offloaded(size).us()));
    }
    if Elan::of(&fabric.spec).is_some() && matches!(which, Which::Barrier | Which::Bcast) {
        let ends = [0, fabric.asked - 1];
        all.push(super::network::broadcast(&plan, ends, size).map_err(|error| error.to_string())?);
    }
    Ok(all)
}

/// A collective of some nodes.
#[derive(Clone, Copy, Debug)]
pub struct Moved<'a> {
    /// Which.
    pub which: Which,
    /// Those that take part, each once.
    pub nodes: &'a [u32],
    /// The place of the root's among them.
    pub root: usize,
    /// Bytes, see [`Which`].
    pub size: u64,
    /// Bytes that one node sends or receives at least.
    pub bytes: f64,
    /// Rates of the resources.
    pub capacities: Rates,
    /// Seed of random routes.
    pub seed: u64,
}

impl Moved<'_> {
    /// Hop and serialisation limit: news from the farthest node, and the bytes that must pass the busiest resource.
    ///
    /// # Errors
    /// A node is not there, or has no route.
    pub fn least(&self, adapter: &Adapter, plan: &NetPlan<'_>) -> Result<Bound, String> {
        self.by(Some(adapter), plan)
    }

    /// The same; without an adapter, of the network alone.
    fn by(&self, adapter: Option<&Adapter>, plan: &NetPlan<'_>) -> Result<Bound, String> {
        let Moved { which, nodes, mut bytes, .. } = *self;
        // Where links differ, a fast node may do more than its share for the others.
        let links_differ = !plan.fabric.network.overrides.is_empty();
        if links_differ && which == Which::Allreduce {
            bytes = bytes.min(self.size as f64);
        }
        let root = nodes.get(self.root).copied().ok_or("the root is none of the nodes")?;
        let others = nodes.iter().copied().filter(|&node| node != root);
        let [mut near_us, mut far_us] = [f64::INFINITY, 0.0f64];
        for to in others.clone() {
            // Gathered data comes from there.
            let [from, to] = if matches!(which, Which::Reduce | Which::Gather) { [to, root] } else { [root, to] };
            let way_us = message::way_us(plan, from, to)?;
            (near_us, far_us) = (near_us.min(way_us), far_us.max(way_us));
        }
        let with_ends = |way_us: f64| {
            adapter.map_or(way_us, |adapter| {
                let Limits { post_overhead, poll_overhead, .. } = adapter.limits;
                post_overhead.us() + (way_us - adapter.skipped().us()).max(0.0) + poll_overhead.us()
            })
        };
        let [near_us, far_us] = [near_us.min(far_us), far_us].map(with_ends);
        let mut slowest = Peak::new(f64::INFINITY, "");
        if bytes > 0.0 {
            let all = plan.fabric.nodes();
            let to_all = matches!(which, Which::Alltoall | Which::Alltoallv);
            let everybody = to_all && nodes.len() == all as usize && all <= 4096;
            let demand = match which {
                _ if everybody => Traffic::AllToAll.demand(all, self.seed).map_err(|error| error.to_string())?,
                // The root has several ways in and out, and what leaves a sender is not what enters a receiver.
                Which::Gather => pattern::flows(all, others.map(|from| (from, root))),
                Which::Scatter => pattern::flows(all, others.map(|to| (root, to))),
                _ => pattern::one(all, root, others.clone().next().unwrap_or(root)),
            };
            let pattern = Pattern::of(plan.fabric, &demand, self.capacities, self.size)?;
            slowest = pattern.per_node();
            // By all its routes at once, where routes differ, where others may take the rest of it, and where a node
            // may send by several.
            let is_one = !to_all && !matches!(which, Which::Gather | Which::Scatter);
            let efficiency = match is_one && !links_differ {
                true => pattern.bounds.efficiency,
                false => plan.fabric.spec.packet().efficiency(self.size, 1.0),
            };
            let own = plan.fabric.injection_at_mbps(Node(root), self.capacities.into(), efficiency);
            let by_all = links_differ || is_one || (to_all && !everybody);
            if let Some(own) = own.filter(|&own| by_all && own > slowest.mbps) {
                slowest = Peak::new(own, DEVICES);
            }
            // Links between nodes of a host lead to the ways out of the others, which other software may take.
            let network = &plan.fabric.network;
            if which == Which::Scatter && adapter.is_none() && network.channel_role.contains(&Role::LocalLink) {
                let own = Node(root).vertex();
                let beyond = |way| match network.role(Resource::Channel(way)) {
                    Role::Internal => network.out(network.to(way)).filter(|&way| network.to(way) != own).collect(),
                    _ => vec![way],
                };
                let rate = |way| plan.fabric.payload_mbps(Resource::Channel(way), self.capacities.into(), efficiency);
                let rates = network.out(own).flat_map(beyond).map(|way| rate(way).unwrap_or(f64::INFINITY));
                slowest = Peak::new(rates.sum(), DEVICES);
            }
            let both = to_all || matches!(which, Which::Allgather | Which::Allreduce | Which::ReduceScatter);
            let exchange = adapter.filter(|_| both).and_then(Adapter::exchange_peak);
            slowest = exchange.map(peak).into_iter().fold(slowest, Peak::at_most);
        }
        // The rate is each sender's: of a gather one part leaves each of them.
        let bytes = if which == Which::Gather { self.size as f64 } else { bytes };
        let bytes_us = bytes / slowest.mbps;
        let ends = if adapter.is_some() { Ends::Counted } else { Ends::LeftOut };
        Ok(match which {
            Which::Bcast | Which::Reduce => network::rooted([far_us, far_us], bytes_us, slowest, ends),
            Which::Gather | Which::Scatter => network::rooted([near_us, far_us], bytes_us, slowest, ends),
            _ => network::collective(far_us, bytes_us, slowest, ends),
        })
    }
}

/// The rate that an adapter says it carries, in bytes per second.
fn peak((resource, rate): (String, f64)) -> Peak {
    Peak::of_bytes_per_s(rate, resource)
}
