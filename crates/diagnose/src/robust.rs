//! Statistics that a few bad values do not move: median and scaled median deviation.

use hotlink_fabric::maths::{exp, ln};

/// Makes the median absolute deviation of normal values their standard deviation.
const NORMAL: f64 = 1.4826;

/// The median; `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let (half, is_even) = (sorted.len() / 2, sorted.len().is_multiple_of(2));
    match is_even {
        _ if sorted.is_empty() => None,
        true => Some((sorted[half - 1] + sorted[half]) / 2.0),
        false => Some(sorted[half]),
    }
}

/// Median of positive values, and their scaled median deviation relative to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// Scaled median deviation of the values' logarithms.
    pub deviation: f64,
}

impl Spread {
    /// The spread of values above 0; `None` where there is none.
    pub fn of(values: &[f64]) -> Option<Spread> {
        let logs: Vec<f64> = values.iter().filter(|value| **value > 0.0).map(|value| ln(*value)).collect();
        let middle = median(&logs)?;
        let off: Vec<f64> = logs.iter().map(|log| (log - middle).abs()).collect();
        Some(Spread { median: exp(middle), deviation: NORMAL * median(&off)? })
    }

    /// The same where values may differ by a factor for a known reason: what that explains is no deviation.
    pub fn beyond(values: &[f64], explained: f64) -> Option<Spread> {
        let middle = Spread::of(values)?.median;
        let off = values.iter().map(|value| (ln(value / middle).abs() - ln(explained)).max(0.0));
        Some(Spread { median: middle, deviation: NORMAL * median(&off.collect::<Vec<_>>())? })
    }

    /// Whether a value lies below by more than `apart` (a share), beyond a factor that is explained, and by more than so
    /// many deviations.
    pub fn is_below(&self, value: f64, apart: f64, deviations: f64, explained: f64) -> bool {
        let by = -ln(value * explained / self.median);
        by > -ln(1.0 - apart) && by > deviations * self.deviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_value_moves_neither_and_is_told() {
        let values = [10.0, 10.1, 9.9, 10.0, 5.0];
        let spread = Spread::of(&values).unwrap();
        assert!((spread.median - 10.0).abs() < 1e-9 && spread.deviation < 0.02);
        assert!(spread.is_below(5.0, 0.12, 6.0, 1.0) && !spread.is_below(9.9, 0.12, 6.0, 1.0));
        // Values that spread widely are no outliers.
        let spread = Spread::of(&[10.0, 14.0, 8.0, 12.0, 7.0]).unwrap();
        assert!(!spread.is_below(7.0, 0.12, 6.0, 1.0));
        // Near and far pairs: a factor of 2 is explained, one of 4 is not.
        let spread = Spread::beyond(&[1.0, 1.0, 0.5, 0.5, 0.5, 1.0, 0.25], 2.0).unwrap();
        assert!(!spread.is_below(0.5, 0.12, 6.0, 2.0) && spread.is_below(0.2, 0.12, 6.0, 2.0));
        assert_eq!((median(&[]), Spread::of(&[0.0])), (None, None));
    }
}
