//! HyperX (Ahn et al., SC 2009): a grid of switches, each with a link to every other that differs in one coordinate.
//!
//! The grid is built whole, and nodes spread evenly over its switches. A packet needs one hop for each coordinate in which
//! its ends differ. In dimension order there is one path (except for parallel links) and no cycle of channels. Shortest
//! paths may correct the coordinates in any order.

use super::{Registered, Shape, Tier, Topology, TopologySpec, check_channels, check_range, invalid, spread};
use crate::error::BuildError;
use crate::network::{Builder, Network, Vertex};
use crate::sheet::Table;
use crate::terms::{Role, RoutingSpec};

/// The registry's entry.
pub(crate) const ENTRY: Registered =
    Registered { kind: "hyperx", meaning: "a grid of switches, all of a row joined", read };

/// A grid of fully connected dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HyperX {
    /// Switches along each dimension (S).
    pub extents: Vec<u32>,
    /// Parallel links between two neighbours (K).
    pub links: u32,
    /// Nodes on each switch (T).
    pub nodes_per_switch: u32,
}

fn read(table: &Table<'_>) -> Option<TopologySpec> {
    let extents = table.counts_opt("extents", 2..=4096);
    if extents.as_ref().is_none_or(|extents| extents.is_empty() || extents.len() > 6) {
        table.wrong("extents", "is no list of the switches along each dimension", "1 to 6 numbers, such as [12, 8]");
    }
    let links = table.count_opt("links", 1..=256).unwrap_or(1);
    let nodes_per_switch = table.count("nodes_per_switch", 1..=65_536);
    Some(TopologySpec::new(HyperX { extents: extents?, links, nodes_per_switch: nodes_per_switch? }))
}

impl HyperX {
    /// Number of switches.
    pub fn switches(&self) -> u64 {
        self.extents.iter().map(|&extent| u64::from(extent)).product()
    }

    /// Links between switches.
    pub fn switch_links(&self) -> u64 {
        let each: u64 = self.extents.iter().map(|&extent| u64::from(extent - 1)).sum();
        u64::from(self.links) * self.switches() * each / 2
    }

    /// Links that join the halves of the grid, cut across dimension `d`.
    pub fn cut(&self, d: usize) -> u64 {
        let extent = u64::from(self.extents[d]);
        u64::from(self.links) * self.switches() / extent * (extent / 2) * extent.div_ceil(2)
    }

    /// Coordinates of switch `switch`.
    fn coordinate(&self, switch: u32, d: usize) -> u32 {
        let stride: u32 = self.extents[..d].iter().product();
        switch / stride % self.extents[d]
    }
}

impl Topology for HyperX {
    fn kind(&self) -> &'static str {
        ENTRY.kind
    }

    fn build(&self, nodes: u32) -> Result<(Network, Shape), BuildError> {
        check_range("nodes_per_switch", self.nodes_per_switch, 1..=65_536)?;
        let switches = self.switches();
        let most = switches * u64::from(self.nodes_per_switch);
        if u64::from(nodes) > most {
            let grid: Vec<String> = self.extents.iter().map(u32::to_string).collect();
            let what =
                format!("{nodes} nodes: {} switches of {} nodes hold {most}", grid.join(" x "), self.nodes_per_switch);
            return Err(invalid(what));
        }
        check_channels(2 * (u64::from(nodes) + self.switch_links()))?;
        let mut b = Builder::new(nodes);
        let first = b.vertices(switches as u32, Role::Switch);
        let mut rank = Vec::new();
        for (node, switch) in spread(nodes, switches as u32) {
            b.link(node, Vertex(first.0 + switch), Role::Link);
            rank.extend([0, 0]);
        }
        for switch in 0..switches as u32 {
            let mut stride = 1;
            for (d, &extent) in self.extents.iter().enumerate() {
                for further in self.coordinate(switch, d) + 1..extent {
                    let other = switch + (further - self.coordinate(switch, d)) * stride;
                    for _ in 0..self.links {
                        b.link(Vertex(first.0 + switch), Vertex(first.0 + other), Role::SwitchLink);
                        rank.extend([d as u8, d as u8]);
                    }
                }
                stride *= extent;
            }
        }
        let (mut network, places) = b.build_ordered();
        network.order = vec![0; network.channels()];
        places.iter().zip(rank).for_each(|(place, rank)| network.order[place.0 as usize] = rank);
        network.divide(|switch| switch.0 - first.0);
        let tier = Tier { name: "switch", first, count: switches as u32, level: 0 };
        Ok((network, Shape::Tiers(vec![tier])))
    }

    fn routings(&self) -> &'static [RoutingSpec] {
        use RoutingSpec::{DimensionOrder, ShortestEcmp, ShortestSingle, ShortestValiant, UpDown};
        &[DimensionOrder, ShortestEcmp, ShortestSingle, ShortestValiant, UpDown]
    }

    fn like(&self, key: &str, asked: f64) -> Option<(&'static str, f64)> {
        let more = asked * f64::from(self.nodes_per_switch);
        (key == "oversubscription").then_some(("nodes_per_switch", more))
    }
    fn ports(&self) -> Option<u32> {
        Some(self.nodes_per_switch + self.links * self.extents.iter().map(|extent| extent - 1).sum::<u32>())
    }

    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("extents", format!("{:?}", self.extents)),
            ("links", self.links.to_string()),
            ("nodes_per_switch", self.nodes_per_switch.to_string()),
        ]
    }
}
