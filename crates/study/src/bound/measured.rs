//! The bound of a number measured on a network, here or elsewhere: that of the named fabric. Each node has a rank, or as
//! many as others where a collective has more ranks than nodes.

use crate::bound::message;
use crate::bound::pattern::{Pattern, flows, one, with_limit};
use crate::bound::program::by_any_means;
use crate::options::Rates;
use crate::{Error, Source, inputs, sensitivity};
use hotlink_bench::{OF_ALL_PARTS, Record, Which, is_beyond};
use hotlink_bound::flows::of_pairs;
use hotlink_bound::{Bound, network};
use hotlink_fabric::Fabric;
use hotlink_fabric::network::Node;
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::traffic::Demand;
use hotlink_fabric::units::Time;
use hotlink_sim::port::Adapter;
use hotlink_sim::{Plan, Settings};
use std::collections::BTreeMap;

/// Packet efficiency of a row without a size.
const ANY_SIZE: u64 = 1 << 20;

/// A fabric at the sizes that the rows ask for.
pub struct Bounds {
    source: Source,
    nodes: Option<u32>,
    capacities: Rates,
    built: BTreeMap<u32, Fabric>,
    idle: Idle,
}

/// Times of one message through the idle network that are known, by nodes, ends and size: they take a simulation each.
type Idle = BTreeMap<(u32, [u32; 2], u64), f64>;

impl Bounds {
    /// The fabric `name`, with `nodes` where they are not what the rows say.
    pub fn open(name: &str, nodes: Option<u32>) -> Result<Bounds, Error> {
        Ok(Bounds::of(Source::open(name)?, nodes))
    }

    /// The same of a fabric that is open already.
    pub fn of(source: Source, nodes: Option<u32>) -> Bounds {
        Bounds { source, nodes, capacities: Rates::Measured, built: BTreeMap::new(), idle: Idle::new() }
    }

    /// The same by these rates of the resources.
    #[must_use]
    pub fn by(self, capacities: Rates) -> Bounds {
        Bounds { capacities, ..self }
    }

    /// The rates out of and into a node's own devices at large sizes, of the node that has most: MB/s.
    ///
    /// # Errors
    /// The fabric has no such number of nodes.
    pub fn devices_mbps(&mut self, nodes: u32) -> Result<Option<[f64; 2]>, Error> {
        let capacities = self.capacities;
        let fabric = self.at(self.nodes.unwrap_or(nodes))?;
        let (rates, efficiency) = (capacities.into(), fabric.spec.packet().efficiency(ANY_SIZE, 1.0));
        let most = |of: &dyn Fn(Node) -> Option<f64>| fabric.network.node_iter().filter_map(of).reduce(f64::max);
        let out = most(&|node| fabric.injection_at_mbps(node, rates, efficiency));
        let into = most(&|node| fabric.reception_at_mbps(node, rates, efficiency));
        Ok(out.zip(into).map(<[f64; 2]>::from))
    }

    /// The record with `bound_*`, `efficiency` and `limiting_resource`, where its benchmark has a bound. An efficiency above
    /// one has its interval, where the bound rests on estimates.
    ///
    /// # Errors
    /// The fabric has no such number of nodes, or no bound of the benchmark there.
    pub fn add(&mut self, record: Record) -> Result<Record, Error> {
        let bounded = self.with_bound(record.clone())?;
        let efficiency = bounded.number("efficiency");
        match efficiency.filter(|&efficiency| is_beyond(&bounded, efficiency)) {
            Some(_) => self.with_interval(&record, bounded),
            None => Ok(bounded),
        }
    }

    /// The efficiency where the fabric's uncertain inputs are at the ends of their ranges.
    fn with_interval(&self, bare: &Record, bounded: Record) -> Result<Record, Error> {
        let inputs = sensitivity::uncertain(&self.source.spec().used());
        let efficiency = |spec: &FabricSpec| {
            let mut own = Bounds::of(self.source.varied(spec.clone()), self.nodes).by(self.capacities);
            Ok::<_, Error>(vec![own.with_bound(bare.clone())?.number("efficiency").unwrap_or(f64::NAN)])
        };
        let found = sensitivity::vary_all(self.source.spec(), &inputs, efficiency)?;
        Ok(match found.first().filter(|found| !found.ranking.is_empty()) {
            Some(found) => inputs::with_sensitivity(bounded, "efficiency", found),
            None => bounded,
        })
    }

    fn with_bound(&mut self, record: Record) -> Result<Record, Error> {
        let ranks = record.number("ranks").map_or(2, |ranks| ranks as u32).max(2);
        let nodes = self.nodes.unwrap_or(ranks);
        let name = self.source.name().to_owned();
        let what = |error: String| Error::Input(format!("--fabric {name}: {error}"));
        self.at(nodes)?;
        let (fabric, idle) = (&self.built[&nodes], &mut self.idle);
        let bounded = bounded(fabric, record.clone().with("nodes", nodes), self.capacities, idle).map_err(what)?;
        let bounded = bounded.map(|record| record.with("capacities", self.capacities.name()));
        Ok(bounded.unwrap_or_else(|| record.unbounded("no bound is known for this benchmark")))
    }

    fn at(&mut self, nodes: u32) -> Result<&Fabric, Error> {
        if !self.built.contains_key(&nodes) {
            let at = |what: String| Error::Input(format!("--fabric {}: {what}; see --nodes", self.source.name()));
            self.built.insert(nodes, self.source.build(nodes).map_err(at)?);
        }
        Ok(&self.built[&nodes])
    }
}

/// The benchmark that a row's bound is of, without what does not change it: OSU's and IMB's parts are all of one size.
pub fn blocking(benchmark: &str) -> &str {
    let bare = benchmark.strip_prefix("non_blocking_").unwrap_or(benchmark);
    if ["allgatherv", "gatherv", "scatterv"].contains(&bare) { bare.trim_end_matches('v') } else { bare }
}

fn bounded(fabric: &Fabric, record: Record, capacities: Rates, idle: &mut Idle) -> Result<Option<Record>, String> {
    let size = record.number("size_B").map_or(ANY_SIZE, |size| size as u64);
    // Messages of no bytes have no rate.
    let sent = size.max(1);
    let nodes = fabric.nodes();
    let benchmark = blocking(record.text("benchmark").unwrap_or_default()).to_owned();
    let timed = record.number("latency_us").is_some();
    match benchmark.as_str() {
        "pingpong" | "fetch" | "pairs" | "put" | "get" if timed => {
            let limits = Pattern::of(fabric, &between(&record, nodes, false), capacities, sent)?.bounds;
            let ends = ends(&record, nodes).unwrap_or([0, nodes - 1]);
            let alone_us = idle_us(fabric, ends, size, (capacities, limits.bandwidth_per_node_mbps), idle)?;
            let messages = if ["fetch", "get"].contains(&benchmark.as_str()) { 2 } else { 1 };
            let bound = network::idle(alone_us, messages, size as f64, limits.per_node());
            let is_rated = record.number("bound_bandwidth_MBps").is_some();
            Ok(by_time(record, &bound).map(|record| {
                let record = with_limit(record, fabric, &limits);
                if is_rated { record.also_bounded("bound_bandwidth_MBps", bound.in_time(size)) } else { record }
            }))
        }
        "stream" | "rate" | "saturation" | "put" | "get" | "sendrecv" | "exchange" => {
            let both = matches!(record.text("direction"), Some("bi" | "bidirectional"))
                || benchmark == "sendrecv"
                || benchmark == "exchange";
            let count = record.number("pairs").map_or(1, |pairs| pairs as u32).clamp(1, (nodes / 2).max(1));
            let demand = match count {
                1 => between(&record, nodes, both),
                _ => pairs(nodes, count, both),
            };
            let fair = Pattern::of(fabric, &demand, capacities, sent)?.bounds;
            let limits = of_pairs(fabric, &demand, &fair, capacities.into())?;
            let Some(rate) = record.number("bandwidth_MBps") else { return Ok(None) };
            let senders = f64::from(count) * if both { 2.0 } else { 1.0 };
            let bound = network::pairs(senders, limits.per_node());
            let by_software = overhead_us(fabric, &record, both).map(|cost_us| {
                let each = [network::by_overhead(sent as f64, cost_us), limits.per_node()];
                network::stream(sent as f64, senders, each)
            });
            Ok(Some(match by_software.filter(|slower| size > 0 && slower.mbps < bound.mbps) {
                // A real machine's software may be quicker than the catalog's, and no network.
                Some(slower) => record.beside_rate(&slower, rate).also_bounded("bound_largest_MBps", bound.mbps),
                None => with_limit(record.beside_rate(&bound, rate), fabric, &limits),
            }))
        }
        _ => match Which::ALL.into_iter().find(|which| which.name() == benchmark) {
            // No row says how their parts differ.
            None | Some(Which::Alltoallv) => Ok(None),
            Some(which) if size == 0 && which != Which::Barrier => {
                Ok(Some(record.unbounded("a collective of 0 B need send nothing")))
            }
            Some(which) => {
                let ranks = record.number("ranks").map_or(fabric.asked, |ranks| ranks as u32).max(fabric.asked);
                // Parts that differ are equal in the mean, and some rank gives the others no less than the mean.
                let parts = if record.text("size_is") == Some(OF_ALL_PARTS) { u64::from(ranks) } else { 1 };
                let each = ranks / fabric.asked;
                let size = which.of_nodes(size / parts, u64::from(each));
                let record = by_time(record, &by_any_means(fabric, which, size, capacities)?);
                let even = format!("{each} ranks or more on each of {} nodes", fabric.asked);
                let even = (ranks > fabric.asked).then_some(even);
                let means = "the least of all means that the fabric has".to_owned();
                let assumed: Vec<String> = std::iter::once(means).chain(even).collect();
                Ok(record.map(|record| record.assuming(Some(assumed.join("; ")))))
            }
        },
    }
}

/// What a message of MPI's windows costs the busier of its processors, as `simulate stream` has it. Other programs have
/// no message stack, or no messages.
fn overhead_us(fabric: &Fabric, record: &Record, both: bool) -> Option<f64> {
    let is_windowed = matches!(record.text("benchmark"), Some("stream" | "rate"));
    let is_of_mpi = matches!(record.text("program"), Some("osu" | "imb"));
    if !is_windowed || !is_of_mpi {
        return None;
    }
    let plan = Plan::new(fabric, &Settings::of(&fabric.spec)).ok()?;
    let [post_us, poll_us] = Adapter::overheads(&plan).ok()?.map(Time::us);
    Some(if both { post_us + poll_us } else { post_us.max(poll_us) }).filter(|us| *us > 0.0)
}

fn by_time(record: Record, bound: &Bound) -> Option<Record> {
    let us = record.number("latency_us").filter(|us| *us > 0.0)?;
    Some(record.beside_time(bound, us))
}

/// One message between the pair that the record names, or the first and the last node; with `both` one each way.
fn between(record: &Record, nodes: u32, both: bool) -> Demand {
    match ends(record, nodes) {
        Some([a, b]) if both => flows(nodes, [(a, b), (b, a)]),
        Some([source, destination]) => one(nodes, source, destination),
        None => pairs(nodes, 1, both),
    }
}

/// The pair that a record names.
fn ends(record: &Record, nodes: u32) -> Option<[u32; 2]> {
    let end = |key: &str| record.number(key).map(|rank| rank as u32).filter(|node| *node < nodes);
    Some([end("rank_a")?, end("rank_b")?])
}

/// Node i of the first half to node i of the second; the last pair of two is the first and the last node.
fn pairs(nodes: u32, count: u32, both: bool) -> Demand {
    let pair = |pair: u32| if count == 1 { (0, nodes - 1) } else { (pair, nodes / 2 + pair) };
    let back = (0..count).map(pair).map(|(a, b)| (b, a)).filter(|_| both);
    flows(nodes, (0..count).map(pair).chain(back))
}

/// The time of one message through the idle network.
fn idle_us(fabric: &Fabric, ends: [u32; 2], size: u64, rates: (Rates, f64), known: &mut Idle) -> Result<f64, String> {
    let key = (fabric.nodes(), ends, size);
    if let Some(&us) = known.get(&key) {
        return Ok(us);
    }
    let us = message::idle_us(fabric, ends, size, rates)?;
    known.insert(key, us);
    Ok(us)
}
