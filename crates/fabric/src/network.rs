//! A fabric built for a number of nodes: vertices and directed channels, each possibly a resource with a capacity.
//!
//! Vertices are devices (node, bus, router, ring stop, switch), channels are directed. A resource is a vertex or a
//! channel whose class has a rate; a route is the sequence of channels and the vertices between them.

use crate::spec::Role;

/// A vertex: 0..nodes are the nodes (end points), the rest devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vertex(pub u32);

/// A directed channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel(pub u32);

/// A node (end point); also vertex `Vertex(node.0)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u32);

/// A vertex or a channel, where a capacity can sit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// A bus, crossbar or memory: every packet through it counts once.
    Vertex(Vertex),
    /// One direction of a link.
    Channel(Channel),
}

/// The graph. Channels leave a vertex in port order; parallel channels are separate.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Number of nodes (end points) built; may exceed the number asked for (a padded cube).
    pub nodes: u32,
    /// Role of each vertex; nodes have their host's role.
    pub vertex_role: Vec<Role>,
    /// Source of each channel.
    pub from: Vec<Vertex>,
    /// Destination of each channel.
    pub to: Vec<Vertex>,
    /// Role of each channel.
    pub channel_role: Vec<Role>,
    /// CSR offsets: channels leaving vertex v are `out[out_start[v]..out_start[v + 1]]`.
    pub out_start: Vec<u32>,
    /// Channels in order of their source.
    pub out: Vec<Channel>,
}
