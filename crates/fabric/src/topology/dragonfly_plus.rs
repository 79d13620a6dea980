//! Dragonfly+ (Shpiner et al., HiPINEB 2017; Megafly: Flajslik et al., 2018): groups of leaves and spines. Each leaf is
//! joined to each spine of its group, and spines to those of other groups.
//!
//! Shortest paths go up to a spine, over at most one global link to a spine of the other group, and down. No channel of
//! one kind waits for one of a kind before it, so packets cannot wait for each other in a cycle.
//!
//! Groups are alike: each has the leaves that its share of the nodes needs and the spines that these share evenly. Nodes
//! spread evenly over all leaves.

use super::{Registered, Shape, Topology, TopologySpec, add_tier, check_channels, check_range};
use super::{fewest, invalid, sharing, spread};
use crate::error::BuildError;
use crate::network::{Builder, Network, Vertex};
use crate::sheet::Table;
use crate::terms::{Role, RoutingSpec};

/// The registry's entry.
pub(crate) const ENTRY: Registered =
    Registered { kind: "dragonfly-plus", meaning: "groups of leaves and spines, joined by their spines", read };

/// Groups of leaves and spines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DragonflyPlus {
    /// Nodes on a leaf.
    pub nodes_per_leaf: u32,
    /// Leaves of a group.
    pub leaves: u32,
    /// Spines of a group.
    pub spines: u32,
    /// Global links of a spine.
    pub global_per_spine: u32,
}

fn read(table: &Table<'_>) -> Option<TopologySpec> {
    let [nodes_per_leaf, leaves, spines, global_per_spine] =
        ["nodes_per_leaf", "leaves", "spines", "global_per_spine"].map(|key| table.count(key, super::PORTS));
    Some(TopologySpec::new(DragonflyPlus {
        nodes_per_leaf: nodes_per_leaf?,
        leaves: leaves?,
        spines: spines?,
        global_per_spine: global_per_spine?,
    }))
}

impl DragonflyPlus {
    /// The group at port `port` of group `own`, and the port there. Ports go to the other groups in turn, so that each spine
    /// is joined to as many groups as it has links.
    fn peer(own: u32, port: u32, groups: u32) -> (u32, u32) {
        let others = groups - 1;
        let other = port % others + u32::from(port % others >= own);
        let back = if own < other { own } else { own - 1 };
        (other, port / others * others + back)
    }
}

impl Topology for DragonflyPlus {
    fn kind(&self) -> &'static str {
        ENTRY.kind
    }

    fn build(&self, nodes: u32) -> Result<(Network, Shape), BuildError> {
        let fields = self.fields();
        let values = [self.nodes_per_leaf, self.leaves, self.spines, self.global_per_spine];
        fields.iter().zip(values).try_for_each(|((key, _), value)| check_range(key, value, super::PORTS))?;
        let product = |one: u32, other: u32| u64::from(one) * u64::from(other);
        let (held, ports) = (product(self.nodes_per_leaf, self.leaves), product(self.spines, self.global_per_spine));
        let groups = u64::from(nodes).div_ceil(held);
        if groups > ports + 1 {
            return Err(invalid(format!("{nodes} nodes: {} groups of {held} hold {}", ports + 1, (ports + 1) * held)));
        }
        let groups = groups as u32;
        let leaves = nodes.div_ceil(groups).div_ceil(self.nodes_per_leaf);
        // Of a group alone, all ports of spines lead down.
        let spines = match (groups, leaves) {
            (1, 1) => 0,
            (1, _) => fewest(leaves, self.spines, self.leaves + self.global_per_spine),
            // Enough for a global link to each other group, since the groups but one would be full.
            _ => sharing(leaves, self.spines, self.leaves),
        };
        let ports = product(spines, self.global_per_spine);
        check_channels(2 * (u64::from(nodes) + u64::from(groups) * (product(leaves, self.spines) + ports)))?;
        // As many links between every two groups as ports allow; what is left over stays free.
        let copies = if groups > 1 { (ports / u64::from(groups - 1)) as u32 } else { 0 };
        let mut b = Builder::new(nodes);
        let mut tiers = Vec::new();
        let leaf = add_tier(&mut b, &mut tiers, "leaf", groups * leaves, 1, Role::Switch);
        let spine = add_tier(&mut b, &mut tiers, "spine", groups * spines, 2, Role::Switch);
        spread(nodes, groups * leaves).for_each(|(node, on)| b.link(node, Vertex(leaf.0 + on), Role::Link));
        for below in (0..groups * leaves).filter(|_| spines > 0) {
            for port in 0..self.spines {
                let above = below / leaves * spines + port % spines;
                b.link(Vertex(leaf.0 + below), Vertex(spine.0 + above), Role::SwitchLink);
            }
        }
        let at = |group: u32, port: u32| Vertex(spine.0 + group * spines + port / self.global_per_spine);
        for own in 0..groups {
            for port in 0..copies * (groups - 1) {
                let (other, back) = DragonflyPlus::peer(own, port, groups);
                if own < other {
                    b.link(at(own, port), at(other, back), Role::GlobalLink);
                }
            }
        }
        let mut network = b.build();
        network.divide(|switch| match switch < spine {
            true => (switch.0 - leaf.0) / leaves,
            false => (switch.0 - spine.0) / spines,
        });
        Ok((network, Shape::Tiers(tiers)))
    }

    fn routings(&self) -> &'static [RoutingSpec] {
        use RoutingSpec::{ShortestEcmp, ShortestSingle, ShortestValiant, UpDown};
        &[ShortestEcmp, ShortestSingle, ShortestValiant, UpDown]
    }

    fn like(&self, key: &str, asked: f64) -> Option<(&'static str, f64)> {
        let fewer = f64::from(self.nodes_per_leaf) / asked;
        (key == "oversubscription" && asked >= 1.0).then_some(("spines", fewer))
    }
    fn ports(&self) -> Option<u32> {
        Some((self.nodes_per_leaf + self.spines).max(self.leaves + self.global_per_spine))
    }

    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("nodes_per_leaf", self.nodes_per_leaf.to_string()),
            ("leaves", self.leaves.to_string()),
            ("spines", self.spines.to_string()),
            ("global_per_spine", self.global_per_spine.to_string()),
        ]
    }
}
