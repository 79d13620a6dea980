//! A fabric built for a number of nodes: vertices and directed channels, each possibly a resource with a capacity.
//!
//! Vertices are devices (node, bus, router, ring stop, switch); channels are directed. A resource is a vertex, a
//! channel or a part of a node's host whose role has a rate. A route is a sequence of channels and the vertices between
//! them. Channels are numbered by their source, so those leaving a vertex lie together, in port order.

use crate::terms::Role;
use crate::units::{Rate, Time};
use std::collections::BTreeMap;

/// A vertex: 0..nodes are the nodes (end points), the rest devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vertex(pub u32);

/// A directed channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel(pub u32);

/// A node (end point); also vertex `Vertex(node.0)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u32);

impl Node {
    /// The node's vertex.
    pub fn vertex(self) -> Vertex {
        Vertex(self.0)
    }
}

/// Where a capacity can sit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// A bus, crossbar or memory: every packet through it counts once.
    Vertex(Vertex),
    /// One direction of a link.
    Channel(Channel),
    /// A part of a node's host ([`Network::host_roles`]): all that the node sends and receives crosses it, except that
    /// only what it sends crosses its engine.
    Host(Node, Role),
}

/// What an imported graph states about one channel in place of its role's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Override {
    /// Gross rate of this direction.
    pub rate: Option<Rate>,
    /// Latency of the head.
    pub latency: Option<Time>,
}

/// The graph.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Number of nodes (end points) built; may exceed the number asked for (a padded cube).
    pub nodes: u32,
    /// Role of each vertex. Nodes have [`Role::Nic`]; their host's capacities sit on [`Resource::Host`].
    pub vertex_role: Vec<Role>,
    /// Source of each channel; never decreases.
    pub from: Vec<Vertex>,
    /// Destination of each channel.
    pub to: Vec<Vertex>,
    /// Role of each channel.
    pub channel_role: Vec<Role>,
    /// Channels leaving vertex `v` are `out_start[v]..out_start[v + 1]`.
    pub out_start: Vec<u32>,
    /// Channels with values of their own (imported graphs).
    pub overrides: BTreeMap<Channel, Override>,
    /// Rank of each channel where packets may cross channels in ascending rank only (dimension order); empty where the
    /// topology has no such order.
    pub order: Vec<u8>,
    /// Region of each vertex, where packets may go by a random one (Valiant routing): a group, or a switch by itself.
    /// Nodes have [`NO_REGION`]. Empty where the topology has no regions.
    pub region: Vec<u32>,
    /// Roles that sit in every node's host and have a rate in the fabric's description.
    pub host_roles: Vec<Role>,
}

/// In no region ([`Network::region`]).
pub const NO_REGION: u32 = u32::MAX;

impl Network {
    /// Puts each device into the region that `region` gives it, counted from 0.
    pub fn divide(&mut self, region: impl Fn(Vertex) -> u32) {
        let all = (0..self.vertices() as u32).map(Vertex);
        self.region = all.map(|vertex| if self.is_node(vertex) { NO_REGION } else { region(vertex) }).collect();
    }

    /// Number of vertices, nodes included.
    pub fn vertices(&self) -> usize {
        self.vertex_role.len()
    }

    /// Number of directed channels.
    pub fn channels(&self) -> usize {
        self.to.len()
    }

    /// All nodes.
    pub fn node_iter(&self) -> impl Iterator<Item = Node> + use<> {
        (0..self.nodes).map(Node)
    }

    /// All that a load can lie on: what is between the nodes, channels, then what each node's host has.
    pub fn resources(&self) -> impl Iterator<Item = Resource> + '_ {
        let vertices = (self.nodes..self.vertices() as u32).map(|v| Resource::Vertex(Vertex(v)));
        let channels = (0..self.channels() as u32).map(|c| Resource::Channel(Channel(c)));
        let hosts = self.node_iter().flat_map(|n| self.host_roles.iter().map(move |&role| Resource::Host(n, role)));
        vertices.chain(channels).chain(hosts)
    }

    /// The parts of a node's host that its messages cross, in order: those it sends, or those it receives (no engine).
    pub fn host_parts(&self, node: Node, is_sender: bool) -> impl Iterator<Item = Resource> + '_ {
        let last = self.host_roles.len().saturating_sub(1);
        let roles = (0..self.host_roles.len()).map(move |at| self.host_roles[if is_sender { at } else { last - at }]);
        roles.filter(move |&role| is_sender || role != Role::Engine).map(move |role| Resource::Host(node, role))
    }

    /// Channels leaving `vertex`, in port order.
    pub fn out(&self, vertex: Vertex) -> impl ExactSizeIterator<Item = Channel> + use<> {
        let v = vertex.0 as usize;
        (self.out_start[v]..self.out_start[v + 1]).map(Channel)
    }

    /// The channel that leaves `vertex` by `port` (0 is the first).
    pub fn port(&self, vertex: Vertex, port: u32) -> Channel {
        let channel = self.out_start[vertex.0 as usize] + port;
        debug_assert!(channel < self.out_start[vertex.0 as usize + 1], "{vertex:?} has no port {port}");
        Channel(channel)
    }

    /// Source of a channel.
    pub fn from(&self, channel: Channel) -> Vertex {
        self.from[channel.0 as usize]
    }

    /// Destination of a channel.
    pub fn to(&self, channel: Channel) -> Vertex {
        self.to[channel.0 as usize]
    }

    /// Whether a vertex is an end point.
    pub fn is_node(&self, vertex: Vertex) -> bool {
        vertex.0 < self.nodes
    }

    /// Role of a resource.
    pub fn role(&self, resource: Resource) -> Role {
        match resource {
            Resource::Vertex(v) => self.vertex_role[v.0 as usize],
            Resource::Channel(c) => self.channel_role[c.0 as usize],
            Resource::Host(_, role) => role,
        }
    }

    /// Position of a channel among the parallel channels from the same source to the same destination, and their number.
    pub fn parallel(&self, channel: Channel) -> (usize, usize) {
        let to = self.to(channel);
        let same = self.out(self.from(channel)).filter(|&c| self.to(c) == to);
        same.fold((0, 0), |(rank, count), c| (rank + usize::from(c < channel), count + 1))
    }

    /// The other direction of a channel's link, if the link has one: same rank among the parallel channels.
    pub fn reverse(&self, channel: Channel) -> Option<Channel> {
        let (rank, _) = self.parallel(channel);
        self.out(self.to(channel)).filter(|&c| self.to(c) == self.from(channel)).nth(rank)
    }
}

/// The channels of a network by the vertex at which they arrive.
#[derive(Clone, Debug)]
pub struct Incoming {
    channels: Vec<Channel>,
    /// Those to vertex `v` are `start[v]..start[v + 1]`.
    start: Vec<u32>,
}

impl Incoming {
    /// The index of a network.
    pub fn of(network: &Network) -> Incoming {
        let mut channels: Vec<Channel> = (0..network.channels() as u32).map(Channel).collect();
        channels.sort_by_key(|&channel| network.to(channel));
        let first = |v: u32| channels.partition_point(|&channel| network.to(channel).0 < v) as u32;
        let start = (0..=network.vertices() as u32).map(first).collect();
        Incoming { channels, start }
    }

    /// The channels that arrive at a vertex.
    pub fn of_vertex(&self, vertex: Vertex) -> &[Channel] {
        let v = vertex.0 as usize;
        &self.channels[self.start[v] as usize..self.start[v + 1] as usize]
    }
}

/// Collects vertices and channels in any order and makes a [`Network`] of them.
#[derive(Debug, Default)]
pub struct Builder {
    nodes: u32,
    vertex_role: Vec<Role>,
    channels: Vec<(Vertex, Vertex, Role)>,
}

impl Builder {
    /// Starts with `nodes` nodes.
    pub fn new(nodes: u32) -> Builder {
        Builder { nodes, vertex_role: vec![Role::Nic; nodes as usize], channels: Vec::new() }
    }

    /// Adds `count` vertices of a role; returns the first.
    pub fn vertices(&mut self, count: u32, role: Role) -> Vertex {
        let first = Vertex(self.vertex_role.len() as u32);
        self.vertex_role.resize(self.vertex_role.len() + count as usize, role);
        first
    }

    /// Adds one direction. Order of calls is port order.
    pub fn channel(&mut self, from: Vertex, to: Vertex, role: Role) {
        self.channels.push((from, to, role));
    }

    /// Adds both directions of a link.
    pub fn link(&mut self, a: Vertex, b: Vertex, role: Role) {
        self.channel(a, b, role);
        self.channel(b, a, role);
    }

    /// Sorts the channels by source (port order kept) and builds the network.
    pub fn build(self) -> Network {
        self.build_ordered().0
    }

    /// As [`Builder::build`], and the place of each channel in order of the calls.
    pub fn build_ordered(self) -> (Network, Vec<Channel>) {
        let mut out_start = vec![0u32; self.vertex_role.len() + 1];
        for (from, ..) in &self.channels {
            out_start[from.0 as usize + 1] += 1;
        }
        for v in 0..self.vertex_role.len() {
            out_start[v + 1] += out_start[v];
        }
        let count = self.channels.len();
        let mut next = out_start.clone();
        let mut network = Network {
            nodes: self.nodes,
            vertex_role: self.vertex_role,
            from: vec![Vertex(0); count],
            to: vec![Vertex(0); count],
            channel_role: vec![Role::Link; count],
            out_start,
            ..Network::default()
        };
        let mut places = Vec::with_capacity(count);
        for (from, to, role) in self.channels {
            let place = next[from.0 as usize];
            next[from.0 as usize] += 1;
            network.from[place as usize] = from;
            network.to[place as usize] = to;
            network.channel_role[place as usize] = role;
            places.push(Channel(place));
        }
        (network, places)
    }
}
