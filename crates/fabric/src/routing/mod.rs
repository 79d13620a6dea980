//! How packets find their way.
//!
//! A routing answers one question: where may a packet at a [`State`] go next on its [`Trip`]? A deterministic routing
//! gives one [`Hop`], a spreading one several with their shares. The load count asks per destination
//! ([`Routing::toward`], with the hops still to go, so that flows can be pushed farthest first); the simulator asks
//! per packet ([`crate::Fabric::hops`]). Structured topologies answer by formula, any other graph from distances to the
//! destination's home, worked out once per home and kept ([`paths::Paths`]).

pub mod cube;

use crate::built::{Attachment, BuildError};
use crate::network::{Channel, Network, Node, Vertex};
use crate::spec::RoutingSpec;
use crate::topology::{Shape, invalid};
use cube::CubeToward;

/// Where a packet is and what it remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State {
    /// The device.
    pub at: Vertex,
    /// What the packet remembers of its way (up or down; which leg). A packet starts with 0.
    pub phase: u8,
}

impl State {
    /// A packet about to start from `node`.
    pub fn start(node: Node) -> State {
        State { at: node.vertex(), phase: 0 }
    }
}

/// One way on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hop {
    /// The channel taken.
    pub channel: Channel,
    /// Its virtual channel (below [`Routing::virtual_channels`]).
    pub vc: u8,
    /// The packet's phase after the hop.
    pub phase: u8,
    /// Share of the flow; the shares of all ways on sum to 1.
    pub share: f64,
}

/// A packet's journey.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Trip {
    /// Where it starts.
    pub source: Node,
    /// Where it ends.
    pub destination: Node,
    /// Intermediate group of a Valiant route (see [`Routing::choose_via`]).
    pub via: Option<u32>,
}

impl Trip {
    /// A direct journey.
    pub fn new(source: Node, destination: Node) -> Trip {
        Trip { source, destination, via: None }
    }
}

/// A fabric's routing.
#[derive(Debug)]
pub enum Routing {
    /// Dimension order on a cube.
    Cube(crate::topology::Cube),
}

impl Routing {
    /// The routing that `spec` names, prepared for a network.
    ///
    /// # Errors
    /// The routing is not made for this topology.
    pub fn new(spec: RoutingSpec, _network: &Network, shape: &Shape, _at: &Attachment) -> Result<Routing, BuildError> {
        match (spec, shape) {
            (RoutingSpec::DimensionOrder, Shape::Cube(cube)) => Ok(Routing::Cube(cube.clone())),
            (RoutingSpec::DimensionOrder, _) => Err(invalid("routing dimension-order is for topology cube")),
            _ => Err(invalid("not built yet")),
        }
    }

    /// Virtual channels that the routing uses on each channel.
    pub fn virtual_channels(&self) -> u8 {
        match self {
            Routing::Cube(cube) => {
                if cube.b_link {
                    1
                } else {
                    2
                }
            }
        }
    }

    /// Number of phases that a packet can be in.
    pub fn phases(&self) -> u8 {
        match self {
            Routing::Cube(_) => 1,
        }
    }

    /// The way towards the nodes of home `group` for every state.
    pub fn toward<'a>(&'a self, network: &'a Network, attachment: &'a Attachment, group: usize) -> Toward<'a> {
        let target = attachment.homes[group];
        match self {
            Routing::Cube(cube) => Toward::Cube(CubeToward::new(cube, network, target)),
        }
    }

    /// Next hops between the injection and the ejection of a packet (see [`crate::Fabric::hops`]).
    pub(crate) fn hops(&self, network: &Network, at: &Attachment, state: State, trip: Trip, hops: &mut Vec<Hop>) {
        let group = at.group[trip.destination.0 as usize] as usize;
        self.toward(network, at, group).hops(state, hops);
    }
}

/// A routing seen from one destination's home.
#[derive(Debug)]
pub enum Toward<'a> {
    /// By formula on a cube.
    Cube(CubeToward<'a>),
}

impl Toward<'_> {
    /// Hops from `state` to the home; `None` if there is no way. Every hop lessens it by one.
    pub fn distance(&self, state: State) -> Option<u32> {
        match self {
            Toward::Cube(cube) => Some(cube.distance(state.at)),
        }
    }

    /// Appends the ways on from `state`; none at the home itself.
    pub fn hops(&self, state: State, hops: &mut Vec<Hop>) {
        match self {
            Toward::Cube(cube) => cube.hops(state, hops),
        }
    }
}
