//! Programs on simulated ranks: the benchmarks of `measure`, in virtual time, over the whole message-passing stack.
//!
//! `--stack packet` (where a benchmark has it) sends bare packets between adapters: the network alone. `--stack message`
//! runs the benchmark's own code on [`hotlink_message::Comm`], over ports of the fabric's adapters: with hosts,
//! protocols, set-ups and matching.

use super::cell::{Cell, What};
use super::distribution::with_distribution;
use super::least::{idle_us, reduced, with_least};
use crate::verbs::measure::sorted;
use hotlink_bench::is::{Class, IntegerSort};
use hotlink_bench::{
    Bench, Collected, Collective, Overlap, PingPong, Plan, Record, Samples, Semantics, Start, Summary,
};
use hotlink_bench::{Told, Tuned, Tuning, Which};
use hotlink_fabric::background::BackgroundSpec;
use hotlink_fabric::reduction::ReductionSpec;
use hotlink_fabric::units::Time;
use hotlink_message::{Algorithm, Counters, Error, Policy, SetupStats};
use hotlink_port::{Align, Driver, Kind};
use hotlink_sim::port::{Family, VirtualTime};
use hotlink_sim::{Plan as NetPlan, Settings};
use serde::{Serialize, de::DeserializeOwned};
use std::time::Instant;

/// Which layers are simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Stack {
    /// The network alone: packets between adapters.
    Packet,
    /// A program on ranks: hosts, protocols and network.
    Message,
}

/// Memory that messages lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Memory {
    /// Segments allocated for communication (what the port likes best).
    Regular,
    /// Ordinary user memory, registered for zero-copy transfers.
    Registered,
}

/// Where in a page ordinary memory begins (W01's attribute `alignment`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Alignment {
    /// At its start.
    Default,
    /// Anywhere: after the words that a heap keeps before a block.
    None,
}

/// Which set-ups are released when resources run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Cache {
    /// The one used longest ago.
    Lru,
    /// The one used least often.
    Lfu,
    /// The smallest that frees enough.
    BestFit,
    /// Any.
    Random,
    /// Nothing is kept: without the cache.
    Immediate,
}

impl Cache {
    pub(crate) fn policy(self, seed: u64) -> Policy {
        match self {
            Cache::Lru => Policy::Lru,
            Cache::Lfu => Policy::Lfu,
            Cache::BestFit => Policy::BestFit,
            Cache::Random => Policy::Random(seed),
            Cache::Immediate => Policy::Immediate,
        }
    }
    pub(crate) fn name(self) -> &'static str {
        match self {
            Cache::Lru => "lru",
            Cache::Lfu => "lfu",
            Cache::BestFit => "best-fit",
            Cache::Random => "random",
            Cache::Immediate => "immediate",
        }
    }
}

/// Whether long messages move without buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ZeroCopy {
    /// Where the port can.
    On,
    /// Through buffers, one copy on the way.
    Off,
}

/// What carries messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Via {
    /// The adapter, as its own protocols use it.
    Adapter,
    /// The kernel's TCP/IP over the same adapter and network.
    Tcp,
}

/// Options of programs.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct StackArgs {
    /// Memory that messages lie in.
    #[arg(long, value_enum, value_delimiter = ',')]
    memory: Vec<Memory>,
    /// Alignment of registered memory: to pages, or none.
    #[arg(long, value_enum, value_delimiter = ',')]
    align: Vec<Alignment>,
    /// Cache of registrations, mappings and connections: what goes when resources run out.
    #[arg(long, value_enum, value_delimiter = ',')]
    cache: Vec<Cache>,
    /// Long messages without buffers, or through them.
    #[arg(long, value_enum, value_delimiter = ',')]
    zero_copy: Vec<ZeroCopy>,
    /// What carries messages: the adapter itself, or the kernel's TCP/IP over it.
    #[arg(long, value_enum, value_delimiter = ',')]
    via: Vec<Via>,
    /// Rounds before the one that counts, so that set-ups are made; by default 1, and none beyond 4096 nodes.
    #[arg(long, value_name = "N")]
    warmup: Option<u64>,
    /// Traffic beside it: uniform, permutation, hotspot, bursty, ring, pairs or all-to-all, and the load, as uniform:1.0
    /// [default: none].
    #[arg(long, value_name = "PATTERN:LOAD[:BYTES]")]
    background: Option<BackgroundSpec>,
    /// Samples, one after another; more than one makes sense beside other traffic [default: 1; with --background 20, fewer
    /// of long broadcasts, and of QsNet's own algorithms none that would begin after 10 ms of simulated time].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    samples: Option<u32>,
    /// Give every sample, as `plot --y samples` draws.
    #[arg(long)]
    raw: bool,
}

impl StackArgs {
    /// Whether an option asks for the message-passing stack.
    pub(crate) fn is_asked_for(&self) -> bool {
        !self.memory.is_empty()
            || !self.cache.is_empty()
            || !self.align.is_empty()
            || !self.zero_copy.is_empty()
            || !self.via.is_empty()
            || self.warmup.is_some()
            || self.background.is_some()
    }
    /// Traffic beside it.
    pub(crate) fn background(&self) -> Option<BackgroundSpec> {
        self.background
    }
    /// Whether every sample is asked for.
    pub(crate) fn raw(&self) -> bool {
        self.raw
    }
    /// Whether an option says how often a benchmark is repeated.
    pub(crate) fn repeats(&self) -> bool {
        self.warmup.is_some() || self.samples.is_some() || self.raw
    }
    /// Samples to be taken of a message of `bytes`: where none are asked for, no more than move 1 MiB.
    pub(crate) fn samples_of(&self, bytes: u64) -> u32 {
        let most = ((1 << 20) / bytes.max(1)).clamp(1, 20) as u32;
        self.samples.unwrap_or(self.samples().min(most))
    }
    /// Virtual time after which no further sample begins, beside other traffic that never ends, unless their number is
    /// asked for.
    pub(crate) fn limit(&self) -> Option<Time> {
        (self.samples.is_none() && self.background.is_some()).then_some(ENOUGH)
    }
    /// Samples to be taken.
    pub(crate) fn samples(&self) -> u32 {
        self.samples.unwrap_or(if self.background.is_some() { 20 } else { 1 })
    }
    /// One program for each combination.
    pub(crate) fn programs(&self, nodes: u32, bench: &ProgramBench, algorithms: &[Option<Algorithm>]) -> Vec<What> {
        fn or<T: Copy>(given: &[T], usual: T) -> Vec<T> {
            if given.is_empty() { vec![usual] } else { given.to_vec() }
        }
        let warmup = self.warmup.unwrap_or(u64::from(nodes <= 4096));
        let mut all = Vec::new();
        for &memory in &or(&self.memory, Memory::Regular) {
            for &align in &or(&self.align, Alignment::Default) {
                for &cache in &or(&self.cache, Cache::Lru) {
                    for &zero_copy in &or(&self.zero_copy, ZeroCopy::On) {
                        for &via in &or(&self.via, Via::Adapter) {
                            let of = |&algorithm: &Option<Algorithm>| Program {
                                bench: bench.clone(),
                                memory,
                                align,
                                cache,
                                zero_copy: zero_copy == ZeroCopy::On,
                                via,
                                algorithm,
                                warmup,
                                background: self.background,
                                samples: self.samples(),
                                raw: self.raw,
                            };
                            all.extend(algorithms.iter().map(of).map(What::Program));
                        }
                    }
                }
            }
        }
        all
    }
}

/// Which benchmark.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ProgramBench {
    PingPong { between: [u32; 2] },
    Semantics { postal: bool },
    Overlap { sender: bool, daxpy: bool, shares: Vec<f64> },
    Collective(Which),
    IntegerSort(Class),
}

/// A benchmark on simulated ranks, with its choices.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Program {
    bench: ProgramBench,
    pub(super) memory: Memory,
    align: Alignment,
    cache: Cache,
    pub(super) zero_copy: bool,
    via: Via,
    algorithm: Option<Algorithm>,
    warmup: u64,
    background: Option<BackgroundSpec>,
    samples: u32,
    raw: bool,
}

/// What the ranks of a run told, rank 0's protocol counters apart.
struct Ranks<T> {
    results: Vec<T>,
    counters: Counters,
    setups: SetupStats,
}

impl Program {
    /// Runs it; one record, or one for each point of an overlap curve.
    pub(crate) fn run(&self, cell: &Cell, plan: &NetPlan<'_>, settings: &Settings) -> Result<Vec<Record>, String> {
        let start = Instant::now();
        let mut driver = VirtualTime::new(plan, settings).with_background(self.background);
        if self.via == Via::Tcp {
            driver = driver.with_family(Family::Tcp);
        }
        let records = match &self.bench {
            ProgramBench::PingPong { between } => self.pingpong(cell, &mut driver, plan, *between),
            ProgramBench::Semantics { postal } => self.semantics(cell, &mut driver, plan, *postal),
            ProgramBench::Overlap { .. } => self.overlap(cell, &mut driver, plan),
            ProgramBench::Collective(which) => self.collective(cell, &mut driver, plan, *which),
            ProgramBench::IntegerSort(class) => self.sort(cell, &mut driver, plan, *class),
        }?;
        let outcome = driver.outcome().ok_or("the run did not end")?;
        let run = &outcome.run;
        let finish = |record: Record| {
            record
                .with("elapsed_us", run.elapsed.us())
                .with("events", run.stats.events)
                .with("packet_hops", run.stats.packet_hops)
                .with("packets", run.stats.packets)
                .with("resumptions", outcome.resumptions)
                .with("barriers_safe", outcome.barriers)
                .with("trace_hash", format!("{:016x}", run.trace_hash))
                .with("wall_s", start.elapsed().as_secs_f64())
        };
        Ok(records.into_iter().map(finish).collect())
    }

    fn on_ranks<B>(&self, driver: &mut VirtualTime<'_>, ranks: u32, bench: &B) -> Result<Ranks<B::Result>, String>
    where
        B: Bench,
        B::Result: Serialize + DeserializeOwned,
    {
        let seed = 1;
        let mut algorithms = Vec::new();
        if let (ProgramBench::Collective(which), Some(algorithm)) = (&self.bench, self.algorithm) {
            let collective = which.collective();
            if !algorithm.is_possible(collective, &driver.limits(ranks)) {
                let name = &driver.adapter().limits.name;
                return Err(format!(
                    "--algorithm {}: {name} has no hardware for it with {ranks} nodes",
                    algorithm.name()
                ));
            }
            algorithms.push((collective, algorithm));
        }
        let tuning = Tuning {
            policy: Some(self.cache.policy(seed)),
            memory: if self.memory == Memory::Registered { Kind::Private } else { Kind::Default },
            align: if self.align == Alignment::None { Align::None } else { Align::Default },
            zero_copy_bytes: (!self.zero_copy).then_some(u64::MAX),
            algorithms,
        };
        let results: Vec<Result<Told<B::Result>, Error>> =
            driver.run(ranks, &Tuned { bench, tuning }).map_err(|error| error.to_string())?;
        let told: Result<Vec<Told<B::Result>>, Error> = results.into_iter().collect();
        let told = told.map_err(|error| error.to_string())?;
        let (counters, setups) = told.first().map(|told| (told.counters, told.setups)).ok_or("no rank")?;
        Ok(Ranks { results: told.into_iter().map(|told| told.result).collect(), counters, setups })
    }

    fn head(&self, cell: &Cell, plan: &NetPlan<'_>, driver: &VirtualTime<'_>, benchmark: &str) -> Record {
        Record::new()
            .with("fabric", plan.fabric.spec.name.as_str())
            .with("benchmark", benchmark)
            .with("method", "packet")
            .with("stack", "message")
            .with("adapter", driver.adapter().family.name())
            .with("via", if self.via == Via::Tcp { "tcp" } else { "adapter" })
            .with("nodes", cell.nodes)
            .with("nodes_built", plan.fabric.nodes())
            .with("size_B", cell.size)
            .with("background", self.background.map(|background| background.to_string()))
            .with("capacities", cell.capacities.name())
            .with("seed", cell.seed)
    }
    /// How messages moved, and what the set-ups for it cost.
    fn with_protocols(&self, record: Record, counters: &Counters, setups: &SetupStats) -> Record {
        let (registrations, attachments) = (setups.registrations, setups.attachments);
        let (hits, misses) = (registrations.hits + attachments.hits, registrations.misses + attachments.misses);
        let memory = if self.memory == Memory::Regular { "regular" } else { "registered" };
        record
            .with("memory", memory)
            .with("alignment", if self.align == Alignment::None { "none" } else { "default" })
            .with("cache", self.cache.name())
            .with("zero_copy", self.zero_copy)
            .with("sent_eager", counters.eager)
            .with("sent_in_pieces", counters.pieces)
            .with("deposited", counters.deposited)
            .with("fetched", counters.fetched)
            .with("cache_hits", hits)
            .with("cache_misses", misses)
            .with("setup_us", setups.time.us())
    }
    fn once(&self) -> Plan {
        let samples = self.samples as usize;
        let once = Plan::once();
        // Other traffic goes on while the ranks wait for one another, at a cost.
        let rest_us = if self.background.is_some() { BESIDE_REST_US } else { once.rest_us };
        Plan { warmup: self.warmup, samples_min: samples, samples_max: samples, rest_us, ..once }
    }

    fn pingpong(
        &self,
        cell: &Cell,
        driver: &mut VirtualTime<'_>,
        plan: &NetPlan<'_>,
        between: [u32; 2],
    ) -> Result<Vec<Record>, String> {
        let private = self.memory == Memory::Registered;
        let bench = PingPong { sizes: vec![cell.size], private, rewrite: false, plan: self.once() };
        let ranks = self.on_ranks(driver, between[1] + 1, &bench)?;
        let latency_us = only(&ranks.results[0][0])?;
        let least = self.pair(cell, driver, plan, between)?;
        let record = self
            .head(cell, plan, driver, "pingpong")
            .with("latency_us", latency_us)
            .with("bandwidth_MBps", cell.size as f64 / latency_us);
        let record = with_least(record, &least, latency_us).with("bound_bandwidth_MBps", least.mbps);
        Ok(vec![self.with_protocols(record, &ranks.counters, &ranks.setups)])
    }

    /// K98's two flavours of a send; beside the data an empty message goes each way, and both count.
    fn semantics(
        &self,
        cell: &Cell,
        driver: &mut VirtualTime<'_>,
        plan: &NetPlan<'_>,
        postal: bool,
    ) -> Result<Vec<Record>, String> {
        let private = self.memory == Memory::Registered;
        let bench = Semantics { postal, sizes: vec![cell.size], private, plan: self.once() };
        let ranks = self.on_ranks(driver, cell.nodes, &bench)?;
        let mbps = only(&ranks.results[0][0])?;
        let between = [0, cell.nodes - 1];
        // A restricted message starts when the word that it is waited for has come; either is answered.
        let words = if postal { 1.0 } else { 2.0 };
        let least = self.pair(cell, driver, plan, between)?.after(words * idle_us(driver, plan, between)?);
        let latency_us = cell.size as f64 / mbps;
        let record = self
            .head(cell, plan, driver, "semantics")
            .with("semantics", if postal { "postal" } else { "restricted" })
            .with("latency_us", latency_us)
            .with("bandwidth_MBps", mbps);
        let record = with_least(record, &least, latency_us).with("bound_bandwidth_MBps", least.mbps);
        Ok(vec![self.with_protocols(record, &ranks.counters, &ranks.setups).with("buffered", ranks.counters.buffered)])
    }

    fn overlap(&self, cell: &Cell, driver: &mut VirtualTime<'_>, plan: &NetPlan<'_>) -> Result<Vec<Record>, String> {
        let ProgramBench::Overlap { sender, daxpy, shares } = &self.bench else { return Ok(Vec::new()) };
        let bench = Overlap {
            size: cell.size,
            sender: *sender,
            shares: shares.clone(),
            daxpy: *daxpy,
            private: self.memory == Memory::Registered,
            plan: self.once(),
        };
        let mut ranks = self.on_ranks(driver, 2, &bench)?;
        let times = ranks.results.swap_remove(0);
        let head = self
            .head(cell, plan, driver, "overlap")
            .with("side", if *sender { "sender" } else { "receiver" })
            .with("spin", if *daxpy { "daxpy" } else { "fixed" });
        let points = times.curve().ok_or("no sample was taken")?;
        let finish =
            |point: Record| self.with_protocols(head.clone().followed_by(point), &ranks.counters, &ranks.setups);
        Ok(points.into_iter().map(finish).collect())
    }

    fn collective(
        &self,
        cell: &Cell,
        driver: &mut VirtualTime<'_>,
        plan: &NetPlan<'_>,
        which: Which,
    ) -> Result<Vec<Record>, String> {
        let (start, background) = (Start::Barrier, None);
        let bench = Collective { which, size: cell.size, start, background, plan: self.once() };
        let ranks = self.on_ranks(driver, cell.nodes, &bench)?;
        let each = Collected::samples(&ranks.results);
        let rounds = Collective::slowest(&each).values;
        let slowest = Summary::of(&rounds).ok_or("no sample was taken")?.median;
        let times: Vec<f64> = each.iter().map(only).collect::<Result<_, _>>()?;
        let summary = Summary::of(&times).ok_or("no rank")?;
        let least = match self.own_network(plan, which) {
            Some(own) => reduced(own, cell)?,
            None => self.least(cell, driver, plan, which)?,
        };
        let algorithm = self.algorithm.map_or("chosen", Algorithm::name);
        let mut record =
            self.head(cell, plan, driver, which.name()).with("algorithm", algorithm).with("latency_us", slowest);
        if let Some(own) = self.own_network(plan, which) {
            let formula = own.latency(cell.nodes, cell.size).map_err(|error| error.to_string())?;
            record = record.with("formula_us", formula.us());
        }
        let record = with_least(record, &least, slowest);
        if rounds.len() > 1 || self.raw {
            let record = with_distribution(record, &rounds, self.raw);
            return Ok(vec![self.with_protocols(record, &ranks.counters, &ranks.setups)]);
        }
        let record = record
            .with("n", summary.n)
            .with("median", summary.median)
            .with("min", summary.min)
            .with("p99", summary.p99)
            .with("max", summary.max)
            .with("statistic_of", "latency_us of the ranks, from a common start");
        Ok(vec![self.with_protocols(record, &ranks.counters, &ranks.setups)])
    }

    /// NPB IS, its keys really sorted; the time of what the processors do with them is the host's model.
    fn sort(
        &self,
        cell: &Cell,
        driver: &mut VirtualTime<'_>,
        plan: &NetPlan<'_>,
        class: Class,
    ) -> Result<Vec<Record>, String> {
        let sort = IntegerSort { class };
        let ranks = self.on_ranks(driver, cell.nodes, &sort)?;
        let head = self.head(cell, plan, driver, "is").with("kind", "prediction");
        let record = sorted(head, &sort, &ranks.results).map_err(|failure| failure.to_string())?;
        Ok(vec![self.with_protocols(record, &ranks.counters, &ranks.setups)])
    }

    /// The fabric's own reduction network, where it was asked for.
    fn own_network<'p>(&self, plan: &'p NetPlan<'_>, which: Which) -> Option<&'p ReductionSpec> {
        let reduces = matches!(which, Which::Reduce | Which::Allreduce);
        plan.fabric.spec.reduction.as_ref().filter(|_| reduces && self.algorithm == Some(Algorithm::Hardware))
    }
}

/// The one sample of a run in virtual time.
fn only(samples: &Samples) -> Result<f64, String> {
    samples.values.first().copied().ok_or_else(|| "no sample was taken".to_owned())
}

/// How long ranks wait for a common start beside other traffic.
const BESIDE_REST_US: f64 = 500.0;
/// Virtual time of samples beside other traffic on QsNet that is enough.
const ENOUGH: Time = Time(10_000_000_000);
