//! Programs on simulated ranks: the benchmarks of `measure`, in virtual time, over the whole message-passing stack.
//!
//! `--stack packet` (where a benchmark has it) sends bare packets between adapters: the network alone. `--stack
//! message` runs the benchmark's own code on [`hotlink_message::Comm`], over ports of the fabric's adapters: with
//! hosts, protocols, registration and matching.

use super::cell::with_losses;
use super::{faults, limiter, streams};
use crate::bound::program::{NO_WAY_TO_ITSELF, idle_us};
use crate::cell::{Cell, Program, ProgramBench, Streamed};
use crate::effort;
use crate::options::{Alignment, Memory, Via};
use crate::sort;
use crate::{Unwatched, Watch};
use hotlink_bench::distribution::with_distribution;
use hotlink_bench::is::{Class, IntegerSort};
use hotlink_bench::{
    Bench, Collected, Collective, Direction, Kernel, Overlap, Pairs, PingPong, Plan, Record, Samples, Semantics, Start,
    Summary,
};
use hotlink_bench::{Seen, Told, Tuned, Tuning, Which, with_seen};
use hotlink_bound::network::{barrier_port, reduced};
use hotlink_fabric::ledger::Unfit;
use hotlink_message::{Algorithm, Counters, Error, SetupStats};
use hotlink_port::{Align, Driver, Kind, OnAny};
use hotlink_sim::port::{Family, RANKS_COUNTED, Split, VirtualTime};
use hotlink_sim::{Plan as NetPlan, Settings};
use serde::{Serialize, de::DeserializeOwned};
use std::cell::RefCell;
use std::ops::Deref;

/// A program under way: the program and its ports' observations.
struct Course<'p> {
    program: &'p Program,
    /// The algorithm that is asked for, at this point.
    asked: Option<Algorithm>,
    /// The hosts' time before and after the adapters'.
    around_us: f64,
    /// Of an overlap: the message alone through buffers, where this run moves it without.
    synchronous_us: Option<f64>,
    seen: RefCell<Vec<Seen>>,
}

impl Deref for Course<'_> {
    type Target = Program;
    fn deref(&self) -> &Program {
        self.program
    }
}

/// The results of the ranks of a run, with rank 0's protocol counters apart.
struct Ranks<T> {
    results: Vec<T>,
    counters: Counters,
    setups: SetupStats,
}

impl Program {
    /// W01's synchronous message, to which an overlap's overhead is held.
    fn synchronous_us(&self, cell: &Cell, plan: &NetPlan<'_>, settings: &Settings) -> Result<Option<f64>, String> {
        let ProgramBench::Overlap { sender, spin, threads, shares } = &self.bench else { return Ok(None) };
        if !self.zero_copy || shares.is_empty() {
            return Ok(None);
        }
        let (sender, spin, threads, shares) = (*sender, *spin, *threads, Vec::new());
        let bench = ProgramBench::Overlap { sender, spin, threads, shares };
        let alone = Program { bench, zero_copy: false, watching: None, ..self.clone() };
        Ok(alone.run(cell, plan, settings, &Unwatched)?.first().and_then(|record| record.number("message_us")))
    }

    /// Runs it; one record, or one for each point of an overlap curve.
    pub fn run(
        &self,
        cell: &Cell,
        plan: &NetPlan<'_>,
        settings: &Settings,
        watch: &dyn Watch,
    ) -> Result<Vec<Record>, String> {
        let start = watch.seconds();
        let missing = |unfit: Unfit| unfit.to_string();
        let mut driver = VirtualTime::new(plan, settings).map_err(missing)?.with_background(self.background);
        driver = driver.expecting(effort::payload(self, cell));
        let (mut around_us, mut by_nic) = (0.0, None);
        if self.via == Via::Tcp {
            driver = driver.with_family(Family::Tcp).map_err(missing)?;
        }
        let split = driver.adapter().split();
        match self.via {
            Via::Adapter | Via::Tcp => {}
            Via::Nic => {
                self.check_offloaded(cell, driver.adapter().limits.control_bytes_max)?;
                let by_hosts = Program { via: Via::Adapter, algorithm: None, watching: None, ..self.clone() };
                let by_hosts = by_hosts.run(cell, plan, settings, &Unwatched)?.into_iter().next();
                around_us = driver.adapter().around_offloaded(cell.size).us();
                by_nic = Some(by_hosts);
                driver = driver.on_adapters().map_err(missing)?;
            }
        }
        let asked = self.asked(cell.nodes, cell.size)?;
        let synchronous_us = self.synchronous_us(cell, plan, settings)?;
        let course = Course { program: self, asked, around_us, synchronous_us, seen: RefCell::default() };
        let records = match &self.bench {
            ProgramBench::PingPong { between } => course.pingpong(cell, &mut driver, plan, *between),
            ProgramBench::Semantics { postal } => course.semantics(cell, &mut driver, plan, *postal),
            ProgramBench::Overlap { .. } => course.overlap(cell, &mut driver, plan),
            ProgramBench::Collective(which) => course.collective(cell, &mut driver, plan, *which),
            ProgramBench::IntegerSort(class) => course.sort(cell, &mut driver, plan, *class),
            ProgramBench::Stream(streamed) => course.stream(cell, &mut driver, plan, streamed),
            ProgramBench::Pairs { slow } => course.pairs(cell, &mut driver, plan, *slow),
            ProgramBench::Kernel(kernel) => course.kernel(cell, &mut driver, plan, kernel),
        };
        let records = records.map_err(|what| match driver.lost() {
            Some(lost) => {
                format!(
                    "{}; {what}",
                    faults::told(lost, plan, &settings.faults, cell.faults.as_deref().as_slice(), &[])
                )
            }
            None => what,
        })?;
        let outcome = driver.outcome().ok_or("the run did not end")?;
        let run = &outcome.run;
        let seen = course.seen.take();
        if !seen.is_empty() {
            watch.saw(&self.run_name(cell, &records), &seen);
        }
        let which = if let ProgramBench::Collective(which) = self.bench { Some(which) } else { None };
        let finish = |record: Record| {
            let record = with_seen(record, self.watching.as_ref(), &seen);
            let mut record = limiter::of_benchmark(record, plan, outcome, which);
            record = with_split(record, split);
            if let Some(by_hosts) = &by_nic {
                record = with_hosts(record, by_hosts.as_ref());
                let limiter =
                    record.text("limiter").unwrap_or_default().replace("processor of", "adapter's processor of");
                record.set("limiter", limiter);
            }
            let repeats = !matches!(self.bench, ProgramBench::Kernel(_) | ProgramBench::IntegerSort(_));
            // Of a number that is a median.
            let n = (repeats && self.samples > 1 && record.get("n").is_none()).then_some(self.samples);
            let record = if n.is_some() { record.with("n", n) } else { record };
            let record = record
                .with("elapsed_us", run.elapsed.us())
                .with("events", run.stats.events)
                .with("packet_hops", run.stats.packet_hops)
                .with("packets", run.stats.packets)
                .with("resumptions", outcome.resumptions)
                .with("barriers_safe", outcome.barriers)
                .with("trace_hash", format!("{:016x}", run.trace_hash));
            let record = if settings.faults.is_empty() { record } else { with_losses(record, run) };
            record.with("wall_s", watch.seconds() - start)
        };
        Ok(records.into_iter().map(finish).collect())
    }

    /// Refuses what adapters do not carry by themselves.
    fn check_offloaded(&self, cell: &Cell, most: u64) -> Result<(), String> {
        if !matches!(self.bench, ProgramBench::Collective(which) if which.is_carried_by_adapters()) {
            return Err("nic: adapters carry barrier, bcast, reduce and allreduce by themselves".to_owned());
        }
        if cell.size > most {
            let size = cell.size;
            let by_hosts = "longer messages go by the hosts' algorithms";
            let published = "where published ones end, too (16 KiB: Yu, Buntinas and Panda, ICPP 2003)";
            return Err(format!(
                "nic: {size} B: must be at most {most} B, which an adapter keeps to pass on, {published}; {by_hosts}"
            ));
        }
        Ok(())
    }

    /// The name of a run's timeline.
    fn run_name(&self, cell: &Cell, records: &[Record]) -> String {
        let benchmark = records.first().and_then(|record| record.text("benchmark")).unwrap_or_default();
        let Cell { fabric, nodes, size, .. } = cell;
        let algorithm = self.algorithm.map_or(String::new(), |way| format!(" {}", way.name()));
        let direction = match &self.bench {
            ProgramBench::Stream(streamed) => format!(" {}", streamed.direction.name()),
            _ => String::new(),
        };
        format!("{fabric} {benchmark}{algorithm}{direction} {nodes} nodes {size} B {} {}", self.memory, self.cache)
    }
}

impl Course<'_> {
    fn on_ranks<B>(&self, driver: &mut VirtualTime<'_>, ranks: u32, bench: &B) -> Result<Ranks<B::Result>, String>
    where
        B: Bench,
        B::Result: Serialize + DeserializeOwned,
    {
        let seed = 1;
        let mut algorithms = Vec::new();
        if let (ProgramBench::Collective(which), Some(algorithm)) = (&self.bench, self.asked) {
            let collective = which.collective();
            if !algorithm.is_possible(collective, &driver.limits(ranks)) {
                let name = &driver.adapter().limits.name;
                return Err(format!(
                    "--algorithm {}: {name} has no hardware for it with {ranks} nodes, or none while anything fails",
                    algorithm.name()
                ));
            }
            algorithms.push((collective, algorithm));
        }
        let tuning = Tuning {
            policy: Some(self.cache.policy(seed)),
            memory: if self.memory == Memory::Private { Kind::Private } else { Kind::Default },
            align: if self.align == Alignment::None { Align::None } else { Align::Default },
            zero_copy_bytes: (!self.zero_copy).then_some(u64::MAX),
            algorithms,
            watching: self.watching,
        };
        let results: Vec<Result<Told<B::Result>, Error>> =
            driver.run(ranks, &OnAny(&Tuned { bench, tuning })).map_err(|error| error.to_string())?;
        let told: Result<Vec<Told<B::Result>>, Error> = results.into_iter().collect();
        let told = told.map_err(|error| error.to_string())?;
        *self.seen.borrow_mut() = told.iter().filter_map(|told| told.seen.clone()).collect();
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
            .with("via", self.via.name())
            .with("nodes", cell.nodes)
            .with("nodes_built", plan.fabric.nodes())
            .with("size_B", cell.size)
            .with("background", self.background.map(|background| background.to_string()))
            .with("capacities", cell.capacities.name())
            .with("seed", cell.seed)
    }
    /// How messages moved, and the cost of their registrations and attachments.
    fn with_protocols(&self, record: Record, counters: &Counters, setups: &SetupStats) -> Record {
        let (registrations, attachments) = (setups.registrations, setups.attachments);
        let (hits, misses) = (registrations.hits + attachments.hits, registrations.misses + attachments.misses);
        record
            .with("memory", self.memory.name())
            .with("alignment", self.align.name())
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
        let is_loaded = self.background.is_some();
        let rest_us = if is_loaded { BESIDE_REST_US } else { once.rest_us };
        Plan { warmup: self.warmup, samples_min: samples, samples_max: samples, rest_us, is_loaded, ..once }
    }

    fn pingpong(
        &self,
        cell: &Cell,
        driver: &mut VirtualTime<'_>,
        plan: &NetPlan<'_>,
        between: [u32; 2],
    ) -> Result<Vec<Record>, String> {
        let private = self.memory == Memory::Private;
        let bench = PingPong { sizes: vec![cell.size], private, rewrite: false, plan: self.once() };
        let ranks = self.on_ranks(driver, between[1] + 1, &bench)?;
        let samples = &ranks.results[0][0];
        let latency_us = middle(samples)?;
        let least = self.pair(cell, driver, plan, between)?;
        let mut record = self
            .head(cell, plan, driver, "pingpong")
            .with("latency_us", latency_us)
            .with("bandwidth_MBps", cell.size as f64 / latency_us);
        if self.samples > 1 || self.raw {
            record = with_distribution(record, &samples.values, self.raw);
            record.set("statistic_of", "latency_us of the samples");
        }
        let record = record.beside_time(&least, latency_us);
        let record = record.also_bounded("bound_bandwidth_MBps", least.in_time(cell.size));
        Ok(vec![self.with_protocols(record, &ranks.counters, &ranks.setups)])
    }

    /// K98's two flavours of a send. In both, an empty message goes each way together with the data, and both count.
    fn semantics(
        &self,
        cell: &Cell,
        driver: &mut VirtualTime<'_>,
        plan: &NetPlan<'_>,
        postal: bool,
    ) -> Result<Vec<Record>, String> {
        let private = self.memory == Memory::Private;
        let bench = Semantics { postal, sizes: vec![cell.size], private, plan: self.once() };
        let ranks = self.on_ranks(driver, cell.nodes, &bench)?;
        let mbps = middle(&ranks.results[0][0])?;
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
        let record = record.beside_time(&least, latency_us);
        let record = record.also_bounded("bound_bandwidth_MBps", least.in_time(cell.size));
        Ok(vec![self.with_protocols(record, &ranks.counters, &ranks.setups).with("buffered", ranks.counters.buffered)])
    }

    fn overlap(&self, cell: &Cell, driver: &mut VirtualTime<'_>, plan: &NetPlan<'_>) -> Result<Vec<Record>, String> {
        let ProgramBench::Overlap { sender, spin, threads, shares } = &self.bench else { return Ok(Vec::new()) };
        let bench = Overlap {
            size: cell.size,
            sender: *sender,
            shares: shares.clone(),
            spin: spin.on(*threads),
            private: self.memory == Memory::Private,
            plan: self.once(),
        };
        let mut ranks = self.on_ranks(driver, 2, &bench)?;
        let times = ranks.results.swap_remove(0);
        let head = self
            .head(cell, plan, driver, "overlap")
            .with("side", if *sender { "sender" } else { "receiver" })
            .with("spin", spin.name());
        let head = bench.spin.threads().into_iter().fold(head, |head, threads| head.with("threads", threads));
        if shares.is_empty() {
            return Ok(vec![head.with("message_us", middle(&times.message)?)]);
        }
        let points = times.curve().ok_or("no sample was taken")?;
        let finish = |point: Record| {
            let of = |key| point.number(key).unwrap_or_default();
            let (message_us, rest_us) = (of("message_us"), of("total_us") - of("compute_us"));
            let synchronous_us = self.synchronous_us.unwrap_or(message_us);
            let point = point.with("synchronous_us", synchronous_us).with("w01_efficiency", rest_us / synchronous_us);
            self.with_protocols(head.clone().followed_by(point), &ranks.counters, &ranks.setups)
        };
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
        let bench = Collective { which, size: cell.size, private: false, start, background, plan: self.once() };
        let ranks = self.on_ranks(driver, cell.nodes, &bench)?;
        let each = Collected::samples(&ranks.results);
        let rounds: Vec<f64> = Collective::slowest(&each).values.iter().map(|us| us + self.around_us).collect();
        let slowest = Summary::of(&rounds).ok_or("no sample was taken")?.median;
        let times =
            each.iter().map(|samples| Ok(only(samples)? + self.around_us)).collect::<Result<Vec<f64>, String>>()?;
        let summary = Summary::of(&times).ok_or("no rank")?;
        let ran = ranks.counters.algorithms[which.collective() as usize].or(self.asked);
        let spec = &plan.fabric.spec;
        let is_own = ran == Some(Algorithm::Hardware);
        let reduces = matches!(which, Which::Reduce | Which::Allreduce);
        let reduction = if is_own && reduces { spec.reduction() } else { None };
        let barrier = if is_own && which == Which::Barrier { spec.barrier() } else { None };
        let least = match (reduction, barrier) {
            (Some(own), _) => reduced(own, cell.nodes, cell.size)?,
            (None, Some(own)) => barrier_port(own),
            _ => self.least(cell, driver, plan, which)?.after(self.around_us),
        };
        let by_nic = self.via == Via::Nic;
        let by_cost = match cell.nodes > RANKS_COUNTED {
            true => "cost model, as if no ranks shared a link: those of so many are not counted",
            false => "cost model",
        };
        let name = if by_nic { Some("nic") } else { ran.map(Algorithm::name) };
        let mut record = self
            .head(cell, plan, driver, which.name())
            .with("algorithm", name)
            .with("algorithm_by", if by_nic { "asked" } else { self.algorithm_by(by_cost) })
            .with("latency_us", slowest);
        if let Some(own) = reduction {
            let formula = own.latency(cell.nodes, cell.size).map_err(|error| error.to_string())?;
            record = record.with("formula_us", formula.us());
        }
        let record = record.beside_time(&least, slowest);
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

    fn stream(
        &self,
        cell: &Cell,
        driver: &mut VirtualTime<'_>,
        plan: &NetPlan<'_>,
        streamed: &Streamed,
    ) -> Result<Vec<Record>, String> {
        if streamed.direction == Direction::Own {
            return Err(NO_WAY_TO_ITSELF.to_owned());
        }
        let bench = streamed.bench(cell.size, self.memory == Memory::Private, self.once());
        let ranks = self.on_ranks(driver, cell.nodes, &bench)?;
        let least = self.streams(cell, driver, plan, &bench)?;
        let record =
            streamed.record(self.head(cell, plan, driver, streamed.benchmark), &bench, &ranks.results, &least)?;
        Ok(vec![self.with_protocols(record, &ranks.counters, &ranks.setups)])
    }

    fn pairs(
        &self,
        cell: &Cell,
        driver: &mut VirtualTime<'_>,
        plan: &NetPlan<'_>,
        slow: f64,
    ) -> Result<Vec<Record>, String> {
        let private = self.memory == Memory::Private;
        let bench = Pairs { pairs: Pairs::of(cell.nodes), sizes: vec![cell.size], private, plan: self.once() };
        let ranks = self.on_ranks(driver, cell.nodes, &bench)?;
        let head = self.head(cell, plan, driver, "pairs").with("memory", self.memory.name());
        streams::pairs(&head, &bench, &ranks.results, slow, |pair| self.pair(cell, driver, plan, pair))
    }

    fn kernel(
        &self,
        cell: &Cell,
        driver: &mut VirtualTime<'_>,
        plan: &NetPlan<'_>,
        kernel: &Kernel,
    ) -> Result<Vec<Record>, String> {
        let plan_of = Plan { is_loaded: self.background.is_some(), ..kernel.plan.clone() };
        let kernel = &Kernel { plan: plan_of, ..kernel.clone() };
        let ranks = self.on_ranks(driver, cell.nodes, kernel)?;
        let record = streams::kernel(self.head(cell, plan, driver, "kernel"), kernel, &ranks.results)?;
        Ok(vec![self.with_protocols(record, &ranks.counters, &ranks.setups)])
    }

    /// NPB IS, its keys really sorted; the host's model gives the processors' time.
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
        let record = sort::record(head, &sort, &ranks.results).map_err(|error| error.to_string())?;
        Ok(vec![self.with_protocols(record, &ranks.counters, &ranks.setups)])
    }
}

/// The record with where the time of an empty message between neighbours goes.
pub(super) fn with_split(record: Record, split: Split) -> Record {
    split.keys().into_iter().fold(record, |record, (key, time)| record.with(key, time.us()))
}

/// The record with what the hosts take for the same, by the algorithm that their cost model picks, and how many times longer
/// that is.
pub(super) fn with_hosts(record: Record, by_hosts: Option<&Record>) -> Record {
    let Some(us) = by_hosts.and_then(|hosts| hosts.number("latency_us")) else { return record };
    let factor = record.number("latency_us").map(|own| us / own);
    record.with("hosts_latency_us", us).with("factor_over_hosts", factor)
}

/// The one sample of a run in virtual time.
pub(super) fn only(samples: &Samples) -> Result<f64, String> {
    samples.values.first().copied().ok_or_else(|| "no sample was taken".to_owned())
}

/// The median of the samples.
fn middle(samples: &Samples) -> Result<f64, String> {
    Ok(Summary::of(&samples.values).ok_or("no sample was taken")?.median)
}

/// How long ranks first wait for a common start while other traffic runs; longer once a rank came too late for one.
const BESIDE_REST_US: f64 = 500.0;
