//! Measured results become a fabric: capacities and latency as measured, and where asked a LogGP machine.

pub mod fit;
mod given;
pub mod loggp;
pub mod memory;
mod request;

pub use given::check as check_record;
use hotlink_bench::Record;
use hotlink_fabric::spec::{
    FabricSpec, Origin, PacketSpec, ResourceSpec, Role, RoutingSpec, Status, TopologySpec, Value,
};
use hotlink_fabric::technology;
use hotlink_fabric::topology::Shared;
use hotlink_fabric::units::{Rate, Time};
use hotlink_study::Error;
pub use request::{Calibrated, Calibration, Site};
use std::collections::BTreeMap;

hotlink_study::words! {
    /// The product of a calibration.
    pub enum Model {
        /// Capacities and latency, as measured.
        Fabric = "fabric",
        /// Also LogGP, linear and piecewise, and copy costs.
        Loggp = "loggp",
        /// The memory system of a node, line by line, as a part that fabrics name.
        Memory = "memory",
    }
}

/// Whether a fabric may have this name.
///
/// # Errors
/// What is allowed.
pub fn check_name(name: &str) -> Result<(), Error> {
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > 64 || name.starts_with('-') || !name.chars().all(fine) {
        let allowed = "1 to 64 of a-z, 0-9 and -, not beginning with -";
        return Err(Error::Input(format!("--name {name}: must be {allowed}")));
    }
    Ok(())
}

/// A measured record and where it came from.
pub struct Measured {
    /// The record.
    pub record: Record,
    /// The command line that measured it, where and when.
    pub source: String,
    /// On this machine.
    pub is_here: bool,
    /// The host that measured, where it is known.
    pub host: Option<String>,
}

/// The record with the largest `key` among those that `wanted` takes.
fn best<'a>(measured: &'a [Measured], key: &str, wanted: impl Fn(&Record) -> bool) -> Option<(&'a Measured, f64)> {
    let values = measured.iter().filter(|m| wanted(&m.record)).filter_map(|m| Some((m, m.record.number(key)?)));
    values.filter(|(_, value)| value.is_finite() && *value > 0.0).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Whether it is of this benchmark.
pub fn is(record: &Record, benchmark: &str) -> bool {
    record.text("benchmark") == Some(benchmark)
}

fn measured_value<T>(value: T, unit: &str, from: &Measured, what: &str) -> Value<T> {
    let source = format!("{}: {what}", from.source);
    Value { value, unit: unit.to_owned(), source, status: Status::Measured }
}

fn rate(from: (&Measured, f64), what: &str) -> Value<Rate> {
    measured_value(Rate::from_mbps(from.1), "MB/s", from.0, what)
}

/// Of repeated measurements, takes the 25th percentile. Noise only lengthens, and does so for seconds, as neighbours of
/// a virtual machine come and go. So a median is of the machine itself in one run and of a noisy one in the next. The
/// checked values are taken alike.
fn undisturbed<T: Copy>(measured: &mut [T], time: fn(&T) -> f64) -> T {
    measured.sort_by(|a, b| time(a).total_cmp(&time(b)));
    measured[measured.len().div_ceil(4) - 1]
}

/// The fabric that the measurements describe.
///
/// # Errors
/// What is missing, or does not belong together.
pub fn fabric(name: &str, measured: &[Measured], model: Model) -> Result<FabricSpec, Error> {
    let missing = |what: &str| Error::Input(format!("calibrate: the results hold no {what}"));
    // One rank sends nothing.
    let sending = measured.iter().filter(|m| m.record.number("ranks") != Some(1.0));
    let vias: std::collections::BTreeSet<&str> = sending.filter_map(|m| m.record.text("via")).collect();
    if vias.len() > 1 {
        let vias: Vec<&str> = vias.into_iter().collect();
        let what = format!("results over {} are different fabrics", vias.join(" and "));
        return Err(Error::Input(format!("calibrate: {what}: calibrate each by itself, with a --name of its own")));
    }
    let bandwidth = "bandwidth_MBps";
    // A LogGP machine is of two ranks: one pair's rate represents all where no more were measured.
    let other = |r: &Record| model == Model::Loggp && (is(r, "stream") || is(r, "pingpong"));
    let all = best(measured, bandwidth, |r| is(r, "saturation") || other(r))
        .ok_or_else(|| missing("saturation: run `hotlink measure saturation --json`"))?;
    let one = best(measured, bandwidth, |r| (is(r, "saturation") && r.number("pairs") == Some(1.0)) || other(r))
        .ok_or_else(|| missing("saturation of one pair: measure --pairs from 1"))?;
    let latency = latency(measured).ok_or_else(|| missing("latency: run `hotlink measure pingpong --json`"))?;
    let resources = BTreeMap::from([
        (Role::Memory, resource("memory", rate(all, "most of all pairs"), zero_latency(all.0))),
        (Role::Link, resource("path of a process", rate(one, "most of one pair"), latency)),
    ]);
    let via = vias.first().copied().unwrap_or("memory");
    let origin = Origin { source: all.0.source.clone(), status: Status::Measured };
    let none = measured_value(0.0, "B", all.0, "rates are of payload");
    let technology = technology::named("shared-memory").map_err(Error::Input)?;
    Ok(FabricSpec {
        name: name.to_owned(),
        title: format!("processes of one machine over {via}, as measured"),
        topology: TopologySpec::new(Shared),
        topology_origin: origin,
        routing: RoutingSpec::ShortestSingle,
        resources,
        packet: PacketSpec { payload_max_bytes: None, overhead_bytes: none.clone(), overhead_per_hop_bytes: none },
        technology,
        flow_control: technology.flow_control.value,
        paths: technology.paths.value,
        parameters: parameters(measured).into(),
        ranges: BTreeMap::new(),
        barrier: None,
        reduction: None,
        prices: None,
        assumed_ports: None,
        unchanged: BTreeMap::new(),
    })
}

fn resource(name: &str, measured: Value<Rate>, latency: Value<Time>) -> ResourceSpec {
    ResourceSpec { name: name.to_owned(), gross: None, measured: Some(measured), latency, half_duplex: false }
}

fn zero_latency(from: &Measured) -> Value<Time> {
    measured_value(Time::ZERO, "ns", from, "counted in the paths of the processes")
}

/// The shortest measured half round trip of a short message.
fn latency(measured: &[Measured]) -> Option<Value<Time>> {
    let short = |r: &Record| is(r, "pingpong") && r.number("size_B").is_some_and(|size| size <= 64.0);
    let least = |key: &str, wanted: &dyn Fn(&Record) -> bool| {
        let values = measured.iter().filter(|m| wanted(&m.record)).filter_map(|m| Some((m, m.record.number(key)?)));
        values.filter(|(_, us)| us.is_finite() && *us > 0.0).min_by(|a, b| a.1.total_cmp(&b.1))
    };
    let (from, us) =
        least("latency_us", &short).or_else(|| least("idle_latency_us", &|r: &Record| is(r, "saturation")))?;
    // A message takes two paths: into memory and out of it.
    Some(measured_value(Time::from_us(us / 2.0), "us", from, "half of a short message's half round trip"))
}

/// Copy rates, where memory was measured: contiguous and at the largest stride, both at the largest size; and the cores.
fn parameters(measured: &[Measured]) -> BTreeMap<String, Value<f64>> {
    let mut parameters = BTreeMap::new();
    let memory = |m: &&Measured| is(&m.record, "memory") && m.record.number("bandwidth_MBps").is_some();
    let key = |m: &&Measured| {
        let field = |key: &str| m.record.number(key).unwrap_or(0.0);
        (field("size_B"), field("stride"))
    };
    let larger = |a: &&Measured, b: &&Measured| key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal);
    let contiguous = measured.iter().filter(memory).filter(|m| m.record.number("stride") == Some(1.0)).max_by(larger);
    let strided = measured.iter().filter(memory).filter(|m| m.record.number("stride") > Some(1.0)).max_by(larger);
    for (name, found) in [("copy_rate", contiguous), ("copy_rate_strided", strided)] {
        if let Some(found) = found {
            let (size, stride) = key(&found);
            let bytes_per_s = found.record.number("bandwidth_MBps").unwrap_or(0.0) * 1e6;
            let value = measured_value(bytes_per_s, "MB/s", found, &format!("{size} B, stride {stride}"));
            parameters.insert(name.to_owned(), value);
        }
    }
    if let Some((from, cores, what)) = processors(measured) {
        parameters.insert("host_processors".to_owned(), measured_value(cores, "processors", from, what));
    }
    parameters
}

/// How many cores the machine has. The number that a process could use says that only where nothing bound it. An MPI
/// that binds its ranks leaves each fewer than there were ranks. Then it is not known.
fn processors(measured: &[Measured]) -> Option<(&Measured, f64, &'static str)> {
    let first = |key: &str| measured.iter().find_map(|m| Some((m, m.record.number(key)?)));
    if let Some((from, cores)) = first("cores_online") {
        return Some((from, cores, "cores of the machine"));
    }
    let (from, cores) = first("cores")?;
    let is_bound = |m: &Measured| {
        let oversubscribed = m.record.get("oversubscribed").is_some_and(|is| is == true);
        !oversubscribed && m.record.number("ranks") > Some(cores)
    };
    (!measured.iter().any(is_bound)).then_some((from, cores, "cores that the ranks could use"))
}

/// A value that was written to `file`, as a record.
fn value_record(
    name: &str,
    resource: &str,
    (value, unit): (f64, &str),
    method: &str,
    source: &str,
    file: &str,
) -> Record {
    Record::new()
        .with("fabric", name)
        .with("method", method)
        .with("resource", resource)
        .with("value", value)
        .with("unit", unit)
        .with("source", source)
        .with("file", file)
}

/// A parameter, whose value is in base units.
fn parameter_record(name: &str, parameter: &str, value: &Value<f64>, file: &str) -> Record {
    let base = match value.unit.as_str() {
        "MB/s" => 1e6,
        "ns" => 1e3,
        _ => 1.0,
    };
    let method = match value.status {
        Status::Fitted => "fitted",
        Status::Estimated => "estimated",
        _ => "measured",
    };
    value_record(name, parameter, (value.value / base, &value.unit), method, &value.source, file)
}

/// The values that were written to `file`, as records.
pub fn values(spec: &FabricSpec, file: &str) -> Vec<Record> {
    let record = |name: &str, value: f64, unit: &str, source: &str| {
        value_record(&spec.name, name, (value, unit), "measured", source, file)
    };
    let mut records = Vec::new();
    for resource in spec.resources.values() {
        if let Some(rate) = &resource.measured {
            records.push(record(&format!("{}: rate", resource.name), rate.value.mbps(), "MB/s", &rate.source));
        }
        if resource.latency.value != Time::ZERO {
            let latency = &resource.latency;
            records.push(record(&format!("{}: latency", resource.name), latency.value.us(), "us", &latency.source));
        }
    }
    records.extend(spec.parameters.iter().map(|(name, value)| parameter_record(&spec.name, name, value, file)));
    records
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_fabric::catalog;
    use serde_json::Value as Json;

    fn measured(fields: Json) -> Measured {
        let Json::Object(fields) = fields else { unreachable!() };
        Measured {
            record: Record::from(fields),
            source: "hotlink measure, 2026-01-01".to_owned(),
            is_here: false,
            host: None,
        }
    }
    fn saturation(pairs: u32, rate: f64) -> Measured {
        measured(serde_json::json!({"benchmark": "saturation", "via": "shm", "pairs": pairs, "bandwidth_MBps": rate,
            "idle_latency_us": 0.4, "cores": 4}))
    }

    #[test]
    fn every_value_is_a_measured_one_and_the_file_reads_back() {
        let measured = [saturation(1, 9000.0), saturation(2, 12_000.0), saturation(4, 8000.0)];
        let spec = fabric("here", &measured, Model::Fabric).unwrap();
        let back = catalog::parse("here", &catalog::to_toml(&spec)).unwrap();
        assert_eq!(back, spec);
        assert_eq!(spec.resources[&Role::Memory].measured.as_ref().unwrap().value, Rate::from_mbps(12_000.0));
        assert_eq!(spec.resources[&Role::Link].measured.as_ref().unwrap().value, Rate::from_mbps(9000.0));
        assert_eq!(spec.resources[&Role::Link].latency.value, Time::from_ns(200.0));
        assert_eq!(spec.parameters["host_processors"].value, 4.0);
        assert!(spec.resources.values().all(|resource| resource.latency.status == Status::Measured));
    }

    #[test]
    fn a_binding_says_nothing_of_how_many_cores_a_machine_has() {
        let of = |cores: Json| {
            let mut fields = serde_json::json!({"benchmark": "pingpong", "via": "mpi", "ranks": 2, "size_B": 8,
                "latency_us": 1.0, "bandwidth_MBps": 8.0});
            fields.as_object_mut().unwrap().extend(cores.as_object().unwrap().clone());
            let spec = fabric("x", &[measured(fields)], Model::Loggp).unwrap();
            spec.parameters.get("host_processors").map(|cores| cores.value)
        };
        assert_eq!(of(serde_json::json!({"cores": 1, "cores_online": 64})), Some(64.0));
        // Results of before `cores_online`: two ranks on "one core" were bound, or there were too many of them.
        assert_eq!(of(serde_json::json!({"cores": 1})), None);
        assert_eq!(of(serde_json::json!({"cores": 1, "oversubscribed": true})), Some(1.0));
        assert_eq!(of(serde_json::json!({"cores": 2})), Some(2.0));
    }

    #[test]
    fn what_is_missing_or_mixed_is_told() {
        let told = |measured: &[Measured]| fabric("x", measured, Model::Fabric).unwrap_err().to_string();
        assert!(told(&[]).contains("hotlink measure saturation"));
        assert!(told(&[saturation(2, 1.0)]).contains("--pairs from 1"));
        let tcp = measured(serde_json::json!({"benchmark": "saturation", "via": "tcp", "pairs": 1}));
        assert!(told(&[saturation(1, 1.0), tcp]).contains("shm and tcp"));
        assert!(check_name("../x").is_err() && check_name("this-machine").is_ok());
    }
}
