//! What the network leaves each rank while all of them send: counted over the routes, without a simulation.

use super::adapter::Adapter;
use crate::plan::Plan;
use hotlink_bound::Limited;
use hotlink_fabric::network::Node;
use hotlink_fabric::spec::Capacities;
use hotlink_fabric::traffic::{Demand, Flow};
use hotlink_fabric::units::Rate;
use hotlink_port::Together;

/// Ranks up to which the rates that senders leave each other are counted. Each doubling takes over three times as long, and a barrier's simulation twice.
pub const RANKS_COUNTED: u32 = 4096;

/// The rates of `ranks` ranks, of which rank `i` is on node `node(i)`. `None` where a pair has no route, and for
/// more than [`RANKS_COUNTED`] ranks.
pub(super) fn rates(plan: &Plan<'_>, adapter: &Adapter, ranks: u32, node: impl Fn(u32) -> u32) -> Option<Together> {
    if ranks > RANKS_COUNTED {
        return None;
    }
    let alone = adapter.limits.rate.0;
    let both = adapter.exchange_peak().map_or(u64::MAX, |(_, rate)| rate as u64).min(alone);
    let rate = |peers: &[&dyn Fn(u32) -> u32], most: u64| {
        let pairs = peers.iter().flat_map(|peer| (0..ranks).map(move |rank| (rank, peer(rank))));
        let flows = pairs.filter(|&(_, peer)| peer < ranks).map(|(from, to)| (node(from), node(to)));
        let flows: Vec<Flow> = flows
            .filter(|(from, to)| from != to)
            .map(|(from, to)| Flow { source: Node(from), destination: Node(to), amount: 1.0 })
            .collect();
        if flows.is_empty() {
            return Some(Rate(most));
        }
        let demand = Demand { nodes: plan.fabric.nodes(), all_pairs: 0.0, flows };
        let bounds = plan.count(&demand).ok()?.bounds(plan.fabric, Capacities::Measured, adapter.way.packet);
        // Ranks of a node share what it has.
        Some(Rate(most.min((bounds.bandwidth_per_node_mbps * 1e6) as u64)))
    };
    let steps = || std::iter::successors(Some(1u32), |step| step.checked_mul(2)).take_while(|&step| step < ranks);
    let paired = steps().map(|step| rate(&[&|rank| rank ^ step], both)).collect::<Option<Vec<Rate>>>()?;
    let further = steps().map(|step| rate(&[&|rank| (rank + step) % ranks], both)).collect::<Option<Vec<Rate>>>()?;
    // Ranks that are not of the level send nothing: they are their own peers.
    let level = |step: u32, first: u32| move |rank: u32| if rank % (2 * step) == first { rank ^ step } else { rank };
    let down = steps().map(|step| rate(&[&level(step, 0)], alone)).collect::<Option<Vec<Rate>>>()?;
    let up = steps().map(|step| rate(&[&level(step, step)], alone)).collect::<Option<Vec<Rate>>>()?;
    // For all distances: those of the steps, each way round.
    let there = steps().map(|step| move |rank: u32| (rank + step) % ranks);
    let back = steps().map(|step| move |rank: u32| (rank + ranks - step) % ranks);
    let ways: Vec<Box<dyn Fn(u32) -> u32>> =
        there.map(|way| Box::new(way) as Box<dyn Fn(u32) -> u32>).chain(back.map(|way| Box::new(way) as _)).collect();
    let ways: Vec<&dyn Fn(u32) -> u32> = ways.iter().map(AsRef::as_ref).collect();
    Some(Together { paired, further, down, up, all: rate(&ways, both)? })
}
