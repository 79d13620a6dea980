//! `stream`, `rate`, `saturation`, `pairs` and `kernel` on simulated ranks: the benchmarks of `measure`, and the records of
//! both engines in time.

use crate::cell::Streamed;
use hotlink_bench::{Kernel, Pairs, Plan, Record, Samples, Spent, Stream, Summary, slow};
use hotlink_bound::Bound;

impl Streamed {
    /// The benchmark at one size.
    pub(super) fn bench(&self, size: u64, private: bool, plan: Plan) -> Stream {
        let Streamed { pairs, direction, calls, window, .. } = *self;
        Stream { sizes: vec![size], pairs, window, calls, direction, private, plan }
    }

    /// The record of the ranks' results, and its bound.
    pub(super) fn record(
        &self,
        head: Record,
        bench: &Stream,
        ranks: &[Vec<Samples>],
        least: &Bound,
    ) -> Result<Record, String> {
        let (record, samples) = bench.record(head, ranks).ok_or("no sample was taken")?;
        let (size, bandwidth_mbps) =
            (bench.sizes[0], Summary::of(&samples.values).map_or(f64::NAN, |summary| summary.median));
        let record = record.beside_rate(least, bandwidth_mbps);
        Ok(if self.benchmark == "rate" { record.bounded_messages(size) } else { record })
    }
}

/// One record for each pair of ranks; `least` bounds a pair's message.
pub(super) fn pairs(
    head: &Record,
    bench: &Pairs,
    ranks: &[Vec<Vec<Samples>>],
    factor: f64,
    mut least: impl FnMut([u32; 2]) -> Result<Bound, String>,
) -> Result<Vec<Record>, String> {
    let medians = bench.collect(ranks).into_iter().map(|sizes| {
        let summary = sizes.first().and_then(|samples| Summary::of(&samples.values));
        Ok(summary.ok_or("no sample was taken")?.median)
    });
    let medians: Vec<f64> = medians.collect::<Result<_, String>>()?;
    let typical_us = Summary::of(&medians).ok_or("no pair")?.median;
    let is_slow = slow(&medians, factor);
    let one = |(index, &(a, b)): (usize, &(u32, u32))| {
        let latency_us = medians[index];
        let record = head
            .clone()
            .with("rank_a", a)
            .with("rank_b", b)
            .with("latency_us", latency_us)
            .with("bandwidth_MBps", bench.sizes[0] as f64 / latency_us);
        let record = record.beside_time(&least([a, b])?, latency_us);
        Ok(record.with("times_median", latency_us / typical_us).with("slow", is_slow.contains(&index)))
    };
    bench.pairs.iter().enumerate().map(one).collect()
}

/// The record of an application bound by barriers.
pub(super) fn kernel(head: Record, bench: &Kernel, ranks: &[Spent]) -> Result<Record, String> {
    Ok(bench.record(head, ranks).ok_or("no barrier was passed")?.0)
}
