//! Runs of a fabric's own networks against their bounds.

use hotlink_barrier::BarrierRun;
use hotlink_bound::{Bound, LATENCY, network};
use hotlink_fabric::barrier::BarrierSpec;
use hotlink_fabric::units::Time;
use hotlink_sim::{Plan, SimError};

/// A barrier network's least: no polling could be faster than the result's way.
pub fn barrier(spec: &BarrierSpec, run: &BarrierRun) -> Time {
    network::barrier(spec, Time(run.released.0.saturating_sub(run.last_arrival.0)))
}

/// How that of QsNet's broadcast comes about.
const BROADCAST_IS: &str =
    "the way to the farthest node through both adapters and buses, and the bytes at the link's rate";

/// The least of QsNet's broadcast among nodes from `first` to `last`: the news crosses the network through both adapters.
///
/// # Errors
/// The nodes do not exist.
pub fn broadcast(plan: &Plan<'_>, [first, last]: [u32; 2], bytes: u64) -> Result<Bound, SimError> {
    let way = plan.broadcast_tree(first, [first + 1, last], false)?.latency_ps;
    let link = plan.fabric.spec.resource(hotlink_fabric::spec::Role::Link);
    let rate = link.and_then(|link| link.gross());
    let packets = bytes.div_ceil(u64::from(plan.packet_bytes));
    let overhead = u64::from(plan.wire_bytes(0, 1)) * packets;
    let wire = rate.map_or(Time::ZERO, |rate| rate.value.time_for(bytes + overhead));
    let (least, by_bytes) = network::broadcast(Time(way), wire);
    let resource = link.filter(|_| by_bytes).map_or(LATENCY, |link| link.name());
    Ok(Bound::of_time(least.us(), resource, BROADCAST_IS))
}
