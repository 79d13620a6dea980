//! Benchmarks on simulated machines, and schedules.

use crate::choices::{Choices, Shared, usual_size};
use crate::values::{Numbers, Shares, Size, Sizes, bytes_of, listed, named, technology, watching, word, wrong};
use hotlink_bench::Record;
use hotlink_fabric::units::Time;
use hotlink_study::ask::{Method, Methods};
use hotlink_study::inputs::Vary;
use hotlink_study::options::{CalcUnit, Ethernet, Paths, ZeroCopy};
use hotlink_study::simulate::programs::Programs;
use hotlink_study::simulate::request::{Benchmark, Network, Request};
use hotlink_study::sizes::SizesOrLaws;
use hotlink_study::transports::Control;
use hotlink_study::words::Word;
use hotlink_study::{Error, Watch};
use hotlink_workloads::collective::Asked;
use hotlink_workloads::replay::Network as Replayed;
use hotlink_workloads::schedule::Scheduled;
use hotlink_workloads::seating::{MOST_PER_NODE, Wanted};
use serde::Deserialize;
use std::path::PathBuf;
use std::str::FromStr;

/// Arguments of `simulate`, for any benchmark.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Simulation {
    benchmark: String,
    pub(crate) fabric: Option<String>,
    pub(crate) nodes: Option<Numbers>,
    pub(crate) size: Option<Sizes>,
    pub(crate) memory: Vec<String>,
    pub(crate) align: Vec<String>,
    pub(crate) cache: Vec<String>,
    pub(crate) zero_copy: Vec<bool>,
    pub(crate) via: Vec<String>,
    pub(crate) warmup: Option<u64>,
    pub(crate) background: Option<String>,
    pub(crate) samples: Option<u32>,
    pub(crate) raw: bool,
    pub(crate) stack: Option<String>,
    pub(crate) capacities: String,
    pub(crate) packet_size: Option<Size>,
    pub(crate) streams: Option<u16>,
    pub(crate) paths: Option<Several>,
    pub(crate) technology: Option<String>,
    pub(crate) ethernet: String,
    pub(crate) transport: Vec<String>,
    pub(crate) connections: Option<String>,
    pub(crate) buffer: Option<Size>,
    pub(crate) pfc_pause: Option<Size>,
    pub(crate) pfc_resume: Option<Size>,
    pub(crate) lanes: Option<u32>,
    pub(crate) reorder: Option<Size>,
    pub(crate) ecn_low: Option<Size>,
    pub(crate) ecn_high: Option<Size>,
    pub(crate) links: bool,
    pub(crate) seed: u64,
    pub(crate) without: Vec<u32>,
    pub(crate) faults: Option<String>,
    pub(crate) sensitivity: bool,
    pub(crate) trace: bool,
    pub(crate) count: bool,
    pub(crate) inject: Vec<(String, u64)>,
    pub(crate) inject_seed: u64,
    pub(crate) algorithm: Option<Vec<String>>,
    protocol: Option<Vec<String>>,
    messages: Option<u64>,
    between: Option<[u32; 2]>,
    direction: Option<Vec<String>>,
    calls: Option<String>,
    window: Option<u64>,
    pairs: Option<Numbers>,
    senders: Option<Numbers>,
    random_pairs: Option<bool>,
    slow: Option<f64>,
    mpi_share: Option<f64>,
    barrier_share: Option<f64>,
    barrier_us: Option<f64>,
    skew: Option<f64>,
    iterations: Option<u64>,
    semantics: Option<Vec<String>>,
    schedule: Option<String>,
    side: Option<Vec<String>>,
    spin: Option<Vec<String>>,
    threads: Option<u32>,
    compute: Option<Shares>,
    class_: Option<Vec<String>>,
    traffic: Option<String>,
    load: Option<Shares>,
    precision: Option<f64>,
    series_us: Option<f64>,
    partition: Option<bool>,
    repetitions: Option<u32>,
    skew_us: Option<f64>,
    write_us: Option<f64>,
    read_us: Option<f64>,
    strides: Option<Numbers>,
    copies: Option<Numbers>,
    offset: Option<Size>,
    operations: Option<u64>,
    completion: Option<String>,
    series: Option<Vec<String>>,
    pattern: Option<Vec<String>>,
    buffers: Option<u64>,
    buffer_size: Option<Sizes>,
    uses: Option<u64>,
    pinned: Option<Size>,
    persistent: Option<u64>,
    generate: Option<Vec<String>>,
    repeat: Option<u32>,
    file: Option<String>,
    calc_unit: Option<String>,
    loggp: Option<String>,
    pub(crate) method: Option<String>,
    measured: Vec<PathBuf>,
}

/// One word, or several.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub(crate) enum Several {
    One(String),
    Many(Vec<String>),
}

impl Several {
    fn names(&self) -> &[String] {
        match self {
            Several::One(name) => std::slice::from_ref(name),
            Several::Many(names) => names,
        }
    }
}

/// Only the benchmark and the fabric are necessary.
impl Default for Simulation {
    fn default() -> Simulation {
        Simulation {
            benchmark: String::new(),
            fabric: None,
            nodes: None,
            size: None,
            memory: Vec::new(),
            align: Vec::new(),
            cache: Vec::new(),
            zero_copy: Vec::new(),
            via: Vec::new(),
            warmup: None,
            background: None,
            samples: None,
            raw: false,
            stack: None,
            capacities: "measured".to_owned(),
            packet_size: None,
            streams: None,
            paths: None,
            technology: None,
            ethernet: "pause".to_owned(),
            transport: Vec::new(),
            connections: None,
            buffer: None,
            pfc_pause: None,
            pfc_resume: None,
            lanes: None,
            reorder: None,
            ecn_low: None,
            ecn_high: None,
            links: false,
            seed: 1,
            without: Vec::new(),
            faults: None,
            sensitivity: false,
            trace: false,
            count: false,
            inject: Vec::new(),
            inject_seed: 1,
            algorithm: None,
            protocol: None,
            messages: None,
            between: None,
            direction: None,
            calls: None,
            window: None,
            pairs: None,
            senders: None,
            random_pairs: None,
            slow: None,
            mpi_share: None,
            barrier_share: None,
            barrier_us: None,
            skew: None,
            iterations: None,
            semantics: None,
            schedule: None,
            side: None,
            spin: None,
            threads: None,
            compute: None,
            class_: None,
            traffic: None,
            load: None,
            precision: None,
            series_us: None,
            partition: None,
            repetitions: None,
            skew_us: None,
            write_us: None,
            read_us: None,
            strides: None,
            copies: None,
            offset: None,
            operations: None,
            completion: None,
            series: None,
            pattern: None,
            buffers: None,
            buffer_size: None,
            uses: None,
            pinned: None,
            persistent: None,
            generate: None,
            repeat: None,
            file: None,
            calc_unit: None,
            loggp: None,
            method: None,
            measured: Vec::new(),
        }
    }
}

impl Simulation {
    /// As the library takes it.
    ///
    /// # Errors
    /// Of arguments.
    pub fn request(&self) -> Result<Request, Error> {
        let cache = listed("cache", &self.cache)?;
        let mut laws = None;
        let sizes = match &self.size {
            Some(sizes) => match sizes.text().filter(|_| self.benchmark == "traffic") {
                Some(text) => {
                    let SizesOrLaws { sizes, laws: named } = word("size", text)?;
                    laws = Some(named);
                    sizes
                }
                None => sizes.list("size")?,
            },
            None => vec![usual_size(&self.benchmark)],
        };
        let size = sizes
            .first()
            .copied()
            .or(laws.as_ref().map(|_| 0))
            .ok_or_else(|| wrong("size", "must be one size, or several"))?;
        let shared = Shared { size, cache: &cache, seed: self.seed };
        let benchmark = Choices { laws, ..self.choices()? }.benchmark(&self.benchmark, &shared)?;
        let one = |only: bool, argument: &str| match only {
            true => Err(wrong(argument, &format!("{} takes one", self.benchmark))),
            false => Ok(()),
        };
        one(matches!(benchmark, Benchmark::CacheStudy(_)) && sizes.len() > 1, "size")?;
        let states_machine = matches!(&benchmark, Benchmark::Goal(goal) if goal.machine.is_some());
        let fabric = match &self.fabric {
            Some(fabric) => fabric.clone(),
            None if states_machine => "loggp".to_owned(),
            None => return Err(wrong("fabric", "say which: a name of the catalog or a file")),
        };
        let zero_copy = |&on: &bool| if on { ZeroCopy::On } else { ZeroCopy::Off };
        let programs = Programs {
            memory: listed("memory", &self.memory)?,
            align: listed("align", &self.align)?,
            // There it is the policies that are compared.
            cache: if matches!(benchmark, Benchmark::CacheStudy(_)) { Vec::new() } else { cache },
            zero_copy: self.zero_copy.iter().map(zero_copy).collect(),
            via: listed("via", &self.via)?,
            warmup: self.warmup,
            background: self.background.as_ref().map(|text| word("background", text)).transpose()?,
            samples: self.samples,
            raw: self.raw,
            watching: watching(&self.inject, self.inject_seed, self.trace, self.count)?,
        };
        let ethernet = word("ethernet", &self.ethernet)?;
        let network = Network {
            capacities: word("capacities", &self.capacities)?,
            packet_size: bytes_of("packet_size", &self.packet_size)?,
            streams: self.streams,
            paths: listed("paths", self.paths.as_ref().map_or(&[], Several::names))?,
            technology: technology(self.technology.as_ref())?,
            ethernet,
            controls: Switches {
                ethernet: Some(self.ethernet.clone()),
                connections: self.connections.clone(),
                buffer: self.buffer.clone(),
                pfc_pause: self.pfc_pause.clone(),
                pfc_resume: self.pfc_resume.clone(),
                lanes: self.lanes,
                reorder: self.reorder.clone(),
                ecn_low: self.ecn_low.clone(),
                ecn_high: self.ecn_high.clone(),
                ..Switches::default()
            }
            .controls(&self.transport)?,
            links: self.links,
        };
        Ok(Request {
            nodes: self.nodes.as_ref().map(Numbers::list).transpose()?,
            sizes,
            stack: self.stack.as_ref().map(|stack| word("stack", stack)).transpose()?,
            programs,
            network,
            without: self.without.clone(),
            faults: self.faults.clone(),
            seed: self.seed,
            sensitivity: if self.sensitivity { Vary::Yes } else { Vary::No },
            ..Request::new(benchmark, &fabric)
        })
    }
}

impl Simulation {
    fn choices(&self) -> Result<Choices, Error> {
        fn many<T: Word>(argument: &str, names: &Option<Vec<String>>) -> Result<Option<Vec<T>>, Error> {
            let of = |names: &Vec<String>| match &names[..] {
                [] => Err(wrong(argument, "must be one, or several")),
                names => listed(argument, names),
            };
            names.as_ref().map(of).transpose()
        }
        fn one<T: Word>(argument: &str, name: &Option<String>) -> Result<Option<T>, Error> {
            name.as_ref().map(|name| named(argument, name)).transpose()
        }
        let numbers =
            |argument: &str, given: &Option<Numbers>| given.as_ref().map(|given| given.list_of(argument)).transpose();
        // As options of the command state it.
        for (argument, given) in [
            ("streams", self.streams.map(u64::from)),
            ("samples", self.samples.map(u64::from)),
            ("repetitions", self.repetitions.map(u64::from)),
            ("messages", self.messages),
            ("window", self.window),
        ] {
            if given == Some(0) {
                return Err(wrong(argument, "must be 1 or more"));
            }
        }
        Ok(Choices {
            algorithm: self.algorithm.clone(),
            protocol: self.protocol.clone(),
            messages: self.messages,
            between: self.between,
            direction: many("direction", &self.direction)?,
            calls: one("calls", &self.calls)?,
            window: self.window,
            pairs: numbers("pairs", &self.pairs)?,
            senders: numbers("senders", &self.senders)?,
            random_pairs: self.random_pairs,
            slow: self.slow,
            mpi_share: self.mpi_share,
            barrier_share: self.barrier_share,
            barrier_us: self.barrier_us,
            skew: self.skew,
            iterations: self.iterations,
            semantics: many("semantics", &self.semantics)?,
            schedule: one("schedule", &self.schedule)?,
            side: many("side", &self.side)?,
            spin: many("spin", &self.spin)?,
            threads: self.threads,
            compute: self.compute.as_ref().map(|shares| shares.list("compute")).transpose()?,
            class: many("class_", &self.class_)?,
            traffic: self.traffic.clone(),
            load: self.load.as_ref().map(|shares| shares.list("load")).transpose()?,
            laws: None,
            precision: self.precision,
            series_us: self.series_us,
            partition: self.partition,
            repetitions: self.repetitions,
            skew_us: self.skew_us,
            write_us: self.write_us,
            read_us: self.read_us,
            strides: numbers("strides", &self.strides)?.map(|strides| strides.into_iter().map(u64::from).collect()),
            copies: numbers("copies", &self.copies)?,
            offset: bytes_of("offset", &self.offset)?,
            operations: self.operations,
            completion: one("completion", &self.completion)?,
            series: many("series", &self.series)?,
            pattern: self.pattern.clone(),
            buffers: self.buffers,
            buffer_size: self.buffer_size.as_ref().map(|sizes| sizes.list("buffer_size")).transpose()?,
            uses: self.uses,
            pinned: bytes_of("pinned", &self.pinned)?,
            persistent: self.persistent,
            generate: self.generate.clone(),
            repeat: self.repeat,
            file: self.file.clone(),
            calc_unit: one::<CalcUnit>("calc_unit", &self.calc_unit)?.map(Time::from),
            loggp: self.loggp.clone(),
        })
    }
}

impl Simulation {
    /// Runs it; `watch` sees the timelines where `trace` asks for them.
    ///
    /// # Errors
    /// Of the fabric's file, of arguments.
    pub fn records(&self, watch: &dyn Watch) -> Result<Vec<Record>, Error> {
        let request = self.request()?;
        let methods: Option<Methods> = self.method.as_ref().map(|name| named("method", name)).transpose()?;
        let measured = hotlink_results::measured(&self.measured, methods)?;
        let network = &request.network;
        let is_controlled = !network.controls.iter().all(Control::is_usual) || network.ethernet != Ethernet::Pause;
        if is_controlled && methods.is_some_and(|methods| !methods.asks(Method::Packet)) {
            return Err(wrong(
                "transport, ethernet, buffer and the like",
                "only packets have them: method packet or all",
            ));
        }
        if let Benchmark::Goal(goal) = &request.benchmark {
            if goal.machine.is_some() && self.fabric.is_some() {
                return Err(wrong("fabric, loggp", "either of them says which machine runs it"));
            }
            if let Some(scheduled) = Scheduled::of_request(&request, goal, methods)? {
                self.check_schedule(&request.benchmark)?;
                let fabric = &request.fabrics[0];
                let each = scheduled.iter().map(|one| one.run(fabric, "goal", watch));
                return Ok(each.collect::<Result<Vec<_>, _>>()?.concat());
            }
        }
        let mut records = Vec::new();
        for asked in Asked::of(request)? {
            records.extend(match (asked, methods) {
                (Asked::Gpus(..), Some(methods)) if methods != Methods::One(Method::Packet) => {
                    return Err(wrong("method", "only packets answer collectives of GPUs"));
                }
                (Asked::Gpus(collective, fabrics), _) => collective.records(&fabrics, watch)?,
                (Asked::Others(request), methods) => {
                    self.check_parts(&request.benchmark, &request.parts()?)?;
                    methods.map_or_else(|| request.run(watch), |methods| methods.records(&request, &measured, watch))?
                }
            });
        }
        Ok(records)
    }
}

/// Flow control, and changes to switches.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Switches {
    capacities: Option<String>,
    packet_size: Option<Size>,
    paths: Option<String>,
    transport: Option<String>,
    ethernet: Option<String>,
    connections: Option<String>,
    buffer: Option<Size>,
    pfc_pause: Option<Size>,
    pfc_resume: Option<Size>,
    lanes: Option<u32>,
    reorder: Option<Size>,
    ecn_low: Option<Size>,
    ecn_high: Option<Size>,
}

impl Switches {
    fn ethernet(&self) -> Result<Ethernet, Error> {
        self.ethernet.as_ref().map_or(Ok(Ethernet::Pause), |name| named("ethernet", name))
    }

    /// One for each transport.
    fn controls(&self, transports: &[String]) -> Result<Vec<Control>, Error> {
        let of = Control {
            connections: self.connections.as_ref().map(|name| named("connections", name)).transpose()?,
            buffer: bytes_of("buffer", &self.buffer)?,
            pause: bytes_of("pfc_pause", &self.pfc_pause)?,
            resume: bytes_of("pfc_resume", &self.pfc_resume)?,
            lanes: self.lanes,
            reorder: bytes_of("reorder", &self.reorder)?,
            ecn_low: bytes_of("ecn_low", &self.ecn_low)?,
            ecn_high: bytes_of("ecn_high", &self.ecn_high)?,
            ..Control::usual()
        };
        Control::each(&listed("transport", transports)?, self.ethernet()?, of).map_err(Error::Input)
    }

    /// The network with them in it.
    pub(crate) fn network(&self, network: Replayed) -> Result<Replayed, Error> {
        let transports: Vec<String> = self.transport.iter().cloned().collect();
        let control = self.controls(&transports)?[0];
        let capacities = self.capacities.as_ref().map_or(Ok(network.capacities), |text| word("capacities", text))?;
        let packet_size = bytes_of("packet_size", &self.packet_size)?;
        let packet_size = packet_size.map(|size| u32::try_from(size).unwrap_or(u32::MAX));
        let paths = self.paths.as_ref().map(|name| named::<Paths>("paths", name)).transpose()?.map(Into::into);
        Ok(Replayed { control, ethernet: self.ethernet()?, capacities, packet_size, paths, ..network })
    }
}

/// A word that a type of its own reads.
fn parsed<T: FromStr<Err = String>>(key: &str, word: Option<&String>) -> Result<Option<T>, Error> {
    word.map(|word| word.parse().map_err(|what: String| wrong(key, &what))).transpose()
}

/// A schedule of any form on a fabric's packet network.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    path: String,
    fabric: String,
    size: Option<Size>,
    flops: Option<f64>,
    groups: Option<PathBuf>,
    algorithm: Option<String>,
    protocol: Option<String>,
    nodes: Option<u32>,
    ranks_per_node: Option<u32>,
    placement: Option<String>,
    #[serde(default)]
    overhead_us: f64,
    eager: Option<Size>,
    #[serde(default = "one")]
    seed: u64,
    faults: Option<String>,
    #[serde(default)]
    sensitivity: bool,
    #[serde(default)]
    network: Switches,
}

fn one() -> u64 {
    1
}

impl Schedule {
    /// Runs it.
    ///
    /// # Errors
    /// Of the schedule, with file and line or node; of the fabric's file.
    pub fn records(&self, watch: &dyn Watch) -> Result<Vec<Record>, Error> {
        let mut scheduled = Scheduled::of(&self.path);
        scheduled.network = self.network.network(scheduled.network)?;
        scheduled.options.bytes = bytes_of("size", &self.size)?;
        (scheduled.options.flops, scheduled.options.groups) = (self.flops, self.groups.clone());
        scheduled.options.wanted =
            (parsed("algorithm", self.algorithm.as_ref())?, parsed("protocol", self.protocol.as_ref())?);
        let ranks_per_node = self.ranks_per_node.unwrap_or(1);
        if !(1..=MOST_PER_NODE).contains(&ranks_per_node) {
            return Err(wrong("ranks_per_node", &format!("must be 1 to {MOST_PER_NODE}")));
        }
        let (nodes, placement) = (self.nodes, self.placement.clone());
        scheduled.seats = Wanted { nodes, ranks_per_node, placement, seed: self.seed };
        if !(0.0..=1e6).contains(&self.overhead_us) {
            return Err(wrong("overhead_us", "must be 0 to 1e6"));
        }
        scheduled.network.overhead = Time::from_us(self.overhead_us);
        scheduled.network.eager_max = bytes_of("eager", &self.eager)?.unwrap_or(u64::MAX);
        (scheduled.network.seed, scheduled.network.faults) = (self.seed, self.faults.clone());
        scheduled.vary = if self.sensitivity { Vary::Yes } else { Vary::No };
        scheduled.run(&self.fabric, "schedule", watch)
    }
}
