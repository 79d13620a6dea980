//! How long a message's head is under way in the idle network: what it passes, by the loads of what carries it.

use crate::Load;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Node, Resource, Vertex};
use hotlink_fabric::spec::Role;
use std::collections::BTreeMap;

impl Load {
    /// Mean time of a message's head from one host to the other through the idle network, in microseconds: the latency of
    /// every resource, as often as messages pass it. Without software and without the time of the message's bytes. `None`
    /// where nobody sends.
    ///
    /// No route is followed again: a resource's load is how many messages pass it.
    pub fn idle_us(&self, fabric: &Fabric) -> Option<f64> {
        let network = &fabric.network;
        let total = |of: &[f64]| of.iter().sum::<f64>();
        let (sent, received) = (total(&self.sent), total(&self.received));
        let hosts = network.host_roles.iter().map(|&role| {
            let passed = if role == Role::Engine { sent } else { sent + received };
            (Resource::Host(Node(0), role), passed)
        });
        let vertices = (network.nodes as usize..network.vertices())
            .map(|vertex| (Resource::Vertex(Vertex(vertex as u32)), self.vertex[vertex]));
        let channels =
            (0..network.channels()).map(|channel| (Resource::Channel(Channel(channel as u32)), self.channel[channel]));
        // By role, of which there are few; what a graph's links have of their own apart.
        let mut by_role: BTreeMap<Role, (Resource, f64)> = BTreeMap::new();
        let mut sum = 0.0;
        for (resource, load) in hosts.chain(vertices).chain(channels).filter(|(_, load)| *load > 0.0) {
            match resource {
                Resource::Channel(channel) if network.overrides.contains_key(&channel) => {
                    sum += load * fabric.latency(resource).us();
                }
                _ => by_role.entry(network.role(resource)).or_insert((resource, 0.0)).1 += load,
            }
        }
        sum += by_role.values().map(|(resource, load)| load * fabric.latency(*resource).us()).sum::<f64>();
        (sent > 0.0).then(|| sum / sent)
    }
}
