//! Lists, ranges and sizes on options: `8,64KiB`, `2..128`, `8..1MiB`, `2..1024..x4`, `0.1..1.0`.
//!
//! A list is items between commas. An item is a value or a range `FIRST..LAST`, optionally `FIRST..LAST..xN` (each
//! value N times the one before) or `FIRST..LAST..+N` (each value N more). Without a step, counts go up by one, sizes
//! double, and numbers go up by one in the last decimal place written. A range never passes its end. The order is kept,
//! repeats are dropped. One parser serves every verb; clap reads each type through [`std::str::FromStr`].
//!
//! ```
//! use hotlink_study::values::{Counts, Numbers, Sizes};
//! assert_eq!(*"2..5,16".parse::<Counts>().unwrap(), [2, 3, 4, 5, 16]);
//! assert_eq!(*"16KiB..64KiB".parse::<Sizes>().unwrap(), [16384, 32768, 65536]);
//! assert_eq!(*"0.1..0.3".parse::<Numbers>().unwrap(), [0.1, 0.2, 0.3]);
//! ```

use hotlink_fabric::catalog::variant;
use hotlink_fabric::units::{Bytes, whole};
use std::collections::HashSet;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

/// Most values of one option: a slip of the pen must not become an endless sweep.
pub const MOST_VALUES: usize = 100_000;

/// Whole numbers of 1 or more: nodes, ranks, pairs, strides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts(Vec<u64>);

/// Sizes in bytes, 0 or more: `8`, `64KiB`, `1MiB`, `100kB`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(Vec<u64>);

/// Decimal numbers: `0.1..1.0`, `1,2.5`.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers(Vec<f64>);

/// Ports towards hosts over ports towards other switches: `2`, or `2:1` as the field writes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio(pub f64);

/// One size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl Counts {
    /// The counts as `u32`, as the engines take nodes; an error names the first that does not fit.
    pub fn to_u32(&self) -> Result<Vec<u32>, String> {
        self.iter()
            .map(|&n| u32::try_from(n).map_err(|_| format!("{n} is too many: must be 1 to {}", u32::MAX)))
            .collect()
    }
}

impl Deref for Counts {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        &self.0
    }
}
impl Deref for Sizes {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        &self.0
    }
}
impl Deref for Numbers {
    type Target = [f64];
    fn deref(&self) -> &[f64] {
        &self.0
    }
}

impl FromStr for Counts {
    type Err = String;
    fn from_str(text: &str) -> Result<Counts, String> {
        const ALLOWED: &str = "a count from 1, a range such as 2..128 or 2..1024..x4, or a list such as 4,9,16";
        let values =
            list(text, ALLOWED, count, |first, last, step| integers(first, last, step.unwrap_or(Step::Add(1))))?;
        Ok(Counts(values))
    }
}

impl FromStr for Sizes {
    type Err = String;
    fn from_str(text: &str) -> Result<Sizes, String> {
        const ALLOWED: &str = "a size such as 8, 64KiB or 100kB, a range such as 8..1MiB, or a list such as 8,64KiB";
        let values =
            list(text, ALLOWED, size, |first, last, step| integers(first, last, step.unwrap_or(Step::Times(2))))?;
        Ok(Sizes(values))
    }
}

impl FromStr for Numbers {
    type Err = String;
    fn from_str(text: &str) -> Result<Numbers, String> {
        const ALLOWED: &str = "a number such as 0.5, a range such as 0.1..1.0 or 0..1..+0.25, or a list such as 1,2.5";
        let mut numbers = Vec::new();
        for value in list(text, ALLOWED, Decimal::parse, decimals)? {
            numbers.push(value.number());
        }
        Ok(Numbers(numbers))
    }
}

impl FromStr for Ratio {
    type Err = String;
    fn from_str(text: &str) -> Result<Ratio, String> {
        variant::ratio(text).map(Ratio).map_err(|what| format!("{what} (allowed: {})", variant::RATIO))
    }
}

/// Ratios in a list or range, each as [`Ratio`] takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratios(Numbers);

impl FromStr for Ratios {
    type Err = String;
    fn from_str(text: &str) -> Result<Ratios, String> {
        let one = |item: &str| match item.contains(':') {
            true => item.parse().map(|Ratio(ratio)| ratio.to_string()),
            false => Ok(item.to_owned()),
        };
        let items = text.split(',').map(one).collect::<Result<Vec<_>, _>>()?;
        let list = items.join(",").parse().map(Ratios);
        list.map_err(|what: String| format!("{what}; each is {}", variant::RATIO))
    }
}

impl Deref for Ratios {
    type Target = [f64];
    fn deref(&self) -> &[f64] {
        &self.0
    }
}

impl FromStr for Size {
    type Err = String;
    fn from_str(text: &str) -> Result<Size, String> {
        size(text).map(Size)
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        join(f, &self.0, |n| n.to_string())
    }
}
impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        join(f, &self.0, |&n| Size(n).to_string())
    }
}
impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        join(f, &self.0, |x| x.to_string())
    }
}
impl fmt::Display for Size {
    /// As it can be read back: `64KiB`, `100`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
            if self.0 != 0 && self.0.is_multiple_of(1 << shift) {
                return write!(f, "{}{unit}", self.0 >> shift);
            }
        }
        write!(f, "{}", self.0)
    }
}

fn join<T>(f: &mut fmt::Formatter<'_>, items: &[T], text: impl Fn(&T) -> String) -> fmt::Result {
    f.write_str(&items.iter().map(text).collect::<Vec<_>>().join(","))
}

/// How a range goes on.
#[derive(Clone, Copy)]
enum Step<T> {
    Add(T),
    Times(u64),
}

/// Reads a list of values and ranges; `one` reads a value, `between` fills a range.
fn list<T: Copy + Eq + std::hash::Hash>(
    text: &str,
    allowed: &str,
    one: impl Fn(&str) -> Result<T, String>,
    between: impl Fn(T, T, Option<Step<T>>) -> Result<Vec<T>, String>,
) -> Result<Vec<T>, String> {
    let mut values = Vec::new();
    for item in text.split(',') {
        let explain = |what: String| format!("`{}`: {what}; allowed: {allowed}", item.trim());
        let mut parts = item.split("..").map(str::trim);
        let first = one(parts.next().unwrap_or_default()).map_err(explain)?;
        match (parts.next(), parts.next(), parts.next()) {
            (None, ..) => values.push(first),
            (Some(last), step, None) => {
                let last = one(last).map_err(explain)?;
                let step = step.map(|text| parse_step(text, &one)).transpose().map_err(explain)?;
                values.extend(between(first, last, step).map_err(explain)?);
            }
            _ => return Err(explain("a range has at most a first value, a last value and a step".to_owned())),
        }
        if values.len() > MOST_VALUES {
            return Err(format!("has more than {MOST_VALUES} values"));
        }
    }
    let mut seen = HashSet::new();
    values.retain(|&value| seen.insert(value));
    Ok(values)
}

fn parse_step<T>(text: &str, one: impl Fn(&str) -> Result<T, String>) -> Result<Step<T>, String> {
    if let Some(factor) = text.strip_prefix('x') {
        return match factor.parse::<u64>() {
            Ok(n) if n >= 2 => Ok(Step::Times(n)),
            _ => Err(format!("`x{factor}` is not a factor: x2, x3 and so on")),
        };
    }
    match text.strip_prefix('+') {
        Some(more) => one(more).map(Step::Add),
        None => Err(format!("the step `{text}` is neither xN (times N) nor +N (N more)")),
    }
}

/// Values from `first` to at most `last`. Doubling from 0 goes by way of 1.
fn integers(first: u64, last: u64, step: Step<u64>) -> Result<Vec<u64>, String> {
    ascending(first, last)?;
    if matches!(step, Step::Add(0)) {
        return Err("a step of 0 never ends".to_owned());
    }
    let next = |value: &u64| match step {
        Step::Add(more) => value.checked_add(more),
        Step::Times(_) if *value == 0 => Some(1),
        Step::Times(factor) => value.checked_mul(factor),
    };
    take(std::iter::successors(Some(first), next).take_while(|&value| value <= last))
}

/// As [`integers`], on decimals of the finest place written.
fn decimals(first: Decimal, last: Decimal, step: Option<Step<Decimal>>) -> Result<Vec<Decimal>, String> {
    let given = if let Some(Step::Add(more)) = step { more.places } else { 0 };
    let places = first.places.max(last.places).max(given);
    let (low, high) = (first.at(places)?, last.at(places)?);
    ascending(low, high)?;
    let (times, plus) = match step {
        Some(Step::Times(_)) if low <= 0 => return Err("a range by factors starts above 0".to_owned()),
        Some(Step::Times(n)) => (i64::try_from(n).unwrap_or(i64::MAX), 0),
        Some(Step::Add(more)) if more.digits <= 0 => return Err("the step must be above 0".to_owned()),
        Some(Step::Add(more)) => (1, more.at(places)?),
        None => (1, 1),
    };
    let next = |value: &i64| value.checked_mul(times)?.checked_add(plus);
    take(std::iter::successors(Some(low), next).take_while(|&v| v <= high).map(|digits| Decimal { digits, places }))
}

fn ascending<T: PartialOrd>(first: T, last: T) -> Result<(), String> {
    if first <= last { Ok(()) } else { Err("the range runs backwards".to_owned()) }
}

fn take<T>(values: impl Iterator<Item = T>) -> Result<Vec<T>, String> {
    let values: Vec<T> = values.take(MOST_VALUES + 1).collect();
    if values.len() > MOST_VALUES { Err(format!("has more than {MOST_VALUES} values")) } else { Ok(values) }
}

fn count(text: &str) -> Result<u64, String> {
    match whole(text)? {
        0 => Err("0 is too few".to_owned()),
        n => Ok(n),
    }
}

fn size(text: &str) -> Result<u64, String> {
    text.parse::<Bytes>().map(|bytes| bytes.0)
}

/// A decimal number as written, so that 0.1..1.0 holds exactly the tenths: `digits` / 10^`places`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Decimal {
    digits: i64,
    places: u32,
}

impl Decimal {
    fn parse(text: &str) -> Result<Decimal, String> {
        let bare = text.strip_prefix('-').unwrap_or(text);
        let (whole, fraction) = bare.split_once('.').unwrap_or((bare, ""));
        let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() && fraction.is_empty() {
            return Err("a value is missing".to_owned());
        }
        if !all_digits(whole) || !all_digits(fraction) {
            return Err(format!("`{text}` is not a decimal number"));
        }
        let fraction = fraction.trim_end_matches('0');
        let digits = format!("{}0{whole}{fraction}", if bare.len() < text.len() { "-" } else { "" });
        let places = u32::try_from(fraction.len()).unwrap_or(u32::MAX);
        let digits = digits.parse().map_err(|_| format!("`{text}` has too many digits: at most 18"))?;
        let written = bare.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        // `1.0` asks for tenths: keep the places written as far as they fit.
        let wanted = Decimal { digits, places };
        let places = u32::try_from(written).unwrap_or(u32::MAX);
        Ok(wanted.at(places).map_or(wanted, |digits| Decimal { digits, places }))
    }
    /// The digits when written with `places` decimals.
    fn at(self, places: u32) -> Result<i64, String> {
        let scale = 10_i64.checked_pow(places - self.places.min(places));
        scale.and_then(|scale| self.digits.checked_mul(scale)).ok_or_else(|| "too many digits: at most 18".to_owned())
    }
    fn number(self) -> f64 {
        // The text's own rounding: 3 / 10 and 0.3 read from text are the same nearest number.
        format!("{}e-{}", self.digits, self.places).parse().unwrap_or(f64::NAN)
    }
}
