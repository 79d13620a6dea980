//! Seeded random numbers: SplitMix64 (Steele, Lea, Flood 2014), the same on every machine.

use hotlink_fabric::rng::{SplitMix64, mix};

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(SplitMix64);

impl Random {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Random {
        // The first number is left out: golden tables hold the numbers after it.
        let mut stream = SplitMix64::new(mix(seed));
        stream.next_u64();
        Random(stream)
    }
    /// Next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
    /// A number below `limit` (which is not 0).
    #[inline]
    pub fn below(&mut self, limit: u32) -> u32 {
        ((u128::from(self.next_u64()) * u128::from(limit)) >> 64) as u32
    }
    /// A number in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
    /// Whole picoseconds from an exponential distribution of mean `mean_ps`.
    pub fn exponential_ps(&mut self, mean_ps: f64) -> u64 {
        (-ln(1.0 - self.unit()) * mean_ps).round() as u64
    }
    /// Puts `items` in random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u32 + 1) as usize);
        }
    }
}

/// Natural logarithm of a positive number by basic operations only, which every machine rounds alike. A system's own
/// `ln` may differ in the last bit, and with it the whole trace.
fn ln(x: f64) -> f64 {
    let exponent = ((x.to_bits() >> 52) as i32) - 1022;
    let mantissa = f64::from_bits(x.to_bits() & !(0x7ff << 52) | 1022 << 52);
    // ln m = 2 artanh((m - 1) / (m + 1)) for m in [1/2, 1): |s| <= 1/3, so 20 terms reach 10^-19.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let series = (0..20).rev().fold(0.0, |sum, k| sum * s * s + 1.0 / f64::from(2 * k + 1));
    2.0 * s * series + f64::from(exponent) * std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithm_is_a_logarithm() {
        for x in [1.0, 0.5, 0.75, 1e-9, 0.999_999, f64::MIN_POSITIVE, 3.0, 1e17] {
            assert!((ln(x) - f64::ln(x)).abs() <= 1e-14 * f64::ln(x).abs().max(1.0), "{x}");
        }
    }

    #[test]
    fn exponential_has_its_mean_and_below_its_range() {
        let mut random = Random::new(7);
        let mean = (0..100_000).map(|_| random.exponential_ps(1e6) as f64).sum::<f64>() / 1e5;
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "{mean}");
        assert!((0..1000).all(|_| random.below(3) < 3));
    }
}
