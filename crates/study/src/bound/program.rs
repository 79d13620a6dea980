//! The least that a program on simulated ranks could take: the bound beside what it took.

use crate::bound::message;
use crate::bound::pattern::{self, Pattern};
use crate::cell::{Cell, Program};
use crate::options::{Memory, Rates};
use hotlink_bench::{Direction, Stream, Which};
use hotlink_bound::{Bound, DEVICES, Peak, network};
use hotlink_fabric::network::Node;
use hotlink_fabric::traffic::Traffic;
use hotlink_port::{Engine, Layout, RegistrationLimits};
use hotlink_sim::Plan as NetPlan;
use hotlink_sim::port::{Adapter, Family, VirtualTime};

/// Why packets say nothing of messages to oneself.
pub const NO_WAY_TO_ITSELF: &str = "--direction self: a simulated network has no way from a node to itself; `hotlink \
                                    measure stream` and machines calibrated as LogGP know such messages";

/// An empty message between two idle nodes, in the mean of both directions: overheads and the way's latency. On a ring
/// of one direction the way back is another.
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
        // What goes through buffers is stored there, or is no faster than if it were.
        let without_buffers = self.zero_copy && (!registered || cell.size >= private_zero_copy_min);
        let claim = limits.deposit.filter(|_| without_buffers);
        let engine = claim.map_or(Engine::Pio, |claim| claim.mover(!registered));
        // Shorter ones may come from a cache: the processor's stores are then faster than from memory, or than DMA.
        let sockets = driver.adapter().family == Family::Tcp;
        let long = sockets || (cell.size >= zero_copy_min && limits.deposit.is_some());
        let ends = driver.adapter().peak(engine, &Layout::contiguous(1 << 20), registered).filter(|_| long);
        Ok(ends.map(peak).into_iter().fold(way, Peak::at_most))
    }

    /// Streams: the load that the pairs put on the network, what their hosts and adapters carry, and what a message costs
    /// the processors at its ends.
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
        let hottest = Pattern::of(plan.fabric, &demand, cell.capacities, cell.size)?.per_node();
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
        let Moved { which, nodes, mut bytes, .. } = *self;
        // Where links differ, a fast node may do more than its share for the others.
        let links_differ = !plan.fabric.network.overrides.is_empty();
        if links_differ && which == Which::Allreduce {
            bytes = bytes.min(self.size as f64);
        }
        let root = nodes.get(self.root).copied().ok_or("the root is none of the nodes")?;
        let others = nodes.iter().copied().filter(|&node| node != root);
        let limits = &adapter.limits;
        let mut far_us: f64 = 0.0;
        for to in others.clone() {
            // What is gathered comes from there.
            let [from, to] = if matches!(which, Which::Reduce | Which::Gather) { [to, root] } else { [root, to] };
            far_us = far_us.max(message::way_us(plan, from, to)?);
        }
        let far_us = (far_us - adapter.skipped().us()).max(0.0);
        let idle_us = limits.post_overhead.us() + far_us + limits.poll_overhead.us();
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
            slowest = Pattern::of(plan.fabric, &demand, self.capacities, self.size)?.per_node();
            // By all its ways at once, where one is not as good as another, or others may take what is left of it.
            let efficiency = plan.fabric.spec.packet().efficiency(self.size, 1.0);
            let own = plan.fabric.injection_at_mbps(Node(root), self.capacities.into(), efficiency);
            let by_all = links_differ || (to_all && !everybody);
            if let Some(own) = own.filter(|&own| by_all && own > slowest.mbps) {
                slowest = Peak::new(own, DEVICES);
            }
            let both = to_all || matches!(which, Which::Allgather | Which::Allreduce | Which::ReduceScatter);
            slowest = adapter.exchange_peak().filter(|_| both).map(peak).into_iter().fold(slowest, Peak::at_most);
        }
        // The rate is each sender's: of a gather one part leaves each of them.
        let bytes = if which == Which::Gather { self.size as f64 } else { bytes };
        Ok(network::collective(idle_us, bytes / slowest.mbps, slowest))
    }
}

/// What an adapter says that it carries, in bytes per second.
fn peak((resource, rate): (String, f64)) -> Peak {
    Peak::of_bytes_per_s(rate, resource)
}
