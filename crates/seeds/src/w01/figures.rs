//! W01's figures, of which only the axes are left. They are bandwidth (s15), efficiency of N-way copying (s4), mapping
//! (s8), alltoallv (s17), and total against busy time (s23 to s25).

use super::runs::{self, Runs};
use super::{FABRIC, Setups, mib};
use crate::Row;
use crate::evidence::Evidence;
use crate::run::{Run, number};
use hotlink_sim::host::Host;
use hotlink_study::ask::Method;
use serde_json::{Value, json};

/// Sizes that move without copies, if they may.
const LONG: u64 = 32 << 10;

pub(super) fn series(runs: &Runs, host: &Host, setups: &Setups) -> Vec<Row> {
    let mut all = bandwidth(runs);
    all.extend(efficiency(runs, host));
    all.extend(mapping(setups));
    all.extend(alltoallv(runs));
    all.extend(busy(&runs.overlap, "s25", "FIXED 64 KiB", 64 << 10, "fixed"));
    all.extend(busy(&runs.overlap, "s23", "DAXPY 64 KiB", 64 << 10, "daxpy"));
    all.extend(busy(&runs.overlap, "s24", "DAXPY 256 KiB", 256 << 10, "daxpy"));
    all.extend(saturations(&runs.overlap));
    all.extend(runs.measured.iter().flat_map(measured));
    all
}

/// Closed forms of the machine's costs.
pub(super) fn by_formula() -> Evidence {
    Evidence::of_inputs(Method::Formula, [FABRIC])
}

fn text<'a>(record: &'a Value, key: &str) -> &'a str {
    record[key].as_str().unwrap_or_default()
}

fn point(run: &Run, id: &str, quantity: &str, value: f64, unit: &str) -> Row {
    Row::point(id, quantity, run.evidence(), value, unit).also("command", &*run.command)
}

fn bandwidth(runs: &Runs) -> Vec<Row> {
    let curve = |run: &Run, record: &Value, series: String| {
        point(run, "s15", "bandwidth against size", mib(record), "MiB/s")
            .also("fabric", FABRIC)
            .also("series", series)
            .also("size_B", record["size_B"].clone())
            .also("setup_us", record["setup_us"].clone())
            .also("limiting_resource", record["limiting_resource"].clone())
    };
    let name = |record: &Value| {
        let cached = if text(record, "cache") == "lru" { "cached" } else { "set up each time" };
        format!("{}, {cached}", runs::word(record))
    };
    let mut all: Vec<Row> = Vec::new();
    for memory in ["regular", "registered"] {
        for cache in ["lru", "immediate"] {
            let wanted = [("memory", runs::memory(memory)), ("cache", json!(cache))];
            all.extend(runs.pingpong.with(&wanted).map(|record| curve(&runs.pingpong, record, name(record))));
        }
    }
    all.extend(runs.copying.with(&[]).map(|record| curve(&runs.copying, record, "one copy".to_owned())));
    all
}

/// s3 and s4: the effective rate as a share of the rate without copies. The closed form stores into a buffer, copies
/// what has arrived there, and copies the copies. The simulated stack copies while the next piece is under way.
fn efficiency(runs: &Runs, host: &Host) -> Vec<Row> {
    let row =
        |row: Row, size: u64, series: &str| row.also("fabric", FABRIC).also("series", series).also("size_B", size);
    let quantity = "efficiency of N-way copying";
    let mut all = Vec::new();
    let zero = |size: u64| runs.pingpong.number(&zero_copy(size), "latency_us");
    for record in runs.copying.with(&[]) {
        let Some(size) = record["size_B"].as_u64().filter(|&size| size >= LONG) else { continue };
        let share = zero(size) / number(record, "latency_us");
        all.push(row(point(&runs.copying, "s4", quantity, share, "ratio"), size, "one copy, pipelined"));
    }
    for copies in 1..=3_u32 {
        for record in runs.pingpong.with(&[("memory", runs::memory("regular")), ("cache", json!("lru"))]) {
            let Some(size) = record["size_B"].as_u64().filter(|&size| size >= LONG) else { continue };
            let [without, with] = [0, copies].map(|copies| host.copied(size, copies).time.us());
            let share = zero(size) / (zero(size) + with - without);
            let formula = Row::point("s4", quantity, by_formula(), share, "ratio");
            all.push(row(
                formula,
                size,
                &format!("{copies} {}, one after another", if copies == 1 { "copy" } else { "copies" }),
            ));
        }
    }
    all
}

/// What picks zero-copy from regular segments, cached.
pub(super) fn zero_copy(size: u64) -> [(&'static str, Value); 3] {
    [("size_B", json!(size)), ("memory", runs::memory("regular")), ("cache", json!("lru"))]
}

fn mapping(setups: &Setups) -> Vec<Row> {
    let mut all = Vec::new();
    for (series, time) in [("map", 0), ("connect", 1), ("register", 2)] {
        for size in (12..=22).map(|exponent| 1 << exponent) {
            let us = setups.times(size)[time];
            let row = Row::point("s8", "set-up of a buffer", by_formula(), us, "us");
            let row = row.also("fabric", FABRIC).also("series", series).also("size_B", size);
            all.push(row.under("estimated by analogy"));
        }
    }
    all
}

fn alltoallv(runs: &Runs) -> Vec<Row> {
    let row = |record: &Value| {
        let how = if record["zero_copy"] == true { "zero-copy by DMA" } else { "copied by the processor" };
        let us = number(record, "latency_us");
        point(&runs.alltoallv, "s17", "MPI_Alltoallv, 8 nodes", us, "us")
            .also("fabric", FABRIC)
            .also("series", format!("{}, {how}", runs::word(record)))
            .also("size_B", record["size_B"].clone())
            .also("ranks", record["nodes"].clone())
    };
    runs.alltoallv.with(&[]).map(row).collect()
}

/// Total against busy time: asynchronous and synchronous, from both kinds of memory.
fn busy(run: &Run, id: &str, quantity: &str, size: u64, spin: &str) -> Vec<Row> {
    let mut all = Vec::new();
    for (memory, zero_copy) in [("regular", true), ("registered", true), ("regular", false)] {
        let how = if zero_copy { format!("{memory}, asynchronous") } else { "synchronous, through buffers".to_owned() };
        let wanted = [
            ("size_B", json!(size)),
            ("spin", json!(spin)),
            ("memory", runs::memory(memory)),
            ("zero_copy", json!(zero_copy)),
        ];
        for record in run.with(&wanted) {
            let row = point(run, id, quantity, number(record, "total_us"), "us")
                .also("fabric", FABRIC)
                .also("series", how.as_str())
                .also("busy_us", number(record, "compute_us").round() as u64)
                .also("message_us", record["message_us"].clone())
                .also("w01_overhead", record["w01_overhead"].clone())
                .also("w01_hidden", record["w01_hidden"].clone());
            all.push(row);
        }
    }
    all
}

/// s26: saturation and both readings of the efficiency, where the computation takes as long as the message. It covers
/// transfers without the processor, and transfers by the processor through buffers.
fn saturations(run: &Run) -> Vec<Row> {
    let mut all = Vec::new();
    for (spin, size) in [("fixed", 64 << 10), ("daxpy", 64 << 10), ("daxpy", 256 << 10)] {
        let of = |memory: &str, zero_copy: bool| {
            let kind = [("spin", json!(spin)), ("size_B", json!(size))];
            let wanted =
                [kind[0].clone(), kind[1].clone(), ("memory", runs::memory(memory)), ("zero_copy", json!(zero_copy))];
            run.with(&wanted).cloned().collect::<Vec<Value>>()
        };
        let synchronous_us = of("regular", false).first().map_or(f64::NAN, |record| number(record, "message_us"));
        for (memory, zero_copy) in [("regular", true), ("registered", true), ("regular", false)] {
            let how = if zero_copy { format!("{memory}, asynchronous") } else { "synchronous".to_owned() };
            let points = of(memory, zero_copy);
            let as_long = |record: &&Value| number(record, "compute_us") >= 0.999 * number(record, "message_us");
            let Some(record) = points.iter().find(as_long) else { continue };
            let overhead = (number(record, "total_us") - number(record, "compute_us")) / synchronous_us;
            let values = [
                ("saturation s", record["saturation_us"].as_f64(), "us"),
                ("efficiency e: overhead / synchronous message", Some(overhead), "ratio"),
                ("1 - e", Some(1.0 - overhead), "ratio"),
            ];
            for (quantity, value, unit) in values {
                let Some(value) = value else { continue };
                let row = point(run, "s26", quantity, value, unit).also("fabric", FABRIC);
                all.push(row.also("series", format!("{}, {how}", spin.to_uppercase())).also("size_B", size));
            }
        }
    }
    // One table for each quantity.
    all.sort_by(|a, b| a.quantity.cmp(&b.quantity));
    all
}

/// The same benchmarks on this machine; no row of W01's.
fn measured(run: &Run) -> Vec<Row> {
    let row = |record: &Value| {
        let overlap = record["benchmark"] == "overlap";
        let (value, unit, quantity) = match overlap {
            true => (number(record, "total_us"), "us", "total time, shared memory of this machine"),
            false => (mib(record), "MiB/s", "bandwidth, shared memory of this machine"),
        };
        let row = Row::point("measured", quantity, Evidence::of_inputs(Method::Measured, [&*run.command]), value, unit)
            .also("kind", "measured")
            .also("command", &*run.command)
            .also("fabric", "this machine");
        match overlap {
            true => row
                .also("series", format!("{} {} B", text(record, "spin"), record["size_B"]))
                .also("busy_us", number(record, "compute_us").round() as u64)
                .also("w01_overhead", record["w01_overhead"].clone()),
            false => row.also("size_B", record["size_B"].clone()),
        }
    };
    run.with(&[]).map(row).collect()
}
