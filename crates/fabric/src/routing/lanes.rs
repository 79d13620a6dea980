//! Virtual lanes under forwarding tables. Each pair of nodes has a service level. Each switch maps a level to a lane by
//! the ports through which a packet enters and leaves.

use crate::network::{Channel, Network, Node, Vertex};
use std::collections::BTreeMap;

/// Service levels, and lanes of a port.
pub const LEVELS: usize = 16;

/// Lane by service level.
pub type Row = [u8; LEVELS];

/// The lanes of a network.
#[derive(Debug)]
pub struct Lanes {
    /// Level by destination, then by source.
    levels: Vec<u8>,
    nodes: u32,
    /// Every row that a switch has, once.
    rows: Vec<Row>,
    /// For each switch, the row by the index of the channel back to where a packet came from, then of the one it takes.
    row_of: Vec<Vec<u32>>,
    /// For each channel, the index of the one back, at the switch to which it leads.
    back: Vec<u8>,
    count: u8,
}

impl Lanes {
    /// The lane by which a switch discards packets.
    pub const DROP: u8 = 15;
    const UNKNOWN: u8 = u8::MAX;

    /// `level` gives the level of each pair (source first) that has one. `row` gives the row of two channels of a
    /// switch: back to where a packet came from, and onward. `back` gives each channel's index of its cable's other
    /// direction.
    pub fn new(
        network: &Network,
        level: impl Fn(Node, Node) -> Option<u8>,
        row: impl Fn(Channel, Channel) -> Row,
        back: Vec<u8>,
    ) -> Lanes {
        let mut levels = Vec::with_capacity(network.nodes as usize * network.nodes as usize);
        for to in network.node_iter() {
            let usable = |from: Node| level(from, to).filter(|&level| usize::from(level) < LEVELS);
            levels.extend(network.node_iter().map(|from| usable(from).unwrap_or(Lanes::UNKNOWN)));
        }
        let (mut rows, mut places) = (Vec::new(), BTreeMap::new());
        let mut place = |row: Row| {
            *places.entry(row).or_insert_with(|| {
                rows.push(row);
                rows.len() as u32 - 1
            })
        };
        let switches = (network.nodes..network.vertices() as u32).map(Vertex);
        let row_of = switches
            .map(|v| {
                let pairs = network.out(v).flat_map(move |back| network.out(v).map(move |on| (back, on)));
                pairs.map(|(back, on)| place(row(back, on))).collect()
            })
            .collect();
        let used = rows.iter().flatten().copied().filter(|&lane| lane < Lanes::DROP).max();
        Lanes { levels, nodes: network.nodes, rows, row_of, back, count: 1 + used.unwrap_or(0) }
    }

    /// Lanes that any packet may use.
    pub fn count(&self) -> u8 {
        self.count
    }

    /// The service level of a pair; `None` where nobody states it.
    pub fn level(&self, source: Node, destination: Node) -> Option<u8> {
        let level = self.levels[destination.0 as usize * self.nodes as usize + source.0 as usize];
        (level != Lanes::UNKNOWN).then_some(level)
    }

    /// The lane of a packet that arrived at a switch by one channel and leaves by another.
    pub fn lane(&self, network: &Network, came: Channel, leaves: Channel, level: u8) -> u8 {
        self.lane_at(network, self.back(came), leaves, level)
    }

    /// The place of the channel back, at the switch that a channel leads to.
    pub(crate) fn back(&self, came: Channel) -> u8 {
        self.back[came.0 as usize]
    }

    /// The same as [`Lanes::lane`] by the place of the channel back.
    pub(crate) fn lane_at(&self, network: &Network, back: u8, leaves: Channel, level: u8) -> u8 {
        let at = network.from(leaves);
        let first = network.port(at, 0).0;
        let ports = network.out(at).len();
        let row = self.row_of[(at.0 - self.nodes) as usize][usize::from(back) * ports + (leaves.0 - first) as usize];
        self.rows[row as usize][usize::from(level)]
    }
}
