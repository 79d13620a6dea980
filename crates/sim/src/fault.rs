//! Links and switches that fail, come back or degrade at given times.
//!
//! The simulation routes packets around what is down where the routing offers another path ([`crate::net`]). The run
//! lists the pairs that can no longer reach each other.

use hotlink_fabric::network::{Channel, Network, Resource, Vertex};
use hotlink_fabric::units::Time;
use std::fmt;

/// What becomes of a resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Condition {
    /// It carries nothing, and loses what is on the wire.
    Down,
    /// It works as described.
    Up,
    /// It works at this share of its rate, above 0 and below 1.
    Degraded(f64),
}

/// One change at one time. The last change of a link holds, whether it named the link or a switch at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// When.
    pub at: Time,
    /// A link (both directions change) or a switch (all its links change).
    pub resource: Resource,
    /// What becomes of it.
    pub condition: Condition,
}

impl Fault {
    /// The channels that change.
    pub fn channels(&self, network: &Network) -> Vec<Channel> {
        match self.resource {
            Resource::Channel(channel) => std::iter::once(channel).chain(network.reverse(channel)).collect(),
            Resource::Vertex(vertex) => channels_of(network, vertex),
            Resource::Host(node, _) => channels_of(network, node.vertex()),
        }
    }
}

fn channels_of(network: &Network, vertex: Vertex) -> Vec<Channel> {
    let into = (0..network.channels() as u32).map(Channel).filter(|&c| network.to(c) == vertex);
    network.out(vertex).chain(into).collect()
}

/// What failures took for good: messages that never arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// How many.
    pub messages: u64,
    /// Pairs of nodes that were cut off, in order.
    pub unreachable: Vec<(u32, u32)>,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} messages are lost for good", self.messages)?;
        if let Some((from, to)) = self.unreachable.first() {
            write!(f, ", such as node {from} to {to}")?;
        }
        f.write_str(": what fails must come back, or leave another path")
    }
}
