//! Which groups of hosts pay for the hot cables: from each switch with hosts to each other, what the routing gives.

use super::{View, all_to_all_demand, routes_of, site_of, tabled};
use hotlink_bench::Record;
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Channel, Node, Resource, Vertex};
use hotlink_fabric::routing::Routing;
use hotlink_fabric::routing::forwarding::Forwarding;
use hotlink_study::parallel;
use hotlink_study::{Error, Source, Watch};
use serde_json::Value;
use std::collections::BTreeMap;

/// A record for each switch with hosts, under all-to-all. It has the share of the usual host link that its hosts reach
/// to those of every such switch, in the order of the records. Null where a host cannot be reached. The least of these
/// is the network's own share. Paths are those of the forwarding tables.
///
/// # Errors
/// The fabric is no site's; its routing does not fit its cables.
pub fn groups(source: &Source, watch: &dyn Watch) -> Result<Vec<Record>, Error> {
    let site = site_of(source)?;
    let fabric = tabled(site)?;
    let view = View::new(&fabric)?;
    let (load, _) = hotlink_load::count_reachable(&fabric, &all_to_all_demand(&fabric)?).map_err(input)?;
    let share = view.share(&load).unwrap_or(1.0);
    watch.step();
    let times: Vec<f64> = (0..fabric.network.channels() as u32).map(Channel).map(|c| time(&fabric, &load, c)).collect();
    let hottest = times.iter().copied().fold(0.0, f64::max);
    let Routing::Tables(tables) = &fabric.routing else {
        return Err(Error::Input(format!("{}: has no forwarding tables", source.name())));
    };
    let network = &fabric.network;
    let groups = Groups::of(&fabric, tables);
    // The time of the slowest channel on the path. Hosts of one group differ by their own links only, and by the
    // address of the destination.
    let slowest = |from: Node, to: Node| {
        let mut slowest = 0.0f64;
        let arrives = from == to || tables.walk(network, from, to, |c| slowest = slowest.max(times[c.0 as usize]));
        arrives.then_some(slowest)
    };
    let row = |from: &Group<'_>| {
        let own = from.nodes.iter().flat_map(|node| network.out(node.vertex())).map(|c| times[c.0 as usize]);
        let own = own.fold(0.0, f64::max);
        let cell = |to: &Group<'_>| {
            let pairs = from.senders.iter().flat_map(|&from| to.nodes.iter().map(move |&to| (from, to)));
            let times: Option<Vec<f64>> = pairs.map(|(from, to)| slowest(from, to)).collect();
            let slowest = times?.into_iter().fold(own, f64::max);
            (slowest > 0.0).then(|| share * hottest / slowest)
        };
        groups.0.iter().map(|to| Value::from(cell(to))).collect::<Vec<Value>>()
    };
    let rows = parallel::each(&groups.0, row);
    watch.step();
    let record = |(group, shares): (&Group<'_>, Vec<Value>)| {
        Record::new()
            .with("fabric", source.name())
            .with("benchmark", "groups")
            .with("method", "load")
            .with("nodes", fabric.nodes())
            .with("group", fabric.resource_name(Resource::Vertex(group.switch)))
            .with("hosts", group.nodes.len())
            .with("routes", routes_of(site))
            .with("all_to_all_share", share)
            .with("shares", shares)
    };
    Ok(groups.0.iter().zip(rows).map(record).collect())
}

fn input(error: impl std::fmt::Display) -> Error {
    Error::Input(error.to_string())
}

/// How long a channel is busy with its load, in the unit that rate and load give; 0 where its rate is not known.
fn time(fabric: &Fabric, load: &hotlink_load::Load, channel: Channel) -> f64 {
    let rate = fabric.gross(Resource::Channel(channel)).map_or(f64::INFINITY, |rate| rate.mbps());
    load.channel[channel.0 as usize] / rate
}

/// A switch and its hosts.
struct Group<'a> {
    switch: Vertex,
    nodes: &'a [Node],
    /// One of these for each address to which they send.
    senders: Vec<Node>,
}

/// All switches with hosts, in order of their first hosts.
struct Groups<'a>(Vec<Group<'a>>);

impl<'a> Groups<'a> {
    fn of(fabric: &'a Fabric, tables: &Forwarding) -> Groups<'a> {
        let at = &fabric.attachment;
        let mut groups: Vec<Group<'a>> = (0..at.homes.len())
            .map(|place| {
                let (switch, nodes) = (at.homes[place], at.nodes_of(place));
                let mut of_address = BTreeMap::new();
                nodes.iter().rev().for_each(|&node| _ = of_address.insert(tables.address_for(node), node));
                Group { switch, nodes, senders: of_address.into_values().collect() }
            })
            .collect();
        groups.sort_by_key(|group| group.nodes.first().copied());
        Groups(groups)
    }
}
