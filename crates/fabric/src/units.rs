//! Units as types: integers inside, field names with the unit last outside.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A span of simulated or modelled time in whole picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Time(pub u64);

impl Time {
    /// No time at all.
    pub const ZERO: Time = Time(0);
    /// The end of time: later than every event.
    pub const MAX: Time = Time(u64::MAX);

    /// Whole picoseconds nearest to `us` microseconds (negative counts as zero).
    pub fn from_us(us: f64) -> Time {
        Time((us * 1e6).round().max(0.0) as u64)
    }
    /// Whole picoseconds nearest to `ns` nanoseconds (negative counts as zero).
    pub fn from_ns(ns: f64) -> Time {
        Time((ns * 1e3).round().max(0.0) as u64)
    }
    /// Microseconds.
    pub fn us(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Seconds.
    pub fn s(self) -> f64 {
        self.0 as f64 / 1e12
    }
}

impl std::ops::Add for Time {
    type Output = Time;
    fn add(self, other: Time) -> Time {
        Time(self.0 + other.0)
    }
}
impl std::ops::AddAssign for Time {
    fn add_assign(&mut self, other: Time) {
        self.0 += other.0;
    }
}
impl std::ops::Sub for Time {
    type Output = Time;
    fn sub(self, other: Time) -> Time {
        Time(self.0 - other.0)
    }
}

/// A rate in whole bytes per second. M02, K98 and P01 write MB/s = 10^6 bytes per second; W01 writes MiB/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rate(pub u64);

impl Rate {
    /// From 10^6 bytes per second.
    pub fn from_mbps(mbps: f64) -> Rate {
        Rate((mbps * 1e6).round().max(0.0) as u64)
    }
    /// In 10^6 bytes per second.
    pub fn mbps(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Time that `bytes` occupy a resource of this rate, rounded up to a picosecond. A rate of zero takes for ever.
    pub fn time_for(self, bytes: u64) -> Time {
        if self.0 == 0 {
            return Time::MAX;
        }
        let ps = (u128::from(bytes) * 1_000_000_000_000).div_ceil(u128::from(self.0));
        Time(u64::try_from(ps).unwrap_or(u64::MAX))
    }
}

/// A size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    /// IEC units where they divide: `64 KiB`, `1 MiB`, `100 B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0;
        for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
            if n != 0 && n.is_multiple_of(1 << shift) {
                return write!(f, "{} {unit}", n >> shift);
            }
        }
        write!(f, "{n} B")
    }
}

impl FromStr for Bytes {
    type Err = String;
    /// `8`, `64KiB`, `1 MiB` (x1024), `100kB` (x1000); the unit in upper or lower case.
    fn from_str(text: &str) -> Result<Bytes, String> {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = (whole(&text[..end]), text[end..].trim());
        let factor: u64 = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "kib" => 1 << 10,
            "mib" => 1 << 20,
            "gib" => 1 << 30,
            "tib" => 1 << 40,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            _ if end == 0 => return Err(format!("`{text}` is not a size")),
            _ if unit.contains("..") => return Err(format!("`{text}` is a range; one size is asked for")),
            _ if unit.starts_with('.') => return Err(format!("`{text}`: one size in whole numbers, such as 1536KiB")),
            _ => {
                return Err(format!(
                    "unit `{unit}` is not one of B, KiB, MiB, GiB, TiB (x1024), kB, MB, GB, TB (x1000)"
                ));
            }
        };
        let bytes = number?.checked_mul(factor);
        bytes.map(Bytes).ok_or_else(|| format!("`{text}` is too large: at most {} B", u64::MAX))
    }
}

/// A whole number of digits alone: Rust's own parser would take a sign.
///
/// # Errors
/// What is wrong with the text.
pub fn whole(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Err("a value is missing".to_owned());
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("`{text}` is not a whole number"));
    }
    text.parse().map_err(|_| format!("`{text}` is too large: at most {}", u64::MAX))
}

/// An amount of money in whole cents of a currency that the price list names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Money(pub i64);

impl Money {
    /// In units of the currency (dollars, not cents).
    pub fn units(self) -> f64 {
        self.0 as f64 / 100.0
    }
}
