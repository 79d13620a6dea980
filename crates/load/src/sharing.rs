//! Pairs of nodes that share a resource, as in M02's saturation experiments.

use crate::count;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Node};
use hotlink_fabric::rng::SplitMix64;
use hotlink_fabric::spec::{FabricSpec, Role};
use hotlink_fabric::topology::{CubeSpec, Extents, SwitchArray, TopologySpec};
use hotlink_fabric::traffic::{Demand, Flow};

/// Most further nodes that are tried where none are asked for: two switches of 64 ports hold them.
const MOST_MORE: u32 = 128;
/// Most senders whose routes are followed.
const MOST_SENDERS: u32 = 1024;

/// What the pairs of a saturation share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// One link between devices (M02 Figs. 5 and 11).
    Link,
    /// The node of a 2-D torus at which all turn (M02 Fig. 7).
    Turn,
}

impl Sharing {
    /// On a topology; `turning`: pairs that turn are asked for, where the topology has them.
    pub fn of(topology: &TopologySpec, turning: bool) -> Sharing {
        if turning && turns(topology) { Sharing::Turn } else { Sharing::Link }
    }

    /// The number of nodes if none is given. It is two switches of a line, a square just large enough for `most` pairs
    /// to turn, or a cube with rings just large enough. Elsewhere it is the fewest that have such pairs.
    pub fn usual_nodes(self, spec: &FabricSpec, most: u32) -> u32 {
        let most = most.max(1);
        match (self, spec.topology.get(), spec.topology.get::<SwitchArray>()) {
            (Sharing::Turn, ..) => most.saturating_add(1).saturating_pow(2),
            (_, Some(CubeSpec { dimensions, bidirectional, nodes_per_router, .. }), _) if *dimensions > 1 => {
                let ring = most.saturating_mul(2) + u32::from(*bidirectional);
                ring.saturating_pow(*dimensions).saturating_mul(*nodes_per_router)
            }
            (.., Some(SwitchArray { ports, links, groups })) => match groups[..] {
                [first, second, ..] => first + second,
                _ => 2 * (ports - links),
            },
            _ if most > MOST_SENDERS => most.saturating_mul(2),
            _ => {
                let least = most.saturating_mul(2);
                let fits = |&nodes: &u32| {
                    Fabric::build(spec, nodes).is_ok_and(|fabric| over_one_link(&fabric, nodes, most).is_some())
                };
                (least..=least.saturating_add(MOST_MORE)).find(fits).unwrap_or(least)
            }
        }
    }

    /// `count` pairs among `nodes` nodes of a fabric.
    ///
    /// # Errors
    /// How many nodes are needed, or that no pairs share a link.
    pub fn pairs(self, fabric: &Fabric, nodes: u32, count: u32) -> Result<Vec<(u32, u32)>, String> {
        let side = nodes.isqrt();
        let (needed, is_right) = match self {
            Sharing::Turn => (count.saturating_add(1).saturating_pow(2), side * side == nodes),
            Sharing::Link => (count.saturating_mul(2), true),
        };
        if nodes < needed || !is_right {
            return Err(format!("need {needed} nodes or more, not {nodes}"));
        }
        match self {
            Sharing::Turn => Ok(turning_pairs(side, count)),
            // One sender shares nothing.
            Sharing::Link if count == 1 => Ok(shared_link_pairs(nodes, 1)),
            Sharing::Link if count > MOST_SENDERS => Err(format!("are too many to follow: at most {MOST_SENDERS}")),
            Sharing::Link => over_one_link(fabric, nodes, count).ok_or_else(|| {
                format!("among {nodes} nodes cross no common link, or packets take several: ask for other --nodes")
            }),
        }
    }
}

/// Senders 0..n and as many receivers half the nodes further on. On a ring (M02 Fig. 5) and between two switches (Fig.
/// 11) all messages cross the link in the middle.
pub fn shared_link_pairs(nodes: u32, senders: u32) -> Vec<(u32, u32)> {
    shifted(senders, nodes / 2)
}

/// Pairs that turn at one node of an r x r unidirectional torus, from the row of that node to its column (M02 Fig. 7).
pub fn turning_pairs(r: u32, pairs: u32) -> Vec<(u32, u32)> {
    // Row 0 runs towards column r - 1; there they turn.
    (0..pairs).map(|i| (i, (i + 1) * r + r - 1)).collect()
}

/// All nodes in pairs at random, each pairing equally likely; of an odd number one is left out.
pub fn random_pairs(nodes: u32, seed: u64) -> Vec<(u32, u32)> {
    let mut order: Vec<u32> = (0..nodes).collect();
    SplitMix64::new(seed).shuffle(&mut order);
    order.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

fn shifted(senders: u32, by: u32) -> Vec<(u32, u32)> {
    (0..senders).map(|i| (i, i + by)).collect()
}

/// Senders 0..n and receivers at one distance whose messages all cross one link. The distance is half the nodes if that
/// works, else the shortest that does.
fn over_one_link(fabric: &Fabric, nodes: u32, senders: u32) -> Option<Vec<(u32, u32)>> {
    let shifts = std::iter::once(nodes / 2).chain(senders..=nodes.checked_sub(senders)?);
    shifts.map(|by| shifted(senders, by)).find(|pairs| have_common_link(fabric, pairs))
}

/// Whether all that these pairs send crosses one link between devices.
fn have_common_link(fabric: &Fabric, pairs: &[(u32, u32)]) -> bool {
    let flow = |&(from, to): &(u32, u32)| Flow { source: Node(from), destination: Node(to), amount: 1.0 };
    let demand = Demand { nodes: fabric.nodes(), all_pairs: 0.0, flows: pairs.iter().map(flow).collect() };
    let network = &fabric.network;
    let is_between = |c: Channel| !network.is_node(network.from(c)) && !network.is_node(network.to(c));
    let links = [Role::Link, Role::SwitchLink, Role::GlobalLink];
    let is_full = |load: &crate::Load, at: usize| load.channel[at] > pairs.len() as f64 - 1e-6;
    count(fabric, &demand).is_ok_and(|load| {
        (0..network.channels())
            .any(|at| is_full(&load, at) && links.contains(&network.channel_role[at]) && is_between(Channel(at as u32)))
    })
}

/// Whether pairs can turn at one node: a unidirectional torus of two dimensions whose dimensions meet in a B-Link.
fn turns(topology: &TopologySpec) -> bool {
    matches!(topology.get(), Some(CubeSpec { dimensions: 2, b_link: true, extents: Extents::PaddedCube, .. }))
}
