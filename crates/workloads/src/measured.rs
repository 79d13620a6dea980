//! What nccl-tests measured, beside what the cluster allows: by algorithm, protocol and level.

use crate::bounds::{Algorithm, Cluster, Protocol};
use hotlink_bench::Record;
use hotlink_fabric::Fabric;
use hotlink_study::options::Rates;
use hotlink_study::{Error, Source};
use std::collections::BTreeMap;

/// Packets as full as those of large messages, for rows without a size.
const ANY_SIZE: u64 = 1 << 20;

/// A cluster at the numbers of GPUs that rows ask for.
pub struct Bus {
    source: Source,
    gpus: Option<u32>,
    algorithm: Option<Algorithm>,
    protocol: Option<Protocol>,
    built: BTreeMap<u32, Fabric>,
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
            source: Source::open(name)?,
            gpus: told.gpus,
            built: BTreeMap::new(),
        })
    }

    /// The record with its bounds: those of the algorithm that ran (said, told by the log, or the usual one:
    /// `bound_algorithm`) as `bound_bus_bandwidth_MBps`, `efficiency` and `limiting_resource`; beside it the bound of
    /// every level of it and of every other algorithm, and the largest of all.
    ///
    /// # Errors
    /// The cluster cannot be built, or has not the algorithm that was said.
    pub fn add(&mut self, record: Record) -> Result<Record, Error> {
        let Some(bus) = record.number("bus_bandwidth_MBps") else { return Ok(record) };
        let name = self.source.name().to_owned();
        let gpus = self.gpus.or(record.number("ranks").map(|ranks| ranks as u32));
        let Some(gpus) = gpus.filter(|gpus| *gpus >= 2) else {
            let what = "a bound needs the number of GPUs, 2 or more; the log says none: give --nodes";
            return Err(Error::Input(format!("--fabric {name}: {what}")));
        };
        if !self.built.contains_key(&gpus) {
            let at = |what: String| Error::Input(format!("--fabric {name}: {what}; see --nodes"));
            self.built.insert(gpus, self.source.build(gpus).map_err(at)?);
        }
        let size = record.number("size_B").map_or(ANY_SIZE, |size| size as u64);
        let cluster = Cluster::of(&self.built[&gpus], gpus, Rates::Measured.into(), size);
        let benchmark = record.text("benchmark").unwrap_or_default().to_owned();
        let logged = |key: &str| record.text(key).map(str::to_owned);
        let protocol = self.protocol.or(logged("protocol").and_then(|name| Protocol::named(&name)));
        let protocol = protocol.unwrap_or(Protocol::Simple);
        let all = cluster.all(&benchmark, protocol);
        let named = self.algorithm.or(logged("algorithm").and_then(|name| Algorithm::named(&name)));
        let of = |algorithm: Algorithm| all.iter().find(|(own, _)| *own == algorithm);
        if let (Some(said), None) = (self.algorithm, self.algorithm.and_then(of)) {
            let has: Vec<&str> = all.iter().map(|(algorithm, _)| algorithm.name()).collect();
            let what = format!("{name} has no such {benchmark}; it has {}", has.join(", "));
            return Err(Error::Input(format!("--algorithm {}: {what}", said.name())));
        }
        let chosen = named.and_then(of).or_else(|| of(Cluster::usual(&benchmark)));
        let Some((algorithm, levels)) = chosen else {
            return Ok(record.with("bound_is", "none: no bound is known for this benchmark"));
        };
        let first = levels[0];
        // Simple takes the fewest bytes: nothing that NCCL has exceeds the best algorithm with it.
        let bests = cluster.all(&benchmark, Protocol::Simple);
        let largest = bests.iter().map(|(_, levels)| levels[0].mbps).fold(first.mbps, f64::max);
        let mut record = record
            .with("nodes", gpus)
            .with("bound_bus_bandwidth_MBps", first.mbps)
            .with("efficiency", bus / first.mbps)
            .with("limiting_resource", first.name)
            .with("bound_algorithm", algorithm.name())
            .with("bound_protocol", protocol.name())
            .with("bound_largest_MBps", largest);
        if let Some(factor) =
            record.number("algorithm_bandwidth_MBps").filter(|rate| *rate > 0.0).map(|rate| bus / rate)
        {
            record.set("bound_algorithm_bandwidth_MBps", first.mbps / factor);
        }
        for level in levels {
            record.set(&format!("bound_{}_MBps", level.name.to_lowercase().replace(' ', "_")), level.mbps);
        }
        for (other, levels) in &all {
            record.set(&format!("bound_{}_MBps", other.name()), levels[0].mbps);
        }
        let what =
            "bytes over the busiest resource of each level, at its rate; bound_ALGORITHM and bound_LEVEL stand beside";
        Ok(record.with("bound_is", what))
    }
}
