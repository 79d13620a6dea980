//! Blocks and rounds. All points are measured in one pass after the other, each pass between ranks of its own where
//! this process starts them. So the blocks of a point lie apart in time, with those of other points between. Each block
//! has its own processes, memory and warm-up. A record's value is the median block's, its interval is of the blocks'
//! medians.

use crate::bench;
use crate::clock::Pace;
use crate::launch::Child;
use crate::pass::Pass;
use crate::request::usual::SPREAD;
use crate::request::{Benchmark, Launcher};
use crate::session::{SAMPLES, Session};
use hotlink_bench::{BLOCKS_LEAST, Record, Summary, tightest};
use hotlink_study::Error;
use serde_json::{Map, Value};
use std::time::Duration;

/// A round that differs from the median by more than this share of it is an outlier.
const OUTLYING: f64 = 0.25;

/// Measures between ranks that this process starts, or is one of.
pub(crate) fn run(session: &Session<'_>, records: &mut Vec<Record>) -> Result<(), Error> {
    Course::of(session).run(session, records, bench::run)
}

/// Measures between ranks of `launcher`, which starts them anew for each block. Their report of their MPI goes to
/// `environment`.
pub(crate) fn launched(
    session: &Session<'_>,
    launcher: &Launcher,
    records: &mut Vec<Record>,
    environment: &mut Map<String, Value>,
) -> Result<(), Error> {
    let is_whole = matches!(session.request.benchmark, Benchmark::Sort(_));
    let child = Child::of(launcher, (!is_whole).then(|| session.plan().time_us * 1e-6));
    Course::of(session).run(session, records, |pass| {
        let results = child.run(session.face)?;
        results.records.into_iter().for_each(|record| pass.push(record));
        environment.extend(results.environment.into_iter().filter(|(key, _)| key.starts_with("mpi")));
        Ok(())
    })
}

/// How often all points are measured, and when.
struct Course {
    name: &'static str,
    rounds: u32,
    /// Of a round.
    blocks: u32,
    /// From one block's start to the next, at least.
    step: Duration,
    /// How long after the session's start the last block may begin.
    limit: Option<Duration>,
    raw: bool,
}

impl Course {
    fn of(session: &Session<'_>) -> Course {
        let repetition = &session.request.repetition;
        let (rounds, blocks) = (repetition.rounds, session.request.blocks());
        let spread_s = match blocks {
            1 => 0.0,
            _ => repetition.spread_s.unwrap_or(SPREAD * repetition.time_s),
        };
        let step = Duration::from_secs_f64(spread_s / f64::from(blocks));
        let limit = repetition.limit_s.map(Duration::from_secs_f64);
        Course { name: session.request.benchmark.name(), rounds, blocks, step, limit, raw: repetition.raw }
    }

    /// Takes all passes, each by `take`, and puts their records together.
    fn run(
        &self,
        session: &Session<'_>,
        records: &mut Vec<Record>,
        mut take: impl FnMut(&mut Pass<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let count = self.rounds * self.blocks;
        if count == 1 {
            let mut pass = Pass::new(session, true);
            let taken = take(&mut pass);
            let bare = |record: Record| if self.raw { record } else { record.without(SAMPLES) };
            records.extend(pass.records.into_iter().map(bare));
            return taken;
        }
        let name = format!("measure {}: blocks", self.name);
        let task = session.is_speaker().then(|| session.face.task(&name, count.into()));
        let pace = Pace::start(self.step);
        let (mut passes, mut taken) = (Vec::new(), Ok(()));
        for index in 0..count {
            let is_over = |limit: Duration| session.began.elapsed() + pace.left(index) > limit;
            if index > 0 && self.limit.is_some_and(is_over) {
                if session.is_speaker() {
                    session.face.say(&format!("--limit: {index} of {count} blocks were measured"));
                }
                break;
            }
            pace.wait(index);
            let mut pass = Pass::new(session, false);
            taken = take(&mut pass);
            passes.push(pass.records);
            if taken.is_err() {
                break;
            }
            if let Some(task) = &task {
                task.step();
            }
        }
        drop(task);
        for pass in by_point(&passes, taken.is_ok()) {
            let (record, outliers) = self.merged(&pass);
            if let Some(outliers) = outliers.filter(|_| session.is_speaker()) {
                session.face.say(&format!("outliers: {outliers}"));
            }
            records.push(record);
        }
        taken
    }

    /// The record of the median block with the statistics of all, and what to say of outlying rounds.
    fn merged(&self, passes: &[&Record]) -> (Record, Option<String>) {
        let values: Option<Vec<f64>> = passes.iter().map(|record| value(record).map(|(_, value)| value)).collect();
        let Some(values) = values else { return (passes[0].clone().without(SAMPLES), None) };
        let (key, _) = value(passes[0]).unwrap_or_default();
        let is_sampled = passes.iter().all(|record| record.get(SAMPLES).is_some());
        let samples: Vec<Vec<f64>> = match is_sampled {
            true => passes.iter().map(|record| record.numbers(SAMPLES)).collect(),
            false => values.iter().map(|&value| vec![value]).collect(),
        };
        let mut record = tightest(passes[middle(&values)].clone(), passes).without(SAMPLES);
        if let Some(summary) = Summary::of_blocks(&samples).filter(|_| is_sampled || passes.len() >= BLOCKS_LEAST) {
            record = summary.into(record).with("statistic_of", key);
            for (key, value) in [("p25", summary.p25), ("p75", summary.p75), ("max", summary.max)] {
                if record.number(key).is_some() {
                    record.set(key, value);
                }
            }
        }
        for key in ["warmup", "late"] {
            if passes.iter().all(|record| record.get(key).is_some_and(serde_json::Value::is_u64)) {
                let all = passes.iter().filter_map(|record| record.get(key)?.as_u64()).sum::<u64>();
                record.set(key, all);
            }
        }
        if self.raw && is_sampled {
            record = record.with(SAMPLES, samples.concat()).with("block_values", values.clone());
        }
        match self.rounds {
            1 => (record, None),
            _ => with_rounds(record, &values, self.blocks as usize, key),
        }
    }
}

/// The records of each point that was measured. Where not all is `whole`, the last pass was cut short: its records
/// count, and a point may have no others.
fn by_point(passes: &[Vec<Record>], whole: bool) -> impl Iterator<Item = Vec<&Record>> {
    let all = &passes[..passes.len() - usize::from(!whole && passes.len() > 1)];
    let points = all.iter().map(Vec::len).min().unwrap_or(0);
    (0..points).map(|point| passes.iter().filter_map(|pass| pass.get(point)).collect())
}

/// The subject of a record.
fn value(record: &Record) -> Option<(&str, f64)> {
    let key = record.text("statistic_of").unwrap_or("time_s");
    Some((key, record.number(key)?))
}

/// The place of the median of the values, of an even number the lower one.
fn middle(values: &[f64]) -> usize {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    order[(order.len() - 1) / 2]
}

/// The record with each round's median block, and a sentence where rounds differ much.
fn with_rounds(record: Record, values: &[f64], blocks: usize, key: &str) -> (Record, Option<String>) {
    let rounds: Vec<f64> = values.chunks(blocks).map(|round| round[middle(round)]).collect();
    let median = Summary::of(&rounds).map_or(0.0, |summary| summary.median);
    let outlying = rounds.iter().filter(|&&value| (value / median - 1.0).abs() > OUTLYING).count();
    let told = (outlying > 0).then(|| {
        let what = ["size_B", "class", "stride"].iter().find_map(|key| Some(format!("{key} {}", record.get(key)?)));
        let name = format!("{} {}", record.text("benchmark").unwrap_or_default(), what.unwrap_or_default());
        let (count, percent) = (rounds.len(), 100.0 * OUTLYING);
        format!(
            "{}: {key} of {outlying} of {count} rounds differs from the median by more than {percent} %",
            name.trim()
        )
    });
    let record = record.with("rounds", rounds.len()).with("round_values", rounds).with("rounds_disturbed", outlying);
    (record, told)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(rounds: u32, blocks: u32, raw: bool) -> Course {
        Course { name: "is", rounds, blocks, step: Duration::ZERO, limit: None, raw }
    }

    #[test]
    fn the_median_round_counts_and_an_outlier_is_reported() {
        let round = |time_s: f64| Record::new().with("benchmark", "is").with("class", "A").with("time_s", time_s);
        let (record, told) = course(3, 1, false).merged(&[&round(1.0), &round(10.0), &round(1.1)]);
        assert_eq!((record.number("time_s"), record.number("rounds_disturbed")), (Some(1.1), Some(1.0)));
        assert_eq!(record.get("round_values").unwrap().to_string(), "[1.0,10.0,1.1]");
        assert!(told.unwrap().starts_with("is class \"A\": time_s of 1 of 3 rounds differs"));
        assert!(record.get("ci95_low").is_none(), "three runs hold no interval");
        let (record, told) = course(2, 1, false).merged(&[&round(2.0), &round(1.9)]);
        assert_eq!((record.number("time_s"), told), (Some(1.9), None));
        let seven: Vec<Record> = (1..=7).map(|time| round(f64::from(time))).collect();
        let (record, _) = course(7, 1, false).merged(&seven.iter().collect::<Vec<_>>());
        // Student's interval of the logarithms of the three thirds' medians, joined with the range of all rounds.
        // It lies about 4 in the logarithm: low times high is 16.
        let (low, high) = (record.number("ci95_low").unwrap(), record.number("ci95_high").unwrap());
        assert!((low - 0.653_119_039_363_44).abs() < 1e-9 && (low * high - 16.0).abs() < 1e-9, "{low} {high}");
        assert_eq!(record.number("blocks"), Some(7.0));
        assert_eq!(record.text("statistic_of"), Some("time_s"));
    }

    #[test]
    fn passes_before_a_failure_count() {
        let pass = |points: u64| (0..points).map(|size| Record::new().with("size_B", size)).collect::<Vec<_>>();
        let counts = |passes: &[Vec<Record>], whole| by_point(passes, whole).map(|all| all.len()).collect::<Vec<_>>();
        assert_eq!(counts(&[pass(3), pass(3), pass(1)], false), [3, 2, 2]);
        assert_eq!(counts(&[pass(2)], false), [1, 1]);
        assert_eq!(counts(&[pass(3), pass(3)], true), [2, 2, 2]);
        assert!(counts(&[vec![]], false).is_empty());
    }

    #[test]
    fn blocks_of_all_rounds_make_the_interval() {
        let block = |median: f64| {
            Record::new()
                .with("benchmark", "pingpong")
                .with("size_B", 8)
                .with("latency_us", median)
                .with("bandwidth_MBps", 8.0 / median)
                .with("bound_latency_us", median / 2.0)
                .with("efficiency", 0.5)
                .with("statistic_of", "latency_us")
                .with("warmup", 10)
                .with(SAMPLES, vec![median - 0.1, median, median + 0.1])
        };
        let values = [5.0, 1.0, 4.0, 2.0, 3.0, 7.0, 6.0, 9.0, 8.0];
        let blocks = values.map(block);
        let (record, _) = course(3, 3, true).merged(&blocks.iter().collect::<Vec<_>>());
        for (key, value) in [("latency_us", 5.0), ("median", 5.0), ("bandwidth_MBps", 1.6), ("blocks", 9.0)] {
            assert_eq!(record.number(key), Some(value), "{key}");
        }
        assert_eq!(
            (record.number("n"), record.number("min"), record.number("warmup")),
            (Some(27.0), Some(0.9), Some(90.0))
        );
        assert!(record.number("ci95_low") <= Some(1.0) && record.number("ci95_high") >= Some(9.0));
        assert_eq!((record.number("bound_latency_us"), record.number("efficiency")), (Some(0.5), Some(0.1)));
        assert_eq!(record.numbers("round_values"), [4.0, 3.0, 8.0]);
        assert_eq!((record.numbers("block_values").len(), record.numbers(SAMPLES).len()), (9, 27));
        let few = blocks.clone().map(|block| block.with("ci95_low", 1.0).with("ci95_high", 2.0));
        let (record, _) = course(3, 1, false).merged(&few[..3].iter().collect::<Vec<_>>());
        assert!(record.get("ci95_low").is_none() && record.get("ci95_high").is_none(), "three blocks hold no interval");
        let (record, _) = course(1, 9, false).merged(&blocks.iter().collect::<Vec<_>>());
        assert!(record.get(SAMPLES).is_none() && record.get("rounds").is_none());
    }
}
