//! All-to-all on a dragonfly by minimal routes, group by group. Traffic between two groups has its destinations' shares
//! only on arrival.
//!
//! Amounts are numbers of pairs, multiplied by the flow of a pair at the end.

use crate::Counts;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Vertex};
use hotlink_fabric::routing::Routing;
use hotlink_fabric::topology::Dragonfly;

struct Groups<'a> {
    fabric: &'a Fabric,
    shape: &'a Dragonfly,
    /// Nodes of each router, and of each group.
    nodes: Vec<f64>,
    held: Vec<f64>,
    counts: Counts,
}

/// Counts it where the routes are minimal.
pub(crate) fn count(fabric: &Fabric, amount: f64) -> Option<Counts> {
    let Routing::Dragonfly { shape, .. } = &fabric.routing else { return None };
    let mut nodes = vec![0.0; (shape.groups * shape.routers) as usize];
    for (group, home) in fabric.attachment.homes.iter().enumerate() {
        nodes[(home.0 - shape.nodes) as usize] = fabric.attachment.nodes_of(group).len() as f64;
    }
    let held = nodes.chunks(shape.routers as usize).map(|routers| routers.iter().sum()).collect();
    let mut groups = Groups { fabric, shape, nodes, held, counts: Counts::new(fabric) };
    for to in 0..shape.groups {
        groups.within(to);
        let mut arrived = vec![0.0; shape.routers as usize];
        (0..shape.groups).filter(|&from| from != to).for_each(|from| groups.across(from, to, &mut arrived));
        groups.arrive(to, &arrived);
    }
    Some(groups.counts.times(amount))
}

impl Groups<'_> {
    fn pass(&mut self, router: Vertex, pairs: f64) {
        self.counts.vertex[router.0 as usize] += pairs;
    }

    fn cross(&mut self, channel: Channel, pairs: f64) {
        self.counts.channel[channel.0 as usize] += pairs;
    }

    /// Over the links between two routers of a group.
    fn local(&mut self, group: u32, from: u32, to: u32, pairs: f64) {
        let router = self.shape.router(group, from);
        let share = pairs / f64::from(self.shape.cables);
        for port in self.shape.local_ports(from, to) {
            self.cross(self.fabric.network.port(router, port), share);
        }
    }

    fn nodes(&self, group: u32, router: u32) -> f64 {
        self.nodes[(group * self.shape.routers + router) as usize]
    }

    /// What nodes of one group send each other.
    fn within(&mut self, group: u32) {
        for from in 0..self.shape.routers {
            let sends = self.nodes(group, from);
            self.pass(self.shape.router(group, from), sends * (self.held[group as usize] - 1.0));
            for to in (0..self.shape.routers).filter(|&to| to != from) {
                let pairs = sends * self.nodes(group, to);
                self.local(group, from, to, pairs);
                self.pass(self.shape.router(group, to), pairs);
            }
        }
    }

    /// What one group sends another, up to the routers at which it arrives. A router with links of its own to that
    /// group uses them; the traffic of the others spreads over all links.
    fn across(&mut self, from: u32, to: u32, arrived: &mut [f64]) {
        let (shape, receivers) = (self.shape, self.held[to as usize]);
        let offset = shape.offset(from, to);
        let gateways: Vec<(u32, u32)> = (0..shape.links).map(|link| shape.gateway(offset, link)).collect();
        let mut own = vec![0.0; shape.routers as usize];
        gateways.iter().for_each(|&(router, _)| own[router as usize] += 1.0);
        let mut spread = 0.0;
        for router in 0..shape.routers {
            let pairs = self.nodes(from, router) * receivers;
            self.pass(shape.router(from, router), pairs);
            if own[router as usize] == 0.0 {
                let share = pairs / f64::from(shape.links);
                spread += share;
                gateways.iter().for_each(|&(gateway, _)| self.local(from, router, gateway, share));
            }
        }
        for (link, &(gateway, port)) in gateways.iter().enumerate() {
            let at = shape.router(from, gateway);
            self.pass(at, spread);
            let pairs = spread + self.nodes(from, gateway) * receivers / own[gateway as usize];
            self.cross(self.fabric.network.port(at, shape.global_port(port)), pairs);
            let (end, _) = shape.gateway(shape.groups - offset, link as u32);
            arrived[end as usize] += pairs;
        }
    }

    /// From the routers that it arrives at to those of the destinations.
    fn arrive(&mut self, group: u32, arrived: &[f64]) {
        for (at, &pairs) in (0..).zip(arrived).filter(|(_, pairs)| **pairs > 0.0) {
            self.pass(self.shape.router(group, at), pairs);
            for to in (0..self.shape.routers).filter(|&to| to != at) {
                let pairs = pairs * self.nodes(group, to) / self.held[group as usize];
                self.local(group, at, to, pairs);
                self.pass(self.shape.router(group, to), pairs);
            }
        }
    }
}
