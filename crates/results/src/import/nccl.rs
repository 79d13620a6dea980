//! NCCL tests, text and `-J` JSON, out of place and in place. Values are the time of an operation, algorithm bandwidth
//! (size over time) and bus bandwidth (the load of the slowest link). GB is 10^9 B.

use super::text::{Text, is_row, plain};
use super::{Program, is_json};
use hotlink_bench::Record;
use hotlink_study::Error;
use hotlink_workloads::collective::size_is;
use hotlink_workloads::measured::{CALLS, FEWEST, FEWEST_AT, GPUS_PER_HOST};
use serde_json::Value;
use std::collections::BTreeMap;

/// How it is found and read.
pub(super) const ENTRY: Program = Program {
    name: "nccl-tests",
    meaning: "NCCL or RCCL tests: text, or the JSON of -J",
    flags: &[],
    recognises: |text| match is_json(text) {
        true => text.contains("\"nccl_version\"") || text.contains("\"bus_bw\""),
        false => text.contains("nccl-tests") || (text.contains("busbw") && text.contains("algbw")),
    },
    lacks: |text| {
        let is_whole = text.contains("Avg bus bandwidth") || text.contains("Collective test concluded");
        (!is_whole).then_some("its average at the end")
    },
    read: |text, _| read(text),
};

fn read(text: &Text<'_>) -> Result<Vec<Record>, Error> {
    if text.is_json() { json(text) } else { lines(text) }
}

/// `build/all_reduce_perf` is `allreduce`.
fn benchmark(program: &str) -> String {
    let name = program.rsplit('/').next().unwrap_or_default().split_whitespace().next().unwrap_or_default();
    match name.trim_end_matches("_perf").trim_end_matches("_perf_mpi") {
        "all_reduce" => "allreduce".to_owned(),
        "all_gather" => "allgather".to_owned(),
        "broadcast" => "bcast".to_owned(),
        "reduce_scatter" => "reduce-scatter".to_owned(),
        other => plain(other),
    }
}

fn point(head: &Record, placement: &str, [us, algorithm, bus]: [f64; 3]) -> Record {
    let size_is = head.text("benchmark").and_then(size_is);
    let head = size_is.into_iter().fold(head.clone(), |head, what| head.with("size_is", what));
    head.with("placement", placement)
        .with("latency_us", us)
        .with("algorithm_bandwidth_MBps", algorithm * 1000.0)
        .with("bus_bandwidth_MBps", bus * 1000.0)
}

/// Ranks of each host that a log names, and where it names the first of them; a rank without a host is of "".
#[derive(Default)]
struct Hosts(BTreeMap<String, (u64, String)>);

impl Hosts {
    fn add(&mut self, name: &str, at: impl FnOnce() -> String) {
        self.0.entry(name.to_owned()).or_insert_with(|| (0, at())).0 += 1;
    }

    /// The record with GPUs of its hosts, where each of its ranks has one.
    fn told(&self, record: Record) -> Record {
        let (most, least) = (self.0.values().max_by_key(|host| host.0), self.0.values().min_by_key(|host| host.0));
        let (Some((most, _)), Some((least, at))) = (most, least) else { return record };
        match self.0.contains_key("") {
            true => record,
            false if most == least => record.with(GPUS_PER_HOST, *most),
            false => record.with(GPUS_PER_HOST, *most).with(FEWEST, *least).with(FEWEST_AT, at.as_str()),
        }
    }
}

/// One test of a log: jobs append several to one file, each with its own ranks and its own choices of NCCL.
#[derive(Default)]
struct Test {
    head: Record,
    ranks: u64,
    hosts: Hosts,
    heads: Vec<String>,
    ways: BTreeMap<u64, (&'static str, &'static str)>,
    records: Vec<Record>,
}

impl Test {
    /// Its records. NCCL prints its choice for a size once, before or between the rows.
    fn finished(self) -> impl Iterator<Item = Record> {
        let Test { ways, records, .. } = self;
        records.into_iter().map(move |record| {
            match record.number("size_B").and_then(|bytes| ways.get(&(bytes as u64))) {
                Some(&(algorithm, protocol)) => record.with("algorithm", algorithm).with("protocol", protocol),
                None => record,
            }
        })
    }

    /// Whether such a comment belongs to the next test: the first line of any version, or any line of a head after rows.
    fn ends_at(&self, comment: &str) -> bool {
        let is_head = ["nThread ", "Using devices", "Rank "].iter().any(|start| comment.starts_with(start));
        comment.starts_with("Collective test starting:") || (is_head && !self.records.is_empty())
    }
}

fn lines(text: &Text<'_>) -> Result<Vec<Record>, Error> {
    let (mut records, mut test) = (Vec::new(), Test::default());
    for (number, line) in text.lines() {
        // Under a launcher or in a log, lines may carry a prefix; the table's own head begins with #.
        let comment = line.trim_start().strip_prefix('#').map(str::trim);
        if comment.is_some_and(|comment| test.ends_at(comment)) {
            records.extend(std::mem::take(&mut test).finished());
        }
        if let Some(program) = comment.and_then(|comment| comment.strip_prefix("Collective test starting:")) {
            test.head.set("benchmark", benchmark(program.trim()));
        } else if let Some(calls) = comment.and_then(calls_together) {
            test.head.set(CALLS, calls);
        } else if let Some(rank) = comment.filter(|comment| comment.starts_with("Rank ")) {
            test.ranks += 1;
            test.hosts.add(host_of(rank).unwrap_or_default(), || format!("line {number}"));
        } else if let Some(comment) =
            comment.filter(|comment| comment.starts_with("size ") && comment.contains("busbw"))
        {
            test.heads = comment.split_whitespace().map(str::to_owned).collect();
        } else if let Some((bytes, way)) = way(line) {
            test.ways.insert(bytes, way);
        } else if is_row(line) && !test.heads.is_empty() {
            let head = if test.ranks > 0 { test.head.clone().with("ranks", test.ranks) } else { test.head.clone() };
            let head = test.hosts.told(head);
            test.records.extend(row(text, number, line, &test.heads, &head)?);
        }
    }
    records.extend(test.finished());
    Ok(records)
}

/// The calls that are launched together, of `nThread 1 nGpus 8 ... iters: 20 agg iters: 4 ...`, where they are several.
fn calls_together(comment: &str) -> Option<u64> {
    let (_, after) = comment.split_once("agg iters:")?;
    after.split_whitespace().next()?.parse().ok().filter(|calls| *calls > 1)
}

/// The host of `Rank  0 Group  0 Pid  4711 on  node0 device  0 [0000:17:00] NVIDIA H100`.
fn host_of(rank: &str) -> Option<&str> {
    let mut words = rank.split_whitespace().skip_while(|word| *word != "on").skip(1);
    words.next().filter(|_| words.next() == Some("device"))
}

/// The choice for a size in a line of NCCL's own log (`NCCL_DEBUG=INFO`, `NCCL_DEBUG_SUBSYS=TUNING`): `AllReduce:
/// 1048576 Bytes -> Algo 1 proto 2`, or with names.
fn way(line: &str) -> Option<(u64, (&'static str, &'static str))> {
    let (before, after) = line.split_once(" Bytes -> Algo ")?;
    let bytes = before.rsplit(' ').next()?.parse().ok()?;
    let mut words = after.split_whitespace();
    let algorithm = match words.next()? {
        "0" | "TREE" => "tree",
        "1" | "RING" => "ring",
        "2" | "3" | "COLLNET_DIRECT" | "COLLNET_CHAIN" => "collnet",
        "4" | "NVLS" => "nvls",
        "5" | "NVLS_TREE" => "nvls-tree",
        "6" | "PAT" => "pat",
        _ => "unknown",
    };
    let protocol = match (words.next()?, words.next()?) {
        ("proto", "0" | "LL") => "ll",
        ("proto", "1" | "LL128") => "ll128",
        ("proto", "2" | "SIMPLE") => "simple",
        _ => return None,
    };
    Some((bytes, (algorithm, protocol)))
}

/// A row's two records. A time stamp (two words) may come last.
fn row(text: &Text<'_>, line: usize, row: &str, heads: &[String], head: &Record) -> Result<Vec<Record>, Error> {
    let known = heads.iter().position(|head| head == "timestamp").unwrap_or(heads.len());
    let words: Vec<&str> = row.split_whitespace().collect();
    let words = text.row(line, &words[..known.min(words.len())].join(" "), &heads[..known]).map(|_| words)?;
    let mut head = head.clone();
    let at =
        |name: &str, nth: usize| heads.iter().enumerate().filter(|(_, head)| *head == name).nth(nth).map(|(at, _)| at);
    head.set("size_B", text.count(line, words[0])?);
    if let (Some(count), Some(kind)) = (at("count", 0), at("type", 0))
        && let Some(what) = other_size(&head, text.count(line, words[count])?, words[kind])
    {
        return Err(text.wrong(line, &format!("contradicts itself: {what}"), "a row as nccl-tests printed it"));
    }
    for key in ["type", "redop", "root"] {
        if let Some(at) = at(key, 0) {
            head.set(if key == "type" { "datatype" } else { key }, words[at]);
        }
    }
    let mut records = Vec::new();
    for (nth, placement) in ["out-of-place", "in-place"].into_iter().enumerate() {
        let time = at("time", nth).or_else(|| at("cputime", nth));
        let (Some(time), Some(algorithm), Some(bus)) = (time, at("algbw", nth), at("busbw", nth)) else { continue };
        if [words[time], words[algorithm], words[bus]].contains(&"N/A") {
            continue;
        }
        let values =
            [text.number(line, words[time])?, text.number(line, words[algorithm])?, text.number(line, words[bus])?];
        let off = [time, algorithm, bus].map(|at| last_digit(words[at]));
        if let Some(what) = contradiction(&head, values, off) {
            return Err(text.wrong(line, &format!("contradicts itself: {what}"), "a row as nccl-tests printed it"));
        }
        let record = point(&head, placement, in_full(&head, values, off));
        let wrong = at("#wrong", nth).or_else(|| at("error", nth)).map(|at| words[at]);
        records.push(match wrong.and_then(|word| word.parse::<f64>().ok()) {
            Some(wrong) => record.with("verified", wrong == 0.0),
            None => record,
        });
    }
    Ok(records)
}

/// The value of the last printed digit: a value may be off by that much.
fn last_digit(word: &str) -> f64 {
    word.split_once('.').map_or(1.0, |(_, digits)| (0..digits.len()).fold(1.0, |unit, _| unit / 10.0))
}

/// The share of a value that may be off besides the printed digits.
const OFF: f64 = 0.01;

/// Why a row's time in us and bandwidths in GB/s cannot be of one measurement; each may be off by as much as `off`.
fn contradiction(head: &Record, [us, algorithm, bus]: [f64; 3], off: [f64; 3]) -> Option<String> {
    let (least, most) = ((us - off[0]) * (1.0 - OFF), (us + off[0]) * (1.0 + OFF));
    let ranks = head.number("ranks").unwrap_or(f64::INFINITY);
    let counted = counted(head)?;
    // Bytes over microseconds are MB/s.
    let rate = |us: f64| counted / 1e3 / us;
    let is_slower = algorithm + off[1] < rate(most);
    let is_faster = least > 0.0 && algorithm - off[1] > rate(least);
    if most > 0.0 && (is_slower || is_faster) {
        return Some(format!("{counted} B in {us} us are {:.2} GB/s, and algbw is {algorithm}", rate(us)));
    }
    // Of communicators of 2 ranks up to all: a test may split its ranks.
    let [low, high] = [2.0, ranks].map(|ranks| bus_factor(head, ranks));
    let (low, high) = (low?, high?);
    let is_below = bus + off[2] < low * (algorithm - off[1]) * (1.0 - OFF);
    let is_above = bus - off[2] > high * (algorithm + off[1]) * (1.0 + OFF);
    // One rank sends nothing.
    (ranks > 1.0 && (is_below || is_above)).then(|| format!("busbw {bus} does not follow from algbw {algorithm}"))
}

/// The bytes that algbw is of. A hypercube counts what others send alone, of a number of ranks that must be known.
fn counted(head: &Record) -> Option<f64> {
    let size = head.number("size_B")?;
    match head.text("benchmark") {
        Some("hypercube") => Some(size * (1.0 - 1.0 / head.number("ranks")?)),
        _ => Some(size),
    }
}

/// How often busbw has algbw, in a communicator of so many ranks.
fn bus_factor(head: &Record, ranks: f64) -> Option<f64> {
    let of_others = 1.0 - 1.0 / ranks;
    match head.text("benchmark")? {
        "allreduce" => Some(2.0 * of_others),
        "allgather" | "reduce-scatter" | "alltoall" | "gather" | "scatter" => Some(of_others),
        "bcast" | "reduce" | "sendrecv" | "hypercube" => Some(1.0),
        _ => None,
    }
}

/// The time and the bandwidths with the digits that a table leaves out: of short messages it prints 0.03 GB/s, and their time
/// in full. A busbw that is not of all ranks stays as it was printed.
fn in_full(head: &Record, [us, algorithm, bus]: [f64; 3], off: [f64; 3]) -> [f64; 3] {
    let printed = [us, algorithm, bus];
    let is_coarse = us > 0.0 && off[0] / us < off[1] / algorithm.max(off[1]);
    let (Some(bytes), true) = (counted(head), is_coarse) else { return printed };
    let exact = bytes / 1e3 / us;
    let ranks = head.number("ranks").filter(|ranks| *ranks > 1.0);
    match ranks.and_then(|ranks| bus_factor(head, ranks)).map(|factor| factor * exact) {
        Some(all) if (all - bus).abs() <= off[2] * (1.0 + OFF) => [us, exact, all],
        _ => [us, exact, bus],
    }
}

/// Bytes of NCCL's types.
fn bytes_of(kind: &str) -> Option<u64> {
    match kind {
        "int8" | "uint8" | "fp8_e4m3" | "fp8_e5m2" | "f8e4m3" | "f8e5m2" => Some(1),
        "half" | "bfloat16" => Some(2),
        "float" | "int32" | "uint32" => Some(4),
        "double" | "int64" | "uint64" => Some(8),
        _ => None,
    }
}

/// Why `count` elements are not the row's size: some collectives count those of one rank.
fn other_size(head: &Record, count: u64, kind: &str) -> Option<String> {
    let (size, bytes) = (head.number("size_B")? as u64, count.checked_mul(bytes_of(kind)?)?);
    let is_whole = bytes == 0 || size.is_multiple_of(bytes);
    let is_of_ranks = |parts: u64| head.number("ranks").is_none_or(|ranks| parts as f64 <= ranks.max(1.0));
    let is_same = is_whole && (bytes == 0 || (size > 0 && is_of_ranks(size / bytes)));
    (!is_same).then(|| format!("{count} elements of {kind} are {bytes} B, and the size is {size} B"))
}

fn json(text: &Text<'_>) -> Result<Vec<Record>, Error> {
    let document = text.json()?;
    let results = document["results"].as_array();
    let results = results.ok_or_else(|| text.wrong(0, "`results` is not a list", "the JSON of nccl-tests -J"))?;
    let mut head = Record::new();
    if let Some(program) = document["args"][0].as_str() {
        head.set("benchmark", benchmark(program));
    }
    let given: Vec<&str> = document["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let calls = given.windows(2).find(|pair| ["-m", "--agg_iters"].contains(&pair[0]));
    if let Some(calls) = calls.and_then(|pair| pair[1].parse::<u64>().ok()).filter(|calls| *calls > 1) {
        head.set(CALLS, calls);
    }
    if let Some(devices) = document["config"]["devices"].as_array().or_else(|| document["devices"].as_array()) {
        head.set("ranks", devices.len());
        let mut hosts = Hosts::default();
        for (at, device) in devices.iter().enumerate() {
            hosts.add(device["hostname"].as_str().unwrap_or_default(), || format!("devices[{at}]"));
        }
        head = hosts.told(head);
    }
    let mut records = Vec::new();
    for (index, result) in results.iter().enumerate() {
        let wrong = |key: &str| text.wrong(0, &format!("results[{index}].{key} is not a number"), "0 or more");
        let mut head = head.clone().with("size_B", result["size"].as_u64().ok_or_else(|| wrong("size"))?);
        for (key, name) in [("type", "datatype"), ("redop", "redop"), ("root", "root")] {
            if let Some(value) = result[key].as_str() {
                head.set(name, value.trim());
            }
        }
        for (key, placement) in [("out_of_place", "out-of-place"), ("in_place", "in-place")] {
            let Value::Object(side) = &result[key] else { continue };
            let number = |name: &str| side.get(name).and_then(Value::as_f64).filter(|x| x.is_finite() && *x >= 0.0);
            let us = number("time").or_else(|| number("cpu_time")).ok_or_else(|| wrong(&format!("{key}.time")))?;
            let algorithm = number("alg_bw").ok_or_else(|| wrong(&format!("{key}.alg_bw")))?;
            let bus = number("bus_bw").ok_or_else(|| wrong(&format!("{key}.bus_bw")))?;
            // JSON has all digits, but for those of its own floats.
            if let Some(what) = contradiction(&head, [us, algorithm, bus], [0.0; 3]) {
                let what = format!("results[{index}].{key} contradicts itself: {what}");
                return Err(text.wrong(0, &what, "the JSON of nccl-tests -J"));
            }
            let record = point(&head, placement, [us, algorithm, bus]);
            records.push(match number("nwrong") {
                Some(wrong) => record.with("verified", wrong == 0.0),
                None => record,
            });
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_algorithm_of_a_log_has_its_own_name() {
        let named = |word: &str| way(&format!("host:1:2 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo {word} proto 2"));
        for (words, name) in [
            (["0", "TREE"], "tree"),
            (["1", "RING"], "ring"),
            (["2", "COLLNET_DIRECT"], "collnet"),
            (["3", "COLLNET_CHAIN"], "collnet"),
            (["4", "NVLS"], "nvls"),
            (["5", "NVLS_TREE"], "nvls-tree"),
            (["6", "PAT"], "pat"),
            (["7", "NEW"], "unknown"),
        ] {
            for word in words {
                assert_eq!(named(word), Some((1024, (name, "simple"))));
            }
        }
    }

    /// Of 256 B in 14.1 us a table prints 0.02 and 0.03 GB/s. Two groups of four make 0.027 of the second.
    #[test]
    fn bandwidths_of_short_messages_have_the_digits_of_their_time() {
        let head = Record::new().with("benchmark", "allreduce").with("size_B", 256).with("ranks", 8);
        let rate = 256.0 / 14.1e3;
        let read = |bus: f64, off: f64| in_full(&head, [14.1, 0.02, bus], [0.01, 0.01, off]);
        assert_eq!(read(0.03, 0.01), [14.1, rate, 1.75 * rate]);
        assert_eq!(read(0.027, 0.001), [14.1, rate, 0.027]);
        // Times may have fewer digits than the bandwidths.
        let rough = [0.1, 2.5, 4.375];
        assert_eq!(in_full(&head, rough, [0.1, 0.01, 0.001]), rough);
    }
}
