//! Small networks of crossbars: M02's linear array, ring and Clos64, a single crossbar, and a machine's memory.
//!
//! Nodes fill switches in order: a switch is full before the next one gets nodes. `groups` gives the nodes on each
//! switch of a line or ring that its ports do not decide: uneven groups, and switches filled in part.

use super::{PORTS, Registered, Shape, Tier, Topology, TopologySpec, add_tier, check_channels, check_range, invalid};
use crate::error::BuildError;
use crate::network::{Builder, Network, Vertex};
use crate::sheet::Table;
use crate::terms::{ItemKind, Role};
use std::collections::BTreeMap;

type Built = Result<(Network, Shape), BuildError>;

/// Most ports of a switch.
pub const MAX_PORTS: u32 = 4096;
/// Ports of a switch in a tree or rail.
pub(super) const RADIX: std::ops::RangeInclusive<u32> = 2..=MAX_PORTS;
/// Oversubscriptions that a leaf of so many ports may have.
pub(super) fn ratios(radix: u32) -> std::ops::RangeInclusive<f64> {
    1.0 / 64.0..=f64::from(radix)
}
/// Refuses an oversubscription that a leaf of so many ports cannot have.
pub(super) fn check_ratio(oversubscription: f64, radix: u32) -> Result<(), BuildError> {
    match ratios(radix).contains(&oversubscription) {
        true => Ok(()),
        false => Err(invalid(format!("oversubscription = {oversubscription}: must be 1/64 to the radix, {radix}"))),
    }
}
/// Ports of a leaf to nodes, no more than the oversubscription allows, and its ports up. Of an odd number, one stays free.
pub(super) fn leaf_ports(radix: u32, oversubscription: f64) -> [u32; 2] {
    let even = radix / 2 * 2;
    let down = ((f64::from(even) * oversubscription / (1.0 + oversubscription)) as u32).clamp(1, even.max(2) - 1);
    [down, even.max(2) - down]
}
/// Ports of a switch in a line or ring.
const CHAINED: std::ops::RangeInclusive<u32> = 3..=MAX_PORTS;

/// Entries of the registry.
pub(crate) const ARRAY: Registered =
    Registered { kind: "switch-array", meaning: "switches in a line", read: read_array };
pub(crate) const RING: Registered = Registered { kind: "switch-ring", meaning: "switches in a ring", read: read_ring };
pub(crate) const CLOS64: Registered = Registered {
    kind: "clos64",
    meaning: "Myricom's enclosures of 64 nodes, one or two",
    read: |_| Some(TopologySpec::new(Clos64)),
};
pub(crate) const CROSSBAR: Registered = Registered {
    kind: "crossbar",
    meaning: "one switch",
    read: |table| Some(TopologySpec::new(Crossbar { ports: table.count("ports", PORTS)? })),
};
pub(crate) const SHARED: Registered = Registered {
    kind: "shared",
    meaning: "processes of one machine on its memory",
    read: |_| Some(TopologySpec::new(Shared)),
};

/// Switches in a line (M02's minimally connected Myrinet).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchArray {
    /// Ports of a switch.
    pub ports: u32,
    /// Parallel links between neighbours.
    pub links: u32,
    /// Nodes on each switch, in order; empty: as many as its ports hold.
    pub groups: Vec<u32>,
}

/// Switches in a ring (M02's ring of switches with n links).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchRing {
    /// Ports of a switch.
    pub ports: u32,
    /// n.
    pub links: u32,
    /// `false`: n links between each adjacent pair (2n switch ports); `true`: n switch ports in all.
    pub links_per_switch: bool,
    /// Nodes on each switch, in order; empty: as many as its ports hold.
    pub groups: Vec<u32>,
}

/// Myricom's Clos64 enclosures: 8 leaf crossbars of 8 nodes, 8 spine crossbars; two enclosures join spine to spine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clos64;

/// One crossbar for all nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crossbar {
    /// Most nodes it holds.
    pub ports: u32,
}

/// Nodes are processes of one machine on a shared memory system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared;

fn read_array(table: &Table<'_>) -> Option<TopologySpec> {
    let (ports, links, groups) = read_switches(table)?;
    Some(TopologySpec::new(SwitchArray { ports, links, groups }))
}

fn read_ring(table: &Table<'_>) -> Option<TopologySpec> {
    let links_per_switch = table.flag_opt("links_per_switch").unwrap_or(false);
    let (ports, links, groups) = read_switches(table)?;
    if links_per_switch && links % 2 == 1 {
        table.wrong("links", "with links_per_switch, half go each way", "an even number");
    }
    Some(TopologySpec::new(SwitchRing { ports, links, links_per_switch, groups }))
}

/// Ports and links of a switch that needs `links` ports on each side and one for a node; nodes on each switch.
fn read_switches(table: &Table<'_>) -> Option<(u32, u32, Vec<u32>)> {
    let ports = table.count("ports", CHAINED);
    // As many on each side leave a port for a node.
    let links = table.count("links", 1..=(ports.unwrap_or(MAX_PORTS) - 1) / 2);
    let groups = table.counts_opt("groups", PORTS);
    if groups.is_none() && table.has("groups") {
        table.wrong("groups", "is no list of the nodes on each switch", "whole numbers, such as [12, 4, 8]");
    }
    Some((ports?, links?, groups.unwrap_or_default()))
}

/// What does in a line or ring what a key does in a tree.
fn like(key: &str, asked: f64, links: u32) -> Option<(&'static str, f64)> {
    match key {
        "radix" => Some(("ports", asked)),
        "oversubscription" if links > 1 => Some(("links", f64::from(links) / asked)),
        _ => None,
    }
}

impl Topology for SwitchArray {
    fn kind(&self) -> &'static str {
        ARRAY.kind
    }
    fn build(&self, nodes: u32) -> Built {
        array(nodes, self.ports, self.links, &self.groups)
    }
    fn fields(&self) -> Vec<(&'static str, String)> {
        with_groups(vec![("ports", self.ports.to_string()), ("links", self.links.to_string())], &self.groups)
    }
    fn like(&self, key: &str, asked: f64) -> Option<(&'static str, f64)> {
        like(key, asked, self.links)
    }
}

impl Topology for SwitchRing {
    fn kind(&self) -> &'static str {
        RING.kind
    }
    fn has_circles(&self) -> bool {
        true
    }
    fn build(&self, nodes: u32) -> Built {
        ring(nodes, self)
    }
    fn fields(&self) -> Vec<(&'static str, String)> {
        let per_switch = self.links_per_switch.to_string();
        let counts = [("ports", self.ports.to_string()), ("links", self.links.to_string())];
        with_groups(counts.into_iter().chain([("links_per_switch", per_switch)]).collect(), &self.groups)
    }
    fn like(&self, key: &str, asked: f64) -> Option<(&'static str, f64)> {
        like(key, asked, self.links)
    }
}

impl Topology for Clos64 {
    fn kind(&self) -> &'static str {
        CLOS64.kind
    }
    fn build(&self, nodes: u32) -> Built {
        clos64(nodes)
    }
    fn fields(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
    /// Crossbars and the cables among them come inside their enclosures.
    fn bought(&self, mut counted: BTreeMap<ItemKind, u64>, nodes: u32) -> BTreeMap<ItemKind, u64> {
        counted.remove(&ItemKind::Switch);
        counted.remove(&ItemKind::CableSwitch);
        counted.insert(ItemKind::Enclosure, u64::from(nodes.div_ceil(64)));
        counted
    }
}

impl Topology for Crossbar {
    fn kind(&self) -> &'static str {
        CROSSBAR.kind
    }
    fn build(&self, nodes: u32) -> Built {
        crossbar(nodes, self.ports)
    }
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![("ports", self.ports.to_string())]
    }
}

impl Topology for Shared {
    fn kind(&self) -> &'static str {
        SHARED.kind
    }
    fn build(&self, nodes: u32) -> Built {
        Ok(shared(nodes))
    }
    fn fields(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
    /// Processes of one machine need nothing.
    fn bought(&self, _: BTreeMap<ItemKind, u64>, _: u32) -> BTreeMap<ItemKind, u64> {
        BTreeMap::new()
    }
}

/// Starts a network of `switches` switches and joins nodes to them, `capacity(switch)` to each.
fn packed(nodes: u32, switches: u32, capacity: impl Fn(u32) -> u32) -> (Builder, Vertex, Vec<Tier>) {
    let mut b = Builder::new(nodes);
    let mut tiers = Vec::new();
    let first = add_tier(&mut b, &mut tiers, "switch", switches, 0, Role::Switch);
    join(&mut b, nodes, switches, first, capacity);
    (b, first, tiers)
}

fn join(b: &mut Builder, nodes: u32, switches: u32, first: Vertex, capacity: impl Fn(u32) -> u32) {
    let mut node = 0;
    for switch in 0..switches {
        for _ in 0..capacity(switch).min(nodes - node) {
            b.link(Vertex(node), Vertex(first.0 + switch), Role::Link);
            node += 1;
        }
    }
    debug_assert_eq!(node, nodes, "the switches hold all nodes");
}

/// The parameters of a topology, with the nodes on each switch where these are stated.
fn with_groups(mut fields: Vec<(&'static str, String)>, groups: &[u32]) -> Vec<(&'static str, String)> {
    fields.extend((!groups.is_empty()).then(|| ("groups", format!("{groups:?}"))));
    fields
}

/// How many of the stated groups `nodes` nodes fill, in order. Each group leaves its switch the ports that `used` gives
/// for that many switches and this one.
fn filled(nodes: u32, ports: u32, groups: &[u32], used: impl Fn(u32, u32) -> u32) -> Result<u32, BuildError> {
    let held = groups.iter().scan(0, |sum, &group| {
        *sum += u64::from(group);
        Some(*sum)
    });
    let Some(last) = held.clone().position(|held| held >= u64::from(nodes)) else {
        return Err(invalid(format!("{nodes} nodes: groups = {groups:?} hold {}", held.last().unwrap_or(0))));
    };
    let switches = last as u32 + 1;
    for (switch, &group) in (0..switches).zip(groups) {
        let most = ports.saturating_sub(used(switches, switch));
        if group > most {
            let what =
                format!("groups = {groups:?}: switch {switch} has {most} ports for nodes, and {group} are on it");
            return Err(invalid(what));
        }
    }
    Ok(switches)
}

/// Switches in a line with `links` links between neighbours (M02's minimally connected Myrinet): as few as hold the
/// nodes. One holds `ports`, two hold `2 (ports - links)`, every further one `ports - 2 links` more.
fn array(nodes: u32, ports: u32, links: u32, groups: &[u32]) -> Built {
    check_range("ports", ports, CHAINED)?;
    check_range("links", links, 1..=(ports - 1) / 2)?;
    let inner = ports.saturating_sub(2 * links);
    let used = |switches: u32, s: u32| links * (u32::from(s > 0) + u32::from(s + 1 < switches));
    let switches = match nodes {
        n if !groups.is_empty() => filled(n, ports, groups, used)?,
        n if n <= ports => 1,
        n if n <= 2 * (ports - links) => 2,
        n if inner > 0 => 2 + (n - 2 * (ports - links)).div_ceil(inner),
        n => {
            return Err(invalid(format!(
                "{n} nodes: switches with {ports} ports and {links} links hold {}",
                2 * (ports - links)
            )));
        }
    };
    check_channels(2 * (u64::from(switches) * u64::from(links) + u64::from(nodes)))?;
    let held = |s: u32| groups.get(s as usize).copied().unwrap_or(ports - used(switches, s));
    let (mut b, first, tiers) = packed(nodes, switches, held);
    for s in 1..switches {
        for _ in 0..links {
            b.link(Vertex(first.0 + s - 1), Vertex(first.0 + s), Role::SwitchLink);
        }
    }
    Ok((b.build(), Shape::Tiers(tiers)))
}

/// Switches in a ring: `links` links between each adjacent pair, or `links` switch ports in all. Two switches are one
/// adjacent pair, joined by `links` links under either reading. One switch alone uses all ports for nodes.
fn ring(nodes: u32, of: &SwitchRing) -> Built {
    let &SwitchRing { ports, links, links_per_switch, ref groups } = of;
    check_range("ports", ports, CHAINED)?;
    if links_per_switch && !links.is_multiple_of(2) {
        return Err(invalid(format!("links = {links} per switch: an even number, half of them to each neighbour")));
    }
    let between = if links_per_switch { links / 2 } else { links };
    check_range("links between neighbours", between, 1..=(ports - 1) / 2)?;
    let used = |switches: u32, _: u32| match switches {
        1 => 0,
        2 => links,
        _ => 2 * between,
    };
    let switches = match nodes {
        n if !groups.is_empty() => filled(n, ports, groups, used)?,
        n if n <= ports => 1,
        n if n <= 2 * (ports - links) => 2,
        n => n.div_ceil(ports - 2 * between),
    };
    check_channels(2 * (u64::from(switches) * u64::from(links) + u64::from(nodes)))?;
    let held = |s: u32| groups.get(s as usize).copied().unwrap_or(ports - used(switches, s));
    let (mut b, first, tiers) = packed(nodes, switches, held);
    let pairs: Vec<(u32, u32)> = match switches {
        1 => Vec::new(),
        2 => vec![(0, 1); links as usize],
        _ => (0..switches).flat_map(|s| vec![(s, (s + 1) % switches); between as usize]).collect(),
    };
    for (a, b_) in pairs {
        b.link(Vertex(first.0 + a), Vertex(first.0 + b_), Role::SwitchLink);
    }
    Ok((b.build(), Shape::Tiers(tiers)))
}

/// Myricom's Clos64 enclosures: 8 leaf crossbars with 8 nodes each under 8 spine crossbars. Two enclosures join spine to
/// spine by the spines' 8 free ports: 128 nodes.
fn clos64(nodes: u32) -> Built {
    if nodes > 128 {
        return Err(invalid(format!("{nodes} nodes: one Clos64 enclosure holds 64, two hold 128")));
    }
    let enclosures = nodes.div_ceil(64);
    let mut b = Builder::new(nodes);
    let mut tiers = Vec::new();
    let leaf = add_tier(&mut b, &mut tiers, "leaf", 8 * enclosures, 0, Role::Switch);
    let spine = add_tier(&mut b, &mut tiers, "spine", 8 * enclosures, 1, Role::Switch);
    join(&mut b, nodes, 8 * enclosures, leaf, |_| 8);
    for l in 0..8 * enclosures {
        for s in 0..8 {
            b.link(Vertex(leaf.0 + l), Vertex(spine.0 + l / 8 * 8 + s), Role::SwitchLink);
        }
    }
    for s in (0..8).filter(|_| enclosures == 2) {
        for _ in 0..8 {
            b.link(Vertex(spine.0 + s), Vertex(spine.0 + 8 + s), Role::GlobalLink);
        }
    }
    Ok((b.build(), Shape::Tiers(tiers)))
}

/// One crossbar.
fn crossbar(nodes: u32, ports: u32) -> Built {
    check_range("ports", ports, PORTS)?;
    if nodes > ports {
        return Err(invalid(format!("{nodes} nodes: the crossbar has {ports} ports")));
    }
    let (b, _, tiers) = packed(nodes, 1, |_| ports);
    Ok((b.build(), Shape::Tiers(tiers)))
}

/// Processes of one machine on its memory.
fn shared(nodes: u32) -> (Network, Shape) {
    let mut b = Builder::new(nodes);
    let mut tiers = Vec::new();
    let memory = add_tier(&mut b, &mut tiers, "memory", 1, 0, Role::Memory);
    join(&mut b, nodes, 1, memory, |_| nodes);
    (b.build(), Shape::Tiers(tiers))
}
