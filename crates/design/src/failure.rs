//! What one failed cable or switch costs: the exchange of all with all on the network without it.
//!
//! Routes are made anew over all shortest paths, as `analyze --fail` makes them. Packets choose among them as in the
//! whole network, so a share times the whole network's bandwidth is the bandwidth that `analyze --fail` counts. The
//! failures are the busiest cable of each kind, and the busiest switch with hosts and without. Hosts that no longer
//! reach one rail are out.

use hotlink_bound::Limited;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Builder, Channel, Network, Node, Resource, Vertex};
use hotlink_fabric::routing::Paths;
use hotlink_fabric::spec::{Capacities, FabricSpec, Role, RoutingSpec};
use hotlink_fabric::topology::Shape;
use hotlink_fabric::traffic::Traffic;
use hotlink_load::{Load, count_paths};
use hotlink_study::failed::ends;

/// A part whose failure is tried: its name as `analyze --fail` takes it, and the share of each node's bandwidth that it
/// leaves.
pub type Worst = (String, f64);

/// What is left.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Left {
    /// Bandwidth of each node after the worst single failure of a cable between switches, as a share; `None`: there is
    /// no such cable.
    pub after_cable: Option<Worst>,
    /// The same of the nodes that are left after that of a switch; `None`: no two of them are left.
    pub after_switch: Option<Worst>,
    /// The nodes of the switch that takes most with it.
    pub nodes_of_switch: Vec<Node>,
}

/// What the worst single failures leave of `fabric`, which gives each node `before` MB/s at the load `load`. Packets of
/// messages of `size` bytes choose among equal paths by `paths`; the pairs' hash has the seed `seed`.
///
/// # Errors
/// The network cannot be routed.
pub fn left(fabric: &Fabric, (before, load): (f64, &Load), size: u64, routes: (Paths, u64)) -> Result<Left, String> {
    let spec = FabricSpec { routing: RoutingSpec::ShortestEcmp, ..fabric.spec.clone() };
    let share = |damaged: Network| -> Result<Option<f64>, String> {
        // Without a route between some pair, nothing is exchanged among all. The nodes that are left may have more
        // each, which is no gain from the failure.
        let after = exchange(&assemble(&spec, damaged)?, size, routes).ok();
        Ok(after.map(|(after, _)| (after / before).min(1.0)))
    };
    let mut left = Left::default();
    for role in [Role::SwitchLink, Role::GlobalLink] {
        let Some(cable) = busiest_cable(fabric, load, role) else { continue };
        let after = share(without_cable(&fabric.network, cable))?.unwrap_or(0.0);
        left.after_cable = worse(left.after_cable, (ends(fabric, cable), after));
    }
    let hanging = nodes_of_switches(fabric);
    // The first of equals.
    left.nodes_of_switch = hanging.iter().rev().max_by_key(|nodes| nodes.len()).cloned().unwrap_or_default();
    for has_hosts in [true, false] {
        let fits = |v: usize| hanging[v].is_empty() != has_hosts;
        let Some(switch) = busiest_switch(fabric, load, fits) else { continue };
        let nodes = &hanging[switch.0 as usize];
        let damaged = without_switch(fabric, switch, nodes);
        if damaged.nodes < 2 {
            continue;
        }
        let mut after = share(damaged)?;
        // Where rails do not meet, the others of a host do not reach the rail elsewhere: the host is out.
        let hosts = hosts_of(&fabric.network, nodes);
        if after.is_none() && hosts.len() > nodes.len() && hosts.len() as u32 + 2 <= fabric.nodes() {
            after = share(without_switch(fabric, switch, &hosts))?;
        }
        let name = fabric.shape.vertex_name(&fabric.network, switch, "router");
        left.after_switch = worse(left.after_switch, (name, after.unwrap_or(0.0)));
    }
    Ok(left)
}

/// That of the two which leaves less; of equals the first.
fn worse(known: Option<Worst>, one: Worst) -> Option<Worst> {
    known.filter(|known| known.1 <= one.1).or(Some(one))
}

/// The tiers' names are not needed.
fn assemble(spec: &FabricSpec, network: Network) -> Result<Fabric, String> {
    let nodes = network.nodes;
    Fabric::assemble(spec, nodes, network, Shape::Tiers(Vec::new())).map_err(|error| error.to_string())
}

/// Bandwidth of each node under the exchange of all with all, and its load.
///
/// # Errors
/// Some pair has no route.
pub fn exchange(fabric: &Fabric, size: u64, (paths, seed): (Paths, u64)) -> Result<(f64, Load), String> {
    let demand = Traffic::AllToAll.demand(fabric.nodes(), 0).map_err(|error| error.to_string())?;
    let load = count_paths(fabric, &demand, paths, seed).map_err(|error| error.to_string())?;
    Ok((load.bounds(fabric, Capacities::Measured, size).bandwidth_per_node_mbps, load))
}

fn busiest_cable(fabric: &Fabric, load: &Load, role: Role) -> Option<Channel> {
    let network = &fabric.network;
    let channels = (0..network.channels() as u32).map(Channel);
    let channels = channels.filter(|&c| network.role(Resource::Channel(c)) == role);
    // The first of equals.
    let busier = |a: &Channel, b: &Channel| load.channel[a.0 as usize].total_cmp(&load.channel[b.0 as usize]);
    channels.rev().max_by(busier)
}

fn busiest_switch(fabric: &Fabric, load: &Load, fits: impl Fn(usize) -> bool) -> Option<Vertex> {
    let network = &fabric.network;
    let switches = (network.nodes as usize..network.vertices()).filter(|&v| network.vertex_role[v] == Role::Switch);
    let busiest = switches.filter(|&v| fits(v)).rev().max_by(|&a, &b| load.vertex[a].total_cmp(&load.vertex[b]));
    busiest.map(|v| Vertex(v as u32))
}

/// For each vertex, the nodes whose only link to the network between hosts is there. A GPU's link is behind its memory
/// and NIC; its link to others of its host does not count.
fn nodes_of_switches(fabric: &Fabric) -> Vec<Vec<Node>> {
    let network = &fabric.network;
    let mut nodes = vec![Vec::new(); network.vertices()];
    for node in network.node_iter() {
        let (mut open, mut found) = (vec![node.vertex()], Vec::new());
        while let Some(at) = open.pop() {
            for channel in network.out(at).filter(|&channel| !network.is_node(network.to(channel))) {
                match network.role(Resource::Channel(channel)) {
                    Role::LocalLink => {}
                    Role::Internal | Role::HostBus => open.push(network.to(channel)),
                    _ => found.push(network.to(channel)),
                }
            }
        }
        if let [switch] = found[..] {
            nodes[switch.0 as usize].push(node);
        }
    }
    nodes
}

/// All nodes of the hosts of some: links within a host join them.
fn hosts_of(network: &Network, nodes: &[Node]) -> Vec<Node> {
    let mut seen = vec![false; network.vertices()];
    let mut open: Vec<Vertex> = nodes.iter().map(|node| node.vertex()).collect();
    while let Some(at) = open.pop() {
        if !std::mem::replace(&mut seen[at.0 as usize], true) {
            let inside = |channel: &Channel| {
                matches!(network.role(Resource::Channel(*channel)), Role::Internal | Role::LocalLink)
            };
            open.extend(network.out(at).filter(inside).map(|channel| network.to(channel)));
        }
    }
    network.node_iter().filter(|node| seen[node.0 as usize]).collect()
}

fn without_cable(network: &Network, cable: Channel) -> Network {
    let gone = [Some(cable), network.reverse(cable)];
    rebuilt(network, |_| true, |channel| !gone.contains(&Some(channel)))
}

/// `nodes` are those whose only link is there, in order.
fn without_switch(fabric: &Fabric, switch: Vertex, nodes: &[Node]) -> Network {
    let is_left = |v: Vertex| v != switch && nodes.binary_search(&Node(v.0)).is_err();
    rebuilt(&fabric.network, is_left, |_| true)
}

/// The network of the vertices and channels that stay.
fn rebuilt(network: &Network, vertex: impl Fn(Vertex) -> bool, channel: impl Fn(Channel) -> bool) -> Network {
    let vertices = || (0..network.vertices() as u32).map(Vertex);
    let nodes = vertices().filter(|&v| network.is_node(v) && vertex(v)).count() as u32;
    let mut builder = Builder::new(nodes);
    let mut place = vec![None; network.vertices()];
    let mut next_node = 0;
    for v in vertices().filter(|&v| vertex(v)) {
        place[v.0 as usize] = Some(if network.is_node(v) {
            next_node += 1;
            Vertex(next_node - 1)
        } else {
            builder.vertices(1, network.role(Resource::Vertex(v)))
        });
    }
    for c in (0..network.channels() as u32).map(Channel).filter(|&c| channel(c)) {
        let ends = [network.from(c), network.to(c)].map(|v| place[v.0 as usize]);
        if let [Some(from), Some(to)] = ends {
            builder.channel(from, to, network.role(Resource::Channel(c)));
        }
    }
    builder.build()
}
