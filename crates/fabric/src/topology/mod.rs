//! Generators: from a description and a number of nodes to a network.
//!
//! Every generator checks its parameters and says what is allowed. [`Shape`] keeps what later stages need to know of
//! the layout: names, symmetry, levels.

pub mod cube;
pub mod dragonfly;
mod dragonfly_plus;
mod fat_tree;
mod graph;
pub mod hyperx;
mod rail;
mod slim_fly;
mod spec;
mod switches;

pub(crate) use crate::error::invalid;
use crate::error::{BuildError, MAX_NODES};
use crate::network::{Builder, Channel, Network, Vertex};
use crate::sheet::Table;
use crate::terms::{ItemKind, Role, RoutingSpec};
pub use cube::{Cube, CubeSpec, Extents};
pub use dragonfly::{Dragonfly, DragonflySpec};
pub use dragonfly_plus::DragonflyPlus;
pub use fat_tree::FatTree;
pub use graph::Graph;
pub use rail::{Rail, RailLevels, Reducing, ReducingRail};
pub use slim_fly::SlimFly;
pub use spec::TopologySpec;
use std::any::Any;
use std::collections::BTreeMap;
pub use switches::{Clos64, Crossbar, MAX_PORTS, Shared, SwitchArray, SwitchRing};

/// A topology in one file: everything that hotlink asks of one. To add a topology, implement this in a file of its own
/// and add its entry to `REGISTRY`.
pub trait Topology: Any + std::fmt::Debug + Send + Sync {
    /// Its `kind` in files.
    fn kind(&self) -> &'static str;
    /// The network for `nodes` nodes, and how it lies.
    ///
    /// # Errors
    /// It cannot hold that many, or its parameters contradict each other.
    fn build(&self, nodes: u32) -> Result<(Network, Shape), BuildError>;
    /// Routings that suit it.
    fn routings(&self) -> &'static [RoutingSpec] {
        &[RoutingSpec::ShortestEcmp, RoutingSpec::ShortestSingle, RoutingSpec::UpDown]
    }
    /// Whether shortest paths between its switches close circles, in which packets that hold buffers wait for each other.
    fn has_circles(&self) -> bool {
        false
    }
    /// Its parameters as a file states them.
    fn fields(&self) -> Vec<(&'static str, String)>;
    /// Ports that a switch of it needs (or a node that is its own router), where its parameters decide them.
    fn ports(&self) -> Option<u32> {
        let fields = self.fields();
        fields.iter().find(|(key, _)| ["radix", "ports"].contains(key)).and_then(|(_, ports)| ports.parse().ok())
    }
    /// The key and value with the effect of a tree's key, where the topology does not have that key. The tree's key is
    /// `oversubscription` or `radix`, with the value that is asked for.
    fn like(&self, key: &str, asked: f64) -> Option<(&'static str, f64)> {
        let has_ports = self.fields().iter().any(|(field, _)| *field == "ports");
        (key == "radix" && has_ports).then_some(("ports", asked))
    }
    /// Whether it is built in one size only, or from a file of its own.
    fn has_one_size(&self) -> bool {
        false
    }
    /// What a buyer pays for, of the `counted` devices and cables of a network of `nodes` nodes.
    fn bought(&self, counted: BTreeMap<ItemKind, u64>, nodes: u32) -> BTreeMap<ItemKind, u64> {
        let _ = nodes;
        counted
    }
}

/// How a topology is found and read.
#[derive(Debug)]
pub struct Registered {
    /// Its `kind` in files.
    pub kind: &'static str,
    /// What it is, in half a sentence.
    pub meaning: &'static str,
    /// Reads the rest of its `[topology]` table.
    pub(crate) read: fn(&Table<'_>) -> Option<TopologySpec>,
}

/// Every topology.
pub const REGISTRY: &[Registered] = &[
    cube::ENTRY,
    switches::ARRAY,
    switches::RING,
    switches::CLOS64,
    fat_tree::ENTRY,
    dragonfly::ENTRY,
    dragonfly_plus::ENTRY,
    rail::ENTRY,
    switches::CROSSBAR,
    switches::SHARED,
    graph::ENTRY,
    hyperx::ENTRY,
    slim_fly::ENTRY,
];

/// Most ports, links or dimensions in a file: enough for any device, small enough that products stay whole numbers.
const PORTS: std::ops::RangeInclusive<u32> = 1..=65_536;

/// What the vertices of a network are and how they lie.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Ring, torus, multicube.
    Cube(Cube),
    /// Switches in named tiers.
    Tiers(Vec<Tier>),
    /// Groups of routers.
    Dragonfly(Dragonfly),
    /// An imported graph: a name for each vertex.
    Named(Vec<String>),
    /// A site's cables: a name for each vertex and port numbers.
    Cabled(Cabled),
}

/// Names and ports of a site's devices.
#[derive(Clone, Debug, Default)]
pub struct Cabled {
    /// Name of each vertex.
    pub names: Vec<String>,
    /// For each channel, the port by which it leaves and the port by which it enters.
    pub ports: Vec<[u8; 2]>,
}

/// Consecutive vertices of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tier {
    /// What one is called: `leaf`, `spine`, `switch`.
    pub name: &'static str,
    /// First vertex.
    pub first: Vertex,
    /// How many.
    pub count: u32,
    /// Height above the nodes; up*/down* routing climbs towards higher levels.
    pub level: u32,
}

impl Shape {
    /// Name of a vertex whose role is called `role`.
    pub fn vertex_name(&self, network: &Network, vertex: Vertex, role: &str) -> String {
        if let Shape::Named(names) | Shape::Cabled(Cabled { names, .. }) = self {
            return names[vertex.0 as usize].clone();
        }
        if network.is_node(vertex) {
            return format!("node {}", vertex.0);
        }
        match self {
            Shape::Cube(cube) => cube.vertex_name(vertex, role),
            Shape::Dragonfly(dragonfly) => dragonfly.vertex_name(vertex),
            Shape::Tiers(tiers) => {
                let tier = tiers.iter().rfind(|tier| tier.first <= vertex);
                let Some(tier) = tier else { return format!("vertex {}", vertex.0) };
                let several = tiers.iter().filter(|other| other.name == tier.name).count() > 1;
                let name = if several { format!("{}{}", tier.name, tier.level) } else { tier.name.to_owned() };
                match tier.count {
                    1 => name,
                    _ => format!("{name} {}", vertex.0 - tier.first.0),
                }
            }
            Shape::Named(_) | Shape::Cabled(_) => unreachable!("handled above"),
        }
    }

    /// Name of a channel whose role is called `role`: role, ends, and its rank among parallel channels.
    pub fn channel_name(&self, network: &Network, channel: Channel, role: &str) -> String {
        if let Shape::Cube(cube) = self
            && let Some(name) = cube.ring_channel_name(network, channel, role)
        {
            return name;
        }
        let end = |v| self.vertex_name(network, v, &role_of_vertex(network, v));
        if let Shape::Cabled(Cabled { names, ports }) = self {
            let name = |v: Vertex| &names[v.0 as usize];
            let [from, to] = ports[channel.0 as usize];
            let ends = (name(network.from(channel)), name(network.to(channel)));
            return format!("{} port {from} -> {} port {to}", ends.0, ends.1);
        }
        let ends = format!("{} -> {}", end(network.from(channel)), end(network.to(channel)));
        match network.parallel(channel) {
            (rank, count) if count > 1 => format!("{role} {ends} #{}", rank + 1),
            _ => format!("{role} {ends}"),
        }
    }
}

fn role_of_vertex(network: &Network, vertex: Vertex) -> String {
    match network.vertex_role[vertex.0 as usize] {
        Role::BLink => "B-Link".to_owned(),
        Role::RingStop => "ring stop".to_owned(),
        _ => "router".to_owned(),
    }
}

/// Builds the network of `topology` for `nodes` nodes.
///
/// # Errors
/// See [`crate::Fabric::build`].
pub fn build(topology: &TopologySpec, nodes: u32) -> Result<(Network, Shape), BuildError> {
    if nodes == 0 || nodes > MAX_NODES {
        return Err(invalid(format!("{nodes} nodes: must be 1 to {MAX_NODES}")));
    }
    topology.build(nodes)
}

/// Adds a tier of devices to a network and to the list of tiers.
fn add_tier(b: &mut Builder, tiers: &mut Vec<Tier>, name: &'static str, count: u32, level: u32, role: Role) -> Vertex {
    let first = b.vertices(count, role);
    if count > 0 {
        tiers.push(Tier { name, first, count, level });
    }
    first
}

/// The switch that each node is on, by number, where nodes spread evenly. The first switches have one more, if any has.
fn spread(nodes: u32, switches: u32) -> impl Iterator<Item = (Vertex, u32)> {
    let each = move |switch: u32| nodes / switches + u32::from(switch < nodes % switches);
    let on = (0..switches).flat_map(move |switch| (0..each(switch)).map(move |_| switch));
    (0..).map(Vertex).zip(on)
}

/// The fewest switches with ports for all of the `up` links of each of `below` switches, dealt in turn.
fn fewest(below: u32, up: u32, ports: u32) -> u32 {
    let least = (u64::from(below) * u64::from(up)).div_ceil(ports.into()).max(1) as u32;
    (least..=up).find(|&s| u64::from(below) * u64::from(up.div_ceil(s)) <= u64::from(ports)).unwrap_or(up)
}

/// The same where each needs as many links as the others, since all have as many links further up.
fn sharing(below: u32, up: u32, ports: u32) -> u32 {
    let least = (u64::from(below) * u64::from(up)).div_ceil(ports.into()).max(1) as u32;
    (least..=up).find(|&s| up.is_multiple_of(s)).unwrap_or(up)
}

/// Most channels that a network is built with: a limit on memory (under 2 GiB).
const MAX_CHANNELS: u64 = 1 << 26;

/// Refuses a network of more than [`MAX_CHANNELS`].
pub(crate) fn check_channels(channels: u64) -> Result<(), BuildError> {
    match channels <= MAX_CHANNELS {
        true => Ok(()),
        false => Err(invalid(format!("about {channels} channels: at most {MAX_CHANNELS} are built"))),
    }
}

/// Refuses a parameter outside `allowed`.
pub(crate) fn check_range(name: &str, value: u32, allowed: std::ops::RangeInclusive<u32>) -> Result<(), BuildError> {
    match allowed.contains(&value) {
        true => Ok(()),
        false => Err(invalid(format!("{name} = {value}: must be {} to {}", allowed.start(), allowed.end()))),
    }
}
