//! The bound of a measurement between machines: their network's rates in and out, in place of one machine's memory. The
//! network is the fabric of the catalog that `--fabric` names, or else the machines' own ports.

use crate::environment::line;
use crate::request::usual::FABRIC;
use crate::session::{Session, failure};
use hotlink_bench::Record;
use hotlink_bound::Peak;
use hotlink_bound::local::crossing;
use hotlink_port::Driver;
use hotlink_real::{Seat, Tcp};
use hotlink_study::Error;
use hotlink_study::bound::measured::Bounds;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A rank's description of its machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Machine {
    /// The same for all processes of one machine, and no other's.
    id: String,
    /// Rate of its network ports together: MB/s; `None` if none says.
    ports_mbps: Option<f64>,
}

impl Machine {
    fn here() -> Machine {
        Machine { id: hotlink_real::machine(), ports_mbps: ports_mbps(Path::new("/sys/class")) }
    }
}

/// The limits of messages between machines.
pub(crate) struct Wire {
    /// Each rank's machine: 0, 1, ...
    machine: Vec<usize>,
    /// The rates out of and into each machine: MB/s.
    mbps: Option<Vec<[f64; 2]>>,
    resource: &'static str,
    bound_is: &'static str,
    /// The named fabric, if it has one rank a node.
    fabric: Option<Bounds>,
}

impl Wire {
    /// For the ranks of this job, if they are on several machines. Every rank asks.
    pub(crate) fn of(session: &Session<'_>) -> Result<Option<Wire>, Error> {
        let ranks = match &session.mpi {
            Some(joined) => joined.share(&Machine::here())?,
            None => met(session)?,
        };
        Wire::between(&ranks, &session.request.repetition.fabric)
    }

    fn between(ranks: &[Machine], fabric: &str) -> Result<Option<Wire>, Error> {
        let mut ids: Vec<&str> = Vec::new();
        for rank in ranks {
            if !ids.contains(&rank.id.as_str()) {
                ids.push(&rank.id);
            }
        }
        if ids.len() < 2 {
            return Ok(None);
        }
        let machine = ranks.iter().map(|rank| ids.iter().position(|&id| id == rank.id).unwrap_or(0)).collect();
        let first = ids.iter().filter_map(|&id| ranks.iter().find(|rank| rank.id == id));
        let told: Vec<f64> = first.map(|rank| rank.ports_mbps.unwrap_or(f64::INFINITY)).collect();
        let is_told = told.iter().any(|mbps| mbps.is_finite());
        let mut wire = Wire {
            machine,
            mbps: is_told.then(|| told.iter().map(|&mbps| [mbps; 2]).collect()),
            resource: "network ports",
            bound_is: "what crosses between machines at the rate that the busiest machine's ports say they have",
            fabric: None,
        };
        if fabric == FABRIC {
            return Ok(Some(wire));
        }
        // A name of its own for the results is no mistake.
        if let Ok(mut bounds) = Bounds::open(fabric, None) {
            // It is unknown which of its nodes a machine is, so each counts as the one that has most.
            wire.mbps = bounds.devices_mbps(ids.len() as u32)?.map(|devices| vec![devices; ids.len()]);
            wire.resource = hotlink_bound::DEVICES;
            wire.bound_is =
                "what crosses between machines at the rate that the fabric lets the busiest one send or receive";
            wire.fabric = (ids.len() == ranks.len()).then_some(bounds);
        }
        Ok(Some(wire))
    }

    /// The record with the network's bound in place of the memory's, where its messages cross between machines.
    pub(crate) fn beside(&mut self, record: Record) -> Result<Record, Error> {
        let record = record.with("machines", self.machines());
        let (bytes, is_barrier) = (self.bytes(&record), record.text("benchmark") == Some("barrier"));
        if let Some(fabric) = self.fabric.as_mut().filter(|_| bytes.is_some() || is_barrier) {
            return fabric.add(record);
        }
        let (Some(bytes), Some(mbps)) = (bytes, &self.mbps) else { return Ok(record) };
        let Some((busiest, mbps)) = bytes.slowest(mbps) else { return Ok(record) };
        let bound = crossing(busiest, bytes.all, Peak::new(mbps, self.resource), self.bound_is);
        let has = |key: &str| record.get(key).is_some();
        let (is_rated, counts) = (has("bound_bandwidth_MBps"), has("bound_messages_per_s"));
        if let Some(latency_us) = record.number("latency_us") {
            let record = record.beside_time(&bound, latency_us);
            return Ok(match is_rated {
                true => record.also_bounded("bound_bandwidth_MBps", bound.mbps),
                false => record,
            });
        }
        let (bandwidth, size) =
            (record.number("bandwidth_MBps").unwrap_or(0.0), record.number("size_B").unwrap_or(1.0));
        let record = record.beside_rate(&bound, bandwidth);
        Ok(if counts { record.bounded_messages(size as u64) } else { record })
    }

    fn machines(&self) -> usize {
        self.machine.iter().max().map_or(0, |last| last + 1)
    }

    /// The bytes of one round of the record's benchmark, if any cross between machines.
    fn bytes(&self, record: &Record) -> Option<Bytes> {
        let (benchmark, size) = (record.text("benchmark")?, record.number("size_B")?);
        let started = self.machine.len();
        let ranks = match benchmark {
            // The first and the last ones play, however many were started.
            "saturation" | "deposit" => started,
            _ => record.number("ranks").map_or(started, |ranks| started.min(ranks as usize)),
        };
        let flows = flows(record, &self.machine[..ranks])?;
        let mut of_machine = vec![[0.0; 2]; self.machines()];
        for &(from, to) in &flows {
            let (from, to) = (*self.machine.get(from)?, *self.machine.get(to)?);
            if from != to {
                // A tree need not send from one place: only what must come in counts.
                of_machine[from][0] += if is_tree(benchmark) { 0.0 } else { size };
                of_machine[to][1] += size;
            }
        }
        let crosses = of_machine.iter().flatten().any(|&bytes| bytes > 0.0);
        crosses.then_some(Bytes { of_machine, all: size * flows.len() as f64 })
    }
}

/// Whether what one rank gives may come to the others by way of others.
fn is_tree(benchmark: &str) -> bool {
    ["bcast", "reduce", "allreduce", "allgather"].contains(&benchmark)
}

/// From and to which ranks one round of the record's benchmark must move a message of its size, at least, for ranks on
/// these machines.
fn flows(record: &Record, machine: &[usize]) -> Option<Vec<(usize, usize)>> {
    let (ranks, whole) = (machine.len(), |key: &str| record.number(key).map(|value| value as usize));
    // To the first rank of each machine but the giver's: within one, memory is shared.
    let others = |from: usize| {
        let first = move |&to: &usize| machine[to] != machine[from] && !machine[..to].contains(&machine[to]);
        (0..ranks).filter(first).map(move |to| (from, to))
    };
    Some(match record.text("benchmark")? {
        "pingpong" | "deposit" | "semantics" => vec![(0, ranks.checked_sub(1)?)],
        "pairs" => vec![(whole("rank_a")?, whole("rank_b")?)],
        "stream" | "rate" | "saturation" => {
            let pairs = whole("pairs")?;
            let there = (0..pairs).map(|pair| (pair, ranks.saturating_sub(pairs) + pair));
            match record.text("direction") {
                // To oneself: nothing crosses the network.
                Some("self") => return None,
                Some("bi") => there.clone().chain(there.map(|(from, to)| (to, from))).collect(),
                _ => there.collect(),
            }
        }
        "bcast" | "reduce" | "allreduce" => others(0).collect(),
        "gather" => (1..ranks).map(|from| (from, 0)).collect(),
        "scatter" => (1..ranks).map(|to| (0, to)).collect(),
        "allgather" => (0..ranks).flat_map(others).collect(),
        "alltoall" => {
            let all = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
            all.filter(|(from, to)| from != to).collect()
        }
        _ => return None,
    })
}

/// Bytes of one round.
struct Bytes {
    /// Out of each machine, and into it.
    of_machine: Vec<[f64; 2]>,
    /// That the benchmark counts as moved.
    all: f64,
}

impl Bytes {
    /// Those that take longest at what each machine gives away and takes in, and that rate; `None`: no rate is known.
    fn slowest(&self, mbps: &[[f64; 2]]) -> Option<(f64, f64)> {
        let ways = self.of_machine.iter().flatten().zip(mbps.iter().flatten());
        let ways = ways.map(|(&bytes, &mbps)| (bytes, mbps)).filter(|(_, mbps)| mbps.is_finite());
        ways.max_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1))).filter(|(bytes, _)| *bytes > 0.0)
    }
}

/// The machines of ranks that a launcher, or --listen and --connect, brought together over the network.
fn met(session: &Session<'_>) -> Result<Vec<Machine>, Error> {
    match hotlink_real::launched().map_err(failure)? {
        Some((_, ranks)) if !hotlink_real::is_one_machine().map_err(failure)? => {
            Tcp::new(session.limits()).run(ranks, &|_: Seat| async { Machine::here() }).map_err(failure)
        }
        _ => Ok(Vec::new()),
    }
}

/// The rate of all active ports. They are those of InfiniBand and its kin, or the network interfaces that are devices.
/// The larger rate counts, because Ethernet adapters appear as both.
fn ports_mbps(class: &Path) -> Option<f64> {
    let text = |path: &Path| line(&path.display().to_string());
    let entries = |folder: &Path| {
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let fabric_ports = entries(&class.join("infiniband")).into_iter().flat_map(|device| entries(&device.join("ports")));
    let fabric: f64 = fabric_ports
        .filter(|port| text(&port.join("state")).is_some_and(|state| state.contains("ACTIVE")))
        // "100 Gb/sec (4X EDR)"
        .filter_map(|port| text(&port.join("rate"))?.split(' ').next()?.parse::<f64>().ok())
        .map(|gbit| gbit * 1000.0 / 8.0)
        .sum();
    let interfaces = entries(&class.join("net")).into_iter().filter(|interface| interface.join("device").exists());
    let ethernet: f64 = interfaces
        .filter(|interface| text(&interface.join("operstate")).as_deref() == Some("up"))
        .filter_map(|interface| interface_mbps(&interface))
        .sum();
    Some(fabric.max(ethernet)).filter(|&mbps| mbps > 0.0)
}

/// The rate in MB/s that a network interface, a folder in /sys/class/net, reports. `None` if it does not know, or is
/// neither a device nor above one (bonds, VLANs). A pair of virtual ends reports 10 Gbit/s, and keeps to no rate.
pub(crate) fn interface_mbps(interface: &Path) -> Option<f64> {
    let is_above = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("lower_");
    if !interface.join("device").exists() && !std::fs::read_dir(interface).ok()?.flatten().any(is_above) {
        return None;
    }
    // Mbit/s; -1 where the device does not know.
    let mbit = line(&interface.join("speed").display().to_string())?.parse::<f64>().ok();
    mbit.filter(|&mbit| mbit > 0.0).map(|mbit| mbit / 8.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machines(ids: &[&str], mbps: Option<f64>) -> Vec<Machine> {
        ids.iter().map(|&id| Machine { id: id.to_owned(), ports_mbps: mbps }).collect()
    }
    fn of(benchmark: &str, size: u64) -> Record {
        Record::new().with("benchmark", benchmark).with("size_B", size)
    }
    fn wire(ids: &[&str]) -> Wire {
        Wire::between(&machines(ids, Some(1000.0)), FABRIC).unwrap().unwrap()
    }
    fn bound_us(ids: &[&str], record: Record) -> Option<f64> {
        let record = wire(ids).beside(record.with("latency_us", 50.0)).unwrap();
        assert_eq!(record.number("machines"), Some(2.0));
        record.number("bound_latency_us")
    }

    #[test]
    fn one_machine_has_no_wire() {
        assert!(Wire::between(&machines(&["a", "a"], Some(1.0)), FABRIC).unwrap().is_none());
        assert!(Wire::between(&[], FABRIC).unwrap().is_none());
    }

    #[test]
    fn only_what_crosses_counts_at_the_busiest_machine() {
        let two = ["a", "a", "b", "b"];
        assert_eq!(bound_us(&two, of("pingpong", 8000)), Some(8.0));
        assert_eq!(bound_us(&["a", "b", "a"], of("pingpong", 8000)), None, "both ends are on one machine");
        let pair = |a: u32, b: u32| bound_us(&two, of("pairs", 8000).with("rank_a", a).with("rank_b", b));
        assert_eq!((pair(0, 1), pair(1, 2)), (None, Some(8.0)));
        assert_eq!(bound_us(&two, of("bcast", 8000)), Some(8.0));
        assert_eq!(bound_us(&two, of("gather", 8000)), Some(16.0));
        assert_eq!(bound_us(&two, of("allgather", 8000)), Some(16.0));
        assert_eq!(bound_us(&two, of("alltoall", 8000)), Some(32.0));
        assert_eq!(bound_us(&two, of("barrier", 0)), None);
    }

    /// A fast machine that has more to do is no slower than a slow one.
    #[test]
    fn each_machine_s_bytes_go_at_its_own_rate() {
        let mut ranks = machines(&["a", "b", "c"], Some(1000.0));
        ranks[0].ports_mbps = Some(4000.0);
        let mut wire = Wire::between(&ranks, FABRIC).unwrap().unwrap();
        let mut bound = |benchmark: &str| {
            let record = wire.beside(of(benchmark, 8000).with("latency_us", 50.0)).unwrap();
            record.number("bound_latency_us").unwrap()
        };
        // Two messages into the first machine at 4000 MB/s, one out of each other one at 1000.
        assert_eq!(bound("gather"), 8.0);
        ranks[0].ports_mbps = Some(1500.0);
        let mut wire = Wire::between(&ranks, FABRIC).unwrap().unwrap();
        let record = wire.beside(of("gather", 8000).with("latency_us", 50.0)).unwrap();
        assert!((record.number("bound_latency_us").unwrap() - 16000.0 / 1500.0).abs() < 1e-9);
        // If a machine gives no rate, the others' still counts.
        ranks[0].ports_mbps = None;
        let mut wire = Wire::between(&ranks, FABRIC).unwrap().unwrap();
        let record = wire.beside(of("gather", 8000).with("latency_us", 50.0)).unwrap();
        assert_eq!(record.number("bound_latency_us"), Some(8.0));
    }

    #[test]
    fn bandwidth_of_pairs_is_what_the_ports_carry() {
        let rated = |record: Record| {
            let record = wire(&["a", "a", "b", "b"]).beside(record.with("bandwidth_MBps", 500.0)).unwrap();
            (record.number("bound_bandwidth_MBps").unwrap(), record.number("efficiency").unwrap())
        };
        let saturated = of("saturation", 4096).with("ranks", 4).with("pairs", 2);
        assert_eq!(rated(saturated), (1000.0, 0.5));
        assert_eq!(rated(of("stream", 4096).with("pairs", 1).with("direction", "uni")), (1000.0, 0.5));
        assert_eq!(rated(of("stream", 4096).with("pairs", 1).with("direction", "bi")), (2000.0, 0.25));
    }

    #[test]
    fn a_named_fabric_bounds_with_its_own_latency_and_links() {
        let ranks = machines(&["a", "b"], None);
        let mut wire = Wire::between(&ranks, "myrinet-clos64").unwrap().unwrap();
        let record = wire.beside(of("pingpong", 65536).with("ranks", 2).with("latency_us", 1000.0)).unwrap();
        let bound = record.number("bound_latency_us").unwrap();
        assert!(bound > 65536.0 / 320.0 && bound < 1000.0, "{bound}");
        assert!(record.text("limiting_resource").unwrap().contains("Myrinet"), "{record:?}");
        // Two ranks a node: the rate at which a node injects.
        let ranks = machines(&["a", "a", "b", "b"], None);
        let mut wire = Wire::between(&ranks, "myrinet-clos64").unwrap().unwrap();
        let record = wire.beside(of("alltoall", 65536).with("ranks", 4).with("latency_us", 1e5)).unwrap();
        assert!(record.number("bound_latency_us").unwrap() > 4.0 * 65536.0 / 320.0);
        assert_eq!(record.text("limiting_resource"), Some("a node's own devices"));
    }

    #[test]
    fn ports_are_summed_and_no_port_counts_twice() {
        let class = std::env::temp_dir().join(format!("hotlink-ports-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = class.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!(ports_mbps(&class), None);
        for (name, speed, state) in [("eth0", "10000", "up"), ("eth1", "10000", "down"), ("eth2", "-1", "up")] {
            write(&format!("net/{name}/device/vendor"), "0x15b3");
            write(&format!("net/{name}/speed"), speed);
            write(&format!("net/{name}/operstate"), state);
        }
        write("net/veth0/speed", "10000");
        write("net/bond0/speed", "20000");
        write("net/bond0/lower_eth0/speed", "10000");
        write("net/veth0/operstate", "up");
        assert_eq!(ports_mbps(&class), Some(1250.0));
        let told = ["eth0", "eth2", "veth0", "bond0"].map(|name| interface_mbps(&class.join("net").join(name)));
        assert_eq!(told, [Some(1250.0), None, None, Some(2500.0)]);
        write("infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
        write("infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)");
        write("infiniband/mlx5_1/ports/1/state", "1: DOWN");
        write("infiniband/mlx5_1/ports/1/rate", "10 Gb/sec (4X SDR)");
        assert_eq!(ports_mbps(&class), Some(12500.0));
        std::fs::remove_dir_all(&class).unwrap();
    }
}
