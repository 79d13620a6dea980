//! A fabric of the catalog after parts of it failed. A site's own network keeps its forwarding tables (`hotlink_site`).
//! Here there are none, so that routes are made anew over the shortest paths that are left.

use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Builder, Channel, Network, Resource, Vertex};
use hotlink_fabric::spec::{FabricSpec, RoutingSpec};
use hotlink_fabric::topology::Shape;
use std::collections::BTreeSet;

/// The mark before each failed part in a fabric's name.
pub(crate) const MARK: &str = "+fail:";

/// Ends of a link as views and `--fail` name them: `leaf 0 -> spine 1`, with `#2` behind it for one of several in parallel.
pub fn ends(fabric: &Fabric, channel: Channel) -> String {
    fabric.shape.channel_name(&fabric.network, channel, "").trim().to_owned()
}

/// The fabric without these parts, one after the other. Each is a cable by its ends or its whole name, or a switch by its name.
///
/// # Errors
/// A part that is not there; hosts that would be cut off.
pub(crate) fn without(whole: Fabric, parts: &[String]) -> Result<Fabric, String> {
    parts.iter().try_fold(whole, |fabric, part| without_one(fabric, part))
}

fn without_one(fabric: Fabric, part: &str) -> Result<Fabric, String> {
    let network = &fabric.network;
    let all = || (0..network.channels() as u32).map(Channel);
    let is_cable =
        |&channel: &Channel| ends(&fabric, channel) == part || fabric.resource_name(Resource::Channel(channel)) == part;
    let cable = all().find(is_cable);
    let gone: BTreeSet<Channel> = match (cable, switch(&fabric, part)) {
        (Some(cable), _) => [Some(cable), network.reverse(cable)].into_iter().flatten().collect(),
        (None, Some(switch)) => all().filter(|&c| network.from(c) == switch || network.to(c) == switch).collect(),
        (None, None) => return Err(unknown(&fabric, part)),
    };
    let left = rebuilt(network, &gone);
    let lost = left.node_iter().filter(|host| left.out(host.vertex()).len() == 0);
    let lost: Vec<String> = lost.map(|host| fabric.shape.vertex_name(network, host.vertex(), "node")).collect();
    if let [host, others @ ..] = &lost[..] {
        let others = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
        return Err(format!("fail: {part}: {host}{others} would be cut off; ask for fewer nodes in place of it"));
    }
    if let Some([from, to]) = hotlink_load::apart(&left) {
        let [from, to] = [from, to].map(|node| fabric.shape.vertex_name(network, node.vertex(), "node"));
        return Err(format!("fail: {part}: {to} would be cut off from {from}; ask for fewer nodes in place of it"));
    }
    let spec = FabricSpec { routing: RoutingSpec::ShortestEcmp, ..fabric.spec };
    // The names of a cube's links follow from their places.
    let shape = match fabric.shape {
        Shape::Cube(cube) => {
            let vertices = (0..left.vertices() as u32).map(Vertex);
            Shape::Named(vertices.map(|v| Shape::Cube(cube.clone()).vertex_name(&left, v, "router")).collect())
        }
        other => other,
    };
    Fabric::assemble(&spec, fabric.asked, left, shape).map_err(|error| format!("fail: {part}: {error}"))
}

fn switch(fabric: &Fabric, part: &str) -> Option<Vertex> {
    let network = &fabric.network;
    let mut switches = (network.nodes..network.vertices() as u32).map(Vertex);
    switches.find(|&vertex| fabric.shape.vertex_name(network, vertex, "router") == part)
}

fn unknown(fabric: &Fabric, part: &str) -> String {
    let link = (0..fabric.network.channels() as u32)
        .map(Channel)
        .find(|&c| ![fabric.network.from(c), fabric.network.to(c)].iter().any(|&end| fabric.network.is_node(end)));
    let named = link.map(|link| ends(fabric, link)).filter(|name| !name.is_empty());
    // On a fabric of one switch no link goes by its ends.
    let none = || "it has one switch, without which no host reaches another".to_owned();
    let example = named.map_or_else(none, |name| format!("cables go by their ends, such as `{name}`"));
    let random = if part.starts_with("random:") { "; random cables fail in dumps of a network only" } else { "" };
    format!("fail: `{part}`: there is no such switch or cable; {example}{random}")
}

fn rebuilt(network: &Network, gone: &BTreeSet<Channel>) -> Network {
    let mut builder = Builder::new(network.nodes);
    for &role in &network.vertex_role[network.nodes as usize..] {
        builder.vertices(1, role);
    }
    let left: Vec<Channel> = (0..network.channels() as u32).map(Channel).filter(|c| !gone.contains(c)).collect();
    left.iter().for_each(|&c| builder.channel(network.from(c), network.to(c), network.channel_role[c.0 as usize]));
    let (mut rebuilt, places) = builder.build_ordered();
    let own = left.iter().zip(places).filter_map(|(c, place)| Some((place, *network.overrides.get(c)?)));
    rebuilt.overrides = own.collect();
    rebuilt
}
