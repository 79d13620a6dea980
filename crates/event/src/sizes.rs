//! How large messages are: all alike, exponential, or by a table of shares.

use crate::random::Random;

/// A distribution of messages' bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum SizeLaw {
    /// All of this many bytes.
    Fixed(u64),
    /// Exponential, of this mean, in whole bytes.
    Exponential(f64),
    /// Bytes and the share of messages of at most as many, both ascending, the last share 1; even in between.
    Table(Vec<(f64, f64)>),
}

impl SizeLaw {
    /// Mean of the bytes.
    pub fn mean(&self) -> f64 {
        match self {
            SizeLaw::Fixed(bytes) => *bytes as f64,
            SizeLaw::Exponential(mean) => *mean,
            SizeLaw::Table(points) => {
                let first = points.first().map_or(0.0, |&(bytes, share)| bytes * share);
                let part = |two: &[(f64, f64)]| (two[1].1 - two[0].1) * (two[0].0 + two[1].0) / 2.0;
                first + points.windows(2).map(part).sum::<f64>()
            }
        }
    }

    /// The largest message of a table.
    pub fn largest(&self) -> Option<u64> {
        match self {
            SizeLaw::Fixed(bytes) => Some(*bytes),
            SizeLaw::Exponential(_) => None,
            SizeLaw::Table(points) => points.last().map(|&(bytes, _)| bytes as u64),
        }
    }

    /// The next message's bytes, 1 or more unless all have none. Those of one size draw no number.
    pub fn draw(&self, random: &mut Random) -> u64 {
        match self {
            SizeLaw::Fixed(bytes) => *bytes,
            // Whole bytes, as an exponential time is whole picoseconds.
            SizeLaw::Exponential(mean) => random.exponential_ps(*mean).max(1),
            SizeLaw::Table(points) => {
                let lot = random.unit();
                let above = points.partition_point(|&(_, share)| share <= lot).min(points.len() - 1);
                let (to, upto) = points[above];
                let (from, before) = if above == 0 { (to, 0.0) } else { points[above - 1] };
                let bytes = from + (to - from) * (lot - before) / (upto - before).max(f64::MIN_POSITIVE);
                (bytes.round() as u64).max(1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_laws_mean_and_stay_in_the_table() {
        let table = SizeLaw::Table(vec![(1000.0, 0.5), (2000.0, 0.75), (10_000.0, 1.0)]);
        assert_eq!(table.mean(), 500.0 + 0.25 * 1500.0 + 0.25 * 6000.0);
        for law in [SizeLaw::Fixed(7), SizeLaw::Exponential(5e4), table] {
            let mut random = Random::new(3);
            let draws: Vec<u64> = (0..100_000).map(|_| law.draw(&mut random)).collect();
            let mean = draws.iter().sum::<u64>() as f64 / draws.len() as f64;
            assert!((mean / law.mean() - 1.0).abs() < 0.02, "{law:?}: {mean}");
            assert!(law.largest().is_none_or(|most| draws.iter().all(|&bytes| bytes <= most)));
        }
    }
}
