//! Rows that cannot be: their rate is not what their messages make, or their times are out of order.

use super::text::Text;
use hotlink_bench::Record;
use hotlink_study::Error;
use hotlink_study::text::figure;

/// A number as it was printed.
#[derive(Clone, Copy, Debug)]
pub struct Printed<'a> {
    /// The head of its column, or its key.
    pub name: &'a str,
    value: f64,
    /// What its last digit counts.
    off: f64,
}

impl<'a> Printed<'a> {
    /// A word under its head.
    pub fn of(name: &'a str, word: &str) -> Option<Printed<'a>> {
        let off = word.split_once('.').map_or(1.0, |(_, digits)| (0..digits.len()).fold(1.0, |unit, _| unit / 10.0));
        Some(Printed { name, value: word.parse().ok()?, off })
    }

    /// The word of a row under the head that is `name`, or is it up to its unit's bracket.
    pub fn find(heads: &'a [String], words: &[&str], name: &str) -> Option<Printed<'a>> {
        let is = |head: &String| head.split('[').next().is_some_and(|bare| bare.trim() == name);
        let at = heads.iter().position(is)?;
        Printed::of(&heads[at], words.get(at)?)
    }

    /// The numbers that may stand behind it, times `scale`: the least and the most.
    pub fn times(self, scale: f64) -> [f64; 2] {
        [(self.value - self.off).max(0.0) * scale, (self.value + self.off) * scale]
    }

    /// `amount` over those numbers.
    pub fn under(self, amount: f64) -> [f64; 2] {
        let [least, most] = self.times(1.0);
        [amount / most, amount / least]
    }
}

/// Refuses a printed rate, `rates` of MB/s, that is none of those that other columns make; `made_of` names these.
pub fn same_rate(
    text: &Text<'_>,
    line: usize,
    (rate, rates): (Printed<'_>, [f64; 2]),
    (made_of, made): (&str, [f64; 2]),
    allowed: &str,
) -> Result<(), Error> {
    if rates[0] <= made[1] && made[0] <= rates[1] {
        return Ok(());
    }
    let middle = |[least, most]: [f64; 2]| figure(if most.is_finite() { (least + most) / 2.0 } else { least });
    let what = format!("{} is {} MB/s, but {made_of} make {} MB/s", rate.name, middle(rates), middle(made));
    Err(text.wrong(line, &what, allowed))
}

/// Of each pair the first is at most the second.
const ORDER: [[&str; 2]; 9] = [
    ["min_us", "latency_us"],
    ["latency_us", "max_us"],
    ["min_us", "mean_us"],
    ["mean_us", "max_us"],
    ["min_us", "max_us"],
    ["min_us", "p99_us"],
    ["p99_us", "p99_9_us"],
    ["p99_us", "max_us"],
    ["p99_9_us", "max_us"],
];

/// Refuses a row whose least time is above its mean, and the like. Rounding keeps their order.
pub fn ordered(text: &Text<'_>, line: usize, record: Record) -> Result<Record, Error> {
    for [low, high] in ORDER {
        if let (Some(least), Some(most)) = (record.number(low), record.number(high))
            && least > most
        {
            let what = format!("{low} is {least}, above {high}, {most}");
            return Err(text.wrong(line, &what, "times that the program printed"));
        }
    }
    Ok(record)
}
