//! NCCL's topology XML (`NCCL_TOPO_DUMP_FILE`): processors, PCI Express switches, GPUs and adapters inside one host.
//!
//! GPUs and adapters (`net`) are the end points; processors and PCI Express devices forward. Rates: a `pci` element's
//! `link_speed` times its `link_width`; NVLinks have none in the file.
//! An NVLink that leads to a switch of NVLinks (class 0x068000) leads to one switch, whichever chip it names. RCCL's links
//! (`xgmi`) lead from GPU to GPU.

use super::xml::{line, needed, parse};
use super::{Link, NVLINK_SWITCH, Outline, wrong};
use hotlink_fabric::import::ImportError;
use roxmltree::Node;
use std::collections::BTreeMap;

pub(super) fn read(file: &str, text: &str) -> Result<Outline, ImportError> {
    let document = parse(file, text)?;
    let root = document.root_element();
    let mut outline = Outline::default();
    let mut gpus: BTreeMap<String, String> = BTreeMap::new();
    let mut processors = Vec::new();
    for cpu in root.children().filter(|node| node.has_tag_name("cpu")) {
        let name = format!("cpu{}", needed(file, cpu, "numaid")?);
        outline.switches.push(name.clone());
        inside(file, cpu, &name, &mut outline, &mut gpus)?;
        processors.push((name, line(cpu)));
    }
    // Processors reach each other, at a rate that the file does not state.
    for (index, (a, at)) in processors.iter().enumerate() {
        processors[..index].iter().for_each(|(b, _)| outline.link([b, a], None, *at));
    }
    for gpu in root.descendants().filter(|node| node.has_tag_name("gpu")) {
        let own = gpu.parent().and_then(|pci| pci.attribute("busid")).and_then(|bus| gpus.get(bus)).cloned();
        for link in scale_up_links(gpu) {
            let far = gpus.get(needed(file, link, "target")?);
            let count = count_of(file, link)?;
            outline.is_xgmi |= link.has_tag_name(XGMI);
            match (&own, far) {
                // Each link between two GPUs is named by both.
                (Some(own), Some(far)) if own < far => outline.nvlinks([own, far], count, line(link)),
                (Some(own), None) if is_to_switch(link) => {
                    if !outline.switches.iter().any(|name| name == NVLINK_SWITCH) {
                        outline.switches.push(NVLINK_SWITCH.to_owned());
                    }
                    outline.nvlinks([own, NVLINK_SWITCH], count, line(link));
                }
                _ => {}
            }
        }
    }
    Ok(outline)
}

/// RCCL's name of a link between GPUs, in its file and behind the file's name.
pub(super) const XGMI: &str = "xgmi";
/// The same of NCCL.
pub(super) const NVLINK: &str = "nvlink";

/// Links between GPUs: NCCL's and RCCL's.
fn scale_up_links<'a, 'i>(gpu: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    gpu.children().filter(|node| node.has_tag_name(NVLINK) || node.has_tag_name(XGMI))
}

/// Whether a link leads to a switch of such links: class 0x068001 is a processor.
fn is_to_switch(link: Node<'_, '_>) -> bool {
    link.has_tag_name(NVLINK) && link.attribute("tclass").is_some_and(|class| class.starts_with("0x068000"))
}

fn kind_of(link: Node<'_, '_>) -> &'static str {
    if link.has_tag_name(XGMI) { "xGMI links" } else { "NVLinks" }
}

fn count_of(file: &str, link: Node<'_, '_>) -> Result<u32, ImportError> {
    match link.attribute("count").map_or(Ok(1), str::parse::<u32>) {
        Ok(count @ 1..=64) => Ok(count),
        _ => wrong(file, line(link), format!("count: a number of {} from 1 to 64", kind_of(link))),
    }
}

/// The rates that one host offers its GPUs, as far as bounds of collectives need them. They are in MB/s, one way.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuHost {
    /// GPUs.
    pub gpus: u32,
    /// The links between GPUs (NVLink, xGMI) of the GPU that has fewest of those that have any, all together.
    pub nvlinks: Option<f64>,
    /// GPUs that these links do not join with all others.
    pub apart: Option<Apart>,
    /// The slowest link between a GPU and its PCI Express switch or processor.
    pub pcie: Option<f64>,
    /// All adapters together.
    pub nics: Option<f64>,
    /// Whether NVLinks lead to a switch that combines data: GPUs of compute capability 9.0 and later.
    pub switch_reduces: bool,
    /// Whether NCCL found a network that combines data (CollNet).
    pub network_reduces: bool,
}

/// GPUs of a host that links join with each other, and not with the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Apart {
    /// How many, where they have the least PCIe together.
    pub gpus: u32,
    /// The PCIe of these, all together.
    pub pcie: f64,
    /// The most GPUs that links join.
    pub largest: u32,
    /// The fastest PCIe of any GPU.
    pub fastest: f64,
    /// Their names, and their place in the file.
    pub who: String,
}

/// Compute capability from which on NVLink switches combine data.
const REDUCES_FROM: u32 = 90;

/// The host that `name` spells: NCCL's topology XML, with `+nvlink:25GB/s` for its NVLinks, or RCCL's with `+xgmi:64GB/s`.
/// `rate:` is for PCIe that the file states no speed of; what says of a network which it is counts for nothing here. `None`:
/// it is no such file.
///
/// # Errors
/// The first mistake, with its line.
pub fn gpu_host(name: &str) -> Result<Option<GpuHost>, ImportError> {
    let words = crate::words(name);
    let (file, options) = (words[0], &words[1..]);
    if super::form_of(file) != Some(super::Form::Nccl) {
        return Ok(None);
    }
    let known = ["rate", NVLINK, XGMI, "technology", "latency"];
    if let Some(other) = options.iter().find(|word| word.split_once(':').is_none_or(|(key, _)| !known.contains(&key))) {
        let what = format!("{other}: behind a topology file of NCCL stand rate:31.5GB/s, nvlink:25GB/s, xgmi:64GB/s");
        return wrong(file, 0, what);
    }
    let rate = |key: &str| -> Result<Option<f64>, ImportError> {
        let stated = options.iter().filter_map(|word| word.strip_prefix(key)?.strip_prefix(':')).next_back();
        match stated.map(|rate| (rate, super::rate_mbps(rate, false))) {
            Some((rate, None)) => wrong(&format!("{key}:{rate}"), 0, "is no rate: write 25GB/s or 200Gbit/s"),
            known => Ok(known.and_then(|(_, mbps)| mbps)),
        }
    };
    let rates = Rates { nvlink: rate(NVLINK)?, xgmi: rate(XGMI)?, others: rate("rate")? };
    host_of(file, &super::text_of(file)?, &rates).map(Some)
}

/// Whether `name` spells a matrix of `nvidia-smi topo -m`. Its adapters are nodes as its GPUs are, so that it names no
/// host and no host's GPUs.
pub fn is_matrix(name: &str) -> bool {
    super::form_of(crate::words(name)[0]) == Some(super::Form::Nvidia)
}

/// The user's rates that the file does not state.
struct Rates {
    nvlink: Option<f64>,
    xgmi: Option<f64>,
    others: Option<f64>,
}

/// A GPU of a host.
struct Gpu {
    name: String,
    line: usize,
    bus: String,
    /// Its links to GPUs of the file and to switches.
    mbps: f64,
    targets: Vec<String>,
    pcie: Option<f64>,
}

fn gpu_of(file: &str, gpu: Node<'_, '_>, rates: &Rates, buses: &[&str]) -> Result<Gpu, ImportError> {
    let pci = gpu.parent();
    let bus = pci.and_then(|pci| pci.attribute("busid")).unwrap_or_default().to_owned();
    let stated = pci.map(|pci| rate(file, pci)).transpose()?.flatten();
    let name = format!("gpu{}", needed(file, gpu, "dev")?);
    let mut found = Gpu { name, line: line(gpu), bus, mbps: 0.0, targets: Vec::new(), pcie: stated.or(rates.others) };
    for link in scale_up_links(gpu) {
        let (count, target) = (count_of(file, link)?, needed(file, link, "target")?);
        let target = match () {
            () if buses.contains(&target) => target,
            () if is_to_switch(link) => super::NVLINK_SWITCH,
            // To a processor, or to a GPU that this dump does not show.
            () => continue,
        };
        let is_xgmi = link.has_tag_name(XGMI);
        let (each, of) = if is_xgmi { (rates.xgmi, "xgmi:64GB/s") } else { (rates.nvlink, "nvlink:25GB/s") };
        let kind = kind_of(link);
        let Some(each) = each else {
            let what = format!("{kind} have no rate in the file: put that of one behind its name, as in topo.xml+{of}");
            return wrong(file, line(gpu), what);
        };
        found.mbps += each * f64::from(count);
        found.targets.push(target.to_owned());
    }
    Ok(found)
}

/// GPUs by what joins them: those of each part, by their places.
fn parts(gpus: &[Gpu]) -> Vec<Vec<usize>> {
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for at in 0..gpus.len() {
        let joins = |other: &usize| {
            let (one, other) = (&gpus[at], &gpus[*other]);
            let is_shared = one.targets.iter().any(|target| {
                target == &other.bus || (target == super::NVLINK_SWITCH && other.targets.contains(target))
            });
            is_shared || other.targets.contains(&one.bus)
        };
        let (joined, rest): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| part.iter().any(joins));
        parts = rest;
        parts.push(joined.into_iter().flatten().chain([at]).collect());
    }
    parts
}

/// The GPUs that links leave apart from the others, where some have links.
fn apart(file: &str, gpus: &[Gpu]) -> Option<Apart> {
    let parts = parts(gpus);
    if parts.len() < 2 || gpus.iter().all(|gpu| gpu.targets.is_empty()) {
        return None;
    }
    let pcie = |part: &[usize]| part.iter().map(|&at| gpus[at].pcie).sum::<Option<f64>>();
    let all: Option<Vec<(f64, &Vec<usize>)>> = parts.iter().map(|part| Some((pcie(part)?, part))).collect();
    let (pcie, least) = all?.into_iter().reduce(|least, one| if one.0 < least.0 { one } else { least })?;
    let mut least: Vec<&Gpu> = least.iter().map(|&at| &gpus[at]).collect();
    least.sort_by_key(|gpu| gpu.line);
    let who: Vec<String> = least.iter().map(|gpu| format!("{} ({file}:{})", gpu.name, gpu.line)).collect();
    Some(Apart {
        gpus: least.len() as u32,
        pcie,
        largest: parts.iter().map(Vec::len).max().unwrap_or(1) as u32,
        fastest: gpus.iter().filter_map(|gpu| gpu.pcie).fold(0.0, f64::max),
        who: who.join(", "),
    })
}

fn host_of(file: &str, text: &str, rates: &Rates) -> Result<GpuHost, ImportError> {
    let document = parse(file, text)?;
    let all = |tag: &'static str| document.root_element().descendants().filter(move |node| node.has_tag_name(tag));
    let number = |node: Node<'_, '_>, key: &str| -> Result<u32, ImportError> {
        let value = needed(file, node, key)?;
        match value.parse() {
            Ok(number) => Ok(number),
            Err(_) => wrong(file, line(node), format!("{key}: '{value}' is no whole number")),
        }
    };
    let nodes: Vec<Node<'_, '_>> = all("gpu").collect();
    let buses: Vec<&str> = nodes.iter().filter_map(|gpu| gpu.parent()?.attribute("busid")).collect();
    let gpus = nodes.iter().map(|gpu| gpu_of(file, *gpu, rates, &buses)).collect::<Result<Vec<Gpu>, ImportError>>()?;
    if gpus.is_empty() {
        return wrong(file, 0, "has no <gpu>");
    }
    let mut reduces = true;
    for gpu in &nodes {
        let is_switched = scale_up_links(*gpu).next().is_some() && scale_up_links(*gpu).all(is_to_switch);
        reduces &= is_switched && number(*gpu, "sm")? >= REDUCES_FROM;
    }
    // An adapter that is no PCI Express device (a socket) is below each processor.
    let mut seen = BTreeMap::new();
    for net in all("net") {
        let speed = number(net, "speed")?;
        if i32::try_from(speed).is_err() {
            let what = format!("speed: '{speed}' is no speed: must be Mbit/s, 0 to {} (NCCL holds no more)", i32::MAX);
            return wrong(file, line(net), what);
        }
        seen.insert((net.attribute("name"), net.attribute("dev"), net.attribute("port")), f64::from(speed));
    }
    let nic_mbits: f64 = seen.values().sum();
    let least = |rates: &mut dyn Iterator<Item = f64>| rates.reduce(f64::min);
    Ok(GpuHost {
        gpus: gpus.len() as u32,
        nvlinks: least(&mut gpus.iter().map(|gpu| gpu.mbps).filter(|mbps| *mbps > 0.0)),
        apart: apart(file, &gpus),
        pcie: least(&mut gpus.iter().filter_map(|gpu| gpu.pcie)),
        nics: (nic_mbits > 0.0).then_some(nic_mbits / 8.0),
        switch_reduces: reduces,
        network_reduces: all("net").any(|net| net.attribute("coll") == Some("1")),
    })
}

/// The devices below a processor or a PCI Express device.
fn inside(
    file: &str,
    node: Node<'_, '_>,
    above: &str,
    outline: &mut Outline,
    gpus: &mut BTreeMap<String, String>,
) -> Result<(), ImportError> {
    // Nesting is as deep as PCI Express trees are: a few levels. Deeper files are none.
    let depth = node.ancestors().count();
    if depth > 32 {
        return wrong(file, line(node), "is nested deeper than PCI Express trees are");
    }
    for pci in node.children().filter(|child| child.has_tag_name("pci")) {
        let bus = needed(file, pci, "busid")?;
        let rate = rate(file, pci)?;
        let ends: Vec<Node<'_, '_>> = pci.children().filter(|child| child.has_tag_name("gpu")).collect();
        let nets: Vec<Node<'_, '_>> = pci
            .children()
            .filter(|child| child.has_tag_name("nic"))
            .flat_map(|nic| nic.children().filter(|child| child.has_tag_name("net")))
            .collect();
        let mut link = |ends: [&str; 2]| {
            outline.links.push(Link {
                ends: ends.map(str::to_owned),
                rate_mbps: rate,
                latency_us: None,
                is_one_way: false,
                is_unlimited: false,
                is_nvlink: false,
                line: line(pci),
            });
        };
        let name = match (&ends[..], &nets[..]) {
            ([gpu, ..], _) => format!("gpu{}", needed(file, *gpu, "dev")?),
            (_, [net, ..]) => needed(file, *net, "name")?.to_owned(),
            _ => format!("pci {bus}"),
        };
        link([&name, above]);
        let is_end = !ends.is_empty() || !nets.is_empty();
        let names = if is_end { &mut outline.nodes } else { &mut outline.switches };
        if names.contains(&name) {
            return wrong(file, line(pci), format!("'{name}' occurs twice"));
        }
        names.push(name.clone());
        if !ends.is_empty() {
            gpus.insert(bus.to_owned(), name.clone());
        }
        if !is_end {
            inside(file, pci, &name, outline, gpus)?;
        }
    }
    Ok(())
}

/// MB/s of `link_speed="16.0 GT/s PCIe" link_width="16"`. None where the file has no speed (0 or empty), or does not
/// know it, as in virtual machines ("Unknown", a width of 255).
fn rate(file: &str, pci: Node<'_, '_>) -> Result<Option<f64>, ImportError> {
    let speed = pci.attribute("link_speed").unwrap_or_default().trim();
    let width = pci.attribute("link_width").unwrap_or_default().trim();
    let Some(number) = speed.split_whitespace().next().filter(|word| *word != "Unknown") else { return Ok(None) };
    let transfers = number.parse::<f64>().ok().filter(|transfers| transfers.is_finite() && *transfers >= 0.0);
    let lanes = width.parse::<u32>().ok().filter(|lanes| *lanes <= MOST_LANES || *lanes == UNKNOWN_LANES);
    let (Some(transfers), Some(lanes)) = (transfers, lanes) else {
        let allowed = "write 16.0 GT/s PCIe and 16, or 0 and Unknown if it is not known";
        return wrong(file, line(pci), format!("'{speed}' and '{width}' are no link: {allowed}"));
    };
    // Up to 5 GT/s a byte takes ten bits on the wire. Faster generations send 128 bits as 130 (PCI Express 3 to 5; 6
    // has no line code).
    let code = match transfers {
        low if low <= 5.0 => 0.8,
        high if high > 32.0 => 1.0,
        _ => 128.0 / 130.0,
    };
    let rate = transfers * f64::from(lanes) * code * 1e3 / 8.0;
    Ok((lanes != UNKNOWN_LANES && rate > 0.0).then_some(rate))
}

/// Lanes of the widest PCI Express link, and what Linux writes of a link that it cannot ask.
const MOST_LANES: u32 = 32;
const UNKNOWN_LANES: u32 = 255;
