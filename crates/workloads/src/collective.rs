//! A collective of a GPU cluster, from the machine's description, on its packet network.

use crate::cluster;
use crate::gpu::{self, Gpus};
use crate::least::{Ground, places};
use crate::replay::{self, Network, of_processor};
use crate::way::told;
use hotlink_bench::{Record, distribution};
use hotlink_bound::gpu::{self as bounds, Protocol, least_us};
use hotlink_fabric::units::Time;
use hotlink_schedule::collective::{Algorithm, Job, Machine, Wanted, Way, Which};
use hotlink_study::inputs::{self, Vary};
use hotlink_study::simulate::request::{Benchmark, Request};
use hotlink_study::{Error, Source, Watch, parallel};

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Collective {
    /// What.
    pub which: Which,
    /// By which algorithms; none: as NCCL chooses.
    pub algorithms: Vec<Algorithm>,
    /// By which protocols; none: as NCCL chooses.
    pub protocols: Vec<Protocol>,
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
        Which::Bcast => "bcast",
        Which::Reduce => "reduce",
        Which::Gather => "gather",
        Which::Scatter => "scatter",
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
    Which::ALL.into_iter().find(|which| name(*which) == benchmark)
}

/// The names of all that GPU clusters run.
pub(crate) fn all_named() -> String {
    Which::ALL.map(name).join(", ")
}

/// The protocols of these names.
///
/// # Errors
/// One is none of NCCL's, or none of the collective's algorithms has it.
pub fn protocols(which: Which, algorithms: &[Algorithm], names: &[String]) -> Result<Vec<Protocol>, Error> {
    let of = |text: &String| {
        let wrong = || Error::Input(format!("--protocol {text}: must be one of simple, ll128, ll"));
        Protocol::named(text).ok_or_else(wrong)
    };
    let found = names.iter().map(of).collect::<Result<Vec<_>, _>>()?;
    let every = Algorithm::of(which);
    let asked = if algorithms.is_empty() { every } else { algorithms };
    let has = |algorithm: &Algorithm| found.iter().any(|own| algorithm.protocols().contains(own));
    // Of algorithms that nobody named, some may have none of them.
    let lacks = match algorithms.is_empty() {
        true => (!every.iter().any(has)).then_some(&every[0]),
        false => asked.iter().find(|algorithm| !has(algorithm)),
    };
    match lacks.filter(|_| !found.is_empty()) {
        Some(algorithm) => {
            let has: Vec<&str> = algorithm.protocols().iter().map(|own| own.name()).collect();
            let what = format!("{} by {} has {}", name(which), algorithm.name(), has.join(", "));
            Err(Error::Input(format!("--protocol {}: {what}", names.join(","))))
        }
        None => Ok(found),
    }
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
        let (asked, of_gpus) = match &request.benchmark {
            Benchmark::Collective { which, .. } => (which.name(), named(which.name())),
            Benchmark::Barrier { .. } => ("barrier", None),
            _ => return Ok(vec![Asked::Others(Box::new(request))]),
        };
        if request.stack.is_some() {
            return match &request.benchmark {
                Benchmark::Collective { protocols, .. } if !protocols.is_empty() => {
                    Err(Error::Input("--protocol: only the kernels of GPUs have it, not --stack".to_owned()))
                }
                _ => Ok(vec![Asked::Others(Box::new(request))]),
            };
        }
        let mut groups: Vec<(Option<Which>, Vec<String>)> = Vec::new();
        for fabric in &request.fabrics {
            let source = Source::open_as(fabric, request.network.technology)?;
            let which = if gpu::is(source.spec()) || gpu::is_bare(source.spec()) { of_gpus } else { None };
            check(&source, asked, of_gpus, &request)?;
            match groups.last_mut() {
                Some((alike, fabrics)) if *alike == which => fabrics.push(fabric.clone()),
                _ => groups.push((which, vec![fabric.clone()])),
            }
        }
        let of_group = |(which, fabrics): (Option<Which>, Vec<String>)| match which {
            Some(which) => Ok(Asked::Gpus(Box::new(Collective::of(&request, which)?), fabrics)),
            None => Ok(Asked::Others(Box::new(Request { fabrics, ..request.clone() }))),
        };
        groups.into_iter().map(of_group).collect()
    }
}

/// Whether a fabric runs a collective without `--stack`: its GPUs do, or it has none.
fn check(source: &Source, asked: &str, of_gpus: Option<Which>, request: &Request) -> Result<(), Error> {
    let (spec, name) = (source.spec(), source.name());
    let wrong = |what: String| Err(Error::Input(format!("{name}: {what}")));
    let (is, is_bare) = (gpu::is(spec), gpu::is_bare(spec));
    if is_bare {
        let what = "its nodes are GPUs, and its file does not say what these do (parameter.gpu_channels and others)";
        return wrong(format!("{what}: take hgx-h100-rail, whose file does; {MESSAGES}"));
    }
    match (&request.benchmark, of_gpus) {
        (_, None) if is => wrong(format!("{asked} is none of GPUs: they have {}; {MESSAGES}", all_named())),
        (Benchmark::Collective { protocols, .. }, _) if !is && !protocols.is_empty() => {
            wrong("--protocol: only the kernels of GPUs have it, and its file describes no GPUs".to_owned())
        }
        _ => Ok(()),
    }
}

/// How to have what is no collective of GPUs.
const MESSAGES: &str = "--stack message runs messages of hosts in their place";

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
        let (algorithms, protocols) = match &request.benchmark {
            Benchmark::Collective { algorithms: names, protocols: words, .. } => {
                let found = algorithms(which, names)?;
                let words = protocols(which, &found, words)?;
                (found, words)
            }
            _ => (Vec::new(), Vec::new()),
        };
        Ok(Collective { which, algorithms, protocols, nodes, sizes, network, vary })
    }
}

/// Bus bandwidth over bandwidth, as nccl-tests counts.
fn factor(which: Which, ranks: u32) -> f64 {
    let others = f64::from(ranks - 1) / f64::from(ranks);
    match which {
        Which::Allreduce => 2.0 * others,
        Which::Bcast | Which::Reduce => 1.0,
        _ => others,
    }
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

    /// What is asked for at each size: every algorithm with every protocol that it has.
    fn wanted(&self) -> Vec<Wanted> {
        let some = |all: &[Protocol]| match all {
            [] => vec![None],
            all => all.iter().copied().map(Some).collect(),
        };
        let protocols = some(&self.protocols);
        let has = |algorithm: Algorithm, protocol: Option<Protocol>| {
            protocol.is_none_or(|protocol| algorithm.protocols().contains(&protocol))
        };
        let with = |algorithm: Algorithm| {
            protocols.iter().filter(move |own| has(algorithm, **own)).map(move |own| (Some(algorithm), *own))
        };
        match &self.algorithms[..] {
            [] => protocols.into_iter().map(|protocol| (None, protocol)).collect(),
            algorithms => algorithms.iter().copied().flat_map(with).collect(),
        }
    }

    /// Records that it will give for a fabric.
    pub fn steps(&self) -> u64 {
        (self.nodes.len() * self.sizes.len() * self.wanted().len()) as u64
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
        let wanted = self.wanted();
        let of_nodes = |&nodes: &u32| self.sizes.iter().map(move |&bytes| (nodes, bytes));
        let of_size = |(nodes, bytes)| wanted.iter().map(move |&wanted| (nodes, bytes, wanted));
        let all: Vec<(u32, u64, Wanted)> = self.nodes.iter().flat_map(of_nodes).flat_map(of_size).collect();
        let one = |&(nodes, bytes, wanted): &(u32, u64, Wanted)| {
            let source =
                self.network.control.equipped(&Source::open(fabric)?, self.network.ethernet).map_err(Error::Input)?;
            let answer =
                |source: &Source, watch: &dyn Watch| Ok(vec![self.answer(source, nodes, bytes, wanted, watch)?]);
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
        wanted: Wanted,
        watch: &dyn Watch,
    ) -> Result<Record, Error> {
        let wrong = |what: String| Error::Input(format!("{} with {nodes} GPUs: {what}", source.name()));
        let gpus = Gpus::of(source.spec()).map_err(wrong)?;
        let rails = gpu::rail_switches(source.spec(), nodes).map_err(wrong)?;
        let machine = Machine { rails, ..gpus.machine(nodes) };
        machine.check().map_err(wrong)?;
        let way = Way::of(&gpus.kernels, &machine, self.which, wanted, bytes).map_err(wrong)?;
        let (algorithm, job) = (way.algorithm, way.job(&gpus.kernels, &machine, self.which, bytes));
        let schedule = job.schedule().map_err(wrong)?;
        let mut ground = Ground::of(source, &self.network, &job).map_err(wrong)?;
        let places = places(&ground.fabric, &job);
        let ran = replay::run((source.spec(), &ground.fabric), (&schedule, &places), 1, &self.network, watch)
            .map_err(|failed| wrong(failed.to_string()))?;
        let capacities = self.network.capacities.into();
        let cluster = cluster::of(&ground.fabric, nodes, None, capacities, bytes).map_err(wrong)?;
        let level = usual_bound(algorithm).and_then(|of| {
            cluster.levels(name(self.which), of, way.protocol).and_then(|levels| levels.first().copied())
        });
        let level = level.filter(|level| bytes > 0 && level.mbps > 0.0).map(|level| {
            let time = Time::from_us(least_us(&level, factor(self.which, nodes), bytes));
            (time, cluster::resource(&ground.fabric, level.name, capacities, bytes))
        });
        // An import of the same result counts the same, without its run.
        let needs = ground.needs(&job).ok_or_else(|| wrong("its least time cannot be counted".to_owned()))?;
        let named = gpu::processors(&ground.fabric, nodes, &job);
        let named = |rank, cpu| named(places[rank as usize], cpu);
        Ok(self.record(&ran, (&job, &way), &needs.least(level), &named))
    }

    fn record(
        &self,
        ran: &replay::Ran,
        (job, way): (&Job, &Way),
        least: &replay::Least,
        named: &dyn Fn(u32, u32) -> String,
    ) -> Record {
        let Job { which, algorithm, bytes, machine } = *job;
        let (latency, factor) = (ran.latency(), factor(which, machine.ranks));
        let record = Record::new()
            .with("fabric", ran.record.text("fabric").unwrap_or_default())
            .with("benchmark", name(which))
            .with("method", "packet")
            .with("stack", "gpu")
            .with("nodes", machine.ranks)
            .with("size_B", bytes)
            .with("size_is", size_is(name(which)));
        let record = told(record, way)
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
        record.set("limiting_resource", least.resource.as_str());
        record = match &least.hot_link {
            Some(link) => record.with("hot_link", link.as_str()),
            None => record.without("hot_link"),
        };
        let least = least.time;
        let efficiency = least.0 as f64 / latency.0.max(1) as f64;
        let record = record.also_bounded("bound_latency_us", least.us());
        record.bounded("bound_bus_bandwidth_MBps", factor * rate(least), efficiency)
    }
}

/// The closed form of an algorithm's bound.
pub(crate) fn usual_bound(algorithm: Algorithm) -> Option<bounds::Algorithm> {
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
