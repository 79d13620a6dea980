//! How long the bytes of a message take through the idle network, path by path.
//!
//! A link sends a packet without a gap, so it starts only when it will not run out of bytes. Before a faster link a
//! switch first gathers what the slower one delivers. A packet that goes from slow to fast to slow is sent twice. A
//! switch with a rate of its own passes bytes on as they come. The simulator does the same, packet by packet.

use crate::paths_on;
use hotlink_fabric::Fabric;
use hotlink_fabric::built::Ways;
use hotlink_fabric::network::{Channel, Node, Resource, Vertex};
use hotlink_fabric::rng::mix;
use hotlink_fabric::routing::choice::Draw;
use hotlink_fabric::routing::{Paths, Routing, State, Trip};
use hotlink_fabric::spec::{Capacities, Role};
use hotlink_fabric::traffic::Demand;
use std::collections::BTreeMap;

/// Most destinations that are followed in traffic from everywhere to everywhere, and most sources of each. Of more
/// nodes this many are drawn.
const MOST: u32 = 256;

/// The time of a message's bytes at every resource: one packet.
#[derive(Debug)]
pub struct Serial<'a> {
    fabric: &'a Fabric,
    paths: Paths,
    /// Seed of the pairs' hash.
    seed: u64,
    /// For each channel and device: microseconds; 0 without a rate.
    channel: Vec<f64>,
    vertex: Vec<f64>,
    /// For the host's devices, in the order of sending and of receiving.
    send: Vec<f64>,
    receive: Vec<f64>,
}

/// What is known of the paths to one destination: what is still to come, by the state and the time of the stage before.
type Known = BTreeMap<(State, u64), f64>;

impl<'a> Serial<'a> {
    /// For messages of `bytes` under `capacities`, at a packet efficiency. `by` holds the policy by which packets
    /// choose among equal paths, and the seed of the pairs' hash.
    pub fn new(
        fabric: &'a Fabric,
        by: (Paths, u64),
        capacities: Capacities,
        efficiency: f64,
        bytes: u64,
    ) -> Serial<'a> {
        let network = &fabric.network;
        let us = |resource| {
            let rate = fabric.payload_mbps(resource, capacities, efficiency);
            rate.map_or(0.0, |mbps| bytes as f64 / mbps)
        };
        Serial {
            fabric,
            paths: paths_on(fabric, by.0),
            seed: by.1,
            channel: (0..network.channels() as u32).map(|c| us(Resource::Channel(Channel(c)))).collect(),
            vertex: (0..network.vertices() as u32)
                .map(|v| if v < network.nodes { 0.0 } else { us(Resource::Vertex(Vertex(v))) })
                .collect(),
            send: network.host_parts(Node(0), true).map(us).collect(),
            receive: network.host_parts(Node(0), false).map(us).collect(),
        }
    }

    /// The mean over the messages of a demand that have a route, in microseconds; `None` where there are none.
    pub fn mean_us(&self, demand: &Demand) -> Option<f64> {
        let (mut sum, mut messages) = (0.0, 0.0);
        let mut known = Known::new();
        let mut add = |from, to, amount, known: &mut Known| {
            let Some(us) = self.pair_us(from, to, known) else { return };
            sum += amount * us;
            messages += amount;
        };
        let nodes = demand.nodes;
        for to in some(nodes, 0).filter(|_| demand.all_pairs > 0.0) {
            known.clear();
            for from in some(nodes, u64::from(to) + 1).filter(|&from| from != to) {
                add(Node(from), Node(to), demand.all_pairs, &mut known);
            }
        }
        for flow in demand.flows.iter().filter(|flow| flow.source != flow.destination) {
            known.clear();
            add(flow.source, flow.destination, flow.amount, &mut known);
        }
        (messages > 0.0).then(|| sum / messages)
    }

    /// The mean over the paths of a pair; `known` is of the same destination.
    fn pair_us(&self, source: Node, destination: Node, known: &mut Known) -> Option<f64> {
        let routing = &self.fabric.routing;
        let direct = Trip::new(source, destination);
        let by_group = |via| Trip { via: Some(via), ..direct };
        let at = &self.fabric.attachment;
        let vias = (0..routing.groups()).filter(|&via| routing.is_via(at, source, destination, via));
        let mut trips: Vec<Trip> = vias.map(by_group).collect();
        if trips.is_empty() {
            trips.push(direct);
        }
        let (mut tail, mut sent) = (0.0, 0.0);
        self.send.iter().for_each(|&us| sent += gather(&mut tail, us, false));
        let mut sum = 0.0;
        for &trip in &trips {
            // Paths by a group are its own, and so is a pair's explicit route or hash.
            let shared = trip.via.is_none()
                && self.paths != Paths::Flow
                && !matches!(routing, Routing::Source { .. } | Routing::Tables(_));
            if !shared {
                known.clear();
            }
            let draw = self.paths.is_static().then(|| Draw::of_pair(self.paths, self.seed, source, destination));
            let ways = (self.fabric.ways(trip), destination.vertex());
            sum += sent + self.rest_us(&ways, (State::start(source), tail), draw, known)?;
            if !shared {
                known.clear();
            }
        }
        Some(sum / trips.len() as f64)
    }

    /// What bytes take from a state on, beyond the time `tail` of the stage before.
    fn rest_us(
        &self,
        ways: &(Ways<'_>, Vertex),
        (state, mut tail): (State, f64),
        mut draw: Option<Draw>,
        known: &mut Known,
    ) -> Option<f64> {
        let fabric = self.fabric;
        if state.at == ways.1 {
            return Some(self.receive.iter().map(|&us| gather(&mut tail, us, false)).sum());
        }
        if let Some(us) = known.get(&(state, tail.to_bits())) {
            return Some(*us);
        }
        let mut hops = Vec::new();
        ways.0.hops(state, &mut hops);
        if let Some(draw) = &mut draw {
            let nth = draw.pick(&fabric.network, fabric.tables(), &hops);
            hops = nth.map(|nth| hops[nth]).into_iter().collect();
        }
        let all: f64 = hops.iter().map(|hop| hop.share).sum();
        if all == 0.0 {
            return None;
        }
        let mut us = 0.0;
        for hop in &hops {
            let (next, mut tail) = (fabric.network.to(hop.channel), tail);
            let crossbar = fabric.network.role(Resource::Vertex(next)) == Role::Switch;
            let own = gather(&mut tail, self.channel[hop.channel.0 as usize], false)
                + gather(&mut tail, self.vertex[next.0 as usize], crossbar);
            let then = (State { at: next, phase: hop.phase }, tail);
            us += hop.share / all * (own + self.rest_us(ways, then, draw, known)?);
        }
        known.insert((state, tail.to_bits()), us);
        Some(us)
    }
}

/// What a stage of `us` adds to the time of a packet's bytes, whose stage before took `tail`. A crossbar is no faster
/// than its input.
fn gather(tail: &mut f64, us: f64, crossbar: bool) -> f64 {
    let more = (us - *tail).max(0.0);
    *tail = match us > 0.0 && !crossbar {
        true => us,
        false => tail.max(us),
    };
    more
}

/// All numbers below `count`, or [`MOST`] that are drawn.
fn some(count: u32, seed: u64) -> impl Iterator<Item = u32> {
    let draw = move |nth: u32| match count > MOST {
        true => (mix(mix(seed) ^ u64::from(nth)) % u64::from(count)) as u32,
        false => nth,
    };
    (0..count.min(MOST)).map(draw)
}
