//! A collective of a GPU cluster, from the machine's description, on its packet network.

use crate::cluster;
use crate::gpu::{self, Gpus};
use crate::replay::{self, Network, of_processor};
use hotlink_bench::{Record, distribution};
use hotlink_bound::gpu::{self as bounds, Level, Protocol, least_us};
use hotlink_fabric::units::Time;
use hotlink_schedule::collective::{Algorithm, Job, Machine, Which};
use hotlink_study::inputs::{self, Vary};
use hotlink_study::simulate::request::{Benchmark, Request};
use hotlink_study::{Error, Source, Watch, parallel};

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Collective {
    /// What.
    pub which: Which,
    /// By which algorithms; none: the usual one.
    pub algorithms: Vec<Algorithm>,
    /// GPUs.
    pub nodes: Vec<u32>,
    /// Bytes: nccl-tests' size.
    pub sizes: Vec<u64>,
    /// How messages cross the network.
    pub network: Network,
    /// What is done with uncertain inputs.
    pub vary: Vary,
}

/// The name of a collective in records.
pub fn name(which: Which) -> &'static str {
    match which {
        Which::Allreduce => "allreduce",
        Which::Allgather => "allgather",
        Which::ReduceScatter => "reduce-scatter",
        Which::Alltoall => "alltoall",
    }
}

/// What the size of a collective of this name counts, as in nccl-tests. The message stack counts a rank's part.
pub fn size_is(benchmark: &str) -> Option<&'static str> {
    match benchmark {
        "allreduce" | "reduce-scatter" => Some("all that each GPU gives"),
        "allgather" | "hypercube" => Some("all that each GPU gets"),
        "alltoall" => Some("all that each GPU sends, to itself too"),
        "gather" => Some("all that the root gets"),
        "scatter" => Some("all that the root gives"),
        _ => None,
    }
}

/// The collective of that name that GPU clusters run.
pub fn named(benchmark: &str) -> Option<Which> {
    [Which::Allreduce, Which::Allgather, Which::ReduceScatter, Which::Alltoall]
        .into_iter()
        .find(|which| name(*which) == benchmark)
}

/// The algorithms of these names.
///
/// # Errors
/// One is none of the collective's on GPUs.
pub fn algorithms(which: Which, names: &[String]) -> Result<Vec<Algorithm>, Error> {
    let allowed = Algorithm::of(which);
    let of = |text: &String| {
        allowed.iter().copied().find(|algorithm| algorithm.name() == text).ok_or_else(|| {
            let names: Vec<&str> = allowed.iter().map(|algorithm| algorithm.name()).collect();
            let what = format!("{} on GPUs has {}", name(which), names.join(", "));
            Error::Input(format!("--algorithm {text}: {what}"))
        })
    };
    names.iter().map(of).collect()
}

/// Choices that collectives on GPUs do not have.
const OF_MESSAGES: &str = "--memory, --align, --cache, --zero-copy, --via, --warmup, --samples, --raw, --background, --trace, --count and --inject are the message stack's, which --stack message runs in their place";

/// The engine that answers a request on some of its fabrics, as on each of them alone.
#[derive(Clone, Debug)]
pub enum Asked {
    /// The kernels of GPUs, on these fabrics.
    Gpus(Box<Collective>, Vec<String>),
    /// All others.
    Others(Box<Request>),
}

impl Asked {
    /// Requests by engine, in the order of its fabrics. GPUs' kernels run a collective where a fabric's file describes
    /// GPUs. The message stack runs it elsewhere, or where `--stack` asks for it.
    ///
    /// # Errors
    /// A fabric that cannot be opened; an algorithm or choice that GPUs do not have.
    pub fn of(request: Request) -> Result<Vec<Asked>, Error> {
        let which = match &request.benchmark {
            Benchmark::Collective { which, .. } if request.stack.is_none() => named(which.name()),
            _ => None,
        };
        let Some(which) = which else { return Ok(vec![Asked::Others(Box::new(request))]) };
        let mut groups: Vec<(bool, Vec<String>)> = Vec::new();
        for fabric in &request.fabrics {
            let has_gpus = gpu::is(Source::open_as(fabric, request.network.technology)?.spec());
            match groups.last_mut() {
                Some((alike, fabrics)) if *alike == has_gpus => fabrics.push(fabric.clone()),
                _ => groups.push((has_gpus, vec![fabric.clone()])),
            }
        }
        let of_group = |(has_gpus, fabrics): (bool, Vec<String>)| match has_gpus {
            true => Ok(Asked::Gpus(Box::new(Collective::of(&request, which)?), fabrics)),
            false => Ok(Asked::Others(Box::new(Request { fabrics, ..request.clone() }))),
        };
        groups.into_iter().map(of_group).collect()
    }
}

impl Collective {
    /// What a request asks of GPU clusters.
    fn of(request: &Request, which: Which) -> Result<Collective, Error> {
        // Another engine answers by another machine: it must be asked for.
        if request.programs.is_asked_for() || request.programs.repeats() {
            return Err(Error::Input(format!("{} on GPUs runs their kernels: {OF_MESSAGES}", name(which))));
        }
        let network = &request.network;
        if network.links || network.streams.is_some() || !request.without.is_empty() {
            return Err(Error::Input("--links, --streams, --without: collectives on GPUs do not have them".to_owned()));
        }
        let Some(nodes) = request.nodes.clone().filter(|nodes| nodes.iter().all(|&nodes| nodes >= 2)) else {
            return Err(Error::Input("--nodes: say how many GPUs, 2 or more: --nodes 64".to_owned()));
        };
        let [network] = &Network::of(request, "collectives on GPUs")?[..] else {
            return Err(Error::Input("--transport: collectives on GPUs take one at a time".to_owned()));
        };
        let network = network.clone();
        let (sizes, vary) = (request.sizes.clone(), request.sensitivity);
        let algorithms = match &request.benchmark {
            Benchmark::Collective { algorithms: names, .. } => algorithms(which, names)?,
            _ => Vec::new(),
        };
        Ok(Collective { which, algorithms, nodes, sizes, network, vary })
    }
}

/// Bus bandwidth over bandwidth, as nccl-tests counts.
fn factor(which: Which, ranks: u32) -> f64 {
    let others = f64::from(ranks - 1) / f64::from(ranks);
    if which == Which::Allreduce { 2.0 * others } else { others }
}

impl Collective {
    /// The records of fabrics.
    ///
    /// # Errors
    /// As [`Collective::each`].
    pub fn records(&self, fabrics: &[String], watch: &dyn Watch) -> Result<Vec<Record>, Error> {
        let mut records = Vec::new();
        for fabric in fabrics {
            self.each(fabric, watch, &mut |record| {
                records.push(record);
                true
            })?;
        }
        Ok(records)
    }

    /// What chose the algorithm. By default it is the first, even if another is quicker at that size.
    fn algorithm_by(&self) -> String {
        let names = || Algorithm::of(self.which).iter().map(|algorithm| algorithm.name()).collect::<Vec<_>>().join(",");
        if self.algorithms.is_empty() { format!("default, one of {}", names()) } else { "asked".to_owned() }
    }

    /// Records that it will give for a fabric.
    pub fn steps(&self) -> u64 {
        (self.nodes.len() * self.sizes.len() * self.algorithms.len().max(1)) as u64
    }

    /// Hands `give` the record of every size, number of GPUs and algorithm on a fabric, in order, until it says false.
    ///
    /// # Errors
    /// The fabric's file does not describe GPUs, or cannot be built.
    pub fn each(
        &self,
        fabric: &str,
        watch: &dyn Watch,
        give: &mut (dyn FnMut(Record) -> bool + Send),
    ) -> Result<(), Error> {
        let usual = [Algorithm::of(self.which)[0]];
        let algorithms = if self.algorithms.is_empty() { &usual[..] } else { &self.algorithms };
        let of_nodes = |&nodes: &u32| self.sizes.iter().map(move |&bytes| (nodes, bytes));
        let of_size = |(nodes, bytes)| algorithms.iter().map(move |&algorithm| (nodes, bytes, algorithm));
        let all: Vec<(u32, u64, Algorithm)> = self.nodes.iter().flat_map(of_nodes).flat_map(of_size).collect();
        let one = |&(nodes, bytes, algorithm): &(u32, u64, Algorithm)| {
            let source =
                self.network.control.equipped(&Source::open(fabric)?, self.network.ethernet).map_err(Error::Input)?;
            let answer = |source: &Source, watch: &dyn Watch| {
                let record = self.answer(source, nodes, bytes, algorithm, watch)?;
                Ok(vec![record.with("algorithm_by", self.algorithm_by())])
            };
            let records = inputs::told(&source, self.vary, watch, &answer);
            watch.step();
            records
        };
        parallel::answers_in_order(&all, one, &mut |records| records.into_iter().all(&mut *give))
    }

    pub(crate) fn answer(
        &self,
        source: &Source,
        nodes: u32,
        bytes: u64,
        algorithm: Algorithm,
        watch: &dyn Watch,
    ) -> Result<Record, Error> {
        let wrong = |what: String| Error::Input(format!("{} with {nodes} GPUs: {what}", source.name()));
        let gpus = Gpus::of(source.spec()).map_err(wrong)?;
        if algorithm.is_by_switch() && !gpus.switch_reduces {
            return Err(wrong(format!("--algorithm {}: its scale-up switches do not combine data", algorithm.name())));
        }
        let rails = match algorithm {
            Algorithm::Nvls | Algorithm::CollNet => gpu::rail_switches(source.spec(), nodes).map_err(wrong)?,
            _ => None,
        };
        let job = Job { which: self.which, algorithm, bytes, machine: Machine { rails, ..gpus.machine(nodes) } };
        let schedule = job.schedule().map_err(wrong)?;
        let spec = gpu::with_switches(source.spec(), [algorithm.is_by_switch(), job.network().is_some()]);
        let built = spec.map_or_else(|| source.build(nodes), |spec| source.varied(spec).build(nodes)).map_err(wrong)?;
        // Switches stand after the GPUs of whole domains; a job may use fewer of these.
        let switches = job.ranks() - nodes;
        let places: Vec<u32> = (0..nodes).chain(built.nodes() - switches..built.nodes()).collect();
        let ran = replay::run((source.spec(), &built), (&schedule, &places), 1, &self.network, watch)
            .map_err(|failed| wrong(failed.to_string()))?;
        let cluster = cluster::of(&built, nodes, None, self.network.capacities.into(), bytes).map_err(wrong)?;
        let level = usual_bound(algorithm).and_then(|of| {
            cluster.levels(name(self.which), of, Protocol::Simple).and_then(|levels| levels.first().copied())
        });
        let named = gpu::processors(&built, nodes, &job);
        Ok(self.record(&ran, &job, level, &|rank, cpu| named(places[rank as usize], cpu)))
    }

    fn record(&self, ran: &replay::Ran, job: &Job, level: Option<Level>, named: &dyn Fn(u32, u32) -> String) -> Record {
        let Job { which, algorithm, bytes, machine } = *job;
        let (latency, factor) = (ran.latency(), factor(which, machine.ranks));
        let record = Record::new()
            .with("fabric", ran.record.text("fabric").unwrap_or_default())
            .with("benchmark", name(which))
            .with("method", "packet")
            .with("stack", "gpu")
            .with("nodes", machine.ranks)
            .with("size_B", bytes)
            .with("size_is", size_is(name(which)))
            .with("algorithm", algorithm.name())
            .with("channels", machine.channels)
            .with("domain", machine.domain)
            .followed_by(ran.record.clone())
            .with("ranks", machine.ranks);
        let is_exchange = algorithm == Algorithm::Pairwise;
        let pair = is_exchange.then(|| machine.of_a_pair(machine.ranks, machine.domain == machine.ranks));
        let record = pair.into_iter().fold(record, |record, channels| record.with("pair_channels", channels));
        // Switches that take part stand after the GPUs.
        let mut record = distribution::with_ends(record, &ran.replayed.finish[..machine.ranks as usize]);
        // MB/s is bytes per microsecond.
        let rate = |time: Time| bytes as f64 / time.us().max(f64::MIN_POSITIVE);
        record.set("algorithm_bandwidth_MBps", rate(latency));
        record.set("bus_bandwidth_MBps", factor * rate(latency));
        record = of_processor(record, &ran.replayed, named);
        let mut least = ran.least.time;
        if let Some((rank, cpu)) = ran.least.processor {
            record.set("limiting_resource", named(rank, cpu));
        }
        // Where a level of the cluster allows less than the routes that were counted, that is the bound.
        if let Some(level) = level.filter(|level| bytes > 0 && level.mbps > 0.0) {
            let time = Time::from_us(least_us(&level, factor, bytes));
            // Pieces of the counted work are whole bytes and picoseconds each.
            if time.0 > least.0 + least.0 / 10_000 {
                least = time;
                record.set("limiting_resource", level.name);
                record = record.without("hot_link");
            }
        }
        let efficiency = least.0 as f64 / latency.0.max(1) as f64;
        let record = record.also_bounded("bound_latency_us", least.us());
        record.bounded("bound_bus_bandwidth_MBps", factor * rate(least), efficiency)
    }
}

/// The closed form of an algorithm's bound.
fn usual_bound(algorithm: Algorithm) -> Option<bounds::Algorithm> {
    match algorithm {
        Algorithm::Ring => Some(bounds::Algorithm::Ring),
        Algorithm::Tree => Some(bounds::Algorithm::Tree),
        Algorithm::Nvls => Some(bounds::Algorithm::Nvls),
        Algorithm::NvlsTree => Some(bounds::Algorithm::NvlsTree),
        Algorithm::CollNet => Some(bounds::Algorithm::CollNet),
        Algorithm::Pairwise => Some(bounds::Algorithm::Pairs),
        Algorithm::Hierarchical => None,
    }
}
