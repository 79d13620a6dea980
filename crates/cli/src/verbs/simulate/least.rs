//! The least that a program on simulated ranks could take: the bound beside what it took.

use super::cell::Cell;
use super::program::{Memory, Program};
use hotlink_bench::{Record, Which};
use hotlink_fabric::load;
use hotlink_fabric::network::Node;
use hotlink_fabric::reduction::ReductionSpec;
use hotlink_fabric::traffic::{Demand, Flow, Traffic};
use hotlink_port::{Engine, Layout};
use hotlink_sim::Plan as NetPlan;
use hotlink_sim::plan::RouteBuffer;
use hotlink_sim::port::{Family, VirtualTime};

/// The least that a transfer or collective can take, in microseconds, and what sets it.
pub(super) struct Least {
    pub latency_us: f64,
    pub mbps: f64,
    pub resource: String,
    pub is: &'static str,
}

impl Least {
    /// The same after so many microseconds.
    pub(super) fn after(self, us: f64) -> Least {
        Least { latency_us: self.latency_us + us, ..self }
    }
}

/// An empty message between two idle nodes: overheads and the way's latency.
pub(super) fn idle_us(driver: &VirtualTime<'_>, plan: &NetPlan<'_>, [from, to]: [u32; 2]) -> Result<f64, String> {
    let limits = &driver.adapter().limits;
    Ok(limits.post_overhead.us() + latency_us(plan, from, to)? + limits.poll_overhead.us())
}

impl Program {
    /// One message between two idle nodes: overheads, the network's latency, and its bytes at the slowest resource.
    pub(super) fn pair(
        &self,
        cell: &Cell,
        driver: &VirtualTime<'_>,
        plan: &NetPlan<'_>,
        [from, to]: [u32; 2],
    ) -> Result<Least, String> {
        let flow = Flow { source: Node(from), destination: Node(to), amount: 1.0 };
        let demand = Demand { nodes: plan.fabric.nodes(), all_pairs: 0.0, flows: vec![flow] };
        let (mut mbps, mut resource) = load_bound(plan, cell, &demand)?;
        let limits = &driver.adapter().limits;
        let by_dma = limits.deposit.is_some_and(|claim| claim.dma);
        let engine = if by_dma && self.zero_copy { Engine::Dma } else { Engine::Pio };
        let registered = self.memory == Memory::Registered;
        let pio = limits.deposit.is_some_and(|claim| claim.pio);
        // Shorter ones may come from a cache: the processor's stores are then faster than from memory, or than DMA.
        let sockets = driver.adapter().family == Family::Tcp;
        let long = sockets || (cell.size >= limits.registration.zero_copy_min && (by_dma || pio));
        if let Some((name, peak)) =
            driver.adapter().peak(engine, &Layout::contiguous(1 << 20), registered).filter(|_| long)
            && peak / 1e6 < mbps
        {
            (mbps, resource) = (peak / 1e6, name);
        }
        let idle_us = idle_us(driver, plan, [from, to])?;
        let bytes_us = cell.size as f64 / mbps;
        let resource = if bytes_us > idle_us { resource } else { "latency and overheads".to_owned() };
        let is = "processor overheads, the way's latency, and the bytes at the slowest of network, adapter and host";
        Ok(Least { latency_us: idle_us + bytes_us, mbps, resource, is })
    }

    /// Hop and serialisation limit: news from the farthest rank, and the bytes that must pass the busiest resource.
    pub(super) fn least(
        &self,
        cell: &Cell,
        driver: &VirtualTime<'_>,
        plan: &NetPlan<'_>,
        which: Which,
    ) -> Result<Least, String> {
        let (n, m) = (f64::from(cell.nodes), cell.size as f64);
        let bytes = match which {
            Which::Barrier => 0.0,
            Which::Bcast | Which::Reduce => m,
            Which::Allreduce => 2.0 * m * (n - 1.0) / n,
            // Rank 0 sends no less than the average rank.
            Which::Alltoallv => (1..cell.nodes).map(|to| hotlink_bench::part(cell.size, 0, to) as f64).sum(),
            Which::Allgather | Which::Alltoall | Which::Gather | Which::Scatter => m * (n - 1.0),
        };
        let limits = &driver.adapter().limits;
        let mut far_us: f64 = 0.0;
        for to in 1..cell.nodes.min(plan.fabric.nodes()) {
            far_us = far_us.max(latency_us(plan, 0, to)?);
        }
        let idle_us = limits.post_overhead.us() + far_us + limits.poll_overhead.us();
        let (mut mbps, mut resource) = (f64::INFINITY, String::new());
        if bytes > 0.0 {
            let everybody = matches!(which, Which::Alltoall | Which::Alltoallv)
                && cell.nodes == plan.fabric.nodes()
                && cell.nodes <= 4096;
            let nodes = plan.fabric.nodes();
            let demand = match everybody {
                true => Traffic::AllToAll.demand(nodes, cell.seed).map_err(|error| error.to_string())?,
                false => {
                    let flow = Flow { source: Node(0), destination: Node(1 % nodes), amount: 1.0 };
                    Demand { nodes, all_pairs: 0.0, flows: vec![flow] }
                }
            };
            (mbps, resource) = load_bound(plan, cell, &demand)?;
            let both = matches!(which, Which::Allgather | Which::Allreduce | Which::Alltoall | Which::Alltoallv);
            if let Some((name, peak)) = driver.adapter().exchange_peak().filter(|_| both)
                && peak / 1e6 < mbps
            {
                (mbps, resource) = (peak / 1e6, name);
            }
        }
        let bytes_us = bytes / mbps;
        let resource = if bytes_us > idle_us { resource } else { "latency and overheads".to_owned() };
        let is = "news from the farthest rank, or the bytes of one rank at the slowest of network and host bus, whichever is longer";
        Ok(Least { latency_us: idle_us.max(bytes_us), mbps, resource, is })
    }
}

/// What no reduction in the network could be faster than: its tree's own way, or the bytes at its rate.
pub(super) fn reduced(own: &ReductionSpec, cell: &Cell) -> Result<Least, String> {
    let empty = own.latency(cell.nodes, 0).map_err(|error| error.to_string())?.us();
    // A read under way may see the result earlier than the closed form, by a whole read at most.
    let way_us = empty - f64::from(own.tree.phases) * own.tree.read.value.us();
    let mbps = own.rate.value.0 as f64 / 1e6;
    let bytes_us = f64::from(own.tree.phases) * cell.size as f64 / mbps;
    let resource =
        if bytes_us > way_us { "rate of the reduction network" } else { "way through the reduction network" };
    let is = "up and down the reduction network, or each pass's bytes at its rate, whichever is longer";
    Ok(Least { latency_us: way_us.max(bytes_us), mbps, resource: resource.to_owned(), is })
}

pub(super) fn with_least(record: Record, least: &Least, latency_us: f64) -> Record {
    record
        .with("bound_latency_us", least.latency_us)
        .with("efficiency", least.latency_us / latency_us)
        .with("limiting_resource", least.resource.as_str())
        .with("bound_is", least.is)
}

/// What the load count allows a node under `demand`, and the resource that sets it.
fn load_bound(plan: &NetPlan<'_>, cell: &Cell, demand: &Demand) -> Result<(f64, String), String> {
    let counted = load::count(plan.fabric, demand).map_err(|error| error.to_string())?;
    let bounds = counted.bounds(plan.fabric, cell.capacities.into(), cell.size);
    let name = bounds.limiting().map_or(String::new(), |limit| limit.name.clone());
    Ok((bounds.bandwidth_per_node_mbps, name))
}

fn latency_us(plan: &NetPlan<'_>, from: u32, to: u32) -> Result<f64, String> {
    let mut way = RouteBuffer::default();
    plan.route(from, to, 0, &mut way).map_err(|error| error.to_string())?;
    Ok(way.latency_ps as f64 / 1e6)
}
