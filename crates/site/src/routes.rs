//! The switches of a fabric with forwarding tables, as counts over many failures and placements need them.

use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Network, Node, Resource, Vertex};
use hotlink_fabric::routing::Routing;
use hotlink_fabric::routing::forwarding::Forwarding;

/// A fabric's tables, and of each channel the time that it takes for a byte.
pub(crate) struct Routes<'a> {
    pub network: &'a Network,
    pub tables: &'a Forwarding,
    /// Seconds a byte by channel; 0 where no file states a rate.
    pub inverse: Vec<f64>,
    /// Switch of each host, as a place among the switches.
    pub home: Vec<u32>,
    /// Hosts of each switch.
    pub hosts: Vec<u32>,
    /// First vertex that is a switch.
    pub first: u32,
}

impl<'a> Routes<'a> {
    /// `None`: the fabric has no forwarding tables, tables for several addresses of a host, or a host without a switch.
    pub fn new(fabric: &'a Fabric) -> Option<Routes<'a>> {
        let Routing::Tables(tables) = &fabric.routing else { return None };
        if tables.addresses() > 1 {
            return None;
        }
        let network = &fabric.network;
        let first = network.nodes;
        if network.node_iter().any(|node| !fabric.attachment.has_home(node)) {
            return None;
        }
        let home: Vec<u32> = fabric.attachment.home.iter().map(|home| home.0 - first).collect();
        let mut hosts = vec![0; network.vertices() - first as usize];
        home.iter().for_each(|&home| hosts[home as usize] += 1);
        let inverse = |c| fabric.gross(Resource::Channel(Channel(c))).map_or(0.0, |rate| 1.0 / rate.0 as f64);
        let inverse = (0..network.channels() as u32).map(inverse).collect();
        Some(Routes { network, tables, inverse, home, hosts, first })
    }

    pub fn switches(&self) -> u32 {
        self.hosts.len() as u32
    }

    /// The channel by which a switch sends to a node.
    pub fn next(&self, row: &[u8], switch: u32) -> Option<Channel> {
        let place = row[switch as usize];
        (place != Forwarding::NONE).then(|| self.network.port(Vertex(self.first + switch), u32::from(place)))
    }

    /// Where a channel leads, as a place among the switches; `None`: to a host.
    pub fn switch_at(&self, channel: Channel) -> Option<u32> {
        self.network.to(channel).0.checked_sub(self.first)
    }

    /// Calls `each` with the channels between switches on the way from a switch to a node; whether it arrives.
    pub fn walk(&self, row: &[u8], from: u32, to: Node, mut each: impl FnMut(Channel)) -> bool {
        let mut at = from;
        for _ in 0..=self.switches() {
            let Some(channel) = self.next(row, at) else { return false };
            match self.switch_at(channel) {
                Some(next) => at = next,
                None => return self.network.to(channel) == to.vertex(),
            }
            each(channel);
        }
        false
    }

    /// Seconds a byte of the slower direction of a host's link.
    pub fn link(&self, node: Node) -> f64 {
        let out = self.network.port(node.vertex(), 0);
        let back = self.network.reverse(out).map_or(0.0, |back| self.inverse[back.0 as usize]);
        self.inverse[out.0 as usize].max(back)
    }
}
