//! Payload rates, and what a node could inject into an otherwise idle fabric: the bound that efficiency is measured against.

use crate::built::Fabric;
use crate::network::{Channel, Node, Resource, Vertex};
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

    /// The least over all nodes of what a node's own devices let it inject, in MB/s (10^6 bytes per second) of payload:
    /// its host, its link, and where it has a router or B-Link for itself, that and all the links that leave it.
    /// `None` if none of them has a rate.
    pub fn injection_mbps(&self, capacities: Capacities, efficiency: f64) -> Option<f64> {
        let nodes = self.network.node_iter();
        nodes.filter_map(|node| self.injection_at_mbps(node, capacities, efficiency)).reduce(f64::min)
    }

    /// The same of one node.
    pub fn injection_at_mbps(&self, node: Node, capacities: Capacities, efficiency: f64) -> Option<f64> {
        let rate = |resource| self.payload_mbps(resource, capacities, efficiency).unwrap_or(f64::INFINITY);
        Some(self.injection_of(node, &rate)).filter(|mbps| mbps.is_finite())
    }

    fn injection_of(&self, node: Node, rate: &impl Fn(Resource) -> f64) -> f64 {
        let hosts = self.network.host_roles.iter().map(|&role| rate(Resource::Host(node, role)));
        let host = hosts.fold(f64::INFINITY, f64::min);
        if !self.attachment.has_home(node) {
            return host.min(self.leaving(node.vertex(), node.vertex(), rate));
        }
        let link = host.min(rate(Resource::Channel(self.network.port(node.vertex(), 0))));
        let home = self.attachment.home[node.0 as usize];
        let is_own = self.attachment.nodes_of(self.attachment.group[node.0 as usize] as usize).len() == 1;
        match is_own {
            true => link.min(rate(Resource::Vertex(home))).min(self.leaving(home, node.vertex(), rate)),
            false => link,
        }
    }

    /// Rates of the channels that leave `vertex` other than to `back`; a device behind an internal connection
    /// or a host bus (a ring stop, a NIC) counts by what leaves it.
    fn leaving(&self, vertex: Vertex, back: Vertex, rate: &impl Fn(Resource) -> f64) -> f64 {
        let on = |channel: &Channel| self.network.to(*channel) != back;
        let through = |channel: Channel| {
            let (own, next) = (rate(Resource::Channel(channel)), self.network.to(channel));
            let role = self.network.role(Resource::Channel(channel));
            let is_own = matches!(role, Role::Internal | Role::HostBus);
            if is_own && !self.network.is_node(next) { own.min(self.leaving(next, vertex, rate)) } else { own }
        };
        let channels = self.network.out(vertex).filter(on).map(through);
        let (sum, count) = channels.fold((0.0, 0), |(sum, count), rate| (sum + rate, count + 1));
        if count == 0 { f64::INFINITY } else { sum }
    }
}
