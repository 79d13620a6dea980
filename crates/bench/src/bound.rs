//! The bound of a measured transfer on one machine: how fast its ranks can copy memory, all at once. And what every bound
//! must keep: nothing measured lies beyond it.

use crate::{Bench, Plan, Record, Samples, plan::Repeater};
use hotlink_message::{Endpoint, Error};
use hotlink_port::{Kind, STREAM_BYTES, Span};
use serde::{Deserialize, Serialize};

/// Every rank copies blocks in its own memory at the same time, whole and in parts: MB/s per rank and size. No transfer
/// between two ranks moves data faster than all of them copying it, each its share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CopyRate {
    /// Block sizes in bytes.
    pub sizes: Vec<u64>,
    /// Repetitions.
    pub plan: Plan,
}

impl Bench for CopyRate {
    type Result = Vec<Samples>;
    async fn on<E: Endpoint>(&self, comm: &E) -> Result<Vec<Samples>, Error> {
        let repeater = Repeater::new(comm, &self.plan)?;
        let mut all = Vec::new();
        for &size in &self.sizes {
            let (from, to) = (comm.alloc(size, Kind::Private)?, comm.alloc(size, Kind::Private)?);
            comm.write(from, 0, &vec![1; size as usize])?;
            // Long blocks are stored past the caches, but a message of that length may come in parts that are not.
            let parts = [Some(size), (size >= STREAM_BYTES).then_some(STREAM_BYTES / 2)];
            let mut copies = Samples::default();
            for part in parts.into_iter().flatten() {
                let samples = repeater.run(async |inner| {
                    comm.barrier().await?;
                    let start = comm.now();
                    for _ in 0..inner {
                        for at in (0..size).step_by(part as usize) {
                            let bytes = part.min(size - at);
                            comm.copy(Span::new(from, at, bytes), Span::new(to, at, bytes))?;
                        }
                    }
                    let time = comm.now() - start;
                    Ok(((size * inner) as f64 / time.us(), time))
                });
                let samples = samples.await?;
                copies = Samples { values: [copies.values, samples.values.clone()].concat(), ..samples };
            }
            all.push(copies);
            comm.free(from)?;
            comm.free(to)?;
        }
        Ok(all)
    }
}

/// The sum over the ranks of their best copy rates, for the size at `index`: a median of them bounds nothing.
pub fn copy_bound_mbps(ranks: &[Vec<Samples>], index: usize) -> Option<f64> {
    ranks.iter().map(|rank| rank.get(index)?.values.iter().copied().reduce(f64::max)).sum()
}

/// Bounds of times, which the least of several keeps, and of rates, where the most does.
const TIME_BOUNDS: [&str; 3] = ["bound_latency_us", "bound_time_s", "bound_total_us"];
const RATE_BOUNDS: [&str; 2] = ["bound_bandwidth_MBps", "bound_messages_per_s"];
/// Rates behind the bounds within a machine.
const RATES: [&str; 3] = ["copies_MBps", "lines_MBps", "system_copy_MBps"];

/// The distance of the cores next to a record's samples, and its minimum in the run: a cache line's hand-off.
pub const HAND_OFF_US: &str = "hand_off_us";
/// The least of the run, which its bound takes.
pub const HAND_OFF_LEAST_US: &str = "hand_off_least_us";
/// Why a record with a bound has no efficiency.
pub const NO_EFFICIENCY: &str = "no_efficiency";

/// `record` with the tightest bound of itself and `others`, which are records of the same point at other times. A
/// machine that was faster for a while shows what it can do. Its efficiency and limiting resource follow.
#[must_use]
pub fn tightest(mut record: Record, others: &[&Record]) -> Record {
    let mut scale = None;
    let bounds = TIME_BOUNDS.map(|key| (key, true)).into_iter().chain(RATE_BOUNDS.map(|key| (key, false)));
    for (key, is_time) in bounds {
        let Some(own) = record.number(key).filter(|own| *own > 0.0) else { continue };
        let is_better = |bound: f64, best: f64| if is_time { bound < best } else { bound > best };
        let (mut best, mut of) = (own, None);
        for other in others {
            if let Some(bound) = other.number(key).filter(|bound| *bound > 0.0 && is_better(*bound, best)) {
                (best, of) = (bound, other.text("limiting_resource"));
            }
        }
        record.set(key, best);
        if let Some(resource) = of.filter(|_| scale.is_none()) {
            record.set("limiting_resource", resource);
        }
        scale = scale.or(Some(if is_time { best / own } else { own / best }));
    }
    let least = |key: &str| {
        let all = std::iter::once(&record).chain(others.iter().copied());
        all.filter_map(|other| other.number(key)).reduce(f64::min)
    };
    if let Some(least) = least(HAND_OFF_LEAST_US) {
        record.set(HAND_OFF_LEAST_US, least);
    }
    for key in RATES {
        let all = std::iter::once(&record).chain(others.iter().copied()).filter_map(|other| other.number(key));
        if let Some(best) = all.reduce(f64::max) {
            record.set(key, best);
        }
    }
    match (scale, record.number("efficiency")) {
        (Some(scale), Some(efficiency)) => record.with("efficiency", efficiency * scale),
        _ => record,
    }
}

/// Hand-offs next to the samples that take so many times the run's minimum show that the machine has changed. Virtual
/// cores moved to other cores, or far cores followed near ones. Otherwise the minimum of hundreds of hand-offs varies
/// by some per cent.
const OTHER_MODE: f64 = 2.0;

/// Removes the efficiency from a measured record whose bound comes from another part of the run, in which the cores
/// were much closer together. Says so in the record and in a sentence.
#[must_use]
pub fn without_misleading(mut record: Record) -> (Record, Option<String>) {
    let number = |key: &str| record.number(key);
    let (Some(beside), Some(least)) = (number(HAND_OFF_US), number(HAND_OFF_LEAST_US)) else { return (record, None) };
    if beside < OTHER_MODE * least || record.get("efficiency").is_none() {
        return (record, None);
    }
    let why = format!(
        "a cache line took {beside:.3} us from core to core next to the samples, and {least:.3} us in another part of the \
         run: from a factor of {OTHER_MODE} on, the bound is of a faster machine than the samples"
    );
    let size = record.get("size_B").map(|size| format!(" of {size} B")).unwrap_or_default();
    let told = format!("{}{size}: no efficiency: {why}", record.text("benchmark").unwrap_or("?"));
    record = record.without("efficiency").with(NO_EFFICIENCY, why);
    (record, Some(told))
}

/// The most that rounding of numbers adds to an efficiency of one.
const ROUNDING: f64 = 1e-6;
/// How much better than its bound a simulation may be: it counts packets whole that came in part.
pub const OF_PACKETS: f64 = 0.005;

fn is_simulated(record: &Record) -> bool {
    record.text("method").is_some_and(|method| method != "measured")
}

/// Whether an efficiency exceeds one by more than the record's interval.
pub fn is_beyond(record: &Record, efficiency: f64) -> bool {
    let number = |key: &str| record.number(key).filter(|value| *value > 0.0);
    // How far the median may be wrong, whichever way is better. A simulation's interval is of another number, or of its
    // inputs.
    let off = match (number("median"), number("ci95_low"), number("ci95_high")) {
        (Some(median), Some(low), Some(high)) if !is_simulated(record) => (high / median).max(median / low),
        _ => 1.0,
    };
    efficiency / off > 1.0 + if is_simulated(record) { OF_PACKETS } else { ROUNDING }
}

/// What an efficiency above one says whose bound rests on estimates: with these at the ends of their ranges it may be none.
/// `None` where it says more, or nothing.
pub fn beyond_by_estimates(record: &Record) -> Option<String> {
    let [efficiency, low, high] = ["efficiency", "efficiency_low", "efficiency_high"].map(|key| record.number(key));
    let (efficiency, low, high) = (efficiency?, low?, high?);
    (is_beyond(record, efficiency) && !is_beyond(record, low)).then(|| {
        format!(
            "{}: efficiency {efficiency:.3}, and {low:.3} to {high:.3} with the fabric's estimates at the ends of their ranges: \
             it is better than the middle, and may be right (sensitivity names them)",
            subject(record)
        )
    })
}

/// What a record is of: `pingpong of 8 B on ib-qdr`.
fn subject(record: &Record) -> String {
    let name = record.text("benchmark").or_else(|| record.text("traffic")).unwrap_or("a result");
    let size = record.get("size_B").map(|size| format!(" of {size} B")).unwrap_or_default();
    format!("{name}{size} on {}", record.text("fabric").unwrap_or("?"))
}

/// Marks a record with `impossible: true` if its efficiency exceeds one by more than its interval, and says so in a
/// sentence. Then either the bound is none, or the measurement is wrong. Records may be measured here or imported.
#[must_use]
pub fn flag_impossible(record: Record) -> (Record, Option<String>) {
    let Some(efficiency) = record.number("efficiency") else { return (record, None) };
    // Where any of several algorithms may have run, none of them can do more than the largest bound. Nor can software that
    // is quicker than the catalog's.
    let [bus, bandwidth] = ["bus_bandwidth_MBps", "bandwidth_MBps"].map(|key| record.number(key));
    let largest = bus.or(bandwidth).zip(record.number("bound_largest_MBps"));
    if largest.is_some_and(|(rate, largest)| rate <= largest) {
        return (record, None);
    }
    if !is_beyond(&record, efficiency) || beyond_by_estimates(&record).is_some() {
        return (record, None);
    }
    let why = match is_simulated(&record) {
        true => "which no result can reach: the bound or the simulation is wrong, please report it",
        false => {
            "which no measurement can reach. Likely reasons: the wrong fabric, a wrong unit (us and ms, MB and MiB, bit and \
             byte), a message that never left a cache, or a machine that changed between the bound and the measurement"
        }
    };
    let beyond = match largest {
        Some((rate, largest)) => {
            let (what, who) = match bus {
                Some(_) => ("bus bandwidth", "that the best algorithm can do"),
                None => ("bandwidth", "that the network can carry"),
            };
            format!("{what} {rate:.0} MB/s, above the {largest:.0} MB/s {who} (bound_largest)")
        }
        None => format!("efficiency {efficiency:.3} (bound: {})", record.bound_set_by().unwrap_or("?")),
    };
    let what = format!("{}: {beyond}, {why}", subject(&record));
    (record.with("impossible", true), Some(what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OnPort;
    use hotlink_port::Driver;
    use hotlink_port::loopback::Loopback;

    #[test]
    fn blocks_that_go_past_the_caches_are_copied_in_parts_that_do_not_too() {
        let bench = CopyRate { sizes: vec![4096, STREAM_BYTES], plan: Plan::once() };
        let ranks: Vec<Result<Vec<Samples>, Error>> = Loopback::default().run(2, &OnPort(&bench)).unwrap();
        for rank in ranks {
            let samples = rank.unwrap();
            assert_eq!([samples[0].values.len(), samples[1].values.len()], [1, 2], "{samples:?}");
        }
    }

    #[test]
    fn the_bound_is_the_sum_of_the_ranks_best() {
        let rank = |values: &[f64]| vec![Samples::default(), Samples { values: values.to_vec(), ..Samples::default() }];
        assert_eq!(copy_bound_mbps(&[rank(&[1.0, 5.0, 6.0]), rank(&[10.0, 20.0, 90.0])], 1), Some(96.0));
        assert_eq!(copy_bound_mbps(&[rank(&[1.0])], 0), None);
    }

    #[test]
    fn the_tightest_bound_of_all_blocks_counts() {
        let latency = |bound: f64| {
            Record::new()
                .with("bound_latency_us", bound)
                .with("bound_bandwidth_MBps", 8.0 / bound)
                .with("efficiency", bound / 2.0)
        };
        let record = tightest(latency(1.0), &[&latency(1.6), &latency(0.8), &Record::new()]);
        assert_eq!((record.number("bound_latency_us"), record.number("bound_bandwidth_MBps")), (Some(0.8), Some(10.0)));
        assert_eq!(record.number("efficiency"), Some(0.4));
        let rate = |bound: f64| Record::new().with("bound_bandwidth_MBps", bound).with("efficiency", 50.0 / bound);
        let set_by = |bound, resource: &str| {
            rate(bound).with("limiting_resource", resource).with("lines_MBps", 300.0 - bound).with("copies_MBps", bound)
        };
        let record = tightest(set_by(100.0, "a"), &[&set_by(80.0, "b"), &set_by(200.0, "c")]);
        assert_eq!((record.number("bound_bandwidth_MBps"), record.number("efficiency")), (Some(200.0), Some(0.25)));
        assert_eq!(record.text("limiting_resource"), Some("c"), "what set the bound that counts");
        assert_eq!((record.number("lines_MBps"), record.number("copies_MBps")), (Some(220.0), Some(200.0)));
        assert_eq!(tightest(Record::new(), &[&rate(1.0)]), Record::new());
    }

    #[test]
    fn samples_of_a_slower_machine_than_the_bound_s_have_no_efficiency() {
        let block = |median: f64, beside: f64, least: f64| {
            Record::new()
                .with("benchmark", "pingpong")
                .with("size_B", 8)
                .with("latency_us", median)
                .with("bound_latency_us", least)
                .with("efficiency", least / median)
                .with(HAND_OFF_US, beside)
                .with(HAND_OFF_LEAST_US, least)
        };
        let (slow, fast) = (block(0.3, 0.18, 0.18), block(0.1, 0.05, 0.04));
        for alone in [&slow, &fast] {
            assert_eq!(without_misleading(alone.clone()), (alone.clone(), None), "of one mode");
        }
        let (record, told) = without_misleading(tightest(slow.clone(), &[&fast, &slow]));
        assert_eq!((record.number("bound_latency_us"), record.get("efficiency")), (Some(0.04), None));
        let why = record.text(NO_EFFICIENCY).unwrap();
        assert!(
            why.starts_with("a cache line took 0.180 us from core to core next to the samples, and 0.040 us"),
            "{why}"
        );
        assert_eq!(told.unwrap(), format!("pingpong of 8 B: no efficiency: {why}"));
        let (record, told) = without_misleading(tightest(fast, &[&slow]));
        assert_eq!((record.number("efficiency"), told), (Some(0.04 / 0.1), None), "the samples are of the faster mode");
    }

    #[test]
    fn what_exceeds_its_bound_by_more_than_its_interval_is_flagged() {
        let of = |efficiency: f64| {
            Record::new().with("benchmark", "pingpong").with("size_B", 8).with("efficiency", efficiency)
        };
        let sampled = |efficiency| of(efficiency).with("median", 10.0).with("ci95_low", 9.0).with("ci95_high", 10.5);
        let bus = |rate: f64| of(1.1).with("bus_bandwidth_MBps", rate).with("bound_largest_MBps", 700.0);
        for record in [of(1.0), of(0.5), sampled(1.1), Record::new(), bus(500.0)] {
            assert_eq!(flag_impossible(record.clone()), (record, None));
        }
        for record in [of(1.01), of(58.0), bus(701.0), sampled(1.12), sampled(1.05).with("method", "packet")] {
            let (flagged, told) = flag_impossible(record);
            assert_eq!(flagged.get("impossible"), Some(&serde_json::Value::Bool(true)));
            let judged = match flagged.number("bound_largest_MBps") {
                Some(_) => "bus bandwidth 701 MB/s, above the 700 MB/s that the best algorithm can do",
                None => "efficiency",
            };
            assert!(told.unwrap().starts_with(&format!("pingpong of 8 B on ?: {judged}")));
        }
    }
}
