//! Small networks of crossbars: M02's linear array, ring and Clos64, a single crossbar, and a machine's memory.
//!
//! Nodes fill switches in order: a switch is full before the next one gets nodes.

use super::{Shape, Tier, add_tier, check_channels, check_range, invalid};
use crate::error::BuildError;
use crate::network::{Builder, Network, Vertex};
use crate::terms::Role;

type Built = Result<(Network, Shape), BuildError>;

/// Most ports of a switch.
pub const MAX_PORTS: u32 = 4096;

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

/// Switches in a line with `links` links between neighbours (M02's minimally connected Myrinet): as few as hold the
/// nodes. One holds `ports`, two hold `2 (ports - links)`, every further one `ports - 2 links` more.
pub(super) fn array(nodes: u32, ports: u32, links: u32) -> Built {
    check_range("ports", ports, 2..=MAX_PORTS)?;
    check_range("links", links, 1..=((ports - 1) / 2).max(1))?;
    let inner = ports.saturating_sub(2 * links);
    let switches = match nodes {
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
    let neighbours = |s: u32| u32::from(s > 0) + u32::from(s + 1 < switches);
    let (mut b, first, tiers) = packed(nodes, switches, |s| ports - links * neighbours(s));
    for s in 1..switches {
        for _ in 0..links {
            b.link(Vertex(first.0 + s - 1), Vertex(first.0 + s), Role::SwitchLink);
        }
    }
    Ok((b.build(), Shape::Tiers(tiers)))
}

/// Switches in a ring: `links` links between each adjacent pair, or `links` switch ports in all. Two switches are one
/// adjacent pair, joined by `links` links under either reading. One switch alone uses all ports for nodes.
pub(super) fn ring(nodes: u32, ports: u32, links: u32, links_per_switch: bool) -> Built {
    check_range("ports", ports, 3..=MAX_PORTS)?;
    if links_per_switch && !links.is_multiple_of(2) {
        return Err(invalid(format!("links = {links} per switch: an even number, half of them to each neighbour")));
    }
    let between = if links_per_switch { links / 2 } else { links };
    check_range("links between neighbours", between, 1..=(ports - 1) / 2)?;
    let (switches, held) = match nodes {
        n if n <= ports => (1, ports),
        n if n <= 2 * (ports - links) => (2, ports - links),
        n => (n.div_ceil(ports - 2 * between), ports - 2 * between),
    };
    check_channels(2 * (u64::from(switches) * u64::from(links) + u64::from(nodes)))?;
    let (mut b, first, tiers) = packed(nodes, switches, |_| held);
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
pub(super) fn clos64(nodes: u32) -> Built {
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
pub(super) fn crossbar(nodes: u32, ports: u32) -> Built {
    check_range("ports", ports, 1..=1 << 20)?;
    if nodes > ports {
        return Err(invalid(format!("{nodes} nodes: the crossbar has {ports} ports")));
    }
    let (b, _, tiers) = packed(nodes, 1, |_| ports);
    Ok((b.build(), Shape::Tiers(tiers)))
}

/// Processes of one machine on its memory.
pub(super) fn shared(nodes: u32) -> (Network, Shape) {
    let mut b = Builder::new(nodes);
    let mut tiers = Vec::new();
    let memory = add_tier(&mut b, &mut tiers, "memory", 1, 0, Role::Memory);
    join(&mut b, nodes, 1, memory, |_| nodes);
    (b.build(), Shape::Tiers(tiers))
}
