//! `hotlink fabric`: what a site's own network is, what its routing gives, and what its cables would allow.
//!
//! Shares are of the usual host link's rate, the median over the hosts. 1 means that every host sends at the full rate
//! of such a link. Packet overhead takes the same part of both and cancels out.

mod balance;
mod failures;
mod groups;
mod job;
mod reroute;

pub use failures::failures;
pub use groups::groups;
pub use job::{JOB_PARTS, JobQuestion, hosts, job};
pub use reroute::{Rerouted, reroute};

use hotlink_bench::Record;
use hotlink_bound::Limited;
use hotlink_fabric::Fabric;
use hotlink_fabric::catalog::role_key;
use hotlink_fabric::network::{Channel, Node, Resource, Vertex};
use hotlink_fabric::routing::Routing;
use hotlink_fabric::routing::forwarding::Forwarding;
use hotlink_fabric::spec::{Capacities, Status, Value};
use hotlink_fabric::traffic::{Demand, Traffic, sample_seed};
use hotlink_fabric::units::Rate;
use hotlink_load::{Load, Users, deadlock};
use hotlink_site::{Pattern, Site, concurrent};
use hotlink_study::parallel;
use hotlink_study::{Error, Source, Watch};
use std::collections::BTreeMap;

/// What is asked of an inspection.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// Random permutations to draw.
    pub samples: u64,
    /// Seed of the draws.
    pub seed: u64,
    /// How close the two bounds of what the cables allow shall come, such as 0.01.
    pub gap: f64,
}

/// Channels that the search for the cables' bound may visit: some seconds.
const STEPS: u64 = 1 << 29;

/// Most shifts that are tried, evenly spread over all.
const SHIFTS: u32 = 256;

/// How many names a list shows.
const SHOWN: usize = 16;

/// The message size of the bounds; it cancels out of the shares.
const BYTES: u64 = 1 << 20;

/// Inspects the network of a site.
///
/// # Errors
/// The fabric is no site's; its routing does not fit its cables.
pub fn inspect(source: &Source, question: Question, watch: &dyn Watch) -> Result<Record, Error> {
    let site = site_of(source)?;
    let mut fabric = source.build(site.nodes()).map_err(Error::Input)?;
    let parts = hotlink_load::parts(&fabric.network);
    if parts.len() > 1 {
        // Tables know pairs without a route.
        fabric = tabled(site)?;
    }
    let view = View::new(&fabric)?;
    let mut record = Record::new()
        .with("fabric", source.name())
        .with("benchmark", "inspection")
        .with("method", "load")
        .with("nodes", fabric.nodes());
    let pattern = Pattern::of(view.fabric, site.names());
    counts(site, &view, &pattern, &mut record);
    watch.step();
    all_to_all(&view, &pattern.level, &mut record)?;
    if site.findings.lids_per_port > 1 {
        let spread = site.spread().map_err(|error| Error::Input(error.to_string()))?;
        let fabric = fabric_of(&spread)?;
        let all = Traffic::AllToAll.demand(fabric.nodes(), 0).map_err(|error| Error::Input(error.to_string()))?;
        record.set("all_lids_share", View::new(&fabric)?.share_of(&all)?);
    }
    watch.step();
    cables(&view, question.gap, &mut record);
    watch.step();
    permutations(&view, question, &mut record)?;
    watch.step();
    shifts(&view, &mut record)?;
    credit_loop(&fabric, &mut record);
    record.set("lanes", site.findings.lanes.as_str());
    doubts(site, &mut record, in_parts(&fabric, &parts));
    watch.step();
    Ok(record)
}

/// Which parts no cable joins, if there are several.
fn in_parts(fabric: &Fabric, parts: &[Vec<Node>]) -> Option<String> {
    let told = |part: &Vec<Node>| {
        let hosts = if part.len() == 1 { "host" } else { "hosts" };
        format!("{} {hosts} with {}", part.len(), fabric.resource_name(Resource::Vertex(part[0].vertex())))
    };
    let more = parts.len().saturating_sub(SHOWN);
    let mut shown: Vec<String> = parts.iter().take(SHOWN).map(told).collect();
    shown.extend((more > 0).then(|| format!("{more} more")));
    (parts.len() > 1).then(|| format!("no cable joins these {} parts: {}", parts.len(), shown.join(", ")))
}

/// What the numbers rest on that the files do not say, parts of the network, and pairs that some numbers leave out.
fn doubts(site: &Site, record: &mut Record, in_parts: Option<String>) {
    let mut notes: Vec<String> = in_parts.into_iter().collect();
    if site.findings.rate_unknown > 0 {
        let is_estimate = |value: &Value<Rate>| value.status == Status::Estimated;
        let rates = site.spec.resources.iter().filter(|(_, part)| part.gross.as_ref().is_some_and(is_estimate));
        let keys: Vec<String> = rates.map(|(role, _)| format!("resource.{}.gross", role_key(*role))).collect();
        record.set("estimates", keys);
        notes.push(format!(
            "{} cables state no known speed and count as most others of their kind",
            site.findings.rate_unknown
        ));
    }
    if let Some(lost) = record.number("unreachable_pairs").filter(|lost| *lost > 0.0) {
        let nodes = record.number("nodes").unwrap_or(0.0);
        let all = nodes * (nodes - 1.0);
        // The cables of a network in parts have no bound.
        let bound = record
            .get("cable_bound_share")
            .map_or(String::new(), |_| format!(", cable_bound_share of all {all}: the first may be larger"));
        notes.push(format!("all_to_all_share is of the {} pairs that have a route{bound}", all - lost));
    }
    if !notes.is_empty() {
        record.set("note", notes.join("; "));
    }
}

/// The site's network that a source is.
fn site_of(source: &Source) -> Result<&Site, Error> {
    source.own_site().ok_or_else(|| {
        let what = "is no dump of a network: must be ibnetdiscover, iblinkinfo, opensm-subnet.lst, with forwarding \
                    tables (opensm-lfts.dump, dump_fts, opensm.fdbs)";
        Error::Input(format!("{}: {what}", source.name()))
    })
}

/// Writes the network of a site as one binary file, which takes the place of its dumps.
///
/// # Errors
/// The fabric is no site's; the writer's.
pub fn keep(source: &Source, out: impl std::io::Write) -> Result<(), Error> {
    site_of(source)?.keep(out).map_err(|error| Error::Input(format!("cannot be kept: {error}")))
}

/// Where the paths of a site come from.
fn routes_of(site: &Site) -> &'static str {
    if site.has_tables() { OWN_TABLES } else { "assumed: shortest paths by destination" }
}

/// The fabric of a site with its paths as forwarding tables, its own or those that are assumed.
fn tabled(site: &Site) -> Result<Fabric, Error> {
    let mut fabric = fabric_of(site)?;
    if !site.has_tables() {
        let tables = Forwarding::by_destination(&fabric).ok_or_else(|| {
            let most = Forwarding::MOST_PORTS;
            Error::Input(format!(
                "{}: a switch has more than {most} cables, which no table can tell apart",
                site.spec.name
            ))
        })?;
        fabric.routing = Routing::Tables(tables);
    }
    Ok(fabric)
}

const OWN_TABLES: &str = "forwarding tables";

/// The fabric of a site.
fn fabric_of(site: &Site) -> Result<Fabric, Error> {
    site.fabric(&site.spec).map_err(|error| Error::Input(error.to_string()))
}

/// Steps of progress of an inspection.
pub const PARTS: u64 = 5;

/// The fabric with what all parts need.
struct View<'a> {
    fabric: &'a Fabric,
    /// Rate of the usual host link, MB/s.
    usual_mbps: f64,
}

impl<'a> View<'a> {
    fn new(fabric: &'a Fabric) -> Result<View<'a>, Error> {
        let network = &fabric.network;
        let rate = |node: Node| fabric.gross(Resource::Channel(network.port(node.vertex(), 0)));
        let mut rates: Vec<f64> = network.node_iter().filter_map(rate).map(|rate| rate.mbps()).collect();
        rates.sort_by(f64::total_cmp);
        let Some(&usual_mbps) = rates.get(rates.len() / 2) else {
            return Err(Error::Input(format!("{}: no cable states its width and speed", fabric.spec.name)));
        };
        Ok(View { fabric, usual_mbps })
    }

    /// Channels between switches.
    fn between(&self) -> impl Iterator<Item = Channel> + '_ {
        let network = &self.fabric.network;
        let channels = (0..network.channels() as u32).map(Channel);
        channels.filter(|&c| !network.is_node(network.from(c)) && !network.is_node(network.to(c)))
    }

    fn name(&self, channel: Channel) -> String {
        self.fabric.resource_name(Resource::Channel(channel))
    }

    /// What a load allows each sender, as a share of the usual host link; `None` where nothing limits.
    fn share(&self, load: &Load) -> Option<f64> {
        let bounds = load.bounds(self.fabric, Capacities::Theoretical, BYTES);
        let share = bounds.bandwidth_per_node_mbps / (bounds.efficiency * self.usual_mbps);
        share.is_finite().then_some(share)
    }

    /// The share of a pattern; pairs without a route do not count.
    fn share_of(&self, demand: &Demand) -> Result<Option<f64>, Error> {
        let (load, _) =
            hotlink_load::count_reachable(self.fabric, demand).map_err(|error| Error::Input(error.to_string()))?;
        Ok(self.share(&load))
    }
}

/// What there is.
fn counts(site: &Site, view: &View<'_>, pattern: &Pattern, record: &mut Record) {
    let (findings, network) = (&site.findings, &view.fabric.network);
    let levels = pattern.level.iter().copied().max().unwrap_or(0);
    let pair = |c: Channel| (network.from(c).min(network.to(c)), network.from(c).max(network.to(c)));
    let mut cables: BTreeMap<(Vertex, Vertex), usize> = BTreeMap::new();
    view.between().filter(|&c| network.from(c) < network.to(c)).for_each(|c| *cables.entry(pair(c)).or_default() += 1);
    let parallel: usize = cables.values().filter(|&&count| count > 1).sum();
    let slow = findings
        .slow
        .iter()
        .map(|(a, b, link)| format!("{} port {} - {} port {} ({})", a.name, a.port, b.name, b.port, link.name()));
    record.set("hosts", site.nodes());
    record.set("switches", findings.switches);
    record.set("levels", levels);
    record.set("pattern", pattern.name.as_str());
    record.set("aggregation_nodes", findings.aggregation_nodes);
    record.set("lids_per_port", findings.lids_per_port);
    record.set("host_cables", findings.cables[0]);
    record.set("switch_cables", findings.cables[1]);
    record.set("parallel_cables", parallel);
    record.set("host_link_MBps", view.usual_mbps);
    record.set("routes", routes_of(site));
    list(record, "slow_links", slow.collect());
    list(record, "missing_links", pattern.missing.clone());
    list(record, "odd_links", pattern.odd.clone());
    list(record, "switches_without_table", findings.without_table.clone());
    list(record, "hosts_without_route", findings.without_route.clone());
    list(record, "shared_lids", findings.shared_lids.clone());
}

/// Sets a list with the number of its entries; of long ones the first alone.
fn list(record: &mut Record, key: &str, mut names: Vec<String>) {
    record.set(&format!("{key}_count"), names.len());
    names.truncate(SHOWN);
    record.set(key, names);
}

fn all_to_all_demand(fabric: &Fabric) -> Result<Demand, Error> {
    Traffic::AllToAll.demand(fabric.nodes(), 0).map_err(|error| Error::Input(error.to_string()))
}

/// What the routing gives when every host sends to every other, and its hot link.
fn all_to_all(view: &View<'_>, level: &[u32], record: &mut Record) -> Result<(), Error> {
    let fabric = view.fabric;
    let demand = all_to_all_demand(fabric)?;
    let (load, lost) =
        hotlink_load::count_reachable(fabric, &demand).map_err(|error| Error::Input(error.to_string()))?;
    let bounds = load.bounds(fabric, Capacities::Theoretical, BYTES);
    record.set("unreachable_pairs", lost);
    if lost > 0 {
        let first = hotlink_load::unreachable(fabric, &demand, SHOWN);
        record.set("unreachable", first.into_iter().map(|pair| lost_at(fabric, pair)).collect::<Vec<_>>());
    }
    record.set("all_to_all_share", view.share(&load));
    if let Some(limit) = bounds.limiting() {
        record.set("hot_link", fabric.resource_name(limit.hottest));
        record.set("hot_links", limit.sharing);
        record.set("hot_link_load", limit.hottest_load);
        if let Resource::Channel(channel) = limit.hottest {
            users(view, &demand, channel, record);
        }
    }
    let unused = view.between().filter(|&c| load.channel[c.0 as usize] == 0.0).map(|c| view.name(c));
    list(record, "unused_links", unused.collect());
    list(record, "unbalanced_links", balance::unbalanced(view, &load, level));
    Ok(())
}

/// Where the tables lose what a host sends to another.
fn lost_at(fabric: &Fabric, (from, to): (Node, Node)) -> String {
    let (network, name) = (&fabric.network, |vertex| fabric.resource_name(Resource::Vertex(vertex)));
    let pair = format!("{} -> {}", name(from.vertex()), name(to.vertex()));
    let Routing::Tables(tables) = &fabric.routing else { return pair };
    let mut passed: Vec<Vertex> = Vec::new();
    tables.walk(network, from, to, |channel| passed.push(network.to(channel)));
    let Some(&last) = passed.last() else { return pair };
    if network.is_node(last) {
        return format!("{pair}: led to {}", name(last));
    }
    match repeated(&passed) {
        Some(circle) => {
            let names: Vec<String> = circle.iter().map(|&vertex| name(vertex)).collect();
            format!("{pair}: in a circle of {}", names.join(", "))
        }
        None => format!("{pair}: {} has no way on", name(last)),
    }
}

/// The vertices from one to where it comes again.
fn repeated(passed: &[Vertex]) -> Option<&[Vertex]> {
    passed.iter().enumerate().find_map(|(at, vertex)| {
        let first = passed[..at].iter().position(|earlier| earlier == vertex)?;
        Some(&passed[first..at])
    })
}

/// Who uses a channel when every host sends to every other: flows, senders and receivers.
fn users(view: &View<'_>, demand: &Demand, channel: Channel, record: &mut Record) {
    let fabric = view.fabric;
    let paths = (hotlink_load::paths_on(fabric, fabric.spec.paths), 0);
    // A hot link is told even where too many paths lead to it for its users to be known.
    let Ok(users) = Users::of(fabric, demand, paths, channel) else { return };
    let name = |node: Node| fabric.resource_name(Resource::Vertex(node.vertex()));
    let some = |counts: &[u64]| {
        let nodes = fabric.network.node_iter().filter(|node| counts[node.0 as usize] > 0);
        nodes.map(name).collect::<Vec<_>>()
    };
    list(record, "hot_link_senders", some(&users.sends));
    list(record, "hot_link_destinations", some(&users.hears));
    let flow = |(from, to, _): &(Node, Node, f64)| format!("{} -> {}", name(*from), name(*to));
    record.set("hot_link_flows_count", users.total);
    record.set("hot_link_flows", users.first.iter().take(SHOWN).map(flow).collect::<Vec<_>>());
}

/// What the best routes on the same cables would give.
fn cables(view: &View<'_>, gap: f64, record: &mut Record) {
    let Some(bound) = concurrent::all_to_all(view.fabric, gap, STEPS) else { return };
    let share = |pair: f64| pair * f64::from(view.fabric.nodes() - 1) / (view.usual_mbps * 1e6);
    record.set("cable_bound_share", share(bound.upper));
    record.set("cable_reached_share", share(bound.lower));
    record.set("cable_bound_gap", bound.gap());
    let mut weights = bound.weights;
    let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
    weights.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let named =
        |(channel, weight): &(Channel, f64)| format!("{} ({:.1} %)", view.name(*channel), 100.0 * weight / total);
    record.set("cable_bound_by", weights.iter().take(SHOWN).map(named).collect::<Vec<_>>());
}

/// Random permutations and rings in random orders: each draw has a seed of its own, by which `analyze` shows it.
fn permutations(view: &View<'_>, question: Question, record: &mut Record) -> Result<(), Error> {
    record.set("seed", question.seed);
    for (traffic, one, all) in [(Traffic::Random, "permutation", "permutations"), (Traffic::Ring, "ring", "rings")] {
        let shares = drawn(view, &traffic, question)?;
        record.set(all, shares.len());
        if let (Some(&(worst, seed)), Some(&(best, _))) = (shares.first(), shares.last()) {
            record.set(&format!("{one}_median_share"), shares[(shares.len() - 1) / 2].0);
            record.set(&format!("{one}_worst_share"), worst);
            record.set(&format!("{one}_worst_seed"), seed.to_string());
            record.set(&format!("{one}_best_share"), best);
        }
    }
    Ok(())
}

/// The shares of a random pattern with the seeds of their draws, the worst first.
fn drawn(view: &View<'_>, traffic: &Traffic, question: Question) -> Result<Vec<(f64, u64)>, Error> {
    let draws: Vec<u64> = (0..question.samples).collect();
    let nodes = view.fabric.nodes();
    let one = |&draw: &u64| {
        let seed = sample_seed(question.seed, draw);
        let demand = traffic.demand(nodes, seed).map_err(|error| Error::Input(error.to_string()))?;
        Ok(view.share_of(&demand)?.map(|share| (share, seed)))
    };
    let shares: Result<Vec<Option<(f64, u64)>>, Error> = parallel::each(&draws, one).into_iter().collect();
    let mut shares: Vec<(f64, u64)> = shares?.into_iter().flatten().collect();
    shares.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    Ok(shares)
}

/// Shifts: the steps of linear exchanges.
fn shifts(view: &View<'_>, record: &mut Record) -> Result<(), Error> {
    let nodes = view.fabric.nodes();
    let tried = nodes.saturating_sub(1).min(SHIFTS);
    let steps: Vec<u32> =
        (0..tried).map(|i| 1 + (u64::from(i) * u64::from(nodes - 1) / u64::from(tried)) as u32).collect();
    let one = |&step: &u32| {
        let demand = Traffic::Shift(step).demand(nodes, 0).map_err(|error| Error::Input(error.to_string()))?;
        Ok(view.share_of(&demand)?.map(|share| (share, step)))
    };
    let shares: Result<Vec<Option<(f64, u32)>>, Error> = parallel::each(&steps, one).into_iter().collect();
    let mut shares: Vec<(f64, u32)> = shares?.into_iter().flatten().collect();
    shares.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    record.set("shifts", shares.len());
    if let Some(in_order) = shares.iter().find(|(_, step)| *step == 1) {
        record.set("ring_in_order_share", in_order.0);
    }
    if let Some(&(worst, step)) = shares.first() {
        record.set("shift_median_share", shares[(shares.len() - 1) / 2].0);
        record.set("shift_worst_share", worst);
        record.set("shift_worst", format!("permutation:shift:{step}"));
    }
    Ok(())
}

fn credit_loop(fabric: &Fabric, record: &mut Record) {
    match deadlock::check(fabric) {
        Ok(report) => {
            record.set("credit_loop", report.cycle.is_some());
            record.set("deadlock", report.sentence(fabric));
        }
        Err(why) => {
            record.set("credit_loop", serde_json::Value::Null);
            record.set("deadlock", why.to_string());
        }
    }
}
