//! What nccl-tests measured and what the cluster allows: by algorithm, protocol and level.

use crate::{cluster, gpu};
use hotlink_bench::Record;
use hotlink_bound::gpu::{Algorithm, Cluster, Protocol};
use hotlink_bound::{Bound, Peak};
use hotlink_fabric::Fabric;
use hotlink_site::outline::{GpuHost, gpu_host, is_matrix};
use hotlink_study::options::Rates;
use hotlink_study::{Error, Source};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// GPUs of the fullest host that a log names.
pub const GPUS_PER_HOST: &str = "gpus_per_host";
/// Where hosts differ, those of the host with fewest, and where the log names the first of them.
pub const FEWEST: &str = "gpus_per_host_least";
/// See [`FEWEST`].
pub const FEWEST_AT: &str = "gpus_per_host_least_at";

/// Packets as full as those of large messages, for rows without a size.
const ANY_SIZE: u64 = 1 << 20;

/// A cluster at the numbers of GPUs that rows ask for.
pub struct Bus {
    name: String,
    machine: Machine,
    /// Whether it is nvidia-smi's matrix of one host.
    is_matrix: bool,
    gpus: Option<u32>,
    algorithm: Option<Algorithm>,
    protocol: Option<Protocol>,
}

/// What describes it.
enum Machine {
    /// A fabric, built at numbers of GPUs.
    Fabric(Box<Source>, BTreeMap<u32, Fabric>),
    /// Equal hosts, by NCCL's topology file.
    Hosts(GpuHost),
}

/// What the user says of a run, where its text does not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// GPUs that took part.
    pub gpus: Option<u32>,
    /// The algorithm.
    pub algorithm: Option<String>,
    /// The protocol.
    pub protocol: Option<String>,
}

impl Bus {
    /// The cluster `name`.
    ///
    /// # Errors
    /// It cannot be opened; an algorithm or protocol that NCCL does not have.
    pub fn open(name: &str, told: &Told) -> Result<Bus, Error> {
        let unknown = |option: &str, text: &str, allowed: &str| {
            Error::Input(format!("--{option} {text}: must be one of {allowed}"))
        };
        let algorithm = |text: &String| {
            let allowed = Algorithm::ALL.map(Algorithm::name).join(", ");
            Algorithm::named(text).ok_or_else(|| unknown("algorithm", text, &allowed))
        };
        let protocol =
            |text: &String| Protocol::named(text).ok_or_else(|| unknown("protocol", text, "simple, ll128, ll"));
        Ok(Bus {
            algorithm: told.algorithm.as_ref().map(algorithm).transpose()?,
            protocol: told.protocol.as_ref().map(protocol).transpose()?,
            gpus: told.gpus,
            is_matrix: is_matrix(name),
            ..match gpu_host(name).map_err(|error| Error::Input(error.to_string()))? {
                Some(host) => Bus::new(name, Machine::Hosts(host)),
                None => Bus::of(Source::open(name)?),
            }
        })
    }

    /// The cluster of a fabric that is open already, of as many GPUs as each row says.
    pub fn of(source: Source) -> Bus {
        let name = source.name().to_owned();
        Bus::new(&name, Machine::Fabric(Box::new(source), BTreeMap::new()))
    }

    fn new(name: &str, machine: Machine) -> Bus {
        Bus { name: name.to_owned(), machine, is_matrix: false, gpus: None, algorithm: None, protocol: None }
    }

    /// Whether hosts of NCCL's topology file make the cluster: they bound only GPUs. With a technology, the file is a
    /// network, too.
    pub fn is_of_hosts(&self) -> bool {
        matches!(self.machine, Machine::Hosts(_)) && !self.name.contains("+technology:")
    }

    fn cluster(&mut self, gpus: u32, on_host: Option<u32>, size: u64) -> Result<Cluster, Error> {
        let wrong = |what: String| Err(Error::Input(format!("--fabric {}: {what}", self.name)));
        match &mut self.machine {
            Machine::Hosts(host) if on_host.is_some_and(|many| many > host.gpus) => {
                let many = on_host.unwrap_or_default();
                wrong(format!("the log has {many} GPUs of one host, and hosts of the file have {}", host.gpus))
            }
            Machine::Hosts(host) if on_host.is_none() && gpus > host.gpus && !gpus.is_multiple_of(host.gpus) => {
                wrong(format!("{gpus} GPUs in hosts of {}: must be whole hosts; see --nodes", host.gpus))
            }
            Machine::Hosts(host) => Ok(cluster::of_hosts(host, gpus, on_host)),
            Machine::Fabric(..) if self.is_matrix => {
                let what = "a matrix of nvidia-smi does not say what a host offers its GPUs: its adapters are nodes, too. \
                            Give NCCL's own file (NCCL_TOPO_DUMP_FILE=topo.xml)";
                wrong(what.to_owned())
            }
            Machine::Fabric(source, built) => {
                let fabric = match built.entry(gpus) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(free) => {
                        let at = |what: String| Error::Input(format!("--fabric {}: {what}; see --nodes", self.name));
                        free.insert(source.build(gpus).map_err(at)?)
                    }
                };
                // A result may beat what others measured of a link, and not the link.
                let cluster = cluster::of(fabric, gpus, on_host, Rates::Theoretical.into(), size);
                cluster.map_err(|what| Error::Input(format!("--fabric {}: {what}", self.name)))
            }
        }
    }

    /// Why hosts with other numbers of GPUs have no bound: it is that of equal hosts. Within one domain hosts do not count.
    fn uneven(&self, record: &Record, gpus: u32) -> Option<String> {
        let [most, least] = [GPUS_PER_HOST, FEWEST].map(|key| record.number(key));
        let (most, least) = (most?, least?);
        let [whole, of_domain] = self.domain();
        if whole == 1 || f64::from(gpus) <= most * f64::from(of_domain) {
            return None;
        }
        let at = record.text(FEWEST_AT).unwrap_or("the log");
        Some(format!("hosts have {most} and {least} GPUs ({at} names the first of {least}); bounds are of equal hosts"))
    }

    /// The record with its bounds. `bound_bus_bandwidth_MBps`, `efficiency` and `limiting_resource` are those of the
    /// algorithm that ran (`bound_algorithm`): the stated one, the log's, or the usual one. The record also has the
    /// bound of every level of it and of every other algorithm, and the largest of all.
    ///
    /// # Errors
    /// The cluster cannot be built, or has not the algorithm that was said.
    pub fn add(&mut self, record: Record) -> Result<Record, Error> {
        let Some(bus) = record.number("bus_bandwidth_MBps") else { return Ok(record) };
        let name = self.name.clone();
        let gpus = self.gpus.or(record.number("ranks").map(|ranks| ranks as u32));
        let gpus = match gpus {
            Some(1) => return Ok(record.unbounded("one GPU sends nothing")),
            Some(gpus) if gpus > 1 => gpus,
            _ => {
                let what = "a bound needs the number of GPUs, 2 or more; the log says none: give --nodes";
                return Err(Error::Input(format!("--fabric {name}: {what}")));
            }
        };
        let size = record.number("size_B").map_or(ANY_SIZE, |size| size as u64);
        let on_host = record.number(GPUS_PER_HOST).map(|many| many as u32);
        if let Some(why) = self.uneven(&record, gpus) {
            return Ok(record.unbounded(&why));
        }
        let cluster = self.cluster(gpus, on_host, size)?;
        let benchmark = record.text("benchmark").unwrap_or_default().to_owned();
        let logged = |key: &str| record.text(key).map(str::to_owned);
        let named_protocol = self.protocol.or(logged("protocol").and_then(|name| Protocol::named(&name)));
        let protocol = named_protocol.unwrap_or(Protocol::Simple);
        let all = cluster.all(&benchmark, protocol);
        if all.is_empty() {
            return Ok(record.unbounded(match benchmark.as_str() {
                "hypercube" if !gpus.is_power_of_two() => "a hypercube is of a power of two of GPUs",
                known if cluster.knows(known) => {
                    "the file states no rate of what bounds it: NVLinks and PCIe within a host, adapters between hosts"
                }
                _ => "no bound is known for this benchmark",
            }));
        }
        let in_log = logged("algorithm").filter(|_| self.algorithm.is_none());
        let named = self.algorithm.or(in_log.as_ref().and_then(|name| Algorithm::named(name)));
        let of = |algorithm: Algorithm| all.iter().find(|(own, _)| *own == algorithm);
        if named.and_then(of).is_none() && (named.is_some() || in_log.is_some()) {
            let has: Vec<&str> = all.iter().map(|(algorithm, _)| algorithm.name()).collect();
            let with = format!("{benchmark} with {}", protocol.name());
            let what = format!("{name} has no such {with}; it has {}", has.join(", "));
            return match (self.algorithm, in_log) {
                (None, Some(logged)) => Ok(record.unbounded(&format!("the log names {logged}, and {what}"))),
                (said, _) => {
                    let said = said.map_or("?", Algorithm::name);
                    Err(Error::Input(format!("--algorithm {said}: {what}")))
                }
            };
        }
        let chosen = named.and_then(of).or_else(|| of(Cluster::usual(&benchmark)));
        let (algorithm, levels) = chosen.unwrap_or(&all[0]);
        let first = levels[0];
        // Simple takes the fewest bytes: nothing that NCCL has exceeds the best way with it.
        let most = |cluster: Cluster| cluster.largest(&benchmark).map_or(first.mbps, |most| most.max(first.mbps));
        let links = cluster.of_links();
        let largest = most(self.at_best(links));
        let by_open_switch = largest > most(links);
        let mut record = record
            .with("nodes", gpus)
            .bounded("bound_bus_bandwidth_MBps", first.mbps, bus / first.mbps)
            .with("limiting_resource", first.name)
            .with("bound_algorithm", algorithm.name())
            .with("bound_protocol", protocol.name())
            .with("capacities", Rates::Theoretical.name())
            .also_bounded("bound_largest_MBps", largest);
        // It must hold for a named algorithm; in place of the usual one, another may have run.
        let is_named = named.is_some_and(|named| named == *algorithm) || named_protocol.is_some();
        let reach = links.levels(&benchmark, *algorithm, protocol).map_or(first.mbps, |levels| levels[0].mbps);
        if is_named && bus > reach && bus <= largest {
            record.set(BEYOND_NAMED, true);
        }
        let is_beyond_usual = !is_named && bus > reach && bus <= largest;
        if is_beyond_usual {
            record.set(BEYOND_USUAL, true);
        }
        if record.get("algorithm_bandwidth_MBps").is_some()
            && let Some(factor) = cluster.bus_factor(&benchmark, *algorithm)
        {
            record = record.also_bounded("bound_algorithm_bandwidth_MBps", first.mbps / factor);
        }
        for level in levels {
            record.set(&format!("bound_{}_MBps", level.name.to_lowercase().replace([' ', '-'], "_")), level.mbps);
        }
        for (other, levels) in &all {
            record.set(&format!("bound_{}_MBps", other.name().replace('-', "_")), levels[0].mbps);
        }
        let what =
            "bytes over the busiest resource of each level, at its rate; bound_ALGORITHM and bound_LEVEL stand beside";
        let bound = Bound::of_rate(Peak::new(first.mbps, first.name), what);
        let beyond = is_beyond_usual.then(|| {
            let usual = algorithm.name();
            format!("the log names no algorithm: the bound is that of {usual}, which the result shows not to have run")
        });
        let assumed = self.assumed(gpus, on_host, by_open_switch).into_iter().chain(beyond).collect::<Vec<_>>();
        Ok(record.explained(&bound).assuming((!assumed.is_empty()).then(|| assumed.join("; "))))
    }

    /// With what the machine's description leaves open taken to be there, since a result may have come by it.
    fn at_best(&self, cluster: Cluster) -> Cluster {
        let is_open = match &self.machine {
            Machine::Hosts(_) => false,
            Machine::Fabric(source, _) => gpu::switch_reduces(source.spec()).is_none(),
        };
        Cluster { reduces: [cluster.reduces[0] || is_open, cluster.reduces[1]], ..cluster }
    }

    /// GPUs of a scale-up domain, and its hosts.
    fn domain(&self) -> [u32; 2] {
        match &self.machine {
            Machine::Hosts(host) => [host.gpus, 1],
            Machine::Fabric(source, _) => [gpu::domain(source.spec()), gpu::hosts_of_domain(source.spec())],
        }
    }

    /// What a bound takes for granted, or leaves out.
    fn assumed(&self, gpus: u32, on_host: Option<u32>, by_open_switch: bool) -> Option<String> {
        let [whole, of_domain] = self.domain();
        let shared = on_host.filter(|&many| of_domain > 1 && many < gpus).map(|many| {
            let hosts = of_domain.min(whole / many.max(1)).max(1);
            format!("up to {hosts} hosts of {many} GPUs are taken to share a domain")
        });
        let open = by_open_switch.then(|| {
            "bound_largest takes the scale-up switches to combine data (NVLS): the fabric's file does not say \
             (gpu_switch_reduces)"
                .to_owned()
        });
        let hosts = (whole > 1 && on_host.is_none()).then(|| match gpus {
            few if few <= whole => "the log names no hosts: one is assumed".to_owned(),
            _ => format!("the log names no hosts: ones of {whole} GPUs are assumed"),
        });
        let apart = match &self.machine {
            Machine::Hosts(host) => host.apart.as_ref(),
            Machine::Fabric(..) => None,
        };
        let apart = apart.map(|apart| format!("links between GPUs do not join {} with all others", apart.who));
        let all: Vec<String> = hosts.into_iter().chain(shared).chain(apart).chain(open).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// Marks a result above the bound of the algorithm and protocol that are named, which another can reach.
const BEYOND_NAMED: &str = "beyond_named_algorithm";

/// Marks a result above the bound of the algorithm that is taken where none is named.
const BEYOND_USUAL: &str = "beyond_usual_algorithm";

/// Why an efficiency above 1 is no mistake: the log does not name the algorithm, and it is another than the usual one.
pub fn beyond_usual(record: &Record) -> Option<String> {
    record.get(BEYOND_USUAL)?;
    let usual = record.text("bound_algorithm").unwrap_or_default();
    let what = "efficiencies above 1 are of results beyond the bound of";
    Some(format!("{what} {usual}: the log names no algorithm, and another ran; --algorithm names it"))
}

/// What is wrong with the algorithm or protocol that is named, where a result beats their bound and not the largest.
pub fn beyond_named(record: &Record) -> Option<String> {
    record.get(BEYOND_NAMED)?;
    let text = |key: &str| record.text(key).unwrap_or("?").to_owned();
    let size = record.get("size_B").map(|size| format!(" of {size} B")).unwrap_or_default();
    let figure = |key: &str| record.number(key).map_or_else(String::new, |value| format!("{value:.0}"));
    Some(format!(
        "{}{size} on {}: {} MB/s are beyond the bound of the named algorithm ({}, {}: {} MB/s): the log is of another",
        text("benchmark"),
        text("fabric"),
        figure("bus_bandwidth_MBps"),
        text("bound_algorithm"),
        text("bound_protocol"),
        figure("bound_bus_bandwidth_MBps")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of nccl-tests with this bus bandwidth, and the bounds of `fabric`.
    fn judged(fabric: &str, gpus: u32, bus: f64) -> Record {
        let told = Told { gpus: Some(gpus), ..Told::default() };
        let row =
            Record::new().with("benchmark", "allreduce").with("size_B", 1u64 << 33).with("bus_bandwidth_MBps", bus);
        Bus::open(fabric, &told).unwrap().add(row).unwrap()
    }

    fn bound(record: &Record, key: &str) -> f64 {
        record.number(key).unwrap_or_else(|| panic!("{key}: {record:?}"))
    }

    #[test]
    fn hosts_of_a_topology_file_are_bound_as_the_same_hosts_of_the_catalog() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../site/tests/data/outline/nccl.xml+nvlink:25GB/s");
        let inside = judged(file, 2, 200e3);
        assert_eq!(bound(&inside, "bound_ring_MBps"), 300e3);
        // Across hosts: one adapter of 25 GB/s for both GPUs of each.
        let across = judged(file, 8, 20e3);
        assert_eq!((bound(&across, "bound_ring_MBps"), across.text("limiting_resource")), (25e3, Some("NIC")));
        let told = Told { gpus: Some(3), ..Told::default() };
        let row = Record::new().with("benchmark", "allreduce").with("bus_bandwidth_MBps", 1.0);
        let why = Bus::open(file, &told).unwrap().add(row).unwrap_err().to_string();
        assert!(why.contains("3 GPUs in hosts of 2"), "{why}");
    }

    #[test]
    fn what_has_no_bound_says_why() {
        let none = |benchmark: &str, gpus: u32| {
            let told = Told { gpus: Some(gpus), ..Told::default() };
            let row = Record::new().with("benchmark", benchmark).with("bus_bandwidth_MBps", 1.0);
            let record = Bus::open("hgx-h100-rail", &told).unwrap().add(row).unwrap();
            assert_eq!(record.number("bound_bus_bandwidth_MBps"), None);
            record.text("bound_is").unwrap().to_owned()
        };
        assert!(none("hypercube", 24).contains("a power of two"));
        assert_eq!(none("unheard", 8), "none: no bound is known for this benchmark");
        let text = "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"1\"><gpu dev=\"0\" sm=\"80\"/></pci>\
                    <pci busid=\"2\"><gpu dev=\"1\" sm=\"80\"/></pci></cpu></system>";
        let file = std::env::temp_dir().join(format!("hotlink-{}-no-rates.xml", std::process::id()));
        std::fs::write(&file, text).unwrap();
        let silent = judged(&file.display().to_string(), 2, 1.0);
        std::fs::remove_file(&file).unwrap();
        assert!(silent.text("bound_is").is_some_and(|text| text.contains("states no rate")), "{silent:?}");
    }

    /// One GPU of each host has the host's adapters and its own PCIe, not the scale-up network of a host.
    #[test]
    fn the_hosts_that_a_log_names_make_the_domains() {
        let on = |fabric: &str, gpus: u32, on_host: Option<u32>| {
            let row = Record::new().with("benchmark", "allreduce").with("ranks", gpus).with("bus_bandwidth_MBps", 1.0);
            let row = match on_host {
                Some(many) => row.with(GPUS_PER_HOST, many),
                None => row,
            };
            Bus::open(fabric, &Told::default()).unwrap().add(row).unwrap()
        };
        let level = |record: &Record| {
            (bound(record, "bound_ring_MBps").round(), record.text("limiting_resource").map(str::to_owned))
        };
        let of = |what: &str| Some(what.to_owned());
        assert_eq!(level(&on("hgx-h100-rail", 8, Some(8))), (450e3, of("scale-up network")));
        // Four GPUs have four PCIe links, and the adapters of eight.
        assert_eq!(level(&on("hgx-h100-rail", 8, Some(4))), (252e3, of("PCIe")));
        assert_eq!(level(&on("hgx-h100-rail", 8, Some(1))), (63e3, of("PCIe")));
        let assumed = on("hgx-h100-rail", 8, None);
        assert_eq!(level(&assumed), (450e3, of("scale-up network")));
        assert!(assumed.text("bound_is").is_some_and(|text| text.contains("names no hosts: one is assumed")));
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../site/tests/data/outline/nccl.xml+nvlink:25GB/s");
        // Two hosts of one GPU each, 16 lanes of PCI Express 4, an adapter of 25 GB/s.
        assert_eq!(level(&on(file, 2, Some(1))), (25e3, of("NIC")));
        // Three GPUs: one host is full, the other one has half.
        assert_eq!(level(&on(file, 3, Some(2))), (25e3, of("NIC")));
    }

    /// Bounds are of equal hosts: with others a result has none, and the reason has the place. A rack is one domain.
    #[test]
    fn hosts_with_other_numbers_of_gpus_have_no_bound() {
        let on = |fabric: &str, gpus: u32, [most, least]: [u32; 2]| {
            let row = Record::new().with("benchmark", "allreduce").with("ranks", gpus).with("bus_bandwidth_MBps", 1.0);
            let row = row.with(GPUS_PER_HOST, most).with(FEWEST, least).with(FEWEST_AT, "line 14");
            Bus::open(fabric, &Told::default()).unwrap().add(row).unwrap()
        };
        let uneven = on("hgx-h100-rail", 12, [8, 4]);
        assert_eq!((uneven.number("bound_bus_bandwidth_MBps"), uneven.number("efficiency")), (None, None));
        assert_eq!(on("hgx-h100-rail", 8, [5, 3]).number("efficiency"), None);
        let why = "none: hosts have 8 and 4 GPUs (line 14 names the first of 4); bounds are of equal hosts";
        assert_eq!(uneven.text("bound_is"), Some(why));
        assert_eq!(bound(&on("gb200-nvl72", 6, [4, 2]), "bound_ring_MBps"), 900e3);
    }

    /// Adapters are no GPUs, and NVLinks between some of them join no others.
    #[test]
    fn the_form_that_describes_a_network_counts_gpus_alone() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../site/tests/data/outline/nccl.xml");
        let long = judged(&format!("{file}+rate:31GB/s+nvlink:25GB/s+technology:nvlink"), 2, 200e3);
        assert_eq!(bound(&long, "bound_ring_MBps"), 300e3);
        let matrix = concat!(env!("CARGO_MANIFEST_DIR"), "/../site/tests/data/outline/topo.txt");
        let row = Record::new().with("benchmark", "allreduce").with("ranks", 2).with("bus_bandwidth_MBps", 1.0);
        let name = format!("{matrix}+rate:31.5GB/s+nvlink:25GB/s+technology:nvlink");
        let why = Bus::open(&name, &Told::default()).unwrap().add(row).unwrap_err().to_string();
        assert!(why.contains("its adapters are nodes, too") && why.contains("NCCL_TOPO_DUMP_FILE"), "{why}");
    }

    #[test]
    fn a_result_above_the_bound_of_a_named_algorithm_is_reported() {
        let row = Record::new()
            .with("benchmark", "allreduce")
            .with("size_B", 1u64 << 27)
            .with("ranks", 8)
            .with("bus_bandwidth_MBps", 480e3);
        let beside = |algorithm: Option<&str>, protocol: Option<&str>, row: Record| {
            let [algorithm, protocol] = [algorithm, protocol].map(|name| name.map(str::to_owned));
            Bus::open("hgx-h100-rail", &Told { gpus: None, algorithm, protocol }).unwrap().add(row).unwrap()
        };
        // Ring is the usual one: NVLS may have run.
        assert_eq!(beyond_named(&beside(None, None, row.clone())), None);
        assert_eq!(beyond_named(&beside(Some("nvls"), None, row.clone())), None);
        for record in [
            beside(Some("ring"), None, row.clone()),
            beside(None, Some("ll"), row.clone()),
            beside(None, None, row.clone().with("algorithm", "ring").with("protocol", "simple")),
        ] {
            let told = beyond_named(&record).unwrap_or_else(|| panic!("{record:?}"));
            assert!(told.contains("allreduce of 134217728 B") && told.contains("ring"), "{told}");
        }
        // Above the largest it is impossible for any algorithm.
        let all = beside(Some("ring"), None, row.with("bus_bandwidth_MBps", 2e6));
        assert_eq!((beyond_named(&all), all.number("bound_largest_MBps").is_some()), (None, true));
    }

    /// What a log names is never judged as something else.
    #[test]
    fn an_algorithm_that_a_fabric_does_not_have_leaves_a_log_without_bound() {
        let logged = |fabric: &str, gpus: u32, algorithm: &str, protocol: &str| {
            let row = Record::new().with("benchmark", "allreduce").with("ranks", gpus).with("algorithm", algorithm);
            let row = row.with("protocol", protocol).with("bus_bandwidth_MBps", 350e3);
            Bus::open(fabric, &Told::default()).unwrap().add(row).unwrap()
        };
        for (gpus, algorithm, protocol) in [
            (32, "collnet", "simple"),
            (32, "pat", "simple"),
            (32, "unknown", "simple"),
            (32, "nvls", "simple"),
            (8, "nvls", "ll128"),
            (8, "nvls-tree", "simple"),
        ] {
            let none = logged("hgx-h100-rail", gpus, algorithm, protocol);
            assert_eq!((none.number("efficiency"), none.text("bound_algorithm")), (None, None), "{none:?}");
            let expected = format!("none: the log names {algorithm}, and hgx-h100-rail has no such allreduce");
            assert!(none.text("bound_is").is_some_and(|text| text.starts_with(&expected)), "{none:?}");
        }
        // 4 hosts: an inner host of the trees sends its GPUs' data twice, where a ring sends it 31/16 times.
        let tree = logged("hgx-h100-rail", 32, "nvls-tree", "simple");
        assert_eq!(
            (bound(&tree, "bound_nvls_tree_MBps"), tree.text("bound_algorithm")),
            (bound(&tree, "bound_tree_MBps"), Some("nvls-tree"))
        );
        assert!((0.85..1.0).contains(&bound(&tree, "efficiency")), "{tree:?}");
    }

    #[test]
    fn a_result_beyond_the_usual_algorithm_says_so() {
        let row = Record::new().with("benchmark", "allreduce").with("ranks", 72).with(GPUS_PER_HOST, 4);
        let row = row.with("bus_bandwidth_MBps", 1700e3);
        let add = |row: Record| Bus::open("gb200-nvl72", &Told::default()).unwrap().add(row).unwrap();
        let rack = add(row.clone());
        assert!(bound(&rack, "efficiency") > 1.8, "{rack:?}");
        assert!(beyond_usual(&rack).is_some_and(|text| text.contains("beyond the bound of ring")), "{rack:?}");
        assert!(rack.text("bound_is").is_some_and(|text| text.contains("shows not to have run")), "{rack:?}");
        assert_eq!(beyond_usual(&add(row.with("algorithm", "nvls").with("bus_bandwidth_MBps", 1300e3))), None);
        // A domain of 72 has nine hosts of eight.
        let eights = Record::new().with("benchmark", "allreduce").with("ranks", 96).with(GPUS_PER_HOST, 8);
        let eights = add(eights.with("bus_bandwidth_MBps", 1.0));
        assert!(eights.text("bound_is").is_some_and(|text| text.contains("up to 9 hosts of 8 GPUs")), "{eights:?}");
    }

    #[test]
    fn one_gpu_has_no_bound() {
        let row = Record::new().with("benchmark", "allreduce").with("ranks", 1).with("bus_bandwidth_MBps", 0.0);
        let record = Bus::of(Source::open("hgx-h100-rail").unwrap()).add(row).unwrap();
        assert_eq!(record.number("efficiency"), None);
    }

    #[test]
    fn a_rack_of_one_domain_exceeds_what_hosts_of_eight_can_do() {
        // 72 GPUs at 840 GB/s: a rack does it by NVLink; nine hosts of eight cannot by their adapters.
        let rack = judged("gb200-nvl72", 72, 840e3);
        assert!(bound(&rack, "efficiency") < 1.0 && bound(&rack, "bound_largest_MBps") > 840e3, "{rack:?}");
        let hosts = judged("hgx-h100-rail", 72, 840e3);
        assert!(bound(&hosts, "bound_largest_MBps") < 840e3, "{hosts:?}");
    }

    /// A rack has an operating system for each tray of four GPUs, which a log counts by host names.
    #[test]
    fn trays_of_a_rack_share_its_domain() {
        let on = |gpus: u32, each: u32| {
            let row = Record::new().with("benchmark", "allreduce").with("ranks", gpus).with(GPUS_PER_HOST, each);
            Bus::open("gb200-nvl72", &Told::default()).unwrap().add(row.with("bus_bandwidth_MBps", 840e3)).unwrap()
        };
        for gpus in [8, 72] {
            let rack = on(gpus, 4);
            assert_eq!(
                (bound(&rack, "bound_ring_MBps"), rack.text("limiting_resource")),
                (900e3, Some("scale-up network"))
            );
            assert!(rack.text("bound_is").is_some_and(|text| text.contains("18 hosts of 4 GPUs")), "{rack:?}");
        }
        // One GPU of each tray: 18 of a rack, 17 of whose 18 hops stay inside.
        let few = on(36, 1);
        assert_eq!(bound(&few, "bound_ring_MBps").round(), (900e3f64 * 18.0 / 17.0).round());
    }

    #[test]
    fn what_a_fabric_leaves_open_is_not_called_impossible() {
        let open = judged("gpu-rail", 8, 478e3);
        assert_eq!((bound(&open, "bound_ring_MBps"), bound(&open, "bound_largest_MBps")), (450e3, 700e3));
        assert!(open.text("bound_is").is_some_and(|text| text.contains("gpu_switch_reduces")), "{open:?}");
        assert_eq!(open.number("bound_nvls_MBps"), None);
        assert!(
            !judged("mi300x-rail", 8, 1.0).text("bound_is").is_some_and(|text| text.contains("gpu_switch_reduces"))
        );
    }

    #[test]
    fn nvls_across_hosts_is_bound_by_what_the_network_combines() {
        let sharp = judged("hgx-h100-sharp", 32, 520e3);
        // NVLink's switches reach 85 % of their links, which is no limit of the links themselves.
        let [nvls, collnet] = ["nvls", "collnet"].map(|name| bound(&sharp, &format!("bound_{name}_MBps")).round());
        assert_eq!((nvls, collnet), (658_750.0, 498_214.0));
        assert_eq!(bound(&sharp, "bound_largest_MBps").round(), 770_112.0);
    }

    /// A leaf has as many links up as down, with any network above its spines.
    #[test]
    fn cores_add_nothing_to_a_leafs_way_up() {
        let spine = |gpus: u32| {
            let row = Record::new().with("benchmark", "alltoall").with("ranks", gpus).with("bus_bandwidth_MBps", 1.0);
            let record = Bus::open("hgx-h100-pod:radix=16", &Told::default()).unwrap().add(row).unwrap();
            bound(&record, "bound_spine_MBps") * f64::from(gpus - 8) / f64::from(gpus - 1)
        };
        assert_eq!(spine(128).round(), spine(256).round());
    }

    #[test]
    fn a_mesh_counts_all_links_of_a_gpu() {
        let mesh = judged("mi300x-rail", 8, 300e3);
        // Seven links of 64 GB/s.
        assert_eq!(bound(&mesh, "bound_ring_MBps").round(), 448e3);
        assert_eq!(bound(&judged("hgx-h200-rail", 8, 400e3), "bound_ring_MBps").round(), 450e3);
    }

    #[test]
    fn pods_are_built_at_their_published_sizes() {
        for (fabric, gpus) in [("hgx-h100-pod", 1024), ("hgx-h100-pod-eth", 32_768), ("hgx-h100-rail-only", 8192)] {
            let pod = judged(fabric, gpus, 300e3);
            let nic = bound(&pod, "bound_nic_MBps");
            assert!((385e3..=400e3).contains(&nic), "{fabric} {nic}");
        }
    }
}
