//! GPU fabrics with rails: GPU i of every host on rail i, a scale-up network inside each host.
//!
//! Rails that stand apart (rail-only) do not meet outside the hosts. Traffic to another rail goes over the scale-up
//! network to the host's GPU on the right rail. From its memory it goes on by that GPU's host bus and NIC, and arrives
//! at its GPU. A GPU's memory therefore has links to the scale-up network and one to its NIC, whose receiving side
//! delivers to the GPU itself. Scale-up traffic crosses no host bus.
//!
//! Rails that are joined (rail-optimised) share their spines, or beyond those cores. Then a GPU has its NIC for itself:
//! traffic to another rail of another host goes through the switches.
//!
//! Hosts are built whole, so the fabric may have more nodes than asked for. All levels have full bisection, but for the
//! leaves of an oversubscription above 1. Rails apart are one switch each where that suffices. Where leaves are too many
//! for spines above all of them, they stand in groups, each with its own spines. Cores then join the groups: those of
//! one rail, or of all joined rails.

use super::switches::{MAX_PORTS, RADIX, check_ratio, leaf_ports, ratios};
use super::{
    Registered, Shape, Topology, TopologySpec, add_tier, check_channels, check_range, fewest, invalid, sharing,
};
use crate::error::BuildError;
use crate::network::{Builder, Network, Vertex};
use crate::sheet::Table;
use crate::terms::Role;

/// The registry's entry.
pub(crate) const ENTRY: Registered =
    Registered { kind: "rail", meaning: "GPU i of every host on rail i, a scale-up network inside each host", read };

/// GPU fabric with rails: GPU i of every host on rail i's leaf switches.
#[derive(Clone, Debug, PartialEq)]
pub struct Rail {
    /// GPUs (and NICs, and rails) in a host.
    pub gpus_per_host: u32,
    /// Ports of a leaf, spine or core switch.
    pub radix: u32,
    /// Whether rails meet in spines or cores.
    pub joined: bool,
    /// Whether each GPU has a link to each other of its host, in place of links to a scale-up switch.
    pub mesh: bool,
    /// Ports of a leaf to hosts over its ports up, where its rail has more than one switch: 1 is full bisection.
    pub oversubscription: f64,
}

fn read(table: &Table<'_>) -> Option<TopologySpec> {
    let (gpus_per_host, radix) = (table.count("gpus_per_host", 1..=256), table.count("radix", RADIX));
    let word = |key, no, yes| if table.has(key) { table.choice(key, &[(no, false), (yes, true)]) } else { Some(false) };
    let (joined, mesh) = (word("rails", "apart", "joined"), word("scale_up", "switch", "mesh"));
    let oversubscription = table.number_opt("oversubscription", ratios(radix.unwrap_or(MAX_PORTS))).unwrap_or(1.0);
    let rail = Rail { gpus_per_host: gpus_per_host?, radix: radix?, joined: joined?, mesh: mesh?, oversubscription };
    if rail.joined && rail.radix < rail.gpus_per_host {
        let what = format!("{} rails meet in a switch of {} ports", rail.gpus_per_host, rail.radix);
        table.wrong("radix", what, format!("a whole number {} to {}", rail.gpus_per_host, RADIX.end()));
    }
    Some(TopologySpec::new(rail))
}

impl Rail {
    /// Rails that stand apart, and a scale-up switch in each host.
    pub fn apart(gpus_per_host: u32, radix: u32) -> Rail {
        Rail { gpus_per_host, radix, joined: false, mesh: false, oversubscription: 1.0 }
    }
}

impl Topology for Rail {
    fn kind(&self) -> &'static str {
        ENTRY.kind
    }
    fn build(&self, nodes: u32) -> Result<(Network, Shape), BuildError> {
        build(nodes, self, None)
    }
    fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = vec![("gpus_per_host", self.gpus_per_host.to_string()), ("radix", self.radix.to_string())];
        fields.extend(self.joined.then(|| ("rails", "\"joined\"".to_owned())));
        fields.extend(self.mesh.then(|| ("scale_up", "\"mesh\"".to_owned())));
        let ratio = toml::Value::Float(self.oversubscription).to_string();
        fields.extend((self.oversubscription != 1.0).then_some(("oversubscription", ratio)));
        fields
    }
}

/// Switches that combine and copy data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reducing {
    /// Those of the scale-up networks.
    ScaleUp,
    /// Leaves, then spines, then cores, as their tiers follow one another.
    Rails,
    /// The former, then the latter.
    All,
}

/// The same with a node more, after the GPUs, at each of these switches: the switch itself.
#[derive(Clone, Debug, PartialEq)]
pub struct ReducingRail(pub Rail, pub Reducing);

impl Topology for ReducingRail {
    fn kind(&self) -> &'static str {
        ENTRY.kind
    }
    fn build(&self, nodes: u32) -> Result<(Network, Shape), BuildError> {
        build(nodes, &self.0, Some(self.1))
    }
    fn fields(&self) -> Vec<(&'static str, String)> {
        self.0.fields()
    }
}

/// Switches of each rail, and cores above them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RailLevels {
    /// Hosts on a leaf.
    pub held: u32,
    /// Links of a leaf to its spines.
    pub leaf_up: u32,
    /// Leaves of a rail.
    pub leaves: u32,
    /// Groups of a rail's leaves under spines of their own.
    pub groups: u32,
    /// Spines of a group; of all rails together where these are joined by spines.
    pub spines: u32,
    /// Cores for each spine of a group: of a rail, or of all rails where these are joined.
    pub cores: u32,
    /// Links of a spine to its cores.
    pub spine_up: u32,
}

impl Rail {
    /// GPUs that the rails hold.
    pub fn most(&self) -> u64 {
        let meet = if self.joined { self.gpus_per_host } else { 1 };
        let down = leaf_ports(self.radix, self.oversubscription)[0];
        let counts = [self.gpus_per_host, self.radix / meet, self.radix / 2, down];
        counts.into_iter().map(u64::from).product()
    }

    /// The switches for so many hosts.
    ///
    /// # Errors
    /// More hosts than the rails hold.
    pub fn levels(&self, hosts: u32) -> Result<RailLevels, BuildError> {
        let (rails, radix, half) = (self.gpus_per_host, self.radix, self.radix / 2);
        let single = hosts <= radix && !self.joined;
        let [down, up] = leaf_ports(radix, self.oversubscription);
        let [held, leaf_up] = if single { [radix, 0] } else { [down, up] };
        let leaves = hosts.div_ceil(held);
        // Rails that meet in spines, or in cores.
        let meet = if self.joined { rails } else { 1 };
        let two = RailLevels { held, leaf_up, leaves, groups: 1, spines: 0, cores: 0, spine_up: 0 };
        if single {
            return Ok(two);
        }
        if u64::from(leaves) * u64::from(meet) <= u64::from(radix) {
            return Ok(RailLevels { spines: fewest(leaves * meet, up, radix), ..two });
        }
        let (groups, most) = (leaves.div_ceil(half), radix / meet);
        if groups <= most {
            // Spines of groups that are not full have as many links up as down, or more where that saves cores.
            let in_group = leaves.div_ceil(groups);
            let spines = sharing(in_group, up, half);
            let choices = (in_group * up / spines..=half).map(|up| (sharing(groups * meet, up, radix), up));
            let (cores, spine_up) = choices.min().unwrap_or((half, half));
            return Ok(RailLevels { groups, spines, cores, spine_up, ..two });
        }
        let (nodes, most) = (u64::from(hosts) * u64::from(rails), self.most());
        Err(invalid(format!("{nodes} GPUs: rails of leaves, spines and cores with {radix} ports hold {most}")))
    }
}

/// Builds the fabric; `nodes` are GPUs, rounded up to whole hosts.
fn build(nodes: u32, rail: &Rail, reducing: Option<Reducing>) -> Result<(Network, Shape), BuildError> {
    let &Rail { gpus_per_host: gpus, radix, joined, mesh, oversubscription } = rail;
    check_range("gpus_per_host", gpus, 1..=256)?;
    check_range("radix", radix, RADIX)?;
    check_ratio(oversubscription, radix)?;
    let hosts = nodes.div_ceil(gpus);
    let nodes = hosts * gpus;
    let RailLevels { held, leaf_up, leaves, groups, spines, cores, spine_up } = rail.levels(hosts)?;
    let rails = gpus;
    // Spines above one leaf are those of all rails, of its rail, or of its group.
    let groups_of_all = if joined && cores == 0 { 1 } else { rails * groups };
    let (all_spines, in_group) = (groups_of_all * spines, leaves.div_ceil(groups));
    let all_cores = if joined { 1 } else { rails } * spines * cores;
    let upward = u64::from(leaf_up) * u64::from(rails * leaves) + u64::from(spine_up) * u64::from(all_spines);
    check_channels(u64::from(nodes) * if mesh { u64::from(gpus) + 5 } else { 8 } + 2 * upward)?;
    let switches = if mesh { 0 } else { hosts };
    let reducers = match reducing {
        None => 0,
        Some(Reducing::ScaleUp) => switches,
        Some(Reducing::Rails) => rails * leaves + all_spines + all_cores,
        Some(Reducing::All) => switches + rails * leaves + all_spines + all_cores,
    };
    let mut b = Builder::new(nodes + reducers);
    let mut tiers = Vec::new();
    let memory = add_tier(&mut b, &mut tiers, "memory of GPU", nodes, 0, Role::Internal);
    let scale_up = add_tier(&mut b, &mut tiers, "scale-up switch", switches, 1, Role::Internal);
    let leaf = add_tier(&mut b, &mut tiers, "rail leaf", rails * leaves, 1, Role::Switch);
    let spine = add_tier(&mut b, &mut tiers, "rail spine", all_spines, 2, Role::Switch);
    let core = add_tier(&mut b, &mut tiers, "core", all_cores, 3, Role::Switch);
    let sender = add_tier(&mut b, &mut tiers, "sending NIC", nodes, 0, Role::Nic);
    let receiver = add_tier(&mut b, &mut tiers, "receiving NIC", nodes, 0, Role::Nic);
    for node in 0..nodes {
        let (host, rail) = (node / gpus, node % gpus);
        let own_memory = Vertex(memory.0 + node);
        let own_leaf = Vertex(leaf.0 + rail * leaves + host / held);
        b.link(Vertex(node), own_memory, Role::Internal);
        if mesh {
            let later = node + 1..(host + 1) * gpus;
            later.for_each(|other| b.link(own_memory, Vertex(memory.0 + other), Role::LocalLink));
        } else {
            b.link(own_memory, Vertex(scale_up.0 + host), Role::LocalLink);
        }
        b.channel(if joined { Vertex(node) } else { own_memory }, Vertex(sender.0 + node), Role::HostBus);
        b.channel(Vertex(sender.0 + node), own_leaf, Role::Link);
        b.channel(own_leaf, Vertex(receiver.0 + node), Role::Link);
        b.channel(Vertex(receiver.0 + node), Vertex(node), Role::HostBus);
    }
    let first = if reducing == Some(Reducing::Rails) { leaf.0 } else { scale_up.0 };
    (0..reducers).for_each(|at| b.link(Vertex(nodes + at), Vertex(first + at), Role::Internal));
    for l in (0..rails * leaves).filter(|_| spines > 0) {
        let group = (l / leaves * groups + l % leaves / in_group) % groups_of_all;
        for port in 0..leaf_up {
            b.link(Vertex(leaf.0 + l), Vertex(spine.0 + group * spines + port % spines), Role::SwitchLink);
        }
    }
    for s in (0..all_spines).filter(|_| cores > 0) {
        let plane = s % spines + if joined { 0 } else { s / (groups * spines) * spines };
        for port in 0..spine_up {
            b.link(Vertex(spine.0 + s), Vertex(core.0 + plane * cores + port % cores), Role::SwitchLink);
        }
    }
    Ok((b.build(), Shape::Tiers(tiers)))
}
