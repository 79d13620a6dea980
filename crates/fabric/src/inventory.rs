//! What has to be bought for a fabric of a given size: the counts, without prices.

use crate::built::Fabric;
use crate::network::{Channel, Resource};
use crate::spec::{ItemKind, Role};
use crate::topology::Shape;
use std::collections::BTreeMap;

/// How many of each kind of thing a fabric of `nodes` nodes takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// Nodes asked for (a padded cube may be modelled larger; only what is asked for is bought).
    pub nodes: u64,
    /// Pieces by kind; a kind that does not occur is absent.
    pub pieces: BTreeMap<ItemKind, u64>,
}

impl Inventory {
    /// How many pieces of `kind`.
    pub fn count(&self, kind: ItemKind) -> u64 {
        self.pieces.get(&kind).copied().unwrap_or(0)
    }

    /// What a built fabric consists of. A cube needs an adapter for each node asked for and a cable for each of a
    /// router's rings (one more position, one more of each: rings are cut to length); Clos64 crossbars and the cables
    /// among them come inside their enclosures; a GPU fabric has whole hosts. Scale-up links and processes of one
    /// machine need nothing.
    pub fn of(fabric: &Fabric) -> Inventory {
        let mut pieces = match &fabric.shape {
            Shape::Cube(cube) => {
                let routers = u64::from(fabric.asked.div_ceil(cube.nodes_per_router));
                let cables = routers * u64::from(cube.dimensions());
                BTreeMap::from([(ItemKind::Nic, fabric.asked.into()), (ItemKind::CableNode, cables)])
            }
            _ => fabric.spec.topology.bought(counted(fabric), fabric.asked),
        };
        pieces.retain(|_, count| *count > 0);
        Inventory { nodes: fabric.asked.into(), pieces }
    }
}

/// Counts devices and links of the graph; a link has a channel each way or one way only, and is one cable.
fn counted(fabric: &Fabric) -> BTreeMap<ItemKind, u64> {
    let network = &fabric.network;
    let mut pieces = BTreeMap::from([(ItemKind::Nic, u64::from(network.nodes))]);
    let devices = &network.vertex_role[network.nodes as usize..];
    let switches = devices.iter().filter(|role| **role == Role::Switch).count();
    pieces.insert(ItemKind::Switch, switches as u64);
    let from_switch = |c: &Channel| network.role(Resource::Vertex(network.from(*c))) == Role::Switch;
    let channels = || (0..network.channels() as u32).map(Channel);
    let role = |c: Channel| network.role(Resource::Channel(c));
    let of_nodes = channels().filter(from_switch).filter(|&c| role(c) == Role::Link).count();
    pieces.insert(ItemKind::CableNode, of_nodes as u64);
    for (kind, wanted) in [(ItemKind::CableSwitch, Role::SwitchLink), (ItemKind::CableGlobal, Role::GlobalLink)] {
        // Of a link both ways, the direction from the lower vertex counts; a link one way counts as it stands.
        let cable = |c: &Channel| network.from(*c) < network.to(*c) || network.reverse(*c).is_none();
        pieces.insert(kind, channels().filter(|&c| role(c) == wanted).filter(cable).count() as u64);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;
    use ItemKind::{CableGlobal, CableNode, CableSwitch, Enclosure, Nic, Switch};

    fn pieces(name: &str, nodes: u32) -> Vec<(ItemKind, u64)> {
        let fabric = Fabric::build(&catalog::load(name).unwrap(), nodes).unwrap();
        Inventory::of(&fabric).pieces.into_iter().collect()
    }

    #[test]
    fn pieces_are_what_one_would_buy() {
        assert_eq!(pieces("sci-torus2d", 20), [(Nic, 20), (CableNode, 40)], "padded to 25, bought for 20");
        assert_eq!(pieces("myrinet-minimal", 16), [(Nic, 16), (Switch, 1), (CableNode, 16)]);
        assert_eq!(pieces("myrinet-minimal", 31), [(Nic, 31), (Switch, 3), (CableNode, 31), (CableSwitch, 2)]);
        assert_eq!(pieces("myrinet-clos64", 64), [(Nic, 64), (Enclosure, 1), (CableNode, 64)]);
        assert_eq!(pieces("myrinet-clos64", 65), [(Nic, 65), (Enclosure, 2), (CableNode, 65), (CableGlobal, 64)]);
        assert_eq!(
            pieces("gpu-rail", 520),
            [(Nic, 520), (Switch, 8 * (3 + 2)), (CableNode, 520), (CableSwitch, 8 * 3 * 32)]
        );
    }
}
