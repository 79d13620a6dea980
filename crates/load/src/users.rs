//! Who uses a link: pairs of nodes whose messages cross it, and the links that their routes offer in its place.

use hotlink_fabric::Fabric;
use hotlink_fabric::built::Ways;
use hotlink_fabric::network::{Channel, Node, Vertex};
use hotlink_fabric::routing::choice::Draw;
use hotlink_fabric::routing::{Hop, Paths, Routing, State, Trip};
use hotlink_fabric::traffic::Demand;
use std::collections::BTreeSet;

/// Users that are named.
const NAMED: usize = 100;
/// Most paths that are followed.
const MOST_TRIPS: u64 = 1 << 24;

/// Why the users of a link are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// Packets choose a group by chance.
    #[error("users are not known where packets go by random groups")]
    Random,
    /// Too many paths lead to the link.
    #[error("{0} paths lead to it: at most {MOST_TRIPS} are followed")]
    Trips(u64),
}

/// Pairs of nodes whose messages cross a link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Users {
    /// How many pairs.
    pub total: u64,
    /// The first of them, and the share of each one's messages that crosses it.
    pub first: Vec<(Node, Node, f64)>,
    /// Of each node, how many others it sends to over the link.
    pub sends: Vec<u64>,
    /// Of each node, how many others it hears from over the link.
    pub hears: Vec<u64>,
    /// Other links that routes offer beside it.
    pub alternatives: BTreeSet<Channel>,
}

impl Users {
    /// Of the pairs of `demand`, where equal paths are chosen by `paths` and its seed.
    ///
    /// # Errors
    /// Routes by random groups; too many paths.
    pub fn of(
        fabric: &Fabric,
        demand: &Demand,
        (paths, seed): (Paths, u64),
        channel: Channel,
    ) -> Result<Users, Unknown> {
        if fabric.routing.is_valiant() {
            return Err(Unknown::Random);
        }
        let mut walk = Walk::new(fabric, (paths, seed), channel);
        let none = vec![0; fabric.network.nodes as usize];
        let mut users = Users { sends: none.clone(), hears: none, ..Users::default() };
        if demand.all_pairs > 0.0 {
            users.add_all_pairs(&mut walk)?;
        }
        demand.flows.iter().for_each(|flow| users.add(&mut walk, flow.source, flow.destination));
        users.alternatives = walk.offered;
        Ok(users)
    }

    fn add(&mut self, walk: &mut Walk<'_>, from: Node, to: Node) {
        let share = if from == to { 0.0 } else { walk.share(from, to) };
        if share > 0.0 {
            self.count(&[from], &[to]);
            self.name(from, to, share);
        }
    }

    fn count(&mut self, from: &[Node], to: &[Node]) {
        self.total += (from.len() * to.len()) as u64;
        from.iter().for_each(|node| self.sends[node.0 as usize] += to.len() as u64);
        to.iter().for_each(|node| self.hears[node.0 as usize] += from.len() as u64);
    }

    fn name(&mut self, from: Node, to: Node, share: f64) {
        if self.first.len() < NAMED {
            self.first.push((from, to, share));
        }
    }

    fn add_all_pairs(&mut self, walk: &mut Walk<'_>) -> Result<(), Unknown> {
        let fabric = walk.fabric;
        let (network, attachment) = (&fabric.network, &fabric.attachment);
        // The only link of a node carries what that node sends, or gets.
        let alone = |end| network.node_iter().find(|node| node.vertex() == end && attachment.has_home(*node));
        if let Some(from) = alone(network.from(walk.channel)) {
            network.node_iter().for_each(|to| self.add(walk, from, to));
            return Ok(());
        }
        if let Some(to) = alone(network.to(walk.channel)) {
            network.node_iter().for_each(|from| self.add(walk, from, to));
            return Ok(());
        }
        let homes = 0..attachment.homes.len();
        let sharing = walk.sharing();
        let sources: Vec<&[Node]> = match sharing {
            Sharing::None => attachment.members.chunks(1).collect(),
            _ => homes.clone().map(|home| attachment.nodes_of(home)).collect(),
        };
        let destinations: Vec<&[Node]> = match sharing {
            Sharing::Homes => homes.map(|home| attachment.nodes_of(home)).collect(),
            _ => attachment.members.chunks(1).collect(),
        };
        let trips = sources.len() as u64 * destinations.len() as u64;
        if sharing != Sharing::Sources && trips > MOST_TRIPS {
            return Err(Unknown::Trips(trips));
        }
        for to in destinations {
            if !walk.leads(to[0]) {
                continue;
            }
            let homes = if sharing == Sharing::Sources { walk.upstream(to[0]) } else { (0..sources.len()).collect() };
            homes.into_iter().for_each(|from| self.add_group(walk, sources[from], to));
        }
        Ok(())
    }

    /// Pairs that share their routes between switches. What stays at one home crosses no link between two.
    fn add_group(&mut self, walk: &mut Walk<'_>, from: &[Node], to: &[Node]) {
        let group = &walk.fabric.attachment.group;
        let [one, other] = [from[0], to[0]];
        if group[one.0 as usize] == group[other.0 as usize] {
            return;
        }
        let share = walk.share(one, other);
        if share > 0.0 {
            self.count(from, to);
            let pairs = from.iter().flat_map(|&from| to.iter().map(move |&to| (from, to)));
            pairs.take(NAMED).for_each(|(from, to)| self.name(from, to, share));
        }
    }
}

/// Which pairs of nodes share their routes between switches.
#[derive(Clone, Copy, PartialEq)]
enum Sharing {
    /// All of two homes.
    Homes,
    /// All of a home to one destination: the next link depends on the switch and the destination.
    Sources,
    /// Each has its own.
    None,
}

/// Follows messages towards a link.
struct Walk<'a> {
    fabric: &'a Fabric,
    channel: Channel,
    paths: Paths,
    seed: u64,
    /// The destination that `known` is about.
    toward: Option<Node>,
    /// Of what is at a state, the share that will cross the link, and the turn that it is known of: one a destination.
    known: Vec<(u32, f64)>,
    turn: u32,
    offered: BTreeSet<Channel>,
    /// Channels into each device, but those of hosts that have no other.
    entering: Vec<Vec<Channel>>,
}

impl<'a> Walk<'a> {
    fn new(fabric: &'a Fabric, (paths, seed): (Paths, u64), channel: Channel) -> Walk<'a> {
        let known = vec![(0, 0.0); fabric.network.vertices() * usize::from(fabric.routing.phases())];
        let mut entering = vec![Vec::new(); fabric.network.vertices()];
        let of_host = |v: Vertex| fabric.network.is_node(v) && fabric.attachment.has_home(Node(v.0));
        let all = (0..fabric.network.channels() as u32).map(Channel);
        for channel in all.filter(|&channel| !of_host(fabric.network.from(channel))) {
            entering[fabric.network.to(channel).0 as usize].push(channel);
        }
        Walk { fabric, channel, paths, seed, toward: None, known, turn: 0, offered: BTreeSet::new(), entering }
    }

    fn place(&self, state: State) -> usize {
        state.at.0 as usize * usize::from(self.fabric.routing.phases()) + usize::from(state.phase)
    }

    /// Whether each pair has one path.
    fn is_static(&self) -> bool {
        self.paths.is_static() && self.fabric.offers_choices()
    }

    fn sharing(&self) -> Sharing {
        let routing = &self.fabric.routing;
        match (routing.explicit(), routing) {
            (Some(_), _) => Sharing::None,
            (None, Routing::Tables(_)) => Sharing::Sources,
            _ if !self.is_static() => Sharing::Homes,
            _ if self.paths == Paths::Destination => Sharing::Sources,
            _ => Sharing::None,
        }
    }

    /// Whether any packet to this destination that came to the link's beginning could go on over it.
    fn leads(&self, to: Node) -> bool {
        let fabric = self.fabric;
        let at = fabric.network.from(self.channel);
        if fabric.routing.explicit().is_some() || fabric.network.is_node(at) {
            return true;
        }
        self.offers(&fabric.ways(Trip::new(to, to)), to, self.channel)
    }

    /// Whether a packet to this destination at a channel's beginning could go on over it.
    fn offers(&self, ways: &Ways<'_>, to: Node, channel: Channel) -> bool {
        let fabric = self.fabric;
        let at = fabric.network.from(channel);
        let mut hops = Vec::new();
        (0..fabric.routing.phases()).any(|phase| {
            ways.hops(State { at, phase }, &mut hops);
            match self.paths {
                Paths::Destination if self.is_static() => {
                    let place = Draw::of_pair(self.paths, 0, to, to).pick(&fabric.network, fabric.tables(), &hops);
                    place.is_some_and(|place| hops[place].channel == channel)
                }
                _ => hops.iter().any(|hop| hop.channel == channel),
            }
        })
    }

    /// The homes, by place, whose packets to this destination come to the link's beginning. The next link must depend on
    /// the switch and the destination alone.
    fn upstream(&self, to: Node) -> Vec<usize> {
        let fabric = self.fabric;
        let ways = fabric.ways(Trip::new(to, to));
        let start = fabric.network.from(self.channel);
        let (mut open, mut found) = (vec![start], BTreeSet::from([start]));
        while let Some(at) = open.pop() {
            for &channel in &self.entering[at.0 as usize] {
                let from = fabric.network.from(channel);
                if !found.contains(&from) && self.offers(&ways, to, channel) {
                    found.insert(from);
                    open.push(from);
                }
            }
        }
        found.iter().filter_map(|at| fabric.attachment.homes.binary_search(at).ok()).collect()
    }

    /// Share of the pair's messages that cross the link.
    fn share(&mut self, from: Node, to: Node) -> f64 {
        let fabric = self.fabric;
        if let Some(route) = fabric.routing.explicit().and_then(|routes| routes.get(&(from, to))) {
            return if route.contains(&self.channel) { 1.0 } else { 0.0 };
        }
        let ways = fabric.ways(Trip::new(from, to));
        if self.is_static() {
            return self.follow(&ways, from, to);
        }
        if self.toward != Some(to) {
            self.toward = Some(to);
            self.turn += 1;
        }
        self.behind(&ways, State::start(from))
    }

    /// Of flows that split evenly.
    fn behind(&mut self, ways: &Ways<'_>, state: State) -> f64 {
        let place = self.place(state);
        let (turn, known) = self.known[place];
        if turn == self.turn {
            return known;
        }
        // Tables may lead in a circle: what comes here again crosses no more links than it did.
        self.known[place] = (self.turn, 0.0);
        let mut hops = Vec::new();
        ways.hops(state, &mut hops);
        self.offer(&hops);
        let network = &self.fabric.network;
        let mut share = 0.0;
        for hop in &hops {
            let next = State { at: network.to(hop.channel), phase: hop.phase };
            let crosses = if hop.channel == self.channel { 1.0 } else { self.behind(ways, next) };
            share += hop.share * crosses;
        }
        self.known[place] = (self.turn, share);
        share
    }

    /// Of a path that the pair's hash or the destination's number chooses.
    fn follow(&mut self, ways: &Ways<'_>, from: Node, to: Node) -> f64 {
        let fabric = self.fabric;
        let mut draw = Draw::of_pair(self.paths, self.seed, from, to);
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
