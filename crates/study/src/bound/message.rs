//! The least time of one message: through the idle network, without software.

use crate::bound::pattern::{Pattern, one};
use crate::options::Rates;
use hotlink_bound::Peak;
use hotlink_bound::network::and_more_bytes;
use hotlink_fabric::Fabric;
use hotlink_sim::flow::Detours;
use hotlink_sim::plan::RouteBuffer;
use hotlink_sim::workload::{PingPong, ping_pong};
use hotlink_sim::{Plan, Settings};

/// Beyond this an idle network's time is taken from its bandwidth, not packet by packet.
const MOST_SIMULATED_BYTES: u64 = 16 << 20;

/// The time of one message alone in the network: microseconds.
///
/// # Errors
/// The nodes do not exist.
pub fn alone_us(plan: &Plan<'_>, settings: &Settings, between: [u32; 2], size: u64) -> Result<f64, String> {
    let what = PingPong { between, size, messages: 1 };
    let (way, [from, to]) = (&mut RouteBuffer::default(), between);
    let alone = ping_pong(plan, settings, what).and_then(|run| {
        plan.route(from, to, 0, way)?;
        Ok(run.elapsed.us() - (way.latency_ps - plan.least_latency_ps(from, to, way)?) as f64 / 1e6)
    });
    alone.map_err(|error| error.to_string())
}

/// The same from the first node to the one farthest from it, on the sound network and without a transport.
///
/// # Errors
/// There is no path.
pub fn farthest_us(plan: &Plan<'_>, settings: &Settings, size: u64) -> Result<f64, String> {
    let (way, mut far) = (&mut RouteBuffer::default(), (1, 0));
    for to in 1..plan.fabric.nodes() {
        let latency = plan.least_latency_ps(0, to, way).map_err(|error| error.to_string())?;
        if latency > far.1 {
            far = (to, latency);
        }
    }
    let free = &Settings { transport: None, faults: Vec::new(), ..settings.clone() };
    alone_us(plan, free, [0, far.0], size)
}

/// The result of `ask` with every packet on a path of fewest links, where packets may go by a random other group or
/// draw one.
///
/// # Errors
/// As `ask`.
pub fn by_shortest<R>(
    plan: &Plan<'_>,
    settings: &Settings,
    ask: impl FnOnce(&Plan<'_>, &Settings) -> Result<R, String>,
) -> Result<R, String> {
    if !plan.fabric.routing.is_valiant() {
        return ask(plan, settings);
    }
    // UGAL's packets set out on shortest paths; without a check of the queues they stay there.
    let shortest = Settings { detours: Some(Detours::Local), ..settings.clone() };
    let plan = Plan::new(plan.fabric, &shortest).map_err(|error| error.to_string())?;
    ask(&plan, &Settings { detours: None, ..shortest })
}

/// As [`alone_us`] on an idle fabric; of a long message, the bytes beyond what is simulated at `mbps`.
///
/// # Errors
/// The fabric cannot be simulated.
pub fn idle_us(fabric: &Fabric, between: [u32; 2], size: u64, (capacities, mbps): (Rates, f64)) -> Result<f64, String> {
    // An empty message has its header.
    let simulated = size.clamp(1, MOST_SIMULATED_BYTES);
    let settings = Settings { capacities: capacities.into(), ..Settings::of(&fabric.spec) };
    let plan = Plan::new(fabric, &settings).map_err(|error| error.to_string())?;
    let us = alone_us(&plan, &settings, between, simulated)?;
    Ok(and_more_bytes(us, size.saturating_sub(simulated), mbps))
}

/// The latency of the path: microseconds.
///
/// # Errors
/// The nodes do not exist.
pub fn way_us(plan: &Plan<'_>, from: u32, to: u32) -> Result<f64, String> {
    let least = plan.least_latency_ps(from, to, &mut RouteBuffer::default());
    Ok(least.map_err(|error| error.to_string())? as f64 / 1e6)
}

/// The rate of one message, and what sets it.
///
/// # Errors
/// The nodes do not exist.
pub fn rate(plan: &Plan<'_>, capacities: Rates, [from, to]: [u32; 2], size: u64) -> Result<Peak, String> {
    Ok(Pattern::of(plan.fabric, &one(plan.fabric.nodes(), from, to), capacities, size)?.per_node())
}
