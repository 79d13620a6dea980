//! What nccl-tests measured and what the cluster allows: by algorithm, protocol and level.

use crate::collective::{named, usual_bound};
use crate::floor::Floor;
use crate::least::{Leasts, Needs};
use crate::replay::{self, Network};
use crate::{beyond, cluster, gpu};
use hotlink_bench::{Record, is_beyond};
use hotlink_bound::gpu::{Algorithm, Cluster, Level, Protocol, least_us};
use hotlink_bound::{Bound, Peak};
use hotlink_fabric::Fabric;
use hotlink_fabric::units::Time;
use hotlink_site::outline::{GpuHost, gpu_host, is_matrix};
use hotlink_study::options::Rates;
use hotlink_study::{Error, Source};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

pub use crate::beyond::{beyond_chosen, beyond_named, impossible_under};

/// GPUs of the fullest host that a log names.
pub const GPUS_PER_HOST: &str = "gpus_per_host";
/// Where hosts differ, those of the host with fewest, and where the log names the first of them.
pub const FEWEST: &str = "gpus_per_host_least";
/// See [`FEWEST`].
pub const FEWEST_AT: &str = "gpus_per_host_least_at";

/// Calls that nccl-tests launches together (`agg iters`), where they are several.
pub const CALLS: &str = "calls_together";

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
    capacities: Rates,
    /// Of a fabric whose file describes the kernels of its GPUs.
    leasts: Option<Leasts>,
    /// The least times of so many GPUs.
    floors: BTreeMap<u32, Option<Floor>>,
}

/// What describes it.
enum Machine {
    /// A fabric, built at numbers of GPUs.
    Fabric(Box<Source>, BTreeMap<u32, Fabric>),
    /// Equal hosts, by NCCL's topology file.
    Hosts(GpuHost),
}

/// What the user says of a run, where its text does not.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// GPUs that took part.
    pub gpus: Option<u32>,
    /// The algorithm.
    pub algorithm: Option<String>,
    /// The protocol.
    pub protocol: Option<String>,
    /// Rates of the resources, as `simulate` takes them.
    pub capacities: Rates,
}

impl Default for Told {
    fn default() -> Told {
        Told { gpus: None, algorithm: None, protocol: None, capacities: Network::default().capacities }
    }
}

/// The bound of one algorithm, by the protocol that allows most.
struct ByAlgorithm {
    algorithm: Algorithm,
    protocol: Protocol,
    /// The least first.
    levels: Vec<Level>,
    /// What sets it: a level, or what the kernels need.
    resource: String,
    /// The most bus bandwidth: MB/s.
    mbps: f64,
    kernels: Option<ByKernels>,
}

/// What the kernels of one size need, and the bus bandwidth that it allows: MB/s.
struct ByKernels {
    /// Bytes whose chain was counted.
    counted: u64,
    by_chain: f64,
    by_bytes: f64,
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
                Some(host) => Bus::new(name, Machine::Hosts(host), told.capacities),
                None => Bus::of(Source::open(name)?, told.capacities),
            }
        })
    }

    /// The cluster of a fabric that is open already, of as many GPUs as each row says.
    pub fn of(source: Source, capacities: Rates) -> Bus {
        let network = Network { capacities, ..Network::default() };
        let (name, leasts) = (source.name().to_owned(), Leasts::of(&source, network));
        Bus { leasts, ..Bus::new(&name, Machine::Fabric(Box::new(source), BTreeMap::new()), capacities) }
    }

    fn new(name: &str, machine: Machine, capacities: Rates) -> Bus {
        let (name, gpus, algorithm, protocol) = (name.to_owned(), None, None, None);
        Bus {
            name,
            machine,
            is_matrix: false,
            gpus,
            algorithm,
            protocol,
            capacities,
            leasts: None,
            floors: BTreeMap::new(),
        }
    }

    /// Whether hosts of NCCL's topology file make the cluster: they bound only GPUs. With a technology, the file is a
    /// network, too.
    pub fn is_of_hosts(&self) -> bool {
        matches!(self.machine, Machine::Hosts(_)) && !self.name.contains("+technology:")
    }

    fn cluster(&mut self, gpus: u32, on_host: Option<u32>, size: u64, capacities: Rates) -> Result<Cluster, Error> {
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
                let cluster = cluster::of(fabric, gpus, on_host, capacities.into(), size);
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
    /// algorithm that ran (`bound_algorithm`): the stated one, the log's, or that which NCCL's model chooses. The record
    /// also has the bound of every level of it and of every other algorithm, and the largest of all.
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
        let cluster = self.cluster(gpus, on_host, size, self.capacities)?;
        // A result may beat what others measured of a link, and not the link.
        let links = self.cluster(gpus, on_host, size, Rates::Theoretical)?.of_links();
        let benchmark = record.text("benchmark").unwrap_or_default().to_owned();
        let logged = |key: &str| record.text(key).map(str::to_owned);
        let protocol = self.protocol.or(logged("protocol").and_then(|name| Protocol::named(&name)));
        let stated = record.number("size_B").map(|size| size as u64);
        let all = self.ways(&cluster, &benchmark, protocol, stated);
        let of_protocol = protocol.unwrap_or(Protocol::Simple).name();
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
        let of = |algorithm: Algorithm| all.iter().find(|way| way.algorithm == algorithm);
        if named.and_then(of).is_none() && (named.is_some() || in_log.is_some()) {
            let has: Vec<&str> = all.iter().map(|way| way.algorithm.name()).collect();
            let with = format!("{benchmark} with {of_protocol}");
            let what = format!("{name} has no such {with}; it has {}", has.join(", "));
            return match (self.algorithm, in_log) {
                (None, Some(logged)) => Ok(record.unbounded(&format!("the log names {logged}, and {what}"))),
                (said, _) => {
                    let said = said.map_or("?", Algorithm::name);
                    Err(Error::Input(format!("--algorithm {said}: {what}")))
                }
            };
        }
        // Where nobody names one: that which `simulate` takes there, else that which allows most; of equal ones the first,
        // whatever digits sums lose.
        let chosen = if named.is_none() { self.chosen(&cluster, &benchmark, protocol, stated) } else { None };
        let chosen = chosen.filter(|&chosen| of(chosen).is_some());
        let is_better = |best: &ByAlgorithm, way: &ByAlgorithm| way.mbps > best.mbps * (1.0 + 1e-9);
        let best = all.iter().reduce(|best, way| if is_better(best, way) { way } else { best }).unwrap_or(&all[0]);
        let way = named.or(chosen).and_then(of).unwrap_or(best);
        let factor = cluster.bus_factor(&benchmark, way.algorithm);
        let floor_us = self.floor_us(&record, &benchmark, gpus);
        let floor = floor_us.zip(factor).map_or(f64::INFINITY, |(us, factor)| factor * size as f64 / us);
        let (first, mbps) = (way.levels[0], way.mbps.min(floor));
        // Simple takes the fewest bytes: nothing that NCCL has exceeds the best way with it.
        let reach = links.levels(&benchmark, way.algorithm, way.protocol).map_or(first.mbps, |levels| levels[0].mbps);
        let most = |cluster: Cluster| cluster.largest(&benchmark).map_or(reach, |most| most.max(reach));
        let by_links = most(self.at_best(links));
        let by_open_switch = by_links > most(links);
        // Nor does anything launch a kernel and reach the farthest GPU sooner.
        let largest = by_links.min(floor);
        let resource = if way.mbps > floor { FLOOR.to_owned() } else { way.resource.clone() };
        // nccl-tests prints few digits of a bandwidth and more of the time.
        let timed = record.number("latency_us").filter(|us| *us > 0.0 && size > 0).zip(factor);
        let reached = timed.map_or(bus, |(us, factor)| factor * size as f64 / us);
        let is_of = |level: &&Level| level.name == resource || self.resource(gpus, level.name, size) == resource;
        let by_level = way.levels.iter().find(is_of).map(|level| level.name);
        let mut record = record
            .with("nodes", gpus)
            .bounded("bound_bus_bandwidth_MBps", mbps, reached / mbps)
            .with("limiting_resource", resource.as_str())
            .with("bound_algorithm", way.algorithm.name())
            .with("bound_protocol", way.protocol.name())
            .with("capacities", self.capacities.name())
            .also_bounded("bound_largest_MBps", largest);
        if let Some(us) = floor_us {
            record = record.also_bounded("bound_floor_us", us);
        }
        if let Some(level) = by_level {
            record.set("limiting_level", level);
        }
        // It must hold for a named algorithm; in place of the one that is taken, another may have run.
        let is_named = named.is_some_and(|named| named == way.algorithm) || protocol.is_some();
        let is_of_links = bus > reach;
        let is_above = bus <= largest && (is_of_links || is_beyond(&record, reached / mbps));
        let is_beyond_chosen = is_above && !is_named;
        if is_above && is_named {
            record = beyond::named(record, is_of_links, way.kernels.is_some() && by_level.is_none());
        } else if is_beyond_chosen {
            record = beyond::chosen(record);
        }
        if record.get("algorithm_bandwidth_MBps").is_some()
            && let Some(factor) = factor
        {
            record = record.also_bounded("bound_algorithm_bandwidth_MBps", mbps / factor);
        }
        for level in &way.levels {
            record.set(&format!("bound_{}_MBps", level.name.to_lowercase().replace([' ', '-'], "_")), level.mbps);
        }
        if let Some(kernels) = &way.kernels {
            record.set(BY_CHAIN, kernels.by_chain);
            record.set(BY_BYTES, kernels.by_bytes.min(first.mbps));
        }
        for other in &all {
            record.set(&format!("bound_{}_MBps", other.algorithm.name().replace('-', "_")), other.mbps);
        }
        let what = "bytes over the busiest resource of each level, at its rate, or the longest chain of the kernels' \
                    operations and messages; bound_ALGORITHM and bound_LEVEL stand beside";
        let bound = Bound::of_rate(Peak::new(mbps, resource), what);
        let unnamed = (named.is_none() && all.len() > 1).then(|| {
            let why = if chosen.is_some() { "which NCCL's model chooses" } else { "which allows most" };
            let shown = if is_beyond_chosen { ", and the result shows that another ran" } else { "" };
            format!("the log names no algorithm: the bound is that of {}, {why}{shown}", way.algorithm.name())
        });
        let latency = match &way.kernels {
            None => Some("no time of kernels and steps is counted, only bytes".to_owned()),
            Some(kernels) if kernels.counted < size => {
                Some(format!("of kernels and steps the time of {} B is counted, which is no longer", kernels.counted))
            }
            Some(_) => None,
        };
        let assumed = self.assumed(gpus, on_host, by_open_switch).into_iter().chain(unnamed).chain(latency);
        let assumed = assumed.collect::<Vec<_>>();
        Ok(record.explained(&bound).assuming((!assumed.is_empty()).then(|| assumed.join("; "))))
    }

    /// The algorithm that a simulation of the same collective takes; `None` where the fabric's file states no kernels.
    fn chosen(
        &self,
        cluster: &Cluster,
        benchmark: &str,
        protocol: Option<Protocol>,
        size: Option<u64>,
    ) -> Option<Algorithm> {
        let leasts = self.leasts.as_ref()?;
        usual_bound(leasts.chosen(&self.whole(cluster)?, named(benchmark)?, protocol, size?)?)
    }

    /// The cluster as a machine that kernels run on. They are of whole domains; a log may name smaller hosts.
    fn whole(&self, cluster: &Cluster) -> Option<hotlink_schedule::collective::Machine> {
        let (Machine::Fabric(source, _), Some(leasts)) = (&self.machine, &self.leasts) else { return None };
        leasts.machine(source, cluster.gpus).filter(|machine| machine.domain == cluster.domain)
    }

    /// The bound of every algorithm that the cluster has, by the protocol or by that which allows most.
    fn ways(
        &mut self,
        cluster: &Cluster,
        benchmark: &str,
        protocol: Option<Protocol>,
        size: Option<u64>,
    ) -> Vec<ByAlgorithm> {
        let simple = protocol.unwrap_or(Protocol::Simple);
        let mut found = by_bytes(cluster, benchmark, simple);
        found
            .iter_mut()
            .for_each(|way| way.resource = self.resource(cluster.gpus, &way.resource, size.unwrap_or(ANY_SIZE)));
        let (which, machine) = (named(benchmark).zip(size), self.whole(cluster));
        let (Machine::Fabric(source, built), Some(leasts)) = (&self.machine, &mut self.leasts) else { return found };
        let Some((((which, size), machine), fabric)) = which.zip(machine).zip(built.get(&cluster.gpus)) else {
            return found;
        };
        let protocols = protocol.map_or_else(|| leasts.protocols(), |protocol| vec![protocol]);
        let mut best: Vec<ByAlgorithm> = Vec::new();
        for mut way in protocols.into_iter().flat_map(|protocol| by_bytes(cluster, benchmark, protocol)) {
            let all = hotlink_schedule::collective::Algorithm::of(which);
            let own = all.iter().copied().find(|own| usual_bound(*own) == Some(way.algorithm));
            if protocol.is_none() && own.is_some_and(|own| !own.protocols().contains(&way.protocol)) {
                continue;
            }
            way.resource = cluster::resource(fabric, &way.resource, self.capacities.into(), size);
            let needs = own.and_then(|own| leasts.needs(source, &machine, which, (own, way.protocol), size));
            let factor = cluster.bus_factor(benchmark, way.algorithm).unwrap_or(f64::INFINITY);
            let way = match needs {
                Some(needs) => way.needing(&needs, factor, size),
                None => way,
            };
            match best.iter_mut().find(|other| other.algorithm == way.algorithm) {
                Some(other) if way.mbps > other.mbps => *other = way,
                Some(_) => {}
                None => best.push(way),
            }
        }
        best.sort_by_key(|way| way.algorithm);
        best
    }

    /// The least time of a row's collective by any algorithm, in microseconds. A file of hosts states no latency.
    fn floor_us(&mut self, record: &Record, benchmark: &str, gpus: u32) -> Option<f64> {
        let (which, size) = (named(benchmark)?, record.number("size_B")? as u64);
        let Machine::Fabric(source, _) = &self.machine else { return None };
        let network = Network { capacities: self.capacities, ..Network::default() };
        let floor = self.floors.entry(gpus).or_insert_with(|| Floor::of(source, gpus, &network).ok());
        (*floor)?.least_us(which, size, gpus, record.number(CALLS).unwrap_or(1.0))
    }

    /// What a level is called.
    fn resource(&self, gpus: u32, level: &str, size: u64) -> String {
        match &self.machine {
            Machine::Fabric(_, built) => built.get(&gpus).map_or_else(
                || level.to_owned(),
                |fabric| cluster::resource(fabric, level, self.capacities.into(), size),
            ),
            Machine::Hosts(_) => level.to_owned(),
        }
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

/// The bounds of a cluster's algorithms with a protocol, without the time of kernels and steps.
fn by_bytes(cluster: &Cluster, benchmark: &str, protocol: Protocol) -> Vec<ByAlgorithm> {
    let all = cluster.all(benchmark, protocol).into_iter();
    let of = |(algorithm, levels): (Algorithm, Vec<Level>)| {
        let (resource, mbps) = (levels[0].name.to_owned(), levels[0].mbps);
        ByAlgorithm { algorithm, protocol, levels, resource, mbps, kernels: None }
    };
    all.map(of).collect()
}

impl ByAlgorithm {
    /// The same with what the kernels need of `size` bytes; `factor` is bus bandwidth over bandwidth.
    fn needing(self, needs: &Needs, factor: f64, size: u64) -> ByAlgorithm {
        let level = (size > 0 && self.mbps > 0.0)
            .then(|| (Time::from_us(least_us(&self.levels[0], factor, size)), self.resource.clone()));
        let rate = |time: Time| if time.0 > 0 { factor * size as f64 / time.us() } else { f64::INFINITY };
        let by_bytes = needs.carried.as_ref().map_or(f64::INFINITY, |carried| rate(carried.time));
        let kernels = ByKernels { counted: needs.bytes, by_chain: rate(needs.chain.time), by_bytes };
        let replay::Least { time, resource, .. } = needs.least(level);
        ByAlgorithm { mbps: rate(time), resource, kernels: Some(kernels), ..self }
    }
}

/// What limits a collective that no algorithm can do sooner.
const FLOOR: &str = "launch and farthest GPUs";
/// The bus bandwidth that the longest chain allows.
pub const BY_CHAIN: &str = "bound_dependency_chain_MBps";
/// That which the bytes of the least level allow.
pub const BY_BYTES: &str = "bound_bytes_MBps";
