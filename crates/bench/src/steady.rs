//! Statistics of a series in the order of time, as a simulation gives it. They are the end of its warm-up, the steady
//! values after it, and whether it is long enough.
//!
//! Samples of a queue resemble those before them, so that an interval that counts each as independent is far too
//! narrow. Here the series is cut into batches. Means and medians of long batches are nearly independent, and the
//! spread between them gives the interval. (Batch means; for the median: sectioning, Asmussen and Glynn 2007.) The
//! correlation of neighbours among four times as many batches tests whether they are long enough. The warm-up is cut
//! where the rest has the smallest standard error (MSER-5, White, Cobb and Spratt 2000).

use crate::distribution::median;
use crate::{BLOCKS_LEAST, Record};
use hotlink_fabric::maths;

/// Batches whose neighbours must not resemble each other.
const TESTED: usize = 64;
/// Batches that the interval is of: four of the tested ones each.
const BATCHES: usize = 16;
/// The 97.5th percentile of Student's t with 15 degrees of freedom.
const STUDENT: f64 = 2.131;
/// Of 16 values, the fourth and the thirteenth hold the median in 97.9 of 100 cases.
const RANKS: [usize; 2] = [3, 12];
/// A run that may still grow goes on above this correlation of neighbours.
const GROWS_ABOVE: f64 = 0.1;
/// A run that has ended is too short above this: two standard errors of 64 batches that are independent.
const SHORT_ABOVE: f64 = 0.25;
/// Largest part of a run that may be warm-up.
const MOST_WARMUP: f64 = 0.25;

/// The values of a steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// Samples before the steady state; they do not count.
    pub warmup: usize,
    /// Samples that count.
    pub n: usize,
    /// Their mean, and its 95 % interval.
    pub mean: f64,
    /// See [`Steady::mean`].
    pub mean_ci95: (f64, f64),
    /// Their median, and its 95 % interval.
    pub median: f64,
    /// See [`Steady::median`].
    pub median_ci95: (f64, f64),
    /// Least.
    pub min: f64,
    /// Greatest.
    pub max: f64,
    /// 99th percentile (nearest rank).
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Correlation of neighbours among 64 batches: that of their means or their medians, whichever is greater; 1 where there
    /// are too few samples to say.
    pub correlation: f64,
}

impl Steady {
    /// Of samples in the order of time; `None` if there are none or one is not a number.
    pub fn of(samples: &[f64]) -> Option<Steady> {
        if samples.is_empty() || samples.iter().any(|x| x.is_nan()) {
            return None;
        }
        let mut warmup = warmup(samples);
        let each = (samples.len() - warmup) / TESTED;
        // Samples that do not fill a batch are left to the warm-up.
        if each > 0 {
            warmup = samples.len() - each * TESTED;
        }
        let rest = &samples[warmup..];
        let mut sorted = rest.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let n = sorted.len();
        let at = |share: f64| sorted[((share * n as f64).ceil() as usize).clamp(1, n) - 1];
        let (mean, median) = (rest.iter().sum::<f64>() / n as f64, median(&sorted));
        let range = (sorted[0], sorted[n - 1]);
        let mut steady = Steady {
            warmup,
            n,
            // Of equal samples the sum may be off by a bit.
            mean: mean.clamp(range.0, range.1),
            mean_ci95: range,
            median,
            median_ci95: range,
            min: range.0,
            max: range.1,
            p99: at(0.99),
            p999: at(0.999),
            correlation: 1.0,
        };
        if each > 0 {
            let of = |size: usize, one: fn(&[f64]) -> f64| rest.chunks_exact(size).map(one).collect::<Vec<f64>>();
            steady.correlation = correlation(&of(each, average)).max(correlation(&of(each, middle)));
            let size = each * (TESTED / BATCHES);
            steady.mean_ci95 = interval(&of(size, average), mean);
            let mut medians = of(size, middle);
            let (low, high) = interval(&medians, median);
            medians.sort_unstable_by(f64::total_cmp);
            // Where many samples are equal, medians of batches are far from normal: their order holds all the same.
            let (low, high) = (low.min(medians[RANKS[0]]), high.max(medians[RANKS[1]]));
            // Of 64 or more independent samples, all lie on one side of the median once in 2^63 runs.
            steady.median_ci95 = (low.max(range.0), high.min(range.1));
        }
        Some(steady)
    }

    /// Whether a run may stop growing. Then batches are independent, the warm-up is a small part, and both intervals
    /// reach at most `precision` (a share) to either side.
    pub fn suffices(&self, precision: f64) -> bool {
        self.correlation <= GROWS_ABOVE && !self.warms_up_long() && self.lacks(precision) <= 1.0
    }

    /// How many times as far as `precision` the wider of both intervals reaches.
    pub fn lacks(&self, precision: f64) -> f64 {
        let reach = |(low, high): (f64, f64), of: f64| match high - low {
            0.0 => 0.0,
            width => width / 2.0 / (precision * of.abs()),
        };
        reach(self.mean_ci95, self.mean).max(reach(self.median_ci95, self.median))
    }

    fn warms_up_long(&self) -> bool {
        self.warmup as f64 > MOST_WARMUP * (self.warmup + self.n) as f64 + TESTED as f64
    }

    /// Why the series is too short for its intervals to hold, if it is.
    pub fn too_short(&self) -> Option<String> {
        if self.n < TESTED {
            return Some(format!("{} samples after the warm-up; intervals need {TESTED}", self.n));
        }
        if self.warms_up_long() {
            let all = self.warmup + self.n;
            return Some(format!("no steady state: {} of {all} samples are warm-up", self.warmup));
        }
        let what = "neighbouring batches resemble each other";
        (self.correlation > SHORT_ABOVE).then(|| format!("{what} (correlation {:.2})", self.correlation))
    }

    /// The keys `n`, `warmup_samples`, `median`, `mean`, `min`, `max`, `p99`, `p999`, the intervals and `too_short`.
    #[must_use]
    pub fn into(self, record: Record) -> Record {
        let interval = |key: &str, (low, high): (f64, f64), record: Record| match self.n < BLOCKS_LEAST {
            true => record,
            false => record.with(&format!("{key}_low"), low).with(&format!("{key}_high"), high),
        };
        let record = record.with("n", self.n).with("warmup_samples", self.warmup).with("median", self.median);
        let record = interval("ci95", self.median_ci95, record).with("mean", self.mean);
        let record = interval("mean_ci95", self.mean_ci95, record)
            .with("min", self.min)
            .with("max", self.max)
            .with("p99", self.p99)
            .with("p999", self.p999);
        match self.too_short() {
            Some(why) => record.with("too_short", why),
            None => record,
        }
    }
}

/// Samples before the steady state. The cut is in groups of five and within the first half; the rest after it has the
/// smallest standard error of its mean.
fn warmup(samples: &[f64]) -> usize {
    let groups: Vec<f64> = samples.chunks_exact(5).map(average).collect();
    // Differences from a value near the mean keep the squares small.
    let near = groups.last().copied().unwrap_or(0.0);
    let (mut sum, mut squares, mut best) = (0.0, 0.0, (f64::INFINITY, 0));
    for (cut, value) in groups.iter().enumerate().rev() {
        let value = value - near;
        (sum, squares) = (sum + value, squares + value * value);
        let left = (groups.len() - cut) as f64;
        let error = (squares - sum * sum / left) / (left * left);
        if 2 * cut <= groups.len() && error <= best.0 {
            best = (error, cut);
        }
    }
    5 * best.1
}

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn middle(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    let half = (values.len() - 1) / 2;
    *values.select_nth_unstable_by(half, f64::total_cmp).1
}

/// Correlation of neighbours; 0 where all are equal.
fn correlation(values: &[f64]) -> f64 {
    // Differences of equal values are exactly zero, while their mean rounds, which would look like a trend.
    let values: Vec<f64> = values.iter().map(|x| x - values[0]).collect();
    let mean = average(&values);
    let all: f64 = values.iter().map(|x| maths::powi(x - mean, 2)).sum();
    let neighbours: f64 = values.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum();
    if all > 0.0 { neighbours / all } else { 0.0 }
}

/// Student's interval about `centre` from batches' values: of their logarithms where all are positive, as times are.
fn interval(batches: &[f64], centre: f64) -> (f64, f64) {
    let is_positive = batches.iter().all(|&x| x > 0.0);
    let scale = |x: f64| if is_positive { maths::ln(x) } else { x };
    let back = |x: f64| if is_positive { maths::exp(x) } else { x };
    let (n, middle) = (batches.len() as f64, scale(centre));
    let spread = batches.iter().map(|&x| maths::powi(scale(x) - middle, 2)).sum::<f64>() / (n - 1.0);
    let half = STUDENT * (spread / n).sqrt();
    // A constant stays itself: logarithms would round it.
    if half == 0.0 { (centre, centre) } else { (back(middle - half), back(middle + half)) }
}

/// The histogram of `values` in buckets, four to a power of two. Returns the upper ends and counts of the buckets that
/// are not empty. Zero and less count in the first.
pub fn histogram(values: &[f64]) -> (Vec<f64>, Vec<u64>) {
    let bucket = |x: f64| (4.0 * maths::log2(x.max(f64::MIN_POSITIVE))).ceil() as i32;
    let (mut least, mut counts) = (0, Vec::new());
    if let (Some(low), Some(high)) = (values.iter().copied().reduce(f64::min), values.iter().copied().reduce(f64::max))
    {
        least = bucket(low);
        counts = vec![0; (bucket(high) - least + 1) as usize];
    }
    values.iter().for_each(|&x| counts[(bucket(x) - least) as usize] += 1);
    ((0..counts.len() as i32).map(|i| maths::powf(2.0, f64::from(least + i) / 4.0)).collect(), counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Random(u64);

    impl Random {
        fn unit(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        }
        fn exponential(&mut self) -> f64 {
            -(1.0 - self.unit()).ln()
        }
    }

    /// Times in an M/D/1 queue or an M/M/1 queue that begins empty (Lindley's recursion), in units of the mean service.
    struct Queue {
        random: Random,
        load: f64,
        fixed: bool,
        wait: f64,
    }

    impl Queue {
        fn next(&mut self) -> f64 {
            let service = if self.fixed { 1.0 } else { self.random.exponential() };
            let time = self.wait + service;
            self.wait = (time - self.random.exponential() / self.load).max(0.0);
            time
        }
        /// Exact median and mean. M/D/1's median is the root of Crommelin's distribution of the wait, and the service.
        fn exact(&self) -> (f64, f64) {
            let load = self.load;
            if !self.fixed {
                return (std::f64::consts::LN_2 / (1.0 - load), 1.0 / (1.0 - load));
            }
            let at_most = |wait: f64| {
                let term = |k: u32| {
                    let power = load * (f64::from(k) - wait);
                    (1..=k).map(|i| power / f64::from(i)).product::<f64>() * (-power).exp()
                };
                (1.0 - load) * (0..=wait as u32).map(term).sum::<f64>()
            };
            let wait = (0..).map(|step| f64::from(step) * 1e-4).find(|&wait| at_most(wait) >= 0.5);
            (1.0 + wait.unwrap_or(f64::NAN), 1.0 + load / (2.0 * (1.0 - load)))
        }
        /// As a simulation grows: by twice until it suffices, and once more.
        fn grown(&mut self, precision: f64) -> Steady {
            let (mut samples, mut length, mut last) = (Vec::new(), 4096, false);
            loop {
                samples.extend(std::iter::repeat_with(|| self.next()).take(length - samples.len()));
                let steady = Steady::of(&samples).expect("samples");
                if last {
                    return steady;
                }
                (length, last) = (2 * length, steady.suffices(precision));
            }
        }
    }

    /// The loads that need long runs are those of `make bench-coverage`.
    #[test]
    fn intervals_hold_the_exact_values_of_queues() {
        let mut held = Vec::new();
        for (fixed, load) in [(true, 0.5), (true, 0.8), (false, 0.5), (false, 0.8)] {
            let (mut medians, mut means) = (0, 0);
            for seed in 1..=40 {
                let mut queue = Queue { random: Random(seed * 7919), load, fixed, wait: 0.0 };
                let (median, mean) = queue.exact();
                let steady = queue.grown(0.1);
                medians += u32::from((steady.median_ci95.0..=steady.median_ci95.1).contains(&median));
                means += u32::from((steady.mean_ci95.0..=steady.mean_ci95.1).contains(&mean));
            }
            held.extend([medians, means]);
        }
        assert!(held.iter().all(|&of_40| of_40 >= 33), "{held:?}");
        assert!(f64::from(held.iter().sum::<u32>()) >= 0.9 * 40.0 * held.len() as f64, "{held:?}");
    }

    /// The test above can fail: taken as independent, the samples' interval holds far too rarely.
    #[test]
    fn samples_taken_as_independent_hold_too_little() {
        let held = (1..=40).filter(|&seed| {
            let mut queue = Queue { random: Random(seed * 7919), load: 0.9, fixed: true, wait: 0.0 };
            let samples: Vec<f64> = std::iter::repeat_with(|| queue.next()).take(20_000).collect();
            let summary = crate::Summary::of(&samples).expect("samples");
            summary.ci95.is_some_and(|(low, high)| (low..=high).contains(&queue.exact().0))
        });
        assert!(held.count() < 20);
    }

    #[test]
    fn a_warm_up_is_cut_and_what_is_not_steady_says_so() {
        let mut random = Random(5);
        let mut series =
            |level: fn(usize) -> f64| -> Vec<f64> { (0..6400).map(|i| level(i) + random.unit()).collect() };
        let warm = Steady::of(&series(|i| if i < 640 { 10.0 } else { 100.0 })).unwrap();
        assert!((640..900).contains(&warm.warmup) && warm.min >= 100.0 && warm.too_short().is_none(), "{warm:?}");
        let rising = Steady::of(&series(|i| i as f64)).unwrap();
        assert!(rising.too_short().is_some() && !rising.suffices(1.0), "{rising:?}");
        let flat = Steady::of(&[3.0; 1000]).unwrap();
        assert_eq!((flat.warmup, flat.mean_ci95, flat.median_ci95), (1000 - 15 * 64, (3.0, 3.0), (3.0, 3.0)));
        assert!(flat.suffices(0.0) && flat.too_short().is_none());
        // A median that is nearly always the same, as where few messages wait: 64 times 4.92344 rounds.
        let rare = |i: usize| 4.92344 + if i.is_multiple_of(97) { random.unit() } else { 0.0 };
        let nearly = Steady::of(&(0..12_800).map(rare).collect::<Vec<f64>>()).unwrap();
        assert!(nearly.correlation < 0.3 && nearly.suffices(0.1) && nearly.too_short().is_none(), "{nearly:?}");
        // By their spread alone, the median of these could be 0.2.
        let two = |i: usize| if (i / 800).is_multiple_of(2) { 1.0 } else { 100.0 };
        let apart = Steady::of(&(0..12_800).map(two).collect::<Vec<f64>>()).unwrap();
        assert_eq!((apart.min, apart.median_ci95.0), (1.0, 1.0), "{apart:?}");
        assert!(Steady::of(&[1.0, 2.0]).unwrap().too_short().unwrap().starts_with("2 samples"));
        assert!(Steady::of(&[]).is_none() && Steady::of(&[f64::NAN]).is_none());
    }

    #[test]
    fn buckets_are_four_to_a_power_of_two() {
        let (ends, counts) = histogram(&[1.0, 1.0, 1.1, 2.0, 3.9]);
        assert_eq!(counts, [2, 1, 0, 0, 1, 0, 0, 0, 1]);
        assert_eq!((ends[0], ends[4], ends[8]), (1.0, 2.0, 4.0));
        assert_eq!(histogram(&[]), (Vec::new(), Vec::new()));
    }

    proptest! {
        #[test]
        fn ordered(samples in prop::collection::vec(0.1f64..1e9, 1..500)) {
            let s = Steady::of(&samples).unwrap();
            prop_assert!(s.min <= s.median && s.median <= s.p99 && s.p99 <= s.p999 && s.p999 <= s.max);
            prop_assert!(s.median_ci95.0 <= s.median && s.median <= s.median_ci95.1);
            prop_assert!(s.mean_ci95.0 <= s.mean * 1.000_001 && s.mean <= s.mean_ci95.1 * 1.000_001);
            prop_assert_eq!(s.warmup + s.n, samples.len());
            let (ends, counts) = histogram(&samples);
            prop_assert_eq!(counts.iter().sum::<u64>(), samples.len() as u64);
            prop_assert!(ends.is_sorted());
        }
    }
}
