//! perftest (`ib_write_bw`, `ib_send_lat`, ...), text and `--out_json`. MB and MiB are both 2^20 B there (the label was
//! put right in 2023), Gb 10^9 bits. The latency of sends and writes is half the round trip.

use super::sound::{Printed, ordered, same_rate};
use super::text::{Text, columns, is_row, plain, with_bandwidth};
use super::{Flag, Program, is_json};
use hotlink_bench::Record;
use hotlink_study::Error;
use hotlink_study::text::figure;
use serde_json::{Map, Value};

/// MB/s of a MiB/s, and of a Gb/s.
const MIB: f64 = 1.048_576;
const GBIT: f64 = 125.0;

/// How it is found and read.
pub(super) const ENTRY: Program = Program {
    name: "perftest",
    meaning: "perftest (ib_write_bw, ib_send_lat, ...): text, or the JSON of --out_json",
    flags: &[Flag {
        name: "report-gbits",
        meaning: "The JSON is of a run with --report_gbits: it does not tell itself",
    }],
    recognises: |text| match is_json(text) {
        true => text.contains("\"test_info\""),
        false => text.contains("#bytes") && (text.contains("/sec]") || text.contains("[usec]")),
    },
    lacks: |text| (!ends_with_rule(text)).then_some("the line of dashes at its end"),
    read: |text, flags| read(text, flags.contains(&"report-gbits")),
};

fn read(text: &Text<'_>, gbits: bool) -> Result<Vec<Record>, Error> {
    if text.is_json() { json(text, gbits) } else { lines(text) }
}

/// Whether a line of dashes follows the last row.
fn ends_with_rule(text: &str) -> bool {
    let row = |line: &&str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let mut after = text.lines().rev().take_while(|line| !row(line));
    after.any(|line| line.trim().len() > 9 && line.trim().bytes().all(|byte| byte == b'-'))
}

fn lines(text: &Text<'_>) -> Result<Vec<Record>, Error> {
    let (mut records, mut head, mut heads) = (Vec::new(), Record::new(), Vec::new());
    for (number, line) in text.lines() {
        let bare = line.trim();
        if bare.starts_with("#bytes") {
            heads = columns(bare, ']', &["#bytes", "#iterations", "#sl"]);
        } else if let Some(title) = bare.strip_suffix(" Test").filter(|title| is_title(title)) {
            (head, heads) = (titled(title), Vec::new());
        } else if let Some((key, value)) = bare.split_once(':') {
            head = optioned(head, key.trim(), value);
        } else if is_row(line) && !heads.is_empty() {
            let words = text.row(number, line, &heads)?;
            records.push(row(text, number, &heads, &words, &head)?);
        }
    }
    Ok(records)
}

fn is_title(title: &str) -> bool {
    title.ends_with("BW") || title.ends_with("Latency")
}

/// `RDMA_Write Bidirectional BW`, `Send Latency`, `RDMA_Write_BW`.
fn titled(title: &str) -> Record {
    let both = title.contains("Bidirectional");
    let latency = title.contains("Latency");
    let verb = title.split([' ', '_']).find(|word| ["Send", "Write", "Read", "Atomic"].contains(word));
    let verb = verb.map_or_else(|| "unknown".to_owned(), str::to_ascii_lowercase);
    // A read or an atomic is one way of asking and one of answering: not half of anything.
    let one_way = verb == "send" || verb == "write";
    let benchmark = match (latency, one_way) {
        (false, _) => "stream",
        (true, true) => "pingpong",
        (true, false) => "fetch",
    };
    let record = Record::new().with("benchmark", benchmark).with("operation", verb).with("ranks", 2);
    match (both, latency) {
        (true, _) => record.with("direction", "bi"),
        (false, false) => record.with("direction", "uni"),
        (false, true) => record,
    }
}

/// The few of its settings that change what a number means.
fn optioned(mut head: Record, key: &str, value: &str) -> Record {
    let word = value.split_whitespace().next().unwrap_or_default();
    match (key, word.parse::<u64>()) {
        ("Number of qps", Ok(pairs)) => head.set("queue_pairs", pairs),
        ("TX depth", Ok(depth)) => head.set("window", depth),
        ("Mtu", _) => {
            if let Ok(bytes) = word.trim_end_matches("[B]").parse::<u64>() {
                head.set("mtu_B", bytes);
            }
        }
        ("Connection type", _) => head.set("connection", word),
        _ => {}
    }
    head
}

fn row(text: &Text<'_>, line: usize, heads: &[String], words: &[&str], head: &Record) -> Result<Record, Error> {
    let mut record = head.clone();
    for (name, word) in heads.iter().zip(words) {
        let scale = if name.contains("[Gb/sec]") { GBIT } else { MIB };
        match name.split('[').next().unwrap_or_default().trim() {
            "#bytes" => record.set("size_B", text.count(line, word)?),
            "#iterations" => record.set("iterations", text.count(line, word)?),
            "BW average" => record.set("bandwidth_MBps", text.number(line, word)? * scale),
            "BW peak" => record.set("peak_bandwidth_MBps", text.number(line, word)? * scale),
            "MsgRate" => record.set("messages_per_s", text.number(line, word)? * 1e6),
            "t_typical" => record.set("latency_us", text.number(line, word)?),
            "t_avg" => record.set("mean_us", text.number(line, word)?),
            "t_min" => record.set("min_us", text.number(line, word)?),
            "t_max" => record.set("max_us", text.number(line, word)?),
            "99% percentile" => record.set("p99_us", text.number(line, word)?),
            "99.9% percentile" => record.set("p99_9_us", text.number(line, word)?),
            "t_stdev" => record.set("stdev_us", text.number(line, word)?),
            other => record.set(&plain(other), text.number(line, word)?),
        }
    }
    let [rate, messages] = ["BW average", "MsgRate"].map(|head| Printed::find(heads, words, head));
    if let (Some(rate), Some(messages), Some(bytes)) = (rate, messages, record.number("size_B")) {
        let scale = if rate.name.contains("[Gb/sec]") { GBIT } else { MIB };
        let made = ("MsgRate times #bytes", messages.times(bytes));
        same_rate(text, line, (rate, rate.times(scale)), made, "what perftest printed")?;
    }
    sound(text, line, record)
}

/// The record with what follows from it, where its numbers agree. A run without a peak prints zero.
fn sound(text: &Text<'_>, line: usize, record: Record) -> Result<Record, Error> {
    let [peak, average] = ["peak_bandwidth_MBps", "bandwidth_MBps"].map(|key| record.number(key).unwrap_or(0.0));
    // Both are rounded, so a hundredth is no contradiction.
    if peak > 0.0 && peak < 0.99 * average {
        let what = format!("its peak bandwidth is {} MB/s, below the average, {}", figure(peak), figure(average));
        return Err(text.wrong(line, &what, "what perftest printed"));
    }
    Ok(finished(ordered(text, line, record)?))
}

/// A run of some seconds prints only the mean latency.
fn finished(record: Record) -> Record {
    let record = match (record.get("latency_us"), record.number("mean_us")) {
        (None, Some(mean)) => record.with("latency_us", mean),
        _ => record,
    };
    if record.text("benchmark") == Some("pingpong") { with_bandwidth(record) } else { record }
}

fn json(text: &Text<'_>, gbits: bool) -> Result<Vec<Record>, Error> {
    let document = text.json()?;
    let title = document["test_info"]["test"].as_str().unwrap_or_default();
    let mut record = titled(title);
    let results = document["results"].as_object();
    let results =
        results.ok_or_else(|| text.wrong(0, "`results` is not an object", "the JSON of perftest --out_json"))?;
    for (name, key) in [("Number_of_qps", "queue_pairs"), ("TX_depth", "window")] {
        if let Some(value) = document["test_info"][name].as_u64() {
            record.set(key, value);
        }
    }
    let scale = if gbits { GBIT } else { MIB };
    for (name, value) in results {
        let number = value.as_f64().filter(|number| number.is_finite() && *number >= 0.0);
        let number = number.ok_or_else(|| text.wrong(0, &format!("results.{name} is not a number"), "0 or more"))?;
        match name.as_str() {
            "MsgSize" => record.set("size_B", value.as_u64().unwrap_or(number as u64)),
            "n_iterations" => record.set("iterations", value.as_u64().unwrap_or(number as u64)),
            "BW_average" | "bw_avg" => record.set("bandwidth_MBps", number * scale),
            "BW_peak" => record.set("peak_bandwidth_MBps", number * scale),
            "MsgRate" | "msgRate_avg" => record.set("messages_per_s", number * 1e6),
            "t_typical" => record.set("latency_us", number),
            "t_avg" => record.set("mean_us", number),
            "t_min" => record.set("min_us", number),
            "t_max" => record.set("max_us", number),
            "percentile_99" => record.set("p99_us", number),
            "percentile_99.9" => record.set("p99_9_us", number),
            "t_stdev" => record.set("stdev_us", number),
            other => record.set(&plain(other), Value::from(number)),
        }
    }
    contradiction(text, results, scale)?;
    Ok(vec![sound(text, 0, record)?])
}

/// Refuses a bandwidth that is not the rate of messages times their size. The flag for Gb/s that was forgotten, or is too
/// much, shows here.
fn contradiction(text: &Text<'_>, results: &Map<String, Value>, scale: f64) -> Result<(), Error> {
    let printed = |names: [&'static str; 2]| {
        let number = |name: &'static str| results.get(name.strip_prefix("results.")?);
        names.into_iter().find_map(|name| Printed::of(name, &number(name)?.to_string()))
    };
    let size = results.get("MsgSize").and_then(Value::as_f64);
    let (rate, messages) =
        (printed(["results.BW_average", "results.bw_avg"]), printed(["results.MsgRate", "results.msgRate_avg"]));
    let (Some(size), Some(rate), Some(messages)) = (size, rate, messages) else { return Ok(()) };
    let unit = if scale == MIB { "MiB/s" } else { "Gb/s" };
    let allowed = format!(
        "what perftest printed, read as {unit} here; --report-gbits where and only where it ran with --report_gbits"
    );
    let made = format!("{} times MsgSize", messages.name);
    same_rate(text, 0, (rate, rate.times(scale)), (&made, messages.times(size)), &allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bandwidth_that_the_messages_do_not_make_is_refused() {
        let of = |average: &str, gbits: bool| {
            let text = format!(
                r#"{{"test_info": {{"test": "RDMA_Write_BW"}},
                "results": {{"MsgSize": 65536, "n_iterations": 5000, "BW_average": {average}, "MsgRate": 0.744057}}}}"#
            );
            read(&Text::new("f", &text), gbits)
        };
        assert!((of("390.10", true).unwrap()[0].number("bandwidth_MBps").unwrap() - 48_762.5).abs() < 1e-6);
        assert!(of("46503.56", false).is_ok());
        for (average, gbits) in [("390.10", false), ("46503.56", true), ("400.10", true)] {
            let said = of(average, gbits).unwrap_err().to_string();
            assert!(said.starts_with("f: results.BW_average is") && said.contains("--report-gbits"), "{said}");
        }
    }

    #[test]
    fn rows_that_contradict_themselves_are_refused() {
        let of = |row: &str| {
            let heads = "#bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]";
            read(&Text::new("f", &format!("                    RDMA_Write BW Test\n {heads}\n {row}\n")), false)
        };
        assert!(of("65536 5000 46600.00 46503.56 0.744057").is_ok());
        // Runs of some seconds print no peak.
        assert!(of("65536 5000 0.00 46503.56 0.744057").is_ok());
        let said = of("65536 5000 36000.00 46503.56 0.744057").unwrap_err().to_string();
        assert!(said.starts_with("f:3: its peak bandwidth is"), "{said}");
        let said = of("65536 5000 46600.00 46503.56 0.500000").unwrap_err().to_string();
        assert!(said.starts_with("f:3: BW average[MB/sec] is"), "{said}");
    }
}
