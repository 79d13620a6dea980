//! `hotlink calibrate`: measured results become a fabric file, which `analyze` and `compare` take like any other.

mod fit;
mod given;
mod here;
mod loggp;

use crate::{Failure, files, output::Output, results};
use hotlink_bench::Record;
use hotlink_fabric::catalog::{self, Library};
use hotlink_fabric::spec::{
    FabricSpec, FlowControl, Origin, PacketSpec, ResourceSpec, Role, RoutingSpec, Status, TopologySpec, Value,
};
use hotlink_fabric::units::{Rate, Time};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  hotlink measure saturation --via shm --pairs 1..4 --json > m.json && hotlink calibrate m.json --name this-machine
  hotlink calibrate latency.json bandwidth.json --name lab --out lab.toml
  hotlink sweep plans/calibrate-mpi.toml --out c/ && hotlink sweep plans/check-mpi.toml --out k/
  hotlink calibrate c/ --model loggp --name this-mpi --check k/ && hotlink simulate is --class A --fabric this-mpi

What is taken: of saturation, the most bandwidth of one pair and of all pairs; of pingpong at up to 64 B, the latency;
of memory, the copy rates; the cores, beyond which the fabric is not built. Nothing is fitted: every value is one of the measured ones, and says which.

--model loggp fits L, o, g and G to ping-pong and stream (or one pair of saturation), with 95 % intervals by the bootstrap;
every third size is held out, and the error on it told. The piecewise form (time and gap at each size) and the costs of
copies stand beside, and of a sort on one rank the time of a scattered update. Results of this machine that hold no
copies or no such sort are completed on the spot, which is said: with sorts on as many processors at once as there are
ranks. --check FILE predicts is, alltoall, alltoallv and bcast by simulation and tells the error. Of what was measured several
times or in --rounds, the last of the quickest quarter counts: disturbances only lengthen.")]
pub(crate) struct Args {
    /// Results of `hotlink measure ... --json`.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Name of the fabric.
    #[arg(long, value_name = "NAME", default_value = "this-machine")]
    name: String,
    /// What to make: a fabric for analyze and compare, or also a LogGP machine for simulate goal, is and alltoallv.
    #[arg(long, value_enum, default_value_t = Model::Fabric)]
    model: Model,
    /// Results to predict and compare with (with --model loggp): what the calibration has not seen.
    #[arg(long, value_name = "FILE")]
    check: Vec<PathBuf>,
    /// Where to write it, instead of the user's own catalog.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// `--model`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Model {
    /// Capacities and latency, as measured.
    Fabric,
    /// Also LogGP, linear and piecewise, and copy costs.
    Loggp,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<(), Failure> {
    check_name(&args.name)?;
    if args.model == Model::Fabric && !args.check.is_empty() {
        return Err(Failure::Input("--check: needs --model loggp".to_owned()));
    }
    let path = match &args.out {
        Some(path) => path.clone(),
        None => Library::data_home()
            .ok_or_else(|| Failure::Input("calibrate: no home directory; say where with --out FILE".to_owned()))?
            .join("fabrics")
            .join(format!("{}.toml", args.name)),
    };
    let (mut measured, seen) = (read_all(&args.files)?, read_all(&args.check)?);
    if args.model == Model::Loggp {
        // What is wrong is told before anything is measured.
        files::can_write("--out", &path)?;
        loggp::can_fit(&measured)?;
        fabric(&args.name, &measured, args.model)?;
        here::complete(&mut measured, output)?;
    }
    let mut spec = fabric(&args.name, &measured, args.model)?;
    let mut told = Vec::new();
    if args.model == Model::Loggp {
        let fit = loggp::Fit::of(&measured);
        spec.parameters.extend(fit.parameters(&measured));
        told = fit.records(&args.name);
        if !seen.is_empty() {
            told.extend(loggp::check(&spec, &seen)?);
        }
    }
    let text = catalog::to_toml(&spec);
    catalog::parse(&args.name, &text).map_err(|mistakes| {
        let told: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        Failure::Check(format!("calibrate: these results do not make a sound fabric:\n{}", told.join("\n")))
    })?;
    files::write_whole("--out", &path, &text)?;
    eprintln!("hotlink: wrote {}", path.display());
    let values = values(&spec, &path).into_iter();
    values.filter(|_| args.model == Model::Fabric).chain(told).for_each(|record| output.push(record));
    Ok(())
}

fn check_name(name: &str) -> Result<(), Failure> {
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > 64 || name.starts_with('-') || !name.chars().all(fine) {
        let allowed = "1 to 64 of a-z, 0-9 and -, not beginning with -";
        return Err(Failure::Input(format!("--name {name}: allowed are {allowed}")));
    }
    Ok(())
}

/// A measured record and where it came from.
struct Measured {
    record: Record,
    source: String,
    /// On this machine.
    is_here: bool,
}

/// The measured records of all these.
fn read_all(files: &[PathBuf]) -> Result<Vec<Measured>, Failure> {
    let mut measured = Vec::new();
    for file in files {
        measured.extend(read(file)?);
    }
    Ok(measured)
}

/// The measured records of one result file, or of a sweep's folder.
fn read(path: &Path) -> Result<Vec<Measured>, Failure> {
    let mut found = Vec::new();
    for results in results::read(path)? {
        let host = results.environment.get("host").and_then(Json::as_str).map(|host| format!(" on {host}"));
        let source = format!("{}{}, {}", results.command, host.unwrap_or_default(), date(&results.file));
        let cores = results.environment.get("cores").cloned().unwrap_or_default();
        let is_here = here::made(&results.environment);
        for (index, mut record) in results.records.into_iter().enumerate() {
            if record.text("method") == Some("measured") {
                given::check(&record)
                    .map_err(|told| Failure::Input(format!("{}: records[{index}].{told}", results.file.display())))?;
                record.set("cores", cores.clone());
                found.push(Measured { record, source: source.clone(), is_here });
            }
        }
    }
    if found.is_empty() {
        return Err(Failure::Input(format!("{}: holds no record with method \"measured\"", path.display())));
    }
    Ok(found)
}

/// The day on which the results were written.
fn date(file: &Path) -> String {
    let written = std::fs::metadata(file).and_then(|metadata| metadata.modified());
    let since = written.ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or_else(|| "undated".to_owned(), |since| civil(since.as_secs() / 86_400))
}

/// The date of a day since 1970-01-01 (H. Hinnant's `civil_from_days`).
fn civil(days: u64) -> String {
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", year_of_era + era * 400 + carry)
}

/// The record with the largest `key` among those that `wanted` takes.
fn best<'a>(measured: &'a [Measured], key: &str, wanted: impl Fn(&Record) -> bool) -> Option<(&'a Measured, f64)> {
    let values = measured.iter().filter(|m| wanted(&m.record)).filter_map(|m| Some((m, m.record.number(key)?)));
    values.filter(|(_, value)| value.is_finite() && *value > 0.0).max_by(|a, b| a.1.total_cmp(&b.1))
}

fn is(record: &Record, benchmark: &str) -> bool {
    record.text("benchmark") == Some(benchmark)
}

fn measured_value<T>(value: T, unit: &str, from: &Measured, what: &str) -> Value<T> {
    let source = format!("{}: {what}", from.source);
    Value { value, unit: unit.to_owned(), source, status: Status::Measured }
}

fn rate(from: (&Measured, f64), what: &str) -> Value<Rate> {
    measured_value(Rate::from_mbps(from.1), "MB/s", from.0, what)
}

/// The fabric that the measurements describe.
fn fabric(name: &str, measured: &[Measured], model: Model) -> Result<FabricSpec, Failure> {
    let missing = |what: &str| Failure::Input(format!("calibrate: the results hold no {what}"));
    // One rank sends nothing.
    let sending = measured.iter().filter(|m| m.record.number("ranks") != Some(1.0));
    let vias: std::collections::BTreeSet<&str> = sending.filter_map(|m| m.record.text("via")).collect();
    if vias.len() > 1 {
        let vias: Vec<&str> = vias.into_iter().collect();
        let what = format!("results over {} are different fabrics", vias.join(" and "));
        return Err(Failure::Input(format!("calibrate: {what}: calibrate each by itself, with a --name of its own")));
    }
    let bandwidth = "bandwidth_MBps";
    // A LogGP machine is of two ranks: what one pair reaches stands for all where no more were measured.
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
    Ok(FabricSpec {
        name: name.to_owned(),
        title: format!("processes of one machine over {via}, as measured"),
        topology: TopologySpec::Shared,
        topology_origin: origin,
        routing: RoutingSpec::ShortestSingle,
        resources,
        packet: PacketSpec { payload_max_bytes: None, overhead_bytes: none.clone(), overhead_per_hop_bytes: none },
        flow_control: FlowControl::Credit,
        parameters: parameters(measured),
        barrier: None,
        reduction: None,
        prices: None,
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
    if let Some((from, cores)) = measured.iter().find_map(|m| Some((m, m.record.number("cores")?))) {
        let value = measured_value(cores, "processors", from, "cores that the ranks could use");
        parameters.insert("host_processors".to_owned(), value);
    }
    parameters
}

/// What was written, as records.
fn values(spec: &FabricSpec, path: &Path) -> Vec<Record> {
    let record = |name: &str, value: f64, unit: &str, source: &str| {
        Record::new()
            .with("fabric", spec.name.as_str())
            .with("method", "measured")
            .with("resource", name)
            .with("value", value)
            .with("unit", unit)
            .with("source", source)
            .with("file", path.display().to_string())
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
    for (name, value) in &spec.parameters {
        let base = if value.unit == "MB/s" { 1e6 } else { 1.0 };
        records.push(record(name, value.value / base, &value.unit, &value.source));
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(fields: Json) -> Measured {
        let Json::Object(fields) = fields else { unreachable!() };
        Measured { record: Record::from(fields), source: "hotlink measure, 2026-01-01".to_owned(), is_here: false }
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
    fn what_is_missing_or_mixed_is_told() {
        let told = |measured: &[Measured]| fabric("x", measured, Model::Fabric).unwrap_err().to_string();
        assert!(told(&[]).contains("hotlink measure saturation"));
        assert!(told(&[saturation(2, 1.0)]).contains("--pairs from 1"));
        let tcp = measured(serde_json::json!({"benchmark": "saturation", "via": "tcp", "pairs": 1}));
        assert!(told(&[saturation(1, 1.0), tcp]).contains("shm and tcp"));
        assert!(check_name("../x").is_err() && check_name("this-machine").is_ok());
    }

    #[test]
    fn dates() {
        assert_eq!(
            (civil(0), civil(11_016), civil(20_513)),
            ("1970-01-01".into(), "2000-02-29".into(), "2026-03-01".into())
        );
    }
}
