//! The keys of a record for many samples of one latency.

use crate::{Record, Summary};
use hotlink_fabric::units::Time;

/// The time that P01 counts barriers under load by, in microseconds.
const SHORT_US: f64 = 20.0;

/// Times in microseconds, ascending.
pub fn ascending_us(times: &[Time]) -> Vec<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.into_iter().map(Time::us).collect()
}

/// The record with count, median, p99 and both ends of the times at which ranks end.
pub fn with_ends(record: Record, finish: &[Time]) -> Record {
    let sorted = ascending_us(finish);
    record
        .with("n", sorted.len())
        .with("min", quantile(&sorted, 0.0))
        .with("median", median(&sorted))
        .with("p99", quantile(&sorted, 0.99))
        .with("max", quantile(&sorted, 1.0))
        .with("statistic_of", "the time at which each rank ends")
}

/// The value below or at which `share` of the ascending `sorted` lie.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(f64::NAN)
}

/// The median of the ascending `sorted`, as [`Summary`] has it: of an even number the mean of the middle two.
pub fn median(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => f64::NAN,
        n => f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]),
    }
}

/// Share of the samples under `limit_us`.
pub fn share_under(values: &[f64], limit_us: f64) -> f64 {
    values.iter().filter(|&&value| value < limit_us).count() as f64 / values.len().max(1) as f64
}

/// Adds the distribution of `values`, which are microseconds in the order in which they were taken. It has count,
/// median with its interval, p50, p93, p99 and the share under 20 us. With `raw` it adds the values themselves, from
/// which `plot --y samples` draws the distribution.
pub fn with_distribution(record: Record, values: &[f64], raw: bool) -> Record {
    let Some(summary) = Summary::of(values) else { return record.with("n", 0) };
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let record = record
        .with("n", summary.n)
        .with("median", summary.median)
        .with("min", summary.min)
        .with("p50", summary.median)
        .with("p93", quantile(&sorted, 0.93))
        .with("p99", quantile(&sorted, 0.99))
        .with("max", summary.max)
        .with("under_20us", share_under(values, SHORT_US))
        .with("statistic_of", "latency_us of the samples, each from a common start to the last rank's end");
    if raw { record.with("samples", values.to_vec()) } else { record }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_order_statistics_and_raw_values_keep_their_order() {
        let values: Vec<f64> = (0..100).map(|i| f64::from((i * 37) % 100)).collect();
        let record = with_distribution(Record::new(), &values, true);
        let at = |key| record.get(key).and_then(serde_json::Value::as_f64).unwrap();
        assert_eq!((at("p50"), at("p93"), at("p99"), at("under_20us")), (49.5, 92.0, 98.0, 0.2));
        assert_eq!(record.get("samples"), Some(&values.clone().into()));
        assert!(with_distribution(Record::new(), &values, false).get("samples").is_none());
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn every_median_is_that_of_a_summary() {
        for n in 1..8 {
            let times: Vec<Time> = (1..=n).map(|i| Time(i * i * 1_000_000)).collect();
            let sorted = ascending_us(&times);
            let summary = Summary::of(&sorted).unwrap().median;
            assert_eq!((median(&sorted), with_ends(Record::new(), &times).number("median")), (summary, Some(summary)));
        }
        assert!(median(&[]).is_nan());
    }
}
