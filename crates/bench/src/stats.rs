//! Statistics after Hoefler and Belli, "Scientific Benchmarking of Parallel Computing Systems" (SC15): medians with
//! order-statistic confidence intervals, which assume nothing about the distribution.

use crate::Record;

/// What a record says of a set of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of samples.
    pub n: usize,
    /// Median.
    pub median: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// 25th percentile (nearest rank).
    pub p25: f64,
    /// 75th percentile.
    pub p75: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Lower end of the 95 % confidence interval of the median.
    pub ci95_low: f64,
    /// Upper end.
    pub ci95_high: f64,
}

impl Summary {
    /// Summarises samples; `None` if there are none or one is not a number.
    pub fn of(samples: &[f64]) -> Option<Summary> {
        if samples.is_empty() || samples.iter().any(|x| x.is_nan()) {
            return None;
        }
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let (low, high) = median_interval(n);
        let percentile = |share: f64| sorted[((share * n as f64).ceil() as usize).clamp(1, n) - 1];
        Some(Summary {
            n,
            median: f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]),
            min: sorted[0],
            max: sorted[n - 1],
            p25: percentile(0.25),
            p75: percentile(0.75),
            p99: percentile(0.99),
            ci95_low: sorted[low],
            ci95_high: sorted[high],
        })
    }
    /// Half the interval's width over the median.
    pub fn relative_width(&self) -> f64 {
        if self.ci95_high == self.ci95_low { 0.0 } else { (self.ci95_high - self.ci95_low) / 2.0 / self.median.abs() }
    }
    /// The keys `n`, `median`, `min`, `p99`, `ci95_low`, `ci95_high`.
    #[must_use]
    pub fn into(self, record: Record) -> Record {
        record
            .with("n", self.n)
            .with("median", self.median)
            .with("min", self.min)
            .with("p99", self.p99)
            .with("ci95_low", self.ci95_low)
            .with("ci95_high", self.ci95_high)
    }
}

/// Indices of the sorted samples between which the median lies with 95 % confidence (ranks by the normal
/// approximation of the binomial); all samples if there are too few to say.
fn median_interval(n: usize) -> (usize, usize) {
    let (count, spread) = (n as f64, 1.96 * (n as f64).sqrt());
    let low = ((count - spread) / 2.0).floor().max(1.0) as usize;
    let high = (1.0 + (count + spread) / 2.0).ceil().min(count) as usize;
    (low - 1, high - 1)
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
        assert_eq!((summary.ci95_low, summary.ci95_high), (40.0, 61.0));
        assert_eq!(Summary::of(&[3.0]).unwrap().relative_width(), 0.0);
        assert!(Summary::of(&[]).is_none() && Summary::of(&[f64::NAN]).is_none());
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
            (summary.ci95_low..=summary.ci95_high).contains(&std::f64::consts::LN_2)
        });
        let share = covered.count() as f64 / 2000.0;
        assert!((0.94..0.99).contains(&share), "{share}");
    }

    proptest! {
        #[test]
        fn ordered(samples in prop::collection::vec(-1e9f64..1e9, 1..200)) {
            let s = Summary::of(&samples).unwrap();
            prop_assert!(s.min <= s.ci95_low && s.ci95_low <= s.median && s.median <= s.ci95_high);
            prop_assert!(s.ci95_high <= s.max && s.median <= s.p99 && s.p99 <= s.max);
            prop_assert!(s.min <= s.p25 && s.p25 <= s.median && s.median <= s.p75 && s.p75 <= s.p99);
        }
    }
}
