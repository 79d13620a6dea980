//! What a study's words mean in numbers: one table for all rows.
//!
//! | words | meaning |
//! |---|---|
//! | equal, nearly, about, similar, saturated | within [`NEAR_PCT`] per cent |
//! | slightly, a little more | more, by [`NARROW_PCT`] per cent at most |
//! | significant, severe, collapses, high | by [`CLEAR_FACTOR`] at least |
//! | excellent | less than [`CLEAR_FACTOR`] below what can be had |

/// A number is near what is printed within so many per cent.
pub(crate) const NEAR_PCT: f64 = 10.0;
/// Or where its own interval holds what is printed, and is within so many per cent of its middle.
pub(crate) const NARROW_PCT: f64 = 25.0;
/// What the words call a great difference.
pub(crate) const CLEAR_FACTOR: f64 = 2.0;

/// How far off a number is, in per cent of another.
pub(crate) fn off_pct(value: f64, of: f64) -> f64 {
    let off = (value - of) / of * 100.0;
    // The last digits of sums that are the same.
    if off.abs() < 1e-9 { 0.0 } else { off }
}

/// Whether two numbers are nearly equal.
pub(crate) fn is_same(value: f64, of: f64) -> bool {
    off_pct(value, of).abs() <= NEAR_PCT
}

/// Whether one is more than the other, but only slightly.
pub(crate) fn is_slightly_more(value: f64, than: f64) -> bool {
    value > than && off_pct(value, than) <= NARROW_PCT
}

/// Whether one is clearly more than the other.
pub(crate) fn is_clearly_more(value: f64, than: f64) -> bool {
    value >= CLEAR_FACTOR * than
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_edges() {
        assert_eq!([89.9, 90.0, 110.0, 110.1].map(|value| is_same(value, 100.0)), [false, true, true, false]);
        let slightly = [100.0, 100.1, 125.0, 125.1].map(|value| is_slightly_more(value, 100.0));
        assert_eq!(slightly, [false, true, true, false]);
        assert_eq!([199.9, 200.0].map(|value| is_clearly_more(value, 100.0)), [false, true]);
        assert!(!is_same(f64::NAN, 1.0) && !is_slightly_more(f64::NAN, 1.0) && !is_clearly_more(f64::NAN, 1.0));
    }
}
