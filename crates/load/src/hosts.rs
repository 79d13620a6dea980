//! Hosts of several nodes (GPUs): which nodes share one, and what leaves it.

use hotlink_fabric::Fabric;
use hotlink_fabric::network::Channel;
use hotlink_fabric::spec::Role;
use hotlink_fabric::traffic::Demand;

/// What each node sends to nodes of other hosts; `None` where each host is one node.
pub(crate) fn sent_out(fabric: &Fabric, demand: &Demand) -> Option<Vec<f64>> {
    let host = of_nodes(fabric)?;
    let mut held = vec![0u32; fabric.network.vertices()];
    host.iter().for_each(|&host| held[host] += 1);
    let others = |&host: &usize| demand.all_pairs * f64::from(demand.nodes - held[host]);
    let mut out: Vec<f64> = host.iter().map(others).collect();
    for flow in &demand.flows {
        let [from, to] = [flow.source, flow.destination].map(|node| node.0 as usize);
        if host[from] != host[to] {
            out[from] += flow.amount;
        }
    }
    Some(out)
}

/// Of each node, a vertex that stands for its host: the nodes of one host are joined by links within it.
fn of_nodes(fabric: &Fabric) -> Option<Vec<usize>> {
    let network = &fabric.network;
    if !network.channel_role.contains(&Role::LocalLink) {
        return None;
    }
    let mut parent: Vec<usize> = (0..network.vertices()).collect();
    let inside =
        |channel: &Channel| matches!(network.channel_role[channel.0 as usize], Role::LocalLink | Role::Internal);
    for channel in (0..network.channels() as u32).map(Channel).filter(inside) {
        let [a, b] = [network.from(channel), network.to(channel)].map(|end| root(&mut parent, end.0 as usize));
        parent[a.max(b)] = a.min(b);
    }
    Some(network.node_iter().map(|node| root(&mut parent, node.0 as usize)).collect())
}

/// The least vertex of those that are joined.
fn root(parent: &mut [usize], mut vertex: usize) -> usize {
    while parent[vertex] != vertex {
        parent[vertex] = parent[parent[vertex]];
        vertex = parent[vertex];
    }
    vertex
}
