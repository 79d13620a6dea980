//! Which groups of hosts pay for the hot cables: from each switch with hosts to each other, what the routing gives.

use super::{View, all_to_all_demand, site_of, with_tables};
use hotlink_bench::Record;
use hotlink_fabric::Fabric;
use hotlink_fabric::load;
use hotlink_fabric::network::{Channel, Network, Node, Resource, Vertex};
use hotlink_fabric::routing::Routing;
use hotlink_study::parallel;
use hotlink_study::{Error, Source, Watch};
use serde_json::Value;

/// A packet that takes more hops than this goes in circles: the longest paths of sites' networks have some ten.
const MOST_HOPS: usize = 64;

/// A record for each switch with hosts: under all-to-all, the share of the usual host link that its hosts reach to those of
/// every such switch, in the order of the records; null where a host cannot be reached. The least of these is the network's
/// own share. Paths are those of the forwarding tables.
///
/// # Errors
/// The fabric is no site's; its routing does not fit its cables.
pub fn groups(source: &Source, watch: &dyn Watch) -> Result<Vec<Record>, Error> {
    let site = site_of(source)?;
    let (made, routes) = with_tables(site)?;
    let site = made.as_ref().unwrap_or(site);
    let fabric = super::fabric_of(site)?;
    let view = View::new(&fabric)?;
    let (load, _) = load::count_reachable(&fabric, &all_to_all_demand(&fabric)?).map_err(input)?;
    let share = view.share(&load).unwrap_or(1.0);
    watch.step();
    let times: Vec<f64> = (0..fabric.network.channels() as u32).map(Channel).map(|c| time(&fabric, &load, c)).collect();
    let hottest = times.iter().copied().fold(0.0, f64::max);
    let groups = Groups::of(&fabric.network);
    let Routing::Tables(tables) = &fabric.routing else {
        return Err(Error::Input(format!("{}: has no forwarding tables", source.name())));
    };
    if tables.addresses() > 1 {
        return Err(Error::Input(format!("{}: groups are counted on the first LID of each port", source.name())));
    }
    // The time of the slowest channel on the way to each node, then the slowest of each group's nodes.
    let slowest = |from: Vertex, to: Node| {
        let (mut at, mut slowest) = (from, 0.0f64);
        for _ in 0..MOST_HOPS {
            let channel = tables.view(&fabric.network, to, 0).step(at)?;
            slowest = slowest.max(times[channel.0 as usize]);
            at = fabric.network.to(channel);
            if at == to.vertex() {
                return Some(slowest);
            }
        }
        None
    };
    let row = |from: &Vertex| {
        let cell = |nodes: &Vec<Node>| {
            let times: Option<Vec<f64>> = nodes.iter().map(|&to| slowest(*from, to)).collect();
            let slowest = times?.into_iter().fold(0.0, f64::max);
            (slowest > 0.0).then(|| share * hottest / slowest)
        };
        groups.nodes.iter().map(|nodes| Value::from(cell(nodes))).collect::<Vec<Value>>()
    };
    let rows = parallel::each(&groups.switches, row);
    watch.step();
    let record = |((switch, nodes), shares): ((&Vertex, &Vec<Node>), Vec<Value>)| {
        Record::new()
            .with("fabric", source.name())
            .with("benchmark", "groups")
            .with("method", "load")
            .with("nodes", fabric.nodes())
            .with("group", fabric.resource_name(Resource::Vertex(*switch)))
            .with("hosts", nodes.len())
            .with("routes", routes)
            .with("all_to_all_share", share)
            .with("shares", shares)
    };
    Ok(groups.switches.iter().zip(&groups.nodes).zip(rows).map(record).collect())
}

fn input(error: impl std::fmt::Display) -> Error {
    Error::Input(error.to_string())
}

/// How long a channel is busy with its load, in the unit that rate and load give; 0 where its rate is not known.
fn time(fabric: &Fabric, load: &load::Load, channel: Channel) -> f64 {
    let rate = fabric.gross(Resource::Channel(channel)).map_or(f64::INFINITY, |rate| rate.mbps());
    load.channel[channel.0 as usize] / rate
}

/// Switches with hosts, and these.
struct Groups {
    switches: Vec<Vertex>,
    nodes: Vec<Vec<Node>>,
}

impl Groups {
    fn of(network: &Network) -> Groups {
        let mut groups = Groups { switches: Vec::new(), nodes: Vec::new() };
        let mut place = std::collections::BTreeMap::new();
        for node in network.node_iter() {
            let Some(port) = network.out(node.vertex()).next() else { continue };
            let switch = network.to(port);
            let index = *place.entry(switch).or_insert_with(|| {
                groups.switches.push(switch);
                groups.nodes.push(Vec::new());
                groups.nodes.len() - 1
            });
            groups.nodes[index].push(node);
        }
        groups
    }
}
