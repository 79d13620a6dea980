//! Numbers of one benchmark in one file, each with its bound, and the two levels by which they are judged.

use crate::bounded::Bounded;
use crate::files::Results;
use crate::robust::median;
use crate::signatures::Thresholds;
use hotlink_bench::{Record, flag_impossible};
use hotlink_fabric::network::Node;
use hotlink_results::import::{BY_BYTES, BY_CHAIN, beyond_named};
use hotlink_study::{Error, Source};
use std::collections::BTreeMap;

/// What two runs must share to be compared.
const KEYS: [&str; 12] = [
    "program",
    "benchmark",
    "direction",
    "operation",
    "placement",
    "groups",
    "mode",
    "datatype",
    "streams",
    "ranks",
    "pairs",
    "connection",
];
/// Benchmarks that time single messages.
const TIMED: [&str; 5] = ["pingpong", "fetch", "pairs", "put", "get"];

/// One number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Bytes of a message; `None` where messages have no ends.
    pub size: Option<u64>,
    /// The share of the bound that is reached.
    pub level: f64,
    /// The same at large messages; `None` where kernels and steps take longer than the bytes, which so decide nothing.
    pub of_bytes: Option<f64>,
    /// Time of a message.
    pub us: Option<f64>,
    /// The middle of the times over their 99th percentile.
    pub steadiness: Option<f64>,
    /// Messages on which that percentile rests: a hundredth of all. `None` where the program does not say how many.
    pub late: Option<f64>,
    /// The 99th percentile of round trips by TCP, in us; `None` where the middle one takes as long, or another path was
    /// taken.
    pub late_trip_us: Option<f64>,
}

/// One benchmark of one file.
#[derive(Clone, Debug)]
pub struct Series {
    /// The file.
    pub file: String,
    /// Its hosts.
    pub hosts: Vec<String>,
    /// What runs must share to be compared.
    pub key: String,
    /// The benchmark.
    pub benchmark: String,
    /// Whether both directions are used at once.
    pub is_both: bool,
    /// In order of size; a number without size stands at the end.
    pub curve: Vec<Point>,
    /// Whether times of single messages were measured.
    pub is_latency: bool,
    /// Whether messages followed each other without a pause.
    pub is_stream: bool,
    /// The record of the largest size, for questions about other fabrics.
    pub largest: Record,
}

impl Series {
    /// The share of the bound that large messages reach.
    pub fn large(&self, limits: &Thresholds) -> Option<f64> {
        let most = self.curve.iter().filter_map(|point| point.size).max().unwrap_or(u64::MAX);
        let least = limits.large_least_B.max(most / limits.large_part);
        let large = self.curve.iter().filter(|point| point.size.is_none_or(|size| size >= least));
        median(&large.filter_map(|point| point.of_bytes).collect::<Vec<_>>())
    }

    /// The same of the time of short messages.
    pub fn small(&self, limits: &Thresholds) -> Option<f64> {
        median(&self.shorts(limits).map(|point| point.level).collect::<Vec<_>>())
    }

    /// Their time.
    pub fn small_us(&self, limits: &Thresholds) -> Option<f64> {
        median(&self.shorts(limits).filter_map(|point| point.us).collect::<Vec<_>>())
    }

    fn shorts(&self, limits: &Thresholds) -> impl Iterator<Item = &Point> {
        let most = limits.small_most_B;
        self.curve.iter().filter(move |point| self.is_latency && point.size.is_some_and(|size| size <= most))
    }

    /// How steady the times of short messages are: the middle over the 99th percentile.
    pub fn steady(&self, limits: &Thresholds) -> Option<f64> {
        median(&self.shorts(limits).filter_map(|point| point.steadiness).collect::<Vec<_>>())
    }

    /// Short messages that are known to come late where the times are not steady; infinite where their number is
    /// unknown.
    pub fn late(&self, limits: &Thresholds) -> f64 {
        let shorts = self.shorts(limits).filter(|point| point.steadiness.is_some());
        shorts.map(|point| point.late.unwrap_or(f64::INFINITY)).sum()
    }

    /// Whether some short messages took so long as only a packet does that is lost and sent again.
    pub fn is_repeated(&self, limits: &Thresholds) -> bool {
        self.shorts(limits).any(|point| point.late_trip_us.is_some_and(|us| us >= limits.retransmission_us))
    }
}

/// Places of hosts among the nodes of a site's own network.
pub struct Places(BTreeMap<String, u32>);

impl Places {
    /// By the names of adapters; their first word counts, too (`node01 mlx5_0`).
    pub fn of(source: &Source) -> Places {
        let mut places = BTreeMap::new();
        if let Some(nodes) = source.own_site().map(|site| site.nodes())
            && let Ok(fabric) = source.build(nodes)
        {
            for node in (0..nodes).rev() {
                let name = fabric.shape.vertex_name(&fabric.network, Node(node).vertex(), "");
                let first = name.split_whitespace().next().unwrap_or_default().to_owned();
                places.insert(first, node);
                places.insert(name, node);
            }
        }
        Places(places)
    }

    /// The node of a host, by its whole name or that before the first dot.
    pub fn node(&self, host: &str) -> Option<u32> {
        self.0.get(host).or_else(|| self.0.get(host.split('.').next()?)).copied()
    }
}

/// All numbers with their bounds: as series, as records, and what is impossible among them.
pub struct Numbers {
    /// By file and benchmark.
    pub series: Vec<Series>,
    /// Every number.
    pub records: Vec<Record>,
    /// Numbers that no measurement can reach.
    pub impossible: Vec<(String, String)>,
}

/// Adds the bound to every number.
///
/// # Errors
/// The fabric cannot be built for the nodes.
pub fn numbers(results: &[Results], bounds: &mut Bounded) -> Result<Numbers, Error> {
    let mut numbers = Numbers { series: Vec::new(), records: Vec::new(), impossible: Vec::new() };
    for one in results {
        let mut series: BTreeMap<String, Series> = BTreeMap::new();
        for record in &one.records {
            let record = bounds.add(record, &one.hosts)?;
            let (record, impossible) = flag_impossible(record);
            let wrong = impossible.or_else(|| beyond_named(&record));
            numbers.impossible.extend(wrong.map(|what| (one.file.clone(), what)));
            let key = key_of(&record);
            if let Some(level) = level_of(&record).filter(|level| *level > 0.0) {
                let size = size_of(&record);
                let new = || fresh(one, key.clone(), &record);
                let series = series.entry(key.clone()).or_insert_with(new);
                series.curve.push(Point {
                    size,
                    level,
                    of_bytes: of_bytes(&record, level),
                    us: time_of(&record),
                    steadiness: steadiness_of(&record),
                    late: late_of(&record),
                    late_trip_us: late_trip_of(&record),
                });
                if size >= size_of(&series.largest) {
                    series.largest.clone_from(&record);
                }
            }
            let hosts = one.hosts.join(" ");
            numbers.records.push(if hosts.is_empty() { record } else { record.with("hosts", hosts) });
        }
        numbers.series.extend(series.into_values().map(|mut series| {
            series.curve.sort_by_key(|point| (point.size.is_none(), point.size));
            series
        }));
    }
    Ok(numbers)
}

/// The share of the bound that is reached. Above the bound of the usual GPU algorithm it is 1: another algorithm ran.
fn level_of(record: &Record) -> Option<f64> {
    let is_impossible = record.get("impossible").is_some();
    let is_of_another = record.number("bound_largest_MBps").is_some() && !is_impossible;
    record.number("efficiency").map(|level| if is_of_another { level.min(1.0) } else { level })
}

/// The level of a large message. A collective of GPUs fills its pipeline before its bytes flow. A sound machine takes no
/// longer than its longest chain and its bytes, one after the other.
fn of_bytes(record: &Record, level: f64) -> Option<f64> {
    let rates = [BY_CHAIN, BY_BYTES].map(|key| record.number(key).filter(|rate| *rate > 0.0));
    let [Some(chain), Some(bytes)] = rates else { return Some(level) };
    (bytes <= chain).then(|| (level * (1.0 + bytes / chain)).min(1.0))
}

/// The size of a message. What iperf3 calls a block is the length of a call: TCP has no messages.
fn size_of(record: &Record) -> Option<u64> {
    record.number("size_B").filter(|_| record.text("program") != Some("iperf3")).map(|size| size as u64)
}

fn time_of(record: &Record) -> Option<f64> {
    let by_rate = || Some(record.number("size_B")? / record.number("bandwidth_MBps")?);
    record.number("latency_us").or_else(by_rate).filter(|us| us.is_finite())
}

fn steadiness_of(record: &Record) -> Option<f64> {
    // In records of this command `p99` is of the times whose middle stands there.
    let of_times = record.statistic().is_none_or(|of| of == "latency_us");
    let (middle, late) = (record.number("latency_us")?, record.number("p99")?);
    (of_times && late >= middle && middle > 0.0).then(|| middle / late)
}

fn late_of(record: &Record) -> Option<f64> {
    steadiness_of(record).and_then(|_| record.number("n")).map(|messages| (messages / 100.0).ceil())
}

/// Half of a round trip stands in records of ping-pong, the whole one in those of other benchmarks.
fn late_trip_of(record: &Record) -> Option<f64> {
    let trip = if record.text("benchmark") == Some("pingpong") { 2.0 } else { 1.0 };
    let steadiness = steadiness_of(record).filter(|_| record.text("via") == Some("tcp"))?;
    record.number("p99").filter(|_| steadiness < 0.5).map(|us| trip * us)
}

fn key_of(record: &Record) -> String {
    let parts = KEYS.iter().filter_map(|key| record.get(key));
    parts.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect::<Vec<_>>().join(" ")
}

fn fresh(one: &Results, key: String, record: &Record) -> Series {
    let benchmark = record.text("benchmark").unwrap_or_default().to_owned();
    let direction = record.text("direction").unwrap_or_default();
    Series {
        file: one.file.clone(),
        hosts: one.hosts.clone(),
        key,
        is_both: direction.starts_with("bi") || ["sendrecv", "exchange"].contains(&benchmark.as_str()),
        is_latency: TIMED.contains(&benchmark.as_str()) && record.number("bound_latency_us").is_some(),
        is_stream: record.number("bound_latency_us").or(record.number("bus_bandwidth_MBps")).is_none(),
        benchmark,
        curve: Vec::new(),
        largest: record.clone(),
    }
}
