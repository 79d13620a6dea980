//! The load count: flows over routes give the load of every resource, hence the hot link. `hotlink-bound` makes a bound
//! of it.
//!
//! Flows are pushed towards one home at a time, farthest first. All flows to a destination share the work, and no table
//! of pairs is kept. The cores share the homes in chunks, whose sums are added in order: the same bytes on any machine.
//!
//! On a cube with all its nodes and dimension-order routing, uniform traffic looks the same from everywhere. One home
//! is counted and the sums spread over the translations (a million nodes in a second or so). A complete folded tree is
//! summed block by block (`tree.rs`), rails of GPU hosts leaf by leaf (`rails.rs`), a dragonfly group by group
//! (`dragonfly.rs`).
//!
//! ```
//! # fn demo(spec: &hotlink_fabric::spec::FabricSpec) -> Result<(), Box<dyn std::error::Error>> {
//! use hotlink_fabric::{Fabric, traffic::Traffic};
//! let fabric = Fabric::build(spec, 64)?;
//! let demand = Traffic::AllToAll.demand(fabric.nodes(), 0)?;
//! let load = hotlink_load::count(&fabric, &demand)?;
//! let hottest = load.vertex.iter().copied().fold(0.0, f64::max);
//! println!("at most {hottest} messages through one of the switches and nodes");
//! # Ok(()) }
//! ```

mod bytes;
pub mod deadlock;
mod dragonfly;
mod hosts;
mod latency;
mod pairs;
mod rails;
mod regional;
pub mod sharing;
pub mod split;
mod tables;
mod tree;
mod users;
mod valiant;

pub use bytes::Serial;
pub use latency::Queues;
pub use pairs::MOST_PAIRS;
pub use users::{Unknown, Users};

use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Network, Node, Resource, Vertex};
use hotlink_fabric::routing::choice::Draw;
use hotlink_fabric::routing::{Hop, Paths, Routing, State, Toward};
use hotlink_fabric::spec::Role;
use hotlink_fabric::topology::{Cube, Shape};
use hotlink_fabric::traffic::{Demand, Flow};
use rails::Rails;
use rayon::prelude::*;
use std::collections::BTreeMap;
use tree::Folded;

/// Why a load cannot be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The demand was made for another number of nodes.
    #[error("the traffic is for {demand} nodes, the fabric has {fabric}")]
    Nodes {
        /// Nodes of the demand.
        demand: u32,
        /// Nodes of the fabric.
        fabric: u32,
    },
    /// A path for each pair, and too many pairs to follow.
    #[error(
        "{pairs} pairs of nodes, each with a path of its own: at most {most} are followed; count fewer nodes, or an even split (paths: packet)"
    )]
    Pairs {
        /// Pairs of the demand.
        pairs: u64,
        /// Most that are followed.
        most: u64,
    },
    /// Packets go by random switches, and there are too many of these.
    #[error("routes by random other switches: {cells} cells of memory, at most {most} are kept; count fewer nodes")]
    Cells {
        /// Switches with nodes, times switches.
        cells: u64,
        /// Most that are kept.
        most: u64,
    },
    /// The routing has no path from one node to another.
    #[error("no route from node {} to node {}", sender.0, receiver.0)]
    NoRoute {
        /// Sender.
        sender: Node,
        /// Receiver.
        receiver: Node,
    },
}

/// Load of every resource, in messages (the unit of the demand).
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Packets' worth of flow through each vertex; of a node's vertex, what it sends.
    pub vertex: Vec<f64>,
    /// Flow over each channel.
    pub channel: Vec<f64>,
    /// What each node sends.
    pub sent: Vec<f64>,
    /// What each node sends to other hosts: less than `sent` only where a host holds several nodes.
    pub sent_out: Vec<f64>,
    /// What each node receives.
    pub received: Vec<f64>,
}

/// Units of parallel work: many enough for every core, few enough that their sums cost little. It does not depend on
/// the number of cores, so neither do the sums.
const PARTS: usize = 128;

/// What chooses among equal paths on a fabric that asks for `stated`. Packets through random groups choose each for
/// itself, because a path of the pair's own would keep no order there. The simulator asks here too.
pub fn paths_on(fabric: &Fabric, stated: Paths) -> Paths {
    if stated.is_static() && fabric.routing.is_valiant() { Paths::Packet } else { stated }
}

/// Whether all nodes send to all by paths that a hash of each pair chooses, and are too many for each to be followed.
pub fn has_too_many_pairs(fabric: &Fabric) -> bool {
    let is_hashed = fabric.offers_choices() && paths_on(fabric, fabric.spec.paths) == Paths::Flow;
    is_hashed && u64::from(fabric.nodes()).pow(2) > MOST_PAIRS
}

/// Whether the fabric is one of rails of GPU hosts whose all-to-all is counted leaf by leaf, in a step or so for each
/// link.
pub fn counts_leaves(fabric: &Fabric) -> bool {
    Rails::of(fabric).is_some()
}

/// The first node, and the first that it does not reach.
pub fn apart(network: &Network) -> Option<[Node; 2]> {
    match &parts(network)[..] {
        [one, other, ..] => Some([one[0], other[0]]),
        _ => None,
    }
}

/// The nodes of each part of a network that no cable joins to another, in the order of their first nodes. Nodes pass nothing
/// on: a GPU's own links may end in its host.
pub fn parts(network: &Network) -> Vec<Vec<Node>> {
    parts_along(network, |_| true)
}

/// The same where only some channels join.
fn parts_along(network: &Network, joins: impl Fn(Channel) -> bool) -> Vec<Vec<Node>> {
    let mut seen = vec![false; network.vertices()];
    let mut parts = Vec::new();
    for first in network.node_iter() {
        if std::mem::replace(&mut seen[first.vertex().0 as usize], true) {
            continue;
        }
        let (mut nodes, mut next) = (vec![first], vec![first.vertex()]);
        while let Some(at) = next.pop() {
            for to in network.out(at).filter(|&channel| joins(channel)).map(|channel| network.to(channel)) {
                match std::mem::replace(&mut seen[to.0 as usize], true) {
                    true => {}
                    false if network.is_node(to) => nodes.push(Node(to.0)),
                    false => next.push(to),
                }
            }
        }
        parts.push(nodes);
    }
    parts
}

/// Counts the load of `demand` on every resource where packets choose among equal paths by `paths`. Where each packet
/// chooses ([`Paths::Packet`], [`Paths::Adaptive`]) flows split evenly. Both policies reach that; it is no best case.
/// `seed` is that of the pairs' hash.
///
/// # Errors
/// [`LoadError`]: wrong number of nodes, a pair without a route, or more pairs than are followed.
pub fn count_paths(fabric: &Fabric, demand: &Demand, paths: Paths, seed: u64) -> Result<Load, LoadError> {
    count_paths_heard(fabric, demand, paths, seed, UNHEARD)
}

/// Hears how far a count is: so many of all its parts are done.
pub type Heard<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// Nobody hears.
const UNHEARD: Heard<'_> = &|_, _| ();

/// As [`count_paths`]; tells `heard` how far it is.
///
/// # Errors
/// As [`count_paths`].
pub fn count_paths_heard(
    fabric: &Fabric,
    demand: &Demand,
    paths: Paths,
    seed: u64,
    heard: Heard<'_>,
) -> Result<Load, LoadError> {
    let paths = paths_on(fabric, paths);
    if !paths.is_static() || !fabric.offers_choices() {
        return count_by(fabric, demand, true, heard);
    }
    if demand.nodes != fabric.nodes() {
        return Err(LoadError::Nodes { demand: demand.nodes, fabric: fabric.nodes() });
    }
    let counts = match paths {
        Paths::Destination => match Some(demand.all_pairs).filter(|&amount| amount > 0.0).and_then(|amount| {
            let tree = || Folded::of(fabric).map(|tree| tree.by_table(amount));
            tree().or_else(|| Rails::of(fabric).map(|rails| rails.by_table(amount)))
        }) {
            Some(all) => with_flows(fabric, demand, all, by_table)?,
            None => by_table(&Injections::new(fabric, demand, heard))?,
        },
        _ => pairs::count(fabric, demand, seed, heard)?,
    };
    finish(fabric, demand, counts)
}

/// Pushes all that goes to each node by the switches' forwarding tables.
fn by_table(injections: &Injections) -> Result<Counts, LoadError> {
    in_groups(injections, |counter, group| counter.push_by_table(injections, group))
}

/// Pushes all that goes to each home, split evenly over equal paths.
fn evenly(injections: &Injections) -> Result<Counts, LoadError> {
    in_groups(injections, |counter, group| counter.push_toward(injections, group))
}

/// All-to-all split evenly over equal paths, where its sum over the parts of the network is known.
fn by_parts(fabric: &Fabric, amount: f64) -> Option<Counts> {
    let tree = Folded::of(fabric).map(|tree| tree.evenly(amount));
    let rails = || Rails::of(fabric).map(|rails| rails.evenly(amount));
    tree.or_else(rails).or_else(|| dragonfly::count(fabric, amount))
}

/// Adds the demand's flows of single pairs to what goes from everywhere to everywhere.
fn with_flows(
    fabric: &Fabric,
    demand: &Demand,
    mut counts: Counts,
    push: impl Fn(&Injections) -> Result<Counts, LoadError>,
) -> Result<Counts, LoadError> {
    if !demand.flows.is_empty() {
        let flows = Demand { all_pairs: 0.0, ..demand.clone() };
        counts.add(&push(&Injections::new(fabric, &flows, UNHEARD))?);
    }
    Ok(counts)
}

/// Counts the load of `demand` on every resource; flows split evenly over equal paths.
///
/// # Errors
/// [`LoadError`]: wrong number of nodes, or a pair without a route.
pub fn count(fabric: &Fabric, demand: &Demand) -> Result<Load, LoadError> {
    count_by(fabric, demand, true, UNHEARD)
}

/// As [`count`], without the short cut by symmetry: every destination is counted.
///
/// # Errors
/// As [`count`].
pub fn count_every_destination(fabric: &Fabric, demand: &Demand) -> Result<Load, LoadError> {
    count_by(fabric, demand, false, UNHEARD)
}

/// Counts the load of the pairs that have a route under the fabric's forwarding tables, and the pairs with traffic that
/// have none. Such a pair sends nothing, not even on the nodes' own links.
///
/// # Errors
/// As [`count`]; without forwarding tables a pair without a route is an error.
pub fn count_reachable(fabric: &Fabric, demand: &Demand) -> Result<(Load, u64), LoadError> {
    count_reachable_heard(fabric, demand, UNHEARD)
}

/// As [`count_reachable`]; tells `heard` how far it is.
///
/// # Errors
/// As [`count_reachable`].
pub fn count_reachable_heard(fabric: &Fabric, demand: &Demand, heard: Heard<'_>) -> Result<(Load, u64), LoadError> {
    let Routing::Tables(tables) = &fabric.routing else {
        return count_paths_heard(fabric, demand, fabric.spec.paths, 0, heard).map(|load| (load, 0));
    };
    if demand.nodes != fabric.nodes() {
        return Err(LoadError::Nodes { demand: demand.nodes, fabric: fabric.nodes() });
    }
    let (counts, lost) = tables::count_reachable(fabric, tables, demand, heard)?;
    let mut load = finish(fabric, demand, counts)?;
    for node in fabric.network.node_iter().filter(|&node| lost > 0 && fabric.attachment.has_home(node)) {
        let n = node.0 as usize;
        load.sent[n] = load.vertex[n];
        load.sent_out[n] = load.vertex[n];
        load.received[n] = load.channel[fabric.attachment.eject[n].0 as usize];
    }
    Ok((load, lost))
}

/// The first pairs with traffic that have no route under the fabric's forwarding tables, at most so many.
pub fn unreachable(fabric: &Fabric, demand: &Demand, most: usize) -> Vec<(Node, Node)> {
    match &fabric.routing {
        Routing::Tables(tables) => tables::lost_pairs(fabric, tables, demand).take(most).collect(),
        _ => Vec::new(),
    }
}

impl LoadError {
    /// The error with the nodes' names.
    pub fn told(&self, fabric: &Fabric) -> String {
        let name = |node: Node| fabric.resource_name(Resource::Vertex(node.vertex()));
        match self {
            LoadError::NoRoute { sender, receiver } => {
                format!("no route from {} to {}", name(*sender), name(*receiver))
            }
            other => other.to_string(),
        }
    }
}

fn count_by(fabric: &Fabric, demand: &Demand, by_symmetry: bool, heard: Heard<'_>) -> Result<Load, LoadError> {
    if demand.nodes != fabric.nodes() {
        return Err(LoadError::Nodes { demand: demand.nodes, fabric: fabric.nodes() });
    }
    if let Routing::Tables(tables) = &fabric.routing {
        let counts = tables::count(fabric, tables, demand, heard)?;
        return finish(fabric, demand, counts);
    }
    let injections = Injections::new(fabric, demand, heard);
    let symmetric = by_symmetry && demand.flows.is_empty() && matches!(fabric.routing, Routing::Cube(_));
    let counts = match &fabric.shape {
        Shape::Cube(cube) if symmetric && cube.is_full() => {
            let mut one = Counter::new(fabric);
            one.push_toward(&injections, 0)?;
            spread(fabric, cube, &one.counts)
        }
        Shape::Dragonfly(shape) if fabric.routing.is_valiant() => valiant::count(fabric, shape, &injections)?,
        _ if fabric.routing.is_valiant() => regional::count(fabric, &injections)?,
        _ => match Some(fabric)
            .filter(|_| by_symmetry && demand.all_pairs > 0.0)
            .and_then(|fabric| by_parts(fabric, demand.all_pairs))
        {
            Some(all) => with_flows(fabric, demand, all, evenly)?,
            None => evenly(&injections)?,
        },
    };
    finish(fabric, demand, counts)
}

/// Adds explicit routes and the nodes' own links.
fn finish(fabric: &Fabric, demand: &Demand, mut counts: Counts) -> Result<Load, LoadError> {
    walk_source_routes(fabric, demand, &mut counts);
    let (sent, received) = demand.per_node();
    for node in fabric.network.node_iter().filter(|&node| fabric.attachment.has_home(node)) {
        let n = node.0 as usize;
        counts.channel[fabric.network.port(node.vertex(), 0).0 as usize] += sent[n];
        counts.channel[fabric.attachment.eject[n].0 as usize] += received[n];
        counts.vertex[n] += sent[n];
    }
    let sent_out = hosts::sent_out(fabric, demand).unwrap_or_else(|| sent.clone());
    Ok(Load { vertex: counts.vertex, channel: counts.channel, sent, sent_out, received })
}

/// Runs `work` for each home that something goes to.
fn in_groups(
    to: &Injections,
    work: impl Fn(&mut Counter, usize) -> Result<(), LoadError> + Sync,
) -> Result<Counts, LoadError> {
    let is_idle = |group: usize| to.all_pairs == 0.0 && to.start[group] == to.start[group + 1];
    let work = |counter: &mut Counter, group: usize| if is_idle(group) { Ok(()) } else { work(counter, group) };
    in_chunks(to.fabric, to.fabric.attachment.homes.len(), to.heard, work)
}

/// Runs `work` for 0..count on all cores and sums the counts in order.
fn in_chunks(
    fabric: &Fabric,
    count: usize,
    heard: Heard<'_>,
    work: impl Fn(&mut Counter, usize) -> Result<(), LoadError> + Sync,
) -> Result<Counts, LoadError> {
    let items: Vec<usize> = (0..count).collect();
    let chunk = count.div_ceil(PARTS).max(1);
    let round = chunk * rayon::current_num_threads().max(1) * 4;
    let (mut total, mut done) = (Counts::new(fabric), 0);
    for batch in items.chunks(round) {
        let parts: Vec<Result<Counts, LoadError>> = batch
            .par_chunks(chunk)
            .map(|chunk| {
                let mut counter = Counter::new(fabric);
                chunk.iter().try_for_each(|&item| work(&mut counter, item))?;
                Ok(counter.counts)
            })
            .collect();
        for part in parts {
            total.add(&part?);
        }
        done += batch.len();
        heard(done as u64, count as u64);
    }
    Ok(total)
}

/// Loads of the core while they are summed.
#[derive(Clone, Debug)]
struct Counts {
    vertex: Vec<f64>,
    channel: Vec<f64>,
}

impl Counts {
    fn new(fabric: &Fabric) -> Counts {
        Counts { vertex: vec![0.0; fabric.network.vertices()], channel: vec![0.0; fabric.network.channels()] }
    }

    fn add(&mut self, other: &Counts) {
        for (sum, x) in self.vertex.iter_mut().zip(&other.vertex) {
            *sum += x;
        }
        for (sum, x) in self.channel.iter_mut().zip(&other.channel) {
            *sum += x;
        }
    }

    fn times(mut self, amount: f64) -> Counts {
        self.vertex.iter_mut().chain(&mut self.channel).for_each(|load| *load *= amount);
        self
    }
}

/// The demand, arranged by the destination's home.
struct Injections<'a> {
    fabric: &'a Fabric,
    heard: Heard<'a>,
    all_pairs: f64,
    /// Flows by home: (group, source, amount, destination).
    flows: Vec<(u32, Node, f64, Node)>,
    /// Flows of group g are `flows[start[g]..start[g + 1]]`.
    start: Vec<usize>,
    /// Pairs with explicit routes, by home of source and of destination; they are walked instead.
    routed: BTreeMap<(u32, u32), usize>,
    /// The same by home of the source and destination.
    explicit: BTreeMap<(u32, Node), usize>,
}

impl<'a> Injections<'a> {
    fn new(fabric: &'a Fabric, demand: &Demand, heard: Heard<'a>) -> Injections<'a> {
        let group = |node: Node| fabric.attachment.group[node.0 as usize];
        let routes = fabric.routing.explicit();
        let is_routed = |flow: &Flow| routes.is_some_and(|r| r.contains_key(&(flow.source, flow.destination)));
        let between = demand.flows.iter().filter(|flow| flow.source != flow.destination && !is_routed(flow));
        let mut flows: Vec<_> = between.map(|f| (group(f.destination), f.source, f.amount, f.destination)).collect();
        flows.sort_by_key(|&(group, source, _, destination)| (group, source, destination));
        let start = (0..=fabric.attachment.homes.len() as u32).map(|g| flows.partition_point(|f| f.0 < g)).collect();
        let (mut routed, mut explicit) = (BTreeMap::new(), BTreeMap::new());
        for &(source, destination) in routes.iter().flat_map(|routes| routes.keys()) {
            *routed.entry((group(source), group(destination))).or_insert(0) += 1;
            *explicit.entry((group(source), destination)).or_insert(0) += 1;
        }
        Injections { fabric, heard, all_pairs: demand.all_pairs, flows, start, routed, explicit }
    }

    /// Calls `inject(home of the source, amount, a source)` for all that goes to one node of `group` without an
    /// explicit route.
    fn each_to(&self, group: usize, destination: Node, mut inject: impl FnMut(Vertex, f64, Node)) {
        let attachment = &self.fabric.attachment;
        if self.all_pairs > 0.0 {
            for (from, &home) in attachment.homes.iter().enumerate() {
                let sources = attachment.nodes_of(from);
                let routed = self.explicit.get(&(from as u32, destination)).copied().unwrap_or(0);
                let pairs = sources.len() - usize::from(from == group) - routed;
                if pairs > 0 {
                    inject(home, self.all_pairs * pairs as f64, sources[0]);
                }
            }
        }
        let own = &self.flows[self.start[group]..self.start[group + 1]];
        for &(_, source, amount, _) in own.iter().filter(|flow| flow.3 == destination) {
            inject(attachment.home[source.0 as usize], amount, source);
        }
    }

    /// Calls `inject(home of the source, amount, a source, a destination)` for all that goes to `group` without an
    /// explicit route.
    fn each(&self, group: usize, mut inject: impl FnMut(Vertex, f64, Node, Node)) {
        let attachment = &self.fabric.attachment;
        let members = attachment.nodes_of(group);
        if self.all_pairs > 0.0 {
            for (from, &home) in attachment.homes.iter().enumerate() {
                let sources = attachment.nodes_of(from);
                let pairs = match from == group {
                    true => sources.len() * (members.len() - 1),
                    false => sources.len() * members.len(),
                };
                let routed = self.routed.get(&(from as u32, group as u32)).copied().unwrap_or(0);
                inject(home, self.all_pairs * (pairs - routed) as f64, sources[0], members[members.len() - 1]);
            }
        }
        for &(_, source, amount, destination) in &self.flows[self.start[group]..self.start[group + 1]] {
            inject(attachment.home[source.0 as usize], amount, source, destination);
        }
    }
}

/// Pushes flows towards one home after another.
struct Counter<'a> {
    fabric: &'a Fabric,
    counts: Counts,
    /// Flow waiting at each state (vertex-major).
    waiting: Vec<f64>,
    /// States with flow, by rank (see [`Toward::rank`]).
    by_rank: Vec<Vec<State>>,
    hops: Vec<Hop>,
    /// What lies ahead of pairs that are followed one by one.
    ahead: pairs::Ahead,
}

impl<'a> Counter<'a> {
    fn new(fabric: &'a Fabric) -> Counter<'a> {
        let states = fabric.network.vertices() * usize::from(fabric.routing.phases());
        Counter {
            fabric,
            counts: Counts::new(fabric),
            waiting: vec![0.0; states],
            by_rank: Vec::new(),
            hops: Vec::new(),
            ahead: pairs::Ahead::default(),
        }
    }

    /// Pushes all that goes to each node of home `group` by the switches' forwarding tables.
    fn push_by_table(&mut self, injections: &Injections, group: usize) -> Result<(), LoadError> {
        let fabric = self.fabric;
        let toward = fabric.routing.toward(&fabric.network, &fabric.attachment, group);
        for &destination in fabric.attachment.nodes_of(group) {
            let mut lost = None;
            injections.each_to(group, destination, |home, amount, source| {
                let state = State { at: home, phase: 0 };
                match toward.rank(state) {
                    Some(rank) => self.wait(state, rank, amount),
                    None => lost = Some(LoadError::NoRoute { sender: source, receiver: destination }),
                }
            });
            self.drain(&toward, true, Some(destination));
            lost.map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    /// Pushes all that goes to home `group`.
    fn push_toward(&mut self, injections: &Injections, group: usize) -> Result<(), LoadError> {
        let toward = self.fabric.routing.toward(&self.fabric.network, &self.fabric.attachment, group);
        let mut lost = None;
        injections.each(group, |home, amount, source, destination| {
            let state = State { at: home, phase: 0 };
            match toward.rank(state) {
                _ if amount == 0.0 => {}
                Some(rank) => self.wait(state, rank, amount),
                None => lost = lost.or(Some(LoadError::NoRoute { sender: source, receiver: destination })),
            }
        });
        self.drain(&toward, true, None);
        lost.map_or(Ok(()), Err)
    }

    fn wait(&mut self, state: State, rank: u32, amount: f64) {
        let phases = usize::from(self.fabric.routing.phases());
        let waiting = &mut self.waiting[state.at.0 as usize * phases + usize::from(state.phase)];
        if *waiting == 0.0 {
            if self.by_rank.len() <= rank as usize {
                self.by_rank.resize_with(rank as usize + 1, Vec::new);
            }
            self.by_rank[rank as usize].push(state);
        }
        *waiting += amount;
    }

    /// Pushes all that waits to its end. With `arrivals`, what arrives counts on the last vertex. `table` names the
    /// node whose entries of the forwarding tables choose among equal hops; without one they share the flow.
    fn drain(&mut self, toward: &Toward, arrivals: bool, table: Option<Node>) {
        let phases = usize::from(self.fabric.routing.phases());
        let mut hops = std::mem::take(&mut self.hops);
        for rank in (0..self.by_rank.len()).rev() {
            let states = std::mem::take(&mut self.by_rank[rank]);
            for &state in &states {
                let flow = std::mem::take(&mut self.waiting[state.at.0 as usize * phases + usize::from(state.phase)]);
                if rank > 0 || arrivals {
                    self.counts.vertex[state.at.0 as usize] += flow;
                }
                hops.clear();
                toward.hops(state, &mut hops);
                if let Some(destination) = table.filter(|_| hops.len() > 1) {
                    let mut draw = Draw::new(Paths::Destination, destination, 0, 0);
                    let place = draw.pick(&self.fabric.network, self.fabric.tables(), &hops).unwrap_or(0);
                    hops.swap(0, place);
                    hops.truncate(1);
                    hops[0].share = 1.0;
                }
                for hop in &hops {
                    self.counts.channel[hop.channel.0 as usize] += flow * hop.share;
                    let next = State { at: self.fabric.network.to(hop.channel), phase: hop.phase };
                    self.wait(next, toward.rank_after(rank as u32, next), flow * hop.share);
                }
            }
            self.by_rank[rank] = states;
            self.by_rank[rank].clear();
        }
        self.hops = hops;
    }
}

/// Adds what takes explicit routes. The first and last channel of a node with a home are counted by what it sends and
/// receives, as for all.
fn walk_source_routes(fabric: &Fabric, demand: &Demand, counts: &mut Counts) {
    let Some(routes) = fabric.routing.explicit() else { return };
    let mut amounts: BTreeMap<(Node, Node), f64> = routes.keys().map(|&pair| (pair, demand.all_pairs)).collect();
    for flow in &demand.flows {
        if let Some(amount) = amounts.get_mut(&(flow.source, flow.destination)) {
            *amount += flow.amount;
        }
    }
    let by_node = |v: Vertex| fabric.network.is_node(v) && fabric.attachment.has_home(Node(v.0));
    for (pair, amount) in amounts {
        for &channel in &routes[&pair] {
            let (from, to) = (fabric.network.from(channel), fabric.network.to(channel));
            if !by_node(from) && !by_node(to) {
                counts.channel[channel.0 as usize] += amount;
            }
            if !fabric.network.is_node(from) {
                counts.vertex[from.0 as usize] += amount;
            }
        }
    }
}

/// Spreads the counts of one destination over all translations of a full cube. Each resource carries the sum over its
/// own kind (same port, same dimension).
fn spread(fabric: &Fabric, cube: &Cube, one: &Counts) -> Counts {
    let network = &fabric.network;
    let block = |v: Vertex| match cube.locate(v) {
        (_, None) => 0,
        (_, Some(d)) => 1 + d as usize,
    };
    let mut vertex_kind = vec![0.0; 1 + cube.extents.len()];
    for v in network.nodes as usize..network.vertices() {
        vertex_kind[block(Vertex(v as u32))] += one.vertex[v];
    }
    let port = |c: usize| {
        let from = network.from(Channel(c as u32));
        (block(from), c - network.out_start[from.0 as usize] as usize)
    };
    let ports = (cube.extents.len() + 1) * 2 + cube.nodes_per_router as usize;
    let mut channel_kind = vec![0.0; vertex_kind.len() * ports];
    let core = network.out_start[network.nodes as usize] as usize;
    for c in core..network.channels() {
        let (block, port) = port(c);
        channel_kind[block * ports + port] += one.channel[c];
    }
    let mut all = Counts::new(fabric);
    for v in network.nodes as usize..network.vertices() {
        all.vertex[v] = vertex_kind[block(Vertex(v as u32))];
    }
    for c in core..network.channels() {
        let (block, port) = port(c);
        all.channel[c] = channel_kind[block * ports + port];
    }
    all
}

impl Load {
    /// Load of one resource. For a part of a host it is what the node sends and receives. Where each direction has the
    /// rate for itself, it is the greater of the two.
    pub fn of(&self, fabric: &Fabric, resource: Resource) -> f64 {
        let half = |role| fabric.spec.resource(role).is_some_and(|spec| spec.half_duplex());
        match resource {
            Resource::Vertex(v) => self.vertex[v.0 as usize],
            Resource::Channel(c) => {
                let own = self.channel[c.0 as usize];
                let back = half(fabric.network.role(resource)).then(|| fabric.network.reverse(c)).flatten();
                own + back.map_or(0.0, |back| self.channel[back.0 as usize])
            }
            Resource::Host(node, role) => {
                let (sent, received) = (self.sent[node.0 as usize], self.received[node.0 as usize]);
                match role {
                    Role::Engine => sent,
                    role if half(role) => sent + received,
                    _ => sent.max(received),
                }
            }
        }
    }
}
