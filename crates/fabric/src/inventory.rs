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

    /// What a built fabric consists of. A cube needs an adapter for each node asked for, and a cable for each of a
    /// router's rings. (One more position needs one more of each: rings are cut to length.) Its routers are parts of
    /// the nodes, unless hosts have links to them or the fabric names a switch to buy. Clos64 crossbars and the cables
    /// among them come inside their enclosures; a GPU fabric has whole hosts. Scale-up links and processes of one
    /// machine need nothing.
    pub fn of(fabric: &Fabric) -> Inventory {
        let mut pieces = match &fabric.shape {
            Shape::Cube(cube) => {
                let routers = u64::from(fabric.asked.div_ceil(cube.nodes_per_router));
                let (hosts, cables) = (u64::from(fabric.asked), routers * u64::from(cube.dimensions()));
                let named = fabric.spec.prices.as_ref().is_some_and(|of| of.items.contains_key(&ItemKind::Switch));
                let linked = fabric.network.channel_role[0] == Role::Link;
                let (switches, node, between) = if linked || named { (routers, hosts, cables) } else { (0, cables, 0) };
                let kinds = [ItemKind::Nic, ItemKind::Switch, ItemKind::CableNode, ItemKind::CableSwitch];
                kinds.into_iter().zip([hosts, switches, node, between]).collect()
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
        // A link with both directions counts by the direction from the lower vertex; a link with one counts as it is.
        let cable = |c: &Channel| network.from(*c) < network.to(*c) || network.reverse(*c).is_none();
        pieces.insert(kind, channels().filter(|&c| role(c) == wanted).filter(cable).count() as u64);
    }
    pieces
}
