//! OSU micro-benchmarks, from 3.x to 7.x: a title, options as comments, heads of columns, rows. MB is 10^6 B.

use super::sound::{Printed, ordered, same_rate};
use super::text::{OF_ALL_PARTS, Text, collective, columns, is_row, plain, with_bandwidth};
use super::{Program, is_collective, is_json};
use crate::lines::value;
use hotlink_bench::Record;
use hotlink_study::Error;

/// Heads without a unit in brackets.
const WHOLE: [&str; 6] = ["Size", "MB/s", "Messages/s", "Iterations", "Validation", "Pairs"];

/// How it is found and read.
pub(super) const ENTRY: Program = Program {
    name: "osu",
    meaning: "OSU micro-benchmarks: text of any of them",
    flags: &[],
    recognises: |text| !is_json(text) && text.contains("# OSU "),
    lacks: |_| None,
    read: |text, _| read(text),
};

fn read(text: &Text<'_>) -> Result<Vec<Record>, Error> {
    let mut records = Vec::new();
    let (mut head, mut heads): (Record, Vec<String>) = (Record::new(), Vec::new());
    // A line of as many words as the table has columns that is no row, unless the table ends before it.
    let mut odd = None;
    for (number, line) in text.lines() {
        let comment = line.trim_start().strip_prefix('#').map(str::trim);
        if let Some(title) = comment.and_then(|comment| comment.strip_prefix("OSU ")) {
            (head, heads, odd) = (titled(title), Vec::new(), None);
        } else if let Some(comment) = comment {
            if comment.starts_with("Size") || comment.contains("(us)") || comment.contains("(MB/s)") {
                heads = columns(comment, ')', &WHOLE);
            } else {
                head = optioned(head, comment);
            }
        } else if let Some(times) = line.trim().strip_prefix("nprocs: ") {
            records.push(started(text, number, times, head.clone())?);
        } else if is_row(line) && !heads.is_empty() {
            if let Some(odd) = odd {
                let what = "is none of the rows around it: its size does not begin with a digit";
                return Err(text.wrong(odd, what, &heads.join(", ")));
            }
            let words = text.row(number, line, &heads)?;
            records.push(row(text, number, &heads, &words, head.clone())?);
        } else if !heads.is_empty() && line.split_whitespace().count() == heads.len() {
            odd = odd.or(Some(number));
        }
    }
    Ok(records)
}

/// The output of `osu_init`: `nprocs: 2, min: 150 ms, max: 151 ms, avg: 150 ms`.
fn started(text: &Text<'_>, line: usize, times: &str, head: Record) -> Result<Record, Error> {
    let (ranks, times) = times.split_once(", ").unwrap_or((times, ""));
    let mut record = head.with("ranks", text.count(line, ranks.trim())?);
    for (name, time) in times.split(", ").filter_map(|pair| pair.split_once(": ")) {
        let us = text.number(line, time.trim().trim_end_matches(" ms"))? * 1e3;
        match name.trim() {
            "avg" => record.set("latency_us", us),
            name => record.set(&format!("{}_us", plain(name)), us),
        }
    }
    Ok(record)
}

/// The facts in a title: `MPI-CUDA Bi-Directional Bandwidth Test v7.4`.
fn titled(title: &str) -> Record {
    let (name, version) = title.split_once(" Test").unwrap_or((title, ""));
    // `Test v7.4`; up to 3.1 `Test (Version 3.1)`.
    let version = version.trim().trim_start_matches("(Version ").trim_end_matches(')').trim_start_matches('v');
    // Of the same collectives by NCCL or RCCL.
    let library = ["NCCL ", "RCCL "].into_iter().find(|library| name.starts_with(library));
    let name = match name.strip_prefix(library.unwrap_or("MPI")) {
        Some(rest) if library.is_some() => rest,
        // `MPI`, `MPI-CUDA`, ... and then the name; but `MPI_Put` is a name.
        Some(rest) if !rest.starts_with('_') => rest.split_once(' ').map_or(rest, |(_, rest)| rest),
        _ => name.strip_prefix("MPI_").unwrap_or(name),
    };
    let (benchmark, both) = benchmark(name);
    let record = Record::new().with("benchmark", benchmark);
    let way = match both {
        true => Some("bi"),
        false => (record.text("benchmark") == Some("stream")).then_some("uni"),
    };
    let record = way.into_iter().fold(record, |record, way| record.with("direction", way));
    let record = library.into_iter().fold(record, |record, library| record.with("via", plain(library)));
    let is_of_all = record.text("benchmark").is_some_and(|name| name.replace('_', "-").contains("reduce-scatter"));
    let record = if is_of_all { record.with("size_is", OF_ALL_PARTS) } else { record };
    if version.is_empty() { record } else { record.with("program_version", version) }
}

/// Our name of a benchmark of theirs, and whether it sends both ways at once.
fn benchmark(name: &str) -> (String, bool) {
    let known = match name.to_ascii_lowercase().as_str() {
        "latency" => "pingpong",
        "bandwidth" => "stream",
        "bi-directional bandwidth" => return ("stream".to_owned(), true),
        "multiple bandwidth / message rate" => "rate",
        other => {
            let both = other.contains("bi-directional");
            let bare = other.trim_end_matches(" latency").trim_end_matches(" bandwidth").replace(" bi-directional", "");
            return (collective(&plain(&bare)), both);
        }
    };
    (known.to_owned(), false)
}

/// The facts about the run in a comment between title and table.
fn optioned(head: Record, comment: &str) -> Record {
    let mut head = head;
    // Of `--format osu`: `; fabric: gige, method: packet; median of half round trips`.
    if let Some(said) = comment.strip_prefix("not OSU's program but hotlink, in its form; ") {
        let said = said.split(';').next().unwrap_or_default().split(", ");
        said.filter_map(|pair| pair.split_once(": "))
            .for_each(|(key, text)| head.set(key, value(key, text.to_owned())));
        // A simulated collective runs one rank a node where it does not say otherwise.
        let is_whole = head.get("ranks").is_none() && is_collective(head.text("benchmark").unwrap_or_default());
        if let Some(nodes) = head.get("nodes").filter(|_| is_whole).cloned() {
            head.set("ranks", nodes);
        }
        return head;
    }
    for part in comment.split(['[', ']']) {
        if let Some((key, value)) = part.split_once(':') {
            let value = value.trim().trim_end_matches('.');
            match (key.trim(), value.parse::<u64>()) {
                ("pairs", Ok(pairs)) => head = head.with("pairs", pairs).with("ranks", pairs.saturating_mul(2)),
                ("window size", Ok(window)) => head.set("window", window),
                ("Window creation", _) => head.set("window_creation", value),
                ("Synchronization", _) => head.set("synchronization", value),
                ("Datatype", _) => head.set("datatype", value),
                _ => {}
            }
        }
    }
    head
}

fn row(text: &Text<'_>, line: usize, heads: &[String], words: &[&str], head: Record) -> Result<Record, Error> {
    let mut record = head;
    for (name, word) in heads.iter().zip(words) {
        match name.as_str() {
            "Size" => record.set("size_B", text.count(line, word)?),
            "Iterations" => record.set("iterations", text.count(line, word)?),
            "Validation" => record.set("verified", *word == "Pass"),
            "Overlap(%)" => record.set("overlap", text.number(line, word)? / 100.0),
            name => record.set(&key(name), text.number(line, word)?),
        }
    }
    let [rate, messages] = ["MB/s", "Messages/s"].map(|head| Printed::find(heads, words, head));
    if let (Some(rate), Some(messages), Some(bytes)) = (rate, messages, record.number("size_B")) {
        let made = ("its messages and their size", messages.times(bytes * 1e-6));
        same_rate(text, line, (rate, rate.times(1.0)), made, "what OSU printed")?;
    }
    let record = ordered(text, line, record)?;
    Ok(if record.text("benchmark") == Some("pingpong") { with_bandwidth(record) } else { record })
}

fn key(name: &str) -> String {
    match name {
        "Latency (us)" | "Avg Latency(us)" | "Overall(us)" | "Avg Lat(us)" => "latency_us".to_owned(),
        "Min Latency(us)" | "Min Lat(us)" => "min_us".to_owned(),
        "Max Latency(us)" | "Max Lat(us)" => "max_us".to_owned(),
        "Bandwidth (MB/s)" | "MB/s" => "bandwidth_MBps".to_owned(),
        "Messages/s" => "messages_per_s".to_owned(),
        "Compute(us)" => "computed_us".to_owned(),
        "Pure Comm.(us)" => "pure_us".to_owned(),
        other => match other.strip_suffix("(MB/s)") {
            Some(bare) => format!("{}_MBps", plain(bare)),
            None => format!("{}_us", plain(other.trim_end_matches("(us)"))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Vec<Record>, Error> {
        read(&Text::new("f", text))
    }

    #[test]
    fn what_stands_between_rows_and_is_none_is_told_with_its_line() {
        let table =
            |between: &str| format!("# OSU MPI Latency Test v5.8\n# Size  Latency (us)\n8  1.50\n{between}16  1.7\n");
        let said = of(&table("sixteen 2\n")).unwrap_err().to_string();
        assert!(said.starts_with("f:4: is none of the rows around it"), "{said}");
        // Other lines of a log, and those after the table.
        assert_eq!(of(&table("\nWarning: the cable is long\n")).unwrap().len(), 2);
        assert_eq!(of(&format!("{}all done\n# OSU MPI Latency Test v5.8\n", table(""))).unwrap().len(), 2);
    }

    #[test]
    fn a_row_that_contradicts_itself_is_refused() {
        let rate = |mbps: &str| {
            of(&format!(
                "# OSU MPI Multiple Bandwidth / Message Rate Test v5.8\n# [ pairs: 1 ] [ window size: 64 ]\n\
                 # Size                  MB/s        Messages/s\n8 {mbps} 12500000.00\n"
            ))
        };
        assert!(rate("100.00").is_ok());
        let said = rate("125.00").unwrap_err().to_string();
        assert!(said.starts_with("f:4: MB/s is 125 MB/s, but its messages and their size make 100 MB/s"), "{said}");
        let times = |least: &str| {
            let heads = "# Size  Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations";
            of(&format!("# OSU MPI Allreduce Latency Test v5.8\n{heads}\n8 5.20 {least} 7.00 1000\n"))
        };
        assert!(times("5.20").is_ok());
        let said = times("6.00").unwrap_err().to_string();
        assert!(said.starts_with("f:3: min_us is 6, above latency_us, 5.2"), "{said}");
    }

    #[test]
    fn a_name_and_a_direction_are_those_of_measure() {
        let told = |title: &str| {
            let record = titled(title);
            let text = |key| record.text(key).unwrap_or("-").to_owned();
            [text("benchmark"), text("direction"), text("program_version")].join(" ")
        };
        for (title, expected) in [
            ("MPI Bandwidth Test (Version 3.1)", "stream uni 3.1"),
            ("MPI Bi-Directional Bandwidth Test v7.4", "stream bi 7.4"),
            ("MPI Broadcast Latency Test v7.4", "bcast - 7.4"),
            ("MPI Non-blocking Broadcast Latency Test v7.4", "non_blocking_bcast - 7.4"),
            ("MPI Reduce_scatter Latency Test v7.4", "reduce-scatter - 7.4"),
            ("MPI All-to-Allv Personalized Exchange Latency Test v7.4", "alltoallv - 7.4"),
            ("MPI Non-blocking All-to-All Latency Test v7.4", "non_blocking_alltoall - 7.4"),
            ("MPI Allgatherv Latency Test v7.4", "allgatherv - 7.4"),
            ("NCCL Allreduce Latency Test v7.4", "allreduce - 7.4"),
            ("MPI Init Test v7.4", "init - 7.4"),
        ] {
            assert_eq!(told(title), expected, "{title}");
        }
    }
}
