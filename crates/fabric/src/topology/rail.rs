//! Rail-optimised GPU fabrics: GPU i of every host on rail i, a scale-up switch inside each host.
//!
//! Rails do not meet outside the hosts. Traffic to another rail goes over the scale-up switch into the memory of the
//! host's GPU on the right rail, and on from there by that GPU's host bus and NIC; at the far end it arrives at its GPU.
//! Hence a GPU's memory has links both ways to the scale-up switch and one to its NIC, whose receiving side delivers to
//! the GPU itself; and scale-up traffic crosses no host bus.
//! Hosts are built whole, so the fabric may have more nodes than asked for. A rail is one switch where that suffices, else leaves and spines at full bisection.

use super::switches::MAX_PORTS;
use super::{Registered, Shape, Topology, TopologySpec, add_tier, check_range, invalid};
use crate::error::BuildError;
use crate::network::{Builder, Network, Vertex};
use crate::sheet::Table;
use crate::terms::Role;

/// The registry's entry.
pub(crate) const ENTRY: Registered =
    Registered { kind: "rail", meaning: "GPU i of every host on rail i, a scale-up switch inside each host", read };

/// Rail-optimised GPU fabric: GPU i of every host on rail i's leaf switches; a scale-up switch inside each host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rail {
    /// GPUs (and NICs, and rails) in a host.
    pub gpus_per_host: u32,
    /// Ports of a leaf or spine switch.
    pub radix: u32,
}

fn read(table: &Table<'_>) -> Option<TopologySpec> {
    let (gpus_per_host, radix) = (table.count("gpus_per_host", 1..=256), table.count("radix", 2..=65_536));
    Some(TopologySpec::new(Rail { gpus_per_host: gpus_per_host?, radix: radix? }))
}

impl Topology for Rail {
    fn kind(&self) -> &'static str {
        ENTRY.kind
    }
    fn build(&self, nodes: u32) -> Result<(Network, Shape), BuildError> {
        build(nodes, self.gpus_per_host, self.radix, false)
    }
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![("gpus_per_host", self.gpus_per_host.to_string()), ("radix", self.radix.to_string())]
    }
}

/// The same with a node more at each scale-up switch, after the GPUs: the switch itself, which combines and copies data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReducingRail(pub Rail);

impl Topology for ReducingRail {
    fn kind(&self) -> &'static str {
        ENTRY.kind
    }
    fn build(&self, nodes: u32) -> Result<(Network, Shape), BuildError> {
        build(nodes, self.0.gpus_per_host, self.0.radix, true)
    }
    fn fields(&self) -> Vec<(&'static str, String)> {
        self.0.fields()
    }
}

/// Builds the fabric; `nodes` are GPUs, rounded up to whole hosts.
fn build(nodes: u32, gpus: u32, radix: u32, switches_too: bool) -> Result<(Network, Shape), BuildError> {
    check_range("gpus_per_host", gpus, 1..=256)?;
    check_range("radix", radix, 2..=MAX_PORTS)?;
    let hosts = nodes.div_ceil(gpus);
    let nodes = hosts * gpus;
    let half = radix / 2;
    let single = hosts <= radix;
    let held = if single { radix } else { half };
    let leaves = hosts.div_ceil(held);
    if leaves > radix {
        let most = u64::from(gpus) * u64::from(radix) * u64::from(half);
        return Err(invalid(format!("{nodes} GPUs: rails of leaves and spines with {radix} ports hold {most}")));
    }
    let least = (leaves * half).div_ceil(radix).max(1);
    let spines = if single { 0 } else { (least..=half).find(|&s| half.is_multiple_of(s)).unwrap_or(half) };
    let rails = gpus;
    let mut b = Builder::new(nodes + if switches_too { hosts } else { 0 });
    let mut tiers = Vec::new();
    let memory = add_tier(&mut b, &mut tiers, "memory of GPU", nodes, 0, Role::Internal);
    let scale_up = add_tier(&mut b, &mut tiers, "scale-up switch", hosts, 1, Role::Internal);
    let leaf = add_tier(&mut b, &mut tiers, "rail leaf", rails * leaves, 1, Role::Switch);
    let spine = add_tier(&mut b, &mut tiers, "rail spine", rails * spines, 2, Role::Switch);
    let sender = add_tier(&mut b, &mut tiers, "sending NIC", nodes, 0, Role::Nic);
    let receiver = add_tier(&mut b, &mut tiers, "receiving NIC", nodes, 0, Role::Nic);
    for node in 0..nodes {
        let (host, rail) = (node / gpus, node % gpus);
        let own_memory = Vertex(memory.0 + node);
        let own_leaf = Vertex(leaf.0 + rail * leaves + host / held);
        b.link(Vertex(node), own_memory, Role::Internal);
        b.link(own_memory, Vertex(scale_up.0 + host), Role::LocalLink);
        b.channel(own_memory, Vertex(sender.0 + node), Role::HostBus);
        b.channel(Vertex(sender.0 + node), own_leaf, Role::Link);
        b.channel(own_leaf, Vertex(receiver.0 + node), Role::Link);
        b.channel(Vertex(receiver.0 + node), Vertex(node), Role::HostBus);
    }
    for host in (0..hosts).filter(|_| switches_too) {
        b.link(Vertex(nodes + host), Vertex(scale_up.0 + host), Role::Internal);
    }
    for l in (0..rails * leaves).filter(|_| !single) {
        for port in 0..half {
            b.link(Vertex(leaf.0 + l), Vertex(spine.0 + l / leaves * spines + port % spines), Role::SwitchLink);
        }
    }
    Ok((b.build(), Shape::Tiers(tiers)))
}
