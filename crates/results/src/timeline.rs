//! Timelines of ranks as the Chrome trace event format, which Perfetto opens.

use hotlink_bench::Seen;
use hotlink_study::{Gauge, Watch};
use serde_json::{Map, Value, json};
use std::sync::Mutex;

/// A run's name and what its ranks saw, in rank order.
pub type Run = (String, Vec<Seen>);

/// Passes on to another watch, and keeps the timelines.
pub struct Recorder<'a> {
    inner: &'a dyn Watch,
    runs: Mutex<Vec<Run>>,
}

impl<'a> Recorder<'a> {
    /// One that passes on to `inner`.
    pub fn new(inner: &'a dyn Watch) -> Recorder<'a> {
        Recorder { inner, runs: Mutex::default() }
    }
    /// The timelines, in an order that does not depend on who was first.
    pub fn runs(self) -> Vec<Run> {
        let mut runs = self.runs.into_inner().unwrap_or_default();
        runs.sort_by(|a, b| a.0.cmp(&b.0));
        runs
    }
}

impl Watch for Recorder<'_> {
    fn step(&self) {
        self.inner.step();
    }
    fn gauge(&self) -> Gauge {
        self.inner.gauge()
    }
    fn seconds(&self) -> f64 {
        self.inner.seconds()
    }
    fn saw(&self, run: &str, ranks: &[Seen]) {
        if let Ok(mut runs) = self.runs.lock() {
            runs.push((run.to_owned(), ranks.to_vec()));
        }
    }
}

/// The file: a process for each run, a track for each rank, a complete event for each operation and wait. Times are
/// microseconds of the ranks' clocks; in real time those of one run begin with its first event.
pub fn chrome(runs: &[Run]) -> String {
    let mut events: Vec<Value> = Vec::new();
    for (process, (name, ranks)) in runs.iter().enumerate() {
        events.push(meta("process_name", process, 0, name));
        let all = ranks.iter().flat_map(|seen| &seen.happenings);
        // Clocks of real ranks count from some moment of the machine's.
        let start = all.map(|happening| happening.from_ps).min().filter(|&first| first > REAL_PS).unwrap_or(0);
        for (rank, seen) in ranks.iter().enumerate() {
            events.push(meta("thread_name", process, rank, &format!("rank {rank}")));
            for happening in &seen.happenings {
                let mut args = Map::new();
                let known = [
                    ("peer", happening.peer.map(u64::from)),
                    ("size_B", happening.bytes),
                    ("tag", happening.tag.map(u64::from)),
                ];
                args.extend(known.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.into()))));
                events.push(json!({
                    "name": happening.name,
                    "ph": "X",
                    "ts": (happening.from_ps - start) as f64 / 1e6,
                    "dur": happening.ps as f64 / 1e6,
                    "pid": process,
                    "tid": rank,
                    "args": args,
                }));
            }
        }
    }
    let file = json!({
        "displayTimeUnit": "ns",
        "otherData": { "left_out": left_out(runs) },
        "traceEvents": events,
    });
    file.to_string() + "\n"
}

/// How many operations and waits no timeline has room for.
pub fn left_out(runs: &[Run]) -> u64 {
    runs.iter().flat_map(|run| &run.1).map(|seen| seen.left_out).sum()
}

/// A simulation's clock begins at zero, and none lasts so long: 1000 s.
const REAL_PS: u64 = 1_000_000_000_000_000;

fn meta(what: &str, process: usize, rank: usize, name: &str) -> Value {
    json!({ "name": what, "ph": "M", "pid": process, "tid": rank, "args": { "name": name } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotlink_bench::Happening;

    #[test]
    fn every_rank_has_a_track_and_every_operation_an_event() {
        let happening = Happening {
            name: "eager \"x\"".to_owned(),
            from_ps: 1_500_000,
            ps: 250_000,
            peer: Some(1),
            bytes: Some(8),
            tag: None,
        };
        let seen = Seen { happenings: vec![happening], left_out: 3, ..Seen::default() };
        let file: Value = serde_json::from_str(&chrome(&[("a run".to_owned(), vec![seen, Seen::default()])])).unwrap();
        let events = file["traceEvents"].as_array().unwrap();
        assert_eq!(events.len(), 4);
        let event = events.iter().find(|event| event["ph"] == "X").unwrap();
        assert_eq!((event["ts"].as_f64(), event["dur"].as_f64()), (Some(1.5), Some(0.25)));
        assert_eq!(event["args"], json!({ "peer": 1, "size_B": 8 }));
        assert_eq!(file["otherData"]["left_out"], 3);
    }
}
