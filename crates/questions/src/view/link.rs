//! One link: who uses it, and which links its users could take in its place.

use super::Seen;
use crate::Heard;
use crate::traffic::{Pattern, about_traffic};
use crate::values::{Numbers, Size};
use hotlink_fabric::built::Ways;
use hotlink_fabric::network::{Channel, Node, Resource};
use hotlink_fabric::routing::choice::Draw;
use hotlink_fabric::routing::{Hop, Paths, Routing, State, Trip};
use hotlink_study::Error;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Users that are named.
const NAMED: usize = 100;
/// Most pairs of nodes whose own paths are followed.
const MOST_PAIRS: u64 = 1 << 24;

about_traffic! {
    /// One link.
    LinkView {
        fabric: String = String::new(),
        nodes: Option<Numbers> = None,
        link: u32 = 0,
    }
}

impl LinkView {
    /// The link's load, its users, and its alternatives.
    ///
    /// # Errors
    /// As `analyze`; several sizes; a link that is not there.
    pub fn answer(&self, heard: &Heard) -> Result<Value, Error> {
        let seen = Seen::of(&self.pattern(), &self.fabric, self.nodes.as_ref(), heard)?;
        let channel = seen.channel(self.link)?;
        let users = Users::of(&seen, channel)?;
        let name = |node: Node| seen.fabric().resource_name(Resource::Vertex(node.vertex()));
        let user =
            |(from, to, share): &(Node, Node, f64)| json!({ "from": name(*from), "to": name(*to), "share": share });
        let mut answer = seen.link(channel);
        answer["users"] = users.first.iter().map(user).collect();
        answer["users_total"] = users.total.into();
        answer["alternatives"] = users.alternatives.iter().map(|other| seen.link(*other)).collect();
        Ok(answer)
    }
}

/// Pairs of nodes whose messages cross a link.
#[derive(Default)]
struct Users {
    total: u64,
    /// The first of them, and the share of each one's messages that crosses it.
    first: Vec<(Node, Node, f64)>,
    /// Other links that routes offer beside it.
    alternatives: BTreeSet<Channel>,
}

impl Users {
    fn of(seen: &Seen, channel: Channel) -> Result<Users, Error> {
        let (fabric, demand) = (seen.fabric(), &seen.counted.demand);
        let pairs = u64::from(demand.nodes) * u64::from(demand.nodes);
        let mut walk = Walk::new(seen, channel);
        if fabric.routing.is_valiant() {
            return Err(Error::Input("link: users are not known where packets go by random groups".to_owned()));
        }
        if demand.all_pairs > 0.0 && !walk.is_by_home() && pairs > MOST_PAIRS {
            return Err(Error::Input(format!(
                "link: {pairs} pairs of nodes, each with its own path: at most {MOST_PAIRS}"
            )));
        }
        let mut users = Users::default();
        if demand.all_pairs > 0.0 {
            match walk.is_by_home() {
                true => users.add_by_home(&mut walk),
                false => fabric.network.node_iter().for_each(|to| {
                    fabric.network.node_iter().for_each(|from| users.add(&mut walk, from, to));
                }),
            }
        }
        demand.flows.iter().for_each(|flow| users.add(&mut walk, flow.source, flow.destination));
        users.alternatives = walk.offered;
        Ok(users)
    }

    fn add(&mut self, walk: &mut Walk<'_>, from: Node, to: Node) {
        let share = if from == to { 0.0 } else { walk.share(from, to) };
        if share > 0.0 {
            self.total += 1;
            self.name(from, to, share);
        }
    }

    fn name(&mut self, from: Node, to: Node, share: f64) {
        if self.first.len() < NAMED {
            self.first.push((from, to, share));
        }
    }

    /// Between two switches all nodes of one home share routes to all of another.
    fn add_by_home(&mut self, walk: &mut Walk<'_>) {
        let attachment = &walk.seen.fabric().attachment;
        for to in 0..attachment.homes.len() {
            for from in (0..attachment.homes.len()).filter(|&from| from != to) {
                let (sources, destinations) = (attachment.nodes_of(from), attachment.nodes_of(to));
                let share = walk.share(sources[0], destinations[0]);
                if share > 0.0 {
                    self.total += (sources.len() * destinations.len()) as u64;
                    let pairs = sources.iter().flat_map(|&from| destinations.iter().map(move |&to| (from, to)));
                    pairs.take(NAMED).for_each(|(from, to)| self.name(from, to, share));
                }
            }
        }
    }
}

/// Follows messages towards a link.
struct Walk<'a> {
    seen: &'a Seen,
    channel: Channel,
    paths: Paths,
    /// The destination that `known` is about.
    toward: Option<Node>,
    /// Of what is at a state, the share that will cross the link.
    known: BTreeMap<State, f64>,
    offered: BTreeSet<Channel>,
}

impl<'a> Walk<'a> {
    fn new(seen: &'a Seen, channel: Channel) -> Walk<'a> {
        let paths = seen.question.paths_on(seen.fabric());
        Walk { seen, channel, paths, toward: None, known: BTreeMap::new(), offered: BTreeSet::new() }
    }

    /// Whether each pair has one path.
    fn is_static(&self) -> bool {
        self.paths.is_static() && self.seen.fabric().offers_choices()
    }

    /// Whether pairs of the same two homes share their routes.
    fn is_by_home(&self) -> bool {
        let fabric = self.seen.fabric();
        let network = &fabric.network;
        let joins_node = [network.from(self.channel), network.to(self.channel)].iter().any(|&end| network.is_node(end));
        let is_own = matches!(fabric.routing, Routing::Tables(_)) || fabric.routing.explicit().is_some();
        !self.is_static() && !joins_node && !is_own
    }

    /// Share of the pair's messages that cross the link.
    fn share(&mut self, from: Node, to: Node) -> f64 {
        let fabric = self.seen.fabric();
        if let Some(route) = fabric.routing.explicit().and_then(|routes| routes.get(&(from, to))) {
            return if route.contains(&self.channel) { 1.0 } else { 0.0 };
        }
        let ways = fabric.ways(Trip::new(from, to));
        if self.is_static() {
            return self.follow(&ways, from, to);
        }
        if self.toward != Some(to) {
            self.toward = Some(to);
            self.known.clear();
        }
        self.behind(&ways, State::start(from))
    }

    /// Of flows that split evenly.
    fn behind(&mut self, ways: &Ways<'_>, state: State) -> f64 {
        if let Some(&known) = self.known.get(&state) {
            return known;
        }
        let mut hops = Vec::new();
        ways.hops(state, &mut hops);
        self.offer(&hops);
        let network = &self.seen.fabric().network;
        let mut share = 0.0;
        for hop in &hops {
            let next = State { at: network.to(hop.channel), phase: hop.phase };
            let crosses = if hop.channel == self.channel { 1.0 } else { self.behind(ways, next) };
            share += hop.share * crosses;
        }
        self.known.insert(state, share);
        share
    }

    /// Of a path that the pair's hash or the destination's number chooses.
    fn follow(&mut self, ways: &Ways<'_>, from: Node, to: Node) -> f64 {
        let fabric = self.seen.fabric();
        let mut draw = Draw::of_pair(self.paths, self.seen.counted.seed, from, to);
        let (mut state, mut hops) = (State::start(from), Vec::new());
        loop {
            ways.hops(state, &mut hops);
            let Some(place) = draw.pick(&fabric.network, fabric.tables(), &hops) else { return 0.0 };
            let hop = hops[place];
            if hop.channel == self.channel {
                self.offer(&hops);
                return 1.0;
            }
            state = State { at: fabric.network.to(hop.channel), phase: hop.phase };
        }
    }

    fn offer(&mut self, hops: &[Hop]) {
        if hops.iter().any(|hop| hop.channel == self.channel) {
            self.offered.extend(hops.iter().map(|hop| hop.channel).filter(|&other| other != self.channel));
        }
    }
}
