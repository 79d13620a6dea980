//! Forwarding tables as switches have them: the port by destination, a byte for each switch and destination.
//!
//! A node may have several addresses (InfiniBand's LIDs under an LMC), each with entries of its own. A sender uses one
//! of them for all its packets to a node: sender i the address i modulo their number.
//!
//! A table may lead nowhere, or in a circle: [`Forwarding::walk`] finds out.

use super::choice::Draw;
use super::lanes::Lanes;
use super::{Hop, Paths, Routing, State, Trip};
use crate::built::Fabric;
use crate::network::{Channel, Network, Node, Vertex};
use std::sync::Arc;

/// The tables of all switches.
#[derive(Clone, Debug)]
pub struct Forwarding {
    /// Index of the next channel among those that leave the switch. The order is all switches for node 0's first
    /// address, then for its next, then for node 1, and so on.
    next: Arc<[u8]>,
    addresses: u32,
    nodes: u32,
    switches: usize,
    lanes: Option<Arc<Lanes>>,
}

impl Forwarding {
    /// No path on.
    pub const NONE: u8 = u8::MAX;

    /// Most channels that may leave a switch.
    pub const MOST_PORTS: usize = Forwarding::NONE as usize;

    /// Tables by `place`, which returns the index of the next channel among those that leave a switch, by destination.
    /// Indices that do not exist count as none.
    pub fn new(network: &Network, mut place: impl FnMut(Node, Vertex) -> Option<u8>) -> Forwarding {
        Forwarding::addressed(network, 1, |node, _, switch| place(node, switch))
    }

    /// The same for nodes with several addresses each, which `place` receives as numbers from 0.
    pub fn addressed(
        network: &Network,
        addresses: u32,
        mut place: impl FnMut(Node, u32, Vertex) -> Option<u8>,
    ) -> Forwarding {
        let addresses = addresses.max(1);
        let switches = network.vertices() - network.nodes as usize;
        let mut next = Vec::with_capacity(switches * network.nodes as usize * addresses as usize);
        for (node, address) in network.node_iter().flat_map(|node| (0..addresses).map(move |address| (node, address))) {
            for v in (network.nodes..network.vertices() as u32).map(Vertex) {
                let known = place(node, address, v).filter(|&place| usize::from(place) < network.out(v).len());
                next.push(known.unwrap_or(Forwarding::NONE));
            }
        }
        Forwarding { next: next.into(), addresses, nodes: network.nodes, switches, lanes: None }
    }

    /// The paths by destination of a fabric without tables, as its switches would hold them. `None` where a packet's way
    /// on depends on more than the switch and the destination, or a switch has too many channels.
    pub fn by_destination(fabric: &Fabric) -> Option<Forwarding> {
        let network = &fabric.network;
        let is_one_way = matches!(&fabric.routing, Routing::Paths(paths) if paths.phases() == 1);
        let mut switches = (network.nodes..network.vertices() as u32).map(Vertex);
        let fits = switches.all(|switch| network.out(switch).len() <= Forwarding::MOST_PORTS);
        if !is_one_way || !fits || fabric.spec.paths != Paths::Destination {
            return None;
        }
        let (mut hops, mut open) = (Vec::new(), None);
        Some(Forwarding::new(network, |node, switch| {
            // All switches of one destination come in a row.
            let (_, ways) = open.take().filter(|(of, _)| *of == node).unwrap_or_else(|| {
                // The sender does not matter.
                (node, fabric.ways(Trip::new(node, node)))
            });
            ways.hops(State { at: switch, phase: 0 }, &mut hops);
            open = Some((node, ways));
            let place = Draw::new(Paths::Destination, node, 0, 0).pick(network, fabric.tables(), &hops)?;
            network.out(switch).position(|channel| channel == hops[place].channel).map(|place| place as u8)
        }))
    }

    /// The same tables with the virtual lanes that packets take.
    pub fn with_lanes(self, lanes: Lanes) -> Forwarding {
        Forwarding { lanes: Some(Arc::new(lanes)), ..self }
    }

    /// The virtual lanes that packets take, where they are known.
    pub fn lanes(&self) -> Option<&Lanes> {
        self.lanes.as_deref()
    }

    /// Addresses of each node.
    pub fn addresses(&self) -> u32 {
        self.addresses
    }

    /// The address of every node that a sender uses.
    pub fn address_for(&self, source: Node) -> u32 {
        source.0 % self.addresses
    }

    /// The entries of every switch for a destination's first address, in order of the vertices.
    pub fn row(&self, destination: Node) -> &[u8] {
        self.row_of(destination, 0)
    }

    /// The same for one of its addresses.
    pub fn row_of(&self, destination: Node, address: u32) -> &[u8] {
        let place = destination.0 as usize * self.addresses as usize + address as usize;
        &self.next[place * self.switches..][..self.switches]
    }

    /// The tables as packets to one address of a destination see them.
    pub fn view<'a>(&'a self, network: &'a Network, destination: Node, address: u32) -> View<'a> {
        View { row: self.row_of(destination, address), network, nodes: self.nodes, lanes: None }
    }

    /// The tables as packets between two nodes see them, on the virtual lanes that these take, where known.
    pub(crate) fn trip<'a>(&'a self, network: &'a Network, source: Node, destination: Node) -> View<'a> {
        let lanes = self.lanes().and_then(|lanes| Some((lanes, lanes.level(source, destination)?)));
        View { lanes, ..self.view(network, destination, self.address_for(source)) }
    }

    /// Calls `each` for every channel from a node to another; whether the packet arrives.
    pub fn walk(&self, network: &Network, source: Node, destination: Node, mut each: impl FnMut(Channel)) -> bool {
        let view = self.view(network, destination, self.address_for(source));
        let Some(mut channel) = network.out(source.vertex()).next() else { return false };
        // A path that passes more switches than there are goes in a circle.
        for _ in 0..=self.switches {
            each(channel);
            let at = network.to(channel);
            if network.is_node(at) {
                return at == destination.vertex();
            }
            match view.step(at) {
                Some(next) => channel = next,
                None => return false,
            }
        }
        false
    }
}

/// The tables as one destination's packets see them.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    row: &'a [u8],
    network: &'a Network,
    nodes: u32,
    /// Lanes with the packets' service level.
    lanes: Option<(&'a Lanes, u8)>,
}

impl View<'_> {
    /// The channel that a packet takes from a switch.
    pub fn step(&self, at: Vertex) -> Option<Channel> {
        let place = *self.row.get(at.0.checked_sub(self.nodes)? as usize)?;
        (place != Forwarding::NONE).then(|| self.network.port(at, u32::from(place)))
    }

    /// What a packet remembers behind a channel for its next lane: 1 + the index of the channel back; else 0.
    pub(crate) fn phase_behind(&self, channel: Channel) -> u8 {
        self.lanes.map_or(0, |(lanes, _)| lanes.back(channel).saturating_add(1))
    }

    /// Appends the next channel from `state`; packets on the lane that nothing leaves have none.
    pub(crate) fn hops(&self, state: State, hops: &mut Vec<Hop>) {
        let lane = |channel| match (self.lanes, state.phase.checked_sub(1)) {
            (Some((lanes, level)), Some(back)) => lanes.lane_at(self.network, back, channel, level),
            _ => 0,
        };
        let way = self.step(state.at).map(|channel| (channel, lane(channel))).filter(|(_, vc)| *vc != Lanes::DROP);
        hops.extend(way.map(|(channel, vc)| Hop { channel, vc, phase: self.phase_behind(channel), share: 1.0 }));
    }
}
