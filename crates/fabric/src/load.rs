//! The load count: flows over routes give the load of every resource, hence the hot link.
//!
//! Flows are pushed towards one home at a time, farthest first, so that all that share a destination share the work and
//! no table of pairs is kept. Homes are shared out over the cores in chunks of fixed size whose sums are added in
//! order: the same bytes on any machine. On a cube with all its nodes, uniform traffic looks the same from everywhere:
//! one home is counted and the sums spread over the translations (a million nodes in a second or so).

use crate::built::Fabric;
use crate::network::{Channel, Node, Resource, Vertex};
use crate::routing::{Hop, State, Toward};
use crate::topology::{Cube, Shape};
use crate::traffic::Demand;
use rayon::prelude::*;

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
    /// The routing has no way from one node to another.
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
    /// What each node receives.
    pub received: Vec<f64>,
}

/// Homes per unit of parallel work. Fixed, so that sums do not depend on the number of cores.
const CHUNK: usize = 64;

/// Counts the load of `demand` on every resource.
///
/// # Errors
/// [`LoadError`]: wrong number of nodes, or a pair without a route.
pub fn count(fabric: &Fabric, demand: &Demand) -> Result<Load, LoadError> {
    count_by(fabric, demand, true)
}

/// As [`count`], without the short cut by symmetry: every destination is counted.
///
/// # Errors
/// As [`count`].
pub fn count_every_destination(fabric: &Fabric, demand: &Demand) -> Result<Load, LoadError> {
    count_by(fabric, demand, false)
}

fn count_by(fabric: &Fabric, demand: &Demand, by_symmetry: bool) -> Result<Load, LoadError> {
    if demand.nodes != fabric.nodes() {
        return Err(LoadError::Nodes { demand: demand.nodes, fabric: fabric.nodes() });
    }
    let injections = Injections::new(fabric, demand);
    let mut counts = match &fabric.shape {
        Shape::Cube(cube) if by_symmetry && cube.is_full() && demand.flows.is_empty() => {
            let mut one = Counter::new(fabric);
            one.push_toward(&injections, 0)?;
            spread(fabric, cube, &one.counts)
        }
        _ => count_all(fabric, &injections)?,
    };
    let (sent, received) = demand.per_node();
    for node in fabric.network.node_iter().filter(|&node| fabric.attachment.has_home(node)) {
        let n = node.0 as usize;
        counts.channel[fabric.network.port(node.vertex(), 0).0 as usize] += sent[n];
        counts.channel[fabric.attachment.eject[n].0 as usize] += received[n];
        counts.vertex[n] += sent[n];
    }
    Ok(Load { vertex: counts.vertex, channel: counts.channel, sent, received })
}

fn count_all(fabric: &Fabric, injections: &Injections) -> Result<Counts, LoadError> {
    let groups: Vec<usize> = (0..fabric.attachment.homes.len()).collect();
    let round = CHUNK * rayon::current_num_threads().max(1) * 4;
    let mut total = Counts::new(fabric);
    for batch in groups.chunks(round) {
        let parts: Vec<Result<Counts, LoadError>> = batch
            .par_chunks(CHUNK)
            .map(|chunk| {
                let mut counter = Counter::new(fabric);
                chunk.iter().try_for_each(|&group| counter.push_toward(injections, group))?;
                Ok(counter.counts)
            })
            .collect();
        for part in parts {
            total.add(&part?);
        }
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
}

/// The demand, arranged by the destination's home.
struct Injections<'a> {
    fabric: &'a Fabric,
    all_pairs: f64,
    /// Explicit flows by home: (group, source, amount, destination).
    flows: Vec<(u32, Node, f64, Node)>,
    /// Flows of group g are `flows[start[g]..start[g + 1]]`.
    start: Vec<usize>,
}

impl<'a> Injections<'a> {
    fn new(fabric: &'a Fabric, demand: &Demand) -> Injections<'a> {
        let group = |node: Node| fabric.attachment.group[node.0 as usize];
        let between = demand.flows.iter().filter(|flow| flow.source != flow.destination);
        let mut flows: Vec<_> = between.map(|f| (group(f.destination), f.source, f.amount, f.destination)).collect();
        flows.sort_by_key(|&(group, source, _, destination)| (group, source, destination));
        let start = (0..=fabric.attachment.homes.len() as u32).map(|g| flows.partition_point(|f| f.0 < g)).collect();
        Injections { fabric, all_pairs: demand.all_pairs, flows, start }
    }

    /// Calls `inject(home of the source, amount, a source, a destination)` for all that goes to `group`.
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
                inject(home, self.all_pairs * pairs as f64, sources[0], members[0]);
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
    /// States with flow, by distance still to go.
    at_distance: Vec<Vec<State>>,
    hops: Vec<Hop>,
}

impl<'a> Counter<'a> {
    fn new(fabric: &'a Fabric) -> Counter<'a> {
        let states = fabric.network.vertices() * usize::from(fabric.routing.phases());
        Counter {
            fabric,
            counts: Counts::new(fabric),
            waiting: vec![0.0; states],
            at_distance: Vec::new(),
            hops: Vec::new(),
        }
    }

    fn push_toward(&mut self, injections: &Injections, group: usize) -> Result<(), LoadError> {
        let toward = self.fabric.routing.toward(&self.fabric.network, &self.fabric.attachment, group);
        let mut lost = None;
        injections.each(group, |home, amount, source, destination| {
            let state = State { at: home, phase: 0 };
            match toward.distance(state) {
                _ if amount == 0.0 => {}
                Some(distance) => self.wait(state, distance, amount),
                None => lost = lost.or(Some(LoadError::NoRoute { sender: source, receiver: destination })),
            }
        });
        self.drain(&toward);
        lost.map_or(Ok(()), Err)
    }

    fn wait(&mut self, state: State, distance: u32, amount: f64) {
        let phases = usize::from(self.fabric.routing.phases());
        let waiting = &mut self.waiting[state.at.0 as usize * phases + usize::from(state.phase)];
        if *waiting == 0.0 {
            if self.at_distance.len() <= distance as usize {
                self.at_distance.resize_with(distance as usize + 1, Vec::new);
            }
            self.at_distance[distance as usize].push(state);
        }
        *waiting += amount;
    }

    fn drain(&mut self, toward: &Toward) {
        let phases = usize::from(self.fabric.routing.phases());
        let mut hops = std::mem::take(&mut self.hops);
        for distance in (0..self.at_distance.len()).rev() {
            let states = std::mem::take(&mut self.at_distance[distance]);
            for &state in &states {
                let flow = std::mem::take(&mut self.waiting[state.at.0 as usize * phases + usize::from(state.phase)]);
                self.counts.vertex[state.at.0 as usize] += flow;
                hops.clear();
                toward.hops(state, &mut hops);
                for hop in &hops {
                    self.counts.channel[hop.channel.0 as usize] += flow * hop.share;
                    let next = State { at: self.fabric.network.to(hop.channel), phase: hop.phase };
                    self.wait(next, distance as u32 - 1, flow * hop.share);
                }
            }
            self.at_distance[distance] = states;
            self.at_distance[distance].clear();
        }
        self.hops = hops;
    }
}

/// Spreads the counts of one destination over all translations of a full cube: each resource carries the sum over its
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
    /// Load of one resource; of a part of a host, what the node sends and receives (the greater of the two where each
    /// direction has the rate for itself).
    pub fn of(&self, fabric: &Fabric, resource: Resource) -> f64 {
        let half = |role| fabric.spec.resources.get(&role).is_some_and(|spec| spec.half_duplex);
        match resource {
            Resource::Vertex(v) => self.vertex[v.0 as usize],
            Resource::Channel(c) => {
                let own = self.channel[c.0 as usize];
                let back = half(fabric.network.role(resource)).then(|| fabric.network.reverse(c)).flatten();
                own + back.map_or(0.0, |back| self.channel[back.0 as usize])
            }
            Resource::Host(node, role) => {
                let (sent, received) = (self.sent[node.0 as usize], self.received[node.0 as usize]);
                if half(role) { sent + received } else { sent.max(received) }
            }
        }
    }
}
