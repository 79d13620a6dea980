//! A result in one line, for whoever waits while others are under way: what it is of, and its first values.

use crate::table::cell;
use hotlink_bench::Record;

/// What a result is of.
const NAMES: &[&str] = &[
    "fabric",
    "benchmark",
    "schedule",
    "job",
    "traffic",
    "algorithm",
    "paths",
    "transport",
    "placement",
    "method",
    "nodes",
    "ranks",
    "size_B",
    "sizes",
    "load",
    "senders",
    "pairs",
];
/// Keys whose values say what they are of without their name.
const PLAIN: &[&str] = &["fabric", "benchmark", "schedule", "algorithm", "paths", "transport", "placement", "method"];
/// Values, the more telling ones first.
const VALUES: &[&str] = &[
    "slowdown",
    "bus_bandwidth_MBps",
    "bandwidth_per_node_MBps",
    "bandwidth_MBps",
    "latency_us",
    "median",
    "time_s",
    "step_us",
    "elapsed_us",
    "cost",
    "error",
];
/// So many of them are told.
const TOLD: usize = 2;

/// The line.
pub(crate) fn line(record: &Record) -> String {
    let told = |key: &&'static str| record.get(key).map(|value| (*key, cell(Some(value))));
    let name =
        |(key, value): (&'static str, String)| if PLAIN.contains(&key) { value } else { format!("{key} {value}") };
    let names: Vec<String> = NAMES.iter().filter_map(told).map(name).collect();
    let values = VALUES.iter().filter_map(told).take(TOLD).map(|(key, value)| format!("{key} {value}"));
    let values: Vec<String> = values.collect();
    match values.is_empty() {
        true => format!("done: {}", names.join(", ")),
        false => format!("done: {}: {}", names.join(", "), values.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_what_a_result_is_of_and_its_first_values() {
        let record = Record::new().with("fabric", "gige").with("benchmark", "alltoall").with("nodes", 64);
        assert_eq!(line(&record), "done: gige, alltoall, nodes 64");
        let record = record.with("size_B", 8).with("efficiency", 0.5).with("latency_us", 12.5).with("events", 3);
        assert_eq!(line(&record), "done: gige, alltoall, nodes 64, size_B 8: latency_us 12.5");
    }
}
