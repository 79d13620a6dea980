//! What messages and collectives between nodes cannot beat: the path of the signal, and the bytes at the slowest
//! resource.

use crate::{Bound, DEVICES, LATENCY, Peak};
use hotlink_fabric::barrier::BarrierSpec;
use hotlink_fabric::reduction::ReductionSpec;
use hotlink_fabric::units::Time;

/// A message of so many bytes through the idle network, which `idle_us` is the simulated time of.
pub fn idle(idle_us: f64, messages: u32, bytes: f64, slowest: Peak) -> Bound {
    let what = match messages {
        1 => "one message through the idle network, without software",
        _ => "a message there and its answer through the idle network, without software",
    };
    // The bytes' own time is a part of the message's.
    let bytes_us = if bytes > 0.0 { bytes / slowest.mbps } else { 0.0 };
    let resource = longer(idle_us - bytes_us, bytes_us, slowest, idle_us, what).resource;
    Bound::of_time(f64::from(messages) * idle_us, resource, what)
}

/// The least of a message whose first and last bytes are known: `simulated_us` of those that were simulated, the others
/// at `mbps`.
pub fn and_more_bytes(simulated_us: f64, more: u64, mbps: f64) -> f64 {
    simulated_us + more as f64 / mbps
}

/// A message alone, or its bytes at the rate of the hottest resource where others send too.
pub fn alone_or_shared(alone_us: f64, size: u64, mbps: f64) -> f64 {
    alone_us.max(size as f64 / mbps)
}

/// The bound of a collective with unnamed means: the least of what each means allows, the first where they are equal.
pub fn least(of_means: impl IntoIterator<Item = Bound>) -> Option<Bound> {
    of_means.into_iter().reduce(|least, other| if other.latency_us < least.latency_us { other } else { least })
}

/// One message between two idle nodes: overheads, the network's latency, and its bytes at the slowest resource.
pub fn pair(idle_us: f64, bytes: f64, slowest: Peak) -> Bound {
    // An empty message has no rate.
    let bytes_us = if bytes > 0.0 { bytes / slowest.mbps } else { 0.0 };
    let is = "processor overheads, the way's latency, and the bytes at the slowest of network, adapter and host";
    longer(idle_us, bytes_us, slowest, idle_us + bytes_us, is)
}

/// `latency_us` with what sets it: the bytes, or else the path.
fn longer(idle_us: f64, bytes_us: f64, slowest: Peak, latency_us: f64, is: &'static str) -> Bound {
    let resource = if bytes_us > idle_us { slowest.resource } else { LATENCY.to_owned() };
    Bound { latency_us, mbps: slowest.mbps, resource, is }
}

/// Whether a bound counts what the processors at a message's ends take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// It does: the run has them.
    Counted,
    /// It does not: a real machine's software may be quicker than the catalog's.
    LeftOut,
}

/// A collective with a root, whose bytes take `bytes_us` there. The last one to leave still has its way to a rank, and the
/// first one to come had its own. `near_us` is that of the nearest rank that it may be. News of the farthest takes `far_us`.
/// All ranks get or give each byte of a broadcast or a reduction, so there both are the farthest's.
pub fn rooted([near_us, far_us]: [f64; 2], bytes_us: f64, slowest: Peak, ends: Ends) -> Bound {
    let is = match ends {
        Ends::Counted => {
            "news between the root and another rank with processor overheads, and the root's bytes at the slowest of \
             network and host bus"
        }
        Ends::LeftOut => {
            "news between the root and another rank without software, and the root's bytes at the slowest of network and \
             host bus"
        }
    };
    longer(far_us, bytes_us, slowest, far_us.max(near_us + bytes_us), is)
}

/// A collective in which all ranks send and receive: hop and serialisation limit.
pub fn collective(idle_us: f64, bytes_us: f64, slowest: Peak, ends: Ends) -> Bound {
    let is = match ends {
        Ends::Counted => {
            "news from the farthest rank with processor overheads, or the bytes of one rank at the slowest of network and \
             host bus, whichever is longer"
        }
        Ends::LeftOut => {
            "news from the farthest rank without software, or the bytes of one rank at the slowest of network and host bus, \
             whichever is longer"
        }
    };
    longer(idle_us, bytes_us, slowest, idle_us.max(bytes_us), is)
}

/// A collective where only one rank's bytes are known: `bytes` by all paths of its node, at `mbps` MB/s.
pub fn by_devices(bytes: f64, mbps: f64, is: &'static str) -> Bound {
    Bound::of_bytes(bytes, Peak::new(mbps, DEVICES), is)
}

/// Windows of messages of `size` bytes: `senders` together exceed none of the rates that each of them has.
pub fn stream(size: f64, senders: f64, each: impl IntoIterator<Item = Peak>) -> Bound {
    let is = "the load that the pairs put on the network, their hosts' rates, and what a message costs the processors";
    let slowest = crate::slowest(each).unwrap_or(Peak::new(f64::INFINITY, ""));
    Bound::of_bytes(size, Peak { mbps: slowest.mbps * senders, ..slowest }, is)
}

/// The rate at which processors can start or end messages of `size` bytes that cost them `cost_us` each.
pub fn by_overhead(size: f64, cost_us: f64) -> Peak {
    Peak::new(size / cost_us, "processor overhead of a message")
}

/// What pairs send together: `mbps` of each sender for this many of them.
pub fn pairs(senders: f64, hottest: Peak) -> Bound {
    let rate = Peak { mbps: hottest.mbps * senders, ..hottest };
    Bound::of_rate(rate, "the load that the pairs put on the hottest resource")
}

/// What writes and reads of a barrier network's port are called.
pub const PORT: &str = "processor's access to the port";

/// A write and a read of a barrier network's port for each phase.
fn port_of(spec: &BarrierSpec) -> Time {
    Time(u64::from(spec.phases) * (spec.enter.value.0 + spec.read.value.0))
}

/// A barrier network's least, when the result's path took `way`: what no polling could be faster than.
pub fn barrier(spec: &BarrierSpec, way: Time) -> Time {
    port_of(spec).max(way)
}

/// A barrier network's least for a program on ranks.
pub fn barrier_port(spec: &BarrierSpec) -> Bound {
    Bound::of_time(port_of(spec).us(), PORT, "a write and a read of the barrier network's port for each phase")
}

/// Where most of the closed form's time goes.
pub fn barrier_limit(spec: &BarrierSpec, formula: Time) -> String {
    let port = port_of(spec).0;
    if port >= formula.0.saturating_sub(port) { PORT.to_owned() } else { spec.name.clone() }
}

/// What no reduction in the network could be faster than: its tree's own path, and the bytes at its rate.
///
/// # Errors
/// More nodes than the network has.
pub fn reduced(own: &ReductionSpec, nodes: u32, size: u64) -> Result<Bound, String> {
    let empty_us = own.latency(nodes, 0).map_err(|error| error.to_string())?.us();
    // A read under way may see the result earlier than the closed form, by a whole read at most.
    let way_us = empty_us - f64::from(own.tree.phases) * own.tree.read.value.us();
    let mbps = own.rate.value.0 as f64 / 1e6;
    let bytes_us = f64::from(own.tree.phases) * size as f64 / mbps;
    let resource =
        if bytes_us > way_us { "rate of the reduction network" } else { "way through the reduction network" };
    let is = "up and down the reduction network, and each pass's bytes at its rate";
    Ok(Bound { latency_us: way_us + bytes_us, mbps, resource: resource.to_owned(), is })
}

/// The least time of a broadcast or barrier by the network's own means. The signal crosses the network from the last to
/// arrive to the farthest node, and the bytes, which take `wire`, cross a link. Also returns whether the bytes set the
/// time.
pub fn broadcast(way: Time, wire: Time) -> (Time, bool) {
    (way + wire, wire > way)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_of_way_and_bytes_is_named() {
        let link = || Peak::new(100.0, "link");
        assert_eq!((pair(2.0, 100.0, link()).latency_us, pair(2.0, 100.0, link()).resource.as_str()), (3.0, LATENCY));
        assert_eq!(pair(0.5, 100.0, link()).resource, "link");
        let all = |bytes| collective(2.0, bytes, link(), Ends::Counted);
        assert_eq!((all(3.0).latency_us, all(1.0).latency_us), (3.0, 2.0));
        assert_ne!(all(3.0).is, collective(2.0, 3.0, link(), Ends::LeftOut).is);
        let rooted = |near, bytes| rooted([near, 2.0], bytes, link(), Ends::Counted).latency_us;
        assert_eq!([rooted(2.0, 3.0), rooted(0.5, 3.0), rooted(0.5, 1.0)], [5.0, 3.5, 2.0]);
        let means = [3.0, 2.0, 4.0].map(|us| Bound::of_time(us, LATENCY, ""));
        assert_eq!(least(means).map(|bound| bound.latency_us), Some(2.0));
    }

    #[test]
    fn the_slowest_of_what_is_known_bounds_a_stream() {
        let bound = stream(8.0, 2.0, [by_overhead(8.0, 0.1), Peak::new(50.0, "link")]);
        assert_eq!((bound.mbps, bound.latency_us, bound.resource.as_str()), (100.0, 0.08, "link"));
    }
}
