//! QsNet's own collectives: `simulate barrier|bcast --fabric qsnet --algorithm hardware,tree,nic`.

use super::distribution::with_distribution;
use super::options::PacketArgs;
use super::program::StackArgs;
use crate::source::Source;
use crate::{Failure, output::Output};
use hotlink_bench::Record;
use hotlink_fabric::background::BackgroundSpec;
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::units::Time;
use hotlink_sim::qsnet::{self, Algorithm, Collective, Elan};
use hotlink_sim::{Plan, Settings};
use rayon::prelude::*;
use std::time::Instant;

/// What takes no part in QsNet's own collectives.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Missing {
    /// Nodes that take no part, with QsNet's own algorithms: the tree takes the hardware's place unless the others are contiguous.
    #[arg(long, value_name = "LIST", value_delimiter = ',', num_args = 1)]
    without: Vec<u32>,
    /// Plan of links and switches that fail, with QsNet's own algorithms: the tree takes the hardware's place.
    #[arg(long, value_name = "PLAN.toml")]
    faults: Option<String>,
}

impl Missing {
    /// Refuses them where another algorithm runs.
    pub(crate) fn refuse(&self) -> Result<(), Failure> {
        if self.without.is_empty() && self.faults.is_none() {
            return Ok(());
        }
        Err(Failure::Input("--without, --faults: only with QsNet's own algorithms: hardware, tree, nic".to_owned()))
    }
    /// The nodes that take part of `nodes`.
    fn members(&self, nodes: u32) -> Result<Vec<u32>, String> {
        match self.without.iter().find(|&&node| node >= nodes) {
            Some(node) => Err(format!("--without: there is no node {node}: allowed are 0 to {}", nodes.max(1) - 1)),
            None => Ok((0..nodes).filter(|node| !self.without.contains(node)).collect()),
        }
    }
}

/// One of QsNet's algorithms on a fabric that has its adapters; any other goes over the message stack.
pub(crate) fn algorithm(fabric: &str, name: &str) -> Option<Algorithm> {
    let spec = Source::open(fabric).ok().and_then(|source| source.spec().cloned())?;
    Elan::of(&spec)?;
    Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
}

/// One collective of one size on one number of nodes.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) fabric: String,
    pub(crate) what: Collective,
    pub(crate) missing: Missing,
    pub(crate) seed: u64,
    pub(crate) raw: bool,
}

/// Cells of barriers.
pub(crate) fn barriers(
    fabric: &str,
    nodes: &[u32],
    algorithm: Algorithm,
    (stack, missing): (&StackArgs, &Missing),
    seed: u64,
) -> Vec<Cell> {
    let cell = |&nodes: &u32| {
        let (samples, background) = (stack.samples(), stack.background());
        let what = Collective { algorithm, nodes, bytes: None, samples, limit: stack.limit(), background };
        Cell { fabric: fabric.to_owned(), what, missing: missing.clone(), seed, raw: stack.raw() }
    };
    nodes.iter().map(cell).collect()
}

/// Cells of broadcasts.
pub(crate) fn broadcasts(
    packet: &PacketArgs,
    fabric: &str,
    algorithm: Algorithm,
    (stack, missing): (&StackArgs, &Missing),
) -> Result<Vec<Cell>, Failure> {
    let mut cells = Vec::new();
    for nodes in packet.nodes_or(None)? {
        for cell in barriers(fabric, &[nodes], algorithm, (stack, missing), packet.seed()) {
            let sized = |&bytes: &u64| {
                let what = Collective { bytes: Some(bytes), samples: stack.samples_of(bytes), ..cell.what };
                Cell { what, ..cell.clone() }
            };
            cells.extend(packet.sizes().iter().map(sized));
        }
    }
    Ok(cells)
}

impl Cell {
    fn run(&self) -> Result<Record, String> {
        let start = Instant::now();
        let source = Source::open(&self.fabric).map_err(|failure| failure.to_string())?;
        let fabric = source.build(self.what.nodes)?;
        let elan = Elan::of(&fabric.spec).ok_or_else(|| format!("{}: no QsNet adapters", self.fabric))?;
        let members = self.missing.members(self.what.nodes)?;
        let faults = self.missing.faults.as_ref().map_or(Ok(Vec::new()), |file| super::faults::read(file, &fabric))?;
        let settings = Settings { seed: self.seed, faults, ..elan.settings(&Settings::of(&fabric.spec)) };
        let plan = Plan::new(&fabric, &settings).map_err(|error| error.to_string())?;
        let what = &self.what;
        let failed = |error: hotlink_sim::SimError| format!("{} with {} nodes: {error}", self.fabric, what.nodes);
        let outcome = qsnet::run_among(&plan, &settings, elan, what, &members).map_err(failed)?;
        let ends = [members[0], members[members.len() - 1]];
        let bound = qsnet::bound(&plan, ends, what.bytes.unwrap_or(0)).map_err(failed)?;
        let values = us(&outcome.latencies);
        let median = sorted(&values)[values.len() / 2];
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
            .with("latency_us", median);
        if let Some(bytes) = what.bytes {
            let synchronised = us(&outcome.synchronised);
            record.set("synchronised_us", sorted(&synchronised)[synchronised.len() / 2]);
            record.set("bandwidth_MBps", bytes as f64 / median);
            record.set("bound_bandwidth_MBps", bytes as f64 / bound.latency.us());
        }
        if let Some(shape) = outcome.shape {
            record.set("tree_degree", shape.degree);
            record.set("chunk_B", shape.chunk);
        }
        let algorithm = if outcome.fallback.is_some() { Algorithm::Tree } else { what.algorithm };
        if let Some(why) = outcome.fallback {
            record.set("fallback", format!("tree of puts: {why}"));
        }
        let record = record
            .with("bound_latency_us", bound.latency.us())
            .with("efficiency", bound.latency.us() / median)
            .with(
                "limiting_resource",
                limit(&fabric.spec, &Collective { algorithm, ..*what }, bound.by_bytes, bound.latency.us() / median),
            )
            .with(
                "bound_is",
                "the way to the farthest node through both adapters and buses, and the bytes at the link's rate",
            );
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
            .with("wall_s", start.elapsed().as_secs_f64()))
    }
}

/// What sets the time: the link if bytes do and the bound is nearly met, else who forwards, or the traffic beside it.
fn limit(spec: &FabricSpec, what: &Collective, by_bytes: bool, efficiency: f64) -> String {
    let link = spec.resource(hotlink_fabric::spec::Role::Link).map_or("link", |link| link.name.as_str());
    match (what.background, what.algorithm) {
        _ if by_bytes && efficiency > 0.5 => link.to_owned(),
        (Some(_), _) => "background traffic".to_owned(),
        (None, Algorithm::Tree) if by_bytes => "hosts' buses".to_owned(),
        (None, Algorithm::Hardware) => "ways of conditional, answer and release".to_owned(),
        (None, Algorithm::Tree) => "hosts on the tree".to_owned(),
        (None, Algorithm::Nic) => "adapters on the tree".to_owned(),
    }
}

fn us(times: &[Time]) -> Vec<f64> {
    times.iter().map(|time| time.us()).collect()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Runs the cells on all cores and prints their records in order.
pub(crate) fn run(cells: &[Cell], output: &mut Output) -> Result<(), Failure> {
    let progress = output.progress("simulate", cells.len() as u64);
    let _ticking = progress.ticking();
    let one = |cell: &Cell| {
        let record = cell.run();
        progress.step();
        record
    };
    let records: Result<Vec<Record>, String> = cells.par_iter().map(one).collect();
    super::packet::print(records.map_err(Failure::Input)?, output);
    Ok(())
}
