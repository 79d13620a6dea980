//! Payload rates, and what a node could inject into an otherwise idle fabric: the bound that efficiency is measured against.

use crate::built::Fabric;
use crate::network::{Channel, Incoming, Node, Resource, Vertex};
use crate::spec::{Capacities, Role};

impl Fabric {
    /// Payload rate of a resource in MB/s under `capacities` at a packet efficiency; `None`: never a limit.
    pub fn payload_mbps(&self, resource: Resource, capacities: Capacities, efficiency: f64) -> Option<f64> {
        let role = self.network.role(resource);
        let efficiency = if role.carries_packets() { efficiency } else { 1.0 };
        let spec = self.spec.resource(role)?;
        let by_role = || spec.payload_rate(capacities, efficiency);
        match self.own_rate(resource) {
            None => by_role(),
            Some(own) => match spec.gross().map(|usual| usual.value) {
                Some(usual) if own != usual && usual.0 > 0 => {
                    by_role().map(|rate| rate * own.0 as f64 / usual.0 as f64)
                }
                Some(_) => by_role(),
                None => Some(own.0 as f64 * efficiency),
            },
        }
        .map(|bytes_per_s| bytes_per_s / 1e6)
    }

    /// What a node's own devices let it inject, in MB/s (10^6 bytes per second) of payload: its host and its link. A
    /// router or B-Link of the node alone counts too, with all the links that leave it. The median node counts, so that
    /// a failed link or another node's slow host does not. `None` if none of these devices has a rate.
    pub fn injection_mbps(&self, capacities: Capacities, efficiency: f64) -> Option<f64> {
        let own = |node| self.injection_at_mbps(node, capacities, efficiency);
        let mut all: Vec<f64> = self.network.node_iter().filter_map(own).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied()
    }

    /// The same of one node.
    pub fn injection_at_mbps(&self, node: Node, capacities: Capacities, efficiency: f64) -> Option<f64> {
        self.own_devices(node, Way::Out, capacities, efficiency)
    }

    /// The same for what a node can receive: over the links that arrive at it, without the engine that only sends.
    pub fn reception_at_mbps(&self, node: Node, capacities: Capacities, efficiency: f64) -> Option<f64> {
        self.own_devices(node, Way::In, capacities, efficiency)
    }

    fn own_devices(&self, node: Node, way: Way, capacities: Capacities, efficiency: f64) -> Option<f64> {
        let rate = |resource| self.payload_mbps(resource, capacities, efficiency).unwrap_or(f64::INFINITY);
        Some(self.limit(node, way, &rate)).filter(|mbps| mbps.is_finite())
    }

    fn limit(&self, node: Node, way: Way, rate: &impl Fn(Resource) -> f64) -> f64 {
        let host = self.network.host_parts(node, way == Way::Out).map(rate).fold(f64::INFINITY, f64::min);
        if !self.attachment.has_home(node) {
            return host.min(self.through(node.vertex(), node.vertex(), way, rate));
        }
        let home = self.attachment.home[node.0 as usize];
        let link = self.beside(node.vertex(), way).find(|(_, other)| *other == home);
        let link = host.min(link.map_or(f64::INFINITY, |(channel, _)| rate(Resource::Channel(channel))));
        let is_own = self.attachment.nodes_of(self.attachment.group[node.0 as usize] as usize).len() == 1;
        match is_own {
            true => link.min(rate(Resource::Vertex(home))).min(self.through(home, node.vertex(), way, rate)),
            false => link,
        }
    }

    /// Rates of the channels that leave `vertex`, or arrive at it, other than those of `back`. A device behind an
    /// internal connection or a host bus (a ring stop, a NIC) counts by its own channels.
    fn through(&self, vertex: Vertex, back: Vertex, way: Way, rate: &impl Fn(Resource) -> f64) -> f64 {
        let one = |(channel, next): (Channel, Vertex)| {
            let (own, role) = (rate(Resource::Channel(channel)), self.network.role(Resource::Channel(channel)));
            let is_own = matches!(role, Role::Internal | Role::HostBus);
            if is_own && !self.network.is_node(next) { own.min(self.through(next, vertex, way, rate)) } else { own }
        };
        let channels = self.beside(vertex, way).filter(|(_, next)| *next != back).map(one);
        let (sum, count) = channels.fold((0.0, 0), |(sum, count), rate| (sum + rate, count + 1));
        if count == 0 { f64::INFINITY } else { sum }
    }

    /// The channels that leave a device, or arrive at it, each with its other end.
    fn beside(&self, vertex: Vertex, way: Way) -> impl Iterator<Item = (Channel, Vertex)> + '_ {
        let network = &self.network;
        let (out, into) = match way {
            Way::Out => (Some(network.out(vertex)), None),
            Way::In => (None, Some(self.incoming.get_or_init(|| Incoming::of(network)).of_vertex(vertex))),
        };
        let out = out.into_iter().flatten().map(|channel| (channel, network.to(channel)));
        out.chain(into.into_iter().flatten().map(|&channel| (channel, network.from(channel))))
    }
}

/// What a node sends, or what it takes in.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Out,
    In,
}
