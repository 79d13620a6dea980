//! NCCL's topology XML (`NCCL_TOPO_DUMP_FILE`): processors, PCI Express switches, GPUs and adapters inside one host.
//!
//! GPUs and adapters (`net`) are the end points; processors and PCI Express devices forward. Rates: a `pci` element's
//! `link_speed` times its `link_width`; NVLinks have none in the file.
//! An NVLink that leads to a switch of NVLinks (class 0x0680) leads to one switch, whichever chip it names.

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
        for link in gpu.children().filter(|node| node.has_tag_name("nvlink")) {
            let far = gpus.get(needed(file, link, "target")?);
            let count = match link.attribute("count").map_or(Ok(1), str::parse::<u32>) {
                Ok(count @ 1..=64) => count,
                _ => return wrong(file, line(link), "count: a number of NVLinks from 1 to 64"),
            };
            let is_switch = link.attribute("tclass").is_some_and(|class| class.starts_with("0x0680"));
            match (&own, far) {
                // Each link between two GPUs is named by both.
                (Some(own), Some(far)) if own < far => outline.nvlinks([own, far], count, line(link)),
                (Some(own), None) if is_switch => {
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

/// What one host offers its GPUs, as far as bounds of collectives go by it. Rates are in MB/s, one way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpuHost {
    /// GPUs.
    pub gpus: u32,
    /// The NVLinks of the GPU that has fewest, all together.
    pub nvlinks: Option<f64>,
    /// The slowest link between a GPU and its PCI Express switch or processor.
    pub pcie: Option<f64>,
    /// All adapters, shared by the GPUs.
    pub nic: Option<f64>,
    /// Whether NVLinks lead to a switch that combines data: GPUs of compute capability 9.0 and later.
    pub switch_reduces: bool,
    /// Whether NCCL found a network that combines data (CollNet).
    pub network_reduces: bool,
}

/// Compute capability from which on NVLink switches combine data.
const REDUCES_FROM: u32 = 90;

/// The host that `name` spells: NCCL's topology XML, with `+nvlink:25GB/s` for its NVLinks. `None`: it is no such file.
///
/// # Errors
/// The first mistake, with its line.
pub fn gpu_host(name: &str) -> Result<Option<GpuHost>, ImportError> {
    let (file, rate) = match name.split_once("+nvlink:") {
        Some((file, rate)) => (file, Some(rate)),
        None => (name, None),
    };
    if super::form_of(file) != Some(super::Form::Nccl) {
        return Ok(None);
    }
    let each = rate.map(|rate| match super::rate_mbps(rate, false) {
        Some(mbps) => Ok(mbps),
        None => wrong(&format!("nvlink:{rate}"), 0, "is no rate: allowed are 25GB/s, 200Gbit/s"),
    });
    host_of(file, &super::text_of(file)?, each.transpose()?).map(Some)
}

fn host_of(file: &str, text: &str, nvlink_mbps: Option<f64>) -> Result<GpuHost, ImportError> {
    let document = parse(file, text)?;
    let all = |tag: &'static str| document.root_element().descendants().filter(move |node| node.has_tag_name(tag));
    let number = |node: Node<'_, '_>, key: &str| -> Result<u32, ImportError> {
        let value = needed(file, node, key)?;
        match value.parse() {
            Ok(number) => Ok(number),
            Err(_) => wrong(file, line(node), format!("{key}: '{value}' is no whole number")),
        }
    };
    let (mut gpus, mut fewest, mut pcie, mut reduces) = (0, u32::MAX, None::<f64>, true);
    for gpu in all("gpu") {
        gpus += 1;
        let mut links = 0;
        for link in gpu.children().filter(|node| node.has_tag_name("nvlink")) {
            links += if link.has_attribute("count") { number(link, "count")? } else { 1 };
            reduces &= link.attribute("tclass").is_some_and(|class| class.starts_with("0x0680"));
        }
        fewest = fewest.min(links);
        reduces &= links > 0 && number(gpu, "sm")? >= REDUCES_FROM;
        if let Some(found) = gpu.parent().map(|pci| rate(file, pci)).transpose()?.flatten() {
            pcie = Some(pcie.map_or(found, |least| least.min(found)));
        }
        if links > 0 && nvlink_mbps.is_none() {
            let what =
                "NVLinks have no rate in the file: put that of one behind its name, as in topo.xml+nvlink:25GB/s";
            return wrong(file, line(gpu), what);
        }
    }
    if gpus == 0 {
        return wrong(file, 0, "has no <gpu>");
    }
    let mut nic_mbits = 0.0;
    for net in all("net") {
        nic_mbits += f64::from(number(net, "speed")?);
    }
    Ok(GpuHost {
        gpus,
        nvlinks: nvlink_mbps.filter(|_| fewest > 0).map(|each| each * f64::from(fewest)),
        pcie,
        nic: (nic_mbits > 0.0).then(|| nic_mbits / 8.0 / f64::from(gpus)),
        switch_reduces: reduces,
        network_reduces: all("net").any(|net| net.attribute("coll") == Some("1")),
    })
}

/// What stands below a processor or a PCI Express device.
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
            return wrong(file, line(pci), format!("'{name}' stands twice"));
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

/// MB/s of `link_speed="16.0 GT/s PCIe" link_width="16"`; none where the file has no speed (0 or empty).
fn rate(file: &str, pci: Node<'_, '_>) -> Result<Option<f64>, ImportError> {
    let speed = pci.attribute("link_speed").unwrap_or_default().trim();
    let width = pci.attribute("link_width").unwrap_or_default().trim();
    let Some(number) = speed.split_whitespace().next() else { return Ok(None) };
    let (Ok(transfers), Ok(lanes)) = (number.parse::<f64>(), width.parse::<u32>()) else {
        return wrong(
            file,
            line(pci),
            format!("'{speed}' and '{width}' are no link: allowed are 16.0 GT/s PCIe and 16"),
        );
    };
    // Up to 5 GT/s a byte takes ten bits on the wire, then 128 bits take 130 (PCI Express 1 to 5; 6 has no line code).
    let code = match transfers {
        low if low <= 5.0 => 0.8,
        high if high > 32.0 => 1.0,
        _ => 128.0 / 130.0,
    };
    let rate = transfers * f64::from(lanes) * code * 1e3 / 8.0;
    Ok((rate.is_finite() && rate > 0.0).then_some(rate))
}
