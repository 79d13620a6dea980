//! One pair of nodes: its routes, and the latency of the first bit part by part on an idle network.

use super::Seen;
use crate::Heard;
use crate::traffic::{Pattern, about_traffic};
use crate::values::{Numbers, Size, wrong};
use hotlink_fabric::built::Ways;
use hotlink_fabric::network::{Channel, Node, Resource};
use hotlink_fabric::routing::choice::Draw;
use hotlink_fabric::routing::{State, Trip};
use hotlink_study::Error;
use serde::Deserialize;
use serde_json::{Value, json};

/// Routes that are listed.
const ROUTES: usize = 16;
/// More links than any route has.
const LONGEST: usize = 4096;

about_traffic! {
    /// One pair.
    PairView {
        fabric: String = String::new(),
        nodes: Option<Numbers> = None,
        from: u32 = 0,
        to: u32 = 1,
    }
}

impl PairView {
    /// The pair's routes and the latency of the first.
    ///
    /// # Errors
    /// As `analyze`; several sizes; nodes that are not there; no route.
    pub fn answer(&self, heard: &Heard) -> Result<Value, Error> {
        let seen = Seen::of(&self.pattern(), &self.fabric, self.nodes.as_ref(), heard)?;
        let nodes = seen.fabric().nodes();
        for (argument, node) in [("from", self.from), ("to", self.to)] {
            if node >= nodes || self.from == self.to {
                return Err(wrong(argument, &format!("{node}: two different nodes, each below {nodes}")));
            }
        }
        let routes = routes(&seen, Node(self.from), Node(self.to));
        let Some(first) = routes.first() else { return Err(wrong("to", "there is no route between the two")) };
        let parts = parts(&seen, first, [Node(self.from), Node(self.to)]);
        let part = |(part, us): &(String, f64)| json!({ "part": part, "latency_us": us });
        let drawn = |route: &Vec<Channel>| route.iter().map(|&channel| link(&seen, channel)).collect::<Vec<_>>();
        Ok(json!({
            "routes": routes.iter().map(drawn).collect::<Vec<_>>(),
            "latency_us": parts.iter().fold(0.0, |sum, (_, us)| sum + us),
            "parts": parts.iter().map(part).collect::<Vec<_>>(),
        }))
    }
}

fn link(seen: &Seen, channel: Channel) -> Value {
    let [from, to] = seen.ends(channel);
    let latency_us = seen.fabric().latency(Resource::Channel(channel)).us();
    json!({
        "link": channel.0, "from": from, "to": to, "latency_us": latency_us, "rate_Bps": seen.capacity_bps(channel),
    })
}

/// Every part of the path that delays a packet's head, from the sender's host to the receiver's.
fn parts(seen: &Seen, route: &[Channel], [sender, receiver]: [Node; 2]) -> Vec<(String, f64)> {
    let network = &seen.fabric().network;
    let channels = route.iter().flat_map(|&c| [Resource::Channel(c), Resource::Vertex(network.to(c))]);
    // A node's own place in the network represents its host, whose parts are listed by themselves.
    let is_host = |part: &Resource| matches!(*part, Resource::Vertex(vertex) if network.is_node(vertex));
    let delays = network
        .host_parts(sender, true)
        .chain(channels.filter(|part| !is_host(part)))
        .chain(network.host_parts(receiver, false))
        .map(|part| (seen.fabric().resource_name(part), seen.fabric().latency(part).us()));
    delays.filter(|(_, us)| *us > 0.0).collect()
}

/// The pair's routes, the first of many; where the pair has one of its own, that.
fn routes(seen: &Seen, from: Node, to: Node) -> Vec<Vec<Channel>> {
    let fabric = seen.fabric();
    if let Some(route) = fabric.routing.explicit().and_then(|routes| routes.get(&(from, to))) {
        return vec![route.clone()];
    }
    let ways = fabric.ways(Trip::new(from, to));
    let paths = seen.question.paths_on(fabric);
    let mut draw =
        (paths.is_static() && fabric.offers_choices()).then(|| Draw::of_pair(paths, seen.counted.seed, from, to));
    let mut found = Vec::new();
    search(seen, &ways, State::start(from), to, &mut draw, &mut Vec::new(), &mut found);
    found
}

fn search(
    seen: &Seen,
    ways: &Ways<'_>,
    state: State,
    to: Node,
    draw: &mut Option<Draw>,
    route: &mut Vec<Channel>,
    found: &mut Vec<Vec<Channel>>,
) {
    let fabric = seen.fabric();
    if state.at == to.vertex() {
        found.push(route.clone());
        return;
    }
    let mut hops = Vec::new();
    ways.hops(state, &mut hops);
    if let Some(draw) = draw {
        let chosen = draw.pick(&fabric.network, fabric.tables(), &hops);
        hops = chosen.map(|place| hops[place]).into_iter().collect();
    }
    for hop in hops {
        if found.len() == ROUTES || route.len() == LONGEST {
            return;
        }
        route.push(hop.channel);
        let next = State { at: fabric.network.to(hop.channel), phase: hop.phase };
        search(seen, ways, next, to, draw, route, found);
        route.pop();
    }
}
