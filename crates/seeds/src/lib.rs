//! The five studies that hotlink grew out of, as questions over `hotlink-study`: their tables, figures and claims, each with
//! what the models give.
//!
//! It is a report: what does not hold is said, with the numbers.

pub mod draw;
mod h06;
mod k98;
mod m02;
mod p01;
mod run;
pub mod score;
mod w01;

use hotlink_bench::Record;
use hotlink_fabric::catalog::Claim;
use hotlink_study::Error;
pub use run::{Measure, Question};
use serde_json::Value;

hotlink_study::words! {
    /// A study.
    pub enum Study {
        /// SCI versus Myrinet versus T3D: deposit, message passing, TCP/IP.
        K98 = "K98",
        /// Zero-copy message passing over SCI.
        W01 = "W01",
        /// Throughput models and cost of SCI and Myrinet.
        M02 = "M02",
        /// A hardware barrier for small commodity clusters.
        H06 = "H06",
        /// Collectives by hardware and software on QsNet.
        P01 = "P01",
    }
}

impl Study {
    /// Whether it has figures that can be taken on this machine too.
    pub fn can_be_measured(self) -> bool {
        matches!(self, Study::K98 | Study::W01)
    }

    /// The questions to the message stack that its rows and figures are read from.
    pub fn questions(self) -> Vec<Question> {
        match self {
            Study::K98 => k98::questions().to_vec(),
            Study::W01 => w01::questions(),
            Study::M02 | Study::H06 | Study::P01 => Vec::new(),
        }
    }

    /// Its report; `measure` takes W01's benchmarks on this machine too.
    ///
    /// # Errors
    /// A question or a catalog entry that is not sound.
    pub fn report(self, measure: Option<&dyn Measure>) -> Result<Report, Error> {
        match self {
            Study::K98 => k98::report(),
            Study::W01 => w01::report(measure),
            Study::M02 => m02::report(),
            Study::H06 => h06::report(),
            Study::P01 => p01::report(),
        }
    }
}

/// What a row says about the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The model gives it from inputs that were not fitted to it.
    Prediction,
    /// An input of the model, or fitted to the very claim: no evidence.
    Calibrated,
    /// Who is ahead of whom, and where that changes.
    Ordering,
}

impl Kind {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Prediction => "prediction",
            Kind::Calibrated => "calibrated",
            Kind::Ordering => "ordering",
        }
    }
}

/// One quantity or claim of a study beside what the models give.
#[derive(Clone, Debug)]
pub struct Row {
    /// The claim's identifier.
    pub id: String,
    /// System and quantity.
    pub quantity: String,
    /// What the study prints.
    pub published: Value,
    /// What the models give.
    pub reproduced: Value,
    /// The unit of both.
    pub unit: String,
    /// What it says about the model.
    pub kind: Kind,
    /// Whether the claim holds in the model; `None`: nothing to hold (a point of a series, a gap).
    pub holds: Option<bool>,
    /// What `holds` is known to be.
    pub expected: Option<bool>,
    /// Conditions, and how the number comes about.
    pub conditions: String,
    more: Vec<(&'static str, Value)>,
}

impl Row {
    /// A row for `claim`; nothing is reproduced yet.
    pub fn new(claim: &Claim, kind: Kind) -> Row {
        let published = claim.value.parse::<f64>().map_or_else(|_| Value::from(claim.value.clone()), Value::from);
        Row {
            id: claim.id.clone(),
            quantity: format!("{}: {}", claim.system, claim.quantity),
            published,
            reproduced: Value::Null,
            unit: claim.unit.clone(),
            kind,
            holds: None,
            expected: None,
            conditions: claim.conditions.clone(),
            more: Vec::new(),
        }
    }
    /// A point of a series, of which the study prints no number.
    pub fn point(id: &str, quantity: &str, kind: Kind, value: f64, unit: &str) -> Row {
        Row {
            id: id.to_owned(),
            quantity: quantity.to_owned(),
            published: Value::Null,
            reproduced: value.into(),
            unit: unit.to_owned(),
            kind,
            holds: None,
            expected: None,
            conditions: String::new(),
            more: Vec::new(),
        }
    }
    /// The model's answer.
    pub fn reproduced(mut self, value: impl Into<Value>) -> Row {
        self.reproduced = value.into();
        self
    }
    /// Where the claim is a text, the number in it.
    pub fn published(mut self, number: f64, unit: &str) -> Row {
        (self.published, self.unit) = (number.into(), unit.to_owned());
        self
    }
    /// The unit of the model's answer where the claim has none.
    pub fn in_unit(mut self, unit: &str) -> Row {
        self.unit = unit.to_owned();
        self
    }
    /// Whether it holds; it is known to.
    pub fn holds(mut self, holds: bool) -> Row {
        (self.holds, self.expected) = (Some(holds), Some(true));
        self
    }
    /// It holds if the numbers differ by at most `percent`.
    pub fn within(self, percent: f64) -> Row {
        let close = self.error_pct().is_some_and(|error| error.abs() <= percent);
        self.holds(close).also("tolerance_pct", percent)
    }
    /// It is known not to hold.
    pub fn known_not_to_hold(mut self) -> Row {
        self.expected = Some(false);
        self
    }
    /// How the claim is read, where it can be read in several ways.
    pub fn reading(self, reading: &str) -> Row {
        self.also("reading", reading)
    }
    /// Conditions and how the number comes about.
    pub fn under(mut self, conditions: impl AsRef<str>) -> Row {
        let separator = if self.conditions.is_empty() { "" } else { "; " };
        self.conditions = format!("{}{separator}{}", self.conditions, conditions.as_ref());
        self
    }
    /// Another key.
    pub fn also(mut self, key: &'static str, value: impl Into<Value>) -> Row {
        self.more.push((key, value.into()));
        self
    }
    /// Not reproduced, and why.
    pub fn gap(self, reason: &str) -> Row {
        self.also("gap", reason)
    }

    /// Value, fabric and nodes of a point.
    pub fn placed(&self) -> Option<(f64, String, u64)> {
        let (fabric, nodes) = (self.key("fabric")?.as_str()?, self.key("nodes")?.as_u64()?);
        Some((self.reproduced.as_f64()?, fabric.to_owned(), nodes))
    }

    /// Value, curve, axis and place on it of a point of a figure.
    pub fn on_axis(&self) -> Option<(f64, String, &'static str, u64)> {
        let fabric = self.key("fabric")?.as_str()?;
        let series = self.key("series").and_then(Value::as_str).map(|series| format!(" {series}"));
        let at = |axis: &'static str| Some((axis, self.key(axis)?.as_u64()?));
        let (axis, place) = ["busy_us", "nodes", "stride", "size_B"].into_iter().find_map(at)?;
        Some((self.reproduced.as_f64()?, format!("{fabric}{}", series.unwrap_or_default()), axis, place))
    }

    /// The value of another key.
    pub fn key(&self, key: &str) -> Option<&Value> {
        self.more.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// How far off it is, in per cent of what is published.
    pub fn error_pct(&self) -> Option<f64> {
        let (published, reproduced) = (self.published.as_f64()?, self.reproduced.as_f64()?);
        (published != 0.0).then(|| (reproduced - published) / published * 100.0)
    }

    /// Whether it holds, as people read it.
    pub fn verdict(&self) -> &'static str {
        match (self.holds, self.key("gap")) {
            (Some(true), _) => "yes",
            (Some(false), _) => "NO",
            (None, Some(_)) => "gap",
            (None, None) => "",
        }
    }

    /// Whether it is known to hold, and no longer does.
    pub fn regressed(&self) -> bool {
        self.expected == Some(true) && self.holds == Some(false)
    }

    /// Its record.
    pub fn record(&self, study: &str) -> Record {
        let mut record = Record::new()
            .with("study", study)
            .with("id", self.id.clone())
            .with("quantity", self.quantity.clone())
            .with("published", self.published.clone())
            .with("reproduced", self.reproduced.clone())
            .with("unit", self.unit.clone())
            .with("error_pct", self.error_pct())
            .with("kind", self.kind.name())
            .with("holds", self.holds)
            .with("known_to_hold", self.expected)
            .with("conditions", self.conditions.clone());
        if !self.reproduced.is_null() {
            record.set("method", "formula");
        }
        self.more.iter().for_each(|(key, value)| record.set(key, value.clone()));
        record
    }
}

/// What a study's module gives.
pub struct Report {
    /// The study's short name.
    pub name: &'static str,
    /// Authors, year and title.
    pub title: &'static str,
    /// A row for every claim.
    pub claims: Vec<Row>,
    /// Points of figures.
    pub series: Vec<Row>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim() -> Claim {
        let text = |text: &str| text.to_owned();
        let (id, system, quantity, value) = (text("G000"), text("x"), text("y"), text("64"));
        Claim { id, system, quantity, value, unit: text("nodes"), conditions: String::new(), source: text("M02") }
    }

    #[test]
    fn only_a_row_known_to_hold_regresses() {
        let row = || Row::new(&claim(), Kind::Ordering);
        assert!(row().reproduced(80.0).within(10.0).regressed());
        assert!(!row().reproduced(60.0).within(10.0).regressed());
        assert!(!row().reproduced(80.0).within(10.0).known_not_to_hold().regressed());
        assert!(!row().gap("later").regressed());
    }

    #[test]
    fn an_error_needs_two_numbers() {
        assert_eq!(Row::new(&claim(), Kind::Prediction).reproduced(80.0).error_pct(), Some(25.0));
        assert_eq!(Row::new(&claim(), Kind::Prediction).reproduced("none").error_pct(), None);
    }
}
