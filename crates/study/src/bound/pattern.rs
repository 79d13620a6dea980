//! The most bandwidth under a pattern: the load that its flows put on the hottest resource.

use crate::effort;
use crate::options::Rates;
use crate::text::figure;
use hotlink_bench::Record;
use hotlink_bound::{Bounds, LATENCY, Limited, Peak, RoleBound};
use hotlink_fabric::Fabric;
use hotlink_fabric::network::{Node, Resource};
use hotlink_fabric::routing::{Paths, Routing};
use hotlink_fabric::spec::Role;
use hotlink_fabric::topology::Graph;
use hotlink_fabric::traffic::{Demand, Flow};
use hotlink_load::{Heard, Load};
use hotlink_sim::Gauge;

/// A pattern counted over the routes of a fabric.
pub struct Pattern {
    /// The load of its resources.
    pub load: Load,
    /// Its bounds.
    pub bounds: Bounds,
}

/// Pairs with traffic and without a route.
#[derive(Clone, Debug)]
pub struct Lost {
    /// How many.
    pub pairs: u64,
    /// The first of them by the names of their hosts.
    pub named: String,
}

impl Lost {
    fn new(fabric: &Fabric, demand: &Demand, pairs: u64) -> Lost {
        let name = |node: Node| fabric.resource_name(Resource::Vertex(node.vertex()));
        let first = hotlink_load::unreachable(fabric, demand, SHOWN);
        let mut named: Vec<String> =
            first.iter().map(|&(from, to)| format!("{} -> {}", name(from), name(to))).collect();
        if pairs > named.len() as u64 {
            named.push(format!("{} more", pairs - named.len() as u64));
        }
        Lost { pairs, named: named.join(", ") }
    }
}

/// How many pairs are named.
const SHOWN: usize = 8;

impl Pattern {
    /// Counts it on the routes that the fabric's technology gives packets.
    ///
    /// # Errors
    /// The demand is not of this fabric.
    pub fn of(fabric: &Fabric, demand: &Demand, capacities: Rates, size: u64) -> Result<Pattern, String> {
        Pattern::of_paths(fabric, demand, capacities, size, (fabric.spec.paths, 1))
    }

    /// The same on routes that choose among equal paths otherwise, with the seed of the pairs' hash.
    ///
    /// # Errors
    /// As [`Pattern::of`].
    pub fn of_paths(
        fabric: &Fabric,
        demand: &Demand,
        capacities: Rates,
        size: u64,
        (paths, seed): (Paths, u64),
    ) -> Result<Pattern, String> {
        match Pattern::of_reachable(fabric, demand, capacities, size, (paths, seed), &Gauge::default())? {
            (pattern, None) => Ok(pattern),
            (_, Some(lost)) => Err(format!(
                "{} pairs have no route: {}; only `analyze` leaves them out; --rerouted makes tables that reach all that \
                 can be reached",
                lost.pairs, lost.named
            )),
        }
    }

    /// The same for the pairs that have a route under forwarding tables, and those that have none; `gauge` is told how far it
    /// is.
    ///
    /// # Errors
    /// As [`Pattern::of`].
    pub fn of_reachable(
        fabric: &Fabric,
        demand: &Demand,
        capacities: Rates,
        size: u64,
        (paths, seed): (Paths, u64),
        gauge: &Gauge,
    ) -> Result<(Pattern, Option<Lost>), String> {
        effort::check_count(fabric, demand)?;
        let heard: Heard<'_> = &|done, all| gauge.tell(done, all);
        let counted = match &fabric.routing {
            Routing::Tables(_) => hotlink_load::count_reachable_heard(fabric, demand, heard),
            _ => hotlink_load::count_paths_heard(fabric, demand, paths, seed, heard).map(|load| (load, 0)),
        };
        let (load, pairs) = counted.map_err(|error| error.told(fabric))?;
        let lost = (pairs > 0).then(|| Lost::new(fabric, demand, pairs));
        let bounds = load.bounds(fabric, capacities.into(), size);
        Ok((Pattern { load, bounds }, lost))
    }

    /// The rate of each sending node, and what sets it; infinite where nothing does.
    pub fn per_node(&self) -> Peak {
        self.bounds.per_node()
    }
}

/// Refuses a graph none of whose links has a rate, as if all were infinitely fast, and any routes on which nothing has one.
///
/// # Errors
/// What lacks a rate, and how to give one.
pub fn need_a_rate(fabric: &Fabric, bounds: &Bounds, capacities: Rates) -> Result<(), String> {
    need_rated_links(fabric)?;
    if bounds.limit.is_some() || bounds.roles.is_empty() {
        return Ok(());
    }
    let is_measured = fabric.spec.resources.values().any(|resource| resource.measured.is_some());
    let how = match capacities {
        Rates::Theoretical if is_measured => "its rates are measured alone: --capacities measured",
        _ => "state the gross rate of a link or a host's device in the fabric's file",
    };
    let what = format!("nothing on the way has a rate under --capacities {capacities}");
    Err(format!("{what}, so that no bandwidth has a meaning: {how}"))
}

/// Refuses a graph none of whose links has a rate.
///
/// # Errors
/// How to give one.
pub fn need_rated_links(fabric: &Fabric) -> Result<(), String> {
    let spec = &fabric.spec;
    let of_role =
        |role: &Role| spec.resources.get(role).is_some_and(|one| one.gross.is_some() || one.measured.is_some());
    let of_links = || fabric.network.overrides.values().any(|link| link.rate.is_some());
    if !spec.topology.is::<Graph>() || [Role::Link, Role::SwitchLink].iter().any(of_role) || of_links() {
        return Ok(());
    }
    let how = "state rate_MBps (10^6 bytes per second) at the top or at each link, or name `parts` that do; of a \
               description of cables, +rate:400Gbit/s behind its name";
    Err(format!("no link of the graph has a rate: {how}"))
}

/// One flow.
pub fn one(nodes: u32, from: u32, to: u32) -> Demand {
    flows(nodes, [(from, to)])
}

/// One flow for each pair.
pub fn flows(nodes: u32, pairs: impl IntoIterator<Item = (u32, u32)>) -> Demand {
    let flow = |(from, to)| Flow { source: Node(from), destination: Node(to), amount: 1.0 };
    Demand { nodes, all_pairs: 0.0, flows: pairs.into_iter().map(flow).collect() }
}

/// The record with what limits it.
pub fn with_limit(mut record: Record, fabric: &Fabric, bounds: &Bounds) -> Record {
    if let Some(limit) = bounds.limiting() {
        // The bytes of a short message set nothing.
        if record.text("limiting_resource") != Some(LATENCY) {
            record.set("limiting_resource", limit.name.as_str());
        }
        record.set("hot_link", fabric.resource_name(limit.hottest));
    }
    record
}

/// How the bound comes about, a step a line.
pub fn derivation(fabric: &Fabric, bounds: &Bounds, capacities: Rates, size: u64) -> Vec<String> {
    let mut lines = vec![
        format!(
            "Each sending node sends {} messages of {size} B; a route passes {} switches in the mean.",
            figure(bounds.flow_per_node),
            figure(bounds.switches_per_route)
        ),
        format!(
            "Of a gross rate {} is payload: the rest are headers of packets. Rates are {capacities} where known.",
            figure(bounds.efficiency)
        ),
    ];
    for (index, role) in bounds.roles.iter().enumerate() {
        lines.push(step(fabric, bounds, role, bounds.limit == Some(index)));
    }
    lines.push(match bounds.limiting() {
        Some(limit) => format!(
            "The least of these is the bound: {} MB/s of each node, set by {}.",
            figure(bounds.bandwidth_per_node_mbps),
            limit.name
        ),
        None => "No resource on the routes has a rate, so that nothing limits.".to_owned(),
    });
    if let Some(injection) = bounds.injection_mbps(fabric, capacities.into()) {
        let own = if bounds.is_of_nics() { "A GPU's NIC lets" } else { "A node's own devices let" };
        lines.push(format!(
            "{own} it inject {} MB/s: it gets {} of it (injection_share).",
            figure(injection),
            figure(bounds.bandwidth_per_node_mbps / injection)
        ));
    }
    lines
}

fn step(fabric: &Fabric, bounds: &Bounds, role: &RoleBound, is_least: bool) -> String {
    let (count, hottest) = (role.resources, fabric.resource_name(role.hottest));
    let load = figure(role.hottest_load);
    let head = format!("{} ({count} of them): the hottest, {hottest}, carries {load} messages", role.name);
    match (role.payload_mbps, role.bandwidth_per_node_mbps) {
        (Some(rate), Some(mbps)) => {
            let mark = if is_least { ", the least" } else { "" };
            let (rate, flow) = (figure(rate), figure(bounds.flow_per_node));
            format!("{head} at {rate} MB/s of payload; a node gets {flow}/{load} of it: {} MB/s{mark}.", figure(mbps))
        }
        _ => format!("{head}; it has no rate of its own."),
    }
}
