//! What the channels around a part of the network carry together, for any paths through it.

use crate::load::{Bounds, RoleBound};
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Node, Resource, Vertex};
use hotlink_fabric::spec::Capacities;
use hotlink_fabric::traffic::Demand;
use std::collections::BTreeMap;

/// All channels out of a group, or all into it.
#[derive(Default)]
struct Cut {
    channels: Vec<Channel>,
    /// Payload rate of all of them; `None` once one of them has no limit.
    mbps: Option<f64>,
    /// What must cross it.
    load: f64,
}

impl Bounds {
    /// The same where packets may take any path. It counts what nodes' own devices and links allow, and what leaves or
    /// enters each of the groups that detours use.
    #[must_use]
    pub fn of_any_way(self, fabric: &Fabric, demand: &Demand, capacities: Capacities) -> Bounds {
        let tightest = self.tightest(fabric, demand, capacities);
        let mut ends = self.at_the_ends();
        let Some(cut) = tightest.filter(|cut| cut.bandwidth_per_node_mbps < Some(ends.bandwidth_per_node_mbps)) else {
            return ends;
        };
        ends.limit = Some(ends.roles.len());
        ends.bandwidth_per_node_mbps = cut.bandwidth_per_node_mbps.unwrap_or(f64::INFINITY);
        ends.roles.push(cut);
        ends
    }

    fn tightest(&self, fabric: &Fabric, demand: &Demand, capacities: Capacities) -> Option<RoleBound> {
        let bound = |cut: Cut| {
            let (mbps, first, sharing) = (cut.mbps?, *cut.channels.first()?, cut.channels.len());
            let (role, each) = (fabric.network.channel_role[first.0 as usize], cut.load / sharing as f64);
            let allowed = (cut.load > 0.0).then(|| mbps * self.flow_per_node / cut.load)?;
            Some(RoleBound {
                role,
                name: fabric.role_name(role),
                resources: sharing,
                hottest_load: each,
                hottest: Resource::Channel(first),
                sharing,
                average_load: each,
                payload_mbps: Some(mbps / sharing as f64),
                bandwidth_per_node_mbps: Some(allowed),
                average_bandwidth_per_node_mbps: Some(allowed),
            })
        };
        let all = cuts(fabric, demand, capacities, self.efficiency).into_iter().filter_map(bound);
        let allowed = |cut: &RoleBound| cut.bandwidth_per_node_mbps.unwrap_or(f64::INFINITY);
        all.min_by(|a, b| allowed(a).total_cmp(&allowed(b)))
    }
}

/// The channels out of each group and into it, with what crosses them at the least.
fn cuts(fabric: &Fabric, demand: &Demand, capacities: Capacities, efficiency: f64) -> Vec<Cut> {
    let network = &fabric.network;
    let group = |vertex: Vertex| (!network.is_node(vertex)).then(|| fabric.routing.group_of(vertex));
    // Out of a group and into it, by its number.
    let mut cuts: BTreeMap<(u32, bool), Cut> = BTreeMap::new();
    for channel in (0..network.channels() as u32).map(Channel) {
        let (Some(from), Some(to)) = (group(network.from(channel)), group(network.to(channel))) else { continue };
        if from == to {
            continue;
        }
        let mbps = fabric.payload_mbps(Resource::Channel(channel), capacities, efficiency);
        for key in [(from, true), (to, false)] {
            let cut = cuts.entry(key).or_insert(Cut { mbps: Some(0.0), ..Cut::default() });
            cut.channels.push(channel);
            cut.mbps = cut.mbps.zip(mbps).map(|(sum, one)| sum + one);
        }
    }
    let of = |node: Node| group(fabric.attachment.home[node.0 as usize]);
    let mut nodes: BTreeMap<u32, u32> = BTreeMap::new();
    network.node_iter().filter_map(of).for_each(|group| *nodes.entry(group).or_default() += 1);
    let all: u32 = nodes.values().sum();
    for ((group, _), cut) in &mut cuts {
        let inside = nodes.get(group).copied().unwrap_or(0);
        cut.load = demand.all_pairs * f64::from(inside) * f64::from(all - inside);
    }
    for flow in &demand.flows {
        let (Some(from), Some(to)) = (of(flow.source), of(flow.destination)) else { continue };
        for key in [(from, true), (to, false)].into_iter().filter(|_| from != to) {
            if let Some(cut) = cuts.get_mut(&key) {
                cut.load += flow.amount;
            }
        }
    }
    cuts.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limited;
    use hotlink_fabric::catalog::Library;
    use hotlink_fabric::traffic::Traffic;

    /// Bandwidth per node for packets that may take any way, and by minimal routes.
    fn bounds(nodes: u32, traffic: &str) -> [f64; 2] {
        let spec = Library::embedded().fabric("slingshot-dragonfly").expect("in the catalog").spec;
        let fabric = Fabric::build(&spec, nodes).expect("builds");
        let traffic: Traffic = traffic.parse().expect("a pattern");
        let demand = traffic.on(&fabric).demand(fabric.nodes(), 1).expect("a demand");
        let load = hotlink_load::count(&fabric, &demand).expect("counts");
        let bounds = load.bounds(&fabric, Capacities::Theoretical, 4096);
        let any = bounds.clone().of_any_way(&fabric, &demand, Capacities::Theoretical);
        [any.bandwidth_per_node_mbps, bounds.bandwidth_per_node_mbps]
    }

    #[test]
    fn a_cut_holds_what_leaves_a_group() {
        let [any, minimal] = bounds(2048, "permutation:group-shift");
        assert!(any > minimal, "other groups carry some of it: {any} over {minimal}");
        // With two groups, all channels of one lead to the other: there is no other path.
        let [any, minimal] = bounds(1024, "permutation:shift:512");
        assert!(any <= minimal * (1.0 + 1e-9), "{any} over {minimal}");
    }
}
