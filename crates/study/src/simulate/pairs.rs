//! Pairs of nodes that share a resource: the set-ups of M02's saturation experiments.

use hotlink_fabric::topology::{CubeSpec, Extents, SwitchArray, TopologySpec};
use hotlink_sim::workload::{shared_link_pairs, turning_pairs};

/// What the pairs of a saturation share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// A link between two switches of a line, which have so many nodes together (M02 Fig. 11).
    SwitchLink(u32),
    /// One link (M02 Fig. 5).
    Link,
    /// The node of a 2-D torus at which all turn (M02 Fig. 7).
    Turn,
}

impl Sharing {
    /// On a topology; `turning`: pairs that turn are asked for, where the topology has them.
    pub fn of(topology: &TopologySpec, turning: bool) -> Sharing {
        match topology.get() {
            Some(SwitchArray { ports, links, groups }) => Sharing::SwitchLink(match groups[..] {
                [first, second, ..] => first + second,
                _ => 2 * (ports - links),
            }),
            _ if turning && turns(topology) => Sharing::Turn,
            _ => Sharing::Link,
        }
    }

    /// Nodes where none are asked for: two switches of a line, or a ring or square just large enough for `most` pairs.
    pub fn usual_nodes(self, most: u32) -> u32 {
        match self {
            Sharing::SwitchLink(nodes) => nodes,
            Sharing::Turn => (most + 1) * (most + 1),
            Sharing::Link => 2 * most.max(1),
        }
    }

    /// `count` pairs among `nodes` nodes.
    ///
    /// # Errors
    /// How many nodes are needed.
    pub fn pairs(self, nodes: u32, count: u32) -> Result<Vec<(u32, u32)>, u32> {
        let side = nodes.isqrt();
        let (pairs, needed, is_right) = match self {
            Sharing::Turn => (turning_pairs(side, count), (count + 1) * (count + 1), side * side == nodes),
            _ => (shared_link_pairs(nodes, count), 2 * count, true),
        };
        if nodes < needed || !is_right { Err(needed) } else { Ok(pairs) }
    }
}

/// Whether pairs can turn at one node: a unidirectional torus of two dimensions whose dimensions meet in a B-Link.
fn turns(topology: &TopologySpec) -> bool {
    matches!(topology.get(), Some(CubeSpec { dimensions: 2, b_link: true, extents: Extents::PaddedCube, .. }))
}
