//! How packets find their way.
//!
//! A routing answers one question: where may a packet at a [`State`] go next on its [`Trip`]? A deterministic routing
//! gives one [`Hop`], a spreading one several with their shares. The load count asks per destination
//! ([`Routing::toward`], with the hops still to go, so that flows can be pushed farthest first). The simulator asks per
//! packet ([`crate::Fabric::ways`]).
//!
//! Structured topologies answer by formula. Any other graph uses distances to the destination's home, computed once per
//! home and kept ([`paths::ShortestPaths`]). A complete folded tree needs no table ([`tree::Tree`]).

pub mod choice;
pub mod cube;
pub mod dragonfly;
pub mod forwarding;
pub mod lanes;
pub mod paths;
pub mod tree;
pub mod valiant;

use crate::attachment::Attachment;
use crate::error::{BuildError, invalid};
use crate::network::{Channel, Network, Node, Vertex};
use crate::terms::RoutingSpec;
use crate::topology::{Cube, Dragonfly, Shape};
pub use choice::Paths;
use cube::CubeToward;
use dragonfly::{DragonflyToward, Goal};
use forwarding::{Forwarding, View};
use lanes::Lanes;
use paths::{Row, ShortestPaths};
use std::collections::BTreeMap;
use valiant::{Legs, Valiant};

/// Where a packet is and what it remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State {
    /// The device.
    pub at: Vertex,
    /// What the packet remembers of its path (up or down; which leg; which port it came by). A packet starts with 0.
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
    /// Share of the flow; the shares of all paths on sum to 1.
    pub share: f64,
}

/// Paths on that differ in their channels alone.
#[derive(Clone, Copy, Debug)]
pub struct Alike<'a> {
    /// The channels, by number of the path.
    pub channels: &'a [Channel],
    /// As in each [`Hop`].
    pub vc: u8,
    /// As in each [`Hop`].
    pub phase: u8,
}

impl Alike<'_> {
    /// The path on number `nth`.
    #[inline]
    pub fn hop(&self, nth: usize) -> Option<Hop> {
        let share = 1.0 / self.channels.len() as f64;
        self.channels.get(nth).map(|&channel| Hop { channel, vc: self.vc, phase: self.phase, share })
    }
}

/// A packet's journey.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Trip {
    /// Where it starts.
    pub source: Node,
    /// Where it ends.
    pub destination: Node,
    /// Intermediate group of a Valiant route, in a single group the intermediate router ([`Routing::choose_via`]);
    /// without one the route is minimal.
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
    Cube(Cube),
    /// Minimal or Valiant on a dragonfly.
    Dragonfly {
        /// The layout.
        shape: Dragonfly,
        /// By a random intermediate group.
        valiant: bool,
    },
    /// Shortest paths, free or up*/down*.
    Paths(ShortestPaths),
    /// Shortest paths by a random other region.
    Valiant(Valiant),
    /// Explicit routes; pairs without one take all shortest paths.
    Source {
        /// For the other pairs.
        paths: ShortestPaths,
        /// Channels from the source's to the destination's vertex.
        routes: BTreeMap<(Node, Node), Vec<Channel>>,
    },
    /// Forwarding tables as the switches have them.
    Tables(Forwarding),
}

impl Routing {
    /// The routing that `spec` names, prepared for a network.
    ///
    /// # Errors
    /// The routing is not made for this topology.
    pub fn new(spec: RoutingSpec, network: &Network, shape: &Shape, at: &Attachment) -> Result<Routing, BuildError> {
        use RoutingSpec::{DimensionOrder, DragonflyMinimal, DragonflyValiant};
        Ok(match (spec, shape) {
            (DimensionOrder, Shape::Cube(cube)) => Routing::Cube(cube.clone()),
            (DimensionOrder, _) if !network.order.is_empty() => Routing::Paths(ShortestPaths::ordered(network, at)),
            (DimensionOrder, _) => return Err(invalid("routing dimension-order is for topologies cube and hyperx")),
            (DragonflyMinimal | DragonflyValiant, Shape::Dragonfly(shape)) => {
                Routing::Dragonfly { shape: shape.clone(), valiant: spec == DragonflyValiant }
            }
            (DragonflyMinimal | DragonflyValiant, _) => {
                return Err(invalid("routings dragonfly-minimal and dragonfly-valiant are for topology dragonfly"));
            }
            (RoutingSpec::UpDown, _) if !all_both_ways(network) => {
                return Err(invalid("routing up-down needs every link between devices both ways"));
            }
            (RoutingSpec::UpDown, _) => Routing::Paths(ShortestPaths::up_down(network, at, shape)),
            (RoutingSpec::ShortestEcmp, _) => Routing::Paths(ShortestPaths::shortest(network, at, false)),
            (RoutingSpec::ShortestLanes, _) => Routing::Paths(ShortestPaths::in_lanes(network, at)),
            (RoutingSpec::ShortestSingle, _) => Routing::Paths(ShortestPaths::shortest(network, at, true)),
            (RoutingSpec::ShortestValiant, _) if network.region.is_empty() => {
                let what = "routing shortest-valiant is for topologies dragonfly-plus, slim-fly and hyperx (a dragonfly has \
                    dragonfly-valiant)";
                return Err(invalid(what));
            }
            (RoutingSpec::ShortestValiant, _) => Routing::Valiant(Valiant::new(network, at)),
            (RoutingSpec::Source, _) => {
                Routing::Source { paths: ShortestPaths::shortest(network, at, false), routes: BTreeMap::new() }
            }
        })
    }

    /// Virtual channels that the routing uses on each channel.
    pub fn virtual_channels(&self) -> u8 {
        match self {
            Routing::Cube(cube) => 1 + u8::from(!cube.b_link),
            Routing::Dragonfly { valiant, .. } => 2 + u8::from(*valiant),
            Routing::Tables(tables) => tables.lanes().map_or(1, Lanes::count),
            Routing::Paths(paths) => paths.lanes().max(1),
            Routing::Valiant(valiant) => valiant.paths.lanes().max(1),
            Routing::Source { .. } => 1,
        }
    }

    /// Number of phases that a packet can be in.
    pub fn phases(&self) -> u8 {
        match self {
            Routing::Cube(_) | Routing::Source { .. } | Routing::Tables(_) => 1,
            Routing::Dragonfly { valiant, .. } => 1 + u8::from(*valiant),
            Routing::Paths(paths) => paths.phases(),
            Routing::Valiant(valiant) => valiant.paths.phases(),
        }
    }

    /// Whether packets go by a random intermediate group.
    pub fn is_valiant(&self) -> bool {
        self.groups() > 0
    }

    /// Explicit routes, if the fabric has them.
    pub fn explicit(&self) -> Option<&BTreeMap<(Node, Node), Vec<Channel>>> {
        match self {
            Routing::Source { routes, .. } => Some(routes),
            _ => None,
        }
    }

    /// The intermediate group for a packet, which `random` chooses among those of neither end. `None` where the route
    /// is minimal (other routings, both ends in one group, no third group).
    pub fn choose_via(&self, attachment: &Attachment, source: Node, destination: Node, random: u64) -> Option<u32> {
        let (from, to) = self.group_ends(attachment, source, destination);
        let (low, high) = (from.min(to), from.max(to));
        if low == high || self.groups() == 0 {
            return None;
        }
        let nth = (random % u64::from(self.groups() - 2)) as u32;
        let above_low = nth + u32::from(nth >= low);
        Some(above_low + u32::from(above_low >= high))
    }

    /// The (minimal) path towards the nodes of home `group` from every state; explicit routes are left out.
    pub fn toward<'a>(&'a self, network: &'a Network, attachment: &Attachment, group: usize) -> Toward<'a> {
        let target = attachment.homes[group];
        match self {
            Routing::Cube(cube) => Toward::Cube(CubeToward::new(cube, network, target)),
            Routing::Dragonfly { shape, .. } => {
                Toward::Dragonfly(DragonflyToward::new(shape, network, Goal::Router(target)))
            }
            Routing::Paths(paths) | Routing::Source { paths, .. } => {
                Toward::Paths { paths, network, row: paths.row(network, attachment, group, false) }
            }
            Routing::Valiant(valiant) => Toward::Legs(valiant.legs(network, attachment, group, None, false)),
            // Tables differ among the nodes of a home: what asks per home has asked them before.
            Routing::Tables(_) => unreachable!("forwarding tables lead to nodes, not to homes"),
        }
    }

    /// Groups that a route may go by under Valiant routing (in a single group its switches); 0 where no route can.
    pub fn groups(&self) -> u32 {
        let regions = match self {
            Routing::Dragonfly { shape, valiant: true } => shape.regions(),
            Routing::Valiant(valiant) => valiant.regions(),
            _ => 0,
        };
        if regions > 2 { regions } else { 0 }
    }

    /// The group of a device, where there are any.
    pub fn group_of(&self, home: Vertex) -> u32 {
        match self {
            Routing::Dragonfly { shape, .. } => shape.region(home),
            Routing::Valiant(valiant) => valiant.region(home),
            _ => 0,
        }
    }

    fn group_ends(&self, attachment: &Attachment, source: Node, destination: Node) -> (u32, u32) {
        let group = |node: Node| self.group_of(attachment.home[node.0 as usize]);
        (group(source), group(destination))
    }

    /// Whether packets between two nodes may go by group `via`.
    pub fn is_via(&self, attachment: &Attachment, source: Node, destination: Node, via: u32) -> bool {
        let (from, to) = self.group_ends(attachment, source, destination);
        self.is_valiant() && from != to && via != from && via != to
    }

    /// The path by group `via` towards the nodes of home `group`, where the routing has such paths.
    pub fn toward_via<'a>(
        &'a self,
        network: &'a Network,
        attachment: &Attachment,
        group: usize,
        via: u32,
    ) -> Option<Toward<'a>> {
        match self {
            Routing::Dragonfly { shape, valiant: true } => {
                let goal = Goal::Via(via, attachment.homes[group]);
                Some(Toward::Dragonfly(DragonflyToward::new(shape, network, goal)))
            }
            Routing::Valiant(valiant) => Some(Toward::Legs(valiant.legs(network, attachment, group, Some(via), false))),
            _ => None,
        }
    }

    /// What leads a packet on between its injection and its ejection (see [`crate::Fabric::ways`]).
    pub(crate) fn guide<'a>(&'a self, network: &'a Network, at: &Attachment, trip: Trip) -> Guide<'a> {
        let group = at.group[trip.destination.0 as usize] as usize;
        let kept = |paths: &'a ShortestPaths| {
            Guide::Toward(Toward::Paths { paths, network, row: paths.row(network, at, group, true) })
        };
        match (self, trip.via) {
            (Routing::Dragonfly { shape, valiant: true }, Some(via)) => {
                let goal = Goal::Via(via, at.homes[group]);
                Guide::Toward(Toward::Dragonfly(DragonflyToward::new(shape, network, goal)))
            }
            (Routing::Paths(paths), _) => kept(paths),
            (Routing::Valiant(valiant), via) => {
                Guide::Toward(Toward::Legs(valiant.legs(network, at, group, via, true)))
            }
            (Routing::Source { paths, routes }, _) => match routes.get(&(trip.source, trip.destination)) {
                Some(route) => Guide::Explicit { route, network },
                None => kept(paths),
            },
            (Routing::Tables(tables), _) => Guide::Table(tables.trip(network, trip.source, trip.destination)),
            _ => Guide::Toward(self.toward(network, at, group)),
        }
    }
}

/// What leads one packet on.
#[derive(Debug)]
pub(crate) enum Guide<'a> {
    /// The routing.
    Toward(Toward<'a>),
    /// A route of its own.
    Explicit {
        /// Its channels in order.
        route: &'a [Channel],
        /// Their network.
        network: &'a Network,
    },
    /// The switches' tables.
    Table(View<'a>),
}

impl Guide<'_> {
    /// Whether a packet at its destination's home goes on: one under way to another region only passes.
    pub fn passes(&self, state: State) -> bool {
        matches!(self, Guide::Toward(Toward::Legs(legs)) if legs.is_on_first(state))
    }

    /// How many paths on there are, where they are known one by one: a dragonfly has hundreds between two groups.
    pub fn count(&self, state: State) -> Option<u32> {
        match self {
            Guide::Toward(Toward::Dragonfly(toward)) => Some(toward.count(state)),
            _ => Some(self.alike(state)?.channels.len() as u32),
        }
    }

    /// All of these, where only their channels differ.
    pub fn alike(&self, state: State) -> Option<Alike<'_>> {
        let Guide::Toward(Toward::Paths { paths, row: Row::Tree(_, group), .. }) = self else { return None };
        paths.alike(*group, state)
    }

    /// The path on number `nth` of those.
    pub fn nth(&self, state: State, nth: u32) -> Option<Hop> {
        match self {
            Guide::Toward(Toward::Dragonfly(toward)) => toward.nth(state, nth),
            _ => self.alike(state)?.hop(nth as usize),
        }
    }

    /// Appends the paths on from `state`; none at the home itself, but by tables, which know its port too.
    pub fn hops(&self, state: State, hops: &mut Vec<Hop>) {
        match self {
            Guide::Toward(toward) => toward.hops(state, hops),
            Guide::Table(view) => view.hops(state, hops),
            Guide::Explicit { route, network } => {
                let next = route.iter().find(|&&channel| network.from(channel) == state.at);
                hops.extend(next.map(|&channel| Hop { channel, vc: 0, phase: 0, share: 1.0 }));
            }
        }
    }
}

fn all_both_ways(network: &Network) -> bool {
    let mut channels = (0..network.channels() as u32).map(Channel);
    channels.all(|c| {
        let (from, to) = (network.from(c), network.to(c));
        network.is_node(from) || network.is_node(to) || network.out(to).any(|back| network.to(back) == from)
    })
}

/// A routing seen from one destination's home.
#[derive(Debug)]
pub enum Toward<'a> {
    /// By formula on a cube.
    Cube(CubeToward<'a>),
    /// By formula on a dragonfly.
    Dragonfly(DragonflyToward<'a>),
    /// By distances.
    Paths {
        /// The routing.
        paths: &'a ShortestPaths,
        /// Its network.
        network: &'a Network,
        /// Distances to the home.
        row: Row<'a>,
    },
    /// By distances, by another region.
    Legs(Legs<'a>),
}

impl Toward<'_> {
    /// A number that falls with every hop (for most routings the hops to go), 0 at the home. `None` if no path exists.
    pub fn rank(&self, state: State) -> Option<u32> {
        match self {
            Toward::Cube(cube) => Some(cube.distance(state.at)),
            Toward::Dragonfly(dragonfly) => Some(dragonfly.rank(state)),
            Toward::Paths { paths, network, row } => paths.distance(network, row, state),
            Toward::Legs(legs) => legs.rank(state),
        }
    }

    /// Rank after a hop from a state of rank `rank` to `next`.
    pub fn rank_after(&self, rank: u32, next: State) -> u32 {
        match self {
            Toward::Dragonfly(dragonfly) => dragonfly.rank(next),
            Toward::Legs(legs) => legs.rank(next).unwrap_or(0),
            _ => rank - 1,
        }
    }

    /// Appends the paths on from `state`; none at the home itself.
    pub fn hops(&self, state: State, hops: &mut Vec<Hop>) {
        match self {
            Toward::Cube(cube) => cube.hops(state, hops),
            Toward::Dragonfly(dragonfly) => dragonfly.hops(state, hops),
            Toward::Paths { paths, network, row } => paths.hops(network, row, state, hops),
            Toward::Legs(legs) => legs.hops(state, hops),
        }
    }
}
