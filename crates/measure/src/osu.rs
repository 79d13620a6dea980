//! Records as text of the OSU micro-benchmarks, so that what reads theirs (ReFrame's and Ramble's patterns, scripts)
//! reads ours. MB is 10^6 B there, as here. Only the form is theirs: the head says who measured, and how.

use hotlink_bench::Record;
use std::fmt::Write;

/// The form of our benchmark in their suite.
struct Form {
    title: &'static str,
    /// Heads of the columns after the size; none for the size itself where a barrier has none.
    columns: &'static [&'static str],
    values: fn(&Record) -> Option<Vec<f64>>,
    /// Differences from theirs.
    note: &'static str,
}

const COLLECTIVE_NOTE: &str = "median over repetitions of the slowest rank's time; theirs is the mean over ranks";

/// The benchmarks that both suites have; the title's place for `Latency Test` and the like is as theirs.
fn form(record: &Record) -> Option<Form> {
    let point = |title, columns, values, note| Some(Form { title, columns, values, note });
    let collective = |title| point(title, &["Avg Latency(us)"], latency, COLLECTIVE_NOTE);
    match record.text("benchmark")? {
        "pingpong" => point("MPI Latency", &["Latency (us)"], latency, "median of half round trips"),
        "stream" if record.text("direction").is_some_and(|direction| direction.starts_with("bi")) => {
            point("MPI Bi-Directional Bandwidth", &["Bandwidth (MB/s)"], bandwidth, "median")
        }
        "stream" if record.text("direction") == Some("self") => None,
        "stream" => point("MPI Bandwidth", &["Bandwidth (MB/s)"], bandwidth, "median"),
        "saturation" | "rate" => point(
            "MPI Multiple Bandwidth / Message Rate",
            &["MB/s", "Messages/s"],
            bandwidth_and_rate,
            "median, all pairs",
        ),
        "barrier" => collective("MPI Barrier Latency"),
        "bcast" => collective("MPI Broadcast Latency"),
        "reduce" => collective("MPI Reduce Latency"),
        "allreduce" => collective("MPI Allreduce Latency"),
        "allgather" => collective("MPI Allgather Latency"),
        "alltoall" => collective("MPI All-to-All Personalized Exchange Latency"),
        "alltoallv" => collective("MPI All-to-Allv Personalized Exchange Latency"),
        "gather" => collective("MPI Gather Latency"),
        "scatter" => collective("MPI Scatter Latency"),
        _ => None,
    }
}

/// Whether both suites have this benchmark.
pub fn has(benchmark: &str) -> bool {
    form(&Record::new().with("benchmark", benchmark)).is_some()
}

fn latency(record: &Record) -> Option<Vec<f64>> {
    Some(vec![record.number("latency_us")?])
}

fn bandwidth(record: &Record) -> Option<Vec<f64>> {
    Some(vec![record.number("bandwidth_MBps")?])
}

fn bandwidth_and_rate(record: &Record) -> Option<Vec<f64>> {
    let (rate, size) = (record.number("messages_per_s"), record.number("size_B")?);
    let bandwidth = record.number("bandwidth_MBps").or_else(|| Some(rate? * size / 1e6))?;
    let rate = rate.or((size > 0.0).then_some(bandwidth * 1e6 / size))?;
    Some(vec![bandwidth, rate])
}

/// Keys that distinguish one table from the next, in addition to the benchmark.
const GROUP: [&str; 11] =
    ["fabric", "benchmark", "method", "stack", "via", "mpi", "memory", "ranks", "nodes", "pairs", "direction"];

/// Why a record has no such form.
pub const NOT_OF_OSU: &str = "is for benchmarks of the OSU suite only";

/// The size as OSU counts it: a rank's part. nccl-tests counts the parts of all ranks together.
fn size(record: &Record) -> Result<f64, String> {
    let size = record.number("size_B").ok_or(NOT_OF_OSU)?;
    let is_in_parts = matches!(record.text("benchmark"), Some("allgather" | "alltoall" | "gather" | "scatter"));
    let parts = match record.text("size_is").filter(|_| is_in_parts) {
        Some(_) => record.number("ranks").filter(|ranks| *ranks >= 1.0).ok_or(NOT_OF_OSU)?,
        None => 1.0,
    };
    match (size / parts).fract() == 0.0 {
        true => Ok(size / parts),
        false => Err(format!("counts one rank's part, and {size} B have no {parts} parts of whole bytes")),
    }
}

/// All records as OSU tables, one for each group that differs in more than the size.
///
/// # Errors
/// Why one of them has no such form.
pub fn text(records: &[Record]) -> Result<String, String> {
    let mut text = String::new();
    let mut before: Option<Vec<Option<String>>> = None;
    for record in records {
        let form = form(record).ok_or(NOT_OF_OSU)?;
        let group: Vec<_> = GROUP.iter().map(|key| record.get(key).map(ToString::to_string)).collect();
        if before.as_ref() != Some(&group) {
            head(record, &form, &mut text);
            before = Some(group);
        }
        let values = (form.values)(record).ok_or(NOT_OF_OSU)?;
        let cells: String = values.iter().map(|value| format!("{value:>20.2}")).collect();
        let _ = match is_sized(record) {
            true => writeln!(text, "{:<10}{cells}", size(record)?),
            false => writeln!(text, "{cells}"),
        };
    }
    if records.is_empty() { Err(NOT_OF_OSU.to_owned()) } else { Ok(text) }
}

fn is_sized(record: &Record) -> bool {
    record.text("benchmark") != Some("barrier")
}

fn head(record: &Record, form: &Form, text: &mut String) {
    if !text.is_empty() {
        text.push('\n');
    }
    let _ = writeln!(text, "# OSU {} Test v{}", form.title, env!("CARGO_PKG_VERSION"));
    let said: Vec<String> = ["fabric", "method", "stack", "via", "mpi", "memory", "ranks", "nodes"]
        .iter()
        .filter_map(|key| Some(format!("{key}: {}", record.get(key)?).replace('"', "")))
        .collect();
    let _ = writeln!(text, "# not OSU's program but hotlink, in its form; {}; {}", said.join(", "), form.note);
    if let Some(pairs) = record.number("pairs") {
        let window = record.number("window").map_or(String::new(), |window| format!(" [ window size: {window} ]"));
        let _ = writeln!(text, "# [ pairs: {pairs} ]{window}");
    }
    let _ = writeln!(text, "# Datatype: MPI_CHAR.");
    let first = if is_sized(record) { format!("{:<10}", "# Size") } else { "#".to_owned() };
    let columns: String = match is_sized(record) {
        true => form.columns.iter().map(|column| format!("{column:>20}")).collect(),
        false => form.columns.iter().map(|column| format!(" {column}")).collect(),
    };
    let _ = writeln!(text, "{first}{columns}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_their_head_and_columns() {
        let base =
            Record::new().with("fabric", "here").with("benchmark", "pingpong").with("via", "shm").with("ranks", 2);
        let point = |size: u64, us: f64| base.clone().with("size_B", size).with("latency_us", us);
        assert_eq!(
            text(&[point(8, 0.2), point(65536, 7.125)]).unwrap(),
            "# OSU MPI Latency Test v0.1.0\n\
             # not OSU's program but hotlink, in its form; fabric: here, via: shm, ranks: 2; median of half round trips\n\
             # Datatype: MPI_CHAR.\n\
             # Size            Latency (us)\n\
             8                         0.20\n\
             65536                     7.12\n"
        );
    }

    #[test]
    fn groups_have_tables_of_their_own_and_a_barrier_has_no_size() {
        let barrier =
            |ranks: u64| Record::new().with("benchmark", "barrier").with("ranks", ranks).with("latency_us", 1.5);
        let text = text(&[barrier(2), barrier(4)]).unwrap();
        assert_eq!(text.matches("# OSU MPI Barrier Latency Test").count(), 2);
        assert!(text.contains("\n# Avg Latency(us)\n                1.50\n"), "{text}");
        let pairs =
            Record::new().with("benchmark", "saturation").with("pairs", 2).with("window", 64).with("size_B", 1000);
        let text = super::text(&[pairs.with("bandwidth_MBps", 5.0)]).unwrap();
        assert!(
            text.contains("# [ pairs: 2 ] [ window size: 64 ]") && text.ends_with("5.00             5000.00\n"),
            "{text}"
        );
        assert!(super::text(&[Record::new().with("benchmark", "deposit")]).is_err() && super::text(&[]).is_err());
    }

    /// Sixteen GPUs' 16 MiB are 1 MiB for each other one; of an allreduce both suites count the same.
    #[test]
    fn sizes_of_gpus_are_those_of_one_part() {
        let of = |benchmark: &str, bytes: u64| {
            let record = Record::new().with("benchmark", benchmark).with("ranks", 16).with("size_is", "all");
            text(&[record.with("size_B", bytes).with("latency_us", 200.0)])
        };
        for benchmark in ["allgather", "alltoall", "gather", "scatter"] {
            assert!(of(benchmark, 16 << 20).unwrap().contains("\n1048576 "), "{benchmark}");
        }
        assert!(of("allreduce", 16 << 20).unwrap().contains("\n16777216 "));
        let told = of("alltoall", 100).unwrap_err();
        assert!(told.contains("100 B have no 16 parts"), "{told}");
    }
}
