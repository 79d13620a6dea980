//! Places of numbers in a picture, and the marks that label them.

use hotlink_fabric::maths;

/// How numbers are spread over an axis.
#[derive(Clone, Debug, PartialEq)]
enum Spread {
    Linear,
    Log,
    /// Each of these numbers has the same room, whatever lies between.
    Words(Vec<f64>),
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Its quantity, with its unit.
    pub title: String,
    low: f64,
    high: f64,
    spread: Spread,
    /// Numbers with a mark, and its label.
    pub(crate) ticks: Vec<(f64, String)>,
}

impl Axis {
    /// From `low` to `high` in even steps.
    pub fn linear(title: impl Into<String>, [low, high]: [f64; 2], ticks: Vec<(f64, String)>) -> Axis {
        Axis { title: title.into(), low, high, spread: Spread::Linear, ticks }
    }

    /// From `low` to `high` by equal ratios.
    pub fn log(title: impl Into<String>, [low, high]: [f64; 2], ticks: Vec<(f64, String)>) -> Axis {
        Axis { title: title.into(), low, high, spread: Spread::Log, ticks }
    }

    /// Some numbers, each with its word and as much room as every other.
    pub fn words(title: impl Into<String>, words: Vec<(f64, String)>) -> Axis {
        let places = words.iter().map(|(value, _)| *value).collect::<Vec<f64>>();
        let high = places.len() as f64 - 0.5;
        Axis { title: title.into(), low: -0.5, high, spread: Spread::Words(places), ticks: words }
    }

    /// The share of the axis below a number: 0 to 1 within the axis, not a number where it has no place.
    fn share(&self, value: f64) -> f64 {
        match &self.spread {
            Spread::Linear => (value - self.low) / (self.high - self.low),
            Spread::Log if value <= 0.0 => f64::NEG_INFINITY,
            Spread::Log => maths::ln(value / self.low) / maths::ln(self.high / self.low),
            Spread::Words(places) => {
                let place = places.iter().position(|known| *known == value);
                place.map_or(f64::NAN, |place| (place as f64 - self.low) / (self.high - self.low))
            }
        }
    }

    /// Whether a number lies on the axis.
    pub fn holds(&self, value: f64) -> bool {
        (-1e-9..=1.0 + 1e-9).contains(&self.share(value))
    }

    /// Room for one word among `words` on an axis `length` long.
    pub(crate) fn pitch(&self, length: f64) -> f64 {
        match &self.spread {
            Spread::Words(places) => length / places.len() as f64,
            _ => 0.0,
        }
    }

    /// The place of a number between `from` and `to`, to a hundredth; at most a fifth of the length beyond either.
    pub(crate) fn at(&self, value: f64, (from, to): (f64, f64)) -> f64 {
        let share = self.share(value);
        let share = if share.is_nan() { 0.0 } else { share.clamp(-0.2, 1.2) };
        (100.0 * (from + share * (to - from))).round() / 100.0
    }

    /// The same, on the axis in any case.
    pub(crate) fn within(&self, value: f64, (from, to): (f64, f64)) -> f64 {
        let at = self.at(value, (from, to));
        at.clamp(from.min(to), from.max(to))
    }
}
