//! Intel MPI Benchmarks: `# Benchmarking NAME`, `# #processes = N`, heads of columns, rows. MB is 10^6 B from version
//! 2018 on, 2^20 B before. Ping-pong's time is half the round trip; the greatest over the ranks is `latency_us`.

use super::text::{Text, is_row, plain};
use super::{Program, is_json};
use hotlink_bench::Record;
use hotlink_study::Error;

/// How it is found and read.
pub(super) const ENTRY: Program = Program {
    name: "imb",
    meaning: "Intel MPI Benchmarks: text of one run with any number of benchmarks",
    flags: &[],
    recognises: |text| !is_json(text) && text.contains("MPI Benchmarks "),
    lacks: |text| {
        let is_whole = text.contains("All processes entering MPI_Finalize");
        (!is_whole).then_some("'All processes entering MPI_Finalize'")
    },
    read: |text, _| read(text),
};

fn read(text: &Text<'_>) -> Result<Vec<Record>, Error> {
    let mut records = Vec::new();
    let mut mega = 1.0;
    let (mut version, mut head, mut heads) = (None, Record::new(), Vec::new());
    for (number, line) in text.lines() {
        let bare = line.trim();
        let comment = bare.strip_prefix('#').map(str::trim);
        if let Some((_, told)) = bare.split_once("MPI Benchmarks ") {
            let told = told.split([',', ' ']).next().unwrap_or_default().to_owned();
            mega = if is_old(&told) { 1.048_576 } else { 1.0 };
            version = Some(told);
        } else if let Some(name) = comment.and_then(|comment| comment.strip_prefix("Benchmarking ")) {
            (head, heads) = (named(name, version.as_deref()), Vec::new());
        } else if let Some(processes) = comment.and_then(|comment| comment.strip_prefix("#processes =")) {
            let word = processes.trim().split([';', ' ']).next().unwrap_or_default();
            head.set("ranks", text.count(number, word)?);
        } else if bare.starts_with("#bytes") || bare.starts_with("#repetitions") || bare.starts_with("Group") {
            heads = bare.split_whitespace().map(str::to_owned).collect();
        } else if let Some(mode) = comment.and_then(|comment| comment.strip_prefix("MODE:")) {
            head.set("mode", plain(mode));
        } else if is_row(line) && !heads.is_empty() && !is_failure(bare) {
            let words = text.row(number, line, &heads)?;
            records.push(row(text, number, &heads, &words, head.clone(), mega)?);
        }
    }
    Ok(records)
}

/// Whether a version's MB is 2^20 B: 3.x, 4.x, 2017.
fn is_old(version: &str) -> bool {
    let major = version.split(['.', '_']).next().and_then(|major| major.parse::<u32>().ok());
    major.is_some_and(|major| major < 2018)
}

/// A size that was left out, with the reason in place of numbers.
fn is_failure(line: &str) -> bool {
    ["out-of-mem.", "int-overflow", "time-out."].iter().any(|reason| line.contains(reason))
}

fn named(name: &str, version: Option<&str>) -> Record {
    let name = name.trim();
    let bare = name.strip_prefix("Multi-").unwrap_or(name);
    let (benchmark, both) = match bare {
        "Uniband" => ("stream".to_owned(), false),
        "Biband" => ("stream".to_owned(), true),
        other => (plain(other), false),
    };
    let mut record = Record::new().with("benchmark", benchmark);
    if both {
        record.set("direction", "bidirectional");
    }
    if bare != name {
        record.set("groups", "multi");
    }
    match version {
        Some(version) => record.with("program_version", version),
        None => record,
    }
}

fn row(
    text: &Text<'_>,
    line: usize,
    heads: &[String],
    words: &[&str],
    head: Record,
    mega: f64,
) -> Result<Record, Error> {
    let mut record = head;
    for (name, word) in heads.iter().zip(words) {
        match name.as_str() {
            "#bytes" => record.set("size_B", text.count(line, word)?),
            "#repetitions" => record.set("iterations", text.count(line, word)?),
            "Group" => record.set("group", text.count(line, word)?),
            "t[usec]" | "t_max[usec]" | "t_ovrl[usec]" => record.set("latency_us", text.number(line, word)?),
            "t_min[usec]" => record.set("min_us", text.number(line, word)?),
            "t_avg[usec]" => record.set("mean_us", text.number(line, word)?),
            "t_pure[usec]" => record.set("pure_us", text.number(line, word)?),
            "t_CPU[usec]" => record.set("computed_us", text.number(line, word)?),
            "Mbytes/sec" => record.set("bandwidth_MBps", text.number(line, word)? * mega),
            "Msg/sec" => record.set("messages_per_s", text.number(line, word)?),
            "overlap[%]" => record.set("overlap", text.number(line, word)? / 100.0),
            other => record.set(&plain(other), text.number(line, word)?),
        }
    }
    Ok(record)
}
