//! iperf3, text and `-J` JSON: the receiver's rate, with the median over the intervals where they are printed. Of UDP
//! only the receiver's intervals count, because a sender's include lost packets. Each direction of `--bidir` and each
//! run of a file makes a record; the server's report of a run (`--get-server-output`) makes none. Bits count in 10^3,
//! bytes (`-f K`, `-f M`) in 2^10.

use super::text::Text;
use super::{Program, is_json};
use hotlink_bench::{Record, Summary};
use hotlink_study::Error;
use serde_json::{Map, Value, json};

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

/// A direction of a run, seen from the client; without `--bidir` only the reverse is named.
fn directed(record: Record, is_reverse: bool, is_both: bool) -> Record {
    let record = match (is_reverse, is_both) {
        (true, _) => record.with("direction", "reverse"),
        (false, true) => record.with("direction", "forward"),
        (false, false) => record,
    };
    if is_both { record.with("mode", "bidir") } else { record }
}

/// `-J` of several runs in one file is one document behind the other.
fn json(text: &Text<'_>) -> Result<Vec<Record>, Error> {
    let mut records = Vec::new();
    // Of `--json-stream`, a line each: `{"event": "interval", "data": ...}`.
    let mut streamed: Option<Value> = None;
    for document in serde_json::Deserializer::from_str(text.text).into_iter::<Value>() {
        let document =
            document.map_err(|error| text.wrong(error.line(), &format!("is not JSON: {error}"), "iperf3 -J"))?;
        let (event, data) = (document["event"].as_str(), &document["data"]);
        match (event, &mut streamed) {
            (None, _) => records.extend(of_document(text, &document)?),
            (Some("start"), _) => streamed = Some(json!({"start": data, "intervals": []})),
            (Some("error"), _) => records.extend(of_document(text, &json!({"error": data}))?),
            (Some("interval"), Some(run)) => {
                run["intervals"].as_array_mut().into_iter().for_each(|all| all.push(data.clone()))
            }
            (Some("end"), Some(run)) => {
                run["end"] = data.clone();
                records.extend(of_document(text, run)?);
                streamed = None;
            }
            _ => {}
        }
    }
    match streamed {
        Some(_) => Err(text.wrong(0, "is cut short: the run has no event `end`", "what iperf3 --json-stream printed")),
        None => Ok(records),
    }
}

fn of_document(text: &Text<'_>, document: &Value) -> Result<Vec<Record>, Error> {
    if let Some(error) = document["error"].as_str() {
        return Err(text.wrong(0, &format!("iperf3 failed: {error}"), "the JSON of a run that ended well"));
    }
    let test = &document["start"]["test_start"];
    let is_set = |key: &str| test[key].as_u64() == Some(1);
    let no_end = Map::new();
    let end = document["end"].as_object().unwrap_or(&no_end);
    let is_both = is_set("bidir") || end.keys().any(|key| key.ends_with(BACK));
    let mut records = vec![direction(text, document, (is_set("reverse") && !is_both, is_both), "")?];
    if is_both {
        records.push(direction(text, document, (true, true), BACK)?);
    }
    Ok(records)
}

/// The suffix of keys of the server's own sending, with `--bidir`.
const BACK: &str = "_bidir_reverse";

/// The record of one direction, whose keys have this ending.
fn direction(
    text: &Text<'_>,
    document: &Value,
    (is_reverse, is_both): (bool, bool),
    ending: &str,
) -> Result<Record, Error> {
    let (test, end) = (&document["start"]["test_start"], &document["end"]);
    let streams = test["num_streams"].as_u64().unwrap_or(1);
    let protocol = test["protocol"].as_str().unwrap_or("tcp").to_lowercase();
    let is_udp = protocol == "udp";
    let mut record = directed(head(&protocol, streams), is_reverse, is_both);
    // Each stream's limit (-b), which is the sender's, not the network's.
    if let Some(target) = test["target_bitrate"].as_f64().filter(|&bits| bits > 0.0) {
        record.set("target_bandwidth_MBps", target * streams as f64 * BIT);
    }
    if let Some(size) = test["blksize"].as_u64() {
        record.set("size_B", size);
    }
    let of = |key: &str, what: &str| end[format!("{key}{ending}")][what].as_f64().filter(|value| *value >= 0.0);
    let rate = |key: &str| of(key, "bits_per_second").filter(|rate| rate.is_finite());
    let lost = of("sum_received", "lost_percent").or_else(|| of("sum", "lost_percent")).map(|percent| percent / 100.0);
    // Of UDP, versions up to 3.9 print only the sent bytes, and the share that was lost: datagrams are of one size.
    let arrived = || Some(rate("sum")? * (1.0 - lost?));
    let received = rate("sum_received");
    let received =
        if is_udp { received.or_else(arrived) } else { received.or_else(|| rate("sum")).or_else(|| rate("sum_sent")) };
    let missing = || {
        let what = format!("`end.sum_received{ending}.bits_per_second` is not a number");
        text.wrong(0, &what, "the JSON of iperf3 -J")
    };
    record.set("bandwidth_MBps", received.ok_or_else(missing)? * BIT);
    if is_udp {
        let jitter = of("sum_received", "jitter_ms").or_else(|| of("sum", "jitter_ms"));
        record = with_loss(record, jitter, lost);
    }
    let intervals = document["intervals"].as_array().map(Vec::as_slice).unwrap_or_default();
    let sums = intervals.iter().map(|interval| &interval[format!("sum{ending}")]);
    // Without a word about it, the sum is the sender's where the client sends: the text is the client's.
    let is_received = |sum: &Value| !sum["sender"].as_bool().unwrap_or(!is_reverse);
    let kept = sums.filter(|sum| sum["omitted"] != Value::Bool(true) && (!is_udp || is_received(sum)));
    let samples = kept.filter_map(|sum| {
        let lasted = sum["seconds"].as_f64().or_else(|| Some(sum["end"].as_f64()? - sum["start"].as_f64()?));
        Some((lasted.unwrap_or(0.0), sum["bits_per_second"].as_f64()? * BIT))
    });
    Ok(with_samples(record, &samples.collect::<Vec<_>>()))
}

fn with_loss(mut record: Record, jitter_ms: Option<f64>, lost_share: Option<f64>) -> Record {
    if let Some(jitter) = jitter_ms {
        record.set("jitter_us", jitter * 1e3);
    }
    if let Some(lost) = lost_share {
        record.set("lost_share", lost);
    }
    record
}

/// The share of the longest interval that another must last to count as it does. The last one may be a rest of a few
/// packets.
const WHOLE: f64 = 0.9;

/// Adds the median over the intervals (seconds, rate) and its 95 % interval to the mean over all.
fn with_samples(record: Record, intervals: &[(f64, f64)]) -> Record {
    let longest = intervals.iter().map(|(seconds, _)| *seconds).fold(0.0, f64::max);
    let whole = intervals.iter().filter(|(seconds, _)| *seconds >= WHOLE * longest);
    let samples: Vec<f64> = whole.map(|(_, rate)| *rate).collect();
    match Summary::of(&samples) {
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
    /// `--bidir` names the sender or receiver: `TX-C`, `RX-C`, of a server `TX-S`, `RX-S`.
    way: Option<String>,
    from: f64,
    to: f64,
    rate: f64,
    role: Option<&'static str>,
    /// Of UDP, at the receiver.
    jitter_ms: Option<f64>,
    lost_share: Option<f64>,
}

/// The parts of one run in a file.
#[derive(Default)]
struct Run {
    lines: Vec<Line>,
    is_udp: bool,
    is_reverse: bool,
    /// Line of the file at which its table begins.
    starts: usize,
}

/// Lines before and after a client's run.
const ENDS: [&str; 2] = ["Connecting to host", "iperf Done."];
/// The same, and those of a server.
const BETWEEN: [&str; 4] = [ENDS[0], ENDS[1], "Accepted connection", "Server listening"];

fn lines(text: &Text<'_>) -> Result<Vec<Record>, Error> {
    let (mut runs, mut run) = (Vec::new(), Run::default());
    // The lines that follow are the same run as the server saw it.
    let mut is_server_s = false;
    for (number, line) in text.lines() {
        is_server_s = (is_server_s || line.contains("Server output:")) && !ENDS.iter().any(|word| line.contains(word));
        if is_server_s {
            continue;
        }
        // `--timestamps` puts a time before.
        let line = line.find('[').filter(|_| line.contains("/sec")).map_or(line, |at| &line[at..]);
        let is_row = line.contains("/sec") && line.starts_with('[') && !line.contains("(omitted)");
        let parsed = if is_row { Some(one(text, number, line)?) } else { None };
        let begins_anew = parsed.as_ref().is_some_and(|parsed| parsed.role.is_none() && run.is_summed());
        if begins_anew || BETWEEN.iter().any(|word| line.contains(word)) {
            runs.push(std::mem::take(&mut run));
        }
        run.is_udp |= line.contains("Total Datagrams") || line.contains("Jitter");
        run.is_reverse |= line.contains("Reverse mode");
        if let Some(parsed) = parsed {
            run.starts = if run.lines.is_empty() { number } else { run.starts };
            run.lines.push(parsed);
        }
    }
    runs.push(run);
    let mut records = Vec::new();
    for run in runs.iter().filter(|run| !run.lines.is_empty()) {
        records.extend(run.records(text)?);
    }
    Ok(records)
}

impl Run {
    fn is_summed(&self) -> bool {
        self.lines.iter().any(|line| line.role.is_some())
    }

    /// One for each direction.
    fn records(&self, text: &Text<'_>) -> Result<Vec<Record>, Error> {
        let mut ways: Vec<Option<&str>> = Vec::new();
        for line in &self.lines {
            if !ways.contains(&line.way.as_deref()) {
                ways.push(line.way.as_deref());
            }
        }
        ways.into_iter().map(|way| self.record(text, way)).collect()
    }

    fn record(&self, text: &Text<'_>, way: Option<&str>) -> Result<Record, Error> {
        let mine = || self.lines.iter().filter(|line| line.way.as_deref() == way);
        let is_sum = mine().any(|line| line.id == "SUM");
        let of_all = || mine().filter(|line| !is_sum || line.id == "SUM");
        let streams = mine().filter(|line| line.role == Some("receiver") && line.id != "SUM").count().max(1);
        let last = |role| of_all().rfind(|line| line.role == Some(role));
        let sent = || last("sender").filter(|_| !self.is_udp);
        let Some(whole) = last("receiver").or_else(sent) else {
            let (what, allowed) = match last("sender") {
                Some(_) => ("tells what was sent, not what arrived", "a run of UDP with a line that ends in receiver"),
                None => ("is a run without its sum", "lines that end in sender or receiver"),
            };
            return Err(text.wrong(self.starts, what, allowed));
        };
        let is_reverse = way.map_or(self.is_reverse, |way| ["RX-C", "TX-S"].contains(&way));
        let record = directed(head(if self.is_udp { "udp" } else { "tcp" }, streams as u64), is_reverse, way.is_some());
        let record = record.with("bandwidth_MBps", whole.rate);
        let record = with_loss(record, whole.jitter_ms, whole.lost_share);
        let is_step = |line: &&Line| line.role.is_none() && line.to - line.from < whole.to - whole.from;
        let is_told = |line: &&Line| !self.is_udp || line.lost_share.is_some();
        let steps = of_all().filter(is_step).filter(is_told);
        let samples: Vec<(f64, f64)> = steps.map(|line| (line.to - line.from, line.rate)).collect();
        Ok(with_samples(record, &samples))
    }
}

fn one(text: &Text<'_>, number: usize, line: &str) -> Result<Line, Error> {
    let wrong = || text.wrong(number, "is not a line of results", "[ ID] FROM-TO sec SIZE RATE UNIT/sec ...");
    let (id, rest) = line.split_once(']').ok_or_else(wrong)?;
    let tag = rest.trim_start().strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (way, rest) = tag.map_or((None, rest), |(way, rest)| (Some(way.trim().to_owned()), rest));
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
    // `0.015 ms  3815/7630 (50%)`
    let (mut jitter_ms, mut lost_share) = (None, None);
    if let [jitter, "ms", counted, ..] = words[at + 1..]
        && let Some((lost, all)) = counted.split_once('/')
    {
        let (lost, all) = (text.number(number, lost)?, text.number(number, all)?);
        jitter_ms = Some(text.number(number, jitter)?);
        lost_share = (all > 0.0).then_some(lost / all);
    }
    let rate = text.number(number, words[at - 1])? * unit;
    Ok(Line { id, way, from, to, rate, role, jitter_ms, lost_share })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<Record> {
        read(&Text::new("f", text)).unwrap()
    }
    fn shown(record: &Record, keys: &[&str]) -> String {
        let one = |key: &&str| record.get(key).map_or_else(|| "-".to_owned(), ToString::to_string);
        keys.iter().map(one).collect::<Vec<_>>().join(" ")
    }
    const KEYS: [&str; 6] = ["via", "direction", "bandwidth_MBps", "mean_bandwidth_MBps", "jitter_us", "lost_share"];

    const UDP: &str = "[ ID] Interval           Transfer     Bitrate         Total Datagrams
[  5]   0.00-1.00   sec   119 MBytes  1.00 Gbits/sec  3815
[  5]   1.00-2.00   sec   119 MBytes  1.00 Gbits/sec  3815
[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5]   0.00-2.00   sec   238 MBytes  1.00 Gbits/sec  0.000 ms  0/7630 (0%)  sender
[  5]   0.00-2.00   sec   119 MBytes   500 Mbits/sec  0.015 ms  3815/7630 (50%)  receiver
";

    #[test]
    fn of_udp_what_arrived_counts_not_what_was_sent() {
        let found = of(UDP);
        assert_eq!(shown(&found[0], &KEYS), "\"udp\" - 62.5 - 15.0 0.5");
        let json = |end: &str, sum: &str| {
            format!(
                r#"{{"start": {{"test_start": {{"protocol": "UDP"}}}}, "intervals": [{{"sum": {sum}}}, {{"sum": {sum}}}],
                "end": {{"sum": {{"bits_per_second": 1e9, "jitter_ms": 0.015, "lost_percent": 50}}{end}}}}}"#
            )
        };
        let received = r#", "sum_received": {"bits_per_second": 5e8, "lost_percent": 50}"#;
        assert_eq!(shown(&of(&json(received, r#"{"bits_per_second": 1e9}"#))[0], &KEYS), "\"udp\" - 62.5 - 15.0 0.5");
        // Up to 3.9.
        assert_eq!(shown(&of(&json("", r#"{"bits_per_second": 1e9}"#))[0], &KEYS), "\"udp\" - 62.5 - 15.0 0.5");
        let at_receiver = of(&json(received, r#"{"bits_per_second": 5.2e8, "sender": false}"#));
        assert_eq!(shown(&at_receiver[0], &KEYS), "\"udp\" - 65.0 62.5 15.0 0.5");
        let cut = UDP.lines().take(5).map(|line| format!("{line}\n")).collect::<String>();
        let said = read(&Text::new("f", &cut)).unwrap_err().to_string();
        assert!(said.starts_with("f:2: tells what was sent, not what arrived"), "{said}");
    }

    const TCP: &str = "Connecting to host 10.0.0.2, port 5201
[ ID] Interval           Transfer     Bitrate
[  5]   0.00-1.00   sec  1.09 GBytes  9.20 Gbits/sec
[  5]   1.00-2.00   sec  1.09 GBytes  9.60 Gbits/sec
[  5]   2.00-2.04   sec  4.50 MBytes  0.94 Gbits/sec
[  5]   0.00-2.04   sec  2.19 GBytes  9.40 Gbits/sec    0             sender
[  5]   0.00-2.04   sec  2.18 GBytes  9.18 Gbits/sec                  receiver

iperf Done.
";

    #[test]
    fn an_interval_that_is_cut_short_is_no_sample() {
        assert_eq!(shown(&of(TCP)[0], &["n", "min", "bandwidth_MBps"]), "2 1150.0 1175.0");
        let interval = |seconds: f64, rate: f64| json!({"sum": {"seconds": seconds, "bits_per_second": rate}});
        let document = json!({"start": {"test_start": {"protocol": "TCP"}}, "end": {"sum_received": {"bits_per_second": 9e9}},
            "intervals": [interval(1.0, 8e9), interval(1.0, 8e9), interval(0.04, 1e9)]});
        assert_eq!(shown(&of(&document.to_string())[0], &["n", "min"]), "2 1000.0");
    }

    #[test]
    fn what_the_server_says_of_a_run_is_no_second_run() {
        let run = TCP.trim_end_matches("\niperf Done.\n");
        let server = run.replace("Connecting to host 10.0.0.2, port 5201", "Accepted connection from 10.0.0.1, port 4");
        assert_eq!(of(&format!("{run}\nServer output:\nServer listening on 5201\n{server}\niperf Done.\n")).len(), 1);
        assert_eq!(of(&format!("{run}\nServer output:\n{server}\n{TCP}")).len(), 2);
    }

    #[test]
    fn times_before_lines_and_a_stream_of_json_are_read() {
        let stamped: String = TCP.lines().map(|line| format!("Thu Nov 28 10:00:00 2024 {line}\n")).collect();
        let keys = ["n", "bandwidth_MBps", "mean_bandwidth_MBps"];
        assert_eq!(shown(&of(&stamped)[0], &keys), shown(&of(TCP)[0], &keys));
        let event = |name: &str, data: Value| json!({"event": name, "data": data}).to_string() + "\n";
        let interval = |rate: f64| event("interval", json!({"sum": {"seconds": 1.0, "bits_per_second": rate}}));
        let begun = event("start", json!({"test_start": {"protocol": "TCP"}})) + &interval(8e9) + &interval(8e9);
        let whole = begun.clone() + &event("end", json!({"sum_received": {"bits_per_second": 9e9}}));
        assert_eq!(shown(&of(&(whole.clone() + &whole))[1], &keys), "2 1000.0 1125.0");
        let said = |text: &str| read(&Text::new("f", text)).unwrap_err().to_string();
        assert!(said(&begun).contains("no event `end`"), "{}", said(&begun));
        assert!(said(&event("error", json!("unable to connect"))).contains("iperf3 failed: unable"));
    }

    #[test]
    fn each_run_and_each_direction_is_a_record() {
        let rev = "Connecting to host x, port 5201
Reverse mode, remote host x is sending
[  5]   0.00-1.00   sec  1.09 GBytes  9.40 Gbits/sec
[  5]   1.00-2.00   sec  1.09 GBytes  9.40 Gbits/sec
[  5]   0.00-2.00   sec  2.19 GBytes  9.40 Gbits/sec    0             sender
[  5]   0.00-2.00   sec  2.18 GBytes  9.38 Gbits/sec                  receiver

iperf Done.
";
        let found = of(&format!("{rev}{UDP}"));
        assert_eq!(found.len(), 2);
        assert_eq!(shown(&found[0], &KEYS), "\"tcp\" \"reverse\" 1175.0 1172.5 - -");
        assert_eq!(shown(&found[1], &KEYS), "\"udp\" - 62.5 - 15.0 0.5");
        // Without a line between them, a table that begins anew separates them.
        assert_eq!(of(&format!("{}{UDP}", rev.replace("iperf Done.\n", ""))).len(), 2);
        let both = "[ ID][Role] Interval           Transfer     Bitrate         Retr  Cwnd
[  5][TX-C]   0.00-1.00   sec  1.09 GBytes  9.40 Gbits/sec    0   1.5 MBytes
[  7][RX-C]   0.00-1.00   sec   119 MBytes  1.00 Gbits/sec
[  5][TX-C]   1.00-2.00   sec  1.09 GBytes  9.40 Gbits/sec    0   1.5 MBytes
[  7][RX-C]   1.00-2.00   sec   119 MBytes  1.00 Gbits/sec
[  5][TX-C]   0.00-2.00   sec  3.28 GBytes  9.40 Gbits/sec    0             sender
[  5][TX-C]   0.00-2.00   sec  3.28 GBytes  9.38 Gbits/sec                  receiver
[  7][RX-C]   0.00-2.00   sec   357 MBytes  1.00 Gbits/sec    0             sender
[  7][RX-C]   0.00-2.00   sec   357 MBytes  1.00 Gbits/sec                  receiver
";
        let json = r#"{"start": {"test_start": {"protocol": "TCP", "bidir": 1}}, "intervals": [
            {"sum": {"bits_per_second": 9.4e9}, "sum_bidir_reverse": {"bits_per_second": 1e9}},
            {"sum": {"bits_per_second": 9.4e9}, "sum_bidir_reverse": {"bits_per_second": 1e9}}], "end": {
            "sum_received": {"bits_per_second": 9.38e9}, "sum_received_bidir_reverse": {"bits_per_second": 1e9}}}"#;
        for found in [of(both), of(json)] {
            assert_eq!(found.len(), 2);
            assert_eq!(shown(&found[0], &KEYS), "\"tcp\" \"forward\" 1175.0 1172.5 - -");
            assert_eq!(shown(&found[1], &KEYS), "\"tcp\" \"reverse\" 125.0 125.0 - -");
            assert!(found.iter().all(|one| shown(one, &["streams", "mode"]) == "1 \"bidir\""));
        }
        assert_eq!(of(&format!("{json}\n{json}")).len(), 4);
    }
}
