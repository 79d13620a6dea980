//! By which algorithm and protocol GPUs run collectives, in records.

use crate::collective::name;
use hotlink_bench::Record;
use hotlink_schedule::collective::{Run, Way};
use std::collections::BTreeMap;

/// What stands for values that differ.
const SEVERAL: &str = "several";

/// What a record says of a way, by the ends of its keys.
fn words(way: &Way) -> [(&'static str, &'static str); 4] {
    [
        ("algorithm", way.algorithm.name()),
        ("algorithm_by", way.algorithm_by),
        ("protocol", way.protocol.name()),
        ("protocol_by", way.protocol_by),
    ]
}

/// The record with an algorithm, a protocol, and what chose them.
pub(crate) fn told(record: Record, way: &Way) -> Record {
    words(way).into_iter().fold(record, |record, (key, word)| record.with(key, word))
}

/// The same of several collectives, under keys that begin with `prefix`. Where these are done in several ways, `of_each`
/// names a list of them.
pub(crate) fn told_of(record: Record, prefix: &str, runs: &[Run], of_each: &str) -> Record {
    let Some((first, others)) = runs.split_first() else { return record };
    let mut record = record;
    for (at, (key, word)) in words(&first.way).into_iter().enumerate() {
        let is_one = others.iter().all(|run| words(&run.way)[at].1 == word);
        record.set(&format!("{prefix}{key}"), if is_one { word } else { SEVERAL });
    }
    let each = lines(runs);
    if each.len() > 1 { record.with(of_each, each) } else { record }
}

/// A line for the collectives of each kind and way: how many, and their bytes.
fn lines(runs: &[Run]) -> Vec<String> {
    let mut alike: BTreeMap<[&str; 3], (u64, u64, u64)> = BTreeMap::new();
    for run in runs {
        let key = [name(run.which), run.way.algorithm.name(), run.way.protocol.name()];
        let (times, least, most) = alike.entry(key).or_insert((0, u64::MAX, 0));
        (*times, *least, *most) = (*times + run.times, run.bytes.min(*least), run.bytes.max(*most));
    }
    let line = |([which, algorithm, protocol], (times, least, most)): (&[&str; 3], &(u64, u64, u64))| {
        let bytes = if least == most { format!("{least} B") } else { format!("{least} to {most} B") };
        format!("{times} {which} of {bytes} by {algorithm}, {protocol}")
    };
    alike.iter().map(line).collect()
}
