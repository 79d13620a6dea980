//! QsNet's own collectives, by its hardware, by a tree of puts, by its adapters.

use super::program::{with_hosts, with_split};
use super::{faults, limiter};
use crate::bound::network;
use crate::effort;
use crate::inputs::{self, Vary};
use crate::{Error, Source, Watch, parallel};
use hotlink_bench::Record;
use hotlink_bench::distribution::{ascending_us, median, with_distribution};
use hotlink_bound::{Bound, LATENCY};
use hotlink_fabric::units::Time;
use hotlink_port::background::BackgroundSpec;
use hotlink_sim::qsnet::{self, Algorithm, Collective, Elan};
use hotlink_sim::{Plan, Settings, SimError};

/// Parts that take no part in QsNet's own collectives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Missing {
    /// Nodes that take no part.
    pub without: Vec<u32>,
    /// File with the plan of failures.
    pub faults: Option<String>,
}

impl Missing {
    /// Refuses them where another algorithm runs.
    ///
    /// # Errors
    /// There are any.
    pub fn refuse(&self) -> Result<(), Error> {
        if self.without.is_empty() && self.faults.is_none() {
            return Ok(());
        }
        let own = "--without: only with QsNet's own algorithms: hardware, tree, nic";
        let all = "--faults: only with collectives, barriers by messages or QsNet's adapters, and traffic";
        Err(Error::Input(if self.without.is_empty() { all } else { own }.to_owned()))
    }
    /// The nodes that take part of `nodes`.
    fn members(&self, nodes: u32) -> Result<Vec<u32>, String> {
        match self.without.iter().find(|&&node| node >= nodes) {
            Some(node) => Err(format!("--without: there is no node {node}: must be 0 to {}", nodes.max(1) - 1)),
            None => Ok((0..nodes).filter(|node| !self.without.contains(node)).collect()),
        }
    }
}

/// One of QsNet's algorithms on a fabric that has its adapters; any other goes over the message stack.
pub fn algorithm(fabric: &str, name: &str) -> Option<Algorithm> {
    let spec = Source::open(fabric).ok().map(|source| source.spec().clone())?;
    Elan::of(&spec)?;
    Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
}

/// One collective of one size on one number of nodes.
#[derive(Clone, Debug)]
pub struct Cell {
    /// A fabric's name.
    pub fabric: String,
    /// The collective.
    pub what: Collective,
    /// The missing parts.
    pub missing: Missing,
    /// Seed of every random choice.
    pub seed: u64,
    /// Whether every sample is given.
    pub raw: bool,
    /// Whether the uncertain inputs are varied for the answer's interval.
    pub sensitivity: Vary,
}

impl Cell {
    fn run(&self, watch: &dyn Watch) -> Result<Vec<Record>, Error> {
        self.run_from(&Source::open(&self.fabric)?, watch)
    }

    /// Runs it on a fabric that is open already.
    ///
    /// # Errors
    /// The fabric has no such adapters, or the collective cannot be run.
    pub fn run_from(&self, source: &Source, watch: &dyn Watch) -> Result<Vec<Record>, Error> {
        let answer = |source: &Source, watch: &dyn Watch| Ok(vec![self.run_on(source, watch).map_err(Error::Input)?]);
        inputs::told(source, self.sensitivity, watch, &answer)
    }

    fn run_on(&self, source: &Source, watch: &dyn Watch) -> Result<Record, String> {
        let start = watch.seconds();
        let fabric = source.build(self.what.nodes)?;
        let elan = Elan::of(&fabric.spec).ok_or_else(|| format!("{}: no QsNet adapters", self.fabric))?;
        effort::check_own(&fabric, self.what.bytes.unwrap_or(0), self.what.samples)
            .map_err(|what| format!("{} with {} nodes: {what}", self.fabric, self.what.nodes))?;
        let members = self.missing.members(self.what.nodes)?;
        let faults = self.missing.faults.as_ref().map_or(Ok(Vec::new()), |file| faults::read(file, &fabric))?;
        let base = Settings { seed: self.seed, faults, ..Settings::of(&fabric.spec) };
        let settings = elan.settings(&base);
        let plan = Plan::new(&fabric, &settings).map_err(|error| error.to_string())?;
        let what = &self.what;
        let failed = |error: SimError| match &error {
            SimError::Lost(lost) => {
                faults::told(lost, &plan, &settings.faults, self.missing.faults.as_deref().as_slice(), &[])
            }
            error => format!("{} with {} nodes: {error}", self.fabric, what.nodes),
        };
        let by = |algorithm| qsnet::run_among(&plan, &settings, elan, &Collective { algorithm, ..*what }, &members);
        let hosts = || (what.algorithm == Algorithm::Nic).then(|| by(Algorithm::Tree)).transpose();
        let (outcome, hosts) = rayon::join(|| by(what.algorithm), hosts);
        let (outcome, hosts) = (outcome.map_err(failed)?, hosts.map_err(failed)?);
        let by_hosts = hosts.map(|hosts| Record::new().with("latency_us", median(&ascending_us(&hosts.latencies))));
        let ends = [members[0], members[members.len() - 1]];
        let bound = network::broadcast(&plan, ends, what.bytes.unwrap_or(0)).map_err(failed)?;
        let values = us(&outcome.latencies);
        let latency_us = median(&ascending_us(&outcome.latencies));
        let mut record = Record::new()
            .with("fabric", fabric.spec.name.as_str())
            .with("benchmark", if what.bytes.is_some() { "bcast" } else { "barrier" })
            .with("algorithm", what.algorithm.name())
            .with("method", "packet")
            .with("stack", "adapter")
            .with("nodes", members.len())
            .with("nodes_built", fabric.nodes())
            .with("size_B", what.bytes.unwrap_or(0))
            .with("background", what.background.map(|background: BackgroundSpec| background.to_string()))
            .with("seed", self.seed)
            .with("latency_us", latency_us);
        if let Some(bytes) = what.bytes {
            record.set("synchronised_us", median(&ascending_us(&outcome.synchronised)));
            record.set("bandwidth_MBps", bytes as f64 / latency_us);
            record = record.also_bounded("bound_bandwidth_MBps", bytes as f64 / bound.latency_us);
        }
        if let Some(shape) = outcome.shape {
            record.set("tree_degree", shape.degree);
            record.set("chunk_B", shape.chunk);
        }
        let algorithm = if outcome.fallback.is_some() { Algorithm::Tree } else { what.algorithm };
        if let Some(why) = outcome.fallback {
            record.set("fallback", format!("tree of puts: {why}"));
        }
        let what = Collective { algorithm, ..*what };
        let limiting = limit(&what, &bound, bound.share_of_time(latency_us));
        let record = with_hosts(with_split(record, elan.split(&plan)), by_hosts.as_ref());
        let record = record.beside_time(&bound, latency_us).limited_by(limiting);
        let record = limiter::of_ranks(record, &plan, &outcome.run, &outcome.busy, None);
        Ok(with_distribution(record, &values, self.raw)
            .with("retries", outcome.retries)
            .with("translations", outcome.lookups.pages)
            .with("translation_misses", outcome.lookups.misses)
            .with("barriers_safe", outcome.barriers)
            .with("elapsed_us", outcome.run.elapsed.us())
            .with("events", outcome.run.stats.events)
            .with("packet_hops", outcome.run.stats.packet_hops)
            .with("packets", outcome.run.stats.packets)
            .with("trace_hash", format!("{:016x}", outcome.run.trace_hash))
            .with("wall_s", watch.seconds() - start))
    }
}

/// What limits the time: the link if bytes decide and the bound is nearly met, else the forwarding part, or the
/// other traffic.
fn limit<'a>(what: &Collective, bound: &'a Bound, efficiency: f64) -> &'a str {
    let by_bytes = bound.resource != LATENCY;
    match (what.background, what.algorithm) {
        _ if by_bytes && efficiency > 0.5 => &bound.resource,
        (Some(_), _) => "background traffic",
        (None, Algorithm::Tree) if by_bytes => "hosts' buses",
        (None, Algorithm::Hardware) => "ways of conditional, answer and release",
        (None, Algorithm::Tree) => "hosts on the tree",
        (None, Algorithm::Nic) => {
            if what.bytes.is_some() {
                "adapters on the tree"
            } else {
                "adapters"
            }
        }
    }
}

fn us(times: &[Time]) -> Vec<f64> {
    times.iter().map(|time| time.us()).collect()
}

/// The records of all cells, handed to `give` in their order.
///
/// # Errors
/// As [`parallel::answers_in_order`].
pub fn run(cells: &[Cell], watch: &dyn Watch, give: &mut (dyn FnMut(Vec<Record>) -> bool + Send)) -> Result<(), Error> {
    let one = |cell: &Cell| {
        let record = cell.run(watch);
        watch.step();
        record
    };
    parallel::answers_in_order(cells, one, give)
}
