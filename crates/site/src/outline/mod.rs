//! Networks that are described rather than dumped: link tables, LLDP, Slurm's topology, platform files, graphs.
//!
//! | file | says |
//! |---|---|
//! | link table (CSV) of SONiC, NetBox, UFM sheets | devices, ports, often rates |
//! | `lldpctl -f json`, a file for each host | neighbours |
//! | Slurm's `topology.conf`, `topology.yaml` | switches and hosts, no rates |
//! | SimGrid platform XML | hosts, routers, links with bandwidth and latency |
//! | GraphML | nodes and edges |
//! | NCCL's topology XML, `nvidia-smi topo -m` | devices inside one host |
//!
//! Each becomes an [`Outline`], which is written as the graph file that [`hotlink_fabric::import`] reads. Words after
//! the file's name add values that it does not state. `+rate:400Gbit/s` sets the rate of links without one,
//! `+latency:700ns` the latency, and `+technology:roce` names the network's technology. `+nvlink:25GB/s` sets the rate
//! of NVLinks, and `+xgmi:64GB/s` that of AMD's links.

mod csv;
mod graphml;
mod lldp;
mod nccl;
mod nvidia;
mod simgrid;
mod slurm;
mod xml;

pub use nccl::{Apart, GpuHost, gpu_host, is_matrix};
pub use nvidia::far_gpus;

use crate::build::natural;
use hotlink_fabric::import::ImportError;
use hotlink_fabric::input::{self, is_file};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::Read;

/// The form of a description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A table of links with heads.
    Csv,
    /// `lldpctl -f json`.
    Lldp,
    /// Slurm's `topology.conf`.
    SlurmConf,
    /// Slurm's `topology.yaml`.
    SlurmYaml,
    /// A SimGrid platform.
    SimGrid,
    /// GraphML.
    GraphMl,
    /// NCCL's topology XML.
    Nccl,
    /// `nvidia-smi topo -m`.
    Nvidia,
}

impl Form {
    /// All of them.
    pub const ALL: [Form; 8] = [
        Form::Csv,
        Form::Lldp,
        Form::SlurmConf,
        Form::SlurmYaml,
        Form::SimGrid,
        Form::GraphMl,
        Form::Nccl,
        Form::Nvidia,
    ];

    /// The form of a text; `None`: none of these.
    pub fn of(text: &str) -> Option<Form> {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let has = |word: &str| text.contains(word);
        let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or("");
        let word = first.split(['=', ' ']).next().unwrap_or("").to_ascii_lowercase();
        match () {
            () if text.starts_with('{') => (has("\"lldp\"") && has("\"chassis\"")).then_some(Form::Lldp),
            () if text.starts_with('<') && has("<platform") => Some(Form::SimGrid),
            () if text.starts_with('<') && has("<graphml") => Some(Form::GraphMl),
            () if text.starts_with('<') && has("<system") && has("<cpu") => Some(Form::Nccl),
            () if text.starts_with('<') => None,
            () if first.contains('=') && (word == "switchname" || word == "blockname") => Some(Form::SlurmConf),
            () if first.starts_with("- topology:") || (first == "---" && has("\n- topology:")) => Some(Form::SlurmYaml),
            () if text.lines().take(20).any(nvidia::is_head) => Some(Form::Nvidia),
            () if csv::is_head(first) => Some(Form::Csv),
            () => None,
        }
    }
}

/// A link of an outline.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its ends' names.
    pub ends: [String; 2],
    /// Gross rate of one direction, in 10^6 bytes per second.
    pub rate_mbps: Option<f64>,
    /// Latency.
    pub latency_us: Option<f64>,
    /// Whether it carries from the first end to the second only.
    pub is_one_way: bool,
    /// Whether it never limits, by the description's own words.
    pub is_unlimited: bool,
    /// Whether it is an NVLink.
    pub is_nvlink: bool,
    /// Line of the file.
    pub line: usize,
}

/// A network as its description has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outline {
    /// End points.
    pub nodes: Vec<String>,
    /// Switches and whatever else forwards.
    pub switches: Vec<String>,
    /// Links.
    pub links: Vec<Link>,
    /// Whether what counts as NVLinks is AMD's xGMI.
    pub is_xgmi: bool,
}

/// The switch that joins NVLinks, whatever its chips are.
const NVLINK_SWITCH: &str = "nvlink switch";

/// Most devices and links.
const MOST: usize = 1 << 20;

impl Outline {
    /// Reads a description, called `file` in messages.
    ///
    /// # Errors
    /// The first mistake, with its line.
    pub fn read(form: Form, file: &str, text: &str) -> Result<Outline, ImportError> {
        let outline = match form {
            Form::Csv => csv::read(file, text),
            Form::Lldp => lldp::read(&[(file, text)]),
            Form::SlurmConf => slurm::conf(file, text),
            Form::SlurmYaml => slurm::yaml(file, text),
            Form::SimGrid => simgrid::read(file, text),
            Form::GraphMl => graphml::read(file, text),
            Form::Nccl => nccl::read(file, text),
            Form::Nvidia => nvidia::read(file, text),
        }?;
        outline.checked(file)
    }

    /// Reads the `lldpctl` outputs of several hosts.
    ///
    /// # Errors
    /// The first mistake, with its file.
    pub fn of_neighbours(files: &[(&str, &str)]) -> Result<Outline, ImportError> {
        lldp::read(files)?.checked(files.first().map_or("", |(file, _)| file))
    }

    fn checked(self, file: &str) -> Result<Outline, ImportError> {
        match () {
            () if self.nodes.is_empty() => wrong(file, 0, "names no host"),
            () if self.links.is_empty() => wrong(file, 0, "names no link between two devices"),
            () if self.nodes.len() + self.switches.len() > MOST || self.links.len() > MOST => {
                wrong(file, 0, format!("at most {MOST} devices and as many links"))
            }
            () => Ok(self),
        }
    }

    /// The graph file of the same network. Links without a rate get `rate_mbps`, where it is given; no description says what
    /// its `technology` is.
    pub fn graph(&self, rate_mbps: Option<f64>, technology: Option<&str>) -> String {
        let link = |link: &Link| {
            let mut fields = Map::new();
            fields.insert("from".to_owned(), link.ends[0].as_str().into());
            fields.insert("to".to_owned(), link.ends[1].as_str().into());
            let rate = link.rate_mbps.or(rate_mbps).filter(|_| !link.is_unlimited);
            fields.extend(link.is_unlimited.then(|| ("unlimited".to_owned(), true.into())));
            fields.extend(rate.map(|rate| ("rate_MBps".to_owned(), rate.into())));
            fields.extend(link.latency_us.map(|us| ("latency_us".to_owned(), us.into())));
            fields.extend(link.is_one_way.then(|| ("one_way".to_owned(), true.into())));
            Value::Object(fields)
        };
        let links: Vec<Value> = self.links.iter().map(link).collect();
        let mut graph = json!({ "nodes": self.nodes, "links": links });
        if !self.switches.is_empty() {
            graph["switches"] = self.switches.clone().into();
        }
        if let Some(technology) = technology {
            graph["technology"] = technology.into();
        }
        graph.to_string()
    }

    fn link(&mut self, ends: [&str; 2], rate_mbps: Option<f64>, line: usize) {
        let ends = ends.map(str::to_owned);
        let (is_one_way, is_unlimited, is_nvlink) = (false, false, false);
        self.links.push(Link { ends, rate_mbps, latency_us: None, is_one_way, is_unlimited, is_nvlink, line });
    }

    /// Some NVLinks between two devices.
    fn nvlinks(&mut self, ends: [&str; 2], count: u32, line: usize) {
        let ends = ends.map(str::to_owned);
        let (is_one_way, is_unlimited, is_nvlink) = (false, false, true);
        let link = Link { ends, rate_mbps: None, latency_us: None, is_one_way, is_unlimited, is_nvlink, line };
        self.links.extend(std::iter::repeat_n(link, count as usize));
    }

    /// Refuses a link without a rate where others have one: it would count as unlimited.
    ///
    /// # Errors
    /// The first such link, and how to give it a rate.
    pub fn all_rated(&self, file: &str) -> Result<(), ImportError> {
        let lacks = |link: &&Link| link.rate_mbps.is_none() && !link.is_unlimited;
        match self.links.iter().find(lacks) {
            Some(link) if self.links.iter().any(|link| link.rate_mbps.is_some()) => {
                let how = match (link.is_nvlink, self.is_xgmi) {
                    (true, true) => "+xgmi:64GB/s",
                    (true, false) => "+nvlink:25GB/s",
                    (false, _) => "+rate:400Gbit/s",
                };
                let [from, to] = &link.ends;
                let what = format!(
                    "the link from '{from}' to '{to}' has no rate, and others have one. State it in the file, or put \
                     {how} behind the file's name for all such links"
                );
                wrong(file, link.line, what)
            }
            _ => Ok(()),
        }
    }

    /// Sorts devices into hosts and switches, each by their names. `is_host` decides; where it does not, a device with
    /// one link is a host.
    fn sort_devices(&mut self, names: &[String], is_host: impl Fn(&str) -> Option<bool>) {
        let mut links: BTreeMap<&str, usize> = BTreeMap::new();
        self.links.iter().flat_map(|link| &link.ends).for_each(|end| *links.entry(end).or_default() += 1);
        let host = |name: &&String| is_host(name).unwrap_or(links.get(name.as_str()) == Some(&1));
        let (nodes, switches) = names.iter().partition::<Vec<&String>, _>(host);
        let own = |mut names: Vec<&String>| {
            names.sort_by(|a, b| natural(a, b));
            names.into_iter().cloned().collect()
        };
        (self.nodes, self.switches) = (own(nodes), own(switches));
    }
}

/// Beginning of a file by which it is recognised.
const HEAD: u64 = 1 << 16;
/// Largest description that is read.
const MOST_BYTES: u64 = 1 << 28;

/// The graph file of the description that `name` spells, with the first file's name. `name` is a file, or several of
/// `lldpctl` with `+` between them. `+rate:400Gbit/s` and `+latency:700ns` serve links without one, and
/// `+technology:roce` may follow. `None`: it has none of these forms.
///
/// # Errors
/// The first mistake, with its place.
pub fn open(name: &str) -> Result<Option<(String, String)>, ImportError> {
    let (rates, files): (Vec<&str>, Vec<&str>) =
        crate::words(name).into_iter().partition(|word| word.starts_with("rate:"));
    let (kinds, files): (Vec<&str>, Vec<&str>) = files.into_iter().partition(|word| word.starts_with("technology:"));
    let (own, files): (Vec<&str>, Vec<&str>) = files.into_iter().partition(|word| word.starts_with("nvlink:"));
    let (amd, files): (Vec<&str>, Vec<&str>) = files.into_iter().partition(|word| word.starts_with("xgmi:"));
    let (latencies, files): (Vec<&str>, Vec<&str>) = files.into_iter().partition(|word| word.starts_with("latency:"));
    let technology = kinds.last().and_then(|word| word.strip_prefix("technology:"));
    let forms: Option<Vec<Form>> = files.iter().map(|file| form_of(file)).collect();
    let Some(form) = forms.as_ref().and_then(|forms| forms.first()).copied() else {
        // An empty file is none of any form: with more behind its name, the name would be that of nothing.
        let is_empty = |file: &&&str| is_file(file) && input::bytes(file).is_ok_and(|bytes| bytes == 0);
        return match files.iter().find(is_empty).filter(|file| **file != name) {
            Some(file) => wrong(file, 0, "it is empty"),
            None => Ok(None),
        };
    };
    let texts = files.iter().map(|file| Ok((*file, text_of(file)?))).collect::<Result<Vec<_>, ImportError>>()?;
    let rate = |words: &[&str]| match words.last().map(|word| (word, word.split_once(':'))) {
        Some((word, stated)) => match stated.and_then(|(_, rate)| rate_mbps(rate, false)) {
            None => wrong(word, 0, "is no rate: write rate:400Gbit/s, rate:50GB/s, nvlink:25GB/s or xgmi:64GB/s"),
            known => Ok(known),
        },
        None => Ok(None),
    };
    let (rate, own, amd) = (rate(&rates)?, rate(&own)?, rate(&amd)?);
    let latency_us = match latencies.last() {
        Some(word) => match simgrid::latency_us(&word["latency:".len()..]) {
            None => return wrong(word, 0, "is no latency: write latency:700ns or latency:1.2us"),
            known => known,
        },
        None => None,
    };
    let mut outline = match &texts[..] {
        [(file, text)] => Outline::read(form, file, text)?,
        _ if forms.is_some_and(|forms| forms.iter().all(|form| *form == Form::Lldp)) => {
            let texts: Vec<(&str, &str)> = texts.iter().map(|(file, text)| (*file, text.as_str())).collect();
            Outline::of_neighbours(&texts)?
        }
        _ => return wrong(files[1], 0, "only outputs of lldpctl may be joined"),
    };
    let own = if outline.is_xgmi { amd } else { own };
    let stated =
        |link: &Link| link.rate_mbps.or(own.filter(|_| link.is_nvlink)).or(rate.filter(|_| !link.is_unlimited));
    for link in &mut outline.links {
        (link.rate_mbps, link.latency_us) = (stated(link), link.latency_us.or(latency_us));
    }
    outline.all_rated(files[0])?;
    Ok(Some((files[0].to_owned(), outline.graph(rate, technology))))
}

fn form_of(file: &str) -> Option<Form> {
    let mut head = Vec::new();
    let from = input::open(file).ok().filter(|_| is_file(file))?;
    std::io::Read::read_to_end(&mut std::io::Read::take(from, HEAD), &mut head).ok()?;
    Form::of(&String::from_utf8_lossy(&head))
}

fn text_of(file: &str) -> Result<String, ImportError> {
    let cannot = |error: std::io::Error| wrong(file, 0, format!("cannot be read: {error}"));
    let mut bytes = Vec::new();
    match input::bytes(file) {
        Ok(size) if size > MOST_BYTES => wrong(file, 0, "is larger than a description may be: 256 MiB"),
        Ok(_) => match input::open(file).and_then(|mut from| from.read_to_end(&mut bytes)) {
            Ok(_) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) => cannot(error),
        },
        Err(error) => cannot(error),
    }
}

/// A mistake at a line; 0 for the file as a whole.
fn wrong<T>(file: &str, line: usize, what: impl Into<String>) -> Result<T, ImportError> {
    let place = if line == 0 { file.to_owned() } else { format!("{file}:{line}") };
    Err(ImportError { place, what: what.into() })
}

/// A rate such as `400Gbit/s`, `50GB/s`, `100Gbps`, `25GBps`, in MB/s; a number alone is in Mbit/s where `bare` says so.
pub fn rate_mbps(text: &str, bare: bool) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && !(c == 'e' || c == 'E')).unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)?;
    let unit = text[end..].trim();
    let mbps = match unit {
        "" if bare => 0.125,
        "bps" | "bit/s" => 1.25e-7,
        "kbps" | "Kbps" | "kbit/s" => 1.25e-4,
        "M" | "Mbps" | "Mbit/s" | "Mb/s" => 0.125,
        "G" | "Gbps" | "Gbit/s" | "Gb/s" => 125.0,
        "Tbps" | "Tbit/s" => 125e3,
        "Bps" | "B/s" => 1e-6,
        "kBps" | "KBps" | "kB/s" => 1e-3,
        "MBps" | "MB/s" => 1.0,
        "GBps" | "GB/s" => 1e3,
        "MiBps" | "MiB/s" => 1.048_576,
        "GiBps" | "GiB/s" => 1_073.741_824,
        _ => return None,
    };
    Some(number * mbps)
}
