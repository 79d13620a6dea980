//! The switches of a fabric with forwarding tables, as counts over many failures and placements need them.

use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Network, Node, Resource, Vertex};
use hotlink_fabric::routing::Routing;
use hotlink_fabric::routing::forwarding::Forwarding;

/// An address of a node: where tables lead, and what each sender to the node chooses one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Address(pub u32);

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
    /// Hosts of each switch that send to a node's first address, then those that send to its next.
    senders: Vec<u32>,
    /// First vertex that is a switch.
    pub first: u32,
}

impl<'a> Routes<'a> {
    /// `None`: the fabric has no forwarding tables, or a host without a switch.
    pub fn new(fabric: &'a Fabric) -> Option<Routes<'a>> {
        let Routing::Tables(tables) = &fabric.routing else { return None };
        let network = &fabric.network;
        let first = network.nodes;
        if network.node_iter().any(|node| !fabric.attachment.has_home(node)) {
            return None;
        }
        let home: Vec<u32> = fabric.attachment.home.iter().map(|home| home.0 - first).collect();
        let mut hosts = vec![0; network.vertices() - first as usize];
        let mut senders = vec![0; hosts.len() * tables.addresses() as usize];
        for (node, &home) in network.node_iter().zip(&home) {
            senders[tables.address_for(node) as usize * hosts.len() + home as usize] += 1;
            hosts[home as usize] += 1;
        }
        let inverse = |c| fabric.gross(Resource::Channel(Channel(c))).map_or(0.0, |rate| 1.0 / rate.0 as f64);
        let inverse = (0..network.channels() as u32).map(inverse).collect();
        Some(Routes { network, tables, inverse, home, hosts, senders, first })
    }

    pub fn switches(&self) -> u32 {
        self.hosts.len() as u32
    }

    /// All addresses, those of each node together.
    pub fn addresses(&self) -> impl Iterator<Item = Address> {
        (0..self.network.nodes * self.tables.addresses()).map(Address)
    }

    /// The address of a node that another sends to.
    pub fn address(&self, from: Node, to: Node) -> Address {
        Address(to.0 * self.tables.addresses() + self.tables.address_for(from))
    }

    /// The node of an address.
    pub fn node(&self, to: Address) -> Node {
        Node(to.0 / self.tables.addresses())
    }

    /// The switch of the node whose address it is.
    pub fn home(&self, to: Address) -> u32 {
        self.home[self.node(to).0 as usize]
    }

    /// The entries of every switch for an address.
    pub fn row(&self, to: Address) -> &'a [u8] {
        self.tables.row_of(self.node(to), to.0 % self.tables.addresses())
    }

    /// Hosts of a switch that send to an address; a node does not send to itself.
    pub fn senders(&self, to: Address, switch: u32) -> u32 {
        let (node, of) = (self.node(to), to.0 % self.tables.addresses());
        let is_own = self.home[node.0 as usize] == switch && self.tables.address_for(node) == of;
        self.senders[of as usize * self.hosts.len() + switch as usize] - u32::from(is_own)
    }

    /// The channel by which a switch sends to an address, by its row.
    pub fn next(&self, row: &[u8], switch: u32) -> Option<Channel> {
        let place = row[switch as usize];
        (place != Forwarding::NONE).then(|| self.network.port(Vertex(self.first + switch), u32::from(place)))
    }

    /// Where a channel leads, as a place among the switches; `None`: to a host.
    pub fn switch_at(&self, channel: Channel) -> Option<u32> {
        self.network.to(channel).0.checked_sub(self.first)
    }

    /// Calls `each` with the channels between switches on the path from a switch to an address; whether it arrives.
    pub fn walk(&self, from: u32, to: Address, mut each: impl FnMut(Channel)) -> bool {
        let (row, node, mut at) = (self.row(to), self.node(to), from);
        for _ in 0..=self.switches() {
            let Some(channel) = self.next(row, at) else { return false };
            match self.switch_at(channel) {
                Some(next) => at = next,
                None => return self.network.to(channel) == node.vertex(),
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
