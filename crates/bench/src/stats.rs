//! Statistics after Hoefler and Belli, "Scientific Benchmarking of Parallel Computing Systems" (SC15): medians with
//! order-statistic confidence intervals, which assume nothing about the distribution.
//!
//! Samples that are close in time resemble each other, so an interval that counts each as independent is far too
//! narrow. Therefore [`Summary::of_blocks`] takes blocks that lie apart in time and in launches, and its interval is of
//! their medians.

use crate::Record;
use hotlink_fabric::maths;

/// Fewest values, of samples or of blocks, that can hold a 95 % interval of their median. With five, all five lie on
/// one side of it in 6 of 100 cases.
pub const BLOCKS_LEAST: usize = 6;

/// A record's statistics of a set of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of samples.
    pub n: usize,
    /// Number of blocks that the interval is of; 1: it is of the samples.
    pub blocks: usize,
    /// Median; of blocks, the median of their medians.
    pub median: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// 25th percentile (nearest rank); of blocks, each counts as much as any other, as in the median.
    pub p25: f64,
    /// 75th percentile.
    pub p75: f64,
    /// 99th percentile of all samples, whatever their blocks.
    pub p99: f64,
    /// The 95 % confidence interval of the median; none of fewer than [`BLOCKS_LEAST`] values.
    pub ci95: Option<(f64, f64)>,
}

impl Summary {
    /// Summarises samples that are independent of each other; `None` if there are none or one is not a number.
    pub fn of(samples: &[f64]) -> Option<Summary> {
        if samples.is_empty() || samples.iter().any(|x| x.is_nan()) {
            return None;
        }
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let percentile = |share: f64| nearest_rank(&sorted, share);
        Some(Summary {
            n,
            blocks: 1,
            median: f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]),
            min: sorted[0],
            max: sorted[n - 1],
            p25: percentile(0.25),
            p75: percentile(0.75),
            p99: percentile(0.99),
            ci95: median_interval(n).map(|(low, high)| (sorted[low], sorted[high])),
        })
    }
    /// Summarises blocks in the order of time. The median is a block's own, the lower middle one of an even number. The
    /// interval is of the blocks' medians; one block gives the interval of its samples. The quartiles lie around the
    /// median and weigh blocks as it does, so that a long block does not drown the others. The 99th percentile is of
    /// single samples.
    pub fn of_blocks(blocks: &[Vec<f64>]) -> Option<Summary> {
        let each: Vec<Summary> = blocks.iter().map(|block| Summary::of(block)).collect::<Option<_>>()?;
        let medians: Vec<f64> = each.iter().map(|block| block.median).collect();
        if each.len() < 2 {
            return each.first().copied();
        }
        let min = each.iter().map(|block| block.min).fold(f64::INFINITY, f64::min);
        let max = each.iter().map(|block| block.max).fold(f64::NEG_INFINITY, f64::max);
        // Where a machine's speed varies by factors, three thirds of a run would allow any value. Only where every block is one
        // sample do samples say no more than the medians do.
        let ends = each.iter().any(|block| block.n > 1);
        let ended = |(low, high): (f64, f64)| if ends { (low.max(min), high.min(max)) } else { (low, high) };
        let percentile = weighted_percentiles(blocks);
        Some(Summary {
            n: each.iter().map(|block| block.n).sum(),
            blocks: each.len(),
            median: sorted(&medians)[(medians.len() - 1) / 2],
            min,
            max,
            p25: percentile(0.25),
            p75: percentile(0.75),
            p99: nearest_rank(&sorted(&blocks.concat()), 0.99),
            ci95: blocks_interval(&medians).map(ended),
        })
    }
    /// The keys `n`, `blocks`, `median`, `min`, `p99`, and of an interval `ci95_low` and `ci95_high`.
    #[must_use]
    pub fn into(self, record: Record) -> Record {
        let record = record
            .with("n", self.n)
            .with("blocks", self.blocks)
            .with("median", self.median)
            .with("min", self.min)
            .with("p99", self.p99);
        match self.ci95 {
            Some((low, high)) => record.with("ci95_low", low).with("ci95_high", high),
            // A record of one block has an interval of that block's own.
            None => record.without("ci95_low").without("ci95_high"),
        }
    }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The value of ascending ones that this share of them does not exceed.
fn nearest_rank(sorted: &[f64], share: f64) -> f64 {
    sorted[((share * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1]
}

/// Percentiles over all samples, each block with the same weight.
fn weighted_percentiles(blocks: &[Vec<f64>]) -> impl Fn(f64) -> f64 {
    let weight = |block: &Vec<f64>| 1.0 / (block.len() * blocks.len()) as f64;
    let mut all: Vec<(f64, f64)> =
        blocks.iter().flat_map(|block| block.iter().map(move |&value| (value, weight(block)))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    move |share| {
        let mut sum = 0.0;
        let reached = all.iter().find(|(_, weight)| {
            sum += weight;
            sum >= share - 1e-9
        });
        reached.or(all.last()).map_or(f64::NAN, |&(value, _)| value)
    }
}

/// Indices of the sorted samples between which the median lies with at least 95 % confidence; none if there are too few to
/// say. Exact (binomial) up to 500 samples, by the normal approximation beyond.
fn median_interval(n: usize) -> Option<(usize, usize)> {
    if n < BLOCKS_LEAST {
        return None;
    }
    if n > 500 {
        let (count, half) = (n as f64, 0.98 * (n as f64).sqrt());
        return Some(((count / 2.0 - half).floor() as usize, (count / 2.0 + half).ceil() as usize));
    }
    // Chance that fewer than `low` of n values lie below the median.
    let (mut term, mut below, mut low) = (maths::powi(0.5, n as i32), 0.0, 0);
    while low < n / 2 {
        below += term;
        if below > 0.025 {
            break;
        }
        term *= (n - low) as f64 / (low + 1) as f64;
        low += 1;
    }
    let low = low.saturating_sub(1);
    Some((low, n - 1 - low))
}

/// Sections of a run, and the 97.5th percentile of Student's t for as many, less one, degrees of freedom.
const SECTIONS: usize = 3;
const STUDENT: f64 = 4.303;

/// The interval of blocks' medians in the order of time. It is their whole range, joined with Student's interval of the
/// medians of the run's thirds. (The caller ends it at the smallest and the largest sample.) Independent blocks would
/// need far less. But a machine's speed drifts for seconds and minutes, so the blocks of a run are more alike than
/// those of two runs.
///
/// Of twelve blocks over ten seconds, the distribution-free interval held the median of twenty such runs in half of
/// them. This one held it in nine of ten (docs/reports).
fn blocks_interval(medians: &[f64]) -> Option<(f64, f64)> {
    if medians.len() < BLOCKS_LEAST {
        return None;
    }
    let low = medians.iter().copied().fold(f64::INFINITY, f64::min);
    let high = medians.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // Times and rates vary by factors, and none of them is below nothing.
    let is_positive = low > 0.0;
    let scaled: Vec<f64> = medians.iter().map(|&value| if is_positive { maths::ln(value) } else { value }).collect();
    let n = scaled.len();
    let middle = |values: &[f64]| {
        let sorted = sorted(values);
        f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
    };
    let sections: Vec<f64> = (0..SECTIONS).map(|i| middle(&scaled[i * n / SECTIONS..(i + 1) * n / SECTIONS])).collect();
    let mean = sections.iter().sum::<f64>() / SECTIONS as f64;
    let variance = sections.iter().map(|value| maths::powi(value - mean, 2)).sum::<f64>() / (SECTIONS - 1) as f64;
    let (centre, half) = (middle(&scaled), STUDENT * (variance / SECTIONS as f64).sqrt());
    let back = |value: f64| if is_positive { maths::exp(value) } else { value };
    Some((low.min(back(centre - half)), high.max(back(centre + half))))
}

/// The median of differences that are symmetric about it, and its 95 % interval. The median is Hodges and Lehmann's
/// estimate; the interval inverts Wilcoxon's signed-rank test (exact). `None`: fewer than six differences hold no such
/// interval.
pub fn signed_rank(differences: &[f64]) -> Option<(f64, f64, f64)> {
    let n = differences.len();
    if n < BLOCKS_LEAST || differences.iter().any(|x| x.is_nan()) {
        return None;
    }
    let mut means = Vec::with_capacity(n * (n + 1) / 2);
    for (i, &a) in differences.iter().enumerate() {
        means.extend(differences[i..].iter().map(|&b| f64::midpoint(a, b)));
    }
    let means = sorted(&means);
    let m = means.len();
    let low = signed_rank_critical(n);
    Some((means[low], f64::midpoint(means[(m - 1) / 2], means[m / 2]), means[m - 1 - low]))
}

/// The most values of the sum of positive ranks, from zero on, whose chance together is at most 2.5 %, less one.
fn signed_rank_critical(n: usize) -> usize {
    let most = n * (n + 1) / 2;
    // Each rank's sign is a fair coin.
    let mut chance = vec![0.0; most + 1];
    chance[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..=most).rev() {
            let with = if sum >= rank { chance[sum - rank] } else { 0.0 };
            chance[sum] = 0.5 * (chance[sum] + with);
        }
    }
    let mut below = 0.0;
    let fits = chance.iter().take_while(|&&chance| {
        below += chance;
        below <= 0.025
    });
    fits.count().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        let summary = Summary::of(&(1..=100).map(f64::from).collect::<Vec<_>>()).unwrap();
        assert_eq!((summary.n, summary.median, summary.min, summary.p99), (100, 50.5, 1.0, 99.0));
        // Ranks 40 and 61: the textbook's interval for n = 100.
        assert_eq!(summary.ci95, Some((40.0, 61.0)));
        assert!(Summary::of(&[]).is_none() && Summary::of(&[f64::NAN]).is_none());
    }

    fn holds(summary: &Summary, value: f64) -> bool {
        summary.ci95.is_some_and(|(low, high)| (low..=high).contains(&value))
    }

    #[test]
    fn fewer_than_six_values_hold_no_interval() {
        let values: Vec<f64> = (1..=6).map(f64::from).collect();
        let blocks: Vec<Vec<f64>> = values.iter().map(|&value| vec![value; 100]).collect();
        for n in 1..6 {
            assert_eq!(Summary::of(&values[..n]).unwrap().ci95, None, "{n} samples");
            assert!(n == 1 || Summary::of_blocks(&blocks[..n]).unwrap().ci95.is_none(), "{n} blocks");
        }
        let record = Summary::of(&values[..5]).unwrap().into(Record::new().with("ci95_low", 1).with("ci95_high", 2));
        assert!(record.get("ci95_low").is_none() && record.get("ci95_high").is_none());
        assert_eq!(Summary::of(&values).unwrap().ci95, Some((1.0, 6.0)));
        assert!(Summary::of_blocks(&blocks).unwrap().ci95.is_some());
    }

    /// One late sample of a short block is one of all samples, not one of its block.
    #[test]
    fn the_99th_percentile_is_of_all_samples() {
        let mut blocks = vec![vec![1.0; 1000]; 11];
        blocks.push([vec![2.0; 9], vec![50.0]].concat());
        let summary = Summary::of_blocks(&blocks).unwrap();
        assert_eq!((summary.p99, summary.max), (Summary::of(&blocks.concat()).unwrap().p99, 50.0));
        assert_eq!(summary.p99, 1.0);
    }

    /// The interval holds the true median in about 95 of 100 experiments (here a skewed distribution).
    #[test]
    fn interval_covers_the_median() {
        let mut state = 1u64;
        let mut uniform = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let covered = (0..2000).filter(|_| {
            let samples: Vec<f64> = (0..60).map(|_| -(1.0 - uniform()).ln()).collect();
            let summary = Summary::of(&samples).unwrap();
            holds(&summary, std::f64::consts::LN_2)
        });
        let share = covered.count() as f64 / 2000.0;
        assert!((0.94..0.99).contains(&share), "{share}");
    }

    /// Numbers from a seed: uniform, and normal by the sum of twelve.
    struct Random(u64);

    impl Random {
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }
        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
        }
    }

    /// The share of runs whose interval holds the median of the runs' medians, over `series` rows of twenty runs. A run
    /// has twelve blocks with eleven samples each. `level` gives the level of the next block.
    fn coverage(series: usize, mut level: impl FnMut(&mut Random, usize) -> f64) -> f64 {
        let mut random = Random(7);
        let mut held = 0;
        for _ in 0..series {
            let runs: Vec<Summary> = (0..20)
                .map(|_| {
                    let blocks: Vec<Vec<f64>> = (0..12)
                        .map(|block| {
                            let level = level(&mut random, block);
                            (0..11).map(|_| 100.0 + level + random.normal()).collect()
                        })
                        .collect();
                    Summary::of_blocks(&blocks).unwrap()
                })
                .collect();
            let grand = Summary::of(&runs.iter().map(|run| run.median).collect::<Vec<_>>()).unwrap().median;
            held += runs.iter().filter(|run| holds(run, grand)).count();
        }
        held as f64 / (20 * series) as f64
    }

    #[test]
    fn intervals_of_blocks_hold_under_white_noise_level_shifts_and_drift() {
        let white = coverage(50, |_, _| 0.0);
        let shifts = coverage(50, |random, _| 5.0 * random.normal());
        // Two states of the machine, each of which lasts for three blocks in the mean.
        let mut state = 0.0;
        let states = coverage(50, |random, _| {
            if random.uniform() < 1.0 / 3.0 {
                state = if random.uniform() < 0.3 { 20.0 } else { 0.0 };
            }
            state
        });
        let mut drifted = 0.0;
        let drift = coverage(50, |random, _| {
            drifted = 0.8 * drifted + 3.0 * random.normal();
            drifted
        });
        for (name, share) in [("white", white), ("shifts", shifts), ("states", states), ("drift", drift)] {
            assert!(share >= 0.9, "{name}: {share}");
        }
    }

    /// Had the samples been taken as independent, as one block is, intervals would hold far less: the test above can fail.
    #[test]
    fn samples_of_blocks_taken_as_independent_hold_too_little() {
        let mut random = Random(7);
        let mut run = || -> Summary {
            let blocks: Vec<Vec<f64>> = (0..12)
                .map(|_| {
                    let level = 5.0 * random.normal();
                    (0..11).map(|_| 100.0 + level + random.normal()).collect()
                })
                .collect();
            Summary::of(&blocks.concat()).unwrap()
        };
        let held = (0..1000).map(|_| run()).filter(|run| holds(run, 100.0)).count();
        assert!(held < 700, "{held} of 1000");
    }

    #[test]
    fn an_interval_ends_at_the_samples() {
        // A machine that was a thousand times slower in the last third.
        let blocks: Vec<Vec<f64>> =
            (0..12).map(|block| vec![if block < 8 { 1.0 + f64::from(block) / 10.0 } else { 2000.0 }, 1.0]).collect();
        let summary = Summary::of_blocks(&blocks).unwrap();
        assert_eq!(summary.ci95, Some((1.0, 2000.0)));
        // One long sample was the whole of its block.
        let lone = [blocks, vec![vec![3000.0]]].concat();
        assert_eq!(Summary::of_blocks(&lone).unwrap().ci95, Some((1.0, 3000.0)));
    }

    #[test]
    fn a_block_counts_once_however_many_samples_it_has() {
        let long = vec![9.0; 1000];
        let blocks = [vec![1.0], vec![2.0, 2.2], long, vec![3.0], vec![2.5], vec![2.0], vec![4.0]];
        let summary = Summary::of_blocks(&blocks).unwrap();
        assert_eq!((summary.n, summary.blocks, summary.median), (1007, 7, 2.5));
        assert_eq!((summary.min, summary.max, summary.p25, summary.p75), (1.0, 9.0, 2.0, 4.0));
        assert!(summary.ci95.is_some_and(|(low, high)| low <= 1.0 && high >= 9.0));
        assert_eq!(Summary::of_blocks(&[vec![1.0, 2.0, 3.0]]), Summary::of(&[1.0, 2.0, 3.0]));
        assert_eq!(Summary::of_blocks(&[vec![1.0], vec![3.0]]).map(|s| (s.median, s.ci95)), Some((1.0, None)));
        assert!(Summary::of_blocks(&[]).is_none() && Summary::of_blocks(&[vec![1.0], vec![]]).is_none());
    }

    #[test]
    fn signed_ranks_are_the_textbooks() {
        // Wilcoxon's critical values, two-sided 5 %: 0 of six, 8 of ten, 52 of twenty.
        assert_eq!([6, 10, 20].map(signed_rank_critical), [0, 8, 52]);
        let (low, middle, high) = signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!((low, middle, high), (1.0, 3.5, 6.0));
        assert!(signed_rank(&[1.0; 5]).is_none());
    }

    /// Of identical commands under drift, a test of pairs at 5 % errs in about 5 of 100 cases.
    #[test]
    fn pairs_of_a_drifting_machine_are_told_apart_by_chance_alone() {
        let mut random = Random(3);
        let mut drifted = 0.0;
        let mut wrong = 0;
        for _ in 0..2000 {
            let differences: Vec<f64> = (0..10)
                .map(|pair| {
                    let mut next = || {
                        drifted = 0.9 * drifted + random.normal();
                        drifted + random.normal()
                    };
                    let (first, second) = (next(), next());
                    if pair % 2 == 0 { second - first } else { first - second }
                })
                .collect();
            let (low, _, high) = signed_rank(&differences).unwrap();
            wrong += usize::from(low > 0.0 || high < 0.0);
        }
        assert!((50..150).contains(&wrong), "{wrong} of 2000");
    }

    proptest! {
        #[test]
        fn blocks_are_ordered(blocks in prop::collection::vec(prop::collection::vec(0.1f64..1e6, 1..20), 1..20)) {
            let s = Summary::of_blocks(&blocks).unwrap();
            prop_assert!(s.min <= s.median && s.median <= s.max);
            prop_assert!(s.ci95.is_none_or(|(low, high)| low <= s.median && s.median <= high));
            prop_assert!(s.n == s.blocks || s.ci95.is_none_or(|(low, high)| s.min <= low && high <= s.max));
            prop_assert!(s.min <= s.p25 && s.p25 <= s.p75 && s.p75 <= s.max && s.min <= s.p99 && s.p99 <= s.max);
            prop_assert!(s.blocks == 1 || s.p25 <= s.median && s.median <= s.p75);
        }
        #[test]
        fn ordered(samples in prop::collection::vec(-1e9f64..1e9, 1..200)) {
            let s = Summary::of(&samples).unwrap();
            let holds = |(low, high)| s.min <= low && low <= s.median && s.median <= high && high <= s.max;
            prop_assert!(s.ci95.is_none_or(holds) && s.ci95.is_some() == (s.n >= BLOCKS_LEAST));
            prop_assert!(s.median <= s.p99 && s.p99 <= s.max);
            prop_assert!(s.min <= s.p25 && s.p25 <= s.median && s.median <= s.p75 && s.p75 <= s.p99);
        }
    }
}
