//! Intel MPI Benchmarks: `# Benchmarking NAME`, `# #processes = N`, heads of columns, rows. MB is 10^6 B from version
//! 2018 on, 2^20 B before. Where no version is given, the times of ping-pong's rows decide. Ping-pong's time is half
//! the round trip; the greatest over the ranks is `latency_us`.

use super::sound::{Printed, ordered, same_rate};
use super::text::{OF_ALL_PARTS, Text, collective, is_row, plain};
use super::{Program, is_collective, is_json};
use hotlink_bench::Record;
use hotlink_study::Error;

/// How it is found and read.
pub(super) const ENTRY: Program = Program {
    name: "imb",
    meaning: "Intel MPI Benchmarks: text of one run with any number of benchmarks",
    flags: &[],
    recognises: |text| !is_json(text) && lines_with_version(text).next().is_some(),
    lacks: |text| {
        let is_whole = text.contains("All processes entering MPI_Finalize");
        (!is_whole).then_some("'All processes entering MPI_Finalize'")
    },
    read: |text, _| read(text),
};

fn read(text: &Text<'_>) -> Result<Vec<Record>, Error> {
    let mut records = Vec::new();
    let mut mega = match lines_with_version(text.text).next() {
        Some(_) => None,
        None => told_by_rows(text)?,
    };
    let (mut version, mut head, mut heads) = (None, Record::new(), Vec::new());
    for (number, line) in text.lines() {
        let bare = line.trim();
        let comment = bare.strip_prefix('#').map(str::trim);
        if let Some(told) = version_in(bare) {
            mega = Some(if is_old(told) { MIB } else { 1.0 });
            version = Some(told.to_owned());
        } else if let Some(name) = comment.and_then(|comment| comment.strip_prefix("Benchmarking ")) {
            (head, heads) = (named(name, version.as_deref()), Vec::new());
        } else if let Some(processes) = comment.and_then(|comment| comment.strip_prefix("#processes =")) {
            let word = processes.trim().split([';', ' ']).next().unwrap_or_default();
            let ranks = text.count(number, word)?;
            head.set("ranks", ranks);
            // Their rate is that of all pairs: rank i with rank i + N/2.
            if head.text("benchmark") == Some("stream") {
                head.set("pairs", (ranks / 2).max(1));
            }
        } else if let Some((_, rest)) = comment.and_then(|comment| comment.strip_prefix('(')?.split_once(" groups of "))
        {
            // They run at once: one of them is bound as if it were alone.
            head.set("ranks", text.count(number, rest.split(' ').next().unwrap_or_default())?);
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

/// MB/s of a MiB/s.
const MIB: f64 = 1.048_576;

/// `Intel(R) MPI Benchmarks 2021.3, MPI-1 part`, and of 3.x `Intel (R) MPI Benchmark Suite V3.2, MPI-1 part`.
fn version_in(line: &str) -> Option<&str> {
    let (_, told) = line.split_once("MPI Benchmarks ").or_else(|| line.split_once("MPI Benchmark Suite "))?;
    let told = told.split([',', ' ']).next()?.trim_start_matches(['V', 'v']);
    told.starts_with(|c: char| c.is_ascii_digit()).then_some(told)
}

fn lines_with_version(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(version_in)
}

/// The MB that the ping-pongs' sizes over their times agree with; none where no row has a bandwidth.
fn told_by_rows(text: &Text<'_>) -> Result<Option<f64>, Error> {
    let (mut heads, mut is_pingpong, mut first) = (Vec::new(), false, None);
    let mut possible = [1.0, MIB].to_vec();
    for (number, line) in text.lines() {
        let bare = line.trim();
        if let Some(name) = bare.strip_prefix('#').and_then(|comment| comment.trim().strip_prefix("Benchmarking ")) {
            is_pingpong = ["PingPong", "PingPing"].contains(&name.trim());
        } else if bare.starts_with("#bytes") {
            heads = bare.split_whitespace().collect::<Vec<_>>();
        } else if is_row(line) {
            let words: Vec<&str> = bare.split_whitespace().collect();
            let word = |head: &str| words.get(heads.iter().position(|known| *known == head)?).copied();
            let Some(rate) = word("Mbytes/sec") else { continue };
            first = first.or(Some(number));
            let (Some(size), Some(time), true) = (word("#bytes"), word("t[usec]"), is_pingpong) else { continue };
            let numbers = [size, time, rate].map(|word| text.number(number, word));
            let [Ok(size), Ok(us), Ok(rate)] = numbers else { continue };
            // Printed with two digits behind the point.
            let (least, most) = (size / (us + 0.01), size / (us - 0.01).max(f64::MIN_POSITIVE));
            possible.retain(|mega| (rate + 0.01) * mega >= least && (rate - 0.01) * mega <= most);
        }
    }
    match (first, &possible[..]) {
        (None, _) => Ok(None),
        (_, [mega]) => Ok(Some(*mega)),
        (Some(line), _) => {
            let what = "no line tells the version, so MB may be 10^6 B (from 2018) or 2^20 B (before)";
            Err(text.wrong(line, what, "a text with `MPI Benchmarks VERSION`, or with long messages of PingPong"))
        }
    }
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
    // `Ibcast` and the like are the non-blocking ones.
    let non_blocking = |name: &str| {
        let blocking = collective(&plain(name.strip_prefix('I')?));
        is_collective(&blocking).then(|| format!("non_blocking_{blocking}"))
    };
    let (benchmark, way) = match bare {
        "Uniband" => ("stream".to_owned(), Some("uni")),
        "Biband" => ("stream".to_owned(), Some("bi")),
        other => (non_blocking(other).unwrap_or_else(|| collective(&plain(other))), None),
    };
    let mut record = Record::new().with("benchmark", benchmark);
    if let Some(way) = way {
        record.set("direction", way);
    }
    if bare != name {
        record.set("groups", "multi");
    }
    // Of `Reduce_scatter_block` it is a rank's part.
    if ["Reduce_scatter", "Ireduce_scatter"].contains(&bare) {
        record.set("size_is", OF_ALL_PARTS);
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
    mega: Option<f64>,
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
            "Mbytes/sec" => record.set("bandwidth_MBps", text.number(line, word)? * mega.unwrap_or(1.0)),
            "Msg/sec" => record.set("messages_per_s", text.number(line, word)?),
            "overlap[%]" => record.set("overlap", text.number(line, word)? / 100.0),
            other => record.set(&plain(other), text.number(line, word)?),
        }
    }
    let [rate, time, messages] = ["Mbytes/sec", "t", "Msg/sec"].map(|head| Printed::find(heads, words, head));
    if let (Some(rate), Some(mega), Some(bytes)) = (rate, mega, record.number("size_B").filter(|bytes| *bytes > 0.0)) {
        let rates = (rate, rate.times(mega));
        let is_pingpong = ["pingpong", "pingping"].map(Some).contains(&record.text("benchmark"));
        if let Some(time) = time.filter(|_| is_pingpong) {
            same_rate(text, line, rates, ("#bytes in t[usec]", time.under(bytes)), "what IMB printed")?;
        }
        if let Some(messages) = messages {
            let made = ("Msg/sec times #bytes", messages.times(bytes * 1e-6));
            same_rate(text, line, rates, made, "what IMB printed")?;
        }
    }
    ordered(text, line, record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn non_blocking_collectives_are_named_as_osu_s() {
        let benchmark = |name| named(name, None).text("benchmark").unwrap().to_owned();
        assert_eq!(
            ["Ibcast", "Iallgatherv", "Reduce_scatter"].map(benchmark),
            ["non_blocking_bcast", "non_blocking_allgatherv", "reduce-scatter"]
        );
    }

    #[test]
    fn a_row_that_contradicts_itself_is_refused() {
        let of = |row: &str| {
            let head = "#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part\n# Benchmarking PingPong\n";
            read(&Text::new("f", &format!("{head}#bytes #repetitions t[usec] Mbytes/sec\n{row}\n")))
        };
        assert!(of("1048576 40 300.00 3495.25").is_ok() && of("0 1000 0.87 0.00").is_ok());
        let said = of("1048576 40 30.00 3495.53").unwrap_err().to_string();
        assert!(said.starts_with("f:4: Mbytes/sec is 3496 MB/s, but #bytes in t[usec] make"), "{said}");
    }

    #[test]
    fn a_mb_is_what_the_version_or_the_rows_say() {
        let row = |rate: &str| {
            format!("# Benchmarking PingPong\n#bytes #repetitions t[usec] Mbytes/sec\n1048576 40 100.00 {rate}\n")
        };
        let rate = |text: &str| read(&Text::new("f", text)).map(|found| found[0].number("bandwidth_MBps").unwrap());
        let old = "#    Intel (R) MPI Benchmark Suite V3.2, MPI-1 part\n";
        assert!((ENTRY.recognises)(old));
        for (head, printed, expected) in [
            (old, "10000.00", 10_485.76),
            ("#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part\n", "10485.76", 10_485.76),
            ("", "10000.00", 10_485.76),
            ("", "10485.76", 10_485.76),
        ] {
            let found = rate(&format!("{head}{}", row(printed))).unwrap();
            assert!((found - expected).abs() < 1e-9, "{head}{printed}: {found}");
        }
        let said = rate(&row("10200.00")).unwrap_err().to_string();
        assert!(said.starts_with("f:3: no line tells the version"), "{said}");
    }
}
