//! Hosts of several nodes (GPUs): what leaves them.

use crate::parts_along;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Node};
use hotlink_fabric::spec::Role;
use hotlink_fabric::traffic::Demand;

/// What each node sends to nodes of other hosts; `None` where each host is one node.
pub(crate) fn sent_out(fabric: &Fabric, demand: &Demand) -> Option<Vec<f64>> {
    let roles = &fabric.network.channel_role;
    if !roles.contains(&Role::LocalLink) {
        return None;
    }
    // The nodes of one host are joined by links within it.
    let inside = |channel: Channel| matches!(roles[channel.0 as usize], Role::LocalLink | Role::Internal);
    let hosts = parts_along(&fabric.network, inside);
    let (mut host_of, mut out) = (vec![0; demand.nodes as usize], vec![0.0; demand.nodes as usize]);
    for (host, nodes) in hosts.iter().enumerate() {
        for &Node(node) in nodes {
            host_of[node as usize] = host;
            out[node as usize] = demand.all_pairs * (f64::from(demand.nodes) - nodes.len() as f64);
        }
    }
    for flow in &demand.flows {
        let [from, to] = [flow.source, flow.destination].map(|node| node.0 as usize);
        if host_of[from] != host_of[to] {
            out[from] += flow.amount;
        }
    }
    Some(out)
}
