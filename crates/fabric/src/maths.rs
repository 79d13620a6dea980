//! Logarithms, powers and the like in software, the same on every machine.
//!
//! A system's own `ln` and `exp` differ in their last digits from one machine to the next, and a browser has none. All that
//! reaches a result uses these; `sqrt`, rounding and the four operations are exact by IEEE 754 everywhere.

/// Natural logarithm.
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// Logarithm to base 2.
pub fn log2(x: f64) -> f64 {
    libm::log2(x)
}

/// Logarithm to base 10.
pub fn log10(x: f64) -> f64 {
    libm::log10(x)
}

/// e to this power.
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// `base` to this power.
pub fn powf(base: f64, power: f64) -> f64 {
    libm::pow(base, power)
}

/// `base` to this whole power, by repeated squaring in one order.
pub fn powi(base: f64, power: i32) -> f64 {
    let (mut result, mut square, mut left) = (1.0, base, power.unsigned_abs());
    while left > 0 {
        if left & 1 == 1 {
            result *= square;
        }
        square *= square;
        left >>= 1;
    }
    if power < 0 { 1.0 / result } else { result }
}

/// The hypotenuse of these legs.
pub fn hypot(a: f64, b: f64) -> f64 {
    libm::hypot(a, b)
}
