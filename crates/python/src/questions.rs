//! Questions as Python puts them: values in, records out as JSON. No command line stands between.

use crate::InputError;
use hotlink_bench::{Faults, Record, Watching};
use hotlink_fabric::technology::{self, Technology};
use hotlink_fabric::units::{Bytes, Time};
use hotlink_study::ask::{Asked, Detail, Method, Question, ask};
use hotlink_study::comparison::{Comparison, Priced};
use hotlink_study::inputs::{self, Vary};
use hotlink_study::judged::Judged;
use hotlink_study::model::{self, PatternQuestion, traffic};
use hotlink_study::options::ZeroCopy;
use hotlink_study::ranking::Eras;
use hotlink_study::simulate::programs::Programs;
use hotlink_study::simulate::request::{Benchmark, Choices, Network, Request, Shared, usual_size};
use hotlink_study::sizes::SizesOrLaws;
use hotlink_study::values::Counts;
use hotlink_study::words::Word;
use hotlink_study::{Error, Source, Unwatched, Watch, timeline};
use hotlink_workloads::collective::Collective;
use hotlink_workloads::schedule::Scheduled;
use pyo3::prelude::*;
use std::cell::OnceCell;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Mutex;

/// Numbers of nodes: one, several, or the command's notation.
#[derive(FromPyObject)]
pub(crate) enum Numbers {
    One(u32),
    Many(Vec<u32>),
    Text(String),
}

/// Bytes: a number, or with a unit.
#[derive(FromPyObject)]
pub(crate) enum Size {
    Bytes(u64),
    Text(String),
}

#[derive(FromPyObject)]
pub(crate) enum Sizes {
    One(Size),
    Many(Vec<Size>),
}

impl Numbers {
    fn list(&self) -> Result<Vec<u32>, Error> {
        self.list_of("nodes")
    }
    /// Of the argument of that name.
    pub(crate) fn list_of(&self, argument: &str) -> Result<Vec<u32>, Error> {
        let numbers = match self {
            Numbers::One(one) => vec![*one],
            Numbers::Many(many) => many.clone(),
            Numbers::Text(text) => word::<Counts>(argument, text)?.to_u32().map_err(|what| wrong(argument, &what))?,
        };
        match numbers.iter().all(|&nodes| nodes > 0) && !numbers.is_empty() {
            true => Ok(numbers),
            false => Err(wrong(argument, "must be one number from 1 on, or several")),
        }
    }
}

impl Size {
    pub(crate) fn bytes(&self) -> Result<u64, Error> {
        match self {
            Size::Bytes(bytes) => Ok(*bytes),
            Size::Text(text) => Ok(word::<Bytes>("size", text)?.0),
        }
    }
}

impl Sizes {
    /// One text, which may stand for several sizes.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Sizes::One(Size::Text(text)) => Some(text),
            _ => None,
        }
    }
    pub(crate) fn list(&self) -> Result<Vec<u64>, Error> {
        match self {
            Sizes::One(one) => Ok(vec![one.bytes()?]),
            Sizes::Many(many) => many.iter().map(Size::bytes).collect(),
        }
    }
}

pub(crate) fn wrong(argument: &str, what: &str) -> Error {
    Error::Input(format!("{argument}: {what}"))
}

/// The value of an argument's word.
pub(crate) fn word<T: FromStr<Err: ToString>>(argument: &str, text: &str) -> Result<T, Error> {
    text.parse().map_err(|error: T::Err| wrong(argument, &error.to_string()))
}

/// The value of a word.
pub(crate) fn named<T: Word>(argument: &str, name: &str) -> Result<T, Error> {
    T::of(name).ok_or_else(|| wrong(argument, &T::unknown(name)))
}

/// The values of words.
pub(crate) fn listed<T: Word>(argument: &str, names: &[String]) -> Result<Vec<T>, Error> {
    names.iter().map(|name| named(argument, name)).collect()
}

/// A text of the library, which names choices as the command's options, with Python's names: `--skew-us 5` is
/// `skew_us=5`. Command lines between backticks stay.
pub(crate) fn in_python(text: &str) -> String {
    let converted = |text: &str| {
        let mut parts = text.split("--");
        let mut told = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(part.len());
            let (name, rest) = part.split_at(end);
            told += &if name == "class" { "class_".to_owned() } else { name.replace('-', "_") };
            match rest.strip_prefix(' ').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
                Some(value) => told = format!("{told}={value}"),
                None => told += rest,
            }
        }
        told
    };
    let between = |(index, part): (usize, &str)| if index % 2 == 0 { converted(part) } else { part.to_owned() };
    text.split('`').enumerate().map(between).collect::<Vec<_>>().join("`")
}

fn technology(name: Option<&String>) -> Result<Option<&'static Technology>, Error> {
    name.map(|name| technology::named(name)).transpose().map_err(|what| wrong("technology", &what.to_string()))
}

/// What all questions about traffic hold.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Pattern {
    traffic: String,
    capacities: String,
    size: Size,
    samples: u64,
    hash_seeds: u64,
    seed: u64,
    paths: Option<String>,
    technology: Option<String>,
}

impl Pattern {
    fn question(&self, machine: &str, nodes: u32) -> Result<Question, Error> {
        traffic(&self.traffic).map_err(|what| wrong("traffic", &what))?;
        let what = Asked::Traffic(self.traffic.clone());
        let paths = self.paths.as_ref().map(|paths| word("paths", paths)).transpose()?;
        let (size, capacities) = (self.size.bytes()?, word("capacities", &self.capacities)?);
        if !(1..=100_000).contains(&self.samples) {
            return Err(wrong("samples", "must be 1 to 100000"));
        }
        let Pattern { seed, samples, hash_seeds, .. } = *self;
        Ok(Question { size, capacities, paths, seed, samples, hash_seeds, ..Question::new(what, machine, nodes) })
    }
}

/// Nobody watches for progress; timelines are kept.
#[derive(Default)]
struct Timelines(Mutex<Vec<timeline::Run>>);

impl Watch for Timelines {
    fn saw(&self, run: &str, ranks: &[hotlink_bench::Seen]) {
        if let Ok(mut runs) = self.0.lock() {
            runs.push((run.to_owned(), ranks.to_vec()));
        }
    }
}

/// The records as a JSON list, or an `InputError`.
pub(crate) fn told(py: Python<'_>, work: impl FnOnce() -> Result<Vec<Record>, Error> + Send) -> PyResult<String> {
    let records = py.detach(|| hotlink_cli::on_threads_of_this_process(work));
    let records = records.map_err(|error| InputError::new_err(in_python(&error.to_string())))?;
    Ok(records_as_json(&records))
}

pub(crate) fn records_as_json(records: &[Record]) -> String {
    let texts: Vec<String> = records.iter().map(hotlink_cli::output::line).collect();
    format!("[{}]", texts.join(","))
}

/// What is asked of the observers; `None`: there need be none.
pub(crate) fn watching(
    inject: &[(String, u64)],
    seed: u64,
    trace: bool,
    count: bool,
) -> Result<Option<Watching>, Error> {
    let mut faults = Faults { seed, ..Faults::default() };
    for (name, percent) in inject {
        if !(1..=90).contains(percent) {
            return Err(wrong("inject", &format!("{name}: {percent}: must be 1 to 90 percent")));
        }
        match name.as_str() {
            "busy" => faults.busy = *percent,
            "late" => faults.late = *percent,
            "scarce" => faults.scarce = *percent,
            _ => return Err(wrong("inject", &format!("`{name}`: must be busy, late or scarce"))),
        }
    }
    let faults = Some(faults).filter(|_| !inject.is_empty());
    let watching = Watching { trace, count, faults };
    Ok((watching != Watching::default()).then_some(watching))
}

/// Every engine of `methods` that answers, for each number of nodes.
#[pyfunction]
pub(crate) fn analyze(
    py: Python<'_>,
    fabric: String,
    nodes: Option<Numbers>,
    methods: Vec<String>,
    pattern: Pattern,
    links: bool,
) -> PyResult<String> {
    told(py, || {
        let source = Source::open_as(&fabric, technology(pattern.technology.as_ref())?)?;
        let methods: Vec<Method> = methods.iter().map(|name| word("method", name)).collect::<Result<_, _>>()?;
        let sizes = match &nodes {
            Some(nodes) => nodes.list()?,
            None => source.sizes(None)?,
        };
        let (mut records, mut resources) = (Vec::new(), Vec::new());
        for nodes in sizes {
            let detail = Detail { deadlock: true, links, why: false };
            let question = Question { detail, ..pattern.question(&fabric, nodes)? };
            let first = OnceCell::new();
            let answer = |source: &Source, watch: &dyn Watch| {
                let answers = ask(&question, source, &methods, watch)?;
                let records = answers.records();
                // What is asked again with other inputs adds no rows.
                let _ = first.set(answers);
                Ok(records)
            };
            records.extend(inputs::told(&source, Vary::No, &Unwatched, &answer)?);
            resources.extend(first.into_inner().into_iter().flat_map(|answers| answers.given).flat_map(|one| one.more));
        }
        records.extend(resources);
        Ok(records)
    })
}

/// Several fabrics at each size, and where the lead changes.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn compare(
    py: Python<'_>,
    fabrics: Vec<String>,
    nodes: Numbers,
    pattern: Pattern,
    method: String,
    prices: Option<PathBuf>,
    across_eras: bool,
    out: Option<PathBuf>,
) -> PyResult<String> {
    told(py, || {
        let mut sources: Vec<Priced> = Vec::new();
        for name in &fabrics {
            let technology = technology(pattern.technology.as_ref())?.filter(|_| name.ends_with(".json"));
            let source = Source::open_as(name, technology)?;
            if sources.iter().any(|known| known.source.name() == source.name()) {
                return Err(wrong("fabrics", &format!("{} is named twice; name each fabric once", source.name())));
            }
            sources.push(Priced::new(source, prices.as_deref())?);
        }
        let Question { capacities, size, seed, samples, hash_seeds, paths, .. } = pattern.question("", 2)?;
        let traffic = traffic(&pattern.traffic).map_err(|what| wrong("traffic", &what))?;
        let question = PatternQuestion { traffic, capacities, size, seed, samples, hash_seeds, paths };
        let methods: Vec<model::Method> =
            method.split(',').map(|name| word("method", name)).collect::<Result<_, _>>()?;
        let eras = if across_eras { Eras::Together } else { Eras::Apart };
        let sizes = nodes.list()?;
        let make = |method| Comparison::make(&sources, &sizes, &question, method, eras, Vary::No, &|| ());
        let judged = Judged(methods.into_iter().map(make).collect::<Result<_, _>>()?);
        if let Some(folder) = &out {
            hotlink_cli::write_comparison(&judged, folder)?;
        }
        Ok(judged.records())
    })
}

/// What `simulate` takes, for any benchmark.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Simulation {
    benchmark: String,
    fabric: Option<String>,
    nodes: Option<Numbers>,
    size: Option<Sizes>,
    memory: Vec<String>,
    align: Vec<String>,
    cache: Vec<String>,
    zero_copy: Vec<bool>,
    via: Vec<String>,
    warmup: Option<u64>,
    background: Option<String>,
    samples: Option<u32>,
    raw: bool,
    stack: Option<String>,
    capacities: String,
    packet_size: Option<Size>,
    streams: Option<u16>,
    paths: Option<String>,
    technology: Option<String>,
    ethernet: String,
    links: bool,
    seed: u64,
    without: Vec<u32>,
    faults: Option<String>,
    sensitivity: bool,
    trace: Option<PathBuf>,
    count: bool,
    inject: Vec<(String, u64)>,
    inject_seed: u64,
}

impl Simulation {
    fn request(&self, chosen: &Chosen) -> Result<Request, Error> {
        let cache = listed("cache", &self.cache)?;
        let mut laws = None;
        let sizes = match &self.size {
            Some(sizes) => match sizes.text().filter(|_| self.benchmark == "traffic") {
                Some(text) => {
                    let SizesOrLaws { sizes, laws: named } = word("size", text)?;
                    laws = Some(named);
                    sizes
                }
                None => sizes.list()?,
            },
            None => vec![usual_size(&self.benchmark)],
        };
        let size = sizes
            .first()
            .copied()
            .or(laws.as_ref().map(|_| 0))
            .ok_or_else(|| wrong("size", "must be one size, or several"))?;
        let shared = Shared { size, cache: &cache, seed: self.seed };
        let benchmark = Choices { laws, ..chosen.choices()? }.benchmark(&self.benchmark, &shared)?;
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
            watching: watching(&self.inject, self.inject_seed, self.trace.is_some(), self.count)?,
        };
        let network = Network {
            capacities: word("capacities", &self.capacities)?,
            packet_size: self.packet_size.as_ref().map(Size::bytes).transpose()?,
            streams: self.streams,
            paths: self.paths.as_ref().map(|paths| named("paths", paths)).transpose()?.into_iter().collect(),
            technology: technology(self.technology.as_ref())?,
            ethernet: word("ethernet", &self.ethernet)?,
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

/// Choices of single benchmarks, where they are made.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Chosen {
    algorithm: Option<Vec<String>>,
    messages: Option<u64>,
    between: Option<[u32; 2]>,
    direction: Option<Vec<String>>,
    calls: Option<String>,
    window: Option<u64>,
    pairs: Option<Numbers>,
    senders: Option<Numbers>,
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
    compute: Option<Vec<f64>>,
    class_: Option<Vec<String>>,
    traffic: Option<String>,
    load: Option<Vec<f64>>,
    precision: Option<f64>,
    series_us: Option<f64>,
    partition: Option<bool>,
    repetitions: Option<u32>,
    skew_us: Option<f64>,
    strides: Option<Numbers>,
    offset: Option<Size>,
    operations: Option<u64>,
    completion: Option<String>,
    series: Option<Vec<String>>,
    pattern: Option<Vec<String>>,
    buffers: Option<u64>,
    buffer_size: Option<Sizes>,
    uses: Option<u64>,
    pinned: Option<Size>,
    generate: Option<Vec<String>>,
    repeat: Option<u32>,
    file: Option<String>,
    calc_unit: Option<String>,
    loggp: Option<String>,
}

impl Chosen {
    fn choices(&self) -> Result<Choices, Error> {
        fn many<T: Word>(argument: &str, names: &Option<Vec<String>>) -> Result<Option<Vec<T>>, Error> {
            names.as_ref().map(|names| listed(argument, names)).transpose()
        }
        fn one<T: Word>(argument: &str, name: &Option<String>) -> Result<Option<T>, Error> {
            name.as_ref().map(|name| named(argument, name)).transpose()
        }
        let numbers = |given: &Option<Numbers>| given.as_ref().map(Numbers::list).transpose();
        let bytes = |given: &Option<Size>| given.as_ref().map(Size::bytes).transpose();
        let unit = |name: &String| match name.as_str() {
            "ps" => Ok(Time(1)),
            "ns" => Ok(Time(1_000)),
            "us" => Ok(Time(1_000_000)),
            other => Err(wrong("calc_unit", &format!("`{other}`: must be ps, ns or us"))),
        };
        Ok(Choices {
            algorithm: self.algorithm.clone(),
            messages: self.messages,
            between: self.between,
            direction: many("direction", &self.direction)?,
            calls: one("calls", &self.calls)?,
            window: self.window,
            pairs: numbers(&self.pairs)?,
            senders: numbers(&self.senders)?,
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
            compute: self.compute.clone(),
            class: many("class_", &self.class_)?,
            traffic: self.traffic.clone(),
            load: self.load.clone(),
            laws: None,
            precision: self.precision,
            series_us: self.series_us,
            partition: self.partition,
            repetitions: self.repetitions,
            skew_us: self.skew_us,
            strides: numbers(&self.strides)?.map(|strides| strides.into_iter().map(u64::from).collect()),
            offset: bytes(&self.offset)?,
            operations: self.operations,
            completion: one("completion", &self.completion)?,
            series: many("series", &self.series)?,
            pattern: self.pattern.clone(),
            buffers: self.buffers,
            buffer_size: self.buffer_size.as_ref().map(Sizes::list).transpose()?,
            uses: self.uses,
            pinned: bytes(&self.pinned)?,
            generate: self.generate.clone(),
            repeat: self.repeat,
            file: self.file.clone(),
            calc_unit: self.calc_unit.as_ref().map(unit).transpose()?,
            loggp: self.loggp.clone(),
        })
    }
}

/// Benchmarks on simulated machines.
#[pyfunction]
pub(crate) fn simulate(py: Python<'_>, asked: Simulation, chosen: Chosen) -> PyResult<String> {
    told(py, || {
        let (timelines, request) = (Timelines::default(), asked.request(&chosen)?);
        let records = match Collective::of(&request)? {
            Some((collective, fabrics)) => collective.records(&fabrics, &timelines)?,
            None => request.run(&timelines)?,
        };
        if let Some(path) = &asked.trace {
            let mut runs = timelines.0.into_inner().unwrap_or_default();
            runs.sort_by(|a, b| a.0.cmp(&b.0));
            hotlink_results::write_whole("trace", path, &timeline::chrome(&runs))?;
        }
        Ok(records)
    })
}

/// A schedule of any form on a fabric's packet network.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn simulate_schedule(
    py: Python<'_>,
    path: String,
    fabric: String,
    size: Option<Size>,
    flops: Option<f64>,
    groups: Option<PathBuf>,
    nodes: Option<u32>,
    overhead_us: f64,
    eager: Option<Size>,
    seed: u64,
) -> PyResult<String> {
    told(py, || {
        let mut scheduled = Scheduled::of(&path);
        scheduled.options.bytes = size.as_ref().map(Size::bytes).transpose()?;
        (scheduled.options.flops, scheduled.options.groups, scheduled.nodes) = (flops, groups, nodes);
        if !(0.0..=1e6).contains(&overhead_us) {
            return Err(wrong("overhead_us", "must be 0 to 1e6"));
        }
        scheduled.network.overhead = Time::from_us(overhead_us);
        scheduled.network.eager_max = eager.as_ref().map(Size::bytes).transpose()?.unwrap_or(u64::MAX);
        scheduled.network.seed = seed;
        scheduled.run(&fabric, "schedule", &Timelines::default())
    })
}
