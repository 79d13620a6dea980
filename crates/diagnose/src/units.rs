//! What was measured between the same hosts, by any benchmark, compared with what the others reach.

use crate::robust::{Spread, median};
use crate::series::Series;
use crate::signatures::Thresholds;
use hotlink_bench::Record;
use hotlink_fabric::maths::ln;
use std::collections::{BTreeMap, BTreeSet};

/// Runs between the same hosts, in the same direction.
#[derive(Clone, Debug, Default)]
pub struct Unit {
    /// Its hosts; the first sends where one side sends.
    pub hosts: Vec<String>,
    /// Whether one side sent only.
    pub is_directed: bool,
    /// Rate of large messages over what the others reach.
    pub large: Option<f64>,
    /// The same of large messages there and back.
    pub round: Option<f64>,
    /// The same of short messages.
    pub small: Option<f64>,
    /// How steady the times of short messages are, over how steady the others' are.
    pub steady: Option<f64>,
    /// Whether large messages are an outlier.
    pub is_low: bool,
    /// Whether short messages are.
    pub is_slow: bool,
    /// Whether a few of its short messages come much later than the others of it.
    pub is_late: bool,
    /// How many such messages its runs hold, at least.
    pub late: f64,
    /// The files.
    pub files: Vec<String>,
    /// A number of large messages.
    pub largest: Option<Record>,
}

impl Unit {
    /// Its hosts without direction.
    pub fn pair(&self) -> Vec<String> {
        self.hosts.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Whether it has the same hosts.
    pub fn is_same_pair(&self, other: &Unit) -> bool {
        self.pair() == other.pair()
    }

    /// Whether it is the other's path back.
    pub fn is_back_of(&self, other: &Unit) -> bool {
        self.hosts.len() == 2 && self.hosts.iter().rev().eq(other.hosts.iter())
    }
}

/// By what values that belong together are judged.
#[derive(Clone, Copy)]
struct By {
    /// From here on a value is sound; where no bound says that, the better of two groups is.
    healthy: Option<f64>,
    /// A smaller difference is none.
    apart: f64,
    /// They may differ by this factor.
    explained: f64,
}

/// The better of two groups of values, where a gap parts them that is wider than what is explained and than either
/// group.
fn better(values: &[f64], By { apart, explained, .. }: By) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| *value > 0.0).collect();
    sorted.sort_by(f64::total_cmp);
    let gap = |at: usize| ln(sorted[at] / sorted[at - 1]);
    let Some(at) = (1..sorted.len()).max_by(|&a, &b| gap(a).total_cmp(&gap(b))) else { return Vec::new() };
    let is_apart = gap(at) > ln(explained) - ln(1.0 - apart);
    let widths = [&sorted[..at], &sorted[at..]].map(|group| ln(group[group.len() - 1] / group[0]));
    if is_apart && widths.iter().all(|width| *width < gap(at)) { sorted.split_off(at) } else { Vec::new() }
}

/// Judges values that belong together: each over the reference, and whether it is an outlier. `None`: nothing to
/// compare.
fn judged(values: &[f64], limits: &Thresholds, by: By) -> Option<Vec<(f64, bool)>> {
    if values.len() < 2 {
        return None;
    }
    let By { healthy, apart, explained } = by;
    // Where some runs are near the bound, they are the measure of the others, even where most are not.
    let sound: Vec<f64> = match healthy {
        Some(healthy) => values.iter().copied().filter(|value| *value >= healthy).collect(),
        None => better(values, by),
    };
    let has_sound = sound.len() >= 2 && sound.len() as f64 / values.len() as f64 >= limits.sound_part;
    let reference = Spread::beyond(if has_sound { &sound } else { values }, explained)?;
    let apart = if values.len() < limits.few { limits.few_times * apart } else { apart };
    // The better of two runs is the measure.
    let best = values.iter().copied().fold(f64::NAN, f64::max);
    let reference = if values.len() == 2 { Spread { median: best, deviation: 0.0 } } else { reference };
    Some(
        values
            .iter()
            .map(|&value| (value / reference.median, reference.is_below(value, apart, limits.deviations, explained)))
            .collect(),
    )
}

/// Of a run in one group of comparable runs: whether it streams, the value over what others reach, and whether it is an
/// outlier.
type Said = (bool, f64, bool);

/// What all groups say of the same hosts.
#[derive(Default)]
struct Heard<'a> {
    large: Vec<Said>,
    small: Vec<Said>,
    steady: Vec<Said>,
    late: f64,
    runs: Vec<&'a Series>,
}

/// How steady the short messages of each run are, and whether it is late. A run that waited for lost packets is late in
/// any case, and is no measure of the others.
fn steadiness<'s>(group: &[&'s Series], limits: &Thresholds) -> Vec<(&'s Series, (f64, bool))> {
    let known = group.iter().filter_map(|one| Some((*one, one.steady(limits)?)));
    let (repeated, calm): (Vec<_>, Vec<_>) = known.partition(|(one, _)| one.is_repeated(limits));
    let values: Vec<f64> = calm.iter().map(|(_, value)| *value).collect();
    let usual = median(&values).unwrap_or(1.0);
    let judged = judged(&values, limits, By { healthy: None, apart: limits.apart_steady, explained: 1.0 });
    // A lone calm run is sound where others waited.
    let lone = if repeated.is_empty() { Vec::new() } else { vec![(1.0, false); values.len()] };
    let calm = calm.into_iter().map(|(one, _)| one).zip(judged.unwrap_or(lone));
    calm.chain(repeated.into_iter().map(|(one, value)| (one, (value / usual, true)))).collect()
}

/// All runs of one or two hosts by their hosts. Times of short messages may differ by `distance_us`.
pub fn units(series: &[Series], limits: &Thresholds, distance_us: f64) -> Vec<Unit> {
    let mut groups: BTreeMap<&str, Vec<&Series>> = BTreeMap::new();
    let few = series.iter().filter(|one| (1..=2).contains(&one.hosts.len()));
    few.for_each(|one| groups.entry(one.key.as_str()).or_default().push(one));
    // By hosts: what each group says of large and of short messages. Streams speak for large messages before others.
    let mut said: BTreeMap<Vec<String>, Heard<'_>> = BTreeMap::new();
    for group in groups.values() {
        let compared = |level: &dyn Fn(&Series) -> Option<f64>, by: By| {
            let known: Vec<(&Series, f64)> = group.iter().filter_map(|one| Some((*one, level(one)?))).collect();
            let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
            let all = judged(&values, limits, by).unwrap_or_default();
            known.into_iter().map(|(one, _)| one).zip(all).collect::<Vec<_>>()
        };
        let large = By { healthy: Some(limits.healthy_large), apart: limits.apart_large, explained: 1.0 };
        for (one, (relative, is_bad)) in compared(&|one| one.large(limits), large) {
            let entry = said.entry(one.hosts.clone()).or_default();
            entry.large.push((one.is_stream, relative, is_bad));
            entry.runs.push(one);
        }
        // Software takes its time at any distance: what the path adds counts over the whole of the quickest message.
        let quickest = group.iter().filter_map(|one| one.small_us(limits)).reduce(f64::min);
        let explained = quickest.map_or(1.0, |us| 1.0 + distance_us / us);
        let small = By { healthy: None, apart: limits.apart_small, explained };
        for (one, (relative, is_bad)) in compared(&|one| one.small(limits), small) {
            let entry = said.entry(one.hosts.clone()).or_default();
            entry.small.push((true, relative, is_bad));
            entry.runs.push(one);
        }
        for (one, (relative, is_bad)) in steadiness(group, limits) {
            let entry = said.entry(one.hosts.clone()).or_default();
            entry.steady.push((true, relative, is_bad));
            entry.late += if is_bad { one.late(limits) } else { 0.0 };
        }
    }
    let middle = |said: &[Said]| {
        let has_stream = said.iter().any(|(is_stream, ..)| *is_stream);
        let mine: Vec<&Said> = said.iter().filter(|(is_stream, ..)| *is_stream || !has_stream).collect();
        let value = median(&mine.iter().map(|(_, value, _)| *value).collect::<Vec<_>>());
        (value, mine.iter().any(|(_, _, is_bad)| *is_bad))
    };
    let one = |(hosts, Heard { large, small, steady, late, runs }): (Vec<String>, Heard<'_>)| {
        let rounds: Vec<f64> = large.iter().filter(|(is_stream, ..)| !is_stream).map(|(_, value, _)| *value).collect();
        let ((large, is_low), (small, is_slow), (steady, is_late)) = (middle(&large), middle(&small), middle(&steady));
        let streams = || runs.iter().filter(|one| one.is_stream && !one.is_both);
        Unit {
            is_directed: hosts.len() == 2 && streams().next().is_some(),
            hosts,
            large,
            round: median(&rounds),
            small,
            steady,
            is_low,
            is_slow,
            is_late,
            late,
            files: runs.iter().map(|one| one.file.clone()).collect::<BTreeSet<_>>().into_iter().collect(),
            largest: streams().next().or(runs.first()).map(|one| one.largest.clone()),
        }
    };
    said.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Point;
    use crate::signatures::Knowledge;

    fn bad(values: &[f64], by: By) -> Vec<bool> {
        let limits = &Knowledge::embedded().threshold;
        judged(values, limits, by).unwrap().into_iter().map(|(_, is_bad)| is_bad).collect()
    }

    #[test]
    fn sound_runs_are_the_measure_even_where_most_are_bad() {
        let large = By { healthy: Some(0.8), apart: 0.12, explained: 1.0 };
        assert_eq!(bad(&[0.95, 0.94, 0.5, 0.5, 0.5], large), [false, false, true, true, true]);
        // Where none is near the bound, all are alike.
        assert_eq!(bad(&[0.5, 0.51, 0.5, 0.49], large), [false; 4]);
        assert_eq!(judged(&[0.5], &Knowledge::embedded().threshold, large), None);
        assert!(bad(&[0.5, 0.9], large)[0]);
    }

    #[test]
    fn the_better_of_two_groups_is_the_measure_where_no_bound_is() {
        let small = By { healthy: None, apart: 0.2, explained: 1.5 };
        // A slow host took part in half of the runs, and in most.
        assert_eq!(
            bad(&[0.30, 0.10, 0.31, 0.10, 0.09, 0.30, 0.1, 0.3], small),
            [0, 1, 0, 1, 1, 0, 1, 0].map(|bad| bad == 1)
        );
        assert_eq!(bad(&[0.30, 0.10, 0.31, 0.10, 0.09, 0.11, 0.1], small), [0, 1, 0, 1, 1, 1, 1].map(|bad| bad == 1));
        // Distance explains two groups; one quick run is no measure; values that spread have no groups.
        assert_eq!(bad(&[0.30, 0.20, 0.31, 0.20, 0.21, 0.30], small), [false; 6]);
        assert_eq!(bad(&[0.90, 0.20, 0.21, 0.20, 0.21, 0.20], small), [false; 6]);
        assert_eq!(bad(&[0.30, 0.24, 0.15, 0.11, 0.06, 0.04], small), [false; 6]);
    }

    #[test]
    fn a_distance_explains_its_own_time_and_no_more() {
        let limits = &Knowledge::embedded().threshold;
        let run = |hosts: [&str; 2]| {
            let us = if hosts.contains(&"d") { 3.4 } else { 1.9 };
            let point = Point {
                size: Some(8),
                level: 0.6 / us,
                of_bytes: Some(0.6 / us),
                us: Some(us),
                steadiness: None,
                late: None,
                late_trip_us: None,
            };
            Series {
                file: hosts.join("-"),
                hosts: hosts.map(str::to_owned).to_vec(),
                key: "pingpong".to_owned(),
                benchmark: "pingpong".to_owned(),
                is_both: false,
                curve: vec![point],
                is_latency: true,
                is_stream: false,
                largest: Record::default(),
            }
        };
        let runs = [["a", "b"], ["a", "c"], ["b", "c"], ["d", "a"], ["d", "b"], ["d", "c"]].map(run);
        let slow = |distance_us: f64| units(&runs, limits, distance_us).into_iter().filter(|unit| unit.is_slow).count();
        // Where the bound of the farthest is twice that of the nearest, the whole message takes a third more.
        assert_eq!((slow(0.0), slow(0.6), slow(1.5)), (3, 3, 0));
    }

    #[test]
    fn who_waits_for_lost_packets_is_late_whatever_the_others_do() {
        let limits = &Knowledge::embedded().threshold;
        let run = |hosts: [&str; 2], steadiness: f64, late_trip_us: Option<f64>| Series {
            file: hosts.join("-"),
            hosts: hosts.map(str::to_owned).to_vec(),
            key: "pingpong".to_owned(),
            benchmark: "pingpong".to_owned(),
            is_both: false,
            curve: vec![Point {
                size: Some(8),
                level: 0.1,
                of_bytes: Some(0.1),
                us: Some(3000.0),
                steadiness: Some(steadiness),
                late: Some(1.0),
                late_trip_us,
            }],
            is_latency: true,
            is_stream: false,
            largest: Record::default(),
        };
        let late = |runs: &[Series]| units(runs, limits, 1.0).into_iter().map(|unit| unit.is_late).collect::<Vec<_>>();
        // Half of the runs meet the lossy cable: without the limit each would be as steady as the usual.
        let waits = Some(limits.retransmission_us);
        let half = [
            run(["a", "b"], 0.02, waits),
            run(["a", "c"], 0.02, waits),
            run(["b", "c"], 0.9, Some(8000.0)),
            run(["b", "d"], 0.1, Some(60_000.0)),
        ];
        assert_eq!(late(&half), [true, true, false, false]);
        // A lone run next to one that waits is sound. Where all wait, all are late; a pause of the machine is none.
        assert_eq!(late(&half[1..3]), [true, false]);
        assert_eq!(late(&half[..2]), [true, true]);
        let pauses = [("a", "b"), ("a", "c"), ("b", "c"), ("b", "d")];
        let short = waits.map(|us| us - 1.0);
        assert_eq!(late(&pauses.map(|(a, b)| run([a, b], 0.02, short))), [false; 4]);
    }
}
