//! H06's system as it was run. The plug-in, the daemon and the compiled RTL between two pretended nodes carry
//! MPI_Barrier of unmodified programs and the Abinit kernel. A barrier's parts are each measured alone.
//!
//! The numbers are a dated record of `make -C plugins bench-h06`, so a report needs neither an MPI nor Verilator. Every
//! row names its record. `--measure` measures the parts on this machine, too.

use crate::Row;
use crate::evidence::Evidence;
use crate::run::{Measure, Run, number};
use hotlink_study::Error;
use hotlink_study::ask::Method;

/// Where the record stands in the project.
const RECORD: &str = "docs/reports/2026-11-24-h06-device.csv";
const TEXT: &str = include_str!("../../../../docs/reports/2026-11-24-h06-device.csv");
const MPIS: [&str; 2] = ["openmpi", "mpich"];
/// One rank and the device, so that neither waits for a core where there are two.
const PARTS: &str = "measure barrier --device rtl --via shm --ranks 1 --time 0.2";

/// A line of the record: what was measured, under which MPI, in which series, its median and the unit.
struct Line {
    key: [&'static str; 3],
    median: f64,
    unit: &'static str,
}

fn record() -> Vec<Line> {
    let lines = TEXT.lines().filter(|line| !line.starts_with('#')).skip(1);
    let line = |line: &'static str| {
        let mut cells = line.split(',');
        let key = [cells.next()?, cells.next()?, cells.next()?];
        Some(Line { key, median: cells.next()?.parse().ok()?, unit: cells.next()? })
    };
    lines.filter_map(line).collect()
}

fn median(record: &[Line], key: [&str; 3]) -> Option<f64> {
    let line = record.iter().find(|line| line.key == key)?;
    Some(if line.unit == "ns" { line.median / 1e3 } else { line.median })
}

fn point(quantity: &str, value: f64, unit: &str, nodes: u32, from: (&'static str, &'static str)) -> Row {
    let evidence = Evidence::of_inputs(Method::Measured, [from.1]);
    let row = Row::point("device", quantity, evidence, value, unit).under("measured over the compiled RTL");
    row.also("fabric", "rtl").also("nodes", nodes).also(from.0, from.1)
}

/// A row of the record.
fn recorded(quantity: &str, value: f64, unit: &str, nodes: u32) -> Row {
    point(quantity, value, unit, nodes, ("record", RECORD))
}

/// t_b = o_w + o_p + o_r: a barrier, its parts and their sum, in microseconds.
fn with_parts(row: Row, barrier: f64, [write, process, read]: [f64; 3]) -> Row {
    let sum = write + process + read;
    let row = row.also("write_us", write).also("process_us", process).also("read_us", read);
    row.also("sum_us", sum).also("sum_over_latency", sum / barrier)
}

/// What was measured on the whole path.
pub(super) fn series() -> Vec<Row> {
    let record = record();
    let mut rows = Vec::from_iter(parts(&record));
    rows.extend(MPIS.iter().filter_map(|mpi| microbenchmark(&record, mpi)));
    rows.extend(MPIS.iter().filter_map(|mpi| abinit(&record, mpi)));
    rows
}

/// The barrier of one rank, and each of its parts by itself.
fn parts(record: &[Line]) -> Option<Row> {
    let part = |series| median(record, ["parts", "none", series]);
    let barrier = part("barrier")?;
    let row = recorded(ONE_RANK, barrier, "us", 1).also("series", "recorded");
    Some(with_parts(row, barrier, [part("o_w")?, part("o_p")?, part("o_r")?]))
}

const ONE_RANK: &str = "barrier of one rank and its parts";

/// The same, measured on this machine now.
pub(super) fn measured(measure: &dyn Measure) -> Result<Vec<Row>, Error> {
    let run = Run::measured(PARTS, measure)?;
    let by_itself = run.with(&[]).filter(|record| record["write_us"].is_number());
    let row = |record| {
        let barrier = number(record, "latency_us");
        let row = point(ONE_RANK, barrier, "us", 1, ("command", PARTS)).also("series", "measured");
        with_parts(row, barrier, ["write_us", "process_us", "read_us"].map(|part| number(record, part)))
    };
    Ok(by_itself.map(row).collect())
}

/// H06 s24, with two ranks that the device joins.
fn microbenchmark(record: &[Line], mpi: &str) -> Option<Row> {
    let own = median(record, ["microbenchmark", mpi, "own"])?;
    let row = recorded("MPI_Barrier, microbenchmark", median(record, ["microbenchmark", mpi, "device"])?, "us", 2);
    Some(row.also("series", mpi).also("own_latency_us", own))
}

/// H06 s26 and s27: the kernel by the device, and by the MPI's own barrier.
fn abinit(record: &[Line], mpi: &str) -> Option<Row> {
    let value = |series| median(record, ["abinit", mpi, series]);
    let row = recorded("Abinit kernel, time", value("time")?, "s", 2).also("series", mpi);
    let row = row.also("barrier_us", value("barrier")?).also("own_time_s", value("own_time")?);
    Some(row.also("own_barrier_us", value("own_barrier")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_bench::Record;
    use serde_json::Value;

    #[test]
    fn the_record_holds_all_that_rows_need() {
        let rows = series();
        assert_eq!(rows.len(), 1 + 2 * MPIS.len());
        assert!(rows.iter().all(|row| row.key("record").is_some_and(|name| name == RECORD)));
        let sum = rows[0].key("sum_over_latency").and_then(Value::as_f64).unwrap();
        assert!((0.5..2.0).contains(&sum), "{sum}: no parts of this barrier");
    }

    #[test]
    fn parts_measured_now_stand_with_those_of_the_record() {
        struct Fixed;
        impl Measure for Fixed {
            fn records(&self, command: &str) -> Result<Vec<Record>, Error> {
                assert_eq!(command, PARTS);
                let parts = [("latency_us", 4.0), ("write_us", 1.0), ("process_us", 1.5), ("read_us", 0.5)];
                let by_itself = parts.iter().fold(Record::new(), |record, &(key, value)| record.with(key, value));
                Ok(vec![by_itself, Record::new().with("latency_us", 9.0).with("algorithm", "hardware")])
            }
        }
        let rows = measured(&Fixed).unwrap();
        let [row] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((row.reproduced.as_f64(), row.quantity.as_str()), (Some(4.0), ONE_RANK));
        assert_eq!(row.key("sum_over_latency").and_then(Value::as_f64), Some(0.75));
        assert_eq!(row.key("command").and_then(Value::as_str), Some(PARTS));
    }
}
