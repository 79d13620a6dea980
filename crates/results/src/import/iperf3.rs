//! iperf3, text and `-J` JSON: what the receiver got, with the median over the intervals where they are told. Bits
//! count in 10^3, bytes (`-f K`, `-f M`) in 2^10.

use super::text::Text;
use super::{Program, is_json};
use hotlink_bench::{Record, Summary};
use hotlink_study::Error;
use serde_json::Value;

/// MB/s of a bit/s.
const BIT: f64 = 1.0 / 8e6;

/// How it is found and read.
pub(super) const ENTRY: Program = Program {
    name: "iperf3",
    meaning: "iperf3: text, or the JSON of -J",
    flags: &[],
    recognises: |text| match is_json(text) {
        true => text.contains("\"test_start\"") || (text.contains("\"intervals\"") && text.contains("\"start\"")),
        false => text.contains("Interval") && text.contains("Transfer"),
    },
    lacks: |text| {
        let is_whole = text.contains("iperf Done.") || text.contains("receiver");
        (!is_whole).then_some("its sum at the end")
    },
    read: |text, _| read(text),
};

fn read(text: &Text<'_>) -> Result<Vec<Record>, Error> {
    if text.is_json() { json(text) } else { lines(text) }
}

fn head(protocol: &str, streams: u64) -> Record {
    Record::new().with("benchmark", "stream").with("via", protocol).with("ranks", 2).with("streams", streams)
}

fn json(text: &Text<'_>) -> Result<Vec<Record>, Error> {
    let document = text.json()?;
    if let Some(error) = document["error"].as_str() {
        return Err(text.wrong(0, &format!("iperf3 failed: {error}"), "the JSON of a run that ended well"));
    }
    let test = &document["start"]["test_start"];
    let streams = test["num_streams"].as_u64().unwrap_or(1);
    let mut record = head(&test["protocol"].as_str().unwrap_or("tcp").to_lowercase(), streams);
    // Each stream's limit (-b), which is the sender's, not the network's.
    if let Some(target) = test["target_bitrate"].as_f64().filter(|&bits| bits > 0.0) {
        record.set("target_bandwidth_MBps", target * streams as f64 * BIT);
    }
    if let Some(size) = test["blksize"].as_u64() {
        record.set("size_B", size);
    }
    if test["reverse"].as_u64() == Some(1) {
        record.set("direction", "reverse");
    }
    let end = &document["end"];
    let rate = |key: &str| end[key]["bits_per_second"].as_f64().filter(|rate| rate.is_finite() && *rate >= 0.0);
    let rate = rate("sum_received").or_else(|| rate("sum")).or_else(|| rate("sum_sent"));
    let missing = || text.wrong(0, "`end.sum_received.bits_per_second` is not a number", "the JSON of iperf3 -J");
    record.set("bandwidth_MBps", rate.ok_or_else(missing)? * BIT);
    for (key, name) in [("jitter_ms", "jitter_us"), ("lost_percent", "lost")] {
        if let Some(value) = end["sum"][key].as_f64() {
            record.set(name, if key == "jitter_ms" { value * 1e3 } else { value / 100.0 });
        }
    }
    let intervals = document["intervals"].as_array().map(Vec::as_slice).unwrap_or_default();
    let kept = intervals.iter().filter(|interval| interval["sum"]["omitted"] != Value::Bool(true));
    let samples: Vec<f64> =
        kept.filter_map(|interval| Some(interval["sum"]["bits_per_second"].as_f64()? * BIT)).collect();
    Ok(vec![with_samples(record, &samples)])
}

/// The median over the intervals and its 95 % interval stand beside the mean over all.
fn with_samples(record: Record, samples: &[f64]) -> Record {
    match Summary::of(samples) {
        Some(summary) if samples.len() > 1 => {
            let record = record.clone().with("mean_bandwidth_MBps", record.number("bandwidth_MBps").unwrap_or(0.0));
            summary.into(record.with("bandwidth_MBps", summary.median)).with("statistic_of", "bandwidth_MBps")
        }
        _ => record,
    }
}

/// One line of a table: `[  5]   0.00-10.00  sec  1.10 GBytes   941 Mbits/sec    0   sender`.
struct Line {
    id: String,
    from: f64,
    to: f64,
    rate: f64,
    role: Option<&'static str>,
}

fn lines(text: &Text<'_>) -> Result<Vec<Record>, Error> {
    let (mut parsed, mut protocol) = (Vec::new(), "tcp");
    for (number, line) in text.lines() {
        if line.contains("Total Datagrams") || line.contains("Jitter") {
            protocol = "udp";
        }
        if line.contains("/sec") && line.trim_start().starts_with('[') && !line.contains("(omitted)") {
            parsed.push(one(text, number, line)?);
        }
    }
    let id = if parsed.iter().any(|line| line.id == "SUM") { "SUM" } else { "" };
    let streams = parsed.iter().filter(|line| line.role == Some("receiver") && line.id != "SUM").count().max(1);
    let mine = |line: &&Line| id.is_empty() || line.id == id;
    let last = |role| parsed.iter().filter(mine).rfind(|line: &&Line| line.role == role);
    let Some(whole) = last(Some("receiver")).or_else(|| last(Some("sender"))) else { return Ok(Vec::new()) };
    let record = head(protocol, streams as u64).with("bandwidth_MBps", whole.rate);
    let step = |line: &&Line| line.role.is_none() && line.to - line.from < whole.to - whole.from;
    let samples: Vec<f64> = parsed.iter().filter(mine).filter(step).map(|line| line.rate).collect();
    Ok(vec![with_samples(record, &samples)])
}

fn one(text: &Text<'_>, number: usize, line: &str) -> Result<Line, Error> {
    let wrong = || text.wrong(number, "is not a line of results", "[ ID] FROM-TO sec SIZE RATE UNIT/sec ...");
    let (id, rest) = line.split_once(']').ok_or_else(wrong)?;
    // `-b` of several roles adds `[TX-C]` behind the number.
    let rest = rest.trim_start().strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or(rest, |(_, rest)| rest);
    let words: Vec<&str> = rest.split_whitespace().collect();
    let at = words.iter().position(|word| word.ends_with("/sec")).filter(|at| *at >= 3).ok_or_else(wrong)?;
    let (from, to) = words[0].split_once('-').ok_or_else(wrong)?;
    let unit = unit(words[at]).ok_or_else(|| {
        let allowed = "bits/sec, Kbits/sec, Mbits/sec, Gbits/sec, Bytes/sec, KBytes/sec, MBytes/sec, GBytes/sec";
        text.wrong(number, &format!("unit `{}` is unknown", words[at]), allowed)
    })?;
    let role = ["sender", "receiver"].into_iter().find(|role| words.last() == Some(role));
    let (from, to) = (text.number(number, from)?, text.number(number, to)?);
    let id = id.trim_start().trim_start_matches('[').trim().to_owned();
    Ok(Line { id, from, to, rate: text.number(number, words[at - 1])? * unit, role })
}

/// MB/s of a unit.
fn unit(word: &str) -> Option<f64> {
    Some(match word {
        "bits/sec" => BIT,
        "Kbits/sec" => BIT * 1e3,
        "Mbits/sec" => BIT * 1e6,
        "Gbits/sec" => BIT * 1e9,
        "Tbits/sec" => BIT * 1e12,
        "Bytes/sec" => 1e-6,
        "KBytes/sec" => 1024.0 / 1e6,
        "MBytes/sec" => 1_048_576.0 / 1e6,
        "GBytes/sec" => 1_073_741_824.0 / 1e6,
        "TBytes/sec" => 1_099_511_627_776.0 / 1e6,
        _ => return None,
    })
}
