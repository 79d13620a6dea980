//! Questions as Python puts them: values in, records out as JSON. No command line stands between.

use crate::InputError;
use hotlink_bench::{Faults, Record, Watching};
use hotlink_fabric::technology::{self, Technology};
use hotlink_fabric::units::Bytes;
use hotlink_study::ask::{Asked, Detail, Method, Question, ask};
use hotlink_study::comparison::{Comparison, Priced};
use hotlink_study::inputs::{self, Vary};
use hotlink_study::model::{self, PatternQuestion, traffic};
use hotlink_study::ranking::Eras;
use hotlink_study::simulate::cell;
use hotlink_study::simulate::request::Request;
use hotlink_study::values::Counts;
use hotlink_study::{Error, Source, Unwatched, Watch, timeline};
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
        let numbers = match self {
            Numbers::One(one) => vec![*one],
            Numbers::Many(many) => many.clone(),
            Numbers::Text(text) => word::<Counts>("nodes", text)?.to_u32().map_err(|what| wrong("nodes", &what))?,
        };
        match numbers.iter().all(|&nodes| nodes > 0) && !numbers.is_empty() {
            true => Ok(numbers),
            false => Err(wrong("nodes", "must be one number from 1 on, or several")),
        }
    }
}

impl Size {
    fn bytes(&self) -> Result<u64, Error> {
        match self {
            Size::Bytes(bytes) => Ok(*bytes),
            Size::Text(text) => Ok(word::<Bytes>("size", text)?.0),
        }
    }
}

impl Sizes {
    fn list(&self) -> Result<Vec<u64>, Error> {
        match self {
            Sizes::One(one) => Ok(vec![one.bytes()?]),
            Sizes::Many(many) => many.iter().map(Size::bytes).collect(),
        }
    }
}

fn wrong(argument: &str, what: &str) -> Error {
    Error::Input(format!("{argument}: {what}"))
}

/// The value of an argument's word.
fn word<T: FromStr<Err: ToString>>(argument: &str, text: &str) -> Result<T, Error> {
    text.parse().map_err(|error: T::Err| wrong(argument, &error.to_string()))
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
        let Pattern { seed, samples, .. } = *self;
        Ok(Question { size, capacities, paths, seed, samples, ..Question::new(what, machine, nodes) })
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
fn told(py: Python<'_>, work: impl FnOnce() -> Result<Vec<Record>, Error> + Send) -> PyResult<String> {
    let records = py.detach(|| hotlink_cli::on_threads_of_this_process(work));
    let records = records.map_err(|error| InputError::new_err(error.to_string()))?;
    let texts: Vec<String> = records.iter().map(hotlink_cli::output::line).collect();
    Ok(format!("[{}]", texts.join(",")))
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
        let Question { capacities, size, seed, samples, paths, .. } = pattern.question("", 2)?;
        let traffic = traffic(&pattern.traffic).map_err(|what| wrong("traffic", &what))?;
        let question = PatternQuestion { traffic, capacities, size, seed, samples, paths };
        let method: model::Method = word("method", &method)?;
        let eras = if across_eras { Eras::Together } else { Eras::Apart };
        let comparison = Comparison::make(&sources, &nodes.list()?, &question, method, eras, Vary::No, &|| ())?;
        if let Some(folder) = &out {
            hotlink_cli::write_comparison(&comparison, folder)?;
        }
        Ok(comparison.records())
    })
}

/// What `simulate` takes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Simulation {
    benchmark: String,
    fabric: String,
    nodes: Option<Numbers>,
    size: Sizes,
    algorithm: Option<String>,
    memory: String,
    cache: String,
    zero_copy: bool,
    via: String,
    stack: Option<String>,
    capacities: String,
    paths: Option<String>,
    technology: Option<String>,
    seed: u64,
    pairs: Option<u32>,
    direction: Vec<String>,
    window: Option<u64>,
    traffic: String,
    load: Vec<f64>,
    class: String,
    sensitivity: bool,
    trace: Option<PathBuf>,
    count: bool,
    inject: Vec<(String, u64)>,
    inject_seed: u64,
}

impl Simulation {
    fn request(&self) -> Result<Request, Error> {
        let direction = |name: &String| {
            hotlink_study::words::Word::of(name).ok_or_else(|| wrong("direction", "must be uni, bi or self"))
        };
        Ok(Request {
            nodes: self.nodes.as_ref().map(Numbers::list).transpose()?,
            sizes: self.size.list()?,
            algorithm: self.algorithm.clone(),
            memory: word("memory", &self.memory)?,
            cache: word("cache", &self.cache)?,
            zero_copy: self.zero_copy,
            via: word("via", &self.via)?,
            message_stack: match self.stack.as_deref() {
                None => None,
                Some("packet") => Some(false),
                Some("message") => Some(true),
                Some(other) => return Err(wrong("stack", &format!("`{other}`: must be packet or message"))),
            },
            capacities: word("capacities", &self.capacities)?,
            paths: self.paths.as_ref().map(|paths| word("paths", paths)).transpose()?,
            technology: technology(self.technology.as_ref())?,
            seed: self.seed,
            pairs: self.pairs,
            directions: self.direction.iter().map(direction).collect::<Result<_, _>>()?,
            window: self.window,
            traffic: self.traffic.clone(),
            loads: self.load.clone(),
            class: word("class_", &self.class)?,
            sensitivity: self.sensitivity,
            watching: self.watching()?,
            ..Request::new(&self.benchmark, &self.fabric)
        })
    }

    fn watching(&self) -> Result<Option<Watching>, Error> {
        let mut faults = Faults { seed: self.inject_seed, ..Faults::default() };
        for (name, percent) in &self.inject {
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
        let faults = Some(faults).filter(|_| !self.inject.is_empty());
        let watching = Watching { trace: self.trace.is_some(), count: self.count, faults };
        Ok((watching != Watching::default()).then_some(watching))
    }
}

/// Benchmarks on simulated machines.
#[pyfunction]
pub(crate) fn simulate(py: Python<'_>, asked: Simulation) -> PyResult<String> {
    told(py, || {
        let cells = asked.request()?.cells()?;
        let timelines = Timelines::default();
        let mut records = Vec::new();
        cell::run(&cells, &timelines, |given| {
            records.extend(given);
            true
        })?;
        if let Some(path) = &asked.trace {
            let mut runs = timelines.0.into_inner().unwrap_or_default();
            runs.sort_by(|a, b| a.0.cmp(&b.0));
            hotlink_cli::write_whole("trace", path, &timeline::chrome(&runs))?;
        }
        Ok(records)
    })
}
