//! x86's extended precision, which no type of Rust has: what operators need of it, rounded to the nearest as the
//! processor does.

use std::cmp::Ordering;

/// Bytes in memory; the last six are padding.
pub(crate) const BYTES: usize = 16;
const BIAS: i32 = 16383;
const TOP: u16 = 0x7fff;
/// Bits of the fraction behind its first.
const FRACTION: i32 = 63;

/// A number: its fraction has its first bit written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extended {
    negative: bool,
    exponent: u16,
    fraction: u64,
}

impl Extended {
    const ZERO: Extended = Extended { negative: false, exponent: 0, fraction: 0 };
    const NAN: Extended = Extended { negative: false, exponent: TOP, fraction: 3 << 62 };

    pub(crate) fn read(bytes: [u8; BYTES]) -> Extended {
        let fraction = u64::from_le_bytes(std::array::from_fn(|i| bytes[i]));
        let word = u16::from_le_bytes([bytes[8], bytes[9]]);
        Extended { negative: word >> 15 == 1, exponent: word & TOP, fraction }
    }
    pub(crate) fn write(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&self.fraction.to_le_bytes());
        bytes[8..10].copy_from_slice(&(self.exponent | u16::from(self.negative) << 15).to_le_bytes());
        bytes
    }
    fn infinity(negative: bool) -> Extended {
        Extended { negative, exponent: TOP, fraction: 1 << FRACTION }
    }
    fn is_nan(self) -> bool {
        self.exponent == TOP && self.fraction << 1 != 0
    }
    fn is_infinite(self) -> bool {
        self.exponent == TOP && self.fraction << 1 == 0
    }
    fn is_zero(self) -> bool {
        self.exponent != TOP && self.fraction == 0
    }
    pub(crate) fn opposite(self) -> Extended {
        Extended { negative: !self.negative, ..self }
    }
    /// The power of two that its fraction, as a whole number, is times.
    fn power(self) -> i32 {
        i32::from(self.exponent.max(1)) - BIAS - FRACTION
    }
    pub(crate) fn compare(self, other: Extended) -> Option<Ordering> {
        if self.is_nan() || other.is_nan() {
            return None;
        }
        let size = |x: Extended| i128::from(x.exponent) << 64 | i128::from(x.fraction);
        let key = |x: Extended| if x.negative { -size(x) } else { size(x) };
        Some(key(self).cmp(&key(other)))
    }
    /// The nearest number to `whole`, and a little more where `more`, times two to `power`.
    fn rounded(negative: bool, whole: u128, more: bool, power: i32) -> Extended {
        if whole == 0 {
            return Extended { negative, ..Extended::ZERO };
        }
        let mut shift = 64 - whole.leading_zeros() as i32;
        let mut exponent = power + shift + BIAS + FRACTION;
        if exponent < 1 {
            (shift, exponent) = (shift + 1 - exponent, 0);
        }
        let mut fraction = match shift {
            ..=0 => whole << -shift,
            1..=127 => {
                let (kept, lost, half) = (whole >> shift, whole & ((1 << shift) - 1), 1u128 << (shift - 1));
                let up = lost > half || (lost == half && (more || kept & 1 == 1));
                kept + u128::from(up)
            }
            _ => 0,
        };
        if fraction >> 64 == 1 {
            (fraction, exponent) = (fraction >> 1, exponent + 1);
        }
        if exponent == 0 && fraction >> FRACTION == 1 {
            exponent = 1;
        }
        if exponent >= i32::from(TOP) {
            return Extended::infinity(negative);
        }
        Extended { negative, exponent: exponent as u16, fraction: fraction as u64 }
    }
    pub(crate) fn times(self, other: Extended) -> Extended {
        let negative = self.negative != other.negative;
        if self.is_nan() || other.is_nan() {
            return Extended::NAN;
        }
        if self.is_infinite() || other.is_infinite() {
            let none = self.is_zero() || other.is_zero();
            return if none { Extended::NAN } else { Extended::infinity(negative) };
        }
        let whole = u128::from(self.fraction) * u128::from(other.fraction);
        Extended::rounded(negative, whole, false, self.power() + other.power())
    }
    pub(crate) fn plus(self, other: Extended) -> Extended {
        if self.is_nan() || other.is_nan() {
            return Extended::NAN;
        }
        match (self.is_infinite(), other.is_infinite()) {
            (true, true) if self.negative != other.negative => return Extended::NAN,
            (true, _) => return self,
            (_, true) => return other,
            _ => {}
        }
        /// Room for a carry above, and for what is lost below.
        const ROOM: i32 = 62;
        let (large, small) = if self.power() >= other.power() { (self, other) } else { (other, self) };
        let distance = large.power() - small.power();
        let first = u128::from(large.fraction) << ROOM;
        let whole = u128::from(small.fraction) << ROOM;
        let (second, more) = match distance {
            0..=127 => (whole >> distance, whole & ((1 << distance) - 1) != 0),
            _ => (0, whole != 0),
        };
        let power = large.power() - ROOM;
        if large.negative == small.negative {
            return Extended::rounded(large.negative, first + second, more, power);
        }
        match first.cmp(&second) {
            Ordering::Equal => Extended::ZERO,
            Ordering::Less => Extended::rounded(small.negative, second - first, more, power),
            // The lost part is subtracted, too: one less, and a little more.
            Ordering::Greater => Extended::rounded(large.negative, first - second - u128::from(more), more, power),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(number: f64) -> Extended {
        let bits = number.to_bits();
        let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
        let negative = number.is_sign_negative();
        match (exponent, fraction) {
            (0x7ff, 0) => Extended::infinity(negative),
            (0x7ff, _) => Extended::NAN,
            (0, fraction) => Extended::rounded(negative, fraction.into(), false, -1074),
            _ => Extended::rounded(negative, (fraction | 1 << 52).into(), false, exponent - 1075),
        }
    }

    #[test]
    fn sums_and_products_that_doubles_hold_are_the_same() {
        // Numbers of 20 bits each, at distances that 53 bits hold.
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let whole = (state >> 44) as f64 - f64::from(1 << 19);
            whole * 2f64.powi((state >> 20 & 15) as i32 - 8)
        };
        for _ in 0..2000 {
            let (a, b) = (next(), next());
            assert_eq!(of(a).plus(of(b)), of(a + b), "{a} + {b}");
            assert_eq!(of(a).times(of(b)).compare(of(a * b)), Some(Ordering::Equal), "{a} * {b}");
            assert_eq!(of(a).compare(of(b)), a.partial_cmp(&b));
        }
    }

    #[test]
    fn ties_go_to_the_even_fraction_and_the_ends_of_the_range_are_kept() {
        let one = of(1.0);
        let ulp = of(2f64.powi(-63));
        let half = of(2f64.powi(-64));
        assert_eq!(one.plus(half), one);
        assert_eq!(one.plus(ulp).plus(half), one.plus(ulp).plus(ulp));
        // Just above the tie.
        assert_eq!(one.plus(half.plus(of(2f64.powi(-100)))), one.plus(ulp));
        assert_eq!(one.plus(of(-(2f64.powi(-100)))), one);
        let large = Extended { negative: false, exponent: TOP - 1, fraction: u64::MAX };
        assert!(large.plus(large).is_infinite() && large.times(of(-2.0)).negative);
        let least = Extended { negative: false, exponent: 0, fraction: 1 };
        assert_eq!(least.plus(least), Extended { fraction: 2, ..least });
        assert!(least.times(of(0.25)).is_zero() && large.plus(large).plus(of(f64::NEG_INFINITY)).is_nan());
        assert_eq!(Extended::read(of(-1.5).write()), of(-1.5));
        assert_eq!(of(-1.5).write()[..10], [0, 0, 0, 0, 0, 0, 0, 0xc0, 0xff, 0xbf]);
    }
}
