//! Plans of jobs in TOML, with the place of every mistake.

use super::model::{Model, Parallel};
use super::place::Placement;
use crate::replay::Network;
use hotlink_event::sizes::SizeLaw;
use hotlink_fabric::Fabric;
use hotlink_fabric::catalog::{Lines, Mistake, MistakeKind};
use hotlink_fabric::spec::FabricSpec;
use hotlink_fabric::traffic::Traffic;
use hotlink_fabric::units::Time;
use hotlink_schedule::Options;
use hotlink_schedule::collective::{self as gpus, Way};
use hotlink_sim::fault::{Fault, Lost};
use hotlink_sim::{Plan as Packets, Settings};
use hotlink_study::Error;
use hotlink_study::model;
use hotlink_study::options::{CalcUnit, Ethernet, Transport};
use hotlink_study::simulate::faults;
use hotlink_study::sizes::Law;
use hotlink_study::transports::Control;
use hotlink_study::values::Size;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A plan: jobs that share a fabric, and what fails meanwhile.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The file as the user named it.
    pub file: String,
    text: String,
    /// Nodes of the fabric, where the plan says so.
    pub nodes: Option<u32>,
    has_own_faults: bool,
    /// A file of faults.
    pub faults: Option<String>,
    /// What controls flows, and what is other in switches.
    switches: Switches,
    /// Where that stands, if the plan says anything of it.
    network: Option<Range<usize>>,
    /// The jobs.
    pub jobs: Vec<Job>,
}

/// One job.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its name, which no other job has.
    pub name: String,
    /// What it does.
    pub work: Work,
    /// How often.
    pub repeat: Repeat,
    /// When it begins.
    pub start: Time,
    /// Its ranks, where neither a schedule nor a list of nodes says so.
    pub ranks: Option<u32>,
    /// Its nodes, by numbers or names.
    pub nodes: Option<String>,
    /// How its nodes are chosen, where they are not listed.
    pub placement: Option<Placement>,
    /// GPUs that it takes of each host.
    pub gpus_per_node: Option<u32>,
    /// Seed of its random choices.
    pub seed: u64,
    /// Whether other jobs that say so, too, may use its nodes.
    pub shared: bool,
    spans: BTreeMap<&'static str, Range<usize>>,
}

/// What a job does.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// A schedule of any form.
    Schedule {
        /// Its file, folder or prefix.
        path: String,
        /// What the file does not state.
        options: Options,
        /// What a unit of computation stands for, where the form does not say.
        calc_unit: Time,
    },
    /// A collective, of GPUs where the fabric describes them, else of the message stack.
    Collective {
        /// Its name.
        name: String,
        /// By which algorithm; none: as GPUs' library chooses.
        algorithm: Option<String>,
        /// By which protocol of GPUs; none: as their library chooses.
        protocol: Option<String>,
        /// Its bytes.
        bytes: u64,
    },
    /// Messages at random times, whether the network takes them or not.
    Traffic {
        /// Which nodes send to which.
        traffic: Traffic,
        /// Bytes of messages, as the plan has them.
        size: String,
        /// The same as a distribution.
        law: Law,
        /// Share of what the pattern alone would get.
        load: f64,
    },
    /// Steps of a model's training.
    Training(Box<Model>),
    /// A compiled MPI program, a rank on each node.
    Program {
        /// The program and its arguments.
        command: Vec<String>,
        /// What computing between calls costs.
        compute: String,
    },
}

/// How often a job runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Repeat {
    /// So many rounds; of traffic, messages of a sending node.
    Times(u32),
    /// As many rounds as take this long alone; for traffic, this long.
    For(Time),
}

/// The table `network`.
#[derive(Clone, Debug)]
struct Switches {
    transport: Option<Transport>,
    ethernet: Option<Ethernet>,
    control: Control,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct NetworkEntry {
    transport: Option<Spanned<String>>,
    ethernet: Option<Spanned<String>>,
    connections: Option<Spanned<String>>,
    buffer: Option<Spanned<String>>,
    pfc_pause: Option<Spanned<String>>,
    pfc_resume: Option<Spanned<String>>,
    lanes: Option<Spanned<u32>>,
    reorder: Option<Spanned<String>>,
    ecn_low: Option<Spanned<String>>,
    ecn_high: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "title")]
    _title: Option<String>,
    nodes: Option<Spanned<u32>>,
    network: Option<Spanned<NetworkEntry>>,
    faults: Option<String>,
    fault: Option<toml::Value>,
    #[serde(default)]
    job: Vec<Spanned<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: Option<Spanned<String>>,
    schedule: Option<Spanned<String>>,
    collective: Option<Spanned<String>>,
    traffic: Option<Spanned<String>>,
    model: Option<Spanned<Model>>,
    program: Option<Spanned<Vec<String>>>,
    compute_time: Option<Spanned<String>>,
    algorithm: Option<Spanned<String>>,
    protocol: Option<Spanned<String>>,
    #[serde(default, deserialize_with = "bytes")]
    size: Option<Spanned<String>>,
    load: Option<Spanned<f64>>,
    calc_unit: Option<Spanned<String>>,
    flops: Option<Spanned<f64>>,
    groups: Option<Spanned<String>>,
    repeat: Option<Spanned<u32>>,
    messages: Option<Spanned<u32>>,
    for_us: Option<Spanned<f64>>,
    start_us: Option<Spanned<f64>>,
    ranks: Option<Spanned<u32>>,
    nodes: Option<Spanned<String>>,
    placement: Option<Spanned<String>>,
    gpus_per_node: Option<Spanned<u32>>,
    seed: Option<Spanned<u64>>,
    shared: Option<Spanned<bool>>,
}

/// Bytes as a text, with their unit or without: `"64KiB"`, or 65536.
fn bytes<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Spanned<String>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "must be bytes, such as \"64KiB\" or 65536")]
    enum Bytes {
        Number(u64),
        Text(String),
    }
    let found = Option::<Spanned<Bytes>>::deserialize(from)?;
    Ok(found.map(|found| {
        let span = found.span();
        Spanned::new(
            span,
            match found.into_inner() {
                Bytes::Number(bytes) => bytes.to_string(),
                Bytes::Text(text) => text,
            },
        )
    }))
}

/// The key whose value begins there, on the same line; empty where a line does not begin so.
fn key_before(text: &str, at: usize) -> &str {
    let line = text.get(..at).unwrap_or_default();
    let line = line.rsplit('\n').next().unwrap_or_default();
    line.split_once('=').map_or("", |(key, _)| key.trim())
}

/// Keys that only some kinds of jobs have, and which.
const ONLY: [(&str, &[&str]); 10] = [
    ("algorithm", &["collective", "model", "schedule"]),
    ("calc_unit", &["schedule"]),
    ("compute_time", &["program"]),
    ("flops", &["schedule"]),
    ("groups", &["schedule"]),
    ("load", &["traffic"]),
    ("messages", &["traffic"]),
    ("protocol", &["collective", "model", "schedule"]),
    ("repeat", &["schedule", "collective", "model", "program"]),
    ("size", &["schedule", "collective", "traffic"]),
];
/// Longest time of a plan: a day.
const LATEST_US: f64 = 86_400e6;
/// Most rounds, and most messages of a sender.
const MOST_ROUNDS: u32 = 10_000_000;

impl Plan {
    /// Reads a plan; `-` is standard input.
    ///
    /// # Errors
    /// Every mistake, one a line, as `file:line:column: key: what was wrong (allowed: ...)`.
    pub fn read(file: &str) -> Result<Plan, Error> {
        let text = hotlink_fabric::input::text(file);
        let text = text.map_err(|error| Error::Input(format!("{file}: cannot be read: {error}")))?;
        Ok(Plan::parse(file, &text)?)
    }

    /// The plan `text`, called `file` in messages.
    ///
    /// # Errors
    /// Its mistakes; of a text that is no plan the first.
    pub fn parse(file: &str, text: &str) -> Result<Plan, Vec<Mistake>> {
        let mut reader = Reader { file, text, lines: Lines::new(text), mistakes: Vec::new() };
        let found: File = match toml::from_str(text) {
            Ok(found) => found,
            Err(error) => {
                let span = error.span().unwrap_or(0..0);
                let key = key_before(text, span.start);
                reader.wrong(span, key, error.message().replace('\n', ", "), "");
                return Err(reader.mistakes);
            }
        };
        let nodes = found.nodes.and_then(|nodes| reader.within(Some(&nodes), "nodes", 2..=u32::MAX));
        if found.job.is_empty() {
            reader.wrong(0..0, "job", "there is none", "[[job]] with a name and what it does");
        }
        let network = found.network.as_ref().map(Spanned::span);
        let switches = reader.switches(&found.network.map(Spanned::into_inner).unwrap_or_default());
        let jobs: Vec<Option<Job>> = found.job.into_iter().enumerate().map(|(at, job)| reader.job(at, job)).collect();
        reader.names(&jobs);
        match reader.mistakes.is_empty() {
            true => Ok(Plan {
                file: file.to_owned(),
                text: text.to_owned(),
                nodes,
                has_own_faults: found.fault.is_some(),
                faults: found.faults.map(|faults| beside(file, &faults)),
                switches,
                network,
                jobs: jobs.into_iter().flatten().collect(),
            }),
            false => Err(reader.mistakes),
        }
    }

    /// The network with what the plan says of it where nothing else was asked for.
    ///
    /// # Errors
    /// Both together cannot be.
    pub(super) fn network(&self, asked: &Network) -> Result<Network, Error> {
        let (own, control) = (self.switches.control, asked.control);
        let is_named = control.named || control.transport != Transport::None;
        let named = if is_named { Some(control.transport) } else { self.switches.transport };
        let ethernet = match asked.ethernet {
            Ethernet::Pause => self.switches.ethernet.unwrap_or(Ethernet::Pause),
            ethernet => ethernet,
        };
        let of = Control {
            transport: Transport::None,
            named: false,
            connections: control.connections.or(own.connections),
            buffer: control.buffer.or(own.buffer),
            pause: control.pause.or(own.pause),
            resume: control.resume.or(own.resume),
            lanes: control.lanes.or(own.lanes),
            reorder: control.reorder.or(own.reorder),
            ecn_low: control.ecn_low.or(own.ecn_low),
            ecn_high: control.ecn_high.or(own.ecn_high),
        };
        let each = Control::each(named.as_slice(), ethernet, of);
        let each = each.map_err(|what| self.of_network(what))?;
        Ok(Network { control: each[0], ethernet, ..asked.clone() })
    }

    /// Whether anything fails by the plan.
    pub fn has_faults(&self) -> bool {
        self.faults.is_some() || self.has_own_faults
    }

    /// Settings of a simulation: what the options say, with all that fails by the plan, too.
    pub(super) fn settings(
        &self,
        network: &Network,
        (spec, fabric): (&FabricSpec, &Fabric),
    ) -> Result<Settings, Error> {
        let mut settings = network.settings(spec, fabric).map_err(|what| self.of_network(what))?;
        if self.has_own_faults {
            settings.faults.extend(faults::within(&self.file, &self.text, fabric).map_err(Error::Input)?);
        }
        if let Some(file) = &self.faults {
            settings.faults.extend(faults::read(file, fabric).map_err(Error::Input)?);
        }
        // Stable: changes of one time happen in this order.
        settings.faults.sort_by_key(|fault| fault.at);
        Ok(settings)
    }

    /// Why jobs wait for ever: which failure cut them off, of this plan or of one of the files of failures.
    pub(super) fn cut_off(
        &self,
        lost: &Lost,
        packets: &Packets<'_>,
        all: &[Fault],
        of_command: Option<&str>,
    ) -> String {
        let files: Vec<&str> = self.faults.as_deref().into_iter().chain(of_command).collect();
        faults::told(lost, packets, all, &files, &[(&self.file, &self.text)])
    }

    /// What is wrong with the network, at the plan's table where there is one: it may have said so.
    fn of_network(&self, what: String) -> Error {
        match &self.network {
            Some(span) => Error::Input(self.mistake(span, "network".to_owned(), what).to_string()),
            None => Error::Input(what),
        }
    }

    fn mistake(&self, span: &Range<usize>, key: String, what: String) -> Mistake {
        let (line, column) = Lines::new(&self.text).place(span);
        let (file, allowed) = (self.file.clone(), String::new());
        Mistake { file, line, column, key, what, allowed, kind: MistakeKind::Other }
    }

    /// What is wrong with a job, at one of its keys if that is given, else where it begins.
    pub fn wrong(&self, job: &Job, key: &'static str, what: impl Into<String>) -> Error {
        let span = job.spans.get(key).or(job.spans.get("")).cloned().unwrap_or(0..0);
        let key = format!("job {:?}{}{key}", job.name, if key.is_empty() { "" } else { ": " });
        Error::Input(self.mistake(&span, key, what.into()).to_string())
    }
}

/// A path that is seen from the folder of the plan.
fn beside(file: &str, path: &str) -> String {
    match Path::new(file).parent() {
        Some(folder) if file != "-" => folder.join(path).display().to_string(),
        _ => path.to_owned(),
    }
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    lines: Lines<'a>,
    mistakes: Vec<Mistake>,
}

impl Reader<'_> {
    fn wrong(&mut self, span: Range<usize>, key: &str, what: impl Into<String>, allowed: impl Into<String>) {
        let (line, column) = self.lines.place(&span);
        let (file, key) = (self.file.to_owned(), key.to_owned());
        self.mistakes.push(Mistake {
            file,
            line,
            column,
            key,
            what: what.into(),
            allowed: allowed.into(),
            kind: MistakeKind::Other,
        });
    }

    /// A number within its range.
    fn within<T: PartialOrd + Copy + std::fmt::Display>(
        &mut self,
        value: Option<&Spanned<T>>,
        key: &str,
        range: std::ops::RangeInclusive<T>,
    ) -> Option<T> {
        let value = value?;
        let is_within = range.contains(value.get_ref());
        if !is_within {
            let allowed = format!("{} to {}", range.start(), range.end());
            self.wrong(value.span(), key, format!("is {}", value.get_ref()), allowed);
        }
        is_within.then(|| *value.get_ref())
    }

    /// A text that is read by its type.
    fn parsed<T: std::str::FromStr<Err = String>>(&mut self, value: Option<&Spanned<String>>, key: &str) -> Option<T> {
        let value = value?;
        let found = value.get_ref().parse();
        found.map_err(|what| self.wrong(value.span(), key, what, "")).ok()
    }

    /// The table `network`.
    fn switches(&mut self, entry: &NetworkEntry) -> Switches {
        let mut bytes = |value: &Option<Spanned<String>>, key: &str| {
            self.parsed::<Size>(value.as_ref(), &format!("network.{key}")).map(|size| size.0)
        };
        let control = Control {
            buffer: bytes(&entry.buffer, "buffer"),
            pause: bytes(&entry.pfc_pause, "pfc_pause"),
            resume: bytes(&entry.pfc_resume, "pfc_resume"),
            reorder: bytes(&entry.reorder, "reorder"),
            ecn_low: bytes(&entry.ecn_low, "ecn_low"),
            ecn_high: bytes(&entry.ecn_high, "ecn_high"),
            lanes: self.within(entry.lanes.as_ref(), "network.lanes", 1..=8),
            connections: self.parsed(entry.connections.as_ref(), "network.connections"),
            transport: Transport::None,
            named: false,
        };
        Switches {
            transport: self.parsed(entry.transport.as_ref(), "network.transport"),
            ethernet: self.parsed(entry.ethernet.as_ref(), "network.ethernet"),
            control,
        }
    }

    /// No two jobs have one name.
    fn names(&mut self, jobs: &[Option<Job>]) {
        let mut seen = BTreeSet::new();
        for (at, job) in jobs.iter().enumerate() {
            let Some(job) = job else { continue };
            if !seen.insert(job.name.as_str()) || job.name == super::ALL {
                let span = job.spans.get("name").cloned().unwrap_or(0..0);
                let what = format!("{:?} is taken", job.name);
                self.wrong(span, &format!("job[{at}].name"), what, "a name of its own, not \"all\"");
            }
        }
    }

    fn job(&mut self, at: usize, entry: Spanned<Entry>) -> Option<Job> {
        let (span, entry) = (entry.span(), entry.into_inner());
        let key = |key: &str| format!("job[{at}].{key}");
        let before = self.mistakes.len();
        let name = entry.name.as_ref().filter(|name| !name.get_ref().trim().is_empty());
        if name.is_none() {
            self.wrong(span.clone(), &key("name"), "is missing or empty", "a text");
        }
        let kinds = [
            ("schedule", entry.schedule.is_some()),
            ("collective", entry.collective.is_some()),
            ("traffic", entry.traffic.is_some()),
            ("model", entry.model.is_some()),
            ("program", entry.program.is_some()),
        ];
        let given: Vec<&str> = kinds.iter().filter(|(_, is_given)| *is_given).map(|(kind, _)| *kind).collect();
        let [kind] = given[..] else {
            self.wrong(
                span,
                &key("schedule"),
                "needs one kind of work",
                "schedule, collective, traffic, model, program",
            );
            return None;
        };
        let mut spans = spans(&entry);
        for (only, kinds) in ONLY.iter().filter(|(only, kinds)| spans.contains_key(only) && !kinds.contains(&kind)) {
            self.wrong(spans[only].clone(), &key(only), format!("{kind} has none"), kinds.join(", "));
        }
        spans.insert("", span.clone());
        if let Some(model) = &entry.model {
            let keys = Parallel::ALL.into_iter().flat_map(Parallel::keys);
            spans.extend(keys.filter_map(|key| Some((key, model_key(self.text, &model.span(), key)?))));
        }
        let work = self.work(kind, &entry, &key, &span);
        let repeat = self.repeat(kind, &entry, &key, &span);
        let start = self.within(entry.start_us.as_ref(), &key("start_us"), 0.0..=LATEST_US);
        let ranks = self.within(entry.ranks.as_ref(), &key("ranks"), 1..=hotlink_schedule::MOST_RANKS);
        let gpus_per_node = self.within(entry.gpus_per_node.as_ref(), &key("gpus_per_node"), 1..=256);
        let placement = self.parsed(entry.placement.as_ref(), &key("placement"));
        if let (Some(placement), Some(_)) = (&entry.placement, &entry.nodes) {
            self.wrong(placement.span(), &key("placement"), "nodes are listed", "one of nodes and placement");
        }
        if let (Some(each), Some(_)) = (&entry.gpus_per_node, &entry.nodes) {
            self.wrong(each.span(), &key("gpus_per_node"), "nodes are listed", "one of nodes and gpus_per_node");
        }
        if let (Some(ranks), "model") = (&entry.ranks, kind) {
            self.wrong(ranks.span(), &key("ranks"), "a model says so itself", "tensor x pipeline x data of the model");
        }
        let says_so = matches!(kind, "schedule" | "model");
        if !says_so && entry.ranks.is_none() && entry.nodes.is_none() {
            self.wrong(span, &key("ranks"), "is missing", "how many nodes it takes, or nodes that lists them");
        }
        if self.mistakes.len() > before {
            return None;
        }
        Some(Job {
            name: name?.get_ref().clone(),
            work: work?,
            repeat: repeat?,
            start: Time::from_us(start.unwrap_or(0.0)),
            ranks,
            nodes: entry.nodes.map(Spanned::into_inner),
            placement,
            gpus_per_node,
            seed: entry.seed.map_or(1, Spanned::into_inner),
            shared: entry.shared.is_some_and(Spanned::into_inner),
            spans,
        })
    }

    fn repeat(
        &mut self,
        kind: &str,
        entry: &Entry,
        key: &dyn Fn(&str) -> String,
        span: &Range<usize>,
    ) -> Option<Repeat> {
        let (name, times) = match kind {
            "traffic" => ("messages", &entry.messages),
            _ => ("repeat", &entry.repeat),
        };
        match (times, &entry.for_us) {
            (Some(times), Some(_)) => {
                self.wrong(times.span(), &key(name), "stands with for_us", "one of them");
                None
            }
            (None, Some(us)) => {
                let us = self.within(Some(us), &key("for_us"), 1e-6..=LATEST_US);
                us.map(|us| Repeat::For(Time::from_us(us)))
            }
            (Some(times), None) => self.within(Some(times), &key(name), 1..=MOST_ROUNDS).map(Repeat::Times),
            (None, None) if kind == "traffic" => {
                self.wrong(span.clone(), &key(name), "is missing", "messages of each sender, or for_us");
                None
            }
            (None, None) => Some(Repeat::Times(1)),
        }
    }

    fn work(&mut self, kind: &str, entry: &Entry, key: &dyn Fn(&str) -> String, span: &Range<usize>) -> Option<Work> {
        if kind == "model" {
            let asked = self.wanted(entry, key);
            let model = self.model(entry.model.as_ref()?, key)?;
            let model = Model { asked, ..model };
            self.is_for_some(entry, &model, key);
            return Some(Work::Training(Box::new(model)));
        }
        if kind == "program" {
            return self.program(entry, key);
        }
        let size: Option<Size> = match kind {
            "traffic" => None,
            _ => self.parsed(entry.size.as_ref(), &key("size")),
        };
        if kind != "schedule" && entry.size.is_none() {
            self.wrong(span.clone(), &key("size"), "is missing", "bytes, such as \"64KiB\"");
        }
        match kind {
            "schedule" => {
                let flops = self.within(entry.flops.as_ref(), &key("flops"), f64::MIN_POSITIVE..=f64::MAX);
                let groups = entry.groups.as_ref().map(|groups| beside(self.file, groups.get_ref()).into());
                let wanted = self.wanted(entry, key);
                let options = Options { bytes: size.map(|size| size.0), flops, groups, wanted, ..Options::default() };
                let calc_unit = self.parsed(entry.calc_unit.as_ref(), &key("calc_unit")).unwrap_or(CalcUnit::Ns).into();
                let path = beside(self.file, entry.schedule.as_ref()?.get_ref());
                Some(Work::Schedule { path, options, calc_unit })
            }
            "collective" => Some(Work::Collective {
                name: entry.collective.as_ref()?.get_ref().clone(),
                algorithm: entry.algorithm.as_ref().map(|algorithm| algorithm.get_ref().clone()),
                protocol: entry.protocol.as_ref().map(|protocol| protocol.get_ref().clone()),
                bytes: size?.0,
            }),
            _ => {
                let pattern = entry.traffic.as_ref()?;
                let text = match pattern.get_ref().strip_prefix("matrix:") {
                    Some(file) => format!("matrix:{}", beside(self.file, file)),
                    None => pattern.get_ref().clone(),
                };
                let traffic = model::traffic(&text);
                let traffic = traffic.map_err(|what| self.wrong(pattern.span(), &key("traffic"), what, "")).ok();
                if entry.load.is_none() {
                    let allowed = "a share of what the pattern gets alone, such as 0.5";
                    self.wrong(span.clone(), &key("load"), "is missing", allowed);
                }
                let load = self.within(entry.load.as_ref(), &key("load"), 0.001..=10.0);
                let size = entry.size.as_ref()?;
                let text = match size.get_ref().strip_prefix("file:") {
                    Some(file) => format!("file:{}", beside(self.file, file)),
                    None => size.get_ref().clone(),
                };
                let law = law(&text).map_err(|what| self.wrong(size.span(), &key("size"), what, "")).ok();
                Some(Work::Traffic { traffic: traffic?, size: text, law: law?, load: load? })
            }
        }
    }
}

/// The sizes of messages at random times: one, or a distribution.
fn law(text: &str) -> Result<Law, String> {
    if text.trim().starts_with(|first: char| first.is_ascii_alphabetic()) {
        return Law::named(text);
    }
    match text.parse::<Size>()?.0 {
        0 => Err("messages of no bytes are no load: must be 1 B or more".to_owned()),
        bytes => Ok(Law { law: SizeLaw::Fixed(bytes), source: None }),
    }
}

impl Reader<'_> {
    /// A program: its file and that of its computing are seen from the plan's folder.
    fn program(&mut self, entry: &Entry, key: &dyn Fn(&str) -> String) -> Option<Work> {
        let program = entry.program.as_ref()?;
        let mut command = program.get_ref().clone();
        let Some(file) = command.first_mut().filter(|file| !file.is_empty()) else {
            let allowed = "the program and its arguments, such as [\"./stencil\", \"512\"]";
            self.wrong(program.span(), &key("program"), "names no program", allowed);
            return None;
        };
        // Like a shell: it searches PATH for a name without a folder.
        if file.contains('/') {
            *file = beside(self.file, file);
        }
        let compute = match &entry.compute_time {
            None => "none".to_owned(),
            Some(word) if word.get_ref() == "none" => "none".to_owned(),
            Some(word) => match word.get_ref().parse::<f64>() {
                Ok(factor) if factor >= 0.0 && factor.is_finite() => word.get_ref().clone(),
                Err(_) if Path::new(&beside(self.file, word.get_ref())).is_file() => beside(self.file, word.get_ref()),
                _ => {
                    let allowed = "none, a factor such as \"0.5\", or a file that `hotlink record` wrote";
                    let what = format!("is {:?}", word.get_ref());
                    self.wrong(word.span(), &key("compute_time"), what, allowed);
                    return None;
                }
            },
        };
        Some(Work::Program { command, compute })
    }

    /// What is asked of all collectives that have it.
    fn wanted(&mut self, entry: &Entry, key: &dyn Fn(&str) -> String) -> gpus::Wanted {
        let algorithm = self.parsed(entry.algorithm.as_ref(), &key("algorithm"));
        (algorithm, self.parsed(entry.protocol.as_ref(), &key("protocol")))
    }

    /// Whether some collective of a model has what is asked of all.
    fn is_for_some(&mut self, entry: &Entry, model: &Model, key: &dyn Fn(&str) -> String) {
        let of = |kind: Parallel| Way::wanted_of(kind.which(), model.asked);
        let lacks = [
            ("algorithm", &entry.algorithm, model.asked.0.is_some() && model.kinds().all(|kind| of(kind).0.is_none())),
            ("protocol", &entry.protocol, model.asked.1.is_some() && model.kinds().all(|kind| of(kind).1.is_none())),
        ];
        for (name, word, _) in lacks.into_iter().filter(|(_, _, lacks)| *lacks) {
            let Some(word) = word else { continue };
            let what = format!("{}: no collective of the model has it", word.get_ref());
            self.wrong(word.span(), &key(name), what, "");
        }
    }

    /// The model of a job, each mistake of it at its key.
    fn model(&mut self, table: &Spanned<Model>, key: &dyn Fn(&str) -> String) -> Option<Model> {
        let mistakes = table.get_ref().mistakes();
        for (at, what, allowed) in &mistakes {
            // A key with its usual value does not stand there.
            let span = model_key(self.text, &table.span(), at).unwrap_or(table.span());
            self.wrong(span, &key(&format!("model.{at}")), what.as_str(), *allowed);
        }
        mistakes.is_empty().then(|| table.get_ref().clone())
    }
}

/// Where the value of a key of the model at `place` stands.
fn model_key(text: &str, place: &Range<usize>, key: &str) -> Option<Range<usize>> {
    let (document, _) = DeTable::parse_recoverable(text);
    let DeValue::Array(jobs) = document.get_ref().get("job")?.get_ref() else { return None };
    let models = jobs.iter().filter_map(|job| job.get_ref().as_table()?.get("model"));
    let model = models.into_iter().find(|model| model.span() == *place)?;
    model.get_ref().as_table()?.get(key).map(Spanned::span)
}

impl Job {
    /// The model that it trains.
    pub fn model(&self) -> Option<&Model> {
        match &self.work {
            Work::Training(model) => Some(model),
            _ => None,
        }
    }
}

/// Where the keys stand that later mistakes may be about.
fn spans(entry: &Entry) -> BTreeMap<&'static str, Range<usize>> {
    fn of<T>(value: &Option<Spanned<T>>) -> Option<Range<usize>> {
        value.as_ref().map(Spanned::span)
    }
    let all = [
        ("name", of(&entry.name)),
        ("schedule", of(&entry.schedule)),
        ("collective", of(&entry.collective)),
        ("traffic", of(&entry.traffic)),
        ("model", of(&entry.model)),
        ("program", of(&entry.program)),
        ("compute_time", of(&entry.compute_time)),
        ("algorithm", of(&entry.algorithm)),
        ("protocol", of(&entry.protocol)),
        ("size", of(&entry.size)),
        ("load", of(&entry.load)),
        ("calc_unit", of(&entry.calc_unit)),
        ("flops", of(&entry.flops)),
        ("groups", of(&entry.groups)),
        ("repeat", of(&entry.repeat)),
        ("messages", of(&entry.messages)),
        ("for_us", of(&entry.for_us)),
        ("ranks", of(&entry.ranks)),
        ("nodes", of(&entry.nodes)),
        ("placement", of(&entry.placement)),
        ("gpus_per_node", of(&entry.gpus_per_node)),
    ];
    all.into_iter().filter_map(|(key, span)| Some((key, span?))).collect()
}
