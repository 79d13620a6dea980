//! The least times of a fabric's own networks: barrier, reduction, QsNet's broadcast.

use super::program::Least;
use hotlink_barrier::BarrierRun;
use hotlink_fabric::barrier::BarrierSpec;
use hotlink_fabric::reduction::ReductionSpec;
use hotlink_fabric::units::Time;
use hotlink_sim::{Plan, SimError};

/// What writes and reads of a barrier network's port are called.
pub(crate) const PORT: &str = "processor's access to the port";

/// A barrier network's least: what no polling could be faster than: the result's way, and a write and a read for each phase.
pub fn barrier(spec: &BarrierSpec, run: &BarrierRun) -> Time {
    let port = u64::from(spec.phases) * (spec.enter.value.0 + spec.read.value.0);
    Time(port.max(run.released.0.saturating_sub(run.last_arrival.0)))
}

/// A barrier network's least for a program on ranks: a write and a read for each phase.
pub fn barrier_port(spec: &BarrierSpec) -> Least {
    let port = Time(u64::from(spec.phases) * (spec.enter.value.0 + spec.read.value.0));
    let is = "a write and a read of the barrier network's port for each phase";
    let resource = PORT.to_owned();
    Least { latency_us: port.us(), mbps: f64::INFINITY, resource, is }
}

/// Where most of the closed form's time goes.
pub fn barrier_limit(spec: &BarrierSpec, formula: Time) -> String {
    let port = u64::from(spec.phases) * (spec.enter.value.0 + spec.read.value.0);
    let tree = formula.0.saturating_sub(port);
    if port >= tree { PORT.to_owned() } else { spec.name.clone() }
}

/// What no reduction in the network could be faster than: its tree's own way, or the bytes at its rate.
pub fn reduced(own: &ReductionSpec, nodes: u32, size: u64) -> Result<Least, String> {
    let empty = own.latency(nodes, 0).map_err(|error| error.to_string())?.us();
    // A read under way may see the result earlier than the closed form, by a whole read at most.
    let way_us = empty - f64::from(own.tree.phases) * own.tree.read.value.us();
    let mbps = own.rate.value.0 as f64 / 1e6;
    let bytes_us = f64::from(own.tree.phases) * size as f64 / mbps;
    let resource =
        if bytes_us > way_us { "rate of the reduction network" } else { "way through the reduction network" };
    let is = "up and down the reduction network, or each pass's bytes at its rate, whichever is longer";
    Ok(Least { latency_us: way_us.max(bytes_us), mbps, resource: resource.to_owned(), is })
}

/// The least that a collective of QsNet can take and what sets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Broadcast {
    /// Time.
    pub latency: Time,
    /// `bytes`: the link's rate for payload; else the way of the news.
    pub by_bytes: bool,
}

/// Hop and serialisation limit: the news crosses the network from the last to arrive to the node farthest off, through both
/// adapters; the bytes cross a link. For nodes from `first` to `last`.
///
/// # Errors
/// The nodes do not exist.
pub fn broadcast(plan: &Plan<'_>, [first, last]: [u32; 2], bytes: u64) -> Result<Broadcast, SimError> {
    let way = plan.broadcast_tree(first, [first + 1, last], false)?.latency_ps;
    let rate = plan.fabric.spec.resource(hotlink_fabric::spec::Role::Link).and_then(|link| link.gross());
    let packets = bytes.div_ceil(u64::from(plan.packet_bytes));
    let overhead = u64::from(plan.wire_bytes(0, 1)) * packets;
    let wire = rate.map_or(0, |rate| rate.value.time_for(bytes + overhead).0);
    Ok(Broadcast { latency: Time(way + wire), by_bytes: wire > way })
}
